"""Fig. 20: jitter of the feedback, in the equations and in packets."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.fluid import Dcqcn, Model, PatchedTimely
from shallows.fluid.trajectory import Jitter, trajectory
from validation.claim import Mutation, Plot, below, near, within
from validation.ecn_or_delay.paper import DCQCN, ECN_OR_DELAY, LINK_10G, late_kb, samples_kb
from validation.ecn_or_delay.timely import pair
from validation.runs import BOTTLENECK, F64, probe

if TYPE_CHECKING:
    from validation.lab import Lab


@ECN_OR_DELAY.figure(
    "Fig. 20",
    "Jitter of the feedback in the equations",
    setting="Two flows; a uniform delay of up to 100 us on the feedback. How jitter entered the paper's TIMELY is not printed; here it delays the feedback.",
    seeds=3,
    plot=Plot("time (ms)", "queue (KB)"),
)
def fig20(lab: "Lab") -> None:
    def late(model: Model, width_us: float) -> F64:
        jitter = Jitter(width_us * 1e-6, seed=lab.seed) if width_us else None
        run = trajectory(lab.fluid(model), 0.2, jitter=jitter)
        if width_us:
            lab.curve(model.name, run.time_s * 1e3, run.queue_bytes / 1e3)
        return late_kb(run, 0.15)

    width_us = lab.input("width_us", 100)
    dcqcn = late(Dcqcn(), width_us)
    lab.say("DCQCN's queue", dcqcn.mean())
    lab.say("DCQCN's swing", np.ptp(dcqcn))
    lab.say("Patched TIMELY's swing without", np.ptp(late(PatchedTimely(), 0)))
    lab.say("Patched TIMELY's swing with", np.ptp(late(PatchedTimely(), width_us)))


fig20.claim(
    "ED25",
    "In the equations jitter of up to 100 us on the feedback unsettles TIMELY; DCQCN stays at its fixed point.",
    source="Fig. 20, §5.2",
    tolerance="T2: DCQCN's queue 3 %; a swing of a quarter of the queue of 78 KB or more, and of no more than the queue",
    bands=[
        near("DCQCN's queue", 20.15, rel=0.03, unit="KB", read="derived", source="eq. 11"),
        within("DCQCN's swing", 0, 2, unit="KB", order=True),
        within("Patched TIMELY's swing without", 0, 0.1, unit="KB", order=True),
        within("Patched TIMELY's swing with", 20, 78, unit="KB", order=True),
    ],
    mutation=Mutation({"input:width_us": 300}, "DCQCN's swing"),
    differs="DCQCN's mean delay stays below its margin of 85.6 us; with jitter of 300 us it does not.",
)


@ECN_OR_DELAY.figure(
    "Fig. 20, packets",
    "Jitter of the feedback in packets",
    setting=LINK_10G + " `patched-timely` from 7 and 3 Gbps, DCQCN at 40 Gbps and 4 us; each acknowledgement and notification waits for a uniform time of up to 100 us.",
    runs={"timely-split": BOTTLENECK, "dcqcn": BOTTLENECK},
    seeds=4,
)  # fmt: skip
def fig20_packets(lab: "Lab") -> None:
    for words, jitter_us in (("without", 0), ("with", lab.input("jitter_us", 100))):
        run = pair(lab, "patched-timely", 7, 3, hosts__ack_jitter=f"{jitter_us}us", record__probes="100us")
        lab.say(f"Patched TIMELY's queue {words}", samples_kb(lab, run).mean())
        pace = probe(run, "pace_gbps", 1e6 * run.summary["duration_s"] * 2 / 3, 0).value
        lab.say(f"variation of Patched TIMELY's rate {words}", pace.std() / pace.mean())
        run = lab.run(
            "dcqcn", cc={"name": DCQCN}, topology__rtt="4us", duration="400ms", record__probes="off",
            hosts__ack_jitter=f"{jitter_us}us",
        )  # fmt: skip
        lab.say(f"DCQCN's queue {words}", samples_kb(lab, run).mean())
    for name in ("Patched TIMELY", "DCQCN"):
        both = [lab.values[f"{name}'s queue {words}"] for words in ("with", "without")]
        lab.say(f"change of {name}'s queue", abs(both[0] / both[1] - 1))


fig20_packets.claim(
    "ED32",
    "In packets too jitter moves Patched TIMELY's queue more than DCQCN's, and unsettles its rates.",
    source="Fig. 20, §5.2",
    tolerance="T3: the order",
    bands=[
        below("change of DCQCN's queue", "change of Patched TIMELY's queue"),
        within("change of DCQCN's queue", 0, 0.3, order=True, reported="does not impact"),
        within("variation of Patched TIMELY's rate without", 0, 0.001, order=True),
        within("variation of Patched TIMELY's rate with", 0.01, 1, order=True, reported="becomes unstable"),
    ],
    mutation=Mutation({"input:jitter_us": 0}, "change of DCQCN's queue"),
    check=True,
    differs="The paper shows it for the equations.",
)

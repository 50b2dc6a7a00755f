"""Fig. 18 and 19: PI controllers in the switch and in the hosts."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shallows.fluid import DcqcnPi, PatchedTimelyPi
from shallows.fluid.published import ScriptHostPi
from shallows.fluid.trajectory import Flows, trajectory
from validation.claim import Mutation, Plot, near, within
from validation.ecn_or_delay.paper import (
    DCQCN,
    ECN_OR_DELAY,
    GBPS,
    LINK_10G,
    LINK_40G,
    late_kb,
    queue_kb,
    ratio,
    samples_kb,
)
from validation.runs import BOTTLENECK

if TYPE_CHECKING:
    from validation.lab import Lab

COUNTS = (2, 10, 64)


@ECN_OR_DELAY.figure(
    "Fig. 18",
    "DCQCN with PI marking in the equations",
    setting="Equations at 40 Gbps, 4 and 85 us, a reference of 200 KB, 12 MB of buffer.",
    seeds=1,
    plot=Plot("time (ms)", "queue (KB)", y_log=True),
)
def fig18(lab: "Lab") -> None:
    swings: list[float] = []
    for delay in (4, 85):
        for flows in COUNTS:
            model = replace(DcqcnPi(flows=flows, buffer=12e6), delay=delay * 1e-6)
            run = trajectory(lab.fluid(model), 0.35)
            late = late_kb(run, 0.3)
            lab.say(f"{flows} flows, {delay} us", late.mean())
            swings.append(float(np.ptp(late)))
            if delay == 85:
                lab.curve(f"{flows} flows", run.time_s * 1e3, run.queue_bytes / 1e3)
    lab.say("largest swing", max(swings))


fig18.claim(
    "ED23",
    "In the equations PI marking holds the queue at 200 KB, whatever the number of flows.",
    source="Fig. 18, §5.2",
    tolerance="T2: 7 %",
    bands=[
        *(near(f"{n} flows, {delay} us", 200.0, rel=0.07, unit="KB") for delay in (4, 85) for n in COUNTS),
        within("largest swing", 0, 10, unit="KB", reported="flat", read="data"),
    ],
    mutation=Mutation({"dcqcn-pi.q_ref": "230KB"}, "2 flows, 4 us"),
    differs="Packets are judged by ED30.",
)


@ECN_OR_DELAY.figure(
    "§5.2, PI",
    "DCQCN with PI marking in packets",
    setting=LINK_40G + " 4 us, ten flows, a reference of 200 KB.",
    runs={"dcqcn": BOTTLENECK},
    plot=Plot("time (ms)", "queue (KB)"),
)
def pi_packets(lab: "Lab") -> None:
    run = lab.run(
        "dcqcn", topology__hosts=10, traffic__0__flows=10, cc__name=DCQCN, record__probes="off",
        network__marking={"kind": "pi", "q_ref": lab.input("q_ref", "200KB")},
    )  # fmt: skip
    kb = samples_kb(lab, run)
    lab.say("mean queue", queue_kb(lab, run))
    lab.say("deviation of the queue over 200 KB", kb.std() / 200)
    shown = kb.iloc[:5000]
    lab.curve("ten flows", np.arange(len(shown)) * 0.02, shown)


pi_packets.claim(
    "ED30",
    "In packets too PI marking holds the queue at 200 KB.",
    source="§5.2",
    tolerance="T3: the mean 7 %, the deviation 25 % of the reference",
    bands=[
        near("mean queue", 200.0, rel=0.07, unit="KB", order=True),
        within("deviation of the queue over 200 KB", 0, 0.25, reported="a stated queue"),
    ],
    mutation=Mutation({"input:q_ref": "300KB"}, "mean queue"),
    check=True,
    differs="Random marks are the cause: DCQCN's rates over a fluid queue have a deviation of 192 KB if each mark is a random draw, and of 2 KB if marks come evenly spaced at the same probability (tests/independent/pi.py, docs/rates.md).",
)


@ECN_OR_DELAY.figure(
    "Fig. 19",
    "Patched TIMELY with PI in the hosts",
    setting=LINK_10G
    + " Two flows from 7 and 3 Gbps. The text's reference is 300 KB, that of the figure's data 343.75, the mean of both thresholds; both are tested.",
    runs={"timely-split": BOTTLENECK},
    plot=Plot("time (ms)", "rate (Gbps)", printed={"flow 1": [(4900, 7.87)], "flow 2": [(4900, 2.13)]}),
)
def fig19(lab: "Lab") -> None:
    starts = [Flows(rate_bps=r * GBPS, state={"p": p}) for r, p in ((7, 0.002), (3, 0.006))]
    script = trajectory(ScriptHostPi(), 5.0, flows=starts, step_s=4e-6)
    lab.say("queue as computed for the figure", script.queue_bytes[-1] / 1e3)
    lab.say("ratio as computed for the figure", script.rates_bps[0, -1] / script.rates_bps[1, -1])
    for i in (0, 1):
        lab.curve(f"flow {i + 1}", script.time_s * 1e3, script.rates_bps[i] / GBPS)
    model = lab.fluid(PatchedTimelyPi())
    starts = [Flows(rate_bps=r * GBPS, state={"Z": model.integral_for(p)}) for r, p in ((7, 0.1), (3, 0.4))]
    run = trajectory(model, 1.0, flows=starts)
    lab.say("queue, eq. 32", run.queue_bytes[-1] / 1e3)
    lab.say("first flow, eq. 32", run.rates_bps[0, -1] / GBPS)
    ccs = {
        f"traffic.{i}.cc": {"name": "patched-timely-pi", "start_rate": "5Gbps", "p": p}
        for i, p in enumerate((0.1, 0.4))
    }
    packets = lab.run("timely-split", ccs, duration="1s", warmup="500ms", record__probes="off")
    lab.say("queue in packets", queue_kb(lab, packets))
    lab.say("ratio in packets", ratio(packets))


fig19.claim(
    "ED24",
    "PI in the hosts holds the queue, not fairness: 7.87 and 2.13 Gbps.",
    source="Fig. 19, §5.2, eq. 32",
    tolerance="T1: queue 3 %, in packets 5 %; rates depend on the first p, so their ratio is above 1.5",
    bands=[
        near("queue as computed for the figure", 343.75, rel=0.03, unit="KB", read="data"),
        within("ratio as computed for the figure", 1.5, 10, order=True, reported=3.7, read="data"),
        near("queue, eq. 32", 300.0, rel=0.03, unit="KB"),
        near("first flow, eq. 32", 7.342, rel=0.01, unit="Gbps", read="derived", source="eq. 32"),
        near("queue in packets", 300.0, rel=0.05, unit="KB"),
        near("ratio in packets", 7.342 / 2.658, rel=0.15, read="derived", source="eq. 32"),
    ],
    mutation=Mutation({"patched-timely-pi.q_ref": "350KB"}, "queue, eq. 32"),
)

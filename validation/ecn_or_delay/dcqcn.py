"""Fig. 2, 4 and 5 and Theorem 1: DCQCN's queue in packets and in the equations."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shallows.fluid import Dcqcn
from shallows.fluid.published import approximate_marking
from shallows.fluid.trajectory import trajectory
from validation.claim import Mutation, Plot, below, near, within
from validation.ecn_or_delay.paper import (
    DCQCN,
    ECN_OR_DELAY,
    GBPS,
    GENTLE,
    LINK_40G,
    at_rest,
    late_kb,
    queue_kb,
    ratio,
    samples_kb,
)
from validation.runs import BOTTLENECK

if TYPE_CHECKING:
    from validation.lab import Lab

COUNTS = (2, 4, 6, 10, 20)


@ECN_OR_DELAY.figure(
    "Fig. 2",
    "DCQCN's queue in packets and in the equations",
    setting=LINK_40G + " 4 us of round trip.",
    runs={"dcqcn": BOTTLENECK},
    plot=Plot("flows", "mean queue (KB)", "points"),
)
def fig2(lab: "Lab") -> None:
    spread: list[float] = []
    for flows in COUNTS:
        run = lab.run(
            "dcqcn", topology__hosts=flows, traffic__0__flows=flows, duration="600ms", record__queues="off",
            cc__name=DCQCN,
        )  # fmt: skip
        lab.say(f"{flows} flows", queue_kb(lab, run))
        spread.append(ratio(run))
    lab.say("largest ratio of two rates", max(spread))
    lab.curve("packets", COUNTS, [lab.values[f"{n} flows"] for n in COUNTS])
    lab.curve("equations", COUNTS, [at_rest(Dcqcn(flows=n, ramp="extended"))[1] for n in COUNTS])


fig2.claim(
    "ED1",
    "Packets and equations agree on DCQCN's queue.",
    source="Fig. 2, §3.1",
    tolerance="T2: 15 % of the mean, since random marks make packets noisier than the equations",
    bands=[
        *(
            near(f"{n} flows", at_rest(Dcqcn(flows=n, ramp="extended"))[1], rel=0.15, unit="KB", read="derived", source="eq. 11")
            for n in COUNTS
        ),
        within("largest ratio of two rates", 1, 1.15, order=True),
    ],
    mutation=Mutation({"dcqcn.r_ai": "80Mbps"}, "10 flows"),
    differs="The distance grows with the flows, to 28 % at 64: flows that answer random marks, each by itself and without a network, need 9 to 15 % more of "
    "them than the equations say.",
)  # fmt: skip


@ECN_OR_DELAY.figure(
    "Theorem 1",
    "DCQCN's fixed point",
    setting="Eq. 11 at 40 Gbps, solved by an independent program.",
    seeds=1,
)
def theorem1(lab: "Lab") -> None:
    for flows in (1, 2, 10, 64):
        p, kb = at_rest(lab.fluid(Dcqcn(flows=flows, ramp="extended")))
        lab.say(f"p of {flows} flow{'s' if flows > 1 else ''}", p)
        lab.say(f"queue of {flows} flows", kb)
    for flows in (10, 100):
        model = lab.fluid(Dcqcn(flows=flows, ramp="extended"))
        lab.say(f"eq. 14 over eq. 11, {flows} flows", approximate_marking(model) / at_rest(model)[0])


theorem1.claim(
    "ED2",
    "DCQCN has one fixed point: the queue follows from the number of flows.",
    source="Theorem 1, eq. 11 and 14",
    tolerance="T1: eq. 11 to six digits",
    bands=[
        near("p of 1 flow", 3.182281e-4, rel=1e-5, read="derived"),
        near("p of 2 flows", 7.769886e-4, rel=1e-5, read="derived"),
        near("p of 10 flows", 6.031955e-3, rel=1e-5, read="derived"),
        near("p of 64 flows", 5.905359e-2, rel=1e-5, read="derived"),
        near("queue of 2 flows", 20.151, by=1e-3, unit="KB", read="derived"),
        near("queue of 10 flows", 122.623, by=1e-3, unit="KB", read="derived"),
        near("eq. 14 over eq. 11, 10 flows", 1.30, by=0.01, read="derived"),
        near("eq. 14 over eq. 11, 100 flows", 1.70, by=0.01, read="derived"),
    ],
    mutation=Mutation({"dcqcn.r_ai": "41Mbps"}, "queue of 10 flows"),
)


@ECN_OR_DELAY.figure(
    "Fig. 4",
    "DCQCN's equations at 4 and 85 us",
    setting="40 Gbps, 2, 10 and 64 flows; Kmax 2000 KB and Pmax 10 %, with which the figure was computed; the text has 200 KB and 1 %.",
    seeds=1,
    plot=Plot(
        "time (ms)", "queue (KB)", printed={"10 flows, 4 us": [(95, 125.3)], "10 flows, 85 us": [(95, 275.5)]}
    ),
)
def fig4(lab: "Lab") -> None:
    for delay in (4, 85):
        for flows in (2, 10, 64):
            model = lab.fluid(replace(Dcqcn(flows=flows, **GENTLE), delay=delay * 1e-6))
            run = trajectory(model, 0.1, step_s=2e-6)
            late = late_kb(run, 0.08)
            lab.say(f"{flows} flows, {delay} us", late.mean())
            lab.say(f"swing of {flows} flows, {delay} us", np.ptp(late))
            if (flows, delay) == (10, 85):
                lab.say("highest of 10 flows, 85 us", late.max())
                lab.say("lowest of 10 flows, 85 us", late.min())
            if (flows, delay) == (2, 85):
                lab.say("least rate of 2 flows, 85 us", run.rates_bps.min() / GBPS)
            if flows == 10:
                shown = run.between(0.03)
                lab.curve(f"10 flows, {delay} us", run.time_s[shown] * 1e3, run.queue_bytes[shown] / 1e3)


fig4.claim(
    "ED6",
    "Ten flows settle at 4 us of feedback and oscillate at 85 us; 2 and 64 settle at both.",
    source="Fig. 4, §3.2",
    tolerance="T1: fixed points 2 %; amplitude 15 % (the solver's step)",
    bands=[
        near("2 flows, 4 us", 20.5, rel=0.02, unit="KB", read="derived", source="eq. 11"),
        near("10 flows, 4 us", 125.3, rel=0.02, unit="KB", read="data"),
        near("64 flows, 4 us", 1182.0, rel=0.02, unit="KB", read="data"),
        near("64 flows, 85 us", 1182.0, rel=0.02, unit="KB", read="data"),
        near("highest of 10 flows, 85 us", 275.5, rel=0.15, unit="KB", read="data"),
        within("lowest of 10 flows, 85 us", 0, 5, unit="KB", reported=0.0, read="data"),
        within("swing of 2 flows, 85 us", 0, 2, unit="KB", order=True),
        near("least rate of 2 flows, 85 us", 3.886, rel=0.02, unit="Gbps", read="data"),
    ],
    mutation=Mutation({"dcqcn.r_ai": "50Mbps"}, "10 flows, 4 us"),
)


@ECN_OR_DELAY.figure(
    "Fig. 5",
    "DCQCN in packets at 4 and 85 us",
    setting=LINK_40G
    + " Ten flows; the last 0.1 s of 0.3. A receiver that looks every 50 us, as in the authors' simulator, and one that answers at once, at four times the step.",
    runs={"dcqcn": BOTTLENECK},
    plot=Plot("time (ms)", "queue (KB)"),
)
def fig5(lab: "Lab") -> None:
    for words, sampled, times in (("", True, 1), (", answers at once", False, 4)):
        for rtt in (4, 85):
            us = lab.input("near_us", rtt) if rtt == 4 else rtt
            run = lab.run("dcqcn", ten_flows(times, us), cc={"name": DCQCN, "sampled": sampled})
            kb = samples_kb(lab, run) / times
            lab.say(f"swing at {rtt} us{words}", kb.std())
            if sampled:
                last = kb.iloc[-len(kb) // 2 :]
                lab.say(f"least queue, {rtt} us", last.min())
                lab.say(f"largest queue, {rtt} us", last.max())
                shown = kb.iloc[:5000]
                lab.curve(f"{rtt} us", np.arange(len(shown)) * 0.02, shown)


def ten_flows(times: int, rtt_us: float) -> dict[str, object]:
    """Ten flows, or a multiple with link, ramp and flows in proportion, so that single marks weigh less."""
    return {
        "topology": {
            "kind": "dumbbell", "hosts": 10 * times, "rate": f"{40 * times}Gbps", "edge_rate": "40Gbps",
            "rtt": f"{rtt_us}us",
        },
        "duration": "300ms" if times == 1 else "100ms",
        "warmup": "100ms" if times == 1 else "50ms",
        "network.buffer": "unlimited",
        "network.marking": {"kind": "red", "kmin": f"{5 * times}KB", "kmax": f"{200 * times}KB", "extended": True},
        "traffic.0.flows": 10 * times,
    }  # fmt: skip


fig5.claim(
    "ED7",
    "In packets too ten flows oscillate at 85 us.",
    source="Fig. 5, §3.2",
    tolerance="T3: extremes of one run, 30 %; the order",
    bands=[
        below("swing at 4 us", "swing at 85 us"),
        near("largest queue, 85 us", 365.0, rel=0.3, unit="KB", read="data"),
        near("least queue, 85 us", 100.0, rel=0.3, unit="KB", read="data"),
        below("swing at 4 us, answers at once", "swing at 85 us, answers at once"),
    ],
    mutation=Mutation({"input:near_us": 150}, "swing at 4 us, answers at once"),
    differs="In the paper's 0.1 s the queue still grows; here it is steady. A receiver that looks every 50 us delays marks by 25 us at any "
    "distance, so ten flows swing at 4 us as well.",
)

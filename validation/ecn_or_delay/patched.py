"""Fig. 12 and Theorem 5: Patched TIMELY's fixed point, its stability, and flows that join late."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.fluid import PatchedTimely
from shallows.fluid.trajectory import trajectory
from validation.claim import Mutation, Plot, near, within
from validation.ecn_or_delay.paper import ECN_OR_DELAY, GBPS, LINK_10G, queue_kb, rates, samples_kb, split
from validation.ecn_or_delay.timely import RATIO, RUNS, SPLIT, pair, say_split
from validation.runs import F64, jain, probe

if TYPE_CHECKING:
    from validation.lab import Lab


def eq31_kb(flows: int) -> float:
    """Eq. 31 at 10 Gbps: T_low C (1 + N delta/(beta C))."""
    return 62.5 * (1 + flows / 8)


@ECN_OR_DELAY.figure(
    "Fig. 12a",
    "Two Patched TIMELY flows that start at 7 and 3 Gbps",
    setting=LINK_10G + " `patched-timely`, which is Algorithm 2.",
    runs=RUNS,
    plot=SPLIT._replace(printed={"flow 1": [(290, 4.78)], "flow 2": [(290, 4.78)]}),
)
def fig12a(lab: "Lab") -> None:
    run = pair(lab, "patched-timely", 7, 3)
    say_split(lab, run)
    lab.say("queue", queue_kb(lab, run))
    fluid = trajectory(lab.fluid(PatchedTimely()), 0.2, flows=split(7, 3))
    lab.say("queue in the equations", fluid.queue_bytes[-1] / 1e3)


fig12a.claim(
    "ED17",
    "Patched TIMELY makes 7 and 3 Gbps fair, at a queue of 78 KB.",
    source="Fig. 12a, eq. 31",
    tolerance="T2: 10 % in packets, the ratio 5 %; T1 for the equations",
    bands=[
        near("queue", eq31_kb(2), rel=0.10, unit="KB", read="derived", source="eq. 31"),
        within(RATIO, 1, 1.05, order=True),
        near("first flow", 4.78, rel=0.05, unit="Gbps", read="data"),
        near("second flow", 4.78, rel=0.05, unit="Gbps", read="data"),
        near("queue in the equations", eq31_kb(2), rel=0.001, unit="KB", read="derived", source="eq. 31"),
    ],
    mutation=Mutation({"patched-timely.beta": "0.02"}, "queue"),
    differs="The authors' packets have 72.6 KB, with a cap of 0.96 of the link.",
)

COUNTS = (5, 10, 20, 40)


@ECN_OR_DELAY.figure(
    "Fig. 12b",
    "Patched TIMELY's queue",
    setting=LINK_10G + " `patched-timely`, flows that start together at C/N.",
    runs=RUNS,
    plot=Plot("flows", "mean queue (KB)", "points", guides=("eq. 31",), printed={"packets": [(40, 357)]}),
)
def fig12b(lab: "Lab") -> None:
    for flows in COUNTS:
        cc = {"name": "patched-timely", "start_rate": f"{10_000 // flows}Mbps"}
        run = lab.run(
            "timely-split", topology__hosts=flows, record__probes="off", record__queues="off",
            traffic=[{"kind": "long-lived", "flows": flows, "cc": cc}],
        )  # fmt: skip
        lab.say(f"{flows} flows", queue_kb(lab, run))
        lab.say(f"rate of one of {flows}", rates(run).mean())
    lab.curve("packets", COUNTS, [lab.values[f"{n} flows"] for n in COUNTS])
    lab.curve("eq. 31", COUNTS, [eq31_kb(n) for n in COUNTS])


fig12b.claim(
    "ED18",
    "Patched TIMELY's queue grows by 7.8 KB a flow: 375 KB for 40.",
    source="Fig. 12b, eq. 31",
    tolerance="T2: 10 % of eq. 31, 7 % of the authors' 357 KB; the rate 5 %",
    bands=[
        near("40 flows", 357.0, rel=0.07, unit="KB", read="data"),
        *(near(f"{n} flows", eq31_kb(n), rel=0.10, unit="KB", read="derived", source="eq. 31") for n in COUNTS),
        near("rate of one of 40", 0.24, rel=0.05, unit="Gbps", read="data"),
    ],
    mutation=Mutation({"patched-timely.beta": "0.012"}, "40 flows"),
)  # fmt: skip

UNEQUAL = ((7, 3), (9, 1))
EFOLDING_MS = 2 * 16 * 8 / 10
"""2 Seg/delta with 16 KB and 10 Mbps: near the fixed point g = 0, w = 1/2 and delta = beta C/N (q - q')/q', so eq. 29 with tau* = Seg/R has
d(R - C/N)/dt = -delta/(2 Seg) (R - C/N)."""


@ECN_OR_DELAY.figure(
    "Theorem 5, exponential",
    "How fast Patched TIMELY's rates meet",
    setting=LINK_10G
    + " Equations and packets (`patched-timely`), two flows that start at 7 and 3 or 9 and 1 Gbps. The difference of their rates from 60 to 160 ms, fitted by an exponential. The paper prints no rates but Fig. 12a's.",
    runs=RUNS,
    nightly=True,
    plot=Plot("time (ms)", "difference of the rates (Gbps)", y_log=True),
)  # fmt: skip
def exponential(lab: "Lab") -> None:
    for first, second in UNEQUAL:
        words = f"from {first} and {second} Gbps"
        fluid = trajectory(lab.fluid(PatchedTimely()), 0.2, flows=split(first, second))
        say_decay(
            lab, f"equations, {words}", fluid.time_s * 1e3, (fluid.rates_bps[0] - fluid.rates_bps[1]) / GBPS
        )
        run = pair(lab, "patched-timely", first, second, duration="200ms", warmup="0s", record__queues="off")
        pace = probe(run, "pace_gbps").pivot_table(index="time_us", columns="flow", values="value")
        say_decay(lab, f"packets, {words}", pace.index.to_numpy() / 1e3, (pace[0] - pace[1]).to_numpy())


def say_decay(lab: "Lab", words: str, ms: F64, difference: F64) -> None:
    """Stores how well an exponential fits from 60 to 160 ms, and its time."""
    fitted = (ms >= 60) & (ms < 160) & (difference > 0)
    log = np.log(difference[fitted])
    lab.say(f"correlation of log and time, {words}", np.corrcoef(ms[fitted], log)[0, 1])
    lab.say(f"e-folding time, {words}", -1 / np.polyfit(ms[fitted], log, 1)[0])
    shown = difference > 1e-3
    lab.curve(words, ms[shown], difference[shown])


exponential.claim(
    "ED40",
    "Patched TIMELY's rates meet exponentially.",
    source="Theorem 5, eq. 29",
    tolerance="T1: 3 % in the equations; T2 in packets, 15 %",
    bands=[
        *(
            within(f"correlation of log and time, equations, from {a} and {b} Gbps", -1, -0.999, domain="correlation", order=True, reported="exponentially")
            for a, b in UNEQUAL
        ),
        *(
            near(f"e-folding time, {where}, from {a} and {b} Gbps", EFOLDING_MS, rel=rel, unit="ms", read="derived", source="eq. 29, linearised")
            for where, rel in (("equations", 0.03), ("packets", 0.15)) for a, b in UNEQUAL
        ),
    ],
    mutation=Mutation({"patched-timely.delta": "20Mbps"}, "e-folding time, equations, from 7 and 3 Gbps"),
    quote="The system described in Equation 29 always exponentially converges to the unique fixed point.",
)  # fmt: skip

EDGE = (36, 52)


@ECN_OR_DELAY.figure(
    "Fig. 12c",
    "Patched TIMELY below and above its limit of stability",
    setting=LINK_10G
    + " patched-timely@ecn-or-delay-fig11, the slope of 0.5 with which Fig. 11 was computed; 36 and 52 flows.",
    runs=RUNS,
    plot=Plot("time (ms)", "queue (KB)"),
)
def fig12c(lab: "Lab") -> None:
    for flows in EDGE:
        cc = {
            "name": lab.input("cc", "patched-timely@ecn-or-delay-fig11"),
            "start_rate": f"{10_000 // flows}Mbps",
        }
        run = lab.run(
            "timely-split", topology__hosts=flows, record__probes="off", duration="600ms", warmup="400ms",
            traffic=[{"kind": "long-lived", "flows": flows, "cc": cc}],
        )  # fmt: skip
        kb = samples_kb(lab, run)
        lab.say(f"deviation of the queue over its mean, {flows} flows", kb.std() / kb.mean())
        every = lab.queue(run)
        lab.curve(f"{flows} flows", every.time_us / 1e3, every.queue_bytes / 1e3)


fig12c.claim(
    "ED28",
    "Patched TIMELY oscillates with more than 40 flows and settles with fewer.",
    source="Fig. 12c, §4.3",
    tolerance="T3: settled is a deviation of at most 1 % of the mean queue, oscillating of 3 % or more",
    bands=[
        within("deviation of the queue over its mean, 36 flows", 0, 0.01, reported="stable until 40"),
        within("deviation of the queue over its mean, 52 flows", 0.03, 1, reported="instability"),
    ],
    mutation=Mutation({"patched-timely.beta": "0.02"}, "deviation of the queue over its mean, 52 flows"),
    differs="With the printed slope of 2 the limit is 19 flows (ED16).",
)

JOINS = ((3, 10), (8, 20), (20, 30))


@ECN_OR_DELAY.figure(
    "Theorem 5",
    "Patched TIMELY flows that join one by one",
    setting=LINK_10G
    + " `patched-timely`; 3, 8 and 20 flows start 10, 20 and 30 ms apart at line rate; the last 150 ms of 300 ms after the last join.",
    runs=RUNS,
)
def theorem5(lab: "Lab") -> None:
    for flows, apart_ms in JOINS:
        cc = {"name": "patched-timely", "subtract_min_rtt": lab.input("subtract_min_rtt", False)}
        last = flows * apart_ms
        run = lab.run(
            "timely-split", topology__hosts=flows, record__probes="off", record__queues="off",
            traffic=[{"kind": "long-lived", "flows": flows, "stagger": f"{apart_ms}ms", "cc": cc}],
            duration=f"{last + 300}ms", warmup=f"{last + 150}ms",
        )  # fmt: skip
        lab.say(f"Jain's index, {flows} flows", jain(rates(run)))
        lab.say(f"queue, {flows} flows", queue_kb(lab, run))


theorem5.claim(
    "ED27",
    "Patched TIMELY flows that join one by one become equal, at the queue of eq. 31.",
    source="Theorem 5, eq. 31",
    tolerance="T2: Jain's index 0.99; the queue 10 %",
    bands=[
        *(within(f"Jain's index, {n} flows", 0.99, 1, domain="share", read="derived", source="Theorem 5") for n, _ in JOINS),
        *(near(f"queue, {n} flows", eq31_kb(n), rel=0.1, unit="KB", read="derived", source="eq. 31") for n, _ in JOINS),
    ],
    mutation=Mutation({"input:subtract_min_rtt": True}, "Jain's index, 3 flows"),
    differs="If 20 flows start at line rate 10 ms apart, they fill 20 MB before they have slowed down, and go-back-N collapses.",
)  # fmt: skip

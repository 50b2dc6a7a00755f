"""Fig. 13 and §2.5: Inigo beside other algorithms, and flows with different round trips."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from validation.claim import Mutation, Plot, below, within
from validation.inigo.paper import INIGO, K
from validation.runs import F64, jain, probe

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows import Run
    from validation.lab import Lab

MIX = {"dilation-mix": "s0->s1"}
THRESHOLD = 0.17
"""d_thresh over RTT_min (eq. 3)."""


def are_whole_steps(larger: F64, threshold: float) -> "NDArray[np.bool_]":
    """Whether each factor is a power of one plus the threshold, to a twentieth of a step."""
    steps = np.log(larger) / math.log(1 + threshold)
    return np.abs(steps - np.round(steps)) < 0.05


@INIGO.figure(
    "Fig. 13, two flows",
    "Inigo beside CUBIC",
    setting="Dumbbell, 100 Mbps, 10 ms; Inigo all the time, CUBIC from 2 to 10 s, and a ping. The paper has four TCPs and Flent's eight flows.",
    runs=MIX,
    seeds=5,
    plot=Plot("time (s)", "throughput (Gbps)"),
)
def fig13(lab: "Lab") -> None:
    def mean(run: "Run", flow: int, name: str, start_s: float, stop_s: float) -> float:
        its = probe(run, name, start_s * 1e6, flow)
        return its[its.time_us <= stop_s * 1e6].value.mean()

    dilating = lab.run(
        "dilation-mix", traffic__0__cc={"name": "inigo", "dilation": lab.input("dilation", True)}
    )
    stubborn = lab.run("dilation-mix", traffic__0__cc={"name": "inigo", "dilation": False})
    lab.say("Inigo beside CUBIC", mean(dilating, 0, "rate_gbps", 4, 10) / 0.1)
    lab.say("Inigo beside CUBIC, not dilating", mean(stubborn, 0, "rate_gbps", 4, 10) / 0.1)
    lab.say("Inigo alone again", mean(dilating, 0, "rate_gbps", 12, 20) / 0.1)
    after, before = (mean(dilating, 2, "rtt_us", *span) for span in ((12, 20), (1, 2)))
    lab.say("round trip after over before", after / before)
    least, phase = (probe(dilating, name, 4e6, 0) for name in ("base_rtt_us", "dilation"))
    larger = least.value.to_numpy() / mean(dilating, 0, "base_rtt_us", 1, 2)
    whole = are_whole_steps(larger, lab.input("threshold", THRESHOLD))
    dilates, beside = phase.value.to_numpy() > 3, least.time_us.to_numpy() <= 10e6
    lab.say("whole steps of RTT_min between dilations", whole[beside & ~dilates].mean())
    lab.say("whole steps of RTT_min while dilated", whole[beside & dilates].mean())
    for flow, name in enumerate(("Inigo", "CUBIC")):
        its = probe(dilating, "rate_gbps", flow=flow)
        lab.curve(name, its.time_us / 1e6, its.value)


fig13.claim(
    "IN11",
    "CUBIC dominates on a shared link; Inigo dilates its idea of the round trip to keep a share, and returns to low latency after.",
    source="Fig. 13, §4.3",
    tolerance="T4: the order; CUBIC's dominance 70 % of the link; after it 80 % and the round trip 10 %",
    bands=[
        below("Inigo beside CUBIC, not dilating", "Inigo beside CUBIC", reported="fights for its share"),
        within("Inigo beside CUBIC", 0, 0.3, domain="share", order=True, reported="CUBIC dominates"),
        within("Inigo alone again", 0.8, 1, domain="share", order=True),
        within("round trip after over before", 0.9, 1.1, order=True),
    ],
    mutation=Mutation({"input:dilation": False}, "Inigo beside CUBIC, not dilating"),
    limits="Two flows and a ping, not four TCPs and Flent's eight; see IN19.",
)

fig13.claim(
    "IN30",
    "Beside CUBIC Inigo dilates RTT_min for some round trips, after which it is a threshold above what it was.",
    source="Algorithm 3, Fig. 13",
    tolerance="T3: a step of 17 % to a twentieth of it, most of the time, since a shorter round trip lowers RTT_min between them; a dilated RTT_min follows the smoothed round trip, which is on a step by chance",
    bands=[
        within("whole steps of RTT_min between dilations", 0.5, 1, domain="share", read="derived", source="the last lines of Algorithm 3"),
        within("whole steps of RTT_min while dilated", 0, 0.75, domain="share", order=True, reported="it dilates RTT_min"),
    ],
    mutation=Mutation({"input:threshold": 0.1}, "whole steps of RTT_min between dilations"),
    quote="When Inigo detects persistent congestion over multiple RTTs, it dilates RTT_min and fights for its share of the bandwidth.",
    differs="RTT_min before a dilation is kept at its first round trip; to the letter of Algorithm 3 it would be overwritten by the dilated one (`shallows cc inigo`).",
)  # fmt: skip

FOUR = ("cubic", "reno", "cdg@inigo", "inigo")


@INIGO.figure(
    "Fig. 13",
    "Four TCPs on one link",
    setting="Dumbbell, 100 Mbps, 10 ms, a buffer of 1000 packets (Linux's default; the paper does not print it); CUBIC, Reno, CDG and Inigo start 0.5 s apart; the mean from 5 to 60 s.",
    runs=MIX,
    seeds=6,
    plot=Plot("time (s)", "throughput (Gbps)"),
)
def fig13_four(lab: "Lab") -> None:
    first = lab.input("first", "cubic")
    names = {"CUBIC": first, "Reno": "reno", "CDG": "cdg@inigo", "Inigo": "inigo"}
    traffic = [
        {
            "kind": "long-lived",
            "flows": 1,
            "from": i,
            "to": 4 + i,
            "cc": {"name": cc},
            "start": f"{500 * i}ms",
        }
        for i, cc in enumerate(names.values())
    ]
    run = lab.run(
        "dilation-mix",
        traffic=traffic,
        topology__hosts=4,
        network__buffer="1000pkt",
        duration="60s",
        warmup="5s",
        record__queues="off",
    )
    for flow, name in enumerate(names):
        lab.say(name, run.flows.goodput_gbps.iloc[flow] / 0.1)
        its = probe(run, "rate_gbps", flow=flow)
        lab.curve(name, its.time_us / 1e6, its.value.rolling(5, min_periods=1).mean())


fig13_four.claim(
    "IN19",
    "Of four TCPs on one link CUBIC gets most.",
    source="Fig. 13, §4.3",
    tolerance="T4: the order; the paper prints no number",
    bands=[below(name, "CUBIC", reported="CUBIC dominates") for name in ("Reno", "CDG", "Inigo")],
    mutation=Mutation({"input:first": "inigo"}, "Inigo"),
    undecided={
        "Reno": "CUBIC and Reno are close: 0.50 and 0.40 of the link with the seeds 1 to 6, 0.48 and 0.41 with those of the name, which is no order."
    },
    differs="The paper runs four flows up and four down with a ping (Flent's RRUL); here four flows one way.",
)


@INIGO.figure(
    "§2.5",
    "Flows with round trips of 4 and 16 ms",
    setting="Two flows over 500 Mbps, with round trips of 4 and 16 ms, and marks at 28 packets: `inigo` with ECN and its sub-window of 10 packets (Algorithm 7), and inigo@window with ECN (Algorithm 5).",
    runs={"inigo-five": "s0->s1"},
    seeds=5,
)
def rtt_fairness(lab: "Lab") -> None:
    for name, cc in (("sub-window", lab.input("cc", "inigo")), ("window", "inigo@window")):
        rates = two_distances(lab, {"name": cc, "ecn": True}).flows.goodput_gbps
        lab.say(f"Jain's index, {name}", jain(rates))
        lab.say(f"share of the farther flow, {name}", rates.iloc[1] / rates.mean())


def two_distances(lab: "Lab", cc: dict[str, Any]) -> "Run":
    """Two flows that share s0->s1, whose own links make their round trips 4 and 16 ms."""
    edges = [
        ["h0", "s0", "500Mbps", "1ms"], ["h1", "s0", "500Mbps", "7ms"], ["s0", "s1", "500Mbps", "500us"],
        ["s1", "h2", "500Mbps", "500us"], ["s1", "h3", "500Mbps", "500us"],
    ]  # fmt: skip
    traffic = [
        {"kind": "long-lived", "flows": 1, "from": i, "to": 2 + i, "start": f"{500 * i}ms"} for i in (0, 1)
    ]
    return lab.run(
        "inigo-five", cc=cc, traffic=traffic, duration="15s", warmup="5s", network__buffer="1MB", network__marking=K,
        record__probes="off", record__queues="off", topology={"kind": "graph", "edges": edges, "hosts": ["h0", "h1", "h2", "h3"]},
    )  # fmt: skip


rtt_fairness.claim(
    "IN16",
    "With the sub-window flows with different round trips share more fairly than with one answer a window.",
    source="§2.5",
    tolerance="T4: the order; the paper prints no number",
    bands=[
        below("Jain's index, window", "Jain's index, sub-window", reported="RTT-fairness"),
        within("Jain's index, sub-window", 0.8, 1, domain="share"),
    ],
    mutation=Mutation({"input:cc": "inigo@window"}, "Jain's index, sub-window"),
    quote="However, Alizadeh, et al. proposed an RTT-fairness enhancement to DCTCP, in which it would respond to congestion upon every ACK. [...] A sub-window approach to RTT-fairness is simpler to implement and requires fewer variables.",
    differs="The enhancement is one of the response to marks (Algorithm 6). Without marks a round trip is late that exceeds RTT_min by 17 %, so the farther flow tolerates a queue of 2.7 ms and the nearer one of 0.68 ms, "
    "and the sub-window costs the nearer one more: Jain's index is .75 with it and .89 without.",
)

"""Fig. 1 and 2 of the poster, and the gap between packets of its section 3."""

from typing import TYPE_CHECKING

import numpy as np

from validation.claim import Mutation, Plot, below, near, within
from validation.poster.paper import POSTER
from validation.runs import BOTTLENECK

if TYPE_CHECKING:
    from pandas import DataFrame

    from validation.lab import Lab

FRAME_US = 1.2
EMPTY_US = 20 + 3 * (FRAME_US + 0.0512)
"""Round trip of the empty path: three links for the data frame (1500 B) and three for the acknowledgement (64 B) at 10 Gbps."""
HELD = EMPTY_US / FRAME_US
"""Packets that the empty path holds: 19.8."""
PINGPONG = {"topology.edge_rate": "10Gbps", "record.queues": "off"}
"""Edges as fast as the bottleneck, so that no flow waits at an edge."""


@POSTER.figure(
    "Fig. 1",
    "Queueing delay of flows with one packet in flight",
    setting="Dumbbell, 10 Gbps, 10 us one way, a fixed window of one packet; edges as fast as the bottleneck.",
    runs={"pingpong": BOTTLENECK},
    seeds=1,
    plot=Plot(
        "flows",
        "queueing delay (us)",
        "points",
        guides=("(n - 19.8) packet times",),
        printed={"largest number of flows without a queue": [(19, 0)]},
    ),
)
def fig1(lab: "Lab") -> None:
    counts = (2, 10, 15, 18, 19, 20, 21, 25, 30, 40, 50)
    waits: list[float] = []
    for n in counts:
        run = lab.run(
            "pingpong", PINGPONG, traffic__0__flows=n, traffic__0__stagger="1us", duration="20ms", warmup="10ms",
            cc={"name": "fixed", "window": 1},
        )  # fmt: skip
        waits.append(lab.port(run)["delay_mean_us"] - FRAME_US)
        lab.say(f"wait of {n} flows", waits[-1])
    lab.say("most flows without a wait", max(n for n, wait in zip(counts, waits, strict=True) if wait < 0.01))
    lab.say("slope from 25 flows on", np.polyfit(counts[-4:], waits[-4:], 1)[0])
    lab.curve("one packet a flow", counts, waits)
    lab.curve("(n - 19.8) packet times", (2, HELD, 50), (0, 0, (50 - HELD) * FRAME_US))


fig1.claim(
    "PO1",
    "With one packet in flight a flow, the queue grows when there are more than 19 flows, by a packet time a flow.",
    tolerance="T1: the knee exact, waits and slope 1 %",
    bands=[
        near("most flows without a wait", 19.0, by=0.5),
        near("wait of 20 flows", (20 - HELD) * FRAME_US, rel=0.01, unit="us", read="derived"),
        near("wait of 50 flows", (50 - HELD) * FRAME_US, rel=0.01, unit="us", read="derived"),
        near("slope from 25 flows on", FRAME_US, rel=0.01, unit="us a flow", read="derived"),
    ],
    mutation=Mutation({"pingpong:topology.rtt": "22us"}, "most flows without a wait"),
)


@POSTER.figure(
    "Fig. 2",
    "Queue length under Vegas and DCTCP",
    setting="Dumbbell, 10 Gbps, 50 us one way, buffer of 250 packets, 0 to 50 flows by 2.1 s, in quick mode by 1.05 s; vegas@ns-2 and dctcp@ns-2, K = 65.",
    runs={"pingpong": BOTTLENECK},
    seeds=8,
    plot=Plot("time (s)", "queue (packets)"),
)
def fig2(lab: "Lab") -> None:
    queues: dict[str, DataFrame] = {}
    span_us = lab.pick(20e3, 40e3)
    for name, cc, marking in (
        ("Vegas", {"name": "vegas@ns-2"}, "none"),
        ("DCTCP", {"name": "dctcp@ns-2"}, {"kind": "step", "threshold": "65pkt"}),
    ):
        run = lab.run(
            "pingpong", topology={"kind": "dumbbell", "hosts": 50, "rate": "10Gbps", "rtt": "100us"}, cc=cc,
            network__marking=marking, network__buffer="250pkt", duration=lab.pick("1050ms", "2100ms"),
            traffic__0__stagger=f"{span_us}us", traffic__0__exchange="10KB",
        )  # fmt: skip
        samples = lab.queue(run)
        queues[name] = samples.assign(flows=1 + samples.time_us // span_us)
        lab.curve(name, samples.time_us / 1e6, samples.queue_pkt)
    for low, high in ((20, 25), (45, 50)):
        means = {name: q[(q.flows >= low) & (q.flows < high)].queue_pkt.mean() for name, q in queues.items()}
        lab.say(f"Vegas over DCTCP, {low} to {high} flows", means["Vegas"] / means["DCTCP"])
    vegas = queues["Vegas"].groupby("flows").queue_pkt.mean()
    for n in (10, 20, 40):
        lab.say(f"packets a flow under Vegas, {n} flows", vegas.loc[n] / n)
    for name, q in queues.items():
        few = q[(q.flows >= 10) & (q.flows < 15)].groupby("flows").queue_pkt
        lab.say(f"variation of {name}", (few.std() / few.mean()).mean())


fig2.claim(
    "PO2",
    "Vegas keeps queues comparable with DCTCP's, in proportion to the flows, with much less variation.",
    tolerance="T2: one to three packets a flow; comparable by a factor of 2; variation the order",
    bands=[
        *(
            within(
                f"packets a flow under Vegas, {n} flows", 1, 3.5, unit="packets", read="derived",
                source="alpha 1 and beta 3, and half a packet for the bias of the base RTT",
            )
            for n in (10, 20, 40)
        ),
        within("Vegas over DCTCP, 20 to 25 flows", 0.5, 2, reported="comparable"),
        within("Vegas over DCTCP, 45 to 50 flows", 0.5, 2, reported="comparable"),
        below("variation of Vegas", "variation of DCTCP", reported="much less"),
    ],
    mutation=Mutation({"vegas.beta": "9pkt", "vegas.alpha": "7pkt"}, "packets a flow under Vegas, 20 flows"),
    differs="All pairs exchange 10 KB before anything else, as in the authors' script, so every flow has seen the base round trip. Without "
    "the exchange, later flows take the standing queue for distance: 50 flows fill the buffer of 250 packets.",
)  # fmt: skip


@POSTER.figure(
    "§3",
    "A gap between packets instead of a window",
    setting="Dumbbell, 10 Gbps, 10 us one way, 50 flows: the `gap` algorithm beside one packet in flight.",
    runs={"gap-10us": BOTTLENECK},
)
def gap(lab: "Lab") -> None:
    for name, cc in (("gap", {"name": "gap"}), ("one packet", {"name": "fixed", "window": 1})):
        run = lab.run("gap-10us", cc=cc, record__probes="off", record__queues="off")
        found = lab.port(run)
        lab.say(f"packets in the queue, {name}", found["queue_mean_pkt"])
        in_flight = found["utilization"] * (EMPTY_US - FRAME_US + found["delay_mean_us"]) / FRAME_US
        lab.say(f"packets in flight a flow, {name}", in_flight / 50)
        lab.say(f"utilisation, {name}", found["utilization"])


gap.claim(
    "PO3",
    "With a gap longer than the round trip a flow sends more slowly than one packet a round trip, and the queue is shorter; the link is full.",
    tolerance="T2: orders; a full link is 95 %",
    bands=[
        within("packets in flight a flow, gap", 0, 0.9, reported="slower than the ping-pong manner"),
        near("packets in flight a flow, one packet", 1.0, rel=0.02, read="derived", source="window of one packet"),
        below("packets in the queue, gap", "packets in the queue, one packet", reported="remains low"),
        within("utilisation, gap", 0.95, 1, domain="share", reported="fully utilized"),
    ],
    mutation=Mutation({"cc:gap": "reno"}, "packets in flight a flow, gap"),
)  # fmt: skip

"""The poster that led to DX: where windows end, and what a delay-based algorithm does to the queue.

Source: Lee, Jang and Moon, "Reviving Delay-based TCP for Data Centers", SIGCOMM 2012 (poster).
"""

from typing import TYPE_CHECKING

import numpy as np

from shallows.papers.claim import Paper, Plot, below, near, within
from shallows.papers.reach import Axis, points
from shallows.papers.runs import noisy, port

if TYPE_CHECKING:
    from pandas import DataFrame

    from shallows.papers.lab import Lab

POSTER = Paper(
    "poster",
    "Poster",
    "Reviving Delay-based TCP for Data Centers",
    "Lee, Jang and Moon, SIGCOMM 2012 (poster)",
)
row = POSTER.row

FRAME_US = 1.2


@row(
    "PO1",
    "Fig. 1",
    "With one packet in flight a flow, 19 flows do not wait; from there on the queue grows by a packet a flow.",
    tolerance="T1: 20 us, three packets and three acknowledgements hold 19.79 packets; the slope 5 %",
    scenarios=["pingpong"],
    seeds=(1, 3),
    checks=[
        within("most flows without a wait", 19, 19, reported=19, read="derived"),
        near("slope", FRAME_US, rel=0.05, unit="us a flow", read="derived"),
        near("wait of 50 flows", (50 - 19.79) * FRAME_US, rel=0.05, unit="us", read="derived"),
        near(
            "wait of 30 flows at 25 us",
            (30 - 23.96) * FRAME_US,
            rel=0.05,
            unit="us",
            read="derived",
            held_out=True,
        ),
        near(
            "wait of 40 flows at 30 us",
            (40 - 28.13) * FRAME_US,
            rel=0.05,
            unit="us",
            read="derived",
            held_out=True,
        ),
    ],
    plot=Plot("flows", "queueing delay (us)", "points"),
)
def fig1(lab: "Lab") -> None:
    def waits_us(flows: int, rtt: str = "20us") -> float:
        run = lab.run(
            "pingpong", traffic__0__flows=flows, traffic__0__stagger="1us", duration="20ms", warmup="10ms",
            topology__rtt=rtt, record__queues="off",
        )  # fmt: skip
        return port(run)["delay_mean_us"] - FRAME_US

    counts = (2, 10, 17, 18, 19, 20, 25, 30, 40, 50)
    waits = np.array([waits_us(n) for n in counts])
    lab.say("most flows without a wait", max(n for n, wait in zip(counts, waits, strict=True) if wait < 0.01))
    lab.say("slope", np.polyfit(counts[5:], waits[5:], 1)[0])
    lab.say("wait of 50 flows", waits[-1])
    lab.say("wait of 30 flows at 25 us", waits_us(30, "25us"))
    lab.say("wait of 40 flows at 30 us", waits_us(40, "30us"))
    lab.curve("ping-pong", counts, waits)


@row(
    "PO2",
    "Fig. 2",
    "Vegas keeps queues comparable with DCTCP's, in proportion to the flows, with far less variation.",
    tolerance="T2: one to three packets a flow; comparable by a factor of 2; variation the order",
    scenarios=["pingpong"],
    checks=[
        within("packets a flow under Vegas", 1, 3.5, reported="1 to 3", read="derived", shape=True),
        within("Vegas over DCTCP, 20 to 25 flows", 0.5, 2, reported="comparable"),
        within("Vegas over DCTCP, 45 to 50 flows", 0.5, 2, reported="comparable"),
        below("variation of Vegas", "variation of DCTCP", reported="much less"),
    ],
    differs="All pairs exchange 10 KB before anything else, as in the authors' script: so every flow has seen the base round trip. Without, later flows take "
    "the queue for distance: 248 packets, the whole buffer, with 50 flows.",
    plot=Plot("time (s)", "queue (packets)"),
)
def fig2(lab: "Lab") -> None:
    queues: dict[str, DataFrame] = {}
    for name, cc, marking in (
        ("Vegas", {"name": "vegas@ns-2"}, "none"),
        ("DCTCP", {"name": "dctcp@ns-2"}, {"kind": "step", "threshold": "65pkt"}),
    ):
        run = lab.run(
            "pingpong", topology={"kind": "dumbbell", "hosts": 50, "rate": "10Gbps", "rtt": "100us"}, cc=cc,
            network__marking=marking, network__buffer="250pkt", duration=lab.pick("1050ms", "2100ms"),
            traffic__0__stagger=lab.pick("20ms", "40ms"), traffic__0__exchange="10KB",
        )  # fmt: skip
        queues[name] = run.queues.assign(flows=1 + run.queues.time_us // lab.pick(20e3, 40e3))
        lab.curve(name, run.queues.time_us / 1e6, run.queues.queue_pkt)
    for low, high in ((20, 25), (45, 50)):
        means = {name: q[(q.flows >= low) & (q.flows < high)].queue_pkt.mean() for name, q in queues.items()}
        lab.say(f"Vegas over DCTCP, {low} to {high} flows", means["Vegas"] / means["DCTCP"])
    vegas = queues["Vegas"].groupby("flows").queue_pkt.mean()
    lab.say("packets a flow under Vegas", vegas.loc[20] / 20)
    for name, q in queues.items():
        few = q[(q.flows >= 10) & (q.flows < 15)].groupby("flows").queue_pkt
        lab.say(f"variation of {name}", (few.std() / few.mean()).mean())


REACH = (
    Axis("flows", "", 20, (2, 5, 10, 20, 50, 100)),
    Axis("round trip", "us", 100, (25, 50, 100, 200, 400, 800)),
    Axis("packet size", "B", 1500, (500, 1500, 4500, 9000)),
    Axis("buffer", "packets", 250, (66, 100, 250, 1000)),
    Axis("noise", "us", 0, (0, 0.3, 1, 3, 10)),
)


@POSTER.reach(
    "PO-R",
    "Vegas keeps one to three packets a flow in the queue, with less variation than DCTCP's (Fig. 2).",
    expected="Vegas counts packets, so neither their size nor the round trip matters, nor more flows until three packets each fill the buffer of 250, at about "
    "eighty. Noise of the size of a packet a flow's wait, 1.2 us, is taken for a queue or hides one.",
    axes=REACH,
    checks=[
        within("Vegas: packets a flow", 1, 3.5, reported="1 to 3"),
        within("variation over DCTCP's", high=1, reported="much less"),
    ],
    scenarios=["pingpong"],
    differs="Every flow is told the base round trip, as the authors' script has it measured before. All flows are there from the start. Variation is the standard "
    "deviation of the queue.",
)
def reach(lab: "Lab") -> None:
    def at(on: dict[str, float]) -> dict[str, float]:
        count, size, rtt_us = int(on["flows"]), on["packet size"], on["round trip"]
        settings = {
            "topology": {"kind": "dumbbell", "hosts": count, "rate": "10Gbps", "rtt": f"{rtt_us}us"},
            "network": {"mtu": f"{size}B", "header": "40B", "buffer": f"{on['buffer']}pkt"},
            "traffic": [{"kind": "long-lived", "flows": count, "stagger": "1ms"}],
            "duration": "400ms", "warmup": "200ms", "record.queues": "20us",
        }  # fmt: skip
        vegas = {"name": "vegas@ns-2", "base_rtt": f"{rtt_us + 3.8 * size / 1500}us"}
        step = {"kind": "step", "threshold": "65pkt"}
        ours = lab.run("pingpong", settings | {"cc": vegas, "hosts.timestamps": noisy(on["noise"])})
        other = lab.run("pingpong", settings | {"cc": {"name": "dctcp@ns-2"}, "network.marking": step})
        spread = [run.queues[run.queues.time_us > 200e3].queue_pkt.std() for run in (ours, other)]
        return {
            "Vegas: packets a flow": port(ours)["queue_mean_pkt"] / count,
            "variation over DCTCP's": spread[0] / max(spread[1], 1e-9),
        }

    points(lab, REACH, at)

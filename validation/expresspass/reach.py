"""How far ExpressPass's headline reaches."""

from typing import TYPE_CHECKING

from validation.claim import within
from validation.expresspass.paper import EXPRESSPASS, QUIET, SIMULATED, of
from validation.reach import Axis, points
from validation.runs import BOTTLENECK, jain

if TYPE_CHECKING:
    from validation.lab import Lab

REACH = (
    Axis("flows", "", 16, (2, 8, 16, 64, 256, 1024)),
    Axis("round trip", "us", 100, (10, 25, 50, 100, 400, 1600)),
    Axis("frame size", "B", 1538, (538, 1538, 4538, 9038)),
    Axis("buffer", "frames", 250, (1, 2, 4, 16, 250)),
    Axis("host time for a credit", "us", 0, (0, 0.5, 2, 8, 32)),
)


@EXPRESSPASS.reach(
    "XP-R",
    "ExpressPass fills its share of the link, fairly, without a drop, with a queue of a frame or two (Fig. 15).",
    expected="Nothing but the share of the credits in the link depends on the frame's size. With more flows than credits in a round trip (80) some wait, "
    "which costs fairness over 100 ms only for very many. Times that differ from credit to credit queue frames: a tail of 2 us is two "
    "frames, so the queue gives way first. Two frames of buffer do until then.",
    axes=REACH,
    bands=[
        within("share of what credits leave", 0.99, 1.01, reported="94.82 % of the link"),
        within("Jain's index", 0.95, 1, reported="near 1", domain="share"),
        within("frames dropped", 0, 0),
        within("frames in the queue", 0, 2.01, reported="1.34 KB"),
    ],
    runs={"expresspass": BOTTLENECK},
    differs="A host's time is the tail, its 99.99th percentile; the median is a sixteenth of it, as on the testbed (0.38 and 6.2 us).",
)
def reach(lab: "Lab") -> None:
    def at(on: dict[str, float]) -> dict[str, float]:
        frame, tail_us = on["frame size"], on["host time for a credit"]
        settings = of(int(on["flows"])) | QUIET | {"cc.name": SIMULATED, "duration": "120ms"}
        run = lab.run(
            "expresspass",
            settings | {"network.mtu": f"{frame}B", "network.buffer": f"{on['buffer']}pkt", "topology.rtt": f"{on['round trip']}us",
               "cc.host_time": f"{tail_us / 16}us", "cc.host_time_tail": f"{tail_us}us"},
        )  # fmt: skip
        data = lab.port(run)
        return {
            "share of what credits leave": data["utilization"] * (84 + frame) / frame,
            "Jain's index": jain(run.flows.goodput_gbps),
            "frames dropped": data["dropped"],
            "frames in the queue": data["queue_max_pkt"],
        }

    points(lab, REACH, at)

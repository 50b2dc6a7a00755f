"""How far the poster's headline reaches."""

from typing import TYPE_CHECKING

from validation.claim import within
from validation.poster.paper import POSTER
from validation.reach import Axis, points
from validation.runs import BOTTLENECK, noisy

if TYPE_CHECKING:
    from validation.lab import Lab

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
    bands=[
        within("Vegas: packets a flow", 1, 3.5, reported="1 to 3"),
        within("variation over DCTCP's", 0, 1, reported="much less"),
    ],
    runs={"pingpong": BOTTLENECK},
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
        spread = [lab.queue(run, 200e3).queue_pkt.std() for run in (ours, other)]
        return {
            "Vegas: packets a flow": lab.port(ours)["queue_mean_pkt"] / count,
            "variation over DCTCP's": spread[0] / max(spread[1], 1e-9),
        }

    points(lab, REACH, at)

"""How far DX's headline reaches."""

from typing import TYPE_CHECKING

from validation.claim import within
from validation.dx.paper import DX, SIMULATED, flows
from validation.reach import Axis, points
from validation.runs import BOTTLENECK, noisy

if TYPE_CHECKING:
    from validation.lab import Lab

REACH = (
    Axis("flows", "", 10, (2, 5, 10, 20, 40, 80)),
    Axis("round trip", "us", 200, (50, 100, 200, 400, 800, 1600)),
    Axis("packet size", "B", 1500, (500, 1500, 4500, 9000)),
    Axis("buffer", "packets", 100, (66, 100, 250, 1000)),
    Axis("noise", "us", 0, (0, 0.3, 1, 2, 4, 8)),
)


@DX.reach(
    "DX-R",
    "Ten DX flows wait 6.6 times less than DCTCP's, and use 99.9 % of the link (§VI-C1).",
    expected="DX keeps about a packet a flow and DCTCP its threshold whatever the number, so more flows bring the two together, at about twenty. Buffers "
    "above the threshold, 65 packets, do not matter. Noise beyond the headroom of 2.4 us looks like a queue and costs throughput. Packet "
    "size and round trip scale both alike.",
    axes=REACH,
    bands=[
        within("DCTCP's delay over DX's", 6.6 * 0.7, 1e3, reported=6.6),
        within("utilisation of DX", 0.994, 1, reported=0.999, domain="share"),
    ],
    runs={"dx-10": BOTTLENECK},
    differs="The paper's setting is the home of every axis. Thresholds and buffers are packets of the tested size.",
)
def reach(lab: "Lab") -> None:
    def at(on: dict[str, float]) -> dict[str, float]:
        network = {
            "mtu": f"{on['packet size']}B", "header": "40B", "buffer": f"{on['buffer']}pkt",
            "marking": {"kind": "step", "threshold": "65pkt"},
        }  # fmt: skip
        settings = flows(int(on["flows"])) | {
            "network": network, "topology.rtt": f"{on['round trip']}us", "duration": "200ms", "record.probes": "off",
            "record.queues": "off",
        }  # fmt: skip
        dx, dctcp = (
            lab.port(lab.run("dx-10", settings | more))
            for more in (
                {"cc": {"name": SIMULATED}, "hosts.timestamps": noisy(on["noise"])},
                {"cc": {"name": "dctcp@ns-2"}},
            )
        )
        return {
            "DCTCP's delay over DX's": dctcp["delay_mean_us"] / max(dx["delay_mean_us"], 1e-9),
            "utilisation of DX": dx["utilization"],
        }

    points(lab, REACH, at)

"""How far Inigo's headline reaches."""

from typing import TYPE_CHECKING

from validation.claim import within
from validation.inigo.paper import INCAST, INIGO, smoothed_ms
from validation.reach import Axis, points
from validation.runs import noisy

if TYPE_CHECKING:
    from validation.lab import Lab

REACH = (
    Axis("flows", "", 20, (2, 5, 10, 20, 50)),
    Axis("round trip", "ms", 4, (1, 2, 4, 8, 16)),
    Axis("packet size", "B", 1500, (500, 1500, 4500, 9000)),
    Axis("buffer", "ms", 40, (2, 5, 10, 20, 40, 160)),
    Axis("noise", "us", 0, (0, 100, 300, 1000, 3000)),
)


@INIGO.reach(
    "IN-R",
    "Inigo's smoothed round trips are less than half of CUBIC's and Reno's without ECN (abstract).",
    expected="The others fill the buffer and Inigo does not, so the buffer decides: at a round trip's worth (4 ms) the others cannot be twice as late. Longer "
    "round trips bring the two together for the same reason. Noise above the threshold of 0.17 of the round trip, 680 us, is late for "
    "Inigo whatever the queue: it gives up throughput, not delay. With many flows its window of a few packets each still queues.",
    axes=REACH,
    bands=[
        within("lesser median of both over Inigo's", 2, 1e3, reported="more than 2"),
        within("utilisation of Inigo", 0.95, 1, reported="full", domain="share"),
    ],
    runs={"inigo-incast": ""},
    differs="The incast's network: all flows start at once.",
)
def reach(lab: "Lab") -> None:
    def at(on: dict[str, float]) -> dict[str, float]:
        count = int(on["flows"])
        settings = {
            "topology": {"kind": "star", "hosts": count + 1, "rate": "500Mbps", "rtt": f"{on['round trip']}ms"},
            "network": {"mtu": f"{on['packet size']}B", "header": "40B", "buffer": f"{on['buffer'] * 500e6 / 8e3:.0f}B"},
            "traffic.0.flows": count, "duration": "3s", "warmup": "1s", "record.probes": "5ms", "record.queues": "off",
            "hosts.timestamps": noisy(on["noise"]),
        }  # fmt: skip
        runs = {
            name: lab.run("inigo-incast", settings, cc=cc) for name, cc in INCAST.items() if name != "CDG"
        }
        medians = {name: smoothed_ms(run, 1e6).median() for name, run in runs.items()}
        return {
            "lesser median of both over Inigo's": min(medians["CUBIC"], medians["Reno"]) / medians["Inigo"],
            "utilisation of Inigo": lab.port(runs["Inigo"], f"s0->h{count}")["utilization"],
        }

    points(lab, REACH, at)

"""How far the headline on late flows reaches."""

from typing import TYPE_CHECKING

from validation.claim import within
from validation.ecn_or_delay.paper import ECN_OR_DELAY, rates
from validation.reach import Axis, points
from validation.runs import BOTTLENECK, noisy

if TYPE_CHECKING:
    from validation.lab import Lab

REACH = (
    Axis("flows", "", 2, (2, 4, 8, 16, 32)),
    Axis("round trip", "us", 4, (4, 20, 50, 100, 200)),
    Axis("packet size", "B", 1000, (500, 1000, 2000, 4000)),
    Axis("buffer", "KB", 9000, (150, 300, 600, 1200, 9000)),
    Axis("noise", "us", 0, (0, 0.3, 1, 3, 10)),
)
SECOND_HALF_LATE = {
    "DCQCN": "dcqcn@ecn-or-delay",
    "Patched TIMELY": "patched-timely@ecn-or-delay",
    "TIMELY": "timely@ecn-or-delay",
}


@ECN_OR_DELAY.reach(
    "ED-R",
    "Where half of the flows start 10 ms late, DCQCN's become equal and TIMELY's do not; Patched TIMELY's do (Fig. 2, 9b, 12).",
    expected="DCQCN is fair as long as marks reach it before it has moved on: at 100 us of feedback and more it swings, but shares over 200 ms. Noise in the "
    "round trip makes TIMELY fair, since it is a cut for everybody, and Patched TIMELY slow; DCQCN does not look. Buffers below the standing "
    "queue of Patched TIMELY (78 KB and more) drop, and go-back-N starves whom it hits.",
    axes=REACH,
    bands=[
        within("DCQCN's ratio of shares", 1, 1.1, reported="fair"),
        within("Patched TIMELY's ratio of shares", 1, 1.1, reported="fair"),
        within("TIMELY's ratio of shares", 1.5, 1e9, reported="unfair"),
    ],
    runs={"timely-split": BOTTLENECK},
    differs="All three on the 10 Gbps link of the TIMELY figures; shares are those of the two halves, over 200 ms.",
)
def reach(lab: "Lab") -> None:
    def at(on: dict[str, float]) -> dict[str, float]:
        half = int(on["flows"]) // 2
        found: dict[str, float] = {}
        for name, cc in SECOND_HALF_LATE.items():
            table = {"name": cc} | ({} if name == "DCQCN" else {"start_rate": f"{5 / half:g}Gbps"})
            halves = [
                {
                    "kind": "long-lived", "flows": half, "start": f"{10 * i}ms", "cc": table,
                    "from": list(range(i * half, (i + 1) * half)), "to": list(range((2 + i) * half, (3 + i) * half)),
                }
                for i in (0, 1)
            ]  # fmt: skip
            marks = {"network.marking": {"kind": "red", "extended": True}}
            more = marks if name == "DCQCN" else {"hosts.timestamps": noisy(on["noise"])}
            run = lab.run(
                "timely-split", more | {"network.mtu": f"{on['packet size']}B"}, traffic=halves,
                topology={"kind": "dumbbell", "hosts": 2 * half, "rate": "10Gbps", "rtt": f"{on['round trip']}us"},
                network__buffer=f"{on['buffer']}KB", duration="300ms", warmup="100ms", record__queues="off", record__probes="off",
            )  # fmt: skip
            got = rates(run)
            both = sorted((got[:half].sum(), got[half:].sum()))
            found[f"{name}'s ratio of shares"] = both[1] / max(both[0], 1e-9)
        return found

    points(lab, REACH, at)

"""§3, challenges: the base round trip, measured by the flows and by probes in a class of high priority."""

from typing import TYPE_CHECKING, Any

from validation.claim import Mutation, below, within
from validation.poster.paper import POSTER
from validation.poster.windows import FRAME_US
from validation.runs import BOTTLENECK, jain, probe

if TYPE_CHECKING:
    from shallows import Run
    from validation.lab import Lab

FLOWS = 50
EMPTY_US = 100 + 3 * (FRAME_US + 0.0512)
"""Round trip of the empty path: three links for the data frame (1500 B) and three for the acknowledgement (64 B) at 10 Gbps."""
LATE_US = 100e3
"""When the last flow and the probes begin."""


@POSTER.figure(
    "§3, base RTT",
    "Base round trips by flows and by a channel of high priority",
    setting="Dumbbell, 10 Gbps, 50 us one way, buffer of 250 packets, as in Fig. 2; 50 flows of vegas@ns-2, of which 49 start 1 ms apart and the last one at 100 ms. Probes are frames of 1500 B, one in flight, in a class of strict priority, from 100 ms "
    "on. Then the same flows with the base round trip that the probes measured. From 200 to 300 ms.",
    runs={"pingpong": BOTTLENECK},
    seeds=6,
    nightly=True,
)
def base_rtt(lab: "Lab") -> None:
    itself = run_with(lab, {"name": "vegas@ns-2"})
    probes = probe(itself, "rtt_us", LATE_US, FLOWS).value
    own = probe(itself, "base_rtt_us", 200e3, FLOWS - 1).value
    measured_us = float(probes.min())
    lab.say("error of the channel", measured_us - EMPTY_US)
    lab.say("error of the last flow", own.min() - EMPTY_US)
    informed = run_with(lab, {"name": "vegas@ns-2", "base_rtt": f"{measured_us:.3f}us"})
    for words, run in (("by the flows", itself), ("by the channel", informed)):
        lab.say(f"packets in the queue, base RTT {words}", lab.port(run)["queue_mean_pkt"])
        lab.say(f"unfairness, base RTT {words}", 1 - jain(run.flows.goodput_gbps.iloc[:FLOWS]))


def run_with(lab: "Lab", cc: dict[str, Any]) -> "Run":
    """All flows with this algorithm, and the probes."""
    last, probes = FLOWS - 1, FLOWS
    traffic = [
        {"kind": "long-lived", "flows": last, "stagger": "1ms", "from": list(range(last)), "to": list(range(51, 51 + last)), "cc": cc},
        {"kind": "long-lived", "flows": 1, "from": last, "to": 51 + last, "start": "100ms", "cc": cc},
        {"kind": "long-lived", "flows": 1, "from": probes, "to": 51 + probes, "start": "100ms",
         "priority": lab.input("priority", 1), "cc": {"name": "fixed", "window": 1}},
    ]  # fmt: skip
    return lab.run(
        "pingpong", topology={"kind": "dumbbell", "hosts": 51, "rate": "10Gbps", "edge_rate": "10Gbps", "rtt": "100us"},
        network__buffer="250pkt", traffic=traffic, duration="300ms", warmup="200ms", record__queues="off",
        record__probes="100us",
    )  # fmt: skip


base_rtt.claim(
    "PO4",
    "Background flows spoil the base round trip that a flow measures; a channel of high priority measures it, and keeps the queue of delay-based flows short.",
    source="§3, challenges",
    tolerance="T2: a frame in transmission, 1.2 us; the orders",
    bands=[
        within("error of the channel", 0, FRAME_US, unit="us", read="derived", source="one frame in transmission at the bottleneck"),
        below("error of the channel", "error of the last flow", reported="easily affected by background flows"),
        below("packets in the queue, base RTT by the channel", "packets in the queue, base RTT by the flows", reported="separated from data transfer channel"),
        below("unfairness, base RTT by the channel", "unfairness, base RTT by the flows"),
    ],
    mutation=Mutation({"input:priority": 0}, "error of the channel"),
    quote="First, measuring the base RTT for a flow can be easily affected by background flows. [...] We currently resort to the minimum value of observed RTTs since the beginning of a flow, but we consider creating a high priority channel "
    "only for base RTT measurement that is separated from data transfer channel.",
    differs="The poster proposes the channel and has no result with it. PO5 has it in the poster's own algorithm.",
)  # fmt: skip


@POSTER.figure(
    "§3, channel",
    "The base round trip of a gap flow beside others, with and without its channel",
    setting="Dumbbell, 10 Gbps, 50 us one way, buffer of 250 packets, as in Fig. 2; 19 flows of vegas@ns-2 start 1 ms apart, and a flow of the gap algorithm at 30 ms: `gap`, whose base round trip is the least that it saw, or "
    "gap@high-priority-channel, whose probes, frames of 1500 B, go before data, one each 10 ms. From 50 to 60 ms.",
    runs={"pingpong": BOTTLENECK},
    seeds=3,
)
def gap_with_channel(lab: "Lab") -> None:
    last = 19
    for words, name in (
        ("by the flow", "gap"),
        ("by the channel", lab.input("form", "gap@high-priority-channel")),
    ):
        traffic = [
            {"kind": "long-lived", "flows": last, "stagger": "1ms", "from": list(range(last)), "to": list(range(20, 20 + last)), "cc": "vegas@ns-2"},
            {"kind": "long-lived", "flows": 1, "from": last, "to": 20 + last, "start": "30ms", "cc": name},
        ]  # fmt: skip
        run = lab.run(
            "pingpong", topology={"kind": "dumbbell", "hosts": 20, "rate": "10Gbps", "edge_rate": "10Gbps", "rtt": "100us"},
            network__buffer="250pkt", traffic=traffic, duration="60ms", warmup="50ms", record__queues="off",
            record__probes="1ms", record__flows=[last],
        )  # fmt: skip
        base = probe(run, "base_rtt_us", 50e3, last).value.mean()
        lab.say(f"error of the base RTT {words}", base - EMPTY_US)


gap_with_channel.claim(
    "PO5",
    "The gap algorithm measures its base round trip by a channel of high priority to a frame, where background flows spoil its own minimum.",
    source="§3, challenges",
    tolerance="T2: a frame in transmission, 1.2 us; the order",
    bands=[
        within("error of the base RTT by the channel", 0, FRAME_US, unit="us", read="derived", source="one frame in transmission at the bottleneck"),
        below("error of the base RTT by the channel", "error of the base RTT by the flow", reported="easily affected by background flows"),
    ],
    mutation=Mutation({"input:form": "gap"}, "error of the base RTT by the channel"),
    quote="we consider creating a high priority channel only for base RTT measurement that is separated from data transfer channel.",
    differs="The poster proposes the channel and has no result with it; the time between two probes is ours.",
)  # fmt: skip

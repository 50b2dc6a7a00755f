"""Fig. 3 and 5: queues of five flows."""

from typing import TYPE_CHECKING

from validation.claim import Mutation, below, within
from validation.inigo.paper import (
    FIVE,
    INIGO,
    MANAGED,
    PLAIN,
    QUEUE,
    SETTING_FIVE,
    WITH_RECEIVER,
    K,
    five,
)

if TYPE_CHECKING:
    from validation.lab import Lab


@INIGO.figure("Fig. 3", "Queues without ECN", setting=SETTING_FIVE, runs=FIVE, plot=QUEUE)
def fig3(lab: "Lab") -> None:
    for name, cc in WITH_RECEIVER.items():
        run = five(lab, cc, record__queues="5ms")
        lab.say(name, lab.port(run)["queue_mean_pkt"])
        lab.cdf(name, lab.queue(run).queue_pkt.clip(lower=1))
    for name in MANAGED:
        lab.ratio(f"{name} over {name} with Inigo's receiver", name, f"{name}, Inigo's receiver")


fig3.claim(
    "IN2",
    "Inigo's queue is the shortest of those without ECN; its receiver cuts CUBIC's and Reno's almost 4 times.",
    source="Fig. 3, §4.1",
    tolerance="T4: the order; almost 4 by a factor of 3",
    bands=[
        *(below("Inigo", name) for name in ("CDG", "CUBIC", "Reno")),
        *(below(f"{name}, Inigo's receiver", name) for name in MANAGED),
        *(within(f"{name} over {name} with Inigo's receiver", 4 / 3, 12, reported=4.0) for name in MANAGED),
    ],
    mutation=Mutation({"inigo.threshold": 20}, "Inigo"),
    differs="The receiver cuts by far more than in the paper, since no noise of hosts and no coarse timer lengthens its queue.",
)


@INIGO.figure(
    "Fig. 5",
    "Inigo's queue beside those with ECN",
    setting=SETTING_FIVE + " At 500 Mbps and 4 ms 0.17 of the round trip is 28 packets.",
    runs=FIVE,
    plot=QUEUE,
)
def fig5(lab: "Lab") -> None:
    cases = {
        "Inigo": (PLAIN["Inigo"], "none"),
        "CDG": (PLAIN["CDG"], "none"),
        "DCTCP": ({"name": "dctcp"}, K),
    }
    for name, (cc, marking) in cases.items():
        run = five(lab, cc, network__marking=marking, record__queues="1ms")
        packets = lab.queue(run).queue_pkt
        lab.say(name, lab.port(run)["queue_mean_pkt"])
        lab.say(f"time above 20 packets, {name}", 100 * (packets > 20).mean())
        lab.say(f"time above 56 packets, {name}", 100 * (packets > 56).mean())
        lab.cdf(name, packets.clip(lower=1))


fig5.claim(
    "IN4",
    "Inigo exceeds 20 packets only a tenth of the time, almost as little as TCPs with ECN.",
    source="Fig. 5, §4.1",
    tolerance="T3: the share of time by a factor of 1.5",
    bands=[
        within("time above 20 packets, Inigo", 10 / 1.5, 10 * 1.5, unit="%", reported="approximately 10"),
        within("time above 56 packets, Inigo", 0, 5, unit="%", order=True, read="derived", source="twice the threshold of 28"),
        below("Inigo", "CDG"),
        below("Inigo", "DCTCP", 2, reported="approaches"),
    ],
    mutation=Mutation({"inigo.threshold": 0.8}, "time above 56 packets, Inigo"),
    differs="The paper's packets may be segments of several frames.",
)  # fmt: skip

"""The paper, and the settings that several of its figures share."""

from typing import Any

import numpy as np

from validation.claim import Paper

EXPRESSPASS = Paper(
    "expresspass",
    "ExpressPass",
    "Credit-Scheduled Delay-Bounded Congestion Control for Datacenters",
    "Cho, Jang and Han, SIGCOMM 2017",
)

SHARE = 100 * 1538 / (84 + 1538)
"""Per cent of the link that data can use: a credit of 84 B for every frame of 1538 B."""
SIMULATED = "expresspass@ns-2"
"""The variant in all simulations of Fig. 15 and 16: the feedback of the authors' simulator as first published (xpass.cc), which scales the
target loss with the rate, grows w by steps and stops at max_rate. Algorithm 1 as the text has it does neither."""
TESTBED = "expresspass@testbed"
"""The variant in all testbed figures: the same feedback with the hosts' credit processing times of Fig. 14a."""
AS_PRINTED = "expresspass@as-printed"
"""Eq. 2 to 5 of the text to the letter."""
DEFAULT = "expresspass"
"""Algorithm 1 with two deviations: a fall takes the rate of credits that got through, and w grows half of the way to its largest value."""
QUIET = {"record.probes": "off", "record.queues": "off"}


def of(flows: int) -> dict[str, Any]:
    """This many pairs of hosts and flows."""
    return {"topology.hosts": flows, "traffic.0.flows": flows}


def first(these: Any) -> int:
    """The number, from 1, of the first that is true; one more than there are if none is."""
    true = np.asarray(these, bool)
    return (int(true.argmax()) if true.any() else len(true)) + 1

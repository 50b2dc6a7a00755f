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
"""The variant in all simulations of Fig. 15 and 16: Algorithm 1 as the authors' simulator was first published."""
TESTBED = "expresspass@testbed"
"""The variant in all testbed figures: Algorithm 1 with the hosts' credit processing times of Fig. 14a."""
QUIET = {"record.probes": "off", "record.queues": "off"}


def of(flows: int) -> dict[str, Any]:
    """This many pairs of hosts and flows."""
    return {"topology.hosts": flows, "traffic.0.flows": flows}


def first(these: Any) -> int:
    """The number, from 1, of the first that is true; one more than there are if none is."""
    true = np.asarray(these, bool)
    return (int(true.argmax()) if true.any() else len(true)) + 1

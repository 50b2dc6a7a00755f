"""Environments in which an agent learns to set a network (Gymnasium): the extra `gym`.

    from shallows.gym import Knob, NetworkEnv

    env = NetworkEnv(
        scenario,
        step="100us",
        steps=200,
        actions=[Knob("network.marking.threshold", "1pkt", "200pkt")],
        reward={"receive_gbps": 1, "rtt_us": -0.02},
    )

docs/gym.md explains it.
"""

from shallows.base import extras

extras.need("gym", "shallows.gym")

from shallows.gym.env import NetworkEnv  # noqa: E402
from shallows.gym.knob import Knob  # noqa: E402
from shallows.gym.measures import MEASURES  # noqa: E402

__all__ = ["MEASURES", "Knob", "NetworkEnv"]

"""What an agent observes of an interval, and rewards made of it."""

from collections.abc import Mapping

from shallows.errors import ScenarioError
from shallows.units import did_you_mean

MEASURES = {
    "send_gbps": "payload sent, what is sent again included",
    "receive_gbps": "payload received, each byte once",
    "rtt_us": "mean smoothed round-trip time of the acknowledgements that arrived; 0 without any",
    "loss": "share of the packets sent that had been sent before",
    "marked": "share of the acknowledged payload that was marked",
}
"""The columns of an observation, in this order."""


def weights(reward: Mapping[str, float]) -> list[float]:
    """The weight of each measure in a reward. Raises `ScenarioError`."""
    for name, weight in reward.items():
        if name not in MEASURES:
            expected = f"weights of {', '.join(MEASURES)}{did_you_mean(name, MEASURES)}"
            raise ScenarioError("reward", name, expected)
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise ScenarioError(f"reward.{name}", str(weight), "a number")
    if not reward:
        raise ScenarioError("reward", "{}", f"the weight of one or more of {', '.join(MEASURES)}")
    return [float(reward.get(name, 0.0)) for name in MEASURES]

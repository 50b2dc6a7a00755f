"""What a switch does with its memory: shared by its ports or not, and whether it pauses links (PFC).

`Shared` and `Pauses` are the tables of a scenario; `crossing` is what the packet world gets of them.
"""

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator

from shallows.units import NEVER, Headroom, WireSize


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class Shared(_Table):
    """`[network.shared]`: one memory for all ports of a switch, with a dynamic threshold."""

    size: WireSize = Field("12MB", description="the memory of each switch, headroom apart")
    alpha: float = Field(
        1.0, description="a port, or a link that can be paused, may hold this many times what is free"
    )

    @field_validator("alpha", mode="before")
    @classmethod
    def _above_zero(cls, value):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1024:
            raise ValueError("a number above 0 and at most 1024, such as 1")
        return float(value)


class Pauses(_Table):
    """`[network.pfc]`: links that bring too much are asked to stop."""

    threshold: WireSize = Field("100KB", description="data that one link brought above which it is paused")
    hysteresis: WireSize = Field("2pkt", description="it goes on this far below")
    headroom: Headroom = Field("auto", description='what may still come then; "auto": what the link can need')


def crossing(scenario, network):
    """(columns of the links, other keys of the request) that say how ports schedule."""
    shared, pauses = scenario.network.shared, scenario.network.pfc
    if shared is None and pauses is None:
        return _priorities(scenario, network) if scenario.flows.priority.any() else ({}, {})
    discipline = np.ones(len(network.is_nic), np.uint32) if pauses else (~network.is_nic).astype(np.uint32)
    request = {"disciplines": [_lossless() if pauses else [_class(["other"])]]}
    if shared:
        request["shared"] = {"size_bytes": shared.size, "alpha": shared.alpha}
    if pauses:
        request["pause"] = {
            "threshold_bytes": pauses.threshold,
            "hysteresis_bytes": pauses.hysteresis,
            "headroom_bytes": None if pauses.headroom == NEVER else pauses.headroom,
        }
    return {"discipline": discipline}, request


def _priorities(scenario, network):
    """Switch ports send what is urgent first; each class may hold as much as the port without classes."""
    limit_bytes = scenario.network.buffer
    classes = [_class(["urgent"], limit_bytes), _class(["other"], limit_bytes)]
    return {"discipline": (~network.is_nic).astype(np.uint32)}, {"disciplines": [classes]}


def _lossless():
    """Pauses before feedback before data: only data is paused, and only feedback could be dropped."""
    return [_class(["pause", "resume"]), _class(["other"]), _class(["data"])]


def _class(carries, limit_bytes=NEVER):
    return {"carries": carries, "limit_bytes": limit_bytes, "shaper_bps": None}

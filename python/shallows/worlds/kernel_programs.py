"""The algorithms of the kernel world: the programs of `bpf/`, and the kernel's own."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Program:
    """What the kernel world knows of an algorithm.

    parameters: those that it supports. stamps: whether it puts timestamps into packets, which one set of
    parameters can. favours_short_paths: whether a flow over one of several bottlenecks takes nearly all of
    it. on_a_host: parameters for connections of a real host.
    """

    parameters: tuple[str, ...] = ()
    stamps: bool = False
    favours_short_paths: bool = False
    on_a_host: Mapping[str, str] = field(default_factory=dict[str, str])


PROGRAMS = {
    "dctcp": Program(("g", "alpha", "min_window")),
    # Timestamps of ordinary hosts vary by 30 us; without that headroom DX takes the noise for queueing.
    "dx": Program(("headroom",), stamps=True, favours_short_paths=True, on_a_host={"headroom": "30us"}),
    "inigo": Program(("threshold", "g", "alpha", "sub_window", "increase", "samples", "dilation")),
    "reno": Program(("ecn",)),
    "cubic": Program(("ecn",)),
    "bbr": Program(),
}
OWN = "cubic"
"""The kernel's default, where a command changes the receiver alone."""


def on_a_host(name: str) -> Mapping[str, str]:
    """The parameters that an algorithm has on connections of a real host."""
    return PROGRAMS[name].on_a_host if name in PROGRAMS else {}

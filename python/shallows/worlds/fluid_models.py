"""Which algorithm of the packet world is which model of the fluid world, and what each calls its parameters.

`MODELS` is the one table of it: a row an algorithm, the model's names on the left, where their values come
from on the right. To let another algorithm run in the fluid world, write its model and add its row.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Source = str | Callable[["ModelInputs"], Any]
"""Where a value comes from: "cc.g", or a function of what there is."""


@dataclass(frozen=True)
class Row:
    """How an algorithm becomes a model.

    model: its name in `shallows.fluid.MODELS`. parameters: the model's name -> "cc.NAME", "marking.NAME",
    or a function of `ModelInputs`. states: the same for the initial states, by the model's symbols. only: the
    values that the algorithm's parameters must have: the model covers no others. same: a value that an
    unread parameter may have besides its default. at: where ports must mark; None is anywhere.
    """

    model: str
    parameters: Mapping[str, Source]
    states: Mapping[str, Source] = field(default_factory=dict[str, Any])
    only: Mapping[str, float] = field(default_factory=dict[str, Any])
    same: Mapping[str, float] = field(default_factory=dict[str, Any])
    at: str | None = None
    sends_apart: bool = False

    def reads(self, given: "ModelInputs") -> set[str]:
        """The algorithm's parameters that the model reads."""
        noted = _Noted(given.cc)
        for source in (*self.parameters.values(), *self.states.values()):
            replace(given, cc=noted).get(source)
        return noted.read | {"start_rate"}


class _Noted(dict[str, float]):
    """A dict that notes what is read of it."""

    def __init__(self, values: Mapping[str, float]) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def __getitem__(self, name: str, /) -> float:
        self.read.add(name)
        return super().__getitem__(name)


@dataclass(frozen=True)
class ModelInputs:
    """What a row reads: parameters of the algorithm and of the marking, and the packet, in SI units."""

    cc: Mapping[str, float]
    marking: Mapping[str, float]
    at: str
    mtu: int
    packet_s: float

    def get(self, source: Any) -> Any:
        """The value that `source`, "cc.g" or a function, stands for."""
        if callable(source):
            return source(self)
        table, _, name = source.partition(".")
        return getattr(self, table)[name]


_DCQCN: dict[str, Source] = {
    "g": "cc.g",
    "tau": "cc.tau",
    "tau_prime": "cc.tau_prime",
    "t": "cc.t",
    "b": "cc.b",
    "f": "cc.f",
    "r_ai": "cc.r_ai",
    "at": lambda given: given.at,
}
_TIMELY: dict[str, Source] = {
    "alpha": "cc.alpha",
    "beta": "cc.beta",
    "delta": "cc.delta",
    "t_low": "cc.t_low",
    "t_high": "cc.t_high",
    "d_min_rtt": "cc.d_min_rtt",
    "seg": "cc.seg",
}
_PATCHED: dict[str, Source] = {**_TIMELY, "weight_slope": "cc.weight_slope"}

MODELS: dict[tuple[str, str | None], Row] = {
    ("dctcp", "step"): Row(
        "dctcp",
        {"g": "cc.g", "k": "marking.threshold", "min_window": "cc.min_window"},
        states={"alpha": "cc.alpha"},
        at="enqueue",
    ),
    # a fluid has no packet at a time, so a queue of less than a packet is none in it
    ("dx", None): Row(
        "dx",
        {"headroom": lambda given: max(given.cc["headroom"], given.packet_s)},
    ),
    ("dcqcn", "red"): Row(
        "dcqcn",
        {
            **_DCQCN,
            "kmin": "marking.kmin",
            "kmax": "marking.kmax",
            "pmax": "marking.pmax",
            "ramp": lambda given: "extended" if given.marking["extended"] else "cliff",
        },
        states={"alpha": "cc.alpha"},
        same={"sampled": 1.0},
    ),
    ("dcqcn", "pi"): Row(
        "dcqcn-pi",
        {
            **_DCQCN,
            "q_ref": "marking.q_ref",
            # the switch's gains are by the kilobyte, the model's by the packet
            "k1": lambda given: given.marking["k1"] * given.mtu / 1e3,
            "k2": lambda given: given.marking["k2"] * given.mtu / 1e3,
        },
        states={"alpha": "cc.alpha"},
        same={"sampled": 1.0},
    ),
    ("timely", None): Row(
        "timely",
        _TIMELY,
        only={"hai": 1.0, "keep": 0.0, "burst": 0.0},
        sends_apart=True,
    ),
    ("patched-timely", None): Row(
        "patched-timely",
        _PATCHED,
        only={"burst": 0.0},
        same={"subtract_min_rtt": 1.0},
        sends_apart=True,
    ),
    ("patched-timely-pi", None): Row(
        "patched-timely-pi",
        {**_PATCHED, "q_ref": "cc.q_ref", "k1": "cc.k1", "k2": "cc.k2"},
        # the model's integral I is p less what the first error contributes, -k1 q_ref in bits
        states={"Z": lambda given: given.cc["p"] + given.cc["k1"] * 8 * given.cc["q_ref"]},
        only={"burst": 0.0},
        same={"subtract_min_rtt": 1.0},
        sends_apart=True,
    ),
}
"""(algorithm of the catalog, kind of marking; None is any) -> its row."""

PROBES = {
    "window_pkt": ("window_pkt", 1.0),
    "alpha": ("alpha", 1.0),
    "target_rate_bps": ("target_gbps", 1e-9),
    "gradient": ("gradient", 1.0),
    "p": ("p", 1.0),
}
"""A flow's column of a trajectory -> (its name among the probes of a packet run, its scale)."""

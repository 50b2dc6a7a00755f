"""The model of each algorithm in the fluid world, with the names of its parameters.

`MODELS` has a row per algorithm: the model's names on the left, the sources of their values on the right. To
add an algorithm to the fluid world, write its model and add its row.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from shallows.algorithms import defaults
from shallows.algorithms.marking import markings

if TYPE_CHECKING:
    from shallows.fluid.model import Model

Source = str | Callable[["ModelInputs"], float | str]
"""The source of a value: "cc.g", or a function of the inputs."""


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
    states: Mapping[str, Source] = field(default_factory=dict[str, Source])
    only: Mapping[str, float] = field(default_factory=dict[str, float])
    same: Mapping[str, float] = field(default_factory=dict[str, float])
    at: str | None = None
    sends_apart: bool = False

    def reads(self, given: "ModelInputs") -> set[str]:
        """The algorithm's parameters that the model reads."""
        noted = _Noted(given.cc)
        for source in (*self.parameters.values(), *self.states.values()):
            replace(given, cc=noted).get(source)
        return noted.read | {"start_rate"}


class _Noted(dict[str, float]):
    """A dict that records which keys are read."""

    def __init__(self, values: Mapping[str, float]) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def __getitem__(self, name: str, /) -> float:
        self.read.add(name)
        return super().__getitem__(name)


@dataclass(frozen=True)
class ModelInputs:
    """Inputs of a row: parameters of the algorithm and of the marking, and the packet size, in SI units."""

    cc: Mapping[str, float]
    marking: Mapping[str, float]
    at: str
    mtu: int
    payload: int
    packet_s: float
    switches: int

    def get(self, source: Source) -> float | str:
        """The value of `source`, "cc.g" or a function."""
        if not isinstance(source, str):
            return source(self)
        table, _, name = source.partition(".")
        return {"cc": self.cc, "marking": self.marking}[table][name]


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

_POWER: dict[str, Source] = {"gamma": "cc.gamma", "beta": "cc.beta", "expected_flows": "cc.expected_flows"}
_SWIFT = ("ai", "beta", "max_mdf", "base_target", "per_hop", "fs_range", "fs_min_cwnd", "fs_max_cwnd")
_NSCC = ("trimming", "target", "max_window_bdp", "alpha", "fi", "eta", "gamma", "max_md_jump", "average_gain")


def _ramp(given: ModelInputs) -> str:
    return "extended" if given.marking["extended"] else "cliff"


MODELS: dict[tuple[str, str | None], Row] = {
    ("dctcp", "step"): Row(
        "dctcp",
        {"g": "cc.g", "k": "marking.threshold", "min_window": "cc.min_window"},
        states={"alpha": "cc.alpha"},
        at="enqueue",
    ),
    # a fluid is not quantised: a queue of less than a packet counts as empty
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
            "ramp": _ramp,
        },
        states={"alpha": "cc.alpha"},
        same={"sampled": 1.0},
    ),
    ("dcqcn", "pi"): Row(
        "dcqcn-pi",
        {
            **_DCQCN,
            "q_ref": "marking.q_ref",
            # the switch's gains are per kilobyte, the model's per packet
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
        # the model's integral I is p without the first error's part, -k1 q_ref in bits
        states={"Z": lambda given: given.cc["p"] + given.cc["k1"] * 8 * given.cc["q_ref"]},
        only={"burst": 0.0},
        same={"subtract_min_rtt": 1.0},
        sends_apart=True,
    ),
    ("swift", None): Row(
        "swift",
        {**{name: f"cc.{name}" for name in _SWIFT}, "switches": lambda given: given.switches},
    ),
    # its windows are payload, as in the authors' simulation
    ("hpcc", "int"): Row(
        "hpcc",
        {
            "eta": "cc.eta",
            "max_stage": "cc.max_stage",
            "w_ai": lambda given: given.cc["w_ai"] * given.mtu / given.payload,
        },
    ),
    ("powertcp", "int"): Row(
        "powertcp",
        {**_POWER, "utilization": "cc.utilization", "current_floor": "cc.current_floor"},
    ),
    ("theta-powertcp", None): Row("theta-powertcp", _POWER),
    ("nscc", "red"): Row(
        "nscc",
        {
            **{name: f"cc.{name}" for name in _NSCC},
            # by default of a network these follow its round trip, and those of the model do so themselves
            "base_rtt": lambda given: given.cc["base_rtt"],
            **{name: lambda given, name=name: given.marking[name] for name in ("kmin", "kmax", "pmax")},
            "ramp": _ramp,
        },
        at="dequeue",
    ),
}
"""(algorithm of the catalog, kind of marking; None is any) -> its row."""


def with_network_defaults(model: "Model", given: Collection[str]) -> "tuple[Model, dict[str, float]]":
    """(the same model with the defaults of a scenario at its rate, delay and frame, what that changes).

    `given` are the parameters that are set, which stay.
    """
    (algorithm, kind), row = next((key, row) for key, row in MODELS.items() if row.model == model.name)
    rate_bps, frame_s = round(model.rate), 8 * model.mtu / model.rate
    rtt_s = model.delay + (frame_s if row.sends_apart else 0.0)
    scale = defaults.Scale(round(rtt_s * 1e12), round(model.mtu), np.array([rate_bps], np.uint64), rate_bps)
    rules = {one["name"]: defaults.port_rules(one) for one in markings()}
    changed: dict[str, float] = {}
    for name, source in row.parameters.items():
        if name in given or not isinstance(source, str):
            continue
        table, _, key = source.partition(".")
        printed, value = getattr(model, name), None
        if table == "cc":
            value = defaults.parameter(algorithm, key, printed, scale)
        elif kind and key in rules[kind]:
            value = rules[kind][key].value(rate_bps, scale)
        if value not in (None, printed):
            changed[name] = value
    return replace(model, **changed), changed


MARKING_ONLY = {"ecn": 1.0, "weight": 1.0, "gentle": 0.0, "uniform": 0.0}
"""Parameters of markings that no model reads, and the values that the models stand for."""

PROBES = {
    "window_pkt": ("window_pkt", 1.0),
    "alpha": ("alpha", 1.0),
    "target_rate_bps": ("target_gbps", 1e-9),
    "gradient": ("gradient", 1.0),
    "p": ("p", 1.0),
}
"""A flow's column of a trajectory -> (name of the probe in the packet world, scale)."""

"""The base of fluid models: a table of parameters, a `System` of equations, and a fixed point.

Parameters are in SI units as a user sees them (seconds, bytes, bits per second). A model's equations
use its paper's units (packets for DCQCN, bits for TIMELY); `constants` is the one place that converts.
A parameter may hold a NumPy array: `constants` then broadcasts, which is how maps are made.
"""

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from enum import IntEnum
from typing import ClassVar, Self, TypeVar

import numpy as np

from shallows.core.contract import F64, Flags
from shallows.errors import ScenarioError
from shallows.fluid.system import System
from shallows.units import RATE, SIZE, TIME, did_you_mean

UNLIMITED = math.inf
Kind = str | tuple[str, ...]
"""Of a parameter: "rate", "time", "size", "number", "count", or the words that it may be."""
Value = float | str | F64
"""Of a parameter, in SI units; an array has one number for each point of a grid."""
Constants = dict[str, float | F64]
"""Of equations, by symbol, in their own units."""
T = TypeVar("T")


class Status(IntEnum):
    """The kind of rest point that `equilibrium` found."""

    FOUND = 0
    OFF_RAMP = 1
    """It exists, but outside the range in which the feedback has its nominal slope."""
    NONE = 2
    SLIDING = 3
    """The feedback switches: the states given are the mean it switches about, not a point of rest."""
    CONTINUUM = 4


@dataclass(frozen=True)
class FixedPoint:
    """Where `flows` identical flows come to rest.

    status: see `Status`. explanation: one sentence where there is something to say, else "".
    p, alpha: None where the model has no such quantity. queue_bytes: None where nothing rests.
    state: the system's states by symbol, in its own units.
    """

    status: Status
    p: float | None
    queue_bytes: float | None
    alpha: float | None
    rate_bps: float
    state: Mapping[str, float]
    explanation: str = ""

    @property
    def exists(self) -> bool:
        return self.status in (Status.FOUND, Status.OFF_RAMP)

    @property
    def on_ramp(self) -> bool:
        return self.status == Status.FOUND


def parameter(kind: Kind, default: T, meaning: str, **limits: float) -> T:
    """A field of a model. kind: "rate", "time", "size", "number", "count", or a tuple of words.

    limits: `above`, `least`, `most`: bounds of the number in SI units; `unlimited=True` allows that word.
    """
    return field(default=default, metadata={"kind": kind, "meaning": meaning, **limits})


@dataclass(frozen=True, kw_only=True, repr=False)
class Model:
    """N flows through one bottleneck. Subclasses add parameters and say what is theirs."""

    flows: float = parameter("count", 2, "N: flows at the bottleneck", least=1)
    rate: float = parameter("rate", 10e9, "C: capacity of the bottleneck", above=0)
    delay: float = parameter("time", 4e-6, "delay of the control loop without queueing", least=0)
    mtu: float = parameter("size", 1000.0, "a packet on the wire", above=0)
    buffer: float = parameter("size", UNLIMITED, "the queue never exceeds this", above=0, unlimited=True)

    name: ClassVar[str]
    source: ClassVar[str]
    system: ClassVar[System]
    loop_at: ClassVar[str] = "rate"
    """Where the loop is cut for margins: "rate" or "mark"; see `linear.Linear.loop`."""
    outputs: ClassVar[Mapping[str, tuple[str, bool]]] = {}
    """state -> (name with unit in a trajectory, True if it counts packets or bits)."""

    @property
    def drain(self) -> float:
        """Units of the queue per second if lags contain the wait of the acknowledged packet; else 0."""
        return 0.0

    def arriving_bps(self, queue_bytes: F64, total_bps: F64) -> F64:
        """[T] What arrives at the link, given its queue and what all flows send together."""
        return total_bps

    @property
    def fastest_s(self) -> float:
        """Seconds of the fastest change, which a step of the integrator does not exceed."""
        return math.inf

    @property
    def measured_per_second(self) -> dict[str, float]:
        """delayed value -> what one second of extra delay adds to it, in models that measure delay."""
        return {}

    def __post_init__(self) -> None:
        for spec in fields(self):
            value: Value = getattr(self, spec.name)
            if isinstance(value, str) and not isinstance(spec.metadata["kind"], tuple):
                value = read_number(spec, value)
                object.__setattr__(self, spec.name, value)  # in spite of the frozen class
            _check(spec, value)

    def possible(self, grid: Mapping[str, F64]) -> Flags:
        """Of which points of a grid (parameter -> values, of one shape) a model can be made."""
        return np.ones(next(iter(grid.values())).shape, bool)

    def __repr__(self) -> str:
        """Every parameter with its unit."""
        words = (
            f"{spec.name} {in_words(spec.metadata['kind'], getattr(self, spec.name))}"
            for spec in fields(self)
        )
        return f"<{type(self).__name__} {', '.join(words)}>"

    @property
    def unit_bits(self) -> float:
        """Bits in one unit of the equations' queue: a packet, unless the model says otherwise."""
        return 8 * self.mtu

    def constants(self) -> Constants:
        """The equations' constants by symbol, in their own units."""
        raise NotImplementedError

    def scalars(self) -> dict[str, float]:
        """`constants` of a model without array parameters."""
        return {symbol: float(value) for symbol, value in self.constants().items()}

    def constants_array(self) -> F64:
        """`constants` in the system's order: shape [constants], or [..., constants] for array parameters."""
        constants = self.constants()
        columns = np.broadcast_arrays(*(np.asarray(constants[name], float) for name in self.system.constants))
        return np.ascontiguousarray(np.stack(columns, axis=-1))

    def bounds(self) -> dict[str, tuple[float, float]]:
        """state -> (least, most), in the equations' units. A state at its bound does not move beyond it."""
        return {"q": (0.0, self.buffer * 8 / self.unit_bits)}

    def start(self, rate_bps: float) -> dict[str, float]:
        """The states at the beginning, and for ever before it, of a flow that starts at `rate_bps`."""
        raise NotImplementedError

    def initial_rate(self, total_flows: float) -> float:
        """The rate in bit/s at which one of `total_flows` flows starts."""
        return self.rate / total_flows

    def derived(self, time_s: F64, states: Mapping[str, F64]) -> dict[str, F64]:
        """Further columns of a trajectory, from its states ([times] or [flows, times], own units)."""
        return {}

    def explain(self, status: Status, state: Mapping[str, float]) -> str:
        """One sentence about a fixed point that is not a plain rest point."""
        return ""

    def fixed_point(self) -> FixedPoint:
        """The `FixedPoint` of `flows` identical flows."""
        system, out = self.system, np.empty(1 + len(self.system.states))
        empty = np.empty(0)
        system.equilibrium_float(empty, empty, empty, self.constants_array(), out)
        status, state = Status(int(out[0])), dict(zip(system.states, out[1:].tolist(), strict=True))
        rests = status in (Status.FOUND, Status.OFF_RAMP, Status.SLIDING)
        return FixedPoint(
            status,
            self.feedback_at(state),
            state["q"] * self.unit_bits / 8 if rests else None,
            state.get("alpha"),
            self.rate / self.flows,
            state,
            self.explain(status, state),
        )

    def feedback_at(self, state: Mapping[str, float]) -> float | None:
        """The marking probability (or what stands in its place) in a rest point, or None."""
        return state.get("p")

    @classmethod
    def read(cls, texts: Mapping[str, str]) -> Self:
        """A model from parameters as people write them: {"kmax": "1000KB", "ramp": "extended"}.

        Raises ScenarioError naming key, value and what was expected.
        """
        specs = {spec.name: spec for spec in fields(cls)}
        values: dict[str, float | str] = {}
        for key, text in texts.items():
            if key not in specs:
                expected = f"a parameter of {cls.name}: {', '.join(specs)}{did_you_mean(key, specs)}"
                raise ScenarioError(key, text, expected)
            is_word = isinstance(specs[key].metadata["kind"], tuple)
            values[key] = text if is_word else read_number(specs[key], text)
        return replace(cls(), **values)


def read_number(spec: Field[object], text: str) -> float:
    """The value of the field `spec`, which is no word, in SI units, from `text`. Raises ScenarioError."""
    kind = spec.metadata["kind"]
    try:
        if spec.metadata.get("unlimited") and text == "unlimited":
            return UNLIMITED
        if kind in _DIMENSIONS:
            dimension, scale = _DIMENSIONS[kind]
            return dimension.parse(text) / scale
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        if not math.isfinite(value):
            raise ValueError
        return value
    except ValueError as error:
        expected = str(error) if kind in _DIMENSIONS else f"{_bounds(spec)}, such as {spec.default:g}"
        raise ScenarioError(spec.name, text, expected) from None


def in_words(kind: Kind, value: Value) -> Value:
    """A parameter's value as a user would write it: 2e5 of a "size" is 200KB; an array stays as it is."""
    if kind not in _DIMENSIONS or isinstance(value, str) or np.ndim(value):
        return value
    number = float(value)
    if not 0 <= number < math.inf:
        return value
    dimension, scale = _DIMENSIONS[kind]
    return dimension.text(round(number * scale))


_DIMENSIONS = {"rate": (RATE, 1), "time": (TIME, 10**12), "size": (SIZE, 1)}
_SI = {"rate": "bit/s", "time": "s", "size": "bytes"}


def _check(spec: Field[object], value: Value) -> None:
    kind: Kind = spec.metadata["kind"]
    limits = spec.metadata
    if isinstance(kind, tuple):
        if value not in kind:
            raise ScenarioError(spec.name, value, " or ".join(kind))
        return
    number = np.asarray(value)
    fits = np.all(
        (number > limits.get("above", -np.inf))
        & (number >= limits.get("least", -np.inf))
        & (number <= limits.get("most", np.inf))
    )
    whole = kind != "count" or np.all(number == np.round(number))
    if not fits or not whole:
        raise ScenarioError(spec.name, in_words(kind, value), _bounds(spec))


def _bounds(spec: Field[object]) -> str:
    """What an error expects of a number: its kind and its limits, in SI units."""
    kind, limits = spec.metadata["kind"], spec.metadata
    unit = f" {_SI[kind]}" if kind in _SI else ""
    words = {"above": "above", "least": "of at least", "most": "at most"}
    wanted = [f"{word} {limits[limit]:g}{unit}" for limit, word in words.items() if limit in limits]
    what = "a whole number" if kind == "count" else "a number"
    return " ".join([what, " and ".join(wanted)]).strip()

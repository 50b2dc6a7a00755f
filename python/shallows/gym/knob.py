"""Actions: what an agent sets at the begin of each step, and how the core is told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol, Self

import numpy as np

from shallows.algorithms.algorithm import row_of
from shallows.algorithms.marking import markings
from shallows.algorithms.parameters import read
from shallows.driven import settable
from shallows.errors import ScenarioError
from shallows.units import Frame, did_you_mean

if TYPE_CHECKING:
    from shallows import _core
    from shallows.core.contract import Marking, Request
    from shallows.core.rows import Row
    from shallows.scenario import Scenario

WINDOW, RATE = "senders.window", "senders.rate"


@dataclass(frozen=True)
class Knob:
    """A range that an agent sets: a number from -1 (`low`) to 1 (`high`) in its actions.

    `key` is `network.marking.threshold`, or another parameter of the marking, of all ports of switches; or
    `cc.g`, or another parameter of the algorithm, for flows that start later; `traffic.NAME.cc.g`, that of
    one table; or `senders.window` or `senders.rate`, a number for each flow of `external`. `low` and `high`
    are written as in a scenario: "5pkt", "2Gbps", 0.5. Between them a number goes by the logarithm if `scale`
    is "log".
    """

    key: str
    low: str | float
    high: str | float
    scale: Literal["linear", "log"] = "linear"


@dataclass(frozen=True)
class Range:
    """The values of a knob in SI base units."""

    low: float
    high: float
    by_log: bool

    @classmethod
    def of(cls, knob: Knob, row: "Row", parameter: str, frame: Frame) -> Self:
        """That of a knob for a parameter of a catalog row. Raises `ScenarioError`."""
        key = f"actions.{knob.key}"
        try:
            low, high = (read(row, parameter, end, frame) for end in (knob.low, knob.high))
        except ScenarioError as error:
            raise ScenarioError(key, error.value, error.expected) from None
        if not low < high or (knob.scale == "log" and low <= 0):
            more = ", and above 0 with the scale log" if knob.scale == "log" else ""
            raise ScenarioError(key, f"{knob.low} to {knob.high}", f"low below high{more}")
        return cls(low, high, knob.scale == "log")

    def at(self, number: float) -> float:
        """The value of a number from -1 to 1; a number beyond counts as the end."""
        share = min(max((number + 1) / 2, 0.0), 1.0)
        if self.by_log:
            return self.low ** (1 - share) * self.high**share
        return self.low * (1 - share) + self.high * share


State = dict[str, list[int]]
"""Of a run, by the key of a knob: the algorithms of which it changes a parameter, or what senders have."""


class Hand(Protocol):
    """Turns a knob in a run. `size` is how many numbers of an action it takes."""

    @property
    def size(self) -> int: ...

    @property
    def values(self) -> Range: ...

    def turn(self, core: "_core.OpenRun", numbers: Sequence[float], state: State) -> None:
        """Set the values of these numbers from -1 to 1 from the clock on, and note it in `state`."""
        ...


@dataclass(frozen=True)
class _Marking:
    """A parameter of the marking of all ports of switches: links, and the marking that they have at first."""

    values: Range
    parameter: str
    ports: "list[tuple[list[int], Marking]]"
    size: int = 1

    def turn(self, core: "_core.OpenRun", numbers: Sequence[float], state: State) -> None:
        value = self.values.at(numbers[0])
        for links, marking in self.ports:
            marking["parameters"][self.parameter] = value
            core.mark(links, marking)


@dataclass(frozen=True)
class _Parameter:
    """A parameter of algorithms for flows that start later."""

    values: Range
    parameter: str
    key: str
    size: int = 1

    def turn(self, core: "_core.OpenRun", numbers: Sequence[float], state: State) -> None:
        value = {self.parameter: self.values.at(numbers[0])}
        state[self.key] = [core.retune(one, value) for one in state[self.key]]


@dataclass(frozen=True)
class _Senders:
    """The windows or the rates of all flows of `external`."""

    values: Range
    key: str
    flows: list[int]
    packet: int

    @property
    def size(self) -> int:
        return len(self.flows)

    def turn(self, core: "_core.OpenRun", numbers: Sequence[float], state: State) -> None:
        state[self.key] = [round(self.packet * self.values.at(one)) for one in numbers]
        core.set_senders([*zip(self.flows, state[WINDOW], state[RATE], strict=True)])


def hands(knobs: Sequence[Knob], scenario: "Scenario", request: "Request") -> tuple[list[Hand], State]:
    """The hands that turn knobs in runs of a scenario with this request, and the state of such a run.

    Raises `ScenarioError` for a knob that it does not have.
    """
    known = _known(scenario, request)
    made, state = list[Hand](), State()
    for knob in knobs:
        if knob.key not in known:
            expected = f"one of {', '.join(known)}{did_you_mean(knob.key, known)}"
            raise ScenarioError("actions", knob.key, expected)
        hand, begins = known[knob.key](knob)
        made.append(hand)
        state |= begins
    twice = [knob.key for at, knob in enumerate(knobs) if knob.key in [one.key for one in knobs[:at]]]
    if twice or not knobs:
        raise ScenarioError("actions", ", ".join(twice) or "none", "one knob or more, each once")
    return made, state


_Makes = Callable[[Knob], tuple[Hand, State]]


def _known(scenario: "Scenario", request: "Request") -> dict[str, _Makes]:
    """What makes the hand of each key that a scenario has, and its state in a new run."""
    known: dict[str, _Makes] = {}
    flags = scenario.marking.flags if scenario.marking else ()
    for key in settable.of_marking(scenario):
        if key.rpartition(".")[2] not in flags:
            known[key] = partial(_marking, scenario, request)
    ccs, of_table = scenario.flows.ccs, settable.algorithms(scenario)
    default = {ccs.index(of_table[at]) for at, table in enumerate(scenario.traffic) if table.cc is None}
    tables = {f"traffic.{name}.cc": {ccs.index(of_table[at])} for at, name in enumerate(scenario.flows.names)}
    for prefix, numbers in {"cc": default, **tables}.items():
        used = next((ccs[number] for number in numbers if not ccs[number].user_class), None)
        if used is not None:
            makes = partial(_parameter, scenario, used.name, sorted(numbers))
            ranges = [one["name"] for one in row_of(used.name)["parameters"] if one["unit"] != "flag"]
            known |= {f"{prefix}.{name}": makes for name in ranges}
    of_flow: list[int] = scenario.flows.cc.tolist()
    flows = [at for at, number in enumerate(of_flow) if ccs[number].traits["is_driven"]]
    if flows:
        known |= {key: partial(_senders, scenario, flows) for key in (WINDOW, RATE)}
    return known


def _marking(scenario: "Scenario", request: "Request", knob: Knob) -> tuple[Hand, State]:
    parameter = knob.key.rpartition(".")[2]
    numbers = request["links"]["marking"]
    ports: list[tuple[list[int], Marking]] = []
    for number, marking in enumerate(request["markings"], start=1):
        links: list[int] = np.flatnonzero(numbers == number).tolist()
        if links and scenario.marking and marking["kind"] == scenario.marking.kind:
            own = marking.copy()
            own["parameters"] = dict(marking["parameters"])
            ports.append((links, own))
    kind = ports[0][1]["kind"]
    row = next(one for one in markings() if one["name"] == kind)
    return _Marking(Range.of(knob, row, parameter, scenario.frame), parameter, ports), {}


def _parameter(scenario: "Scenario", name: str, numbers: list[int], knob: Knob) -> tuple[Hand, State]:
    parameter = knob.key.rpartition(".")[2]
    values = Range.of(knob, row_of(name), parameter, scenario.frame)
    return _Parameter(values, parameter, knob.key), {knob.key: numbers}


def _senders(scenario: "Scenario", flows: list[int], knob: Knob) -> tuple[Hand, State]:
    of_flows = scenario.flows
    numbers: list[int] = of_flows.cc[flows].tolist()
    used = [of_flows.ccs[number] for number in numbers]
    values = Range.of(knob, row_of(used[0].name), knob.key.rpartition(".")[2], scenario.frame)
    payload = scenario.frame.payload
    begin = {
        WINDOW: [round(payload * one.parameters["window"]) for one in used],
        RATE: [round(one.parameters["rate"]) for one in used],
    }
    return _Senders(values, knob.key, flows, payload if knob.key == WINDOW else 1), begin

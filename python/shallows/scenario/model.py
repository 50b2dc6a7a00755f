"""The description of one run: `Scenario`.

Its fields are exact integers (picoseconds, bytes, bits per second) or tables of them; their texts carry
units. Every mistake is a `ScenarioError` with file, key, value and what was expected.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import TYPE_CHECKING, Any, Generic, Never, Self, TypeVar, Unpack, overload

import numpy as np
import tomli_w
from numpy.typing import NDArray
from pydantic import ValidationError

from shallows.algorithms import trust
from shallows.algorithms.algorithm import Algorithm, choose
from shallows.algorithms.marking import Marking
from shallows.base import names, texts
from shallows.errors import ScenarioError
from shallows.scenario import checks, examples, places, raw, validation
from shallows.scenario.given import Given
from shallows.scenario.literal import literal
from shallows.scenario.origin import Origin
from shallows.scenario.overrides import by_user, copied, overridden
from shallows.scenario.ports import Queue, queues_of
from shallows.scenario.resolve import resolve
from shallows.scenario.resolved import Resolved
from shallows.traffic import Flows, draw
from shallows.units import NEVER, Frame, did_you_mean

if TYPE_CHECKING:
    from shallows.scenario.builders import Tables


_Value = TypeVar("_Value")


@dataclass(frozen=True)
class _Parts:
    """What a scenario holds: its tables as read, as validated and with every default, and their origin."""

    tables: dict[str, Any]
    given: Given
    settled: Resolved
    origin: Origin


class _Settled(Generic[_Value]):
    """An attribute of a scenario: one of its tables with every default."""

    def __init__(self, read: Callable[[Resolved], _Value]) -> None:
        self._read = read

    @overload
    def __get__(self, scenario: None, owner: type) -> Self: ...
    @overload
    def __get__(self, scenario: "Scenario", owner: type) -> _Value: ...
    def __get__(self, scenario: "Scenario | None", owner: type) -> _Value | Self:
        return self if scenario is None else self._read(scenario.settled)

    def __set__(self, scenario: "Scenario", value: Never) -> None:
        raise AttributeError("a scenario does not change: its methods set and replace return another one")


class Scenario:
    """One run: network, hosts, algorithms and traffic. Immutable; `set` returns a changed one.

    `Scenario(duration="1s", topology=Dumbbell(hosts=4), cc="dctcp", traffic=[LongLived()])`: the keywords are
    the tables of a scenario file, as builders (`shallows.Star`) or as dicts; `topology` may also be a
    networkx graph. Everything is checked at once, including the flows. Raises `ScenarioError`.

    Its attributes are the tables with every default, which `settled` holds; `given` has them as written.

    What a program passes to `Scenario`, `from_tables`, `set` and `replace`, and as overrides, names its own
    classes, whose code runs. This package itself uses `made` and `changed`, which trust no name more than it
    was (`algorithms.trust`).
    """

    name = _Settled(lambda tables: tables.name)
    seed = _Settled(lambda tables: tables.seed)
    duration = _Settled(lambda tables: tables.duration)
    warmup = _Settled(lambda tables: tables.warmup)
    cooldown = _Settled(lambda tables: tables.cooldown)
    topology = _Settled(lambda tables: tables.topology)
    network = _Settled(lambda tables: tables.network)
    hosts = _Settled(lambda tables: tables.hosts)
    cc = _Settled(lambda tables: tables.cc)
    traffic = _Settled(lambda tables: tables.traffic)
    faults = _Settled(lambda tables: tables.faults)
    classes = _Settled(lambda tables: tables.classes)
    pools = _Settled(lambda tables: tables.pools)
    ports = _Settled(lambda tables: tables.ports)
    record = _Settled(lambda tables: tables.record)
    frame = _Settled(lambda tables: tables.frame)
    graph = _Settled(lambda tables: tables.graph)

    def __init__(self, /, *, file: str | None = None, **tables: "Unpack[Tables]") -> None:
        self._hold(tables, Origin(file), by_program=True)

    def _hold(self, tables: Mapping[str, Any], origin: Origin, *, by_program: bool) -> None:
        """Read and check the tables, which the calling program has written or not."""
        try:
            folder = Path(origin.file).parent if origin.file else Path()
            read = raw.read(tables, folder)
            if by_program:
                read = trust.named(read, folder, key="")
            given, frame = _given(read, folder)
            self._parts = _Parts(read, given, resolve(given, frame), origin)
            checks.check(self)
        except ScenarioError as error:
            raise error.in_file(origin.file) from None

    @classmethod
    def key_names(cls) -> list[str]:
        """The names of its keys in a scenario file, in order."""
        return Given.key_names()

    @classmethod
    def load(cls, path: str | PathLike[str], overrides: Mapping[str, object] | None = None) -> "Scenario":
        """The scenario in a TOML file, with `overrides` ({dotted key: value}) applied before the checks.

        `path` may also be the name of an example, such as "dctcp-40".
        """
        path = examples.find(path)
        try:
            text = texts.read(path)
        except (OSError, ValueError) as error:  # missing, not text, or not a file name
            reason = texts.why(error)
            hint = did_you_mean(path.name, examples.names()) if path.name == str(path) else ""
            expected = f"a readable scenario file ({reason}) or the name of an example{hint}"
            raise ScenarioError(None, None, expected, file=str(path)) from None
        return cls.from_toml(text, file=str(path), overrides=overrides)

    @classmethod
    def from_toml(
        cls, text: str, file: str | None = None, overrides: Mapping[str, object] | None = None
    ) -> "Scenario":
        """The scenario of a TOML text. Errors and relative paths refer to `file`."""
        try:
            tables = texts.toml(text)
        except ValueError as error:
            place = places.of_error(text, str(error)) if isinstance(error, TOMLDecodeError) else None
            raise ScenarioError(None, None, f"TOML ({error})", file=file, place=place) from None
        if file:
            tables.setdefault("name", names.of_file(file))
        return cls.made(tables, Origin(file, text), by_user(overrides or {}))

    @classmethod
    def from_tables(
        cls, tables: Mapping[str, object], overrides: Mapping[str, object] | None = None
    ) -> "Scenario":
        """The scenario of a dict of tables, with `overrides` as in `load`."""
        written = {str(key): literal(table) for key, table in tables.items()}
        return cls.made(trust.named(written, key=""), Origin(), by_user(overrides or {}))

    @classmethod
    def made(
        cls,
        tables: dict[str, Any],
        origin: Origin | None = None,
        overrides: Mapping[str, object] | None = None,
    ) -> "Scenario":
        """The scenario of tables of a file, a peer or another scenario: names in them are not trusted."""
        origin = (origin or Origin()).overridden(overrides or {})
        try:
            tables = overridden(tables, overrides or {})
            if "file" in tables:  # a key `file` would be mistaken for the argument `file`
                known = f"a known key ({', '.join(cls.key_names())})"
                raise ScenarioError("file", tables["file"], known)
            scenario = cls.__new__(cls)
            scenario._hold(tables, origin, by_program=False)
        except ScenarioError as error:
            raise origin.locate(error) from None
        return scenario

    def to_toml(self) -> str:
        """This scenario as TOML, with every default."""
        return tomli_w.dumps(self.resolved())

    def resolved(self) -> dict[str, Any]:
        """The tables of a scenario file, with every default."""
        context = {"frame": self.frame}
        filled_in = Given.model_construct(**{key: getattr(self, key) for key in Given.model_fields})
        tables = filled_in.model_dump(by_alias=True, exclude_none=True, context=context)
        if not any("hosts.rto_min" in used.supported_keys for used in self.algorithms):
            del tables["hosts"]["rto_min"]  # it acts on no flow, and follows from the network
        for table, key in (
            *((tables, key) for key in ("classes", "pools", "ports")),
            (tables["hosts"], "costs"),
        ):
            if not table[key]:
                del table[key]
        return {
            **tables,
            "topology": _kind_first(tables["topology"]),
            "traffic": [_kind_first(table) for table in tables["traffic"]],
        }

    def set(self, key: str, value: object) -> "Scenario":
        """A scenario with one key changed, such as `set("traffic.0.flows", "20")`.

        A text is read as TOML if it is TOML. Another algorithm in cc.name removes the parameters of the
        former one.
        """
        return self.replace({key: value})

    def replace(self, overrides: Mapping[str, object]) -> "Scenario":
        """A scenario with several keys changed at once: {dotted key: value}, as in `set`."""
        return self.changed(by_user(overrides))

    def changed(self, overrides: Mapping[str, object]) -> "Scenario":
        """Like `replace`, with overrides that the calling program has not written."""
        return self.made(self._parts.tables, self.origin, overrides)

    def deferred(self, overrides: Mapping[str, object]) -> "Callable[[], Scenario]":
        """A picklable function without arguments that returns what `changed` would."""
        return partial(_rebuild, self._parts.tables, self.origin, trust.ran(), overrides)

    def __reduce__(self) -> tuple[object, ...]:
        unchanged: dict[str, object] = {}
        return _rebuild, (self._parts.tables, self.origin, trust.ran(), unchanged)

    def __repr__(self) -> str:
        """The Python expression for what was given."""
        from shallows.scenario.builders import to_source

        return to_source({"file": self.file, **self._parts.tables})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.to_toml() == other.to_toml()

    def __hash__(self) -> int:
        return hash(self.to_toml())

    @property
    def given(self) -> Given:
        """Its tables as written, validated."""
        return self._parts.given

    @property
    def settled(self) -> Resolved:
        """Its tables with every default."""
        return self._parts.settled

    @property
    def origin(self) -> Origin:
        """The file or the overrides that its keys come from."""
        return self._parts.origin

    @property
    def file(self) -> str | None:
        """The file that it was read from, for errors; None if there is none."""
        return self.origin.file

    @property
    def tables(self) -> dict[str, Any]:
        """Its tables as given, without defaults."""
        return copied(self._parts.tables)

    @property
    def warnings(self) -> list[str]:
        """Warnings of a scenario that is valid but hardly what its author meant."""
        from shallows.scenario.doubts import of_scenario

        return of_scenario(self)

    @property
    def mtu(self) -> int:
        """Bytes of a full frame on the wire."""
        return self.settled.mtu

    @property
    def buffer(self) -> int:
        """Bytes that a switch port holds without `[[classes]]`; unlimited with pauses or a memory."""
        return self.settled.buffer

    @property
    def algorithms(self) -> list[Algorithm]:
        """The algorithm of each traffic table."""
        return self.settled.algorithms

    @property
    def marking_begins(self) -> int:
        """Bytes of queue at which the last switch port begins to mark."""
        return self.settled.marking_begins

    @property
    def marking(self) -> Marking | None:
        """The marking of `[network]`; None without one, and with "none"."""
        chosen = self.network.marking
        return chosen if isinstance(chosen, Marking) else None

    @property
    def warmup_ps(self) -> int:
        """Picoseconds left out of the summary."""
        return self.warmup

    @property
    def last_arrival_ps(self) -> int | None:
        """When the last flow of open-loop traffic arrives; None without such traffic."""
        flows = self.flows
        its = np.array([one is not None for one in flows.offered])[flows.group]
        return min(int(flows.start_ps[its].max()), self.duration) if its.any() else None

    @property
    def cooldown_ps(self) -> int | None:
        """Picoseconds from which on starting flows are not in statistics; None if all are."""
        last = self.last_arrival_ps if self.cooldown else None
        return None if last is None else last - self.cooldown

    @property
    def duration_ps(self) -> int | None:
        """When the run ends, in picoseconds; None if it ends with its flows."""
        return None if self.duration == NEVER else self.duration

    @property
    def flow_count(self) -> int:
        """The number of flows."""
        return len(self.flows)

    @cached_property
    def queues(self) -> list[Queue]:
        """The queue of each class at every port; of all data without `[[classes]]`."""
        return queues_of(self.settled)

    @cached_property
    def flows(self) -> Flows:
        """The `Flows` of all traffic tables."""
        return draw(self.traffic, self.graph, self.seed, self.frame, self.cc)

    @property
    def probed_flows(self) -> NDArray[np.uint32]:
        """The numbers of the flows whose senders are probed (u32)."""
        wanted = self.record.flows
        if isinstance(wanted, list):
            return np.asarray(wanted, np.uint32)
        count = len(self.flows) if wanted == "all" else min(wanted, len(self.flows))
        return np.arange(count, dtype=np.uint32)

    @property
    def credits(self) -> tuple[int, int, int, int] | None:
        """Bytes of a credit, bytes of a burst, queued credits and the jitter of switches in picoseconds, for
        ports with a class of credits; else None.
        """
        return next((used.credits for used in self.algorithms if used.credits), None)

    @property
    def trims(self) -> bool:
        """True if switch ports trim packets of some class."""
        return any(queue.trimming for queue in self.queues)

    @property
    def pacer(self) -> dict[str, float] | None:
        """Parameters of the pacer of every host, in SI base units; None without pacers."""
        return next((used.pacer for used in self.algorithms if used.pacer), None)


def _given(tables: dict[str, Any], folder: Path) -> tuple[Given, Frame]:
    """The tables, validated, and the size of one "pkt". Raises `ScenarioError` with all mistakes."""
    frame, wrong = raw.frame_or_default(tables)

    def algorithm(table: object) -> Algorithm:
        return choose(table, frame, folder)

    context: dict[str, object] = {"frame": frame, "folder": folder, "algorithm": algorithm}
    try:
        given = Given.model_validate(tables, context=context)
    except ValidationError as error:
        others = validation.all_errors(error, tables, Given)
        raise ScenarioError.together([wrong, others] if wrong else [others]) from None
    if wrong:
        raise wrong
    return given, frame


def _rebuild(
    tables: dict[str, object],
    origin: Origin,
    ran: Sequence[trust.Entry],
    overrides: Mapping[str, object],
) -> Scenario:
    """The scenario of another process of the same user, which has run its classes."""
    trust.also_ran(ran)
    return Scenario.made(tables, origin, overrides)


def _kind_first(table: Any) -> dict[str, object]:
    return {"kind": table["kind"], **table}

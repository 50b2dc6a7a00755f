"""The description of one run: `Scenario`.

Its fields are exact integers (picoseconds, bytes, bits per second) or tables of them; their texts carry
units. Every mistake is a `ScenarioError` with file, key, value and what was expected.
"""

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import tomli_w
from numpy.typing import NDArray
from pydantic import ValidationError

from shallows.algorithms import trust
from shallows.algorithms.algorithm import Algorithm, choose
from shallows.base import texts
from shallows.base.literal import is_list, literal
from shallows.base.table import Key, Table
from shallows.errors import ScenarioError
from shallows.faults import Fault
from shallows.scenario import checks, examples, raw, settle, supported_keys, validation
from shallows.scenario.origin import Origin
from shallows.scenario.overrides import copied, overridden
from shallows.scenario.port_checks import check_names
from shallows.scenario.ports import Queue, marking_begins, queues_of
from shallows.scenario.queues import Pool, PortTable, TrafficClass
from shallows.scenario.tables import HostTable, NetworkTable, RecordTable
from shallows.settings import headroom
from shallows.topology import Network, Topology
from shallows.traffic import AlgorithmChoice, Flows, Traffic, draw
from shallows.units import NEVER, SIZE, Duration, Frame, Name, Seed, Time, did_you_mean

if TYPE_CHECKING:
    from shallows.scenario.builders import Tables


class Scenario(Table):
    """One run: network, hosts, algorithms and traffic. Immutable; `set` returns a changed one.

    `Scenario(duration="1s", topology=Dumbbell(hosts=4), cc="dctcp", traffic=[LongLived()])`: the keywords are
    the tables of a scenario file, as builders (`shallows.Star`) or as dicts; `topology` may also be a
    networkx graph. Everything is checked at once, including the flows. Raises `ScenarioError`.
    """

    name: Name = Key("scenario", description="name of the results")
    seed: Seed = Key(1, description="seed of all random numbers")
    duration: Duration = Key(description='time at which the run ends, or "until-done"')
    warmup: Time = Key("0s", description="time that the summary excludes")
    cooldown: Time = Key(
        "0s",
        description="time before the last arrival of open-loop traffic whose flows are not in statistics",
    )
    topology: Topology = Key(description="a table of a kind and its keys")
    network_options: NetworkTable = Key(default_factory=dict, alias="network")
    hosts: HostTable = Key(default_factory=dict)
    cc: AlgorithmChoice = Key(None, description="an algorithm, or a table with its parameters")
    traffic: list[Traffic] = Key(min_length=1, description="a list of tables, each of a kind and its keys")
    faults: list[Fault] = Key(
        # pydantic would parse the documented signature of `list` itself
        default_factory=lambda: list[Fault](),
        description="tables of changes of links, with their times",
    )
    classes: list[TrafficClass] = Key(
        default_factory=lambda: list[TrafficClass](),
        description="tables of traffic classes in order of priority; by default one",
    )
    pools: list[Pool] = Key(
        default_factory=lambda: list[Pool](),
        description="tables of memory of each switch, to which classes refer",
    )
    ports: list[PortTable] = Key(
        default_factory=lambda: list[PortTable](),
        description="tables of other settings of some ports, such as those of a tier",
    )
    record: RecordTable = Key(default_factory=dict)

    if TYPE_CHECKING:  # attributes that are not keys of a file
        frame: Frame
        _tables: dict[str, Any]
        derived: dict[str, int]
        origin: Origin

    def __init__(self, /, *, file: str | None = None, **tables: "Unpack[Tables]") -> None:
        try:
            folder = Path(file).parent if file else Path()
            read = raw.read(tables, folder)
            frame, wrong = raw.frame_or_default(read)

            def algorithm(table: object) -> Algorithm:
                return choose(table, frame, folder)

            context: dict[str, Any] = {"frame": frame, "folder": folder, "algorithm": algorithm}
            try:
                self.__pydantic_validator__.validate_python(read, self_instance=self, context=context)
            except ValidationError as error:
                others = validation.all_errors(error, read, Scenario)
                raise ScenarioError.together([wrong, others] if wrong else [others]) from None
            if wrong:
                raise wrong
            # Set in spite of the frozen model: users cannot assign these.
            vars(self).update(_tables=read, origin=Origin(file), frame=frame)
            self._settle()
            checks.check(self)
        except ScenarioError as error:
            raise error.in_file(file) from None

    @classmethod
    def load(cls, path: str | PathLike[str], overrides: Mapping[str, Any] | None = None) -> "Scenario":
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
        cls, text: str, file: str | None = None, overrides: Mapping[str, Any] | None = None
    ) -> "Scenario":
        """The scenario of a TOML text. Errors and relative paths refer to `file`."""
        try:
            tables = texts.toml(text)
        except ValueError as error:
            raise ScenarioError(None, None, f"TOML ({error})", file=file) from None
        if file:
            tables.setdefault("name", Path(file).stem)
        with trust.reading(overrides or {}, Path(file).parent if file else Path()):
            return _replaced(tables, Origin(file, text), overrides or {})

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any], overrides: Mapping[str, Any] | None = None) -> "Scenario":
        """The scenario of a dict of tables, with `overrides` as in `load`."""
        named = {str(key): literal(table) for key, table in tables.items()}
        return _replaced(named, Origin(), overrides or {})

    def to_toml(self) -> str:
        """This scenario as TOML, with every default."""
        return tomli_w.dumps(self.resolved())

    def resolved(self) -> dict[str, Any]:
        """The tables of a scenario file, with every default."""
        context = {"frame": self.frame}
        tables = self.model_dump(by_alias=True, exclude_none=True, context=context)
        if not any("hosts.rto_min" in used.supported_keys for used in self.algorithms):
            del tables["hosts"]["rto_min"]  # it acts on no flow, and follows from the network
        for key in ("classes", "pools", "ports"):
            if not tables[key]:
                del tables[key]
        written = [tables["network"], *tables.get("classes", ())]
        for table, options in zip(written, (self.network_options, *self.classes), strict=True):
            if options.pfc and options.pfc.headroom == NEVER:
                needed = headroom.of_any_link(self.network, self.mtu)
                table["pfc"]["headroom"] = SIZE.text(needed, self.mtu)
        return {
            **tables,
            "topology": _kind_first(tables["topology"]),
            "traffic": [_kind_first(table) for table in tables["traffic"]],
        }

    def set(self, key: str, value: Any) -> "Scenario":
        """A scenario with one key changed, such as `set("traffic.0.flows", "20")`.

        A text is read as TOML if it is TOML. Another algorithm in cc.name removes the parameters of the
        former one.
        """
        return self.replace({key: value})

    def replace(self, overrides: Mapping[str, Any]) -> "Scenario":
        """A scenario with several keys changed at once: {dotted key: value}, as in `set`."""
        return _replaced(self._tables, self.origin, overrides)

    def deferred(self, overrides: Mapping[str, Any]) -> "Callable[[], Scenario]":
        """A picklable function without arguments that returns what `replace` would."""
        return partial(_replaced, self._tables, self.origin, overrides)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._tables, self.origin)

    def __repr__(self) -> str:
        """The Python expression for what was given."""
        from shallows.scenario.builders import to_source

        return to_source({"file": self.file, **self._tables})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.to_toml() == other.to_toml()

    def __hash__(self) -> int:
        return hash(self.to_toml())

    @property
    def file(self) -> str | None:
        """The file that it was read from, for errors; None if there is none."""
        return self.origin.file

    @property
    def tables(self) -> dict[str, Any]:
        """Its tables as given, without defaults."""
        return copied(self._tables)

    @property
    def mtu(self) -> int:
        """Bytes of a full frame on the wire."""
        return self.network_options.mtu

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

    @property
    def warnings(self) -> list[str]:
        """Warnings of a scenario that is valid but hardly what its author meant."""
        from shallows.warnings.before import of_scenario

        return of_scenario(self)

    @cached_property
    def network(self) -> Network:
        """The `Network` of nodes and links, with the recorded ports of `[record]`."""
        network = self.topology.build()
        return network.recording(self._recorded(network))

    @cached_property
    def queues(self) -> list[Queue]:
        """The queue of each class at every port; of all data without `[[classes]]`."""
        return queues_of(self)

    @cached_property
    def flows(self) -> Flows:
        """The `Flows` of all traffic tables."""
        return draw(self.traffic, self.network, self.seed, self.frame, self.cc)

    @property
    def probed_flows(self) -> NDArray[np.uint32]:
        """The numbers of the flows whose senders are probed (u32)."""
        wanted = self.record.flows
        if is_list(wanted):
            return np.asarray(wanted, np.uint32)
        count = len(self.flows) if wanted == "all" else min(wanted, len(self.flows))
        return np.arange(count, dtype=np.uint32)

    @property
    def algorithms(self) -> list[Algorithm]:
        """The algorithm of each traffic table."""
        return [used for _, used in supported_keys.algorithms(self)]

    @property
    def marking_begins(self) -> int:
        """Bytes of queue at which the last switch port begins to mark."""
        return max(marking_begins(self, queue) for queue in queues_of(self))

    @property
    def credits(self) -> tuple[int, int, int] | None:
        """Bytes of a credit, bytes of a burst and queued credits, for ports with a class of credits; else
        None.
        """
        return next((used.credits for used in self.algorithms if used.credits), None)

    @property
    def trims(self) -> bool:
        """True if switch ports trim packets of some class."""
        return any(queue.trimming for queue in self.queues)

    @property
    def has_full_queues(self) -> bool:
        """True if data can find a full queue, because no pause comes first."""
        return any(queue.can_be_full for queue in self.queues)

    @property
    def pacer(self) -> dict[str, float] | None:
        """Parameters of the pacer of every host, in SI base units; None without pacers."""
        return next((used.pacer for used in self.algorithms if used.pacer), None)

    def _recorded(self, network: Network) -> NDArray[Any]:
        if self.record.ports == "bottleneck":
            return network.bottlenecks
        if self.record.ports == "all":
            return np.arange(len(network.port_names))
        try:
            return np.asarray(network.ports(self.record.ports))
        except ValueError as error:
            raise ScenarioError("record.ports", *error.args) from None

    def _settle(self) -> None:
        """Fill in the defaults that depend on other tables."""
        check_names(self)
        network = self.network
        for i, table in enumerate(self.traffic):
            if table.cc is None and self.cc is None:
                raise ScenarioError("cc", None, f'an algorithm such as "dctcp", here or as traffic[{i}].cc')
            try:
                self.traffic[i] = table.settled(network)
            except ScenarioError as error:
                raise error.under(f"traffic[{i}]") from None
        settle.fill_in(self)


def _rebuild(tables: dict[str, Any], origin: Origin) -> Scenario:
    return _replaced(tables, origin, {})


def _replaced(tables: dict[str, Any], origin: Origin, overrides: Mapping[str, Any]) -> Scenario:
    origin = origin.overridden(overrides)
    try:
        tables = overridden(tables, overrides)
        if "file" in tables:  # a key `file` would be mistaken for the argument `file`
            known = f"a known key ({', '.join(Scenario.key_names())})"
            raise ScenarioError("file", tables["file"], known)
        scenario = Scenario(**tables) if origin.file is None else Scenario(file=origin.file, **tables)
    except ScenarioError as error:
        raise origin.locate(error) from None
    vars(scenario)["origin"] = origin
    return scenario


def _kind_first(table: Any) -> dict[str, Any]:
    return {"kind": table["kind"], **table}

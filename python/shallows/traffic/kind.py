"""The base of all kinds of traffic: algorithm, priority, hosts at the ends."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import BeforeValidator, PlainSerializer

from shallows.base.table import Key, Table
from shallows.base.toml import is_list
from shallows.core.contract import U32
from shallows.errors import ScenarioError
from shallows.traffic.flows import Drawn, Draws
from shallows.units import Frame, OptionalName, TypeName, packet

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import SerializationInfo, ValidationInfo

    from shallows.algorithms.algorithm import Algorithm
    from shallows.topology import Network


DRAWN_BYTES, WAIT_BYTES = 200, 80
"""Memory of a flow while it is drawn, and of its wait for another."""
_Host = int | str
Columns = dict[str, list[object]]
TYPES_OF_FILES = ("File", "Sizes")
"""The `TypeName`s of keys that may name a file."""
Pair = tuple[U32, U32]
"""Sources and targets."""


def _ends(value: object) -> object:
    hosts = value if is_list(value) else [value]
    if not hosts or not all(isinstance(host, int | str) and not isinstance(host, bool) for host in hosts):
        raise ValueError('a host (number or name), a list of hosts, or "topology"')
    return value


def _route(value: object) -> list[str] | None:
    if value is None:
        return None
    if not is_list(value) or not value or not all(isinstance(one, str) for one in value):
        raise ValueError('the names of switches in order, such as ["leaf0", "spine1", "leaf2"]')
    return value


def file_of(value: object, info: "ValidationInfo") -> str:
    """The path of an existing file, searched in the scenario's folder first. Raises `ValueError`."""
    context: dict[str, Path] = info.context or {}
    folder = context.get("folder") or Path()
    if not isinstance(value, str):
        raise ValueError("the path of a file")
    with suppress(OSError, ValueError):  # too long, or not a file name
        for path in (folder / value, Path(value)):
            if path.is_file():
                return str(path.resolve())
    raise ValueError(f"an existing file; there is none in {folder.resolve()}")


def rows_of(columns: Columns, names: Sequence[str]) -> list[list[object]]:
    """Rows of a dict of columns. Raises `ValueError` with what was expected."""
    missing = [name for name in names if name not in columns]
    if missing:
        raise ValueError(f"the columns {', '.join(names)}; {missing[0]} is missing")
    if not all(is_list(columns[name]) for name in names):
        raise ValueError(f"a list of values in each of the columns {', '.join(names)}")
    if len({len(columns[name]) for name in names}) > 1:
        lengths = ", ".join(f"{len(columns[name])} of {name}" for name in names)
        raise ValueError(f"columns of one length, not {lengths}")
    return [list(row) for row in zip(*(columns[name] for name in names), strict=True)]


def _algorithm(value: object, info: "ValidationInfo") -> "Algorithm | None":
    context: dict[str, Callable[[object], Algorithm]] = info.context or {}
    return None if value is None else context["algorithm"](value)


def _algorithm_table(value: "Algorithm | None", info: "SerializationInfo") -> object:
    return value and value.table(packet(info))


if TYPE_CHECKING:
    Ends = _Host | list[_Host]
    AlgorithmChoice = Algorithm | None
    Route = list[str] | None
else:
    Ends = Annotated[
        object, TypeName("Ends"), BeforeValidator(_ends, json_schema_input_type=_Host | list[_Host])
    ]
    AlgorithmChoice = Annotated[
        object, TypeName("Algorithm"), BeforeValidator(_algorithm), PlainSerializer(_algorithm_table)
    ]
    Route = Annotated[
        object, TypeName("Sequence[str]"), BeforeValidator(_route, json_schema_input_type=list[str])
    ]


class Kind(Table, frozen=True):
    """A `[[traffic]]` table."""

    if TYPE_CHECKING:  # every kind has its own literal, without a default
        kind: str

    name: OptionalName = Key(None, description="name in results; by default its kind, numbered if used again")
    cc: AlgorithmChoice = Key(None, description="the algorithm; by default the scenario's")
    priority: Literal[0, 1] = Key(0, description="1: its packets are sent before those of 0")
    route: Route = Key(
        None,
        description="the switches that the data of these flows passes, in order; by default switches choose",
    )
    traffic_class: OptionalName = Key(
        None, alias="class", description="the traffic class, by name; by default the last of [[classes]]"
    )

    @classmethod
    def keys_of_files(cls) -> tuple[str, ...]:
        """The keys whose text may be the path of a file of data."""
        fields = cls.model_fields.items()
        return tuple(
            field.alias or key
            for key, field in fields
            if any(isinstance(one, TypeName) and one.type in TYPES_OF_FILES for one in field.metadata)
        )

    def settled(self, network: "Network") -> Self:
        """This table with the defaults that depend on the network filled in."""
        return self

    def flow_count(self, network: "Network") -> tuple[str, int]:
        """The number of flows, at most, and the key that makes them many. `settled` comes before."""
        return "flows", getattr(self, "flows", None) or 0

    def draw_bytes(self, network: "Network") -> float:
        """Memory that `draw` needs, an estimate from above."""
        return DRAWN_BYTES * self.flow_count(network)[1]

    def draw(self, network: "Network", draws: Draws, frame: Frame) -> Drawn:
        """The flows of this table. Raises `ScenarioError` relative to it."""
        raise NotImplementedError


def filled(count: int | None) -> int:
    """A count whose default depends on the network, after `settled`."""
    assert count is not None, "`settled` comes before `draw`"
    return count


class Between(Kind, frozen=True):
    """A kind whose sources and targets may be chosen."""

    sources: Ends = Key(
        "topology", alias="from", description='sending hosts, by number, name or pattern such as "h1*"'
    )
    to: Ends = Key("topology", description="receiving hosts")

    def ends(self, network: "Network", draws: Draws) -> Pair:
        """(sources, targets) as host numbers; by default the topology's own pairs."""
        sources, targets = (hosts_of(network, *end) for end in (("from", self.sources), ("to", self.to)))
        if sources is not None:
            return sources, others(network, network.receivers, sources, draws) if targets is None else targets
        if targets is not None:
            return others(network, network.senders, targets, draws), targets
        return _own_pairs(network, draws)

    def pairs_of(self, network: "Network", draws: Draws, count: int) -> Pair:
        """(src, dst) of `count` flows: flow i takes the i-th source and the i-th target, cyclically."""
        sources, targets = (np.resize(hosts, count) for hosts in self.ends(network, draws))
        same = np.flatnonzero(sources == targets)
        if len(same):
            name = network.host_names[sources[same[0]]]
            raise ScenarioError("to", name, f"another host; flow {same[0]} has both ends there")
        return sources, targets


def hosts_of(network: "Network", key: str, value: object) -> U32 | None:
    """The numbers of the hosts in `value`; None for the topology's own."""
    if value == "topology":
        return None
    numbers: list[int] = []
    patterns = False
    for reference in value if is_list(value) else [value]:
        try:
            found = network.hosts_like(reference)
            patterns |= len(found) > 1
            numbers.extend(found)
        except ValueError as error:
            raise ScenarioError(key, reference, str(error)) from None
    return np.array(list(dict.fromkeys(numbers)) if patterns else numbers, np.uint32)


def distinct(hosts: U32) -> U32:
    """Each host once, in order. numpy.unique would import masked arrays, which is slow in a short run."""
    return np.flatnonzero(np.bincount(hosts)).astype(np.uint32)


def _own_pairs(network: "Network", draws: Draws) -> Pair:
    """The topology's senders and receivers; by default each host sends to the next in a random ring."""
    if network.senders is not None and network.receivers is not None:
        return network.senders, network.receivers
    ring = draws.order("pairs", network.hosts).astype(np.uint32)
    return ring, np.roll(ring, -1)


def others(network: "Network", preferred: U32 | None, taken: U32, draws: Draws) -> U32:
    """Partners for the hosts `taken`: the topology's, or all other hosts in random order."""
    if preferred is not None and not np.isin(preferred, taken).any():
        return preferred
    left = np.setdiff1d(np.arange(network.hosts, dtype=np.uint32), taken)
    if not len(left):
        raise ScenarioError("to", "all hosts", "some host left for the other end")
    return left if preferred is not None else left[draws.order("pairs", len(left))]

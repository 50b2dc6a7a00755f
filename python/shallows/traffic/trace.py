"""Flows listed one by one, in a CSV file or as columns."""

import csv
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple, NoReturn, Self

import numpy as np
from pydantic import BeforeValidator, model_validator

from shallows.base import limits
from shallows.base import texts as reader
from shallows.base.table import Key
from shallows.base.toml import is_list, is_table
from shallows.errors import ScenarioError
from shallows.traffic.flows import Drawn, Draws, full
from shallows.traffic.kind import Columns, Kind, file_of, rows_of
from shallows.traffic.offered import Offered
from shallows.traffic.predecessors import Predecessors
from shallows.traffic.settings import SettingColumns
from shallows.units import NEVER, Frame, TypeName

if TYPE_CHECKING:
    from pydantic import ValidationInfo

    from shallows.topology import Network

TRACE = ("start_s", "src", "dst", "bytes")
"""The columns of a trace that it must have."""
WAITS = ("id", "after", "behind")
"""Columns that it may have: a name for each flow, and names of flows that it waits for."""
NUMBER = "number"
"""The column of the messages of a driven run that puts those of all tables in one order."""
LEAST_ROW = len("0,0,1,1\n")
"""Bytes of the shortest row of a file."""
ROW_BYTES = 1000
"""Memory of a row while it is read."""
BATCH = 10
"""Median transmission times of a flow within which all flows of a batch arrive."""


_SECONDS = f"seconds from 0 to {limits.TIME.most // 10**12}, such as 0.0015"
_MOST_NUMBERS = 2**32
_WHOLE = f"a whole number from 1 to {limits.SIZE.most}"


def _optional_file(value: object, info: "ValidationInfo") -> str | None:
    return None if value is None else file_of(value, info)


def _columns(value: object) -> Columns:
    """Columns of `TRACE`, and others that a table may have, from columns or from rows of four."""
    if is_list(value) and all(is_list(row) and len(row) == len(TRACE) for row in value):
        value = dict(zip(TRACE, map(list, zip(*value, strict=True)), strict=True)) if value else {}
    if not is_table(value):
        raise ValueError(f"columns {', '.join(TRACE)}, or rows of these four")
    names = [*TRACE, *(name for name in (*WAITS, NUMBER) if name in value)]
    rows_of(value, names)
    # An array has one numeric type, so hosts and bytes may be floats.
    whole: Columns = {
        name: [int(item) if isinstance(item, float) and item.is_integer() else item for item in value[name]]
        for name in names[1:]
    }
    return {names[0]: value[names[0]], **whole}


if TYPE_CHECKING:
    FlowColumns = Columns | None
else:
    FlowColumns = Annotated[
        object,
        TypeName("Columns"),
        BeforeValidator(_columns, json_schema_input_type=Columns | list[list[object]]),
    ]


class _Texts(NamedTuple):
    """A trace as text: `columns` of texts, and the place of each row: "in flow 3"."""

    columns: dict[str, list[str]]
    where: Sequence[str]


class Listed(Kind, frozen=True):
    """Flows listed one by one: a CSV file, or columns."""

    needed: ClassVar[tuple[str, ...]] = TRACE
    optional: ClassVar[tuple[str, ...]] = ()

    file: Annotated[
        str | None, TypeName("File"), BeforeValidator(_optional_file, json_schema_input_type=str)
    ] = Key(
        None,
        description="a CSV file with the columns start_s,src,dst,bytes and perhaps id,after,behind",
    )
    flows: FlowColumns = Key(
        None, validate_default=False, description="these columns themselves, instead of a file"
    )

    def flow_count(self, network: "Network") -> tuple[str, int]:
        """As many as the file or the scenario has rows, which are in memory already."""
        return "flows", 1

    @property
    def _columns(self) -> Columns:
        """The columns that the scenario holds; without any there is no flow."""
        return {name: [] for name in self.needed} if self.flows is None else self.flows

    def draw_bytes(self, network: "Network") -> float:
        """Of rows, which are texts at first: as many as a file of this size has at most."""
        if self.file is None:
            return ROW_BYTES * len(self._columns["bytes"])
        return ROW_BYTES * (reader.size(self.file) // LEAST_ROW)

    def _read_flows(self, network: "Network") -> tuple[_Texts, Drawn]:
        """The columns as texts, and the flows, with hosts by number or name and times to the picosecond."""
        texts = self._given() if self.file is None else self._read(self.file)
        hosts = network.host_numbers()
        host = f"a host from 0 to {network.hosts - 1}"
        if len(hosts) < len({*network.host_names, *map(str, range(network.hosts))}):
            host = "the name of a host, or a number that is not the name of another"
        start_ps = self._numbers(texts, "start_s", _picoseconds, _SECONDS)
        src, dst = (self._numbers(texts, name, hosts.__getitem__, host) for name in ("src", "dst"))
        size = self._numbers(texts, "bytes", _size, _WHOLE)
        for at, (a, b) in enumerate(zip(src, dst, strict=True)):
            if a == b:
                self._refuse(f"{texts.where[at]}: two different hosts, not {network.host_names[a]} twice")
        columns = (np.array(src, np.uint32), np.array(dst, np.uint32), np.array(size, np.uint64))
        return texts, Drawn(*columns, np.array(start_ps, np.uint64), full(len(size), NEVER))

    def _given(self) -> _Texts:
        columns = {name: [str(value).strip() for value in column] for name, column in self._columns.items()}
        return _Texts(columns, [f"in flow {at}" for at in range(1, len(self._columns["bytes"]) + 1)])

    def _read(self, file: str) -> _Texts:
        """The rows of a file, without empty lines and lines that begin with `#`."""
        header, rows, where = self._lines(file)
        names = [name.strip() for name in header.split(",")]
        self._check_header(names)
        columns = {name: list[str]() for name in names}
        reader, read = csv.reader(rows, strict=True), 0
        with suppress(csv.Error):
            for row in reader:
                # An unclosed quotation mark makes a row of several lines.
                if len(row) != len(names) or reader.line_num != read + 1:
                    break
                for column, text in zip(columns.values(), row, strict=True):
                    column.append(text.strip())
                read += 1
        if read < len(rows):
            self._refuse(f'{where[read]}: {",".join(names)}, not "{rows[read]}"')
        return _Texts(columns, where)

    def _lines(self, file: str) -> tuple[str, list[str], list[str]]:
        """(first line, other lines, their places), without empty lines and comments."""
        try:
            lines = reader.read(file).splitlines()
        except ValueError as error:
            self._refuse(f"a text ({reader.why(error)})")
        kept = [(at, line) for at, line in enumerate(lines, start=1) if line.strip() and line[0] != "#"]
        header, *rows = kept or [(1, "")]
        return header[1], [line for _, line in rows], [f"on line {at}" for at, _ in rows]

    def _check_header(self, names: list[str]) -> None:
        known = self.needed + self.optional
        wrong = [f"{name} is missing" for name in self.needed if name not in names]
        wrong += [f"{name or 'a blank'} is none of them" for name in names if name not in known]
        wrong += [f"{name} is there twice" for name in dict.fromkeys(names) if names.count(name) > 1]
        if wrong:
            self._refuse(f"the columns {','.join(self.needed)} in its first line: {', '.join(wrong)}")

    def _numbers(self, texts: _Texts, name: str, read: Callable[[str], int], expected: str) -> list[int]:
        """The numbers of a column, each converted from its text by `read`."""
        numbers: list[int] = []
        if name not in texts.columns:
            self._refuse(f"the column {name}")
        for at, text in enumerate(texts.columns[name]):
            try:
                numbers.append(read(text))
            except (ValueError, ArithmeticError, KeyError):
                self._refuse(f'{texts.where[at]}, {name}: {expected}, not "{text}"')
        return numbers

    def _refuse(self, expected: str) -> NoReturn:
        raise ScenarioError("flows" if self.file is None else "file", self.file, expected)


class Trace(Listed, frozen=True):
    """Flows listed one by one: a CSV file, or columns, of start_s, src, dst, bytes, and perhaps waits.

    A flow waits until earlier ones, named by their `id`, have finished at its source (`after`) or have sent
    their data from there (`behind`), and starts `start_s` later.
    """

    optional: ClassVar[tuple[str, ...]] = WAITS

    kind: Literal["trace"]

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.file is None) == (self.flows is None):
            raise ScenarioError("file", self.file, "either a file or flows, the columns themselves")
        return self

    def draw(self, network: "Network", draws: Draws, frame: Frame) -> Drawn:
        """The flows, with waits and mean rates if they have some."""
        texts, drawn = self._read_flows(network)
        if not texts.where:
            self._refuse("one flow or more; it has none")
        ends = list(zip(drawn.src.tolist(), drawn.dst.tolist(), strict=True))
        after, behind = (self._waits(texts, name, ends, network) for name in ("after", "behind"))
        if after or behind:
            return replace(drawn, after=after, behind=behind)
        return replace(drawn, offered=_offered(network, drawn, frame))

    def _waits(
        self, texts: _Texts, column: str, ends: list[tuple[int, int]], network: "Network"
    ) -> Predecessors | None:
        """The flows that each flow waits for by a column; it knows of them at the host where it starts."""
        names = texts.columns.get("id") or list(map(str, range(len(ends))))
        known: dict[str, int] = {}
        pairs: list[tuple[int, int]] = []
        for at, (name, (start, _)) in enumerate(zip(names, ends, strict=True)):
            for other in texts.columns[column][at].split() if column in texts.columns else ():
                if other not in known:
                    self._refuse(f'{texts.where[at]}, {column}: ids of earlier flows, not "{other}"')
                if start not in ends[known[other]][: 1 if column == "behind" else 2]:
                    host, a, b = (network.host_names[end] for end in (start, *ends[known[other]]))
                    way = "from" if column == "behind" else "from or to"
                    where = f"{texts.where[at]}, {column}: flows {way} {host}, where this one starts"
                    self._refuse(f"{where}; {other} is from {a} to {b}")
                pairs.append((at, known[other]))
            if known.setdefault(name, at) != at:
                self._refuse(f'{texts.where[at]}, id: a name that no other flow has, not "{name}"')
        return Predecessors.of_pairs(*zip(*dict.fromkeys(pairs), strict=True)) if pairs else None


class Driven(Listed, frozen=True):
    """Messages that a program sends while it drives the run (`shallows.open`), none before.

    The results of such a run have them in this table, so that their scenario is the log of the run. Messages
    of several tables are sent in the order of the column `number`.
    """

    needed: ClassVar[tuple[str, ...]] = (*TRACE, NUMBER)

    kind: Literal["driven"]
    settings: SettingColumns = Key(
        None,
        validate_default=False,
        description="what the program set for senders: columns at_s, flow, window_bytes, rate_bps",
    )

    @model_validator(mode="after")
    def _without_a_route(self) -> Self:
        if self.route is not None:
            raise ScenarioError("route", self.route, "no such key: switches choose the paths of messages")
        if self.file is not None and self.flows is not None:
            raise ScenarioError("file", self.file, "either a file or flows, the columns themselves")
        return self

    def draw(self, network: "Network", draws: Draws, frame: Frame) -> Drawn:
        """The messages, with the numbers by which those of all tables are ordered."""
        texts, drawn = self._read_flows(network)
        number = self._numbers(texts, NUMBER, _number, f"a whole number from 0 to {_MOST_NUMBERS}")
        return replace(drawn, number=np.array(number, np.uint64))


def _offered(network: "Network", drawn: Drawn, frame: Frame) -> Offered | None:
    """The mean rates of a trace whose flows arrive over a time; None for a batch.

    In a batch the last flow arrives before `BATCH` times the median flow's transmission time is over.
    """
    span_ps = int(drawn.start_ps.max() - drawn.start_ps.min())
    wire_bytes = frame.on_wire(drawn.bytes)
    alone_ps = 8e12 * wire_bytes / network.host_rate_bps[drawn.src]
    if span_ps < BATCH * float(np.median(alone_ps)):
        return None
    return Offered(drawn.src, drawn.dst, 8e12 * wire_bytes / span_ps)


def _picoseconds(text: str) -> int:
    seconds = Decimal(text)
    # Compared before it is multiplied: 1e999999 has a million digits as an integer.
    if not 0 <= seconds <= limits.TIME.most // 10**12:
        raise ValueError
    return round(seconds * 10**12)


def _number(text: str) -> int:
    number = int(text)
    if not 0 <= number <= _MOST_NUMBERS:
        raise ValueError
    return number


def _size(text: str) -> int:
    size = int(text)
    if not 0 < size <= limits.SIZE.most:
        raise ValueError
    return size

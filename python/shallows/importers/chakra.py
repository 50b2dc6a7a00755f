"""Chakra execution traces: one file a rank, as protocol buffers (`NAME.RANK.et`) or JSON (`NAME.RANK.json`).

| node | becomes |
|---|---|
| COMP, MEM_LOAD, MEM_STORE | a computation of duration_micros; those of the CPU have their own processor |
| COMM_SEND, COMM_RECV | a message of comm_size bytes; those of two ranks and a comm_tag match in order |
| COMM_COLL | a collective of the ranks of pg_name: the n-th of each rank's group is the same one |
| COMM_COLL without comm_type | a computation: the call on the CPU |
| METADATA | nothing: its dependents wait for what it waits for |

A node starts when all its data_deps and ctrl_deps have ended; ctrl_deps that contradict data_deps are left
out. All-reduce, all-gather and reduce-scatter are rings, all-to-all sends all parts at once, a broadcast is a
chain. comm_size counts the bytes of each rank; an all-gather sends it to all others. A file `{"GROUP":
[ranks], …}` has the groups. A send has ended when its data has left the host. Names, recorded start times,
inputs and outputs of nodes have no effect; other keys and attributes that have none are named. Sources:
schema/protobuf/et_def.proto and jsonizer.py of github.com/mlcommons/chakra; sizes as in ASTRA-sim's Ring.cc.
"""

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NoReturn, cast

from shallows.base import limits, names, texts
from shallows.base.toml import is_list, is_table
from shallows.errors import ScenarioError
from shallows.importers import protobuf
from shallows.importers.collectives import COLLECTIVES, EXPANDED, Collective
from shallows.importers.content import Parts, Task, Work
from shallows.importers.source import Source, Word, check_size

TYPES = ("INVALID", "METADATA", "MEM_LOAD", "MEM_STORE", "COMP", "COMM_SEND", "COMM_RECV", "COMM_COLL")
"""Types of nodes by number; their names end in _NODE."""
PROCESSORS = {"COMP": 0, "MEM_LOAD": 2, "MEM_STORE": 2}
"""Types of computations with their processors; those of the CPU are on processor 1."""
LISTS = range(4, 31, 2)
"""Fields of an attribute that are lists."""
RECORDED = {"name", "start_time_micros", "inputs", "outputs"}
"""Keys of nodes that describe the recorded run."""
KEYS = {"id", "type", "data_deps", "ctrl_deps", "duration_micros", "attr", *RECORDED}
FIELDS = range(1, 11)
"""Fields of nodes, by number."""
ATTRIBUTES = {"comm_src", "comm_dst", "comm_size", "comm_tag", "comm_type", "pg_name", "is_cpu_op"}
"""Attributes of nodes that are read."""
VALUE = re.compile("((u?int|s?fixed|sint)(32|64)|double|float|bool|string|bytes)(_val|_list|Val|List)")
"""The key of an attribute's value in JSON."""
SHOWN = 20
"""The most keys that a sentence names."""
US = 10**6
MOST = limits.TIME.most // US
"""The longest duration of a computation in microseconds."""
RELATIVES = {
    "workload_graph": "the JSON of Chakra's feeder; give the traces .et that the feeder reads",
    "nodes": "an execution trace of PyTorch; chakra_trace_link and chakra_converter make traces .et of it",
    "traceEvents": "a profile of Kineto; chakra_trace_link joins it with the execution trace of PyTorch",
    "schemaVersion": "a profile of Kineto; chakra_trace_link joins it with the execution trace of PyTorch",
}
"""Keys of the top level of files that are no traces, and what these are."""
_BLANKS = re.compile(r"\s*")


@dataclass
class Node:
    """A node: its type and duration, the ids in data_deps and ctrl_deps, and its attributes."""

    id: int
    type: str
    duration_us: int = 0
    data: list[int] = field(default_factory=list[int])
    control: list[int] = field(default_factory=list[int])
    values: dict[str, object] = field(default_factory=dict[str, object])


def read(paths: Sequence[Path]) -> Parts:
    """The tasks of all ranks. Raises `ScenarioError` with file and node."""
    groups: dict[str, list[int]] = {}
    ranks: dict[int, tuple[Path, list[Node]]] = {}
    unknown = dict[str, None]()
    for path in paths:
        content = _content(path, unknown)
        if isinstance(content, dict):
            groups |= content
            continue
        match = re.search(r"\.(\d+)\.(?:et|json)$", path.name)
        if not match or int(match[1]) in ranks:
            raise ScenarioError(
                None, None, "a name NAME.RANK.et or NAME.RANK.json, each rank once", file=path
            )
        ranks[int(match[1])] = path, content
    if not ranks:
        raise ScenarioError(None, None, "one node or more of one rank or more", file=paths[0])
    if sorted(ranks) != list(range(len(ranks))):
        expected = f"one for each rank from 0 to {max(ranks, default=0)}; there are {len(ranks)}"
        raise ScenarioError(None, None, expected, file=paths[0])
    return _Reader(ranks, groups, unknown).read()


def _content(path: Path, unknown: dict[str, None]) -> list[Node] | dict[str, list[int]]:
    """The nodes of a trace, or groups of ranks; enters unknown keys of nodes."""
    try:
        check_size(path)
        if path.suffix.lower() == ".et":
            objects, nodes = list[dict[str, object]](), list(protobuf.messages(path.read_bytes()))
            found = [_node(at, data, unknown) for at, data in nodes[1:]]
        else:
            objects = nodes = list(_objects(texts.read(path)))
            found = None
    except ScenarioError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise ScenarioError(None, None, f"a readable trace ({texts.why(error)})", file=path) from None
    if not nodes:
        raise ScenarioError(None, None, "the metadata of a trace, and one node or more", file=path)
    if found is not None:
        return found
    for key, instead in RELATIVES.items():
        if key in objects[0] and not {"id", "type"} & objects[0].keys():
            raise ScenarioError(f'"{key}"', None, f"a Chakra trace: this is {instead}", file=path)
    groups = {name: ranks for name, ranks in objects[0].items() if is_list(ranks)}
    if len(objects) == 1 and len(groups) == len(objects[0]):
        return {name: _ranks(path, name, ranks) for name, ranks in groups.items()}
    first = 0 if {"id", "type"} & objects[0].keys() else 1  # behind the metadata
    return [_of_json(path, one, unknown) for one in objects[first:]]


def _ranks(path: Path, name: str, ranks: list[object]) -> list[int]:
    """The ranks of a group, each once."""
    found = [_number(path, f"group {name!r}", "rank", rank, 2**31 - 1) for rank in ranks]
    if len(set(found)) < len(found):
        raise ScenarioError(f"group {name!r}", ranks, "each rank once", file=path)
    return found


def _number(path: Path, where: str, key: str, value: object, most: int) -> int:
    """A whole number from 0 in JSON, where large ones are texts."""
    is_text = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20
    if is_text or (isinstance(value, int | float) and not isinstance(value, bool)):
        number = cast("int | float | str", value)
        if 0 <= float(number) <= most and float(number).is_integer():
            return int(number)
    shown = names.line(str(value)[:40])
    raise ScenarioError(f"{where}, {key} = {shown}", None, f"a whole number from 0 to {most}", file=path)


def _objects(text: str) -> Iterator[dict[str, object]]:
    """JSON objects that follow each other. Raises `ValueError` with line and column."""
    decoder = json.JSONDecoder(object_pairs_hook=_each_once)
    at = _behind_blanks(text, 0)
    while at < len(text):
        one, at = decoder.raw_decode(text, at)
        if not isinstance(one, dict):
            raise ValueError("an object for each node")
        yield one
        at = _behind_blanks(text, at)


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of JSON. Raises `ValueError` for a repeated key."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"each key of an object once, not {names.line(repeated[:40])!r} twice")
    return found


def _behind_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at


def _node(at: int, data: bytes, unknown: dict[str, None]) -> Node:
    """A node from its fields (et_def.proto); enters unknown ones."""
    node = Node(0, TYPES[0])
    for number, value in protobuf.fields(data, at):
        if number == 1 and isinstance(value, int):
            node.id = value
        elif number == 3 and isinstance(value, int):
            node.type = TYPES[value] if value < len(TYPES) else str(value)
        elif number in (4, 5):
            (node.control if number == 4 else node.data).extend(protobuf.numbers(value))
        elif number == 7 and isinstance(value, int):
            node.duration_us = value
        elif number == 10 and isinstance(value, bytes):
            name, content = _attribute(value)
            node.values[name] = content
        elif number not in FIELDS:
            unknown[f"field {number}"] = None
    return node


def _attribute(data: bytes) -> tuple[str, object]:
    """(name, value) of an attribute; its name is field 1, the field of its value depends on its type."""
    name, content = "", None
    for number, value in protobuf.fields(data):
        if number == 1 and isinstance(value, bytes):
            name = value.decode()
        elif number in (29, 31) and isinstance(value, bytes):
            content = value.decode(errors="replace")
        elif number > 2 and number not in LISTS and isinstance(value, int):
            zigzag = number in (15, 17)  # sint32, sint64
            content = (value >> 1) ^ -(value & 1) if zigzag else value
    return name, content


def _of_json(path: Path, one: dict[str, object], unknown: dict[str, None]) -> Node:
    """A node from its JSON, whose keys are in camel or in snake case and whose large numbers are texts."""
    snake = {key: re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key) for key in one}
    unknown |= dict.fromkeys(key for key in one if snake[key] not in KEYS)
    keys = {snake[key]: value for key, value in one.items()}
    if len(keys) < len(one):
        raise ScenarioError("a node", None, "each key once, in camel or in snake case", file=path)
    number = _number(path, "a node", "id", keys.get("id", 0), 2**64 - 1)
    where = f"node {number}"
    data, control = (
        [_number(path, where, key, other, 2**64 - 1) for other in _list(path, where, key, keys.get(key, []))]
        for key in ("data_deps", "ctrl_deps")
    )
    attributes = _list(path, where, "attr", keys.get("attr", []))
    values = dict(_attribute_of_json(path, where, attribute) for attribute in attributes)
    if len(values) < len(attributes):
        raise ScenarioError(f"{where}, attr", None, "each name of an attribute once", file=path)
    kind = keys.get("type", 0)
    name = (
        TYPES[kind]
        if isinstance(kind, int) and 0 <= kind < len(TYPES)
        else str(kind)[:40].removesuffix("_NODE")
    )
    duration = _number(path, where, "duration_micros", keys.get("duration_micros", 0), MOST)
    return Node(number, name, duration, data, control, values)


def _attribute_of_json(path: Path, where: str, attribute: object) -> tuple[str, object]:
    """(name, value) of an attribute: its name is one key, its value another one, called by its type."""
    table = attribute if is_table(attribute) else {}
    content = {key: value for key, value in table.items() if key not in ("name", "docString", "doc_string")}
    if not isinstance(table.get("name"), str) or len(content) > 1 or not all(map(VALUE.fullmatch, content)):
        expected = "objects, each with a name and one value, such as int64Val"
        raise ScenarioError(f"{where}, attr", None, expected, file=path)
    return table["name"], next(iter(content.values()), None)


def _list(path: Path, where: str, key: str, value: object) -> list[object]:
    if not is_list(value):
        raise ScenarioError(f"{where}, {key}", None, "a list", file=path)
    return value


def _agree(nodes: Sequence[Node]) -> bool:
    """False if nodes wait for each other by data_deps and ctrl_deps together."""
    try:
        TopologicalSorter({node.id: node.data + node.control for node in nodes}).prepare()
    except CycleError:
        return False
    return True


class Nodes(Source):
    """A trace, whose words are its nodes."""

    def __init__(self, path: Path) -> None:
        self.path, self.lines = path, []

    def refuse(self, word: Word | None, key: str | None, expected: str) -> NoReturn:
        """Raise `ScenarioError` for a node."""
        raise ScenarioError(word.text if word else None, None, expected, file=self.path)


class _Reader:
    def __init__(
        self,
        ranks: dict[int, tuple[Path, list[Node]]],
        groups: dict[str, list[int]],
        unknown: dict[str, None],
    ) -> None:
        self.ranks, self.groups, self.unread = ranks, groups, unknown
        self.tasks: list[Task] = []
        self.sends: dict[tuple[int, int, int], deque[str]] = {}
        self.receives: list[tuple[Task, tuple[int, int, int]]] = []
        self.collectives: dict[tuple[str, int], Collective] = {}
        self.unknown = 0
        self.controlled = all(_agree(nodes) for _, nodes in ranks.values())
        self.known = {rank: {node.id: node.type for node in nodes} for rank, (_, nodes) in ranks.items()}

    def read(self) -> Parts:
        for rank, (path, nodes) in sorted(self.ranks.items()):
            count: dict[str, int] = {}
            for node in nodes:
                self._add(rank, path, node, count)
        for task, key in self.receives:
            if not self.sends.get(key):
                self._refuse(task.host, task.name, f"a COMM_SEND from rank {key[0]} with tag {key[2]}")
            task.after.append(self.sends[key].popleft())
        if not self.tasks:
            self._refuse(0, "nodes", "one node or more in the traces")
        messages = sum(collective.count for collective in self.collectives.values())
        if messages > limits.FLOWS.most:
            self._refuse(0, f"{messages} messages of collectives", f"at most {limits.FLOWS.most}")
        for (group, place), collective in self.collectives.items():
            missing = set(collective.ranks) - set(collective.tasks)
            if missing:
                self._refuse(
                    min(missing), f"collective {place} of group {group!r}", "one on every rank of the group"
                )
        tables = self._tables()
        for (group, place), collective in self.collectives.items() if not tables else ():
            self.tasks += collective.messages(f"{group}c{place}")
        path = self.ranks[0][0]
        tasks = [] if tables else self.tasks
        work = Work(re.sub(r"\.\d+$", "", path.stem), Nodes(path), tasks, len(self.ranks), tables)
        parts = Parts(work, assumed=["a send has ended when its data has left the host"])
        if not self.controlled:
            parts.left_out.append(
                "ctrl_deps: together with data_deps they are a cycle; in PyTorch's traces they name callers"
            )
        if self.unknown:
            parts.left_out.append(f"{self.unknown} dependencies on nodes that their file does not have")
        if self.unread:
            shown = [names.line(key[:40]) for key in sorted(self.unread)[:SHOWN]]
            more = len(self.unread) - len(shown)
            others = f" and {more} others" if more else ""
            parts.left_out.append(f"keys and attributes of nodes: {', '.join(shown)}{others}")
        return parts

    def _tables(self) -> list[dict[str, object]]:
        """Tables of traffic, if the traces have nothing but one collective of each rank; else none."""
        ranks = [rank for collective in self.collectives.values() for rank in collective.ranks]
        joins = all(task.to is None and not task.duration_ps for task in self.tasks) and not self.receives
        if not joins or len(set(ranks)) < len(ranks):
            return []
        tables = [collective.table for collective in self.collectives.values()]
        return tables if all(tables) else []

    def _refuse(self, rank: int, key: str, expected: str) -> NoReturn:
        raise ScenarioError(key, None, expected, file=self.ranks[rank][0])

    def _add(self, rank: int, path: Path, node: Node, count: dict[str, int]) -> None:
        name, known = f"{rank}.{node.id}", self.known[rank]
        task = Task(name, rank, word=Word(f"node {node.id}", 0, 0))
        for other in dict.fromkeys(node.data + (node.control if self.controlled else [])):
            if other not in known:
                self.unknown += 1
                continue
            (task.behind if known[other] == "COMM_SEND" else task.after).append(f"{rank}.{other}")
        self.tasks.append(task)
        self.unread |= dict.fromkeys(node.values.keys() - ATTRIBUTES)
        if node.type in PROCESSORS or (node.type == "COMM_COLL" and "comm_type" not in node.values):
            task.duration_ps = node.duration_us * US
            if task.duration_ps > limits.TIME.most:
                self._refuse(rank, f"node {node.id}, duration_micros", f"at most {MOST}")
            task.processor = PROCESSORS.get(node.type, 0) or int(bool(node.values.get("is_cpu_op")))
        elif node.type in ("COMM_SEND", "COMM_RECV"):
            self._message(rank, node, task)
        elif node.type == "COMM_COLL":
            self._collective(rank, node, task, count)
        elif node.type != "METADATA":
            self._refuse(rank, f"node {node.id}, type = {node.type}", f"one of {', '.join(TYPES[1:])}")

    def _message(self, rank: int, node: Node, task: Task) -> None:
        sends = node.type == "COMM_SEND"
        other = self._whole(rank, node, "comm_dst" if sends else "comm_src", 0, len(self.ranks) - 1)
        if other == rank:
            self._refuse(rank, f"node {node.id}", "another rank at the other end")
        tag = self._whole(rank, node, "comm_tag", 0) if "comm_tag" in node.values else 0
        if sends:
            task.to, task.bytes = other, self._whole(rank, node, "comm_size", 1)
            self.sends.setdefault((rank, other, tag), deque()).append(task.name)
        else:
            self.receives.append((task, (other, rank, tag)))

    def _collective(self, rank: int, node: Node, end: Task, count: dict[str, int]) -> None:
        """Enter the rank's part of a collective, whose node ends with `end`."""
        kind = self._whole(rank, node, "comm_type", 0, len(COLLECTIVES) - 1)
        if COLLECTIVES[kind] not in EXPANDED:
            shown = f"node {node.id}, comm_type = {kind} ({COLLECTIVES[kind]})"
            self._refuse(rank, shown, f"one of {', '.join(EXPANDED)}")
        group = str(node.values.get("pg_name") or "")
        whole = re.match(r"\d+", group)
        if group not in self.groups and whole and whole[0] in self.groups:  # ASTRA-sim reads "0.0" as 0
            group = whole[0]
        ranks = self.groups.get(group, list(range(len(self.ranks))) if not group else [])
        if len(ranks) < 2 or rank not in ranks or max(ranks) >= len(self.ranks):
            expected = f'a file {{"{group}": [ranks]}} beside the traces, with {rank} and other ranks'
            if len(self.ranks) == 1:
                expected = "the traces of the other ranks too: one rank has nobody to send to"
            self._refuse(rank, f"node {node.id}, pg_name = {group}", expected)
        place = count[group] = count.get(group, 0) + 1
        size = 1 if COLLECTIVES[kind] == "BARRIER" else self._whole(rank, node, "comm_size", 1)
        collective = self.collectives.setdefault((group, place), Collective(COLLECTIVES[kind], size, ranks))
        if (collective.kind, collective.size) != (COLLECTIVES[kind], size):
            other = f"{collective.kind} of {collective.size} bytes, as on other ranks"
            self._refuse(rank, f"node {node.id}, {COLLECTIVES[kind]} of {size} bytes", other)
        start = Task(f"{end.name}.start", rank, after=end.after, behind=end.behind, word=end.word)
        end.after, end.behind = [], []
        self.tasks.append(start)
        collective.tasks[rank] = start, end

    def _whole(self, rank: int, node: Node, key: str, least: int, most: int = 10**15) -> int:
        given = node.values.get(key)
        try:
            value = int(given) if isinstance(given, int | float | str) else -1
        except (ValueError, OverflowError):
            value = -1
        if not least <= value <= most:
            shown = names.line(str(node.values.get(key))[:40])
            self._refuse(rank, f"node {node.id}, {key} = {shown}", f"a number from {least} to {most}")
        return value

"""Connection matrices of htsim (`.cm`): flows between numbered hosts, and triggers that start them.

| element | grammar |
|---|---|
| file | header lines, then lines of flows, triggers and failures; blank lines; `#` comments |
| header | `Nodes N`, `Connections C`, `Triggers T`, `Failures F`, in any order; only Nodes is required |
| flow | `SRC->DST`, then pairs in any order: `size B`, one of `start T` and `trigger N`, and others |
| its other pairs | `id N`, `send_done_trigger N`, `recv_done_trigger N`, `prio N`, `msg [N]` |
| trigger | `trigger id N` and `oneshot`, `multishot` or `barrier count K` |
| failure | `failure switch_type TOR|AGG|CORE switch_id N link_id N` |

A flow of size 0 has no end. A oneshot trigger starts its flows when one flow fires it, a barrier when `count`
flows have; the n-th firing of a multishot trigger starts its n-th flow. Source: connection_matrix.cpp of
github.com/ultraethernet/uet-htsim, whose sinks never fire `recv_done_trigger`; here both kinds fire.
"""

from dataclasses import dataclass, field
from pathlib import Path

from shallows.importers.content import UNITS, Parts, Task, Uplink, Work
from shallows.importers.source import Source, Word

HEADER = ("Nodes", "Connections", "Triggers", "Failures")
PAIRS = ("id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger", "prio")
TYPES = ("oneshot", "multishot", "barrier")
TIERS = ("TOR", "AGG", "CORE")
MOST = 2**31 - 1
MOST_WAITS = 1_000_000
"""The most predecessors of all flows: a barrier of a thousand flows for a thousand."""
NO_UNIT = (
    "a unit, which the file does not have: write --time-unit ps (htsim_uec, htsim_ndp and htsim_eqds read "
    "picoseconds) or --time-unit us (htsim_swift, and htsim_uec with -conn_reuse)"
)


@dataclass
class _Flow:
    """A line of a flow: the task that it becomes, its triggers, and the words to show in errors."""

    task: Task
    trigger: int | None
    fires: list[tuple[int, Word]]
    word: Word
    message: bool


@dataclass
class _Trigger:
    """A trigger: its type and count, the flows that it starts and those that fire it."""

    word: Word | None = None
    type: str = ""
    count: int = 0
    starts: list[_Flow] = field(default_factory=list[_Flow])
    fired_by: list[_Flow] = field(default_factory=list[_Flow])


def read(path: Path, time_unit: str | None) -> Parts:
    """The flows and failures of a `.cm` file. Raises `ScenarioError` with line and column."""
    return _Reader(Source(path), time_unit).read()


class _Reader:
    def __init__(self, source: Source, time_unit: str | None) -> None:
        self.source, self.time_unit = source, time_unit
        self.counts: dict[str, tuple[int, Word]] = {}
        self.flows: list[_Flow] = []
        self.triggers: dict[int, _Trigger] = {}
        self.failed: list[Uplink] = []
        self.prio = False

    def read(self) -> Parts:
        for row in self.source.rows():
            first = row[0]
            if "->" in first.text:
                self.flows.append(self._flow(row))
            elif first.text == "trigger":
                self._declare(row)
            elif first.text == "failure":
                self.failed.append(self._failure(row))
            else:
                self._header(row)
        self._check_header()
        self._connect()
        tasks = [flow.task for flow in self.flows]
        parts = Parts(
            Work(self.source.path.stem, self.source, tasks, self.counts["Nodes"][0]), failed=self.failed
        )
        if any(flow.fires for flow in self.flows):
            parts.assumed.append(
                "a flow starts when its own host knows that the flow that fires its trigger has ended; "
                "in htsim when the sender of that flow knows (recv_done_trigger: the receiver)"
            )
        parts.left_out += self._counted()
        if self.prio:
            parts.left_out.append("prio of flows")
        return parts

    def _header(self, row: list[Word]) -> None:
        first, *rest = row
        if first.text not in HEADER or self.flows or self.triggers:
            expected = "SRC->DST, trigger or failure" if self.flows or self.triggers else ", ".join(HEADER)
            self.source.refuse(first, "line", f"a line that begins with {expected}")
        if len(rest) != 1:
            self.source.refuse(rest[1] if rest else self.source.after(row), first.text, "one number")
        if first.text in self.counts:
            self.source.refuse(first, "line", f"{first.text} once")
        self.counts[first.text] = self.source.whole(rest[0], first.text, 0, MOST), rest[0]

    def _flow(self, row: list[Word]) -> _Flow:
        if "Nodes" not in self.counts:
            self.source.refuse(row[0], "line", "Nodes N before the first flow")
        ends = self._ends(row[0])
        pairs, message = self._pairs(row)
        for one, other in (("start", "trigger"), ("trigger", "start")):
            if one in pairs and other in pairs:
                self.source.refuse(
                    pairs[other], other, f"either start or trigger, not both: {one} is there too"
                )
        if not {"start", "trigger"} & set(pairs):
            self.source.refuse(row[0], "flow", "start T or trigger N on this line")
        if "size" not in pairs:
            self.source.refuse(row[0], "flow", "size BYTES on this line")
        size = self.source.whole(pairs["size"], "size", 0)
        number = self.source.whole(pairs["id"], "id", 1, MOST) if "id" in pairs else None
        start = self._start(pairs["start"]) if "start" in pairs else 0
        trigger = self.source.whole(pairs["trigger"], "trigger", 1, MOST) if "trigger" in pairs else None
        fires = [
            (self.source.whole(pairs[key], key, 1, MOST), pairs[key])
            for key in ("send_done_trigger", "recv_done_trigger")
            if key in pairs and pairs[key].text != "0"
        ]
        self.prio = self.prio or "prio" in pairs
        name = str(number) if number is not None else f"line{row[0].line}"
        task = Task(name, *ends, bytes=size, delay_ps=start, word=row[0])
        return _Flow(task, trigger, fires, pairs.get("trigger") or pairs.get("id") or row[0], message)

    def _ends(self, word: Word) -> tuple[int, int]:
        nodes = self.counts["Nodes"][0]
        source, _, target = word.text.partition("->")
        ends: list[int] = []
        for text, column in ((source, word.column), (target, word.column + len(source) + 2)):
            end = Word(text, word.line, column)
            ends.append(self.source.whole(end, "host", 0, nodes - 1))
        if ends[0] == ends[1]:
            self.source.refuse(word, "flow", "two different hosts")
        return ends[0], ends[1]

    def _pairs(self, row: list[Word]) -> tuple[dict[str, Word], bool]:
        """The values of a flow's options, and whether it is a message of a connection."""
        pairs: dict[str, Word] = {}
        message, rest = False, row[:0:-1]
        while rest:
            key = rest.pop()
            if key.text == "msg":
                message = True
                if rest and rest[-1].text.isdigit():
                    rest.pop()
                continue
            if key.text not in PAIRS:
                self.source.refuse(key, "option", f"one of {', '.join(PAIRS)}, msg")
            if key.text in pairs:
                self.source.refuse(key, "option", f"{key.text} once")
            if not rest:
                self.source.refuse(self.source.after(row), key.text, "a number")
            pairs[key.text] = rest.pop()
        return pairs, message

    def _start(self, word: Word) -> int:
        if self.time_unit is None and self.source.number(word, "start", "a number of at least 0"):
            self.source.refuse(word, "start", NO_UNIT)
        unit = self.time_unit or "ps"
        return self.source.time(word, "start", UNITS[unit], unit)

    def _declare(self, row: list[Word]) -> None:
        number, trigger, rest = None, _Trigger(row[0]), row[:0:-1]
        while rest:
            key = rest.pop()
            if key.text in TYPES and not trigger.type:
                trigger.type = key.text
            elif key.text in ("id", "count") and rest:
                value = self.source.whole(rest.pop(), key.text, 1, MOST)
                number, trigger.count = (value, trigger.count) if key.text == "id" else (number, value)
            else:
                self.source.refuse(key, "trigger", f"id N, count K and one of {', '.join(TYPES)}")
        if number is None or not trigger.type:
            self.source.refuse(row[0], "line", f"trigger id N and one of {', '.join(TYPES)}")
        if trigger.type == "barrier" and not trigger.count:
            self.source.refuse(row[0], "line", "count K, the number of flows that fire the barrier")
        if number in self.triggers:
            self.source.refuse(row[0], "line", f"one declaration of trigger {number}")
        self.triggers[number] = trigger

    def _failure(self, row: list[Word]) -> Uplink:
        values: dict[str, Word] = {}
        for key, value in zip(row[1::2], [*row[2::2], None], strict=False):
            if key.text not in ("switch_type", "switch_id", "link_id") or value is None:
                self.source.refuse(key, "failure", "switch_type TOR|AGG|CORE, switch_id N, link_id N")
            values[key.text] = value
        if len(values) < 3:
            self.source.refuse(row[0], "line", "switch_type, switch_id and link_id")
        kind = values["switch_type"]
        if kind.text not in TIERS:
            self.source.refuse(kind, "switch_type", "TOR, AGG or CORE")
        switch, link = (self.source.whole(values[key], key, 0, MOST) for key in ("switch_id", "link_id"))
        return Uplink(TIERS.index(kind.text), switch, link, row[0], self.source)

    def _check_header(self) -> None:
        if "Nodes" not in self.counts:
            self.source.refuse(None, None, "Nodes N in the header")
        if not self.flows:
            self.source.refuse(None, None, "one flow or more, such as 0->1 start 0 size 1000000")

    def _counted(self) -> list[str]:
        """Sentences about counts in the header that differ from the file. htsim refuses such files."""
        there = {"Connections": self.flows, "Triggers": self.triggers, "Failures": self.failed}
        return [
            f"{key} {count[0]} in the header: the file has {len(there[key])}, and all of them are used"
            for key, count in self.counts.items()
            if key in there and count[0] != len(there[key])
        ]

    def _connect(self) -> None:
        """Let each flow wait for those that fire its trigger, and for the last of its connection."""
        self._name()
        for flow in self.flows:
            for number, word in flow.fires:
                if number not in self.triggers:
                    self.source.refuse(word, "done_trigger", "the id of a trigger that the file declares")
                self.triggers[number].fired_by.append(flow)
            if flow.trigger is not None:
                if flow.trigger not in self.triggers:
                    self.source.refuse(flow.word, "trigger", "the id of a trigger that the file declares")
                self.triggers[flow.trigger].starts.append(flow)
        waits = sum(len(trigger.starts) * len(trigger.fired_by) for trigger in self.triggers.values())
        if waits > MOST_WAITS:
            expected = f"at most {MOST_WAITS} pairs of a flow and one that fires its trigger, not {waits}"
            self.source.refuse(None, None, expected)
        for number, trigger in self.triggers.items():
            fired_by = [one.task.name for one in trigger.fired_by]
            for place, flow in enumerate(trigger.starts):
                flow.task.after = [*fired_by]
                flow.task.needs = self._needs(number, trigger, flow, place)

    def _needs(self, number: int, trigger: _Trigger, flow: _Flow, place: int) -> int:
        """How many of the flows that fire its trigger start a flow; 0 is all."""
        there = len(trigger.fired_by)
        needs = {"oneshot": 1, "barrier": trigger.count, "multishot": place + 1}[trigger.type]
        if needs > there:
            fire = "flow fires it" if there == 1 else "flows fire it"
            expected = f"{needs} flows that fire trigger {number}, to start this one; {there or 'no'} {fire}"
            self.source.refuse(flow.word, "trigger", expected)
        if trigger.type == "oneshot" and there > 1:
            expected = f"barrier or multishot: {there} flows fire trigger {number}, and a oneshot fires once"
            self.source.refuse(trigger.word, "line", expected)
        return 0 if needs == there else needs

    def _name(self) -> None:
        """Give the messages of a connection, which share an id, names of their own, and order them."""
        last: dict[str, _Flow] = {}
        count: dict[str, int] = {}
        for flow in self.flows:
            name = flow.task.name
            if name in last:
                before = last[name].task
                if not flow.message or (before.host, before.to) != (flow.task.host, flow.task.to):
                    expected = "an id that no other flow has, or msg on lines of one connection"
                    self.source.refuse(flow.word, "id", expected)
                count[name] = count.get(name, 1) + 1
                flow.task.name = f"{name}.{count[name]}"
                flow.task.behind = [before.name]
            last[name] = flow

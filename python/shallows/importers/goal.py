"""Schedules in GOAL, the textual input of LogGOPSim and ATLAHS.

| element | grammar |
|---|---|
| file | `num_ranks N`, then for each rank `rank R { … }`; comments `// …` and `/* … */` |
| operation | `[LABEL:]` and `send SIZEb to RANK`, `recv SIZEb from RANK` or `calc NANOSECONDS` |
| its options | `tag T`, `cpu C`, `nic N` |
| order | `LABEL requires LABEL` (after the end of the second), `LABEL irequires LABEL` (after its start) |

Sends and receives between two ranks with one tag match in the order of the file; `tag -1` of a receive
matches any. A send has ended when its data has left the host. Sources: Hoefler, Siebert and Lumsdaine,
"Group Operation Assembly Language", ICPP 2009; txt2bin.re of github.com/spcl/LogGOPSim. The binary form of
GOAL, which txt2bin writes, is not read.
"""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from shallows.importers.content import Parts, Task, Work
from shallows.importers.source import Source, Word

NS = 1000
"""Picoseconds of a nanosecond, the unit of calc."""
_TOKENS = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*|\n|[{}]|[^\s{}]+", re.DOTALL)


@dataclass
class _Rank:
    """The operations of a rank by label, its sends, and the receives with their (source, tag)."""

    tasks: dict[str, Task] = field(default_factory=dict[str, Task])
    order: list[tuple[Word, Word, bool]] = field(default_factory=list[tuple[Word, Word, bool]])
    receives: list[tuple[Task, int, int]] = field(default_factory=list[tuple[Task, int, int]])


def read(path: Path) -> Parts:
    """The messages and computations of a GOAL file. Raises `ScenarioError` with line and column."""
    return _Reader(Source(path)).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source, self.words = source, list(_words(source))[::-1]
        self.ranks: dict[int, _Rank] = {}
        self.sends: dict[tuple[int, int], _Sends] = {}
        self.count = 0

    def read(self) -> Parts:
        self._expect("num_ranks")
        self.count = self.source.whole(self._next("a number"), "num_ranks", 1, 2**31 - 1)
        while self.words:
            self._expect("rank")
            word = self._next("a rank")
            rank = self.source.whole(word, "rank", 0, self.count - 1)
            if rank in self.ranks:
                self.source.refuse(word, "rank", "each rank once")
            self._rank(rank, self.ranks.setdefault(rank, _Rank()))
        for rank, of in self.ranks.items():
            self._match(rank, of)
            self._order(of)
        tasks = [task for of in self.ranks.values() for task in of.tasks.values()]
        if not tasks:
            self.source.refuse(None, None, "one operation or more")
        parts = Parts(Work(self.source.path.stem, self.source, tasks, self.count))
        parts.assumed.append("a send has ended when its data has left the host")
        return parts

    def _next(self, what: str) -> Word:
        if not self.words:
            self.source.refuse(None, None, f"{what} before the end of the file")
        return self.words.pop()

    def _expect(self, *texts: str) -> Word:
        word = self._next(" or ".join(texts))
        if word.text not in texts:
            self.source.refuse(word, "word", " or ".join(texts))
        return word

    def _rank(self, rank: int, of: _Rank) -> None:
        self._expect("{")
        while (word := self._next("}")).text != "}":
            if word.text in ("send", "recv", "calc"):
                self._operation(rank, of, f"unnamed{len(of.tasks)}", word)
            elif word.text.endswith(":"):
                label = word.text[:-1]
                if label in of.tasks:
                    self.source.refuse(word, "label", "each label once in a rank")
                self._operation(rank, of, label, self._expect("send", "recv", "calc"))
            else:
                kind = self._expect("requires", "irequires")
                of.order.append((word, self._next("a label"), kind.text == "irequires"))

    def _operation(self, rank: int, of: _Rank, label: str, kind: Word) -> None:
        task = of.tasks.setdefault(label, Task(f"{rank}.{label}", rank, word=kind))
        if kind.text == "calc":
            size = bytes_ = self._next("nanoseconds")
            peer = None
            task.duration_ps = self.source.time(size, "calc", NS, "nanoseconds")
        else:
            size = self._next("a size")
            bytes_ = Word(size.text.removesuffix("b"), size.line, size.column)
            if bytes_.text == size.text:
                self.source.refuse(size, kind.text, "a number of bytes with b, such as 8b")
            self._expect("to" if kind.text == "send" else "from")
            peer = self._next("a rank")
        values = self._values()
        task.processor = values["cpu"]
        if peer is None:
            return
        if peer.text == "-1":
            self.source.refuse(peer, "from", "a rank: the source of a message must be known before the run")
        other = self.source.whole(peer, "rank", 0, self.count - 1)
        if other == rank:
            self.source.refuse(peer, "rank", "another rank")
        if kind.text == "recv":
            of.receives.append((task, other, values["tag"]))
        else:
            task.to, task.bytes = other, self.source.whole(bytes_, "bytes", 1)
            self.sends.setdefault((rank, other), _Sends()).add(values["tag"], task)

    def _values(self) -> dict[str, int]:
        values = {"tag": 0, "cpu": 0, "nic": 0}
        while self.words and self.words[-1].text in values:
            key, word = self.words.pop().text, self._next("a number")
            values[key] = -1 if word.text == "-1" else self.source.whole(word, key, 0, 2**32 - 1)
        return values

    def _match(self, rank: int, of: _Rank) -> None:
        """Let each receive wait for its message: the first of its source and tag that no other has."""
        for task, source, tag in of.receives:
            send = self.sends.get((source, rank), _Sends()).take(tag)
            if send is None:
                expected = (
                    f"a send from rank {source} to rank {rank} with tag {tag}: this one would never end"
                )
                self.source.refuse(task.word, "operation", expected)
            task.after.append(send.name)

    def _order(self, of: _Rank) -> None:
        starts: list[tuple[Task, Task]] = []
        for later, earlier, at_start in of.order:
            for word in (later, earlier):
                if word.text not in of.tasks:
                    self.source.refuse(word, "label", "the label of an operation of this rank")
            task, first = of.tasks[later.text], of.tasks[earlier.text]
            if at_start:
                starts.append((task, first))
            else:
                (task.after if first.to is None else task.behind).append(first.name)
        required = {task.name: (list(task.after), list(task.behind)) for task in of.tasks.values()}
        received = {task.name: task.after[0] for task, *_ in of.receives}
        for task, first in starts:
            after, behind = required[first.name]
            task.after += [name for name in after if name != received.get(first.name)]
            task.behind += behind


class _Sends:
    """The messages from one rank to another, in the order of the file."""

    def __init__(self) -> None:
        self._all: deque[Task] = deque()
        self._of_tag: dict[int, deque[Task]] = {}
        self._taken: set[str] = set()

    def add(self, tag: int, task: Task) -> None:
        self._all.append(task)
        self._of_tag.setdefault(tag, deque()).append(task)

    def take(self, tag: int) -> Task | None:
        """The first message of a tag, or of any for -1, that no receive has; None if there is none."""
        left = self._all if tag == -1 else self._of_tag.get(tag, deque[Task]())
        while left:
            task = left.popleft()
            if task.name not in self._taken:
                self._taken.add(task.name)
                return task
        return None


def _words(source: Source) -> Iterator[Word]:
    line, begin = 1, 0
    for match in _TOKENS.finditer("\n".join(source.lines)):
        text, column = match[0], match.start() - begin + 1
        if text.startswith("/*") and (len(text) < 4 or not text.endswith("*/")):
            source.refuse(Word("/*", line, column), "comment", "an end, */")
        if "\n" in text:
            line += text.count("\n")
            begin = match.start() + text.rindex("\n") + 1
        elif not text.startswith(("//", "/*")):
            yield Word(text, line, column)

"""Workloads of SimAI (`HYBRID_TRANSFORMER_FWD_IN_BCKWD …`, `MICRO`): layers of computations and collectives.

| line | content |
|---|---|
| first | the type, and pairs `model_parallel_NPU_group: TP`, `ep: N`, `pp: N`, `all_gpus: N` and others |
| second | the number of layers |
| a layer | name, dependency, and for forward, input gradients and weight gradients: ns, collective, bytes |
| its end | ns of the update of its weights |

One pass runs: forward from the first layer to the last, then for each layer from the last to the first input
gradients and weight gradients. A rank goes on when a collective of the first two has ended, and at once after
those of weight gradients. A collective is NONE or one of `KINDS`, of the ranks
of tensor parallelism (of weight gradients: of data parallelism), or with `_EP` or `_DP_EP` of the experts or
of the ranks with the same experts. Ranks are numbered with tensor parallelism first, then experts, then those
with the same experts, then stages. All-gather and reduce-scatter count the whole buffer. Source:
Workload.cc of github.com/aliyun/SimAI.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from shallows.base import limits
from shallows.importers.collectives import Collective
from shallows.importers.content import Parts, Task, Work
from shallows.importers.source import TASK_BYTES, Source, Word
from shallows.memory import bounds

FIRST = "HYBRID_TRANSFORMER"
"""How the first word of a workload begins."""
MICRO = "MICRO"
"""The type of a workload with one collective."""
TYPE = "HYBRID_TRANSFORMER_FWD_IN_BCKWD"
PAIRS = ("model_parallel_NPU_group:", "ep:", "pp:", "vpp:", "ga:", "all_gpus:", "checkpoints:",
         "checkpoint_initiates:", "pp_comm", "pp_comm:")  # fmt: skip
KINDS = {
    "ALLREDUCE": "ALL_REDUCE", "ALLGATHER": "ALL_GATHER", "REDUCESCATTER": "REDUCE_SCATTER",
    "ALLTOALL": "ALL_TO_ALL", "BROADCAST": "BROADCAST",
}  # fmt: skip
GROUPS = ("_DP_EP", "_EP", "")
"""Ends of the names of collectives, the longest first."""
LEAST = 4096
"""Bytes of a collective of a forward pass, at least."""
NS = 1000
_HEAD = 4096


@dataclass(frozen=True)
class _Step:
    """A computation of all ranks, and the collective behind it: its ranks by group, None without."""

    name: str
    duration_ps: int
    kind: str
    size: int
    groups: Sequence[Sequence[int]]
    blocks: bool
    word: Word


def recognises(path: Path) -> bool:
    """Whether the first word of a text file is a type of workloads."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD).decode("utf-8-sig", errors="replace")
    except OSError:
        return False
    words = next((line.split() for line in head.splitlines() if line.split("#")[0].strip()), list[str]())
    return bool(words) and (words[0].startswith(FIRST) or words[0] == MICRO)


def read(path: Path, hosts: Callable[[], int] | None = None) -> Parts:
    """The tasks of one pass, whose ranks are the `hosts` of a network if the file does not count them.

    Raises `ScenarioError` with line and column.
    """
    return _Reader(Source(path), hosts).read()


class _Reader:
    def __init__(self, source: Source, hosts: Callable[[], int] | None) -> None:
        self.source = source
        self.hosts = hosts
        self.assumed: list[str] = []
        self.rows = source.rows()
        self.values: dict[str, int] = {}
        self.groups: dict[str, list[list[int]]] = {}
        self._header()

    def _header(self) -> None:
        first, *rest = self.rows[0]
        self.is_micro = first.text == MICRO
        if first.text not in (TYPE, MICRO):
            self.source.refuse(first, "type", f"{TYPE} or {MICRO}, the types that SimAI runs over ns-3")
        for key, value in zip(rest[::2], [*rest[1::2], None], strict=False):
            if key.text not in PAIRS or value is None:
                self.source.refuse(key, "line", f"pairs of a number and one of {', '.join(PAIRS[:-1])}")
            if key.text.removesuffix(":") in self.values:
                self.source.refuse(key, "line", "each key once")
            self.values[key.text.removesuffix(":")] = self.source.whole(value, key.text, 0, 2**31 - 1)
        if not self.values.get("all_gpus"):
            if self.hosts is None:
                expected = "all_gpus: N above 0 on this line, a topology, or --on SCENARIO"
                self.source.refuse(first, "line", expected)
            self.values["all_gpus"] = self.hosts()
            self.assumed.append(f"all {self.values['all_gpus']} hosts are ranks: the file has no all_gpus")
        if self.is_micro:
            self.values.setdefault("model_parallel_NPU_group", 1)
        if not self.values.get("model_parallel_NPU_group"):
            self.source.refuse(first, "line", "model_parallel_NPU_group: N above 0 on this line")
        if self.values.get("checkpoints") or self.values.get("checkpoint_initiates"):
            self.source.refuse(first, "checkpoints", "0: a forward pass within the backward pass is not read")
        for key in ("ep", "pp"):
            self.values[key] = max(1, self.values.get(key, 1))
        self.tp, self.ep, self.ranks = (
            self.values[key] for key in ("model_parallel_NPU_group", "ep", "all_gpus")
        )
        if self.ranks % (self.tp * self.ep * self.values["pp"]):
            expected = f"a multiple of TP x EP x PP, {self.tp * self.ep * self.values['pp']}"
            word = Word(str(self.ranks), first.line, first.column)
            self.source.refuse(word, "all_gpus", expected)
        self.dp = self.ranks // (self.tp * self.values["pp"])

    def read(self) -> Parts:
        layers = self._layers()
        if self.is_micro:
            return self._micro(layers)
        forward = [self._step(row, 0) for row in layers]
        backward = [self._step(row, at) for row in reversed(layers) for at in (1, 2)]
        steps = [*forward, *backward]
        self._check_messages([sum(self._count(self._step(row, at)) for at in range(3)) for row in layers])
        tasks = list(self._tasks(steps))
        parts = Parts(Work(self.source.path.stem, self.source, tasks, self.ranks))
        parts.assumed += [*self.assumed, "one pass, and collectives as rings, or all at once for all-to-all"]
        for key in ("vpp", "ga", "pp_comm"):
            if self.values.get(key, 1) not in (0, 1):
                parts.left_out.append(f"{key} {self.values[key]}: the pass has no pipeline of stages")
        if any(row[11].text not in ("0", "1") for row in layers):
            parts.left_out.append("times of the updates of weights")
        if any(row[1].text != "-1" for row in layers):
            parts.left_out.append("dependencies of layers: each follows the one before")
        return parts

    def _micro(self, layers: list[list[Word]]) -> Parts:
        """The collective of the weight gradients of the first layer, of all ranks, without computations."""
        step = self._step(layers[0], 2)
        if not step.kind or self.ranks < 2:
            self.source.refuse(layers[0][9], "collective", "one of two ranks or more in the first layer")
        table = self._collective(step, range(self.ranks)).table
        parts = Parts(Work(self.source.path.stem, self.source, [], self.ranks, [table]))
        parts.assumed += [
            *self.assumed,
            "MICRO runs the collective of the first layer's weight gradients once",
        ]
        if len(layers) > 1:
            parts.left_out.append("layers behind the first: MICRO does not run them")
        return parts

    def _check_messages(self, counts: Sequence[int]) -> None:
        """Refuse more messages than a run has flows, or memory holds. `counts` are those of each layer."""
        total, left = sum(counts), bounds.free()
        held = int(left.amount // TASK_BYTES) if left else total
        most = min(limits.FLOWS.most, held)
        if total > most:
            fit = sum(so_far <= most for so_far in accumulate(counts))
            advice = f"keep the first {fit} layers and write {fit} here" if fit else "lower all_gpus"
            what = "for which there is memory" if held == most else "the flows of a run"
            expected = f"at most {most} messages of collectives, {what}, not {total}: {advice}"
            self.source.refuse(self.rows[1][0], "layers", expected)

    def _layers(self) -> list[list[Word]]:
        if len(self.rows) < 2:
            self.source.refuse(None, None, "the number of layers, and the layers")
        count = self.source.whole(self.rows[1][0], "layers", 1, 2**31 - 1)
        if len(self.rows[1]) > 1:
            self.source.refuse(self.rows[1][1], "line", "the number of layers alone")
        layers = self.rows[2:]
        if len(layers) != count:
            self.source.refuse(self.rows[1][0], "layers", f"{len(layers)}, as many as the file has")
        for row in layers:
            if len(row) != 12:
                expected = "a name, a dependency, three times NS COLLECTIVE BYTES, and NS of the update"
                self.source.refuse(row[0], "layer", f"{expected}: 12 words, not {len(row)}")
            self.source.time(row[11], "update", NS, "ns")
        return layers

    def _step(self, row: list[Word], part: int) -> _Step:
        """The part of a layer: 0 forward, 1 input gradients, 2 weight gradients."""
        duration, collective, size = row[2 + 3 * part : 5 + 3 * part]
        end = next(end for end in GROUPS if collective.text.endswith(end))
        kind = KINDS.get(collective.text.removesuffix(end))
        if kind is None and collective.text != "NONE":
            self.source.refuse(collective, "collective", f"NONE, or {', '.join(KINDS)}, with _EP or _DP_EP")
        amount = self.source.whole(size, "bytes")
        if not amount:
            kind = None
        elif part == 0:
            amount = max(amount, LEAST)
        return _Step(
            f"{row[0].line}{'fiw'[part]}",
            self.source.time(duration, "computation", NS, "ns"),
            kind or "",
            amount,
            self._groups(end or ("DP" if part == 2 else "TP")) if kind else (),
            part != 2,
            collective,
        )

    def _groups(self, name: str) -> list[list[int]]:
        """The groups of ranks that the end of a collective's name, or TP or DP, means."""
        if name not in self.groups:
            stride, size = {
                "_EP": (self.tp, self.ep),
                "_DP_EP": (self.tp * self.ep, self.dp // self.ep),
                "TP": (1, self.tp),
                "DP": (self.tp, self.dp),
            }[name]
            first = [rank for rank in range(self.ranks) if rank // stride % size == 0]
            self.groups[name] = [[rank + stride * at for at in range(size)] for rank in first]
        return self.groups[name]

    def _count(self, step: _Step) -> int:
        return sum(self._collective(step, group).count for group in step.groups[:1]) * len(step.groups)

    def _collective(self, step: _Step, group: Sequence[int]) -> Collective:
        size = -(-step.size // len(group)) if step.kind == "ALL_GATHER" else step.size
        return Collective(step.kind, size, list(group))

    def _tasks(self, steps: Sequence[_Step]) -> Iterator[Task]:
        """The tasks of all ranks; a collective of one rank is none."""
        before: list[list[str]] = [[] for _ in range(self.ranks)]
        for step in steps:
            computed = [
                Task(
                    f"{rank}.{step.name}",
                    rank,
                    duration_ps=step.duration_ps,
                    after=before[rank],
                    word=step.word,
                )
                for rank in range(self.ranks)
            ]
            yield from computed
            before = [[task.name] for task in computed]
            for number, group in enumerate(step.groups):
                if len(group) < 2:
                    continue
                collective = self._collective(step, group)
                for rank in group:
                    end = Task(f"{rank}.{step.name}.end", rank, word=step.word)
                    collective.tasks[rank] = computed[rank], end
                    if step.blocks:
                        before[rank] = [end.name]
                yield from collective.messages(f"{step.name}.{number}.")
                yield from (end for _, end in collective.tasks.values())

"""The order of imported tasks: predecessors first, without joins, and without cycles."""

from collections import Counter
from heapq import heapify, heappop, heappush
from itertools import chain

from shallows.errors import ScenarioError
from shallows.importers.content import Task, Work

FREE, FACTOR = 10_000, 8
"""Predecessors that may replace those of joins: this number, and this multiple of those of the file."""
JOINS = 2**32 - 1
"""The processor of joins that stay, so that they wait for no computation."""


def ordered(work: Work) -> list[Task]:
    """The tasks with each after its predecessors, else as in the file; joins are replaced by what they join.

    A join of many tasks for many stays, because each of these would have a long list.

    Raises `ScenarioError` for an unknown or ambiguous name, and for a cycle.
    """
    return _without_joins(_sorted(work), work)


def _sorted(work: Work) -> list[Task]:
    number: dict[str, int] = {}
    for at, task in enumerate(work.tasks):
        if number.setdefault(task.name, at) != at:
            work.source.refuse(task.word, "id", f'an id that no other flow has, not "{task.name}"')
    left = [0] * len(work.tasks)
    dependents: list[list[int]] = [[] for _ in work.tasks]
    for at, task in enumerate(work.tasks):
        before = dict.fromkeys([*task.after, *task.behind])
        for name in before:
            if name not in number:
                work.source.refuse(task.word, "after", f'ids of flows of the file, not "{name}"')
            dependents[number[name]].append(at)
        left[at] = len(before)
    ready = [at for at, count in enumerate(left) if not count]
    heapify(ready)
    order: list[Task] = []
    while ready:
        at = heappop(ready)
        order.append(work.tasks[at])
        for later in dependents[at]:
            left[later] -= 1
            if not left[later]:
                heappush(ready, later)
    if len(order) < len(work.tasks):
        _refuse_cycle(work, {work.tasks[at].name: work.tasks[at] for at, count in enumerate(left) if count})
    return order


def _refuse_cycle(work: Work, waiting: dict[str, Task]) -> None:
    """Raise `ScenarioError` with tasks that wait for each other, the first of the file in front."""
    path, place = [next(iter(waiting))], dict[str, int]()
    while path[-1] not in place:
        place[path[-1]] = len(path) - 1
        task = waiting[path[-1]]
        path.append(next(name for name in [*task.after, *task.behind] if name in waiting))
    cycle = path[place[path[-1]] :]
    shown = " after ".join(cycle[:8]) + (" …" if len(cycle) > 8 else "")
    work.source.refuse(waiting[cycle[0]].word, "order", f"no cycle; these would never start: {shown}")


def _without_joins(tasks: list[Task], work: Work) -> list[Task]:
    """The tasks without computations of no length, whose dependents wait for their predecessors instead."""
    joined: dict[str, tuple[list[str], list[str]]] = {}
    kept: list[Task] = []
    waiting = Counter(chain.from_iterable(chain(task.after, task.behind) for task in tasks))
    left = FREE + FACTOR * waiting.total()
    for task in tasks:
        pairs = [joined.get(name, ([name], [])) for name in task.after]
        pairs += [joined.get(name, ([], [name])) for name in task.behind]
        after, behind = (
            (list(dict.fromkeys(chain.from_iterable(names))) for names in zip(*pairs, strict=True))
            if pairs
            else ([], [])
        )
        is_join = task.to is None and not task.duration_ps and not task.delay_ps and not task.needs
        cost = (len(after) + len(behind)) * waiting[task.name]
        if is_join and cost <= left:
            left -= cost
            joined[task.name] = after, behind
            continue
        task.after, task.behind = after, behind
        task.processor = JOINS if is_join else task.processor
        kept.append(task)
    if not kept:
        expected = "a message, or a computation that takes time, in one of the operations"
        raise ScenarioError(None, None, expected, file=work.source.path)
    return kept

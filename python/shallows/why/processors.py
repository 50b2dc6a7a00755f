"""Waits for the processor of a host, which other tasks keep busy."""

from typing import TYPE_CHECKING, NamedTuple

from shallows.results import task_members
from shallows.units import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shallows.results.task_members import Task
    from shallows.why.index import Index


class Turn(NamedTuple):
    """A span of time in which a computation kept a processor busy that another one waited for."""

    begin_ps: int
    end_ps: int
    computation: int
    """Its number as a task, after those of all flows."""


def turns(index: "Index", task: "Task", number: int) -> list[Turn]:
    """What kept the processor busy while a computation of the task was ready, in order.

    None unless another task's was the last. Nothing before the beginning of the task.
    """
    flows, found = index.record.scenario.flows, list[Turn]()
    if not task_members.waits_behind_others(flows, task, number):
        return found
    ready, now = max(_ready_ps(index, task, number), task.begin_ps), number
    while (busy := task_members.before_on_processor(flows, task, now)) is not None:
        end = int(task.start_ps[now])
        if end <= ready:
            break
        found.append(Turn(max(int(task.start_ps[busy]), ready), end, busy))
        now = busy
    return found[::-1]


def wait_ps(index: "Index", task: "Task", number: int, besides: "Iterable[int]" = ()) -> int:
    """How long a computation waited for other tasks, without the computations `besides`."""
    gone = frozenset(besides)
    waited = (turn for turn in turns(index, task, number) if turn.computation not in gone)
    return sum(turn.end_ps - turn.begin_ps for turn in waited)


def _ready_ps(index: "Index", task: "Task", number: int) -> int:
    """When the last of the predecessors that a computation needs had ended, plus its delay."""
    flows = index.record.scenario.flows
    enough = task_members.needs(flows, number)
    ends = sorted(ended for _, ended in ends_of(index, task, number))
    last = ends[enough - 1 if enough else -1] if ends else 0
    return last + task_members.delay_ps(flows, number)


def ends_of(index: "Index", task: "Task", number: int) -> list[tuple[int, int]]:
    """Each predecessor of a task, and when it had ended for it: received, acknowledged, sent or computed.

    `NEVER` of one that the task did not need, and that its host did not know to have ended.
    """
    after, behind = task_members.predecessors(index.record.scenario.flows, number)
    ends = [(other, _ended(index, task, other, number)) for other in after]
    return ends + [(other, index.packets["left_ps"][index.last_data(other)]) for other in behind]


def _ended(index: "Index", members: "Task", other: int, number: int) -> int:
    """When a predecessor had ended at the host of a task."""
    flows = index.record.scenario.flows
    hosts, _ = task_members.hosts(flows, number)
    source, target = task_members.hosts(flows, other)
    received = int(members.finish_ps[other])
    if target == hosts or source != hosts:
        return received
    return _acknowledged(index, other) if received < members.start_ps[number] else NEVER


def _acknowledged(index: "Index", flow: int) -> int:
    """When the sender of a message learned that all of it had arrived."""
    count = index.packets["seq"][index.last_data(flow)] + 1
    answers = [packet for packet in index.of_flow(flow) if index.kind[packet] == "ack"]
    arrived = [packet for packet in answers if not index.was_dropped(packet)]
    if index.answers_each[index.cc[flow]]:
        return _each_acknowledged(index, arrived, count)
    covers = (packet for packet in arrived if index.packets["cumulative"][packet] >= count)
    return min(map(index.arrival, covers), default=NEVER)


def _each_acknowledged(index: "Index", arrived: list[int], count: int) -> int:
    """The same where each of `count` packets is acknowledged by itself.

    Later answers also cover packets of MRC whose own were lost: then the last one said that all had arrived.
    """
    first: dict[int, int] = {}
    for packet in arrived:
        seq, arrival = index.packets["seq"][packet], index.arrival(packet)
        first[seq] = min(first.get(seq, arrival), arrival)
    return max(first.values() if len(first) == count else map(index.arrival, arrived))

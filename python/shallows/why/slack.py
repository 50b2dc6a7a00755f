"""The slack of the messages of a task: how much later each could have ended without delaying the task."""

from typing import TYPE_CHECKING

from shallows.why import record, task_choice
from shallows.why.index import Index
from shallows.why.record import DATA_LIKE

if TYPE_CHECKING:
    from shallows.results.run import Run
    from shallows.runner import OnProgress
    from shallows.traffic import Flows
    from shallows.why.task_choice import Task


def of_run(run: "Run", name: str, on_progress: "OnProgress | None" = None) -> dict[int, int]:
    """Picoseconds of slack of each message and computation of the task `name` of `run`, from a second pass.

    Those after it are taken to last as long as they did. Those on the critical path have none. Where a task
    needs only some of its predecessors, another one may take the place of one that is late: the value is then
    a lower bound (`is_lower_bound`).
    """
    its, flows = task_choice.task(run, name), run.scenario.flows
    end = int(its.finish_ps[its.last])
    index = Index(record.of_flows(run, dict.fromkeys(its.flows, end), its.start_ps, on_progress))
    latest = {task: end - int(its.finish_ps[task]) for task in its.members}
    for task in reversed(task_choice.in_order(flows, its)):
        begun = int(its.start_ps[task]) + latest[task]
        busy = task_choice.before_on_processor(flows, its, task)
        if busy in latest:
            latest[busy] = min(latest[busy], begun - int(its.finish_ps[busy]))
        after, behind = task_choice.predecessors(flows, task)
        ends = [(other, _ended(index, its, other, task)) for other in after if other in latest]
        ends += [
            (other, index.packets["left_ps"][index.last_data(other)]) for other in behind if other in latest
        ]
        ready = begun - task_choice.delay_ps(flows, task)
        for other, ended in ends:
            # Of several that are enough, one that ended later was not needed.
            if ended <= ready - latest[task]:
                latest[other] = min(latest[other], ready - ended)
    return latest


def is_lower_bound(flows: "Flows", task: "Task") -> bool:
    """True if some message or computation of the task needs only some of its predecessors."""

    def spares(number: int) -> bool:
        """True if the task needs some of its predecessors and not all."""
        needs = task_choice.needs(flows, number)
        return 0 < needs < sum(map(len, task_choice.predecessors(flows, number)))

    return any(spares(number) for number in task.members)


def _ended(index: Index, its: "Task", other: int, task: int) -> int:
    """When a predecessor had ended at the host of `task`."""
    flows = index.record.scenario.flows
    here, _ = task_choice.hosts(flows, task)
    source, target = task_choice.hosts(flows, other)
    return int(its.finish_ps[other]) if target == here or source != here else _acknowledged(index, other)


def _acknowledged(index: Index, flow: int) -> int:
    """When the sender of a message learned that all of it had arrived."""
    count = index.packets["seq"][index.last_data(flow)] + 1
    if index.flow_is_called[index.cc[flow]]:
        return _each_acknowledged(index, flow)
    answers = (packet for packet in index.of_flow(flow) if index.kind[packet] not in DATA_LIKE)
    last = (packet for packet in answers if index.packets["cumulative"][packet] >= count)
    return min(index.arrival(packet) for packet in last if not index.was_dropped(packet))


def _each_acknowledged(index: Index, flow: int) -> int:
    """The same where each packet is acknowledged by itself, and answers count pulls or bytes of credit."""
    first: dict[int, int] = {}
    for packet in index.of_flow(flow):
        if index.kind[packet] == "ack" and not index.was_dropped(packet):
            seq, arrival = index.packets["seq"][packet], index.arrival(packet)
            first[seq] = min(first.get(seq, arrival), arrival)
    return max(first.values())

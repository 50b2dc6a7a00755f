"""The slack of the messages of a task: how much later each could have ended without delaying the task."""

from typing import TYPE_CHECKING

from shallows.results import task_members
from shallows.why import choice, processors, record
from shallows.why.index import Index

if TYPE_CHECKING:
    from shallows.core.progress import OnProgress
    from shallows.results.run import RunData
    from shallows.results.task_members import Task
    from shallows.traffic import Flows


def of_run(run: "RunData", name: str, on_progress: "OnProgress | None" = None) -> dict[int, int]:
    """Picoseconds of slack of each message and computation of the task `name` of `run`, from a second pass.

    Those after it are taken to last as long as they did, and to wait as long for computations of other tasks.
    Those on the critical path have none. Where a task needs only some of its predecessors, another one may
    take the place of one that is late: the value is then a lower bound (`is_lower_bound`).
    """
    its, flows = choice.task(run, name), run.scenario.flows
    end = int(its.finish_ps[its.last])
    index = Index(record.of_flows(run, dict.fromkeys(its.flows, end), its.start_ps, on_progress))
    latest = {task: end - int(its.finish_ps[task]) for task in its.members}
    for task in reversed(task_members.in_order(flows, its)):
        begun = int(its.start_ps[task]) + latest[task]
        busy = task_members.before_on_processor(flows, its, task)
        if busy in latest:
            latest[busy] = min(latest[busy], begun - int(its.finish_ps[busy]))
        ready = begun - task_members.delay_ps(flows, task) - processors.wait_ps(index, its, task)
        for other, ended in processors.ends_of(index, its, task):
            # Of several that are enough, one that ended later was not needed.
            if ended <= ready - latest[task]:
                latest[other] = min(latest[other], ready - ended)
    return latest


def is_lower_bound(flows: "Flows", task: "Task") -> bool:
    """True if some message or computation of the task needs only some of its predecessors."""

    def spares(number: int) -> bool:
        """True if the task needs some of its predecessors and not all."""
        needs = task_members.needs(flows, number)
        return 0 < needs < sum(map(len, task_members.predecessors(flows, number)))

    return any(spares(number) for number in task.members)

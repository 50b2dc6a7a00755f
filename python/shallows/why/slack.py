"""The slack of the messages of a task: how much later each could have ended without delaying the task."""

from typing import TYPE_CHECKING

from shallows.why import record, task_choice
from shallows.why.index import Index
from shallows.why.record import DATA_LIKE

if TYPE_CHECKING:
    from shallows.results.run import Run
    from shallows.runner import OnProgress


def of_run(run: "Run", name: str, on_progress: "OnProgress | None" = None) -> dict[int, int]:
    """Picoseconds of slack of each message of the task `name` of `run`, from a second pass that watches all.

    Messages after it are taken to last as long as they did. Messages on the critical path have none.
    """
    its, flows = task_choice.task(run, name), run.scenario.flows
    end = int(its.finish_ps[its.last])
    index = Index(record.of_flows(run, dict.fromkeys(its.flows, end), its.start_ps, on_progress))
    latest = {flow: end - int(its.finish_ps[flow]) for flow in its.flows}
    for flow in reversed(its.flows):  # predecessors have smaller numbers
        ready = int(its.start_ps[flow]) - int(flows.start_ps[flow]) + latest[flow]
        for other in flows.after.of(flow):
            here = flows.dst[other] == flows.src[flow]
            ended = int(its.finish_ps[other]) if here else _acknowledged(index, other)
            latest[other] = min(latest[other], ready - ended)
        for other in flows.behind.of(flow):
            sent = index.packets["left_ps"][index.last_data(other)]
            latest[other] = min(latest[other], ready - sent)
    return latest


def _acknowledged(index: Index, flow: int) -> int:
    """When the sender of a message learned that all of it had arrived."""
    count = index.packets["seq"][index.last_data(flow)] + 1
    answers = (packet for packet in index.of_flow(flow) if index.kind[packet] not in DATA_LIKE)
    last = (packet for packet in answers if index.packets["cumulative"][packet] >= count)
    return min(index.arrival(packet) for packet in last if not index.was_dropped(packet))

"""Critical paths as JSON, in picoseconds: one object for each flow, or one for a task."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shallows.results import task_members
from shallows.why.counterfactual import Counterfactual
from shallows.why.pauses import pausers
from shallows.why.report import waits
from shallows.why.task import TaskPath

if TYPE_CHECKING:
    from shallows.traffic import Flows
    from shallows.why.path import Path
    from shallows.why.paths import Paths
    from shallows.why.report import Costs


def of_found(
    found: "Paths | TaskPath", costs: "Costs" = (), slack: Mapping[int, int] | None = None
) -> object:
    """The paths of flows or of a task, their times without others, and the slack of messages of a task."""
    if isinstance(found, TaskPath):
        return _of_task(found, costs, slack)
    without = {one.flow: one for one in costs if isinstance(one, Counterfactual)}
    return [_of_path(one, without.get(one.flow)) for one in found.values()]


def _of_path(path: "Path", cost: "Counterfactual | None") -> dict[str, object]:
    names = path.record.names
    found: dict[str, object] = {
        "flow": path.flow,
        "start_ps": path.start_ps,
        "fct_ps": path.fct_ps,
        "ideal_ps": path.ideal_ps,
        "causes_ps": path.by_cause(),
        "behind_flows_ps": path.by_flow(),
        "ports_ps": {names[port]: length for port, length in path.by_port().items()},
        "pauses": [
            {"port": port, "by": by, "began_at": root, "ps": length}
            for (port, by, root), length in pausers(path).items()
        ],
    }
    if cost:
        keys = ("culprits", "share_ps", "alone_ps", "expected_ps", "ran_ps")
        found["without"] = {key: getattr(cost, key) for key in keys}
    return found


def _of_task(path: TaskPath, costs: "Costs", slack: Mapping[int, int] | None) -> dict[str, object]:
    names, flows = path.record.names, path.record.scenario.flows
    hosts = path.record.scenario.graph.host_names
    return {
        "task": path.name,
        "start_ps": path.start_ps,
        "completion_ps": path.fct_ps,
        "ideal_ps": path.ideal_ps or None,
        "causes_ps": path.by_cause(),
        "waits": [
            {
                "cause": wait.cause,
                "port": None if wait.port is None else names[wait.port],
                "behind_task": wait.behind,
                "behind_flows": sorted(other for other in others if other < len(flows)),
                "behind_computations": sorted(other - len(flows) for other in others if other >= len(flows)),
                "ps": length,
            }
            for wait, (length, others) in waits(path).items()
        ],
        "messages": [
            {
                **_number(flows, message.flow),
                "step": path.step(message.flow),
                "source": hosts[task_members.hosts(flows, message.flow)[0]],
                "target": hosts[task_members.hosts(flows, message.flow)[1]],
                "bytes": int(flows.bytes[message.flow]) if message.flow < len(flows) else None,
                "until": message.until,
                "begin_ps": message.begin_ps,
                "end_ps": message.end_ps,
                "causes_ps": message.by_cause(),
            }
            for message in path.messages
        ],
        "without": [{key: value for key, value in one._asdict().items() if key != "exact"} for one in costs],
        "slack": None
        if slack is None
        else [{**_number(flows, one), "slack_ps": slack[one]} for one in slack],
        "slack_is_lower_bound": None if slack is None else path.slack_is_lower_bound,
    }


def _number(flows: "Flows", task: int) -> dict[str, int | None]:
    """The number of a flow or of a computation."""
    is_flow = task < len(flows)
    return {"flow": task if is_flow else None, "computation": None if is_flow else task - len(flows)}

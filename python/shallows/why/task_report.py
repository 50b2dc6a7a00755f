"""Terminal report and JSON of the critical path of a task.

Each row can be understood by itself: it names its message, port and tenant.
"""

from typing import TYPE_CHECKING, NamedTuple

from shallows.printing.report import plain_table
from shallows.results import task_members
from shallows.why import report
from shallows.why.causes import CAUSES, WAITS
from shallows.why.report import us

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.table import Table

    from shallows.printing.report import Part
    from shallows.why.path import Piece
    from shallows.why.task import Message, TaskPath
    from shallows.why.task_counterfactual import TaskCounterfactual

MOST = 8
"""The most rows of the table of waits."""
MOST_MESSAGES = 40
"""The most messages that are all listed; of more, those that lost most."""
AT_LEAST = (
    "at least: some tasks need only some of their predecessors, and another may take the place of a late one"
)


class Wait(NamedTuple):
    """A cause of waiting at a port behind flows of one task."""

    cause: str
    port: int | None
    behind: str | None


def of_task(path: "TaskPath") -> "list[Part]":
    """Its time, the causes, the waits by port and tenant, and the messages on the path."""
    return [
        _heading(path),
        report.of_causes(path.by_cause()),
        *_waits(path),
        *report.of_pausers(path, path.record),
        "",
        _messages(path),
    ]


def _heading(path: "TaskPath") -> str:
    least = f", {us(path.ideal_ps)} us on an empty network" if path.ideal_ps else ""
    slowdown = f", slowdown {path.fct_ps / path.ideal_ps:.2f}" if path.ideal_ps else ""
    return (
        f"task {path.name}: {us(path.fct_ps)} us from {us(path.start_ps)} us on{least}{slowdown}, "
        f"in {len(path.messages)} messages"
    )


def waits(path: "TaskPath", pieces: "Iterable[Piece] | None" = None) -> dict[Wait, tuple[int, set[int]]]:
    """Picoseconds and other flows of each `Wait` on a path or in these pieces of it, the longest first."""
    flows = path.record.scenario.flows
    sums: dict[Wait, tuple[int, set[int]]] = {}
    for piece in path.pieces if pieces is None else pieces:
        if piece.flow is None and (piece.cause not in WAITS or piece.base):
            continue
        behind = None if piece.flow is None else task_members.of_flow(flows, piece.flow)
        wait = Wait(piece.cause, piece.port, behind)
        length, others = sums.get(wait, (0, set[int]()))
        sums[wait] = length + piece.length_ps, others if piece.flow is None else others | {piece.flow}
    return dict(sorted(sums.items(), key=lambda pair: -pair[1][0]))


def _waits(path: "TaskPath") -> "list[Part]":
    found = waits(path)
    if not found:
        return []
    words = ["at port", "behind flows of"]
    table = plain_table("waited", [*words, "flows", "us", "share"], left=words)
    for wait, (length, others) in list(found.items())[:MOST]:
        port = "-" if wait.port is None else path.record.names[wait.port]
        numbers = (us(length), f"{length / path.fct_ps:.1%}")
        table.add_row(CAUSES[wait.cause].title, port, wait.behind or "-", str(len(others) or "-"), *numbers)
    if rest := list(found.values())[MOST:]:
        length = sum(one for one, _ in rest)
        table.add_row(report.others(len(rest)), "", "", "", us(length), f"{length / path.fct_ps:.1%}")
    return ["", table]


def _messages(path: "TaskPath") -> "Table":
    """The messages on the path in order; of many only those with the longest part of it."""
    longest = sorted(path.messages, key=lambda message: -message.length_ps)[:MOST_MESSAGES]
    shown = [message for message in path.messages if message in longest]
    words = ["until", "most of it"]
    table = plain_table("message", [words[0], "from (us)", "us", "", words[1]], left=words)
    for message in shown:
        begin = us(message.begin_ps - path.start_ps)
        table.add_row(
            title(path, message.flow),
            message.until,
            begin,
            us(message.length_ps),
            "",
            _most(path, message),
        )
    if rest := len(path.messages) - len(shown):
        length = path.fct_ps - sum(message.length_ps for message in shown)
        table.add_row(f"{report.others(rest)}, each shorter", "", "", us(length), "", "")
    return table


def of_without(found: "Iterable[TaskCounterfactual]") -> "list[Part]":
    """The completion times of a task without tenants and faults: predicted, and from runs."""
    columns = ["completion (us)", "its share of the path", "expected without", "ran without"]
    table, found = plain_table("without", columns), list(found)
    for one in found:
        ran = "no end" if one.ran_ps is None else us(one.ran_ps)
        table.add_row(one.what, us(one.completion_ps), us(one.share_ps), us(one.expected_ps), ran)
    return ["", table, *report.upper_bounds(found)]


def of_slack(path: "TaskPath", slack: "Mapping[int, int]") -> "list[Part]":
    """The slack of messages and computations off the path, those with the least first."""
    on_path = {message.flow for message in path.messages}
    off = sorted((length, number) for number, length in slack.items() if number not in on_path)
    if not off:
        return ["", "slack: every message and computation is on the path"]
    table = plain_table("slack: it could have ended later by", ["us", "share"])
    for length, number in off[:MOST_MESSAGES]:
        table.add_row(title(path, number), us(length), f"{length / path.fct_ps:.1%}")
    if rest := off[MOST_MESSAGES:]:
        table.add_row(
            f"{report.others(len(rest))}, up to", us(rest[-1][0]), f"{rest[-1][0] / path.fct_ps:.1%}"
        )
    if path.slack_is_lower_bound:
        return ["", table, AT_LEAST]
    return ["", table]


def title(path: "TaskPath", flow: int) -> str:
    """A message in words: number, step, hosts and size."""
    step, flows = path.step(flow), path.record.scenario.flows
    if flow < len(flows):
        name = f"flow {report.flow_name(path.record)(flow)}"
    else:
        host = path.record.scenario.graph.host_names[task_members.hosts(flows, flow)[0]]
        name = f"computation {flow - len(flows)}: {host}"
    return name + (f", step {step}" if step is not None else "")


def _most(path: "TaskPath", message: "Message") -> str:
    """The three largest causes in the part of a message, with port and tenant of waits."""
    waiting = waits(path, message.pieces)
    sums: dict[Wait, int] = {wait: length for wait, (length, _) in waiting.items()}
    for piece in message.pieces:
        if piece.flow is None and (piece.cause not in WAITS or piece.base):
            wait = Wait(piece.cause, None, None)
            sums[wait] = sums.get(wait, 0) + piece.length_ps
    largest = sorted(sums.items(), key=lambda pair: -pair[1])[:3]
    return ", ".join(f"{_words(path, wait)} {us(length)}" for wait, length in largest)


def _words(path: "TaskPath", wait: Wait) -> str:
    at = f" at {path.record.names[wait.port]}" if wait.port is not None else ""
    return CAUSES[wait.cause].title + at + (f" behind {wait.behind}" if wait.behind else "")


def as_json(
    path: "TaskPath",
    without: "Iterable[TaskCounterfactual]" = (),
    slack: "Mapping[int, int] | None" = None,
) -> dict[str, object]:
    """The path as JSON, in picoseconds, completion times without tenants or faults, and slack."""
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
                "flow": message.flow if message.flow < len(flows) else None,
                "computation": message.flow - len(flows) if message.flow >= len(flows) else None,
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
        "without": [
            {key: value for key, value in one._asdict().items() if key != "exact"} for one in without
        ],
        "slack": None
        if slack is None
        else [
            {
                "flow": number if number < len(flows) else None,
                "computation": number - len(flows) if number >= len(flows) else None,
                "slack_ps": length,
            }
            for number, length in slack.items()
        ],
        "slack_is_lower_bound": None if slack is None else path.slack_is_lower_bound,
    }

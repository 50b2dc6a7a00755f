"""Reports on critical paths, for terminals and as JSON: where the time went, and because of whom.

Each row can be understood by itself: it names its message, port and tenant.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from shallows.printing.report import plain_table
from shallows.results import task_members
from shallows.scenario import port_request
from shallows.scenario.port_request import CONTROL
from shallows.why.causes import CAUSES, WAITS
from shallows.why.counterfactual import Counterfactual
from shallows.why.path import Path, is_of_task, sums, together
from shallows.why.pauses import Pauses, pausers

if TYPE_CHECKING:
    from rich.table import Table

    from shallows.printing.report import Part
    from shallows.why.path import Message, Piece
    from shallows.why.paths import Paths
    from shallows.why.record import Record
    from shallows.why.task import TaskPath
    from shallows.why.task_counterfactual import TaskCounterfactual

    Costs = Sequence[Counterfactual] | Sequence[TaskCounterfactual]

MOST = 5
"""The most ports and flows in a report on flows."""
MOST_WAITS = 8
"""The most rows of the table of waits of a task."""
MOST_MESSAGES = 40
"""The most messages that are all listed; of more, those that lost most."""
NAMED = 20
"""Flows left out that a report names."""
AT_LEAST = (
    "at least: some tasks need only some of their predecessors, and another may take the place of a late one"
)


class Wait(NamedTuple):
    """A cause of waiting at a port behind flows of one task."""

    cause: str
    port: int | None
    behind: str | None


def of_found(
    found: "Paths | Path", costs: "Costs" = (), slack: "Mapping[int, int] | None" = None
) -> "list[Part]":
    """The paths, the times without others (`costs`), and the slack of the messages of a task."""
    parts = of_path(found) if isinstance(found, Path) else of_paths(found)
    parts += of_without(costs) if costs else []
    return parts + (
        of_slack(found, slack) if isinstance(found, Path) and is_of_task(found) and slack is not None else []
    )


def of_paths(paths: "Paths") -> "list[Part]":
    """One flow in full; several flows in one line each and then together."""
    left_out, every = _left_out(paths.record.left_out), list(paths.values())
    if len(every) == 1:
        return [*of_path(every[0]), *left_out]
    columns = ["fct (us)", "ideal (us)", "slowdown", "most of it"]
    table = plain_table("flow", columns, left=columns[-1:])
    for one in every:
        causes = list(one.by_cause().items())[:3]
        most = ", ".join(f"{CAUSES[cause].title} {length / one.fct_ps:.0%}" for cause, length in causes)
        table.add_row(str(one.flow), us(one.fct_ps), us(one.ideal_ps), f"{one.slowdown:.2f}", most)
    return [table, "", _causes(every), *_culprits(every, paths.record), *left_out]


def _left_out(flows: list[int]) -> list[str]:
    """The flows that did not fit into memory."""
    if not flows:
        return []
    which = ", ".join(map(str, flows[:NAMED])) + (", …" if len(flows) > NAMED else "")
    return ["", f"left out for lack of memory: {len(flows)} of the flows that were asked for ({which})"]


def of_path(path: Path) -> "list[Part]":
    """A flow or task: its time, the causes, the waits, and of a task the messages on the way."""
    parts = [_heading(path), *_before(path), _causes([path])]
    if not is_of_task(path):
        return [*parts, *_culprits([path], path.record)]
    return [*parts, *_waits(path), *_pausers([path]), "", _messages(path)]


def of_without(found: "Costs") -> "list[Part]":
    """The part of each path that belongs to others, and the completion times without these."""
    if isinstance(found[0], Counterfactual):
        title, columns = "flow", ["fct (us)", "behind others", "of flows", "alone"]
    else:
        title, columns = "without", ["completion (us)", "its share of the path"]
    table = plain_table(title, [*columns, "expected without", "ran without"])
    for one in found:
        if isinstance(one, Counterfactual):
            alone = str(len(one.culprits)), _end(one.alone_ps)
            cells = str(one.flow), us(one.fct_ps), us(one.share_ps), *alone
        else:
            cells = one.what, us(one.completion_ps), us(one.share_ps)
        table.add_row(*cells, us(one.expected_ps), _end(one.ran_ps))
    return ["", table, *upper_bounds(found)]


def upper_bounds(found: "Iterable[Counterfactual | TaskCounterfactual]") -> list[str]:
    """That times are upper bounds, if algorithms may slow down for what names no flow."""
    names = list(dict.fromkeys(one.cc for one in found if not one.exact))
    if not names:
        return []
    return [
        f"expected without: an upper bound with {', '.join(names)}, which may also slow down for delays, "
        "link loads or missing credits, and these name no flow"
    ]


def us(ps: float) -> str:
    """Microseconds with two decimals."""
    return f"{ps / 1e6:.2f}"


def _end(ps: int | None) -> str:
    return "no end" if ps is None else us(ps)


def _heading(path: Path) -> str:
    least = f", {us(path.ideal_ps)} us on {path.LEAST}, slowdown {path.slowdown:.2f}" if path.ideal_ps else ""
    messages = f", in {len(path.messages)} messages" if is_of_task(path) else ""
    return f"{path.title}: {us(path.fct_ps)} us from {us(path.start_ps)} us on{least}{messages}"


def _before(path: Path) -> list[str]:
    """The wait for the predecessors of a flow."""
    return [
        f"before      {us(piece.length_ps)} us: "
        + ("its delay" if piece.flow is None else f"flow {piece.flow}, from its start until it ended")
        for piece in path.before
    ]


def _causes(paths: Sequence[Path]) -> "Table":
    """Time by cause, beside that of the empty paths where these are known."""
    spent = together(paths, Path.by_cause)
    ideal = together(paths, lambda one: sums((piece.cause, piece) for piece in one.ideal))
    total, beside = sum(spent.values()), ["ideal (us)"] if ideal else []
    table = plain_table("where the time went", ["us", "share", *beside, "", ""], left=[""])
    for cause, length in spent.items():
        known = [us(ideal[cause]) if cause in ideal else "-"] if ideal else []
        cells = (us(length), f"{length / total:.1%}", *known, "", CAUSES[cause].meaning)
        table.add_row(CAUSES[cause].title, *cells)
    known = [us(sum(ideal.values()))] if ideal else []
    table.add_row("sum", us(total), "100.0%", *known, "", "exact, in picoseconds")
    return table


def _culprits(paths: Sequence[Path], record: "Record") -> "list[Part]":
    """The ports where flows waited, and the flows that went first."""
    total, name = sum(path.fct_ps for path in paths), flow_name(record)
    queues = [((queue,), length) for queue, length in _by_queue(paths, record).items()]
    behind = [((name(flow),), length) for flow, length in together(paths, Path.by_flow).items()]
    return [
        *_longest("waited at port", queues, total),
        *_longest("behind flow", behind, total),
        *_pausers(paths),
    ]


def _longest(
    title: str,
    rows: "Sequence[tuple[tuple[str, ...], int]]",
    total: int | None,
    columns: Sequence[str] = (),
    most: int = MOST,
) -> "list[Part]":
    """A table of the longest times (ps), with their shares of `total`, and of the others together.

    Each row has a title and a cell for each of the `columns`.
    """
    if not rows:
        return []
    shares = [] if total is None else ["share"]
    table = plain_table(title, [*columns, "us", *shares], left=columns[:2])
    rest = [length for _, length in rows[most:]]
    last = [((others(len(rest)), *[""] * len(columns)), sum(rest))] if rest else []
    for cells, length in [*rows[:most], *last]:
        table.add_row(*cells, us(length), *(f"{length / total:.1%}" for _ in shares if total))
    return ["", table]


def _by_queue(paths: Sequence[Path], record: "Record") -> dict[str, int]:
    """Picoseconds of waiting by port and, if there are several, queue or class, the largest first."""
    scenario, (scalable, classic) = record.scenario, port_request.QUEUES
    has_two = port_request.links_with_two_queues(scenario) if port_request.has_two_queues(scenario) else None

    def suffix(flow: int, port: int, is_data: bool) -> str:
        if has_two is not None:
            is_scalable = is_data and scenario.flows.ccs[int(scenario.flows.cc[flow])].traits["ect1"]
            return f" in queue {scalable if is_scalable else classic}" if has_two[port] else ""
        if not scenario.classes:
            return ""
        of_flow = scenario.classes[int(record.traffic_classes[flow])].name
        return f" in class {of_flow if is_data else CONTROL}"

    def of(path: Path) -> dict[str, int]:
        named: dict[str, int] = {}
        for (port, is_data), length in path.by_queue(*WAITS).items():
            name = record.names[port] + suffix(path.flow, port, is_data)
            named[name] = named.get(name, 0) + length
        return named

    return together(paths, of)


def others(count: int) -> str:
    """The number of others, in words."""
    return "1 other" if count == 1 else f"{count} others"


def _pausers(paths: Sequence[Path]) -> "list[Part]":
    """The switches that sent the pauses on the path, and the root ports of these."""
    rows = [(key, length) for key, length in together(paths, pausers).items()]
    if not rows:
        return []
    table = plain_table("paused at", ["by", "began at", "us"])
    for key, length in rows:
        table.add_row(*key, us(length))
    return ["", table]


def of_pauses(record: "Record") -> "list[Part]":
    """The tree of pauses from each root port, flows that only suffered, and a deadlock."""
    pauses, names = Pauses(record), record.names
    if not pauses.all:
        return ["no port was paused"]
    parts: list[Part] = []
    for root, its in pauses.tree().items():
        rows = _branches(root, its)
        circle = any(chain.count(root) > 1 for chain in its)
        title = f"a cycle through {names[root]}" if circle else f"began at {names[root]}"
        table = plain_table(title, ["pauses", "us"])
        for depth, port, times, length in rows:
            table.add_row("  " * depth + names[port], str(times), us(length))
        parts += [table, ""]
    name = flow_name(record)
    victims = [((name(flow),), length) for flow, length in pauses.victims().items()]
    if victims:
        _, table = _longest("victims: paused, though they do not cross the root port", victims, None)
        parts += [table, ""]
    circle = [names[int(link)] for link in record.deadlock["links"]]
    if circle:
        parts.append(f"deadlock    {', '.join(circle)} wait for each other for ever")
    return parts


def _branches(
    root: int, chains: Mapping[tuple[int, ...], tuple[int, int]]
) -> list[tuple[int, int, int, int]]:
    """(depth, port, pauses, ps) of each port below a root. A port is below the one that it waited for."""
    sums: dict[tuple[int, ...], tuple[int, int]] = {}
    for chain, (times, length) in chains.items():
        below = tuple(reversed(chain))[1:]
        before = sums.get(below, (0, 0))
        sums[below] = before[0] + times, before[1] + length
        for depth in range(1, len(below)):
            sums.setdefault(below[:depth], (0, 0))
    return [(len(way), way[-1], *sums[way]) for way in sorted(sums)]


def flow_name(record: "Record") -> Callable[[int], str]:
    """The name of another flow."""
    flows, hosts = record.scenario.flows, record.scenario.graph.host_names

    def name(flow: int) -> str:
        size = int(flows.bytes[flow])
        amount = f"{size / 1000:.1f} KB" if size else "no end"
        return f"{flow}: {hosts[flows.src[flow]]} to {hosts[flows.dst[flow]]}, {amount}"

    return name


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
    rows = [
        (
            (
                CAUSES[wait.cause].title,
                "-" if wait.port is None else path.record.names[wait.port],
                wait.behind or "-",
                str(len(flows) or "-"),
            ),
            length,
        )
        for wait, (length, flows) in waits(path).items()
    ]
    return _longest("waited", rows, path.fct_ps, ["at port", "behind flows of", "flows"], MOST_WAITS)


def _messages(path: "TaskPath") -> "Table":
    """The messages on the path in order; of many only those with the longest part of it."""
    longest = sorted(path.messages, key=lambda message: -message.length_ps)[:MOST_MESSAGES]
    shown = [message for message in path.messages if message in longest]
    words = ["until", "most of it"]
    table = plain_table("message", [words[0], "from (us)", "us", "", words[1]], left=words)
    for message in shown:
        begin = us(message.begin_ps - path.start_ps)
        most = _most(path, message)
        table.add_row(title(path, message.flow), message.until, begin, us(message.length_ps), "", most)
    if rest := len(path.messages) - len(shown):
        length = path.fct_ps - sum(message.length_ps for message in shown)
        table.add_row(f"{others(rest)}, each shorter", "", "", us(length), "", "")
    return table


def of_slack(path: "TaskPath", slack: Mapping[int, int]) -> "list[Part]":
    """The slack of messages and computations off the path, those with the least first."""
    on_path = {message.flow for message in path.messages}
    off = sorted((length, number) for number, length in slack.items() if number not in on_path)
    if not off:
        return ["", "slack: every message and computation is on the path"]
    table = plain_table("slack: it could have ended later by", ["us", "share"])
    for length, number in off[:MOST_MESSAGES]:
        table.add_row(title(path, number), us(length), f"{length / path.fct_ps:.1%}")
    if rest := off[MOST_MESSAGES:]:
        last = rest[-1][0]
        table.add_row(f"{others(len(rest))}, up to", us(last), f"{last / path.fct_ps:.1%}")
    if path.slack_is_lower_bound:
        return ["", table, AT_LEAST]
    return ["", table]


def title(path: "TaskPath", flow: int) -> str:
    """A message in words: number, step, hosts and size."""
    step, flows = path.step(flow), path.record.scenario.flows
    if flow < len(flows):
        name = f"flow {flow_name(path.record)(flow)}"
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

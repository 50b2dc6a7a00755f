"""Terminal reports on slow flows: where the time went, and which ports and flows caused it."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from shallows.printing.report import plain_table
from shallows.scenario import port_request
from shallows.scenario.port_request import CONTROL
from shallows.why.causes import CAUSES, WAITS
from shallows.why.path import Path
from shallows.why.pauses import Pauses, pausers

if TYPE_CHECKING:
    from rich.table import Table

    from shallows.printing.report import Part
    from shallows.why.counterfactual import Counterfactual
    from shallows.why.paths import Paths
    from shallows.why.record import Record
    from shallows.why.task_counterfactual import TaskCounterfactual

K = TypeVar("K")

MOST = 5
"""The most culprits of each kind in a report."""

NAMED = 20
"""Flows left out that a report names."""


def of_paths(paths: "Paths") -> "list[Part]":
    """One flow in full; several flows in one line each and then together."""
    left_out = _left_out(paths.record.left_out)
    if len(paths) == 1:
        return [*of_path(next(iter(paths.values())), paths.record), *left_out]
    columns = ["fct (us)", "ideal (us)", "slowdown", "most of it"]
    table = plain_table("flow", columns, left=columns[-1:])
    for one in paths.values():
        cells = [us(one.fct_ps), us(one.ideal_ps), f"{one.fct_ps / one.ideal_ps:.2f}", _most(one)]
        table.add_row(str(one.flow), *cells)
    return [table, "", _causes(paths), *_culprits(paths, paths.record), *left_out]


def _left_out(flows: list[int]) -> list[str]:
    """The flows that did not fit into memory."""
    if not flows:
        return []
    which = ", ".join(map(str, flows[:NAMED])) + (", …" if len(flows) > NAMED else "")
    return ["", f"left out for lack of memory: {len(flows)} of the flows that were asked for ({which})"]


def of_path(one: "Path", record: "Record") -> "list[Part]":
    """One flow: its time, the causes, and its predecessor."""
    return [_heading(one), *_before(one, record), _causes(one), *_culprits(one, record)]


def of_without(found: "Iterable[Counterfactual]") -> "list[Part]":
    """The cost of other flows according to each path, and the completion times without them."""
    columns = ["fct (us)", "behind others", "of flows", "alone", "expected without", "ran without"]
    table, found = plain_table("flow", columns), list(found)
    for one in found:
        alone, ran = ("no end" if ps is None else us(ps) for ps in (one.alone_ps, one.ran_ps))
        numbers = [us(one.fct_ps), us(one.share_ps), str(len(one.culprits)), alone]
        table.add_row(str(one.flow), *numbers, us(one.expected_ps), ran)
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


def _heading(one: "Path") -> str:
    slowdown = f"{one.fct_ps / one.ideal_ps:.2f}" if one.ideal_ps else "-"
    return (
        f"flow {one.flow}: {us(one.fct_ps)} us from {us(one.start_ps)} us on, "
        f"{us(one.ideal_ps)} us on the empty path, slowdown {slowdown}"
    )


def _before(one: "Path", record: "Record") -> list[str]:
    """The wait for the predecessors of the flow."""
    return [
        f"before      {us(piece.length_ps)} us: "
        + ("its delay" if piece.flow is None else f"flow {piece.flow}, from its start until it ended")
        for piece in one.before
    ]


def _most(one: "Path") -> str:
    return ", ".join(
        f"{CAUSES[cause].title} {length / one.fct_ps:.0%}"
        for cause, length in list(one.by_cause().items())[:3]
    )


def _causes(one: "Path | Paths") -> "Table":
    """Time by cause, of one path or several, beside that of the empty paths."""
    ideal: dict[str, int] = {}
    for path in _each(one):
        for piece in path.ideal:
            ideal[piece.cause] = ideal.get(piece.cause, 0) + piece.length_ps
    return of_causes(one.by_cause(), ideal)


def of_causes(sums: Mapping[str, int], ideal: Mapping[str, int] | None = None) -> "Table":
    """Picoseconds by cause, beside those of empty paths where these are known."""
    total, beside = sum(sums.values()), [] if ideal is None else ["ideal (us)"]
    table = plain_table("where the time went", ["us", "share", *beside, "", ""], left=[""])
    for cause, length in sums.items():
        known = [] if ideal is None else [us(ideal[cause]) if cause in ideal else "-"]
        cells = (us(length), f"{length / total:.1%}", *known, "", CAUSES[cause].meaning)
        table.add_row(CAUSES[cause].title, *cells)
    known = [] if ideal is None else [us(sum(ideal.values()))]
    table.add_row("sum", us(total), "100.0%", *known, "", "exact, in picoseconds")
    return table


def _culprits(one: "Path | Paths", record: "Record") -> "list[Part]":
    """The ports where it waited, and the flows that went first."""
    total = sum(one.by_cause().values())
    found = _waits("waited at port", _by_queue(one, record), str, total)
    found += _waits("behind flow", one.by_flow(), flow_name(record), total)
    return found + of_pausers(one, record)


def _waits(title: str, sums: Mapping[K, int], name: Callable[[K], str], total: int) -> "list[Part]":
    """A table of waiting times by what `name` names."""
    if not sums:
        return []
    table = plain_table(title, ["us", "share"])
    for key, length in list(sums.items())[:MOST]:
        table.add_row(name(key), us(length), f"{length / total:.1%}")
    if rest := list(sums.values())[MOST:]:
        table.add_row(others(len(rest)), us(sum(rest)), f"{sum(rest) / total:.1%}")
    return ["", table]


def _by_queue(one: "Path | Paths", record: "Record") -> dict[str, int]:
    """Picoseconds of waiting by port and, if there are several, class, the largest first."""
    if port_request.has_two_queues(record.scenario):
        return _by_two_queues(one, record)
    if not record.scenario.classes:
        return {record.names[port]: length for port, length in one.by_port(*WAITS).items()}
    found: dict[str, int] = {}
    for path in _each(one):
        of_flow = record.scenario.classes[int(record.traffic_classes[path.flow])].name
        for (port, is_data), length in path.by_queue(*WAITS).items():
            name = f"{record.names[port]} in class {of_flow if is_data else CONTROL}"
            found[name] = found.get(name, 0) + length
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def _by_two_queues(one: "Path | Paths", record: "Record") -> dict[str, int]:
    """The same where ports have a queue for data with ECT(1) beside that of others."""
    scenario, found = record.scenario, dict[str, int]()
    has_two, (scalable, classic) = port_request.links_with_two_queues(scenario), port_request.QUEUES
    for path in _each(one):
        is_scalable = scenario.flows.ccs[int(scenario.flows.cc[path.flow])].traits["ect1"]
        for (port, is_data), length in path.by_queue(*WAITS).items():
            queue = scalable if is_data and is_scalable else classic
            name = f"{record.names[port]} in queue {queue}" if has_two[port] else record.names[port]
            found[name] = found.get(name, 0) + length
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def others(count: int) -> str:
    """The number of others, in words."""
    return "1 other" if count == 1 else f"{count} others"


def of_pausers(one: "Path | Paths", record: "Record") -> "list[Part]":
    """The switches that sent the pauses on the path, and the root ports of these."""
    sums: dict[tuple[str, str, str], int] = {}
    for path in _each(one):
        for key, length in pausers(path, record).items():
            sums[key] = sums.get(key, 0) + length
    if not sums:
        return []
    table = plain_table("paused at", ["by", "began at", "us"])
    for (port, switch, root), length in sorted(sums.items(), key=lambda pair: -pair[1]):
        table.add_row(port, switch, root, us(length))
    return ["", table]


def _each(one: "Path | Paths") -> "Iterable[Path]":
    """The paths of several flows, or that of one."""
    return [one] if isinstance(one, Path) else one.values()


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
    victims = pauses.victims()
    if victims:
        parts += [_victims(victims, record), ""]
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


def _victims(victims: Mapping[int, int], record: "Record") -> "Table":
    """Flows stopped by pauses whose root they do not pass."""
    table, name = (
        plain_table("victims: paused, though they do not cross the root port", ["us"]),
        flow_name(record),
    )
    for flow, length in list(victims.items())[:MOST]:
        table.add_row(name(flow), us(length))
    if rest := list(victims.values())[MOST:]:
        table.add_row(others(len(rest)), us(sum(rest)))
    return table


def flow_name(record: "Record") -> Callable[[int], str]:
    """The name of another flow."""
    flows, hosts = record.scenario.flows, record.scenario.graph.host_names

    def name(flow: int) -> str:
        size = int(flows.bytes[flow])
        amount = f"{size / 1000:.1f} KB" if size else "no end"
        return f"{flow}: {hosts[flows.src[flow]]} to {hosts[flows.dst[flow]]}, {amount}"

    return name

"""Figures of critical paths: the waterfall of a flow or task, and the causes of many flows."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shallows.core.contract import F64
from shallows.plot import Drawing
from shallows.plot.drawing import fill, wrap_title
from shallows.plot.style import COLUMN_IN
from shallows.printing.report import SIZES
from shallows.results import task_members
from shallows.why.causes import CAUSES, WAITS
from shallows.why.path import is_of_task
from shallows.why.report import others
from shallows.why.report import title as title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shallows.why.path import Message, Path, Piece
    from shallows.why.paths import Paths
    from shallows.why.task import TaskPath

MOST_PORTS = 3
"""The most ports with a drawn queue: those where the flow waited longest."""
MOST_BARS, MOST_OF_TASK = 1000, 4000
"""The most bars that can be told apart in the waterfall of a flow, and of a task with its few rows."""
STEPS = 300
"""Steps of time for paths with more bars."""
MOST_POINTS = 4000
"""The most points of a drawn queue."""
MOST_LABELS, TALLEST = 48, 12.0
"""The most rows that are named, and the height of all rows at most, in inches."""
DECILES = 10
BROAD, NARROW = 7.2, 4.2
"""Widths in inches: of a page of paper, and of an upright phone."""


class Bar(NamedTuple):
    """A bar of a waterfall: the time of one cause at one place, and the flows that went first."""

    begin_ps: int
    end_ps: int
    place: str
    cause: str
    length_ps: int
    """Picoseconds of that cause: the whole span, unless short pieces share it."""
    flows: dict[int, int]
    """Picoseconds behind each flow."""
    message: int | None
    """The message or computation; None for those of a step."""
    low: float = 0.0
    high: float = 1.0
    """Lower and upper edge in its row, in proportion to its share of the span."""


def waterfall(path: "Path", size: float = BROAD) -> Drawing:
    """A `Drawing`: the path, place by place over time.

    The places of a flow are ports, and the queues where it waited are below. Those of a task are its hosts,
    with all its messages in grey. With too many bars (`MOST_BARS`), each is a step of time, and its height is
    the share of a cause.
    """
    bars, is_task = _bars(path), is_of_task(path)
    rows, waited = _rows(path, bars), [] if is_task else list(path.by_port(*WAITS))[:MOST_PORTS]
    height = min(TALLEST, 0.34 * len(rows)) + 0.4 if is_task else max(1.6, 0.22 * len(rows))
    heights = [height, *[1.1] * len(waited)]
    figure = Drawing((size, sum(heights) + 1.2))
    with figure.styled():
        axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        if is_of_task(path):
            _draw_messages(axes[0], path, rows)
        _draw_path(axes[0], path, bars, rows)
        for ax, port in zip(axes[1:], waited, strict=True):
            _draw_queue(ax, path, port, bars)
        axes[-1].set_xlim(0, path.fct_ps / 1e6)
        axes[-1].set_xlabel(f"time since the {path.KIND} began (us)")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=int(size / 1.4))
    return figure


def boxes(path: "Path") -> Iterator[tuple[float, float, float, float, str]]:
    """The text of each bar of a waterfall: `(us from, us to, row from, row to, text)`."""
    bars = _bars(path)
    rows = _rows(path, bars)
    for bar in bars:
        begin, end, low, high = _box(path, rows, bar)
        step = f" of {end - begin:.2f}" if bar.length_ps < bar.end_ps - bar.begin_ps else ""
        place = f" at {bar.place}"
        if is_of_task(path) and bar.message is not None:
            place = f"\n{title_of(path, bar.message)}"
        text = f"{CAUSES[bar.cause].title}: {_us(bar.length_ps)}{step} us{place}{_behind(bar.flows)}"
        yield begin, end, low, high, f"{text}\nfrom {begin:.2f} us on"


def _box(path: "Path", rows: Mapping[str, int], bar: Bar) -> tuple[float, float, float, float]:
    """From and to in microseconds, and the edges of a bar in its row."""
    thickness = 0.5 if is_of_task(path) else 0.8
    bottom = rows[bar.place] + thickness / 2
    begin, end = ((at - path.start_ps) / 1e6 for at in (bar.begin_ps, bar.end_ps))
    return begin, end, bottom - thickness * bar.high, bottom - thickness * bar.low


def _bars(path: "Path") -> list[Bar]:
    """The bars of a path in order of time. Adjacent pieces of a message are joined by cause and place."""
    bars: list[Bar] = []
    for message in path.messages:
        for piece in message.pieces:
            key = message.flow, _place(path, message, piece), piece.cause
            if bars and (bars[-1].message, bars[-1].place, bars[-1].cause) == key:
                length = bars[-1].length_ps + piece.length_ps
                bars[-1] = bars[-1]._replace(end_ps=piece.end_ps, length_ps=length)
            else:
                span = piece.begin_ps, piece.end_ps
                bars.append(Bar(*span, key[1], piece.cause, piece.length_ps, {}, message.flow))
            _add(bars[-1].flows, piece)
    most = MOST_OF_TASK if is_of_task(path) else MOST_BARS
    return bars if len(bars) <= most else _steps(path)


def _add(flows: dict[int, int], piece: "Piece") -> None:
    if piece.flow is not None:
        flows[piece.flow] = flows.get(piece.flow, 0) + piece.length_ps


def _step_ps(path: "Path") -> int:
    """The length of a step in a path with too many bars."""
    return -(-path.fct_ps // STEPS)


def _steps(path: "Path") -> list[Bar]:
    """Bars for each step of time, one for each place and cause."""
    step = _step_ps(path)
    found: dict[int, dict[tuple[str, str], tuple[int, dict[int, int]]]] = {}
    keys = (
        (_place(path, message, piece), piece.cause) for message in path.messages for piece in message.pieces
    )
    for key, piece in zip(keys, path.pieces, strict=True):
        begin = piece.begin_ps
        while begin < piece.end_ps:
            number = (begin - path.start_ps) // step
            end = min(piece.end_ps, path.start_ps + (number + 1) * step)
            length, flows = found.setdefault(number, {}).get(key, (0, {}))
            _add(flows, piece._replace(begin_ps=begin, end_ps=end))
            found[number][key] = length + end - begin, flows
            begin = end
    return [
        bar
        for number, amounts in found.items()
        for bar in _stacked(path.start_ps + number * step, step, amounts)
    ]


def _stacked(
    begin: int, step: int, amounts: Mapping[tuple[str, str], tuple[int, dict[int, int]]]
) -> Iterator[Bar]:
    """The bars of one step, stacked by place in the order of the causes."""
    heights: dict[str, float] = {}
    causes = list(CAUSES)
    for place, cause in sorted(amounts, key=lambda key: causes.index(key[1])):
        length, flows = amounts[place, cause]
        low = heights.get(place, 0.0)
        heights[place] = low + length / step
        yield Bar(begin, begin + step, place, cause, length, flows, None, low, heights[place])


def _left_out(path: "Path", bars: list[Bar]) -> str:
    """The note in a title about bars that are not pieces."""
    step = _us(_step_ps(path))
    steps = any(bar.high - bar.low < 1 for bar in bars)
    return f"\n(too many pieces: drawn in steps of {step} us, with heights by their share)" if steps else ""


def _behind(flows: Mapping[int, int]) -> str:
    """The flow whose frames took most of the time, and the number of others."""
    if not flows:
        return ""
    most = max(flows, key=flows.__getitem__)
    rest = f", {_us(flows[most])} us of it, and {others(len(flows) - 1)}" if len(flows) > 1 else ""
    return f"\nbehind flow {most}{rest}"


def _us(length_ps: float) -> str:
    return f"{length_ps / 1e6:.2f}"


def _place(path: "Path", message: "Message", piece: "Piece") -> str:
    if is_of_task(path):
        return _host(path, message.flow)
    if piece.port is not None and piece.cause != "pace_cut":
        return path.record.names[piece.port]
    return "receiver" if piece.cause == "delayed_ack" else "sender"


def _host(path: "TaskPath", number: int) -> str:
    """The host that sends a message or computes."""
    scenario = path.record.scenario
    return scenario.graph.host_names[task_members.hosts(scenario.flows, number)[0]]


def _rows(path: "Path", bars: list[Bar]) -> dict[str, int]:
    """The row of every place: from the sender of a flow to its receiver and back; of each host of a task."""
    if is_of_task(path):
        flows, members, graph = path.record.scenario.flows, path.task.flows, path.record.scenario.graph
        computes = [task_members.hosts(flows, number)[0] for number in path.task.computations]
        ranks = {*flows.src[members].tolist(), *flows.dst[members].tolist(), *computes}
        return {graph.host_names[rank]: row for row, rank in enumerate(sorted(ranks))}
    places = dict.fromkeys(bar.place for bar in bars)
    ordered = ["sender", *places] if "sender" in places else places
    return {place: row for row, place in enumerate(dict.fromkeys(ordered))}


def _draw_messages(ax: "Axes", path: "TaskPath", rows: Mapping[str, int]) -> None:
    """Draw every message of the task from its start to its end, in the row of its sender."""
    members, task = path.task.members, path.task
    begin, end = ((times[members] - path.start_ps) / 1e6 for times in (task.start_ps, task.finish_ps))
    row = [rows[_host(path, number)] for number in members]
    boxes = [(*box, at - 0.42, at + 0.42) for *box, at in zip(begin, end, row, strict=True)]
    fill(ax, boxes, "#dddddd", edgecolors="#ffffff", linewidths=0.5)
    ax.plot([], [], color="#dddddd", linewidth=6, label="message or computation")
    ax.set_ylabel("sender")


def _moves(path: "Path", bars: list[Bar]) -> list[tuple[int, str]]:
    """When the path comes to which place, in order of time; of a flow that is drawn in steps nowhere."""
    if is_of_task(path):
        return [(message.begin_ps, _host(path, message.flow)) for message in path.messages]
    return [] if any(bar.message is None for bar in bars) else [(bar.begin_ps, bar.place) for bar in bars]


def _draw_path(ax: "Axes", path: "Path", bars: list[Bar], rows: Mapping[str, int]) -> None:
    spent, lines = path.by_cause(), list[tuple[float, int, int]]()
    for cause in (cause for cause in CAUSES if cause in spent):
        spans = [_box(path, rows, bar) for bar in bars if bar.cause == cause]
        fill(ax, spans, CAUSES[cause].colour, linewidths=0)
        label = f"{CAUSES[cause].title} {spent[cause] / path.fct_ps:.0%}"
        ax.plot([], [], color=CAUSES[cause].colour, linewidth=6, label=label)
    for (_, before), (begin, place) in pairwise(_moves(path, bars)):
        if before != place:
            lines.append(((begin - path.start_ps) / 1e6, rows[before], rows[place]))
    if lines:
        times, *ends = np.array(lines).T
        ax.vlines(times, np.minimum(*ends), np.maximum(*ends), color="#444444", linewidth=0.5)
    every = -(-len(rows) // MOST_LABELS)
    ax.set_yticks(range(0, len(rows), every), list(rows)[::every])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    name, least = f"Flow {path.flow}", f", slowdown {path.slowdown:.1f}"
    if is_of_task(path):
        name, least = f"Critical path of {path.name}", f", {path.ideal_ps / 1e6:.1f} us on {path.LEAST}"
    ax.set_title(f"{name}: {path.fct_ps / 1e6:.1f} us{least if path.ideal_ps else ''}{_left_out(path, bars)}")
    wrap_title(ax)


def _draw_queue(ax: "Axes", path: "Path", port: int, bars: list[Bar]) -> None:
    """Draw the queue of a port over time, and when the path waited there."""
    record, here = path.record, {path.record.names[port]: 0}
    frames = record.tables["frames"]
    at_port = frames["link"] == port
    come, gone = (frames[name][at_port].astype(np.int64) for name in ("offered_ps", "ended_ps"))
    length = frames["length"][at_port].astype(float) / record.scenario.frame.wire
    times = np.concatenate([come, gone])
    order = np.argsort(times, kind="stable")
    queue = np.cumsum(np.concatenate([length, -length])[order])
    inside = slice(*np.searchsorted(times[order], (path.start_ps, path.finish_ps)))
    since_us, queue = _extremes((times[order][inside] - path.start_ps) / 1e6, queue[inside])
    ax.step(since_us, queue, where="post", color="#444444", linewidth=0.8, gid="packets")
    for cause in WAITS:
        marked = [bar for bar in bars if bar.cause == cause and bar.place in here]
        spans = [(*_box(path, here, bar)[:2], 0.0, bar.high - bar.low) for bar in marked]
        if spans:
            across = ax.get_xaxis_transform()
            fill(ax, spans, CAUSES[cause].colour, linewidths=0, transform=across, alpha=0.3)
    ax.set_ylim(0, max(1.0, 1.1 * queue.max(initial=0)))
    ax.set_title(f"Queue at {record.names[port]} (packets)")


def _extremes(times: F64, values: NDArray[np.generic]) -> tuple[F64, NDArray[Any]]:
    """At most `MOST_POINTS` points: the extremes of equally many neighbours."""
    if len(values) <= MOST_POINTS:
        return times, values
    parts = np.array_split(np.arange(len(values)), MOST_POINTS // 2)
    kept = np.unique([part[at] for part in parts for at in (values[part].argmin(), values[part].argmax())])
    return times[kept], values[kept]


def tail(paths: "Paths", size: float = BROAD) -> Drawing:
    """A `Drawing` of many flows: shares of causes by decile of slowdown, and by size."""
    everyone = sorted(paths.values(), key=lambda one: one.fct_ps / max(one.ideal_ps, 1))
    deciles: list[list[int]] = [
        part.tolist() for part in np.array_split(np.arange(len(everyone)), min(DECILES, len(everyone)))
    ]
    sizes: dict[str, list[Path]] = {}
    low = 0
    flow_bytes = paths.record.scenario.flows.bytes
    for high, title in SIZES.items():
        sizes[title] = [one for one in everyone if low <= flow_bytes[one.flow] < (high or np.inf)]
        low = high
    beside = size >= COLUMN_IN
    figure = Drawing((size, 3.4 if beside else 5.6))
    with figure.styled():
        left, right = figure.subplots(*((1, 2) if beside else (2, 1)), sharey=True)
        causes = list(paths.by_cause())
        slowdowns = [[everyone[at] for at in part] for part in deciles]
        _stack(left, [(f"{_slowdown(part):.1f}", part) for part in slowdowns], causes)
        left.set_title("By slowdown, from the fastest tenth to the slowest")
        wrap_title(left, 2 if beside else 1)
        left.set_xlabel("mean slowdown of the tenth")
        _stack(right, [(f"{title}\n{len(part)}", part) for title, part in sizes.items() if part], causes)
        right.set_title("By size")
        right.set_xlabel("size, number of flows")
        left.set_ylabel("share of the completion time (%)")
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=int(size / 1.4))
    return figure


def _slowdown(part: "Sequence[Path]") -> float:
    return float(np.mean([one.fct_ps / max(one.ideal_ps, 1) for one in part]))


def _stack(ax: "Axes", groups: "Sequence[tuple[str, Sequence[Path]]]", causes: Sequence[str]) -> None:
    """Draw a bar per group of paths, `(title, paths)`: mean shares of the causes."""
    base = np.zeros(len(groups))
    for cause in [cause for cause in CAUSES if cause in causes]:
        shares = [
            100 * float(np.mean([one.by_cause().get(cause, 0) / one.fct_ps for one in part]))
            for _, part in groups
        ]
        ax.bar(range(len(groups)), shares, bottom=base, color=CAUSES[cause].colour, label=CAUSES[cause].title)
        base += shares
    ax.set_xticks(range(len(groups)), [title for title, _ in groups])
    ax.grid(axis="x", visible=False)

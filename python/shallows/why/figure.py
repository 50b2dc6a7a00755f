"""Figures of critical paths: the waterfall of one flow over the queues it meets, and the causes of many."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shallows.core.contract import F64
from shallows.plot import Drawing
from shallows.plot.drawing import fill, wrap_title
from shallows.plot.style import COLUMN_IN
from shallows.printing.report import SIZES
from shallows.why.causes import CAUSES, WAITS
from shallows.why.report import others

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shallows.why.path import Path, Piece
    from shallows.why.paths import Paths
    from shallows.why.record import Record

MOST_PORTS = 3
"""The most ports with a drawn queue: those where the flow waited longest."""
MOST_BARS = 1000
"""The most bars of a waterfall that can be told apart."""
STEPS = 300
"""Steps of time for paths with more bars."""
MOST_POINTS = 4000
"""The most points of a drawn queue."""
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
    low: float = 0.0
    high: float = 1.0
    """Lower and upper edge in its row, in proportion to its share of the span."""


def waterfall(path: "Path", record: "Record", size: float = BROAD) -> Drawing:
    """A `Drawing`: the path of a flow, place by place over time, above the queues where it waited.

    With more than `MOST_BARS` bars, each bar is a step of time, and its height is the share of a cause.
    """
    waited = list(path.by_port(*WAITS))[:MOST_PORTS]
    bars = _bars(path, record)
    heights = [max(1.6, 0.22 * len(_rows(bars))), *[1.1] * len(waited)]
    figure = Drawing((size, sum(heights) + 1.2))
    with figure.styled():
        axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        _draw_path(axes[0], path, bars)
        for ax, port in zip(axes[1:], waited, strict=True):
            _draw_queue(ax, path, record, port, bars)
        axes[-1].set_xlabel("time since the flow began (us)")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=int(size / 1.4))
    return figure


def boxes(path: "Path", record: "Record") -> Iterator[tuple[float, float, float, float, str]]:
    """The text of each bar of a waterfall: `(us from, us to, row from, row to, text)`."""
    bars = _bars(path, record)
    rows = _rows(bars)
    for bar in bars:
        begin, end = ((at - path.start_ps) / 1e6 for at in (bar.begin_ps, bar.end_ps))
        step = f" of {end - begin:.2f}" if bar.length_ps < bar.end_ps - bar.begin_ps else ""
        text = (
            f"{CAUSES[bar.cause].title}: {_us(bar.length_ps)}{step} us at {bar.place}{_behind(bar.flows)}\n"
        )
        low, height = _height(rows[bar.place], bar)
        yield begin, end, low, low + height, f"{text}from {begin:.2f} us on"


def _height(row: int, bar: Bar) -> tuple[float, float]:
    """The lower edge and the height of a bar."""
    return row + 0.4 - 0.8 * bar.high, 0.8 * (bar.high - bar.low)


def _bars(path: "Path", record: "Record") -> list[Bar]:
    """The bars of a path in order of time. Adjacent pieces with the same cause and place are joined."""
    bars: list[Bar] = []
    for piece in path.pieces:
        place = _place(piece, record)
        if bars and (bars[-1].place, bars[-1].cause) == (place, piece.cause):
            _add(bars[-1].flows, piece)
            length = bars[-1].length_ps + piece.length_ps
            bars[-1] = bars[-1]._replace(end_ps=piece.end_ps, length_ps=length)
        else:
            bars.append(Bar(piece.begin_ps, piece.end_ps, place, piece.cause, piece.length_ps, {}))
            _add(bars[-1].flows, piece)
    return bars if len(bars) <= MOST_BARS else _steps(path, record)


def _add(flows: dict[int, int], piece: "Piece") -> None:
    if piece.flow is not None:
        flows[piece.flow] = flows.get(piece.flow, 0) + piece.length_ps


def _step_ps(path: "Path") -> int:
    """The length of a step in a path with too many bars."""
    return -(-path.fct_ps // STEPS)


def _steps(path: "Path", record: "Record") -> list[Bar]:
    """Bars for each step of time, one for each place and cause."""
    step = _step_ps(path)
    found: dict[int, dict[tuple[str, str], tuple[int, dict[int, int]]]] = {}
    for piece in path.pieces:
        key, begin = (_place(piece, record), piece.cause), piece.begin_ps
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
        yield Bar(begin, begin + step, place, cause, length, flows, low, heights[place])


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


def _place(piece: "Piece", record: "Record") -> str:
    if piece.port is not None and piece.cause != "pace_cut":
        return record.names[piece.port]
    return "receiver" if piece.cause == "delayed_ack" else "sender"


def _rows(bars: list[Bar]) -> dict[str, int]:
    """The row of every place, from sender to receiver and back."""
    places = dict.fromkeys(bar.place for bar in bars)
    ordered = ["sender", *places] if "sender" in places else places
    return {place: row for row, place in enumerate(dict.fromkeys(ordered))}


def _draw_path(ax: "Axes", path: "Path", bars: list[Bar]) -> None:
    rows, sums = _rows(bars), path.by_cause()
    for cause in (cause for cause in CAUSES if cause in sums):
        _shade(ax, path, [(bar, *_height(rows[bar.place], bar)) for bar in bars if bar.cause == cause])
        label = f"{CAUSES[cause].title} {sums[cause] / path.fct_ps:.0%}"
        ax.plot([], [], color=CAUSES[cause].colour, linewidth=6, label=label)
    whole = [bar for bar in bars if bar.high - bar.low == 1]
    times = np.array([(bar.begin_ps - path.start_ps) / 1e6 for bar in whole[1:]])
    at = np.array([rows[bar.place] for bar in whole])
    moves = at[:-1] != at[1:]
    if len(whole) == len(bars):
        ends = np.sort([at[:-1][moves], at[1:][moves]], axis=0)
        ax.vlines(times[moves], *ends, color="#555555", linewidth=0.4)
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set_ylim(len(rows) - 0.5, -0.5)
    slowdown = f"{path.fct_ps / path.ideal_ps:.1f}" if path.ideal_ps else "-"
    ax.set_title(f"Flow {path.flow}: {path.fct_ps / 1e6:.1f} us, slowdown {slowdown}{_left_out(path, bars)}")
    wrap_title(ax)


def _shade(ax: "Axes", path: "Path", bars: Sequence[tuple[Bar, float, float]], **how: object) -> None:
    """Draw bars of one cause over time, `(bar, y from, height)` each."""
    if bars:
        boxes = [
            ((bar.begin_ps - path.start_ps) / 1e6, (bar.end_ps - path.start_ps) / 1e6, low, low + height)
            for bar, low, height in bars
        ]
        fill(ax, boxes, CAUSES[bars[0][0].cause].colour, linewidths=0, **how)


def _draw_queue(ax: "Axes", path: "Path", record: "Record", port: int, bars: list[Bar]) -> None:
    """Draw the queue of a port over time, and when the path waited there."""
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
        marked = [bar for bar in bars if (bar.place, bar.cause) == (record.names[port], cause)]
        spans = [(bar, 0, bar.high - bar.low) for bar in marked]
        _shade(ax, path, spans, transform=ax.get_xaxis_transform(), alpha=0.3)
    ax.set_xlim(0, path.fct_ps / 1e6)
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

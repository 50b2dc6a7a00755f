"""Figure of the critical path of a task: the messages of each rank over time, and the path through them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from shallows.plot import Drawing
from shallows.plot.drawing import Box, fill, wrap_title
from shallows.results import task_members
from shallows.why import task_report
from shallows.why.causes import CAUSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from matplotlib.axes import Axes

    from shallows.why.path import Piece
    from shallows.why.task import TaskPath

MOST_PIECES = 4000
"""The most pieces that are drawn one by one."""
STEPS = 2000
"""Steps of time for paths with more pieces; those within a step are drawn in the order of the causes."""
MOST_LABELS = 48
"""The most ranks that are named."""
TALLEST = 12.0
"""The height of the rows of all ranks, at most, in inches."""


def waterfall(path: "TaskPath", size: float = 7.2) -> Drawing:
    """A `Drawing` with a row for each host: its messages in grey, and the parts of the path by cause."""
    hosts, rows = path.record.scenario.graph.host_names, _rows(path)
    figure = Drawing((size, min(TALLEST, 0.34 * len(rows)) + 1.6))
    with figure.styled():
        ax = figure.subplots()
        _draw_messages(ax, path, rows)
        _draw_path(ax, path, rows)
        every = -(-len(rows) // MOST_LABELS)
        ax.set_yticks(range(0, len(rows), every), [hosts[rank] for rank in list(rows)[::every]])
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.set_xlim(0, path.fct_ps / 1e6)
        ax.set_xlabel("time since the task began (us)")
        ax.set_ylabel("sender")
        least = f", {path.ideal_ps / 1e6:.1f} us on an empty network" if path.ideal_ps else ""
        ax.set_title(f"Critical path of {path.name}: {path.fct_ps / 1e6:.1f} us{least}")
        wrap_title(ax)
        figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=int(size / 1.6))
    return figure


def boxes(path: "TaskPath") -> Iterator[tuple[float, float, float, float, str]]:
    """The text of each part of the path: `(us from, us to, row from, row to, text)`."""
    rows = _rows(path)
    flows = path.record.scenario.flows
    for message in path.messages:
        row = rows[task_members.hosts(flows, message.flow)[0]]
        pieces = message.pieces if len(path.pieces) <= MOST_PIECES else _stepped(path, message.pieces)
        title = task_report.title(path, message.flow)
        for begin, end, cause in _joined(pieces):
            left, right = ((time - path.start_ps) / 1e6 for time in (begin, end))
            text = f"{CAUSES[cause].title}: {right - left:.2f} us\n{title}\nfrom {left:.2f} us on"
            yield left, right, row - 0.25, row + 0.25, text


def _rows(path: "TaskPath") -> dict[int, int]:
    """The row of each host of the task."""
    flows, members = path.record.scenario.flows, path.task.flows
    computes = {task_members.hosts(flows, number)[0] for number in path.task.computations}
    ranks = {*flows.src[members].tolist(), *flows.dst[members].tolist(), *computes}
    return {rank: row for row, rank in enumerate(sorted(ranks))}


def _draw_messages(ax: "Axes", path: "TaskPath", rows: "Mapping[int, int]") -> None:
    """Draw every message of the task from its start to its end, in the row of its sender."""
    members, flows = path.task.members, path.record.scenario.flows
    begin, end = (
        (times[members] - path.start_ps) / 1e6 for times in (path.task.start_ps, path.task.finish_ps)
    )
    row = np.array([rows[task_members.hosts(flows, number)[0]] for number in members])
    boxes = [(*box, at - 0.42, at + 0.42) for *box, at in zip(begin, end, row, strict=True)]
    fill(ax, boxes, "#dddddd", edgecolors="#ffffff", linewidths=0.5)
    ax.plot([], [], color="#dddddd", linewidth=6, label="message or computation")


def _draw_path(ax: "Axes", path: "TaskPath", rows: "Mapping[int, int]") -> None:
    flows = path.record.scenario.flows
    at = [rows[task_members.hosts(flows, message.flow)[0]] for message in path.messages]
    sums = path.by_cause()
    boxes: dict[str, list[Box]] = {cause: [] for cause in CAUSES if cause in sums}
    for message, row in zip(path.messages, at, strict=True):
        pieces = message.pieces if len(path.pieces) <= MOST_PIECES else _stepped(path, message.pieces)
        for begin, end, cause in _joined(pieces):
            left, right = ((time - path.start_ps) / 1e6 for time in (begin, end))
            boxes[cause].append((left, right, row - 0.25, row + 0.25))
    for cause, spans in boxes.items():
        fill(ax, spans, CAUSES[cause].colour, linewidths=0)
        label = f"{CAUSES[cause].title} {sums[cause] / path.fct_ps:.0%}"
        ax.plot([], [], color=CAUSES[cause].colour, linewidth=6, label=label)
    times = [(message.begin_ps - path.start_ps) / 1e6 for message in path.messages[1:]]
    ax.vlines(times, np.minimum(at[:-1], at[1:]), np.maximum(at[:-1], at[1:]), color="#333333", linewidth=0.6)


def _stepped(path: "TaskPath", pieces: "Iterable[Piece]") -> "list[Piece]":
    """The pieces in the order of the causes within each step of time."""
    step, causes = -(-path.fct_ps // STEPS), list(CAUSES)
    found: list[Piece] = []
    begin: int | None = None

    def order(piece: "Piece") -> tuple[int, int]:
        return (piece.begin_ps - path.start_ps) // step, causes.index(piece.cause)

    for piece in sorted(pieces, key=order):
        begin = piece.begin_ps if begin is None else begin
        found.append(piece._replace(begin_ps=begin, end_ps=begin + piece.length_ps))
        begin += piece.length_ps
    return found


def _joined(pieces: "Iterable[Piece]") -> Iterator[tuple[int, int, str]]:
    """(begin, end, cause) of neighbours with the same cause together."""
    now: tuple[int, int, str] | None = None
    for piece in pieces:
        if now is not None and now[2] == piece.cause:
            now = (now[0], piece.end_ps, piece.cause)
            continue
        if now is not None:
            yield now
        now = (piece.begin_ps, piece.end_ps, piece.cause)
    if now is not None:
        yield now

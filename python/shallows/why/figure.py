"""Figures of critical paths: the waterfall of one flow over the queues on its way, and the causes of many."""

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from shallows.plot import STYLE
from shallows.report import SIZES
from shallows.why.causes import CAUSES, WAITS

MOST_PORTS = 3
"""Ports whose queues are drawn: those where the flow waited longest."""
DECILES = 10
BROAD, NARROW = 7.2, 4.2
"""Widths in inches: of a page of paper, and of a phone held upright."""


def waterfall(path, record, size=BROAD):
    """A `Figure`: the path of a flow, place by place over time, and below the queues where it waited."""
    with rc_context(STYLE):
        waited = list(path.by_port(*WAITS))[:MOST_PORTS]
        places = _places(path, record)
        heights = [max(1.6, 0.22 * len(places)), *[1.1] * len(waited)]
        figure = Figure(figsize=(size, sum(heights) + 1.2), layout="constrained")
        axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        _draw_path(axes[0], path, places)
        for ax, port in zip(axes[1:], waited, strict=True):
            _draw_queue(ax, path, record, port)
        axes[-1].set_xlabel("time since the flow began (us)")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=int(size / 1.4))
    return figure


def boxes(path, record):
    """What a person reads at each bar of a waterfall: `(us from, us to, row from, row to, text)`."""
    found = []
    for row, (place, pieces) in enumerate(_places(path, record).items()):
        for its in _bars(pieces):
            begin, end = ((at - path.start_ps) / 1e6 for at in (its[0].begin_ps, its[-1].end_ps))
            text = f"{CAUSES[its[0].cause].title}: {_us(its)} us at {place}{_behind(its)}\n"
            text += f"from {begin:.2f} us on"
            found.append((begin, end, row - 0.4, row + 0.4, text))
    return found


def _bars(pieces):
    """Pieces of one place in order, those together that touch and have one cause."""
    bars = []
    for piece in pieces:
        if bars and (bars[-1][-1].end_ps, bars[-1][-1].cause) == (piece.begin_ps, piece.cause):
            bars[-1].append(piece)
        else:
            bars.append([piece])
    return bars


def _behind(pieces):
    """Whose frames came first: the flow that took most of the time, and how many others."""
    flows = {}
    for piece in pieces:
        if piece.flow is not None:
            flows.setdefault(piece.flow, []).append(piece)
    if not flows:
        return ""
    most = max(flows, key=lambda flow: sum(piece.length_ps for piece in flows[flow]))
    others = f", {_us(flows[most])} us of it, and {len(flows) - 1} others" if len(flows) > 1 else ""
    return f"\nbehind flow {most}{others}"


def _us(pieces):
    return f"{sum(piece.length_ps for piece in pieces) / 1e6:.2f}"


def _place(piece, record):
    if piece.port is not None:
        return record.names[piece.port]
    return "receiver" if piece.cause == "delayed_ack" else "sender"


def _places(path, record):
    """Every place of the path, from sender to receiver and back: `{name: (row, pieces)}`."""
    found = {"sender": []}
    for piece in path.pieces:
        found.setdefault(_place(piece, record), []).append(piece)
    return {name: pieces for name, pieces in found.items() if pieces}


def _draw_path(ax, path, places):
    names = list(places)
    row = {id(piece): at for at, name in enumerate(names) for piece in places[name]}
    sums = path.by_cause()
    for cause in (cause for cause in CAUSES if cause in sums):
        for at, pieces in enumerate(places.values()):
            _shade(ax, path, [piece for piece in pieces if piece.cause == cause], (at - 0.4, 0.8))
        label = f"{CAUSES[cause].title} {sums[cause] / path.fct_ps:.0%}"
        ax.plot([], [], color=CAUSES[cause].colour, linewidth=6, label=label)
    times = np.array([(piece.begin_ps - path.start_ps) / 1e6 for piece in path.pieces[1:]])
    rows = np.array([row[id(piece)] for piece in path.pieces])
    moves = rows[:-1] != rows[1:]
    low, high = np.minimum(rows[:-1], rows[1:])[moves], np.maximum(rows[:-1], rows[1:])[moves]
    ax.vlines(times[moves], low, high, color="#555555", linewidth=0.4)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    slowdown = f"{path.fct_ps / path.ideal_ps:.1f}" if path.ideal_ps else "-"
    ax.set_title(f"Flow {path.flow}: {path.fct_ps / 1e6:.1f} us, slowdown {slowdown}")


def _shade(ax, path, pieces, y, **how):
    """Bars of pieces of one cause over their time, `y` from the bottom and high."""
    if pieces:
        spans = [
            ((its[0].begin_ps - path.start_ps) / 1e6, (its[-1].end_ps - its[0].begin_ps) / 1e6)
            for its in _bars(pieces)
        ]
        ax.broken_barh(spans, y, color=CAUSES[pieces[0].cause].colour, linewidth=0, **how)


def _draw_queue(ax, path, record, port):
    """What the port held over time, and when the path waited there."""
    frames = record.tables["frames"]
    mine = frames["link"] == port
    come, gone = (frames[name][mine].astype(np.int64) for name in ("offered_ps", "ended_ps"))
    length = frames["length"][mine].astype(float) / record.scenario.frame.wire
    times = np.concatenate([come, gone])
    order = np.argsort(times, kind="stable")
    queue = np.cumsum(np.concatenate([length, -length])[order])
    inside = slice(*np.searchsorted(times[order], (path.start_ps, path.finish_ps)))
    since_us, queue = (times[order][inside] - path.start_ps) / 1e6, queue[inside]
    ax.step(since_us, queue, where="post", color="#444444", linewidth=0.8, gid="packets")
    for cause in WAITS:
        here = [one for one in path.pieces if one.port == port and one.cause == cause]
        _shade(ax, path, here, (0, 1), transform=ax.get_xaxis_transform(), alpha=0.3)
    ax.set_xlim(0, path.fct_ps / 1e6)
    ax.set_ylim(0, max(1.0, 1.1 * queue.max(initial=0)))
    ax.set_title(f"Queue at {record.names[port]} (packets)")


def tail(paths, size=BROAD):
    """A `Figure` of many flows: shares of causes by decile of slowdown, and by size."""
    everyone = sorted(paths.values(), key=lambda one: one.fct_ps / max(one.ideal_ps, 1))
    deciles = [
        part.tolist() for part in np.array_split(np.arange(len(everyone)), min(DECILES, len(everyone)))
    ]
    sizes, low = {}, 0
    flow_bytes = paths.record.scenario.flows.bytes
    for high, title in SIZES.items():
        sizes[title] = [one for one in everyone if low <= flow_bytes[one.flow] < (high or np.inf)]
        low = high
    with rc_context(STYLE):
        beside = size == BROAD
        figure = Figure(figsize=(size, 3.4 if beside else 5.6), layout="constrained")
        left, right = figure.subplots(*((1, 2) if beside else (2, 1)), sharey=True)
        causes = list(paths.by_cause())
        slowdowns = [[everyone[at] for at in part] for part in deciles]
        _stack(left, [(f"{_slowdown(part):.1f}", part) for part in slowdowns], causes)
        left.set_title("By slowdown, from the fastest tenth to the slowest")
        left.set_xlabel("mean slowdown of the tenth")
        _stack(right, [(f"{title}\n{len(part)}", part) for title, part in sizes.items() if part], causes)
        right.set_title("By size")
        right.set_xlabel("size, number of flows")
        left.set_ylabel("share of the completion time (%)")
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=int(size / 1.4))
    return figure


def _slowdown(part):
    return float(np.mean([one.fct_ps / max(one.ideal_ps, 1) for one in part]))


def _stack(ax, groups, causes):
    """A bar a group of paths, `(title, paths)`: mean shares of the causes."""
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

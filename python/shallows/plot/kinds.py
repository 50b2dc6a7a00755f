"""Panels of figures: one function each, which draws on the Axes that it is given.

Each takes `(ax, runs, labels=None)`, where `runs` is one `Run` or several, and returns whether it found
data. To add a panel, write such a function and list it in `PANELS`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from shallows.base import names
from shallows.plot.data import (
    RATE_BINS,
    Labelled,
    at_bottlenecks,
    decision,
    decisions,
    flow_labels,
    goodput_of_faults,
    labelled,
    port_title,
    spans_of_faults,
    table_columns,
)
from shallows.plot.style import (
    CLOSE_UP,
    CYCLES,
    FLOWS_PER_SIZE_BIN,
    MORE_THAN,
    MOST_FLOWS,
    band_title,
    bin_means,
    draw_bundle,
    draw_series,
    draw_thresholds,
    hidden_cycle,
    label_axes,
    legend_beside,
    line_style,
    logarithmic,
    look,
    marked_line,
    shade_warmup,
)
from shallows.results.summary import SIZE_BINS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shallows.core.contract import F64
    from shallows.results.run import RunData

Panel = Callable[..., bool]
"""`(ax, runs, labels=None)`, which returns whether there were data."""
MOST_SIZES = 20
"""Sizes of flows with a point each; more are drawn in as many bins at most, or at size classes."""
DECISIONS = {"window_pkt": ("Windows", "packets"), "rate_gbps": ("Rates", "Gbit/s")}
"""Title and unit of what senders decide."""


def queue_over_time(
    ax: "Axes", runs: "RunData | Sequence[RunData]", labels: Sequence[str] | None = None
) -> bool:
    """Queue of the bottleneck (full frames) over time: mean, and range as a band, where samples are dense."""
    dense = False
    drawn: dict[int, str] = {}
    named = labelled(runs, labels)
    for i, label, port, columns in at_bottlenecks(named, "queues"):
        drawn[i] = port
        dense |= draw_series(ax, columns["time_us"] / 1e3, columns["queue_pkt"], i, label, len(named) > 1)
    label_axes(ax, f"Queue at {port_title(drawn)}{band_title(dense)}", "time (ms)", "queue (packets)")
    shade_warmup(ax, named)
    draw_thresholds(ax, named)
    return bool(drawn)


def queue_cycles(
    ax: "Axes", runs: "RunData | Sequence[RunData]", labels: Sequence[str] | None = None
) -> bool:
    """The last `CYCLES` cycles of the bottleneck's queue, where `queue_over_time` hides them in its bins."""
    named = labelled(runs, labels)
    series = [columns for _, _, _, columns in at_bottlenecks(named, "queues")]
    samples = [hidden_cycle(columns["queue_pkt"]) for columns in series]
    longest = max((length for length in samples if length is not None), default=None)
    if longest is None:
        return False
    return _close_up(ax, named, CYCLES * longest)


def queue_close_up(
    ax: "Axes", runs: "RunData | Sequence[RunData]", labels: Sequence[str] | None = None
) -> bool:
    """Queue of the bottleneck at the end of the run, every sample drawn."""
    return _close_up(ax, labelled(runs, labels), CLOSE_UP)


def _close_up(ax: "Axes", named: Labelled, samples: int) -> bool:
    """Draw the last `samples` of the bottleneck's queue."""
    drawn: dict[int, str] = {}
    span_ms = 0.0
    for i, label, port, columns in at_bottlenecks(named, "queues"):
        drawn[i] = port
        time_us, queue = (columns[key][-samples:] for key in ("time_us", "queue_pkt"))
        span_ms = max(span_ms, float(np.ptp(time_us)) / 1e3)
        ax.plot(time_us / 1e3, queue, **line_style(i, label) | {"linewidth": 1.0})
    label_axes(ax, f"Queue at {port_title(drawn)}, last {span_ms:.2g} ms", "time (ms)", "queue (packets)")
    ax.margins(x=0, y=0.1)
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.ticklabel_format(axis="x", useOffset=False)
    draw_thresholds(ax, named)
    return bool(drawn)


def goodput_over_time(
    ax: "Axes", runs: "RunData | Sequence[RunData]", labels: Sequence[str] | None = None
) -> bool:
    """Goodput over time of the flows of a fault; for one run, of the others too. Faults are shaded."""
    named = labelled(runs, labels)
    drawn = False
    for i, (run, label) in enumerate(named):
        for group, (time_ms, gbps) in goodput_of_faults(run).items():
            if group == "others" and len(named) > 1:
                continue
            drawn = True
            shape = look(i + (group == "others")) | {"marker": "", "linewidth": 1.0}
            shape["label"] = "flows over its links" if group == "affected" else "all other flows"
            ax.plot(time_ms, gbps, **shape, gid=label)
    for begin_us, end_us in spans_of_faults(named):
        ax.axvspan(begin_us / 1e3, end_us / 1e3, color="#bb5566", alpha=0.15, linewidth=0)
    label_axes(ax, "Goodput before, during and after the fault", "time (ms)", "goodput (Gbit/s)")
    ax.set_ylim(bottom=0)
    ax.margins(x=0)
    shade_warmup(ax, named)
    if drawn and len(named) == 1:
        ax.set_ylim(top=1.25 * ax.get_ylim()[1])  # room for the legend
        ax.legend(loc="upper right", ncols=2, fontsize="small")
    return drawn


def queue_cdf(ax: "Axes", runs: "RunData | Sequence[RunData]", labels: Sequence[str] | None = None) -> bool:
    """Share of the time after the warm-up in which the bottleneck's queue was at most this long: exact."""
    drawn: dict[int, str] = {}
    named = labelled(runs, labels)
    for i, label, port, columns in at_bottlenecks(named, "queue_histograms"):
        drawn[i] = port
        share = np.cumsum(columns["time_us"]) / np.sum(columns["time_us"])
        # both edges of every bin: the curve is flat where the queue never was
        edges = np.column_stack([columns["from_pkt"], columns["below_pkt"]]).ravel()
        shares = np.column_stack([np.append(0, share[:-1]), share]).ravel()
        ax.plot(edges, shares, **marked_line(i, label, len(edges)))
    label_axes(ax, f"Distribution of the queue at {port_title(drawn)}", "queue (packets)", "share of time")
    ax.set_ylim(0, 1.01)
    ax.set_xlim(left=0)
    return bool(drawn)


def windows_over_time(
    ax: "Axes", runs: "RunData | Sequence[RunData]", labels: Sequence[str] | None = None
) -> bool:
    """Windows (or rates, if a run has no windows) of the probed flows over time.

    One run with few flows shows each flow; otherwise each run shows its flows' mean and range.
    """
    named = labelled(runs, labels)
    what, drawn, dense = decision(named), False, False
    for i, (run, columns) in enumerate(named):
        time_ms, flow, value = decisions(run, what)
        flows = np.unique(flow)
        if len(named) == 1 and len(flows) <= MOST_FLOWS:
            for j, (one, label) in enumerate(zip(flows, flow_labels(run, flows), strict=True)):
                dense |= draw_series(ax, time_ms[flow == one], value[flow == one], j, label, legend=True)
        elif len(flows):
            dense |= draw_series(ax, time_ms, value, i, columns, len(named) > 1)
        drawn |= len(flows) > 0
    title, unit = DECISIONS[what]
    label_axes(ax, f"{title} of the flows{band_title(dense)}", "time (ms)", f"{title.lower()[:-1]} ({unit})")
    shade_warmup(ax, named)
    if ax.get_legend_handles_labels()[0]:
        legend_beside(ax)
    return drawn


def windows_of_each_flow(
    ax: "Axes", runs: "RunData | Sequence[RunData]", labels: Sequence[str] | None = None, *, of: int
) -> bool:
    """Windows (or rates) of each flow of the run `of` over time: who joins, and what the others give up."""
    named = labelled(runs, labels)
    (run, label), what = named[of], decision(named)
    time_ms, flow, value = decisions(run, what)
    flows = np.unique(flow)
    dense = [draw_series(ax, time_ms[flow == one], value[flow == one], of, label) for one in flows]
    title, unit = DECISIONS[what]
    label_axes(ax, f"{title} of the flows of {names.figure(label)}{band_title(any(dense))}", "time (ms)",
               f"{title.lower()[:-1]} ({unit})")  # fmt: skip
    shade_warmup(ax, named)
    return len(flows) > 0


def join_apart(runs: Labelled) -> bool:
    """Whether the probed flows of each run are few, and begin more than a tenth of the time apart."""
    what = decision(runs)
    for run, _ in runs:
        time_ms, flow, _ = decisions(run, what)
        begin_ms = [time_ms[flow == one].min() for one in np.unique(flow)]
        if not 2 <= len(begin_ms) <= MOST_FLOWS or np.ptp(begin_ms) < 0.1 * np.ptp(time_ms):
            return False
    return True


def rates_over_time(
    ax: "Axes", runs: "RunData | Sequence[RunData]", labels: Sequence[str] | None = None
) -> bool:
    """Goodput of the probed flows over time: a line each if there are few, else their mean and range.

    Every point is the mean over a time bin, because a sender's samples are bursty.
    """
    drawn, width_ms = False, 0.0
    named = labelled(runs, labels)
    for i, (run, label) in enumerate(named):
        columns = table_columns(run, "probes")
        rates = columns["name"] == "rate_gbps"
        flow, time_us, value = (columns[key][rates] for key in ("flow", "time_us", "value"))
        if not len(flow):
            continue
        drawn, width_ms = True, run.summary["duration_s"] * 1e3 / RATE_BINS
        lines = bin_means(np.searchsorted(np.unique(flow), flow), time_us / 1e3, value, width_ms)
        draw_bundle(ax, (np.arange(RATE_BINS) + 0.5) * width_ms, lines, i, label)
    label_axes(ax, f"Rates of the flows, means of {width_ms:.2g} ms", "time (ms)", "goodput (Gbit/s)")
    shade_warmup(ax, named)
    return drawn


def slowdown_by_size(
    ax: "Axes", runs: "RunData | Sequence[RunData]", labels: Sequence[str] | None = None
) -> bool:
    """Median and 99th percentile of the slowdown by flow size, for each size or in bins of many flows.

    No bin extends over several size classes of the summary.
    """
    drawn = False
    for i, (run, label) in enumerate(labelled(runs, labels)):
        flows, size = run.counted, table_columns(run, "flows")["bytes"]
        sizes = size[flows.done | flows.unfinished]
        if len(np.unique(sizes)) < 2:
            continue
        drawn = True
        edges = _edges(sizes)
        which = np.searchsorted(edges, size, side="right")
        bins = [flows.among(which == b) for b in np.unique(np.searchsorted(edges, sizes, side="right"))]
        middle = np.array([np.median(size[part.done | part.unfinished]) for part in bins]) / 1e3
        for share, face in ((0.50, look(i)["color"]), (0.99, "white")):
            pairs = [part.statistic("slowdown", partial(np.quantile, q=share)) for part in bins]
            values, bounds = (np.array(column, float) for column in zip(*pairs, strict=True))
            shape = look(i) | {"markerfacecolor": face, "linewidth": 1.0}
            ax.plot(middle, values, **shape, gid=f"{label}, p{100 * share:.0f}")
            if np.isfinite(bounds).any():
                ax.plot(middle, bounds, **shape | {"linestyle": "", "marker": MORE_THAN})
    label_axes(ax, "Slowdown by flow size", "flow size (KB)", "fct / ideal fct")
    if drawn:
        logarithmic(ax.xaxis)
        logarithmic(ax.yaxis)
        ax.set_ylim(bottom=1)
        grey = {"color": "#444444", "linestyle": "", "marker": "o"}
        keys = [
            Line2D([], [], **grey, markerfacecolor="white", label="p99"),
            Line2D([], [], **grey, label="p50"),
        ]
        legend_beside(ax, handles=keys)
    return drawn


def _edges(sizes: "F64") -> "F64":
    """Where the bins of sizes begin, without the first."""
    distinct = np.unique(sizes)
    if len(distinct) <= MOST_SIZES:
        return distinct[1:]
    count = int(np.clip(len(sizes) // FLOWS_PER_SIZE_BIN, 2, MOST_SIZES))
    equal = np.unique(np.quantile(sizes, np.linspace(0, 1, count + 1)))[1:-1]
    return np.union1d(equal, [end for end in SIZE_BINS if end is not None])


def fct_cdf(ax: "Axes", runs: "RunData | Sequence[RunData]", labels: Sequence[str] | None = None) -> bool:
    """Share of the flows with an end that are known to have completed within this time."""
    drawn = False
    for i, (run, label) in enumerate(labelled(runs, labels)):
        flows = run.counted
        fct_us = flows.least["fct_us"][flows.done]
        if len(fct_us):
            drawn = True
            curve = ax.ecdf(fct_us / 1e3, **marked_line(i, label, len(fct_us)))
            share = len(fct_us) / (len(fct_us) + np.sum(flows.unfinished))
            curve.set_ydata(share * np.asarray(curve.get_ydata()))
    label_axes(ax, "Completion times", "fct (ms)", "share of flows")
    if drawn:
        logarithmic(ax.xaxis)
    return drawn


def goodput_by_flow(
    ax: "Axes", runs: "RunData | Sequence[RunData]", labels: Sequence[str] | None = None
) -> bool:
    """Goodput of each flow without an end after the warm-up, smallest first.

    For one run, algorithms differ by colour.
    """
    drawn = False
    named = labelled(runs, labels)
    for i, (run, label) in enumerate(named):
        columns = table_columns(run, "flows")
        endless = np.isnan(columns["bytes"]) & np.isfinite(columns["goodput_gbps"])
        goodput, cc = (columns[key][endless] for key in ("goodput_gbps", "cc"))
        smallest_first = np.argsort(goodput, kind="stable")
        goodput, cc = goodput[smallest_first], cc[smallest_first]
        place = np.arange(1, len(goodput) + 1)
        drawn |= len(goodput) > 0
        algorithms = run.summary["cc"] if len(named) == 1 and len(set(cc)) > 1 else [None]
        for j, name in enumerate(algorithms, start=i):
            selected = slice(None) if name is None else cc == name
            shape = {**look(j), "linestyle": "", "markersize": 3, "clip_on": False}
            shape["label"] = None if name is None else names.figure(name)
            if len(goodput[selected]):
                ax.plot(place[selected], goodput[selected], **shape, gid=name or label)
        if len(algorithms) > 1:
            legend_beside(ax)
    label_axes(ax, "Goodput of each flow", "flow, smallest goodput first", "goodput (Gbit/s)")
    ax.set_ylim(bottom=0)
    ax.xaxis.get_major_locator().set_params(integer=True)
    return drawn


def queues_by_port(
    ax: "Axes", runs: "RunData | Sequence[RunData]", labels: Sequence[str] | None = None
) -> bool:
    """Mean queue of every port with a queue, largest first: how long queues are in the whole network."""
    drawn = False
    for i, (run, label) in enumerate(labelled(runs, labels)):
        queue = np.sort(table_columns(run, "ports")["queue_mean_pkt"])[::-1]
        queue = queue[queue > 0]
        if len(queue):
            drawn |= len(queue) > 1  # one point is no distribution
            place = np.arange(1, len(queue) + 1)
            ax.plot(place, queue, **marked_line(i, label, len(queue)))
    label_axes(ax, "Mean queue of each port", "port, largest queue first", "queue (packets)")
    if drawn:
        logarithmic(ax.xaxis)
    ax.set_ylim(bottom=0)
    return drawn


PANELS = (
    goodput_over_time,
    queue_over_time,
    queue_cycles,
    queue_cdf,
    windows_over_time,
    slowdown_by_size,
    fct_cdf,
    goodput_by_flow,
    queues_by_port,
)


OF_WORLDS = (queue_over_time, rates_over_time, queue_cdf, queue_close_up)
"""Panels for the comparison of worlds, without quantities that only one world has."""

"""Figures of runs: one function a kind, each drawing on the Axes it is given.

Every function takes `(ax, runs, labels=None)`, where `runs` is one `Run` or several to be drawn over each
other, and returns whether there was anything to draw. `figure(runs)` puts four of them together. Runs
differ by colour (Okabe and Ito's, told apart by all kinds of eyes) and by marker or dash, so that
nothing is lost in grey. To add a kind, write such a function and list it in `PANELS`.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import matplotlib.ticker
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from shallows.results.tables import Names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from numpy.typing import NDArray

    from shallows.contract import F64
    from shallows.results.run import Run


STYLE = {
    "font.family": "sans-serif",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    "pdf.fonttype": 42,  # text stays text: journals refuse the default
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)), (0, (3, 1)), (0, (8, 2)), "-")
MARKERS = ("o", "s", "^", "D", "v", "P", "x")
TIME_BINS = 240
RATE_BINS = 80
CLOSE_UP = 500  # samples of the queue
MOST_FLOWS = 6  # drawn one by one; more become their mean and range
FLOWS_PER_SIZE_BIN = 100
CHARACTERS_IN = 23  # of small print, an inch


Labelled = list[tuple["Run", str]]
"""Runs, each with what it is called in a figure."""
Panel = Callable[..., bool]
"""`(ax, runs, labels=None)`, which says whether there was anything to draw."""


def look(i: int) -> dict[str, Any]:
    """Colour, dash and marker of the `i`-th of several: the 8th has the first colour, other dashes."""
    again = i // 7
    dash, marker = DASHES[(i + 3 * again) % 7], MARKERS[(i + 2 * again) % 7]
    return {"color": COLOURS[i % 7], "linestyle": dash, "marker": marker}


def _line(i: int, name: str) -> dict[str, Any]:
    """The look of a line, and what it is called where values are pointed at (pages/chart.py)."""
    return {key: value for key, value in look(i).items() if key != "marker"} | {"gid": name}


def queue_over_time(ax: "Axes", runs: "Run | Sequence[Run]", labels: Sequence[str] | None = None) -> bool:
    """Queue of the bottleneck (full frames) over time: mean, and range as a band, where samples are dense."""
    dense = False
    drawn: dict[int, str] = {}
    named = _labelled(runs, labels)
    for i, label, port, columns in _at_bottlenecks(named, "queues"):
        drawn[i] = port
        dense |= _series(ax, columns["time_us"] / 1e3, columns["queue_pkt"], i, label, len(named) > 1)
    _axes(ax, f"Queue at {_ports(drawn)}{_band(dense)}", "time (ms)", "queue (packets)")
    _warmup(ax, named)
    return bool(drawn)


def queue_close_up(ax: "Axes", runs: "Run | Sequence[Run]", labels: Sequence[str] | None = None) -> bool:
    """Queue of the bottleneck at the end of the run, every sample drawn."""
    drawn: dict[int, str] = {}
    named = _labelled(runs, labels)
    for i, label, port, columns in _at_bottlenecks(named, "queues"):
        drawn[i] = port
        time_us, queue = (columns[key][-CLOSE_UP:] for key in ("time_us", "queue_pkt"))
        ax.plot(time_us / 1e3, queue, **_line(i, label), linewidth=1.0)
    _axes(ax, f"Queue at {_ports(drawn)}, last {CLOSE_UP} samples", "time (ms)", "queue (packets)")
    ax.margins(x=0)
    ax.set_ylim(bottom=0)
    return bool(drawn)


def queue_cdf(ax: "Axes", runs: "Run | Sequence[Run]", labels: Sequence[str] | None = None) -> bool:
    """Share of the time after the warm-up for which the bottleneck's queue was at most so long: exact."""
    drawn: dict[int, str] = {}
    named = _labelled(runs, labels)
    for i, label, port, columns in _at_bottlenecks(named, "queue_histograms"):
        drawn[i] = port
        share = np.cumsum(columns["time_us"]) / np.sum(columns["time_us"])
        # both ends of every bin: between two bins, where the queue never was, the curve is flat
        edges = np.column_stack([columns["from_pkt"], columns["below_pkt"]]).ravel()
        shares = np.column_stack([np.append(0, share[:-1]), share]).ravel()
        ax.plot(edges, shares, **_line(i, label))
    _axes(ax, f"Distribution of the queue at {_ports(drawn)}", "queue (packets)", "share of time")
    ax.set_ylim(0, 1.01)
    ax.set_xlim(left=0)
    return bool(drawn)


def windows_over_time(ax: "Axes", runs: "Run | Sequence[Run]", labels: Sequence[str] | None = None) -> bool:
    """Windows (or rates, where some run has none) of the probed flows over time.

    One run with few flows shows each flow; otherwise each run shows its flows' mean and range.
    """
    named = _labelled(runs, labels)
    what, drawn, dense = _decisive(named), False, False
    for i, (run, its) in enumerate(named):
        time_ms, flow, value = _decisions(run, what)
        flows = np.unique(flow)
        if len(named) == 1 and len(flows) <= MOST_FLOWS:
            for j, (one, label) in enumerate(zip(flows, _flow_labels(run, flows), strict=True)):
                dense |= _series(ax, time_ms[flow == one], value[flow == one], j, label, legend=True)
        elif len(flows):
            dense |= _series(ax, time_ms, value, i, its, len(named) > 1)
        drawn |= len(flows) > 0
    title, unit = {"window_pkt": ("Windows", "packets"), "rate_gbps": ("Rates", "Gbit/s")}[what]
    _axes(ax, f"{title} of the flows{_band(dense)}", "time (ms)", f"{title.lower()[:-1]} ({unit})")
    _warmup(ax, named)
    if ax.get_legend_handles_labels()[0]:
        _legend_beside(ax)
    return drawn


def rates_over_time(ax: "Axes", runs: "Run | Sequence[Run]", labels: Sequence[str] | None = None) -> bool:
    """Goodput of the probed flows over time, each a line where they are few, else their mean and range.

    Every point is the mean of a stretch of time: what a sender got between two samples comes in bursts.
    """
    drawn, width_ms = False, 0.0
    named = _labelled(runs, labels)
    for i, (run, label) in enumerate(named):
        columns = _columns(run, "probes")
        rates = columns["name"] == "rate_gbps"
        flow, time_us, value = (columns[key][rates] for key in ("flow", "time_us", "value"))
        if not len(flow):
            continue
        drawn, width_ms = True, run.summary["duration_s"] * 1e3 / RATE_BINS
        lines = _means(np.searchsorted(np.unique(flow), flow), time_us / 1e3, value, width_ms)
        _bundle(ax, (np.arange(RATE_BINS) + 0.5) * width_ms, lines, i, label)
    _axes(ax, f"Rates of the flows, means of {width_ms:.2g} ms", "time (ms)", "goodput (Gbit/s)")
    _warmup(ax, named)
    return drawn


def slowdown_by_size(ax: "Axes", runs: "Run | Sequence[Run]", labels: Sequence[str] | None = None) -> bool:
    """Median and 99th percentile of the slowdown by flow size, in bins with equally many flows."""
    drawn = False
    for i, (run, label) in enumerate(_labelled(runs, labels)):
        size, slowdown = _finished(run, "slowdown")
        if len(np.unique(size)) < 2:
            continue
        drawn = True
        edges = np.quantile(size, np.linspace(0, 1, int(np.clip(len(size) // FLOWS_PER_SIZE_BIN, 2, 20)) + 1))
        which = np.searchsorted(np.unique(edges)[1:-1], size, side="right")
        bins = [(size[which == b], slowdown[which == b]) for b in np.unique(which)]
        middle = [np.median(sizes) / 1e3 for sizes, _ in bins]
        for share, line, face in ((0.50, "-", look(i)["color"]), (0.99, "--", "white")):
            ax.plot(
                middle,
                [np.quantile(values, share) for _, values in bins],
                color=look(i)["color"],
                linestyle=line,
                marker=look(i)["marker"],
                markerfacecolor=face,
                linewidth=1.0,
                gid=f"{label}, p{100 * share:.0f}",
            )
    _axes(ax, "Slowdown by flow size", "flow size (KB)", "fct / ideal fct")
    if drawn:
        _logarithmic(ax.xaxis)
        _logarithmic(ax.yaxis)
        ax.set_ylim(bottom=1)
        keys = [
            Line2D([], [], color="#444444", linestyle="--", marker="o", markerfacecolor="white", label="p99"),
            Line2D([], [], color="#444444", linestyle="-", marker="o", label="p50"),
        ]
        _legend_beside(ax, handles=keys)
    return drawn


def fct_cdf(ax: "Axes", runs: "Run | Sequence[Run]", labels: Sequence[str] | None = None) -> bool:
    """Share of the finished flows that completed within so much time."""
    drawn = False
    for i, (run, label) in enumerate(_labelled(runs, labels)):
        _, fct_us = _finished(run, "fct_us")
        if len(fct_us):
            drawn = True
            ax.ecdf(fct_us / 1e3, **_line(i, label))
    _axes(ax, "Completion times", "fct (ms)", "share of flows")
    if drawn:
        _logarithmic(ax.xaxis)
    return drawn


def goodput_by_flow(ax: "Axes", runs: "Run | Sequence[Run]", labels: Sequence[str] | None = None) -> bool:
    """Goodput of each flow without an end after the warm-up, smallest first.

    One run of several algorithms tells them apart.
    """
    drawn = False
    named = _labelled(runs, labels)
    for i, (run, label) in enumerate(named):
        columns = _columns(run, "flows")
        endless = np.isnan(columns["bytes"]) & np.isfinite(columns["goodput_gbps"])
        goodput, cc = (columns[key][endless] for key in ("goodput_gbps", "cc"))
        smallest_first = np.argsort(goodput, kind="stable")
        goodput, cc = goodput[smallest_first], cc[smallest_first]
        place = np.arange(1, len(goodput) + 1)
        drawn |= len(goodput) > 0
        algorithms = run.summary["cc"] if len(named) == 1 and len(set(cc)) > 1 else [None]
        for j, name in enumerate(algorithms, start=i):
            its = slice(None) if name is None else cc == name
            shape = {**look(j), "linestyle": "", "markersize": 3, "clip_on": False, "label": name}
            if len(goodput[its]):
                ax.plot(place[its], goodput[its], **shape, gid=name or label)
        if len(algorithms) > 1:
            _legend_beside(ax)
    _axes(ax, "Goodput of each flow", "flow, smallest goodput first", "goodput (Gbit/s)")
    ax.set_ylim(bottom=0)
    ax.xaxis.get_major_locator().set_params(integer=True)
    return drawn


def queues_by_port(ax: "Axes", runs: "Run | Sequence[Run]", labels: Sequence[str] | None = None) -> bool:
    """Mean queue of every port that ever queued, largest first: how shallow the whole network is."""
    drawn = False
    for i, (run, label) in enumerate(_labelled(runs, labels)):
        queue = np.sort(_columns(run, "ports")["queue_mean_pkt"])[::-1]
        queue = queue[queue > 0]
        if len(queue):
            drawn = True
            place = np.arange(1, len(queue) + 1)
            ax.plot(place, queue, **_line(i, label))
    _axes(ax, "Mean queue of each port", "port, largest queue first", "queue (packets)")
    if drawn:
        _logarithmic(ax.xaxis)
    ax.set_ylim(bottom=0)
    return drawn


PANELS = (
    queue_over_time,
    queue_cdf,
    windows_over_time,
    slowdown_by_size,
    fct_cdf,
    goodput_by_flow,
    queues_by_port,
)


OF_WORLDS = (queue_over_time, rates_over_time, queue_cdf, queue_close_up)
"""What several worlds are compared by: none of it is known to one of them alone."""


class Drawing(Figure):
    """A figure that a notebook shows by itself, whether or not pyplot was imported."""

    def _repr_png_(self) -> bytes:
        image = BytesIO()
        self.savefig(image, format="png", dpi=110)
        return image.getvalue()


def figure(runs: "Run | Sequence[Run]", labels: Sequence[str] | None = None) -> Figure:
    """A matplotlib Figure of the first four `PANELS` these runs have data for, or of `OF_WORLDS`.

    `runs` is one `Run` or a list; `labels` name them (their algorithms unless given). The small print
    says what it takes to get the same figure again.
    """
    named = _labelled(runs, labels)
    with matplotlib.rc_context(STYLE):
        shown = panels(*_unlabelled(named))[:4]
        rows = 1 if len(shown) <= 2 else 2
        columns = max(1, -(-len(shown) // rows))
        drawing = Drawing(figsize=(3.6 * columns, 2.35 * rows + 0.6), dpi=200, layout="constrained")
        for letter, panel, at in zip("abcd", shown, range(1, 5), strict=False):
            ax = drawing.add_subplot(rows, columns, at)
            panel(ax, *_unlabelled(named))
            ax.set_title(f"({letter}) {ax.get_title(loc='left')}")
        if len(named) > 1:
            drawing.legend(handles=_keys(named), loc="outside upper center", ncols=min(len(named), 7))
        small_print(drawing, _small_print(named))
    return drawing


def panels(runs: "Run | Sequence[Run]", labels: Sequence[str] | None = None) -> list[Panel]:
    """Those of `PANELS` that these runs have data for, or of `OF_WORLDS` where they are of several worlds."""
    named = _labelled(runs, labels)
    worlds = {run.summary["world"] for run, _ in named}
    return [panel for panel in (PANELS if len(worlds) == 1 else OF_WORLDS) if _has_data(panel, named)]


def single(panel: Panel, runs: "Run | Sequence[Run]", labels: Sequence[str] | None = None) -> Figure:
    """A matplotlib Figure of one panel alone."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.2, 2.8), dpi=200, layout="constrained")
        panel(figure.add_subplot(), runs, labels)
    return figure


class Plots:
    """Figures of a run: `run.plot.queue_cdf()` draws on the Axes it is given, or on new ones (returned)."""

    def __init__(self, run: "Run") -> None:
        for panel in PANELS:
            setattr(self, panel.__name__, partial(self._draw, panel, run))

    def _draw(self, panel: Panel, run: "Run", ax: "Axes | None" = None) -> "Axes":
        if ax is None:
            return single(panel, run).axes[0]
        with matplotlib.rc_context(STYLE):
            panel(ax, run)
        return ax


def save(drawing: Figure, folder: str | Path) -> list[Path]:
    """Write `figure.png` and `figure.pdf` of `drawing` (a Figure) to `folder`; return the two paths.

    The small print of the figure is also the title in their metadata.
    """
    paths = [Path(folder, f"figure.{kind}") for kind in ("png", "pdf")]
    for path in paths:
        drawing.savefig(path, metadata={"Title": drawing.get_supxlabel().replace("\n", "  ·  ")})
    return paths


def small_print(drawing: Figure, text: str) -> None:
    """Write what a figure is made of below it, at the right, in as many lines as its width asks for."""
    most = int(drawing.get_figwidth() * CHARACTERS_IN)
    lines = [""]
    for part in text.split("  ·  "):
        joined = f"{lines[-1]}  ·  {part}" if lines[-1] else part
        if len(joined) > most and lines[-1]:
            lines.append(part)
        else:
            lines[-1] = joined
    drawing.supxlabel("\n".join(lines), fontsize=5.5, color="#555555", x=0.995, ha="right")


def _labelled(runs: "Run | Sequence[Run]", labels: Sequence[str] | None) -> Labelled:
    """`[(run, label)]`, from one run or several."""
    several = list(runs) if isinstance(runs, Sequence) else [runs]
    labels = labels or [", ".join(run.summary["cc"]) for run in several]
    return list(zip(several, labels, strict=True))


def _unlabelled(labelled: Labelled) -> "tuple[list[Run], list[str]]":
    return [run for run, _ in labelled], [label for _, label in labelled]


def _has_data(panel: Panel, runs: Labelled) -> bool:
    return panel(Figure().add_subplot(), *_unlabelled(runs))


def _keys(runs: Labelled) -> list[Line2D]:
    """Legend entries: the colour, dash and marker of each run."""
    return [Line2D([], [], **look(i), label=label) for i, (_, label) in enumerate(runs)]


def _small_print(runs: Labelled) -> str:
    first = runs[0][0].summary
    # Runs in real time have none.
    prints = ", ".join(f"{label} {run.summary['fingerprint'] or ''}".rstrip() for run, label in runs)
    early = "  ·  interrupted" if any(run.interrupted for run, _ in runs) else ""
    return f"{first['name']}  ·  seed {first['seed']}  ·  shallows {first['version']}  ·  {prints}{early}"


def _columns(run: "Run", table: str) -> "dict[str, NDArray[Any]]":
    """The columns of a table as numpy arrays, text as objects."""
    columns = run.columns(table).items()
    return {name: values.texts() if isinstance(values, Names) else values for name, values in columns}


def _bottlenecks(runs: Labelled) -> list[str]:
    """The port that is drawn of each run: the same one, if they have one in common."""
    from shallows.comparison import bottlenecks

    return [port["port"] for port in bottlenecks(run for run, _ in runs)]


def _at_bottlenecks(named: Labelled, table: str) -> Iterator[tuple[int, str, str, dict[str, "NDArray[Any]"]]]:
    """(its number, its label, the port, the columns) of each run with rows of its bottleneck in `table`."""
    for i, ((run, label), bottleneck) in enumerate(zip(named, _bottlenecks(named), strict=True)):
        columns, port = _of_port(run, table, bottleneck)
        if port is not None:
            yield i, label, port, columns


def _of_port(run: "Run", table: str, bottleneck: str) -> "tuple[dict[str, NDArray[Any]], str | None]":
    """The rows of `table` for `bottleneck` if it is there, else for the recorded port that queues most."""
    columns = _columns(run, table)
    recorded = set(columns["port"])
    if not recorded:
        return columns, None
    ports = _columns(run, "ports")
    mean = dict(zip(ports["port"], ports["queue_mean_pkt"], strict=True))
    port = bottleneck if bottleneck in recorded else max(sorted(recorded), key=lambda name: mean[name])
    rows = columns["port"] == port
    return {name: values[rows] for name, values in columns.items()}, port


def _ports(drawn: dict[int, str]) -> str:
    names = sorted(set(drawn.values()))
    return names[0] if len(names) == 1 else "the bottleneck"


def _decisive(runs: Labelled) -> str:
    """The name of what the algorithms of all runs decide: windows, or rates where some have none."""
    named = [_columns(run, "probes")["name"] for run, _ in runs]
    named = [names for names in named if len(names)]
    return "window_pkt" if all("window_pkt" in names for names in named) else "rate_gbps"


def _decisions(run: "Run", what: str) -> "tuple[NDArray[Any], NDArray[Any], NDArray[Any]]":
    """Times (ms), flows and values of a run's probes of that name."""
    probes = _columns(run, "probes")
    rows = probes["name"] == what
    return probes["time_us"][rows] / 1e3, probes["flow"][rows], probes["value"][rows]


def _flow_labels(run: "Run", flows: "NDArray[Any]") -> list[str]:
    """What to call these flows: also by their algorithms where there are several."""
    cc = _columns(run, "flows")["cc"][flows]
    several = len(set(cc)) > 1
    return [f"flow {one}, {its}" if several else f"flow {one}" for one, its in zip(flows, cc, strict=True)]


def _finished(run: "Run", column: str) -> "tuple[NDArray[Any], NDArray[Any]]":
    """Size and `column` of the flows that count for completion times."""
    flows = _columns(run, "flows")
    rows = np.isfinite(flows["fct_us"]) & (flows["start_us"] >= run.summary["warmup_s"] * 1e6)
    return flows["bytes"][rows], flows[column][rows]


def _warmup(ax: "Axes", runs: Labelled) -> None:
    """Shade what the statistics leave out; both axes of a series over time start at 0."""
    ax.margins(x=0)
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    ends_ms = min(run.summary["warmup_s"] for run, _ in runs) * 1e3
    if ends_ms > 0:
        ax.axvspan(0, ends_ms, color="#eeeeee", linewidth=0, zorder=0)
        at = ax.get_xaxis_transform()  # x in data, y in shares of the height
        ax.text(0, 0.98, " warm-up", transform=at, ha="left", va="top", fontsize=6, color="#777777")


def _band(dense: bool) -> str:
    return ": mean, range" if dense else ""


def _series(
    ax: "Axes",
    x: "NDArray[Any]",
    y: "NDArray[Any]",
    i: int,
    name: str,
    marks: bool = True,
    *,
    legend: bool = False,
) -> bool:
    """A line, with sparse markers; dense samples become their mean with the range as a band.

    `name` is shown where values are pointed at, and in a legend if there is to be one. Returns whether they
    were dense.
    """
    colour = look(i)["color"]
    edges: F64 = np.linspace(float(x.min()), float(x.max()), TIME_BINS + 1)
    dense = len(x) > 2 * TIME_BINS
    if dense:
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
        starts = np.unique(np.searchsorted(x, edges[:-1]))
        low, high = np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)
        counts = np.diff(np.append(starts, len(x)))
        x, y = np.add.reduceat(x, starts) / counts, np.add.reduceat(y, starts) / counts
        ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    # markers of different lines do not sit on each other
    every = max(1, len(x) // 8)
    marker = {"marker": look(i)["marker"], "markevery": (i * every // 3, every)} if marks else {}
    ax.plot(x, y, color=colour, label=name if legend else None, gid=name, linewidth=1.0, **marker)
    return dense


def _means(line: "NDArray[Any]", time_ms: "F64", value: "F64", width_ms: float) -> "F64":
    """[lines, RATE_BINS]: mean of `value` in each stretch of time; NaN where there is none."""
    place = line * RATE_BINS + np.minimum((time_ms / width_ms).astype(int), RATE_BINS - 1)
    size = (int(line.max()) + 1) * RATE_BINS
    counts = np.bincount(place, minlength=size)
    sums = np.bincount(place, value, minlength=size)
    return np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0).reshape(-1, RATE_BINS)


def _bundle(ax: "Axes", x: "NDArray[Any]", lines: "F64", i: int, name: str) -> None:
    """Lines [lines, x] of run `i`, or of many their mean with the range as a band."""
    shape = {**_line(i, name), "linewidth": 1.0}
    if len(lines) <= MOST_FLOWS:
        ax.plot(x, lines.T, **shape)
        return
    there = np.isfinite(lines).any(axis=0)
    low, mean, high = (of(lines[:, there], axis=0) for of in (np.nanmin, np.nanmean, np.nanmax))
    ax.fill_between(x[there], low, high, color=shape["color"], alpha=0.18, linewidth=0)
    ax.plot(x[there], mean, **shape)


def _axes(ax: "Axes", title: str, x: str, y: str) -> None:
    ax.set_title(title, loc="left")
    ax.set_xlabel(x)
    ax.set_ylabel(y)


def _legend_beside(ax: "Axes", **of: Any) -> None:
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=2, borderaxespad=0.2, **of)


def _logarithmic(axis: "Axis") -> None:
    """A log axis labelled with plain numbers, 1 and 10 rather than powers, where data span a decade."""
    low, high = axis.get_data_interval()
    if low <= 0 or high < 10 * low:
        return
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(matplotlib.ticker.NullFormatter())

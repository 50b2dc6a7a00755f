"""The page of a network over time: its drawing, in which a slider chooses the moment."""

import zlib
from base64 import b64encode
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from shallows.base import names
from shallows.html.document import beside, document
from shallows.html.palette import QUEUE, UTILIZATION, style
from shallows.pages import moments, pauses
from shallows.pages.drawing import PAUSED, RING, Drawing
from shallows.pages.moments import Moments
from shallows.units import MOST_ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.results.run import RunData
    from shallows.topology import Network

ROWS = 8
"""Rows of the table of the longest queues."""
MILLISECONDS_FROM_US = 10_000.0
"""Runs that last longer have their times in milliseconds."""
MOST_UNITS = 4095
"""The most units of the longest queue; more would only enlarge the page."""
CLOSE = 0.02
"""The largest error of the utilization of a port that needs no warning."""


def network(run: "RunData") -> str:
    """The page (HTML) of the network of a `Run` over time; `pages.report.write` writes it to a file.

    The colour of each half of a cable is the utilization of the port at that end, from 0 to 1: the share of
    the samples of a moment (`record.queues`) at which the port was sending. The dots are queues in full
    frames. A moment merges samples if there are more than `moments.MOST_MOMENTS`: their mean utilization and
    their largest queue. Raises `ScenarioError` if the run has no samples of ports.
    """
    net = run.scenario.graph
    shown = moments.of_run(run, net)
    packed = _Packed(shown, run.scenario.mtu)
    title = f"{run.summary['name']}: the network over time"
    times = _times(shown)
    drawing = Drawing(net, shown, packed.percent, packed.share, packed.paused)
    moment = shown.busiest
    numbers = names.script(_data(title, net, shown, packed, times, drawing))
    body = [
        f"<h1>{names.html(title)}</h1>",
        f'<p class="soft">{names.html(_source(run))}</p>',
        '<div class="network">',
        f'<p class="static moment">The busiest moment, {times[moment]}. '
        "With JavaScript this page shows every other moment.</p>",
        _player(shown, moment),
        f'<div class="map">{drawing.svg(moment, f"{title}, at {times[moment]}")}</div>',
        _legend(packed, net, shown),
        _table(packed, net, shown, moment),
        f'<script type="application/json">{numbers}</script>',
        "</div>",
        f'<h2>How to read it</h2><p class="soft">{" ".join(_notes(run, net, shown))}</p>',
    ]
    return document(title, {}, body, beside("network.css") + style(), beside("network.js"))


class _Packed:
    """The numbers of a page as small integers: utilization in percent, queues in `unit` bytes, [P, M]."""

    def __init__(self, shown: Moments, mtu: int) -> None:
        self.mtu, self.most_bytes = mtu, int(shown.queue_bytes.max())
        self.unit = -(-self.most_bytes // MOST_UNITS) or 1
        self.percent: NDArray[np.uint8] = np.rint(100 * shown.utilization).astype(np.uint8)
        self.queue: NDArray[np.uint16] = np.rint(shown.queue_bytes / self.unit).astype(np.uint16)
        self.paused = None if shown.paused is None else np.rint(100 * shown.paused).astype(np.uint8)
        self.most = int(self.queue.max())
        waiting = self.queue * float(self.unit) > mtu  # more than a frame in transmission
        self.share = np.where(waiting, self.queue / max(self.most, 1), 0.0)

    def text(self) -> str:
        """Bytes of utilization, then low and high bytes of the queues, then of pauses if any, compressed."""
        columns = self.percent, self.queue & 0xFF, self.queue >> 8, self.paused
        whole = b"".join(column.astype(np.uint8).tobytes() for column in columns if column is not None)
        return b64encode(zlib.compress(whole, 9)).decode()

    def frames(self, row: int, moment: int) -> str:
        """A queue in full frames."""
        return f"{int(self.queue[row, moment]) * self.unit / self.mtu:.1f}"


def _data(
    title: str, net: "Network", shown: Moments, packed: _Packed, times: list[str], drawing: Drawing
) -> dict[str, object]:
    """What network.js reads."""
    rates, its_rate = np.unique(net.rate_bps, return_inverse=True)
    return {
        "title": title,
        "links": shown.links.tolist(),
        "ports": [names.line(name) for name in net.port_names],
        "rates": [moments.rate(float(rate)) for rate in rates],
        "rate": its_rate.tolist(),
        "edges": [float(f"{edge:.9g}") for edge in shown.edges_us],
        "times": times,
        "samples": shown.samples.tolist(),
        "faults": shown.faults,
        "unit": packed.unit,
        "mtu": packed.mtu,
        "most": packed.most,
        "paused": PAUSED if packed.paused is not None else None,
        "radius": drawing.radius,
        "ring": RING,
        "widths": [drawing.width(0), drawing.wide],
        "rows": ROWS,
        "data": packed.text(),
    }


def _times(shown: Moments) -> list[str]:
    """The time of each moment: of its sample, or from its begin to its end."""
    scale, unit = (1e3, "ms") if shown.edges_us[-1] > MILLISECONDS_FROM_US else (1.0, "us")
    edges = shown.edges_us / scale
    step = float(np.diff(edges).min()) or 100.0  # a single sample has no interval
    digits = int(np.clip(2 - np.floor(np.log10(max(step, 1e-3))), 0, 3))
    texts = [f"{edge:.{digits}f}" for edge in edges]
    if shown.samples.max() == 1:
        return [f"{text} {unit}" for text in texts[:-1]]
    return [f"{begin} to {end} {unit}" for begin, end in pairwise(texts)]


def _source(run: "RunData") -> str:
    summary = run.summary
    world = f"{', '.join(summary['cc'])}, {summary['world']} world"
    line = f"{world}: shallows {summary['version']}, seed {summary['seed']}"
    return line + (f", fingerprint {summary['fingerprint']}" if summary["fingerprint"] else "")


def _player(shown: Moments, moment: int) -> str:
    """The button, the slider, and the total of the queues over time above it."""
    queues = shown.queue_bytes.sum(axis=0, dtype=np.float64)
    heights = 1 - queues / max(float(queues.max()), 1.0)
    many = len(heights)
    steps = "".join(f"V{height:.3g}H{place}" for place, height in enumerate(heights.tolist(), 1))
    return (
        '<div class="player" hidden><button type="button">▶ Play</button><div class="track">'
        f'<svg viewBox="0 0 {many} 1" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="trend" d="M0 1{steps}V1Z"/><path class="now" d="M{moment + 0.5} 0V1"/></svg>'
        f'<input type="range" min="0" max="{many - 1}" step="1" value="{moment}" aria-label="Time"></div>'
        "<output></output></div>"
    )


def _legend(packed: _Packed, net: "Network", shown: Moments) -> str:
    size, unit = (1e6, "MB") if packed.most_bytes >= 1e6 else (1e3, "KB")
    most = f"{packed.most_bytes / packed.mtu:.1f} frames ({packed.most_bytes / size:.3g} {unit})"
    bars = (
        ("Utilization of the port at this end", "u", UTILIZATION, ("0 %", "50 %", "100 %")),
        (f"Queue at the port, full frames of {packed.mtu} B", "q", QUEUE, ("0", most)),
    )
    drawn = "".join(
        f'<div>{title}<div class="bar" style="background: linear-gradient(to right, '
        f'{", ".join(f"var(--{key}{share})" for share in range(0, 101, 10))})"></div>'
        f'<span class="ends">{"".join(f"<span>{end}</span>" for end in ends)}</span></div>'
        for title, key, _, ends in bars
    )
    cross = '<path class="cross" d="M12 2l8 8m0-8l-8 8"/>'
    marks = (
        (bool(shown.down), "down", cross, "failed now"),
        (packed.paused is not None, "paused", "", f"paused for {PAUSED} % of the time or more"),
        (len(shown.links) < len(net.port_names), "", "", "not recorded"),
    )
    lines = "".join(
        f'<span><svg viewBox="0 0 32 12" aria-hidden="true"><path class="{kind}" d="M0 6H32"/>{over}</svg>'
        f"{meaning}</span>"
        for there, kind, over, meaning in marks
        if there
    )
    return f'<div class="legend">{drawn}<div class="marks">{lines}</div></div>'


def _table(packed: _Packed, net: "Network", shown: Moments, moment: int) -> str:
    """The longest queues at a moment; network.js replaces the rows."""
    keys = packed.percent[:, moment], packed.queue[:, moment]
    order = np.lexsort((-np.arange(len(shown.links)), *keys))[::-1][:ROWS]
    rows = "".join(
        f'<tr><td>{names.html(net.port_names[shown.links[row]])}</td><td class="number">'
        f'{packed.percent[row, moment]} %</td><td class="number">{packed.frames(row, moment)}</td></tr>'
        for row in order.tolist()
    )
    head = '<th>port</th><th class="number">utilization</th><th class="number">queue (frames)</th>'
    return (
        "<h2>Longest queues at this time</h2>"
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _notes(run: "RunData", net: "Network", shown: Moments) -> list[str]:
    """What the picture shows and how far it can be trusted, in HTML."""
    total, many = int(shown.samples.sum()), int(shown.samples[0])
    notes = [
        "Each half of a cable has the colour of the port at its end: the share of the samples of its queue "
        "at which it was sending. A dot is a queue of more than a full frame; it includes the frame in "
        "transmission, and its area and its colour grow with it. "
        "The curve above the slider is the sum of all queues."
    ]
    if many > 1:
        notes.append(
            f"A moment of this page merges {many} samples, {total} in {len(shown.samples)} moments: "
            "it has their mean utilization and their largest queue."
        )
    else:
        notes.append("A moment of this page is a single sample, so a port is either sending or not.")
    if len(shown.links) < len(net.port_names):
        notes.append(
            f"{len(shown.links)} of {len(net.port_names)} ports were recorded; "
            "with <code>--set record.ports=all</code> a run records all."
        )
    if shown.error is not None:
        notes.append(
            f"After the warm-up, the samples of each port give its exact utilization within "
            f"{100 * shown.error:.1f} percentage points."
        )
        if shown.error > CLOSE:
            notes.append(
                "Shorter intervals come closer, and so do intervals that are no round number, such as "
                '<code>record.queues = "1.007us"</code>: they do not keep the phase of senders.'
            )
    ended_us, last_us = run.summary["duration_s"] * 1e6, float(shown.edges_us[-1])
    if last_us < 0.999 * ended_us and total > 1:
        notes.append(
            f"The samples end at {last_us:.6g} us, though the run ended at {ended_us:.6g} us: "
            f"a run keeps at most {MOST_ROWS:,} of them."
        )
    return [*notes, *_caveats(run, shown)]


def _caveats(run: "RunData", shown: Moments) -> list[str]:
    """Ports that seem to be sending and are not, or the reverse."""
    notes: list[str] = []
    if shown.paused is not None:
        notes.append("The scenario ran again to find when pauses stopped ports, which then are not sending.")
    elif pauses.has_some(run):
        notes.append(
            "A port that a pause stops with a queue counts as sending: of a scenario with several classes, "
            "of an interrupted run, and of a run of another version nothing says when that was."
        )
    if run.summary["world"] == "fluid":
        notes.append(
            "A fluid has no frame in transmission, so a port without a queue counts as not sending, "
            "whatever it carries."
        )
    return notes

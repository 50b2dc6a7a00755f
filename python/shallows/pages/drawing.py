"""The SVG of a network at a moment, each half of a cable an element that network.js colours."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.base import names
from shallows.pages.moments import Moments
from shallows.plot import topology

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from shallows.core.contract import F64
    from shallows.topology import Network

WIDTH, TIER = 1000.0, 150.0
"""The width, and the distance of two tiers, in units of the drawing."""
SIDE, TOP, BOTTOM = 30.0, 30.0, 34.0
"""The margins."""
LETTER, MOST_LETTERS = 6.2, 14
"""The width of a letter, and the most letters of a name; longer ones are cut."""
THIN = 0.45
"""The width of an idle cable, as a share of a busy one's."""
PAUSED = 50
"""The least percentage of a moment for which a port is drawn as paused."""
DOT_AT = 0.42
"""Where the dot of a queue is on its half of a cable."""
RING = 10
"""The radius of a dot over the width of the ring that separates it from others."""


class Drawing:
    """The drawing of a network. `percent`, `share` and `paused` are utilization, queue and pauses of the
    moments, [P, M].
    """

    def __init__(
        self,
        net: "Network",
        shown: Moments,
        percent: "NDArray[np.uint8]",
        share: "F64",
        paused: "NDArray[np.uint8] | None",
    ) -> None:
        self.net, self.shown, self.percent, self.share, self.paused = net, shown, percent, share, paused
        self.tier = topology.tiers(net)
        place = topology.places(net, self.tier)
        curves = topology.curves(net, place)
        highest = topology.points(curves, np.linspace(0, 1, topology.ARC_POINTS))[:, :, 1].max()
        self.lowest = float(place[:, 1].min())
        self.height = TOP + TIER * (float(highest) - self.lowest) + BOTTOM
        self.place, self.curves = self._scaled(place), self._scaled(curves)
        cables = len(curves)
        self.wide = float(np.clip(28 / np.sqrt(cables), 0.6, 3.2))
        self.radius = round(float(np.clip(80 / np.sqrt(cables), 2.5, 9.0)), 2)

    def _scaled(self, place: "F64") -> "F64":
        x = SIDE + (WIDTH - 2 * SIDE) * place[..., 0]
        return np.stack([x, self.height - BOTTOM - TIER * (place[..., 1] - self.lowest)], axis=-1)

    def svg(self, moment: int, title: str) -> str:
        """The SVG with the colours of a moment. `title` is for screen readers."""
        sizes = f"--wide:{2.5 * self.wide:.1f}"
        size = f'viewBox="0 0 {WIDTH:g} {self.height:.0f}" style="{sizes}"'
        cables = f'<g class="cables" stroke-width="{self.width(0):.2f}">{"".join(self._cables(moment))}</g>'
        label = f'role="img" aria-label="{names.html(title)}"'
        return f"<svg {size} {label}>{cables}{''.join(self._nodes())}</svg>"

    def width(self, percent: float) -> float:
        """The width of a cable: idle ones are thin, so that busy ones stand out."""
        return self.wide * (THIN + (1 - THIN) * percent / 100)

    def _cables(self, moment: int) -> "Iterator[str]":
        """Halves of cables by link, dots by link, and crosses of the cables that fail."""
        failed, row = self.shown.failed(moment), {link: i for i, link in enumerate(self.shown.links.tolist())}
        halves = self._halves()
        arcs = self.curves[:, 0, 1] == self.curves[:, 2, 1]
        for link, (begin, control, end) in enumerate(halves):
            path = f"Q{_pair(control)} {_pair(end)}" if arcs[link // 2] else f"L{_pair(end)}"
            kind = " down" if link in failed else ""
            look = ""
            if link in row:
                if self.paused is not None and self.paused[row[link], moment] >= PAUSED:
                    kind += " paused"
                percent = int(self.percent[row[link], moment])
                look = f' style="stroke:var(--u{percent});stroke-width:{self.width(percent):.2f}"'
            yield f'<path class="half{kind}" d="M{_pair(begin)}{path}"{look}/>'
        dots = topology.points(halves, np.array([DOT_AT]))[:, 0]
        for link, (x, y) in enumerate(dots.tolist()):
            share = float(self.share[row[link], moment]) if link in row else 0.0
            radius = self.radius * share**0.5
            ring = f'stroke-width="{radius / RING:.2f}"'
            look = f' {ring} style="fill:var(--q{round(100 * share)})"' if share else ""
            yield f'<circle class="queue" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.2f}"{look}/>'
        for cable in sorted({fault.link // 2 for fault in self.shown.down}):
            shown = " shown" if failed & {2 * cable, 2 * cable + 1} else ""
            middle = _pair(halves[2 * cable][2] - 5)
            yield f'<path class="cross{shown}" data-cable="{cable}" d="M{middle}l10 10m0-10l-10 10"/>'

    def _halves(self) -> "F64":
        """The half of each cable at the egress port of each link, [links, 3, 2]: begin, control, middle."""
        begin, control, end = self.curves[:, 0], self.curves[:, 1], self.curves[:, 2]
        middle = (begin + 2 * control + end) / 4
        first = np.stack([begin, (begin + control) / 2, middle], axis=1)
        back = np.stack([end, (end + control) / 2, middle], axis=1)
        return np.stack([first, back], axis=1).reshape(-1, 3, 2)

    def _nodes(self) -> "Iterator[str]":
        titles = [*self.net.host_names, *self.net.switch_names]
        for level in sorted(set(self.tier.tolist())):
            nodes = np.flatnonzero(self.tier == level).tolist()
            apart = (WIDTH - 2 * SIDE) / len(nodes)
            half = float(np.clip(0.35 * apart, 1.0, 5.0))
            named = len(nodes) <= topology.MOST_NAMES
            letters = max(len(_cut(titles[node])) for node in nodes)
            turned = named and LETTER * letters > apart
            for node in nodes:
                x, y = self.place[node].tolist()
                yield _marker(titles[node], x, y, half, level == 0)
                if named:
                    yield _label(_cut(titles[node]), x, y, above=level > 0, turned=turned)


def _marker(name: str, x: float, y: float, half: float, host: bool) -> str:
    """A host is a circle, a switch a square, with its whole name at the pointer."""
    title = f"<title>{names.html(name)}</title>"
    if host:
        return f'<circle class="host" cx="{x:.1f}" cy="{y:.1f}" r="{half:.1f}">{title}</circle>'
    side = f'width="{2 * half:.1f}" height="{2 * half:.1f}"'
    return f'<rect x="{x - half:.1f}" y="{y - half:.1f}" {side}>{title}</rect>'


def _label(name: str, x: float, y: float, *, above: bool, turned: bool) -> str:
    at, anchor = y - 10 if above else y + 19, "middle"
    turn = ""
    if turned:
        at, anchor = (y - 9, "start") if above else (y + 12, "end")
        turn = f' transform="rotate(-40 {x:.1f} {at:.1f})"'
    return f'<text x="{x:.1f}" y="{at:.1f}" text-anchor="{anchor}"{turn}>{names.html(name)}</text>'


def _cut(name: str) -> str:
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"


def _pair(point: "F64") -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"

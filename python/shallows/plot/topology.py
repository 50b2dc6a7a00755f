"""Drawing of a network: hosts at the bottom, switches above them by their distance from hosts."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.collections import LineCollection

from shallows.base import names
from shallows.plot import Drawing, small_print

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from shallows.core.contract import F64
    from shallows.topology import Network

MOST_NAMES = 40
"""The most nodes of a tier whose names are drawn."""
NAME_CHARACTER_IN = 0.045
"""The width of a character of a node's name. Names that do not fit beside each other are turned."""
COLOURS = "viridis_r"
"""The colours of utilization from 0 to 1."""
ARC_POINTS = 17
APART = 0.004
"""The distance of parallel links, as a share of the width."""


def network(net: "Network", title: str, used: "F64 | None" = None, size: float = 7.2) -> "Figure":
    """A Figure of a network, `size` inches wide.

    `used` colours each cable by the busier of its two links, from 0 to 1.
    """
    tier = tiers(net)
    place = places(net, tier)
    drawing = Drawing((size, 1.2 + 0.9 * float(np.ptp(tier))), style={"axes.grid": False})
    with drawing.styled():
        ax = drawing.add_subplot()
        ax.set_axis_off()
        lines = _cables(net, place)
        if used is None:
            lines.set_color("#888888")
        else:
            lines.set(array=np.maximum(used[0::2], used[1::2]), cmap=COLOURS, clim=(0, 1))
            drawing.colorbar(lines, ax=ax, label="utilization", shrink=0.8)
        ax.add_collection(lines)
        _nodes(ax, net, tier, place)
        small_print(drawing, title)
    return drawing


def tiers(net: "Network") -> "NDArray[np.intp]":
    """By node: 0 for hosts, -1 for switches inside servers, else the distance to the nearest host."""
    tier = np.full(net.nodes, net.nodes)
    tier[: net.hosts] = 0
    outside = ~net.in_server
    source, target = net.link_from[outside], net.link_to[outside]
    for distance in range(1, net.nodes):
        found = target[(tier[source] == distance - 1) & (tier[target] > distance)]
        if not len(found):
            break
        tier[found] = distance
    tier[list(net.server_switches)] = -1
    return np.where(tier == net.nodes, 1, tier)


def places(net: "Network", tier: "NDArray[np.intp]") -> "F64":
    """(x, y) of every node: a tier is ordered by the mean place of its neighbours nearer to hosts."""
    place = np.zeros((net.nodes, 2))
    place[:, 1] = tier
    for level in sorted(set(tier.tolist()), key=lambda level: (abs(level), level)):
        nodes = np.flatnonzero(tier == level)
        if level:
            down = np.abs(tier[net.link_to]) < np.abs(tier[net.link_from])
            source, target = net.link_from[down], net.link_to[down]
            count = np.maximum(np.bincount(source, minlength=net.nodes), 1)
            mean = np.bincount(source, place[target, 0], net.nodes) / count
            nodes = nodes[np.argsort(np.round(mean[nodes], 9), kind="stable")]
        place[nodes, 0] = (np.arange(len(nodes)) + 0.5) / len(nodes)
    return place


def curves(net: "Network", place: "F64") -> "F64":
    """The curve of each cable, [cables, 3, 2]: (x, y) of its begin, control point and end (quadratic Bézier).

    A cable inside a tier is an arc. Cables between two nodes are beside each other.
    """
    named = zip(net.port_names[0::2], net.pair_names[0::2], strict=True)
    shift = np.array([APART * int(name[len(pair) + 1 :] or 0) for name, pair in named])  # "s0->s1#2"
    begin, end = place[net.link_from[0::2]], place[net.link_to[0::2]]
    found = np.stack([begin, (begin + end) / 2, end], axis=1)
    found[:, :, 0] += shift[:, None]
    found[:, 1, 1] += np.where(begin[:, 1] == end[:, 1], 2 * np.abs(end - begin)[:, 0], 0)
    return found


def points(curve: "F64", along: "F64") -> "F64":
    """The points [cables, along, 2] of curves [cables, 3, 2] at the shares `along` of their ways."""
    weights = np.stack([(1 - along) ** 2, 2 * along * (1 - along), along**2], axis=1)
    return np.einsum("as,csx->cax", weights, curve)


def _cables(net: "Network", place: "F64") -> LineCollection:
    """A line for each cable."""
    lines = points(curves(net, place), np.linspace(0, 1, ARC_POINTS))
    return LineCollection(list(lines), linewidths=0.7)


def _nodes(ax: "Axes", net: "Network", tier: "NDArray[np.intp]", place: "F64") -> None:
    titles = [names.figure(name) for name in [*net.host_names, *net.switch_names]]
    for level in set(tier.tolist()):
        nodes = np.flatnonzero(tier == level)
        marker = "s" if level else "o"
        ax.scatter(*place[nodes].T, s=14, marker=marker, color="black", zorder=3)
        longest = max(len(titles[node]) for node in nodes) + 1
        turned = len(nodes) * longest * NAME_CHARACTER_IN > ax.figure.get_size_inches()[0]
        offset, side = ((0, 4), "bottom") if level > 0 else ((0, -4), "top")
        for node in nodes if len(nodes) <= MOST_NAMES else nodes[:0]:
            ax.annotate(
                titles[node], place[node], offset, textcoords="offset points", fontsize=5,
                rotation=90 * turned, ha="center", va=side, zorder=4,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.4},
            )  # fmt: skip
    ax.margins(0.02, 0.15)

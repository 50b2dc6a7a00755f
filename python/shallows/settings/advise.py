"""Parameters of an algorithm and its ports, chosen together: margins in the fluid world, then packets.

The fluid model of the scenario's algorithm is examined on a grid of parameters, at every rate of the switch
ports, over ranges of flows and of base round trips. Candidates have a large enough phase margin everywhere,
and no other setting with the same additive step has both a larger margin and a shorter queue. Their marking
ends well below what a port may hold. The scenario then runs with each candidate, and with its own settings,
in the packet world over several seeds, and long-lived flows alone with the best at the ends of the ranges.
Where the two worlds disagree, packets decide.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.base.toml import is_table
from shallows.errors import ScenarioError
from shallows.results.paths import ROOT
from shallows.settings import tuning as tunings
from shallows.settings.corners import Corner, Places, worse
from shallows.settings.disagreements import disagreements
from shallows.settings.explain import explain
from shallows.settings.margins import Margins, Worst
from shallows.settings.trials import GOODPUT, Metric, Trial, trials
from shallows.settings.tuning import Range, Tuned
from shallows.units import SIZE, TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.core.contract import F64
    from shallows.scenario import Scenario
    from shallows.settings.explain import PortExplanation

ROOM = 0.8
"""Marking of a candidate ends at this share of what a port may hold, at most: bursts need the rest."""
LEAST_MARGIN_DEG, LEAST_SHARE = 10.0, 0.75
"""Candidates keep 10 degrees, or this share of the largest margin where that is less."""
SHORTER = 0.9
"""A setting with a smaller margin has to have at most this share of the queue."""
OWN = "own"
"""The name of the settings that the scenario has."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """Settings and what both worlds say of them.

    settings: key of the scenario -> value. worst, settles_s: of the fluid model; see `Margins`. step: the
    additive step. trial: None before packets ran. faults: see `Trial.faults`, and what `worse` adds.
    corners: of the settings that were compared with long-lived flows alone.
    """

    name: str
    settings: Mapping[str, object]
    worst: Worst
    settles_s: float
    step: float = 0.0
    trial: Trial | None = None
    faults: tuple[str, ...] = ()
    corners: tuple[Corner, ...] = ()

    @property
    def measured(self) -> Trial:
        assert self.trial is not None
        return self.trial


@dataclass(frozen=True)
class Advice:
    """Settings by what packets measure, the best first, and what stands behind them.

    best: the first candidate that is better than the scenario's own settings, or else these. fronts: additive
    step -> (longest queues in bytes, least margins in degrees) of settings that no other beats in both.
    metric: see `Metric`.
    assumed, disagreements: sentences. scenario: with the best settings.
    """

    best: Candidate
    candidates: tuple[Candidate, ...]
    own: Candidate
    metric: Metric
    fronts: Mapping[float, "tuple[F64, F64]"]
    assumed: tuple[str, ...]
    disagreements: tuple[str, ...]
    scenario: "Scenario"


@dataclass(frozen=True)
class _Grid:
    """The grid's usable points by margin: values of the model's parameters, margins, queues."""

    names: tuple[str, ...]
    values: "F64"
    margins: "F64"
    queues: "F64"


def advise(
    scenario: "Scenario",
    flows: tuple[int, int] = (2, 64),
    rtts_s: tuple[float, float] | None = None,
    *,
    candidates: int = 6,
    seeds: int | Sequence[int] = 3,
    out: str | PathLike[str] | None = None,
    progress: bool = False,
) -> Advice:
    """The `Advice` for the algorithm of `scenario` over ranges of flows at a port and base round trips.

    rtts_s: in seconds, the scenario's own if absent. Packets run `candidates` + 1 settings with each of the
    seeds, and long-lived flows with the best at the ends of the ranges: two sweeps in the folder `out`.
    Raises `ScenarioError` where nothing can be tuned.
    """
    # Under our own names: NIC's and switch's names for keys would set them a second time.
    scenario = type(scenario).from_toml(scenario.to_toml(), file=scenario.file)
    tuned, explanation = tunings.tuned(scenario), explain(scenario)
    rtts = rtts_s or (explanation.base_rtt_ps * 1e-12, explanation.base_rtt_ps * 1e-12)
    rates = [port.rate_bps for port in explanation.ports]
    limit = ROOM * min((_holds(port) for port in explanation.ports), default=np.inf)
    given = Range(tuned.algorithm.parameters, min(rates), rtts[1], limit)
    margins = Margins.of(scenario, tuned.algorithm, rates, flows, rtts)
    own = Candidate(OWN, {}, margins.worst(), margins.settles_s())
    grid, enough = _usable(
        margins.with_parameters(tuned.tuning.fixed), tunings.grid(tuned.tuning, given), limit
    )
    fronts = _fronts(grid, tuned.tuning.step)
    extended = bool(getattr(scenario.network.marking, "parameters", {}).get("extended"))
    chosen = [
        _candidate(f"{number}", grid, at, margins.with_parameters(tuned.tuning.fixed), tuned, extended)
        for number, at in enumerate(_spread(list(fronts.values()), candidates), 1)
    ]
    own = replace(own, settings=_own_values(scenario, list(chosen[0].settings)))
    chosen = [one for one in chosen if scenario.changed(one.settings) != scenario]
    metric = Metric.of(scenario)
    folder = Path(out) if out else ROOT / scenario.name / "advice"
    tried = [own.settings, *(one.settings for one in chosen)]
    found = trials(scenario, tried, seeds, metric, folder / "settings", progress)
    _check_runs(scenario, found)
    ranked = _ranked([replace(one, trial=trial) for one, trial in zip((own, *chosen), found, strict=True)])
    own = next(one for one in ranked if one.name == OWN)
    settles = [one.settles_s for one in ranked if np.isfinite(one.settles_s)]
    at = {(count, rtt) for count in flows for rtt in rtts} | {(own.worst.flows, own.worst.rtt_s)}
    longest = max(settles, default=np.inf)
    places = Places(scenario, tuned.tables[0], min(rates), longest, sorted(at), folder / "alone", progress)
    ranked = _compared(ranked, places)
    own = next(one for one in ranked if one.name == OWN)
    best = next((one for one in ranked if one.name != OWN and _is_better(one, own)), own)
    disagree = [*disagreements(scenario, ranked, own, metric), *(one.disagreement for one in best.corners)]
    return Advice(
        best, tuple(one for one in ranked if one is not own), own, metric,
        {step: (grid.queues[front], grid.margins[front]) for step, front in fronts.items()},
        tuple(_assumed(tuned, metric, flows, rtts, enough, limit)), tuple(filter(None, disagree)),
        scenario.changed(best.settings),
    )  # fmt: skip


def _holds(port: "PortExplanation") -> float:
    """Bytes at which a port drops, trims or pauses first; infinite without a limit."""
    others = [one.bytes for one in port.levels if not one.key.startswith("network.marking")]
    return min(others, default=np.inf)


def _usable(margins: Margins, axes: Mapping[str, "F64"], limit: float) -> tuple[_Grid, float]:
    """The points of the grid with enough margin, and how much that is. Raises `ScenarioError` without any."""
    worst, queues = margins.over(axes)
    points = np.stack(np.meshgrid(*axes.values(), indexing="ij"), axis=-1).reshape(-1, len(axes))
    worst, queues = worst.ravel(), queues.ravel()
    stable = (np.nan_to_num(worst, nan=-1.0) > 0) & (queues <= limit)
    if not stable.any():
        at = f"{margins.flows[0]} to {margins.flows[1]} flows"
        expected = (
            f"a narrower range: none of {len(points)} settings is stable over all of it with marking that "
            f"ends below {_size(limit)}; see --flows and --rtts"
        )
        raise ScenarioError("advise", at, expected)
    enough = min(LEAST_MARGIN_DEG, LEAST_SHARE * float(worst[stable].max()))
    order = np.flatnonzero(stable & (worst >= enough))
    order = order[np.lexsort((queues[order], -worst[order]))]
    return _Grid(tuple(axes), points[order], worst[order], queues[order]), enough


def _fronts(grid: _Grid, step: str) -> "dict[float, NDArray[np.intp]]":
    """Additive step -> the points that no other beats in margin and queue, the largest margin first.

    Queues that are hardly shorter than that of a larger margin are left out.
    """
    steps = grid.values[:, grid.names.index(step)]
    fronts: dict[float, NDArray[np.intp]] = {}
    for one in np.unique(steps).tolist():
        front, shortest = list[int](), np.inf
        for place in np.flatnonzero(steps == one).tolist():
            if grid.queues[place] < SHORTER * shortest:
                front.append(place)
                shortest = grid.queues[place]
        fronts[one] = np.asarray(front)
    return fronts


def _spread(fronts: Sequence["NDArray[np.intp]"], count: int) -> list[int]:
    """At most `count` points of the fronts, in turn: the ends of each first, then what is between them."""
    turns = [_ends_first(front.tolist()) for front in fronts]
    longest = max(map(len, turns))
    mixed = [turn[i] for i in range(longest) for turn in turns if i < len(turn)]
    return mixed[:count]


def _ends_first(front: list[int]) -> list[int]:
    """The last, the first, and then the middle of what is left, again and again."""
    order, gaps = [front[-1], *front[:1]], [front[1:-1]]
    while gaps:
        gap = gaps.pop(0)
        if gap:
            middle = len(gap) // 2
            order.append(gap[middle])
            gaps += [gap[:middle], gap[middle + 1 :]]
    return list(dict.fromkeys(order))


def _candidate(name: str, grid: _Grid, at: int, margins: Margins, tuned: Tuned, extended: bool) -> Candidate:
    values = dict(zip(grid.names, grid.values[at].tolist(), strict=True))
    there = margins.with_parameters(values)
    settings = tuned.keys(values, extended)
    return Candidate(name, settings, there.worst(), there.settles_s(), values[tuned.tuning.step])


def _own_values(scenario: "Scenario", keys: Sequence[str]) -> dict[str, object]:
    """What the scenario has at dotted keys, as a file says it; tables as inline tables."""
    tables, values = tomllib.loads(scenario.to_toml()), dict[str, object]()
    for key in keys:
        at: Any = tables
        for step in key.split("."):
            at = at[int(step) if isinstance(at, list) else step]
        values[key] = _inline(at) if is_table(at) else at
    return values


def _inline(table: Mapping[str, object]) -> str:
    """A table of texts in one line, as a key of a sweep has it."""
    return "{ " + ", ".join(f'{key} = "{value}"' for key, value in table.items()) + " }"


def _check_runs(scenario: "Scenario", found: Sequence[Trial]) -> None:
    """Raise `ScenarioError` if runs are too short to rank settings, with how long they should be."""
    own, needed_s = found[0], max(one.needed_s for one in found)
    if own.needed_s:
        needed_ms = math.ceil(needed_s * 1e3)
        expected = (
            "runs that settle: rates of flows without an end still rise while links have room, and at their "
            f"pace need about {own.needed_s * 1e3:.3g} ms, with other settings up to {needed_s * 1e3:.3g} "
            f'ms; write warmup = "{needed_ms}ms" and duration = "{2 * needed_ms}ms", or more'
        )
        raise ScenarioError("duration", TIME.text(scenario.duration), expected)
    if all(one.unfinished for one in found):
        expected = f"a longer time: with every setting flows are unfinished, {own.unfinished} with its own"
        raise ScenarioError("duration", TIME.text(scenario.duration), expected)


def _ranked(measured: Sequence[Candidate]) -> list[Candidate]:
    """Those first that have no faults in packets, by their metric; the scenario's own is the first given."""
    own = measured[0].measured
    return _sorted([replace(one, faults=one.measured.faults(own)) for one in measured])


def _sorted(judged: Sequence[Candidate]) -> list[Candidate]:
    def order(one: Candidate) -> tuple[int, float]:
        return len(one.faults), float(np.nan_to_num(one.measured.metric.mean, nan=np.inf))

    return sorted(judged, key=order)


def _compared(ranked: Sequence[Candidate], places: Places) -> list[Candidate]:
    """`ranked` after long-lived flows alone: candidates without faults, until one is nowhere worse than own.

    Own settings that are worse than this candidate somewhere come after it.
    """
    judged = {one.name: one for one in ranked}
    own = judged[OWN] = replace(judged[OWN], corners=places.corners(OWN, {}))
    for one in ranked:
        if one.name == OWN or one.faults:
            continue
        one = replace(one, corners=places.corners(one.name, one.settings))
        fault = worse(one.corners, own.corners)
        judged[one.name] = replace(one, faults=(fault,) if fault else ())
        if not fault:
            fault = worse(own.corners, one.corners)
            judged[OWN] = replace(own, faults=(*own.faults, fault) if fault else own.faults)
            break
    return _sorted(list(judged.values()))


def _is_better(one: Candidate, own: Candidate) -> bool:
    """Whether packets find a setting better than the scenario's own: with fewer faults, or clearly."""
    if len(one.faults) != len(own.faults):
        return len(one.faults) < len(own.faults)
    difference = one.measured.difference
    return difference.high < 0 if math.isfinite(difference.high) else difference.mean < 0


def _assumed(
    tuned: Tuned,
    metric: Metric,
    flows: tuple[int, int],
    rtts: tuple[float, float],
    enough: float,
    limit: float,
) -> list[str]:
    few, many = (TIME.words(rtt * 1e12) for rtt in rtts)
    round_trips = f"base round trips of {few} to {many}" if few != many else f"a base round trip of {few}"
    found = [
        f"{flows[0]} to {flows[1]} flows at a port, and {round_trips}: candidates have a phase margin of at "
        f"least {enough:.3g} degrees over all of it",
        "packets have the scenario's own traffic and paths, and at the ends of the ranges long-lived flows",
        f"settings that carry less than {GOODPUT:.0%} of what the scenario's own carry, pause or drop more, "
        "or do not settle in packets come last",
        f"parameters that are not named stay as the scenario has them; {tuned.tuning.note}",
    ]
    if np.isfinite(limit):
        found.append(
            f"queues and the end of marking stay below {_size(limit)}, {ROOM:.0%} of what a port may hold"
        )
    if tuned.others:
        found.append(f"the fluid model leaves out the traffic of {', '.join(tuned.others)}; packets have it")
    if not metric.ends:
        found.append(
            "no flow of the scenario ends, so nothing measures how fast flows take free bandwidth: add some"
        )
    return found


def _size(limit: float) -> str:
    return SIZE.text(round(limit)) if np.isfinite(limit) else "any size"

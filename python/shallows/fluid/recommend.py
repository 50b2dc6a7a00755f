"""Which parameters keep a range of flow counts farthest from instability within a queue bound."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from shallows.core.contract import F64, Flags
from shallows.errors import ScenarioError
from shallows.fluid.linear import linearise
from shallows.fluid.maps import MarginMap, margin_map
from shallows.fluid.model import Model

OTHERS = 4
"""Choices named beside the best."""


@dataclass(frozen=True)
class Choice:
    """A point of the grid: tuned name -> value in SI units, and its extremes over all numbers of flows."""

    parameters: Mapping[str, float]
    worst_flows: int
    worst_margin_deg: float
    worst_queue_bytes: float


@dataclass(frozen=True)
class Recommendation:
    """The best of a grid, and the grid.

    model: the model with the best parameters, or None where none is stable within the bound.
    parameters: tuned name -> value in SI units, of the best, or else of the least bad. worst_flows: the
    number of flows with its least margin. worst_margin_deg, worst_queue_bytes: its extremes over all
    numbers of flows. margin_deg, queue_bytes: those extremes over the grid of the tuned parameters (NaN
    where some number of flows has no fixed point). map: every point. explanation: one sentence. others:
    further stable choices, by margin: what shorter queues cost, and where these are few, the next best.
    """

    model: Model | None
    parameters: Mapping[str, float]
    worst_flows: int
    worst_margin_deg: float
    worst_queue_bytes: float
    margin_deg: F64
    queue_bytes: F64
    queue_bound_bytes: float
    map: MarginMap
    explanation: str
    others: tuple[Choice, ...] = ()


def recommend(
    model: Model, flows: ArrayLike, tune: Mapping[str, F64], queue_bound_bytes: float = np.inf
) -> Recommendation:
    """The `Recommendation` of the largest worst-case phase margin.

    flows: the numbers of flows to withstand. tune: parameter -> values to choose from, SI units.
    A choice that is taken is confirmed by its characteristic roots at every number of flows.
    Raises ScenarioError where there is nothing to tune.
    """
    if not tune:
        raise ScenarioError("tune", None, "at least one parameter and its values")
    grid = margin_map(model, {**tune, "flows": flows})
    margins = np.where(grid.exists, grid.phase_margin_deg, np.nan)
    # An unstable or missing point anywhere in the range must decide, so NaN wins over any number.
    worst_margin, worst_queue = margins.min(axis=-1), grid.queue_bytes.max(axis=-1)
    within = worst_queue <= queue_bound_bytes
    ranked: F64 = np.where(within & (worst_margin > 0), worst_margin, -np.inf)
    order = np.argsort(-ranked, axis=None, kind="stable")[: np.isfinite(ranked).sum()]
    for at, flat in enumerate(order):
        place = _place(flat, ranked)
        best = replace(model, **_parameters(tune, place))
        if _settles(best, flows):
            found = _made(best, tune, place, worst_margin, worst_queue, queue_bound_bytes, grid, "")
            places = [_place(order[at + one], ranked) for one in _others(worst_queue.flat[order[at:]])]
            others = [
                Choice(_parameters(tune, one), _worst_flows(grid, one), worst_margin[one], worst_queue[one])
                for one in places
                if _settles(replace(model, **_parameters(tune, one)), flows)
            ]
            return replace(found, others=tuple(others))
    return _none(tune, worst_margin, worst_queue, within, queue_bound_bytes, grid)


def _parameters(tune: Mapping[str, F64], place: tuple[int, ...]) -> dict[str, float]:
    return {name: float(values[i]) for (name, values), i in zip(tune.items(), place, strict=True)}


def _settles(model: Model, flows: ArrayLike) -> bool:
    """Whether its characteristic roots say that it is stable at every number of flows."""
    counts = np.asarray(flows)
    return all(linearise(replace(model, flows=int(n))).rightmost_root().real < 0 for n in counts)


def _others(queue: F64) -> list[int]:
    """At most `OTHERS` places beside the first in `queue`, which is in the order of margins.

    They are those shorter than all before them, evenly from the first such to the shortest; where they are
    fewer, the next ones too.
    """
    shorter = np.flatnonzero(queue[1:] < np.minimum.accumulate(queue)[:-1]) + 1
    if len(shorter) > OTHERS:
        shorter = shorter[np.linspace(0, len(shorter) - 1, OTHERS).round().astype(int)]
    next_best = np.setdiff1d(np.arange(1, min(len(queue), 2 * OTHERS + 1)), shorter)[: OTHERS - len(shorter)]
    return np.sort(np.concatenate([shorter, next_best])).tolist()


def _place(flat: int, grid: F64) -> tuple[int, ...]:
    """Where in `grid` its value number `flat` is."""
    return tuple(int(i) for i in np.unravel_index(flat, grid.shape))


def _made(
    best: Model | None,
    tune: Mapping[str, F64],
    place: tuple[int, ...],
    worst_margin: F64,
    worst_queue: F64,
    bound: float,
    grid: MarginMap,
    explanation: str,
) -> Recommendation:
    return Recommendation(
        best, _parameters(tune, place), _worst_flows(grid, place),
        float(worst_margin[place]), float(worst_queue[place]),
        worst_margin, worst_queue, bound, grid, explanation,
    )  # fmt: skip


def _worst_flows(grid: MarginMap, place: tuple[int, ...]) -> int:
    """The number of flows with the least margin; -1 where none has any."""
    along = grid.phase_margin_deg[place]
    return int(grid.axes["flows"][np.nanargmin(along)]) if np.isfinite(along).any() else -1


def _none(
    tune: Mapping[str, F64], worst_margin: F64, worst_queue: F64, within: Flags, bound: float, grid: MarginMap
) -> Recommendation:
    """Explain why there is no choice: no fixed point, no stability, or the queue bound."""
    rests = np.isfinite(worst_margin)
    if not rests.any():
        text = "none is stable: every choice lacks a fixed point for some number of flows"
        place = (0,) * worst_margin.ndim
    elif not (worst_margin[rests] > 0).any():
        place = _place(int(np.nanargmax(worst_margin)), worst_margin)
        text = f"none is stable: the best worst-case phase margin is {worst_margin[place]:.2f} degrees"
    elif not (within & (worst_margin > 0)).any():
        stable_queues: F64 = np.where(worst_margin > 0, worst_queue, np.inf)
        place = _place(int(np.argmin(stable_queues)), stable_queues)
        text = (
            f"none is stable within the bound: the shortest queue of a stable choice reaches "
            f"{worst_queue[place] / 1e3:.4g} KB, the bound is {bound / 1e3:.4g} KB"
        )
    else:
        place = _place(int(np.nanargmax(worst_margin)), worst_margin)
        text = "none is stable: the roots contradict the margins of every choice"
    return _made(None, tune, place, worst_margin, worst_queue, bound, grid, text)

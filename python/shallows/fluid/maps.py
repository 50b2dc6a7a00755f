"""Margins over a grid of parameters, a hundred thousand points in seconds."""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace

import numpy as np
from numba import boolean, float64, int64, void
from numpy.typing import ArrayLike

from shallows.core.contract import F64, Flags
from shallows.errors import ScenarioError
from shallows.fluid.compiled import I64, compiled
from shallows.fluid.loop_gain import margin, partial_derivatives
from shallows.fluid.model import Model, Status
from shallows.fluid.system import COMPLEX, FLOAT, Equations

POINTS_IN_ONE_PIECE = 4096


@compiled(
    void(
        COMPLEX, COMPLEX, COMPLEX, FLOAT, FLOAT, float64[:, ::1], float64[::1], int64, int64, int64,
        int64[::1], int64[::1], int64, boolean, float64[:, ::1], float64[:, ::1],
    ),
)  # fmt: skip
def _margins(
    reaction: Equations, link: Equations, sending: Equations, feedback: Equations, equilibrium: Equations,
    constants: F64, flows: F64, S: int, K: int, lags: int, tap_states: I64, tap_lags: I64, own_rate: int,
    at_mark: bool, rest: F64, out: F64,
) -> None:  # fmt: skip
    """Fills rest [points, 1 + S + K] (status, states), out [points, 2] (phase margin in rad, crossover)."""
    none, lag_values = np.empty(0), np.empty(lags)
    for point in range(constants.shape[0]):
        equilibrium(none, none, none, constants[point], rest[point])
        out[point] = np.nan
        if rest[point, 0] > 1.0:
            continue
        shared, flow = rest[point, 1 : 1 + S].copy(), rest[point, 1 + S :].copy()
        feedback(shared, flow, none, constants[point], lag_values)
        partials = partial_derivatives(
            reaction, link, sending, shared, flow, tap_states, flows[point], constants[point]
        )
        cut = (partials, flows[point], tap_states, lag_values[tap_lags], own_rate, at_mark)
        out[point, 0], out[point, 1] = margin(cut)


@dataclass(frozen=True)
class MarginMap:
    """Margins of `model` over `axes` (parameter -> values). Arrays have the axes' lengths as shape.

    status: `Status` numbers; where there is no fixed point the other columns hold NaN.
    """

    model: Model
    axes: Mapping[str, F64]
    status: F64
    phase_margin_deg: F64
    crossover_rad_s: F64
    delay_margin_s: F64
    queue_bytes: F64

    @property
    def exists(self) -> Flags:
        """Where there is a fixed point, on the ramp or off it."""
        return self.status <= Status.OFF_RAMP

    @property
    def stable(self) -> Flags:
        return self.exists & (self.phase_margin_deg > 0)


def margin_map(model: Model, over: Mapping[str, ArrayLike], workers: int | None = None) -> MarginMap:
    """The `MarginMap` of `model` over a grid.

    over: parameter -> its values in SI units. workers: threads, all cores if None.
    Points that a model cannot be made of, such as a kmax below kmin, have no fixed point.
    Raises ScenarioError for a parameter the model does not have, or values of which it can take none.
    """
    known = {spec.name for spec in fields(model) if not isinstance(spec.metadata["kind"], tuple)}
    for name in over:
        if name not in known:
            expected = f"a numeric parameter of {model.name}: {', '.join(sorted(known))}"
            raise ScenarioError(name, None, expected)
    axes = {name: np.asarray(values, float) for name, values in over.items()}
    shape = tuple(len(values) for values in axes.values())
    grid = dict(zip(axes, np.meshgrid(*axes.values(), indexing="ij"), strict=True))
    possible = model.possible(grid)
    if possible.any():  # values of parameters that are not on the grid are ignored
        grid = {name: np.where(possible, values, values[possible][0]) for name, values in grid.items()}
    points = replace(model, **grid)
    constants = np.broadcast_to(points.constants_array(), (*shape, len(model.system.constants)))
    constants = np.array(constants).reshape(-1, constants.shape[-1])
    flows = np.array(np.broadcast_to(points.flows, shape), float).ravel()

    rest, out = _points(model, constants, flows, workers)
    rest[~possible.ravel(), 0], out[~possible.ravel()] = Status.NONE, np.nan
    status = rest[:, 0].astype(int).reshape(shape)
    phase, crossover = out[:, 0].reshape(shape), out[:, 1].reshape(shape)
    queue = rest[:, 1 + model.system.shared.index("q")].reshape(shape) * points.unit_bits / 8
    return MarginMap(
        model,
        axes,
        status,
        np.degrees(phase),
        crossover,
        points.delay + phase / crossover,
        np.where(status <= Status.OFF_RAMP, queue, np.nan),
    )


def _points(model: Model, constants: F64, flows: F64, workers: int | None) -> tuple[F64, F64]:
    """(rest, out) of `_margins` for constants [points, constants] and flows [points]."""
    system = model.system
    S, K = len(system.shared), len(system.flow)
    rest, out = np.empty((len(flows), 1 + S + K)), np.empty((len(flows), 2))
    own_rate = system.flow.index(system.own_rate) if system.own_rate else -1

    def fill(piece: slice) -> None:
        _margins(
            system.reaction_complex, system.link_complex, system.sending_complex, system.feedback_float,
            system.equilibrium_float, constants[piece], flows[piece], S, K, system.lags, system.tap_states,
            system.tap_lags, own_rate, model.loop_at == "mark", rest[piece], out[piece],
        )  # fmt: skip

    pieces = [slice(i, i + POINTS_IN_ONE_PIECE) for i in range(0, len(flows), POINTS_IN_ONE_PIECE)]
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        list(pool.map(fill, pieces))
    return rest, out

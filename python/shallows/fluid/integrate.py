"""Integration of delay equations with a fixed step, by the method of steps.

The step is fixed because clamps and corners of the marking ramp reduce the order of an adaptive method, and
because the history then lies on a grid. RK4 interpolates the past by cubic Hermite polynomials, Heun
linearly. The past before time 0 is the initial state. A lag shorter than a step would need the future and is
refused. A lag of 0 reads the present.
"""

from typing import NamedTuple

import numpy as np
from numba import float64, int64, types

from shallows.core.contract import F64
from shallows.fluid.compiled import I64, compiled
from shallows.fluid.system import FLOAT, Equations

DONE, STEP_TOO_LONG, HISTORY_TOO_SHORT, NOT_FINITE = range(4)

_VECTOR, _MATRIX, _INDICES = float64[::1], float64[:, ::1], int64[::1]


class Layout(NamedTuple):
    """Which number of the state is what. S, K: numbers of the link and of a flow, F flows after each other.

    tap_states, tap_lags: [M] for each delayed value, its state and its lag. lags: how many there are.
    low, high: [S + K] bounds. drain: how fast the queue drains, where the lags contain the wait in it (else
    0): the wait is then that of the packet the feedback is about, not of one that comes now.
    """

    S: int
    K: int
    tap_states: I64
    tap_lags: I64
    lags: int
    low: F64
    high: F64
    drain: float


class Classes(NamedTuple):
    """[F] flows alike in each class, and when (s) they are there."""

    counts: F64
    starts: F64
    stops: F64


class Noise(NamedTuple):
    """draws: [F, draws] seconds added to every lag of a class, each held for `spacing` seconds.

    taps: [M] what one second of it adds to a delayed value.
    """

    draws: F64
    spacing: float
    taps: F64


class Steps(NamedTuple):
    """Steps `first` to `last` - 1 of `size` seconds, recorded every `every`. order: 4 is RK4, 2 is Heun."""

    size: float
    first: int
    last: int
    every: int
    order: int


class Memory(NamedTuple):
    """y: [S + F K] the state now. states, slopes: [ring + 1, S + F K] the last ones; last row: before 0."""

    y: F64
    states: F64
    slopes: F64


_TYPES = (
    types.NamedTuple((int64, int64, _INDICES, _INDICES, int64, _VECTOR, _VECTOR, float64), Layout),
    types.NamedUniTuple(_VECTOR, 3, Classes),
    types.NamedTuple((_MATRIX, float64, _VECTOR), Noise),
    types.NamedTuple((float64, int64, int64, int64, int64), Steps),
    types.NamedTuple((_VECTOR, _MATRIX, _MATRIX), Memory),
)


@compiled()
def _past(
    states: F64, slopes: F64, newest: int, step: float, time: float, component: int, cubic: bool
) -> float:
    """State `component` at `time`, from the ring of the last states; NaN where the ring has forgotten."""
    size = states.shape[0]
    if time <= 0.0:
        return states[size - 1, component]
    left = min(int(time / step), newest - 1)
    ring = size - 1
    if newest - left >= ring:
        return np.nan
    a, b = left % ring, (left + 1) % ring
    x = time / step - left
    if x < 0.0:
        x = 0.0
    if not cubic:
        return states[a, component] + x * (states[b, component] - states[a, component])
    rise = states[b, component] - states[a, component]
    bend = x * (1.0 - x)
    return (
        states[a, component]
        + x * rise
        + bend * (1.0 - x) * (step * slopes[a, component] - rise)
        - bend * x * (step * slopes[b, component] - rise)
    )


@compiled()
def _entered(
    states: F64, slopes: F64, newest: int, step: float, left: float, base: int, now: float, deepest: float,
    drain: float, cubic: bool,
) -> float:  # fmt: skip
    """When the unit of queue that leaves at `left` came in: the s with s + q(s)/drain = left, by bisection.

    base is the state's index of the queue, `now` the latest time known, deepest the most q has been.
    """
    low, high = left - deepest / drain, min(left, now)
    for _ in range(48):
        middle = (low + high) / 2
        queue = _past(states, slopes, newest, step, middle, base, cubic)
        if middle + queue / drain < left:
            low = middle
        else:
            high = middle
    return high


@compiled(inline="always")
def _jittered(
    draws: F64, spacing: float, tap: float, i: int, time: float, lag: float, wait: float
) -> tuple[float, float]:
    """The lag of class `i` with its jitter, and what that adds to the value, which was `wait` under way."""
    if draws.shape[1] == 0:
        return lag, 0.0
    last = draws.shape[1] - 1
    seen = max(0, int((time - wait) / spacing))
    return lag + draws[i, min(int(time / spacing), last)], tap * draws[i, min(seen, last)]


@compiled(inline="always")
def _hold(stage: F64, k: F64, s: int, S: int, K: int, low: F64, high: F64) -> None:
    """A state at its bound does not move beyond it."""
    for j in range(stage.size):
        limit = j if j < S else S + (j - S) % K
        if (stage[j] <= low[limit] and k[s, j] < 0.0) or (stage[j] >= high[limit] and k[s, j] > 0.0):
            k[s, j] = 0.0


@compiled(inline="always")
def _clamp(y: F64, S: int, K: int, low: F64, high: F64) -> None:
    for j in range(y.size):
        limit = j if j < S else S + (j - S) % K
        y[j] = min(max(y[j], low[limit]), high[limit])


@compiled(
    types.Tuple((int64, float64, _VECTOR, _MATRIX, _MATRIX))(FLOAT, FLOAT, FLOAT, FLOAT, _VECTOR, *_TYPES)
)
def integrate(
    reaction: Equations, link: Equations, sending: Equations, feedback: Equations, constants: F64,
    layout: Layout, classes: Classes, noise: Noise, steps: Steps, memory: Memory,
) -> tuple[int, float, F64, F64, F64]:  # fmt: skip
    """Takes the steps; fills `memory`, whose y is the state at the first and after the call at the last.

    Returns (status, time of the end or of the failure, times [T], states [T, S + F K], rates [T, F]).
    """
    # Whatever a loop reads is a local: numba counts references at every field of a tuple.
    S, K, tap_states, tap_lags, lags, low, high, drain = layout
    counts, starts, stops = classes
    draws, spacing, taps = noise
    step, first, last, every, order = steps
    y, states, slopes = memory
    F, M, ring, cubic = counts.size, tap_states.size, states.shape[0] - 1, order == 4
    skipped = -(-first // every)
    recorded = -(-last // every) - skipped
    out_time, out_states, out_rates = (
        np.empty(recorded),
        np.empty((recorded, y.size)),
        np.empty((recorded, F)),
    )
    k, stage, rates = np.empty((4 if cubic else 2, y.size)), np.empty(y.size), np.empty(F)
    head, flow, d_head, d_flow = np.empty(S), np.empty(K), np.empty(S), np.empty(K)
    delayed, lag_values, total, rate, none = (
        np.empty(M),
        np.empty(lags),
        np.empty(1),
        np.empty(1),
        np.empty(0),
    )
    deepest = states[:, 0].max()
    for n in range(first, last):
        now = n * step
        states[n % ring] = y
        deepest = max(deepest, y[0])
        for s in range(k.shape[0]):
            time, stage[:] = now, y
            if s > 0:
                ahead = step if s == k.shape[0] - 1 else step / 2
                time += ahead
                stage += ahead * k[s - 1]
            head[:] = stage[:S]
            total[0] = 0.0
            for i in range(F):
                flow[:] = stage[S + i * K : S + (i + 1) * K]
                sending(head, flow, none, constants, rate)
                rates[i] = rate[0] if starts[i] <= now < stops[i] else 0.0
                total[0] += counts[i] * rates[i]
            link(head, total, none, constants, d_head)
            k[s, :S] = d_head
            for i in range(F):
                base = S + i * K
                if not (starts[i] <= now < stops[i]):
                    k[s, base : base + K] = 0.0
                    continue
                flow[:] = stage[base : base + K]
                feedback(head, flow, none, constants, lag_values)
                for m in range(M):
                    component = tap_states[m] if tap_states[m] < S else base + tap_states[m] - S
                    lag = lag_values[int(tap_lags[m])]
                    lag, extra = _jittered(draws, spacing, taps[m], i, time, lag, lag - lag_values[0])
                    if lag == 0.0:
                        delayed[m] = stage[component] + extra
                        continue
                    if lag < step * (1.0 - 1e-9):
                        return STEP_TOO_LONG, lag, out_time, out_states, out_rates
                    # Rounding must not request more than the last computed state.
                    when = min(time - lag, now)
                    if drain > 0.0:
                        left = time - lag + head[0] / drain
                        when = _entered(states, slopes, n, step, left, 0, now, deepest, drain, cubic)
                    value = _past(states, slopes, n, step, when, component, cubic)
                    if np.isnan(value):
                        status = NOT_FINITE if np.isnan(y).any() else HISTORY_TOO_SHORT
                        return status, now, out_time, out_states, out_rates
                    delayed[m] = value + extra
                reaction(head, flow, delayed, constants, d_flow)
                k[s, base : base + K] = d_flow
            _hold(stage, k, s, S, K, low, high)
            if s == 0:
                slopes[n % ring] = k[0]
                if n % every == 0:
                    row = n // every - skipped
                    out_time[row], out_states[row], out_rates[row] = now, y, rates
        y += step * ((k[0] + 2 * k[1] + 2 * k[2] + k[3]) / 6 if cubic else (k[0] + k[1]) / 2)
        _clamp(y, S, K, low, high)
    return DONE, last * step, out_time, out_states, out_rates

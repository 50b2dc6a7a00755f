"""Integrates delay equations with a fixed step by the method of steps.

A fixed step, because clamps and corners of the marking ramp take an adaptive method's order away, and
because the history then lies on a grid. RK4 looks the past up by cubic Hermite interpolation, Heun by
linear interpolation. The past before time 0 is the initial state. A lag shorter than a step would need
the future: that is refused. A lag of exactly 0 reads the present.
"""

import numpy as np
from numba import float64, int64, types

from shallows.fluid.compiled import compiled
from shallows.fluid.system import FLOAT

DONE, STEP_TOO_LONG, HISTORY_TOO_SHORT, NOT_FINITE = range(4)

_VECTOR, _MATRIX, _INDICES = float64[::1], float64[:, ::1], int64[::1]


@compiled()
def _past(states, slopes, newest, step, time, component, cubic):
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
def _entered(states, slopes, newest, step, left, base, now, deepest, drain, cubic):
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


@compiled(
    types.Tuple((int64, float64, _VECTOR, _MATRIX, _MATRIX))(
        FLOAT, FLOAT, FLOAT, FLOAT, _VECTOR, int64, int64, _INDICES, _INDICES, int64,
        _VECTOR, _VECTOR, _VECTOR, _VECTOR, _VECTOR, _VECTOR, _MATRIX, float64, float64,
        float64, int64, int64, int64, int64, _VECTOR, _MATRIX, _MATRIX,
    ),
)  # fmt: skip
def integrate(
    reaction, link, sending, feedback, constants, S, K, tap_states, tap_lags, lags,
    counts, starts, stops, low, high, tap_noise, jitter, jitter_step, drain,
    step, first, last, every, order, y, states, slopes,
):  # fmt: skip
    """Takes the steps `first` to `last` - 1; returns the states at those that `every` divides.

    S, K: states of the link and of a flow. counts, starts, stops: [F] flows alike in each class, and
    when (s) they are there. low, high: [S + K] bounds. jitter: [F, draws] seconds added to every lag of
    a class, each draw held for jitter_step; tap_noise: [M] what one second of it adds to a delayed value.
    drain: how fast the queue drains, where the lags contain the wait in it (else 0): the wait is then
    that of the packet the feedback is about, not of one that comes now. order: 4 is RK4, 2 is Heun.
    y: [S + F K] the state at `first`, and after the call at `last`. states, slopes: [ring + 1, S + F K]
    the steps remembered, filled in as well; the last row is the state before time 0.

    Returns (status, time of the end or of the failure, times [T], states [T, S + F K], rates [T, F]).
    """
    F, M, ring, size = counts.size, tap_states.size, states.shape[0] - 1, y.size
    skipped = -(-first // every)
    recorded = -(-last // every) - skipped
    out_time, out_states, out_rates = np.empty(recorded), np.empty((recorded, size)), np.empty((recorded, F))
    stages = 4 if order == 4 else 2
    k, stage = np.empty((stages, size)), np.empty(size)
    delayed, lag_values, one_flow, d_flow = np.empty(M), np.empty(lags), np.empty(K), np.empty(K)
    total, d_shared, rate, none = np.empty(1), np.empty(S), np.empty(1), np.empty(0)
    cubic, deepest = order == 4, states[:, 0].max()
    for n in range(first, last):
        now = n * step
        states[n % ring] = y
        deepest = max(deepest, y[0])
        for s in range(stages):
            if s == 0:
                time, stage[:] = now, y
            elif s == stages - 1:
                time, stage[:] = now + step, y + step * k[s - 1]
            else:
                time, stage[:] = now + step / 2, y + step / 2 * k[s - 1]
            head = stage[:S].copy()
            total[0] = 0.0
            for i in range(F):
                one_flow[:] = stage[S + i * K : S + (i + 1) * K]
                sending(head, one_flow, none, constants, rate)
                active = starts[i] <= now < stops[i]
                if active:
                    total[0] += counts[i] * rate[0]
                if s == 0 and n % every == 0:
                    out_rates[n // every - skipped, i] = rate[0] if active else 0.0
            link(head, total, none, constants, d_shared)
            k[s, :S] = d_shared
            for i in range(F):
                base = S + i * K
                if not (starts[i] <= now < stops[i]):
                    k[s, base : base + K] = 0.0
                    continue
                one_flow[:] = stage[base : base + K]
                feedback(head, one_flow, none, constants, lag_values)
                for m in range(M):
                    component = tap_states[m] if tap_states[m] < S else base + tap_states[m] - S
                    lag = lag_values[tap_lags[m]]
                    noise = 0.0
                    if jitter.shape[1] > 0:
                        drawn = min(int(time / jitter_step), jitter.shape[1] - 1)
                        seen = max(0, int((time - (lag - lag_values[0])) / jitter_step))
                        noise = tap_noise[m] * jitter[i, min(seen, jitter.shape[1] - 1)]
                        lag += jitter[i, drawn]
                    if lag == 0.0:
                        delayed[m] = stage[component] + noise
                        continue
                    if lag < step * (1.0 - 1e-9):
                        return STEP_TOO_LONG, lag, out_time, out_states, out_rates
                    # Rounding must not ask for more than the last state computed.
                    when = min(time - lag, now)
                    if drain > 0.0:
                        left = time - lag + head[0] / drain
                        when = _entered(states, slopes, n, step, left, 0, now, deepest, drain, cubic)
                    value = _past(states, slopes, n, step, when, component, cubic)
                    if np.isnan(value):
                        status = NOT_FINITE if np.isnan(y).any() else HISTORY_TOO_SHORT
                        return status, now, out_time, out_states, out_rates
                    delayed[m] = value + noise
                reaction(head, one_flow, delayed, constants, d_flow)
                k[s, base : base + K] = d_flow
            for j in range(size):
                limit = j if j < S else S + (j - S) % K
                if (stage[j] <= low[limit] and k[s, j] < 0.0) or (stage[j] >= high[limit] and k[s, j] > 0.0):
                    k[s, j] = 0.0
            if s == 0:
                slopes[n % ring] = k[0]
        if n % every == 0:
            out_time[n // every - skipped] = now
            out_states[n // every - skipped] = y
        y += step * ((k[0] + 2 * k[1] + 2 * k[2] + k[3]) / 6 if cubic else (k[0] + k[1]) / 2)
        for j in range(size):
            limit = j if j < S else S + (j - S) % K
            y[j] = min(max(y[j], low[limit]), high[limit])
    return DONE, last * step, out_time, out_states, out_rates

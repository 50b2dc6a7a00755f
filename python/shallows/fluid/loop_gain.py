"""Compiled parts of the linear analysis: partial derivatives, loop gain and phase margin."""

import numpy as np
from numba import boolean, complex128, float64, int64, types

from shallows.core.contract import F64
from shallows.fluid.compiled import C128, I64, compiled
from shallows.fluid.system import COMPLEX, Equations

Partials = tuple[F64, F64, F64, F64, F64, F64, F64]
Cut = tuple[Partials, float, I64, F64, int, bool]
Work = tuple[C128, C128]

_STEP = 1e-30
_VECTOR, _MATRIX = float64[::1], float64[:, ::1]


@compiled(
    types.UniTuple(_MATRIX, 7)(COMPLEX, COMPLEX, COMPLEX, _VECTOR, _VECTOR, int64[::1], float64, _VECTOR),
)
def partial_derivatives(
    reaction: Equations, link: Equations, sending: Equations, shared: F64, flow: F64, tap_states: I64,
    flows: float, constants: F64,
) -> Partials:  # fmt: skip
    """Every partial derivative of a system where all flows are alike, by complex steps.

    Returns (link by shared, link by total, sending by shared, sending by flow, reaction by shared,
    reaction by flow, reaction by delayed), each as [results, arguments].
    """
    S, K, M = shared.size, flow.size, tap_states.size
    z_shared, z_flow = shared.astype(complex128), flow.astype(complex128)
    z_delayed, z_total = np.empty(M, complex128), np.empty(1, complex128)
    for m in range(M):
        state = tap_states[m]
        z_delayed[m] = shared[state] if state < S else flow[state - S]
    none = np.empty(0, complex128)
    out, out_link, out_rate = np.empty(K, complex128), np.empty(S, complex128), np.empty(1, complex128)
    sending(z_shared, z_flow, none, constants, out_rate)
    z_total[0] = flows * out_rate[0]

    link_shared, link_total = np.empty((S, S)), np.empty((S, 1))
    rate_shared, rate_flow = np.empty((1, S)), np.empty((1, K))
    reaction_shared, reaction_flow, reaction_delayed = np.empty((K, S)), np.empty((K, K)), np.empty((K, M))
    step = 1j * _STEP
    for j in range(S):
        z_shared[j] += step
        link(z_shared, z_total, none, constants, out_link)
        link_shared[:, j] = out_link.imag / _STEP
        sending(z_shared, z_flow, none, constants, out_rate)
        rate_shared[0, j] = out_rate[0].imag / _STEP
        reaction(z_shared, z_flow, z_delayed, constants, out)
        reaction_shared[:, j] = out.imag / _STEP
        z_shared[j] = shared[j]
    for j in range(K):
        z_flow[j] += step
        sending(z_shared, z_flow, none, constants, out_rate)
        rate_flow[0, j] = out_rate[0].imag / _STEP
        reaction(z_shared, z_flow, z_delayed, constants, out)
        reaction_flow[:, j] = out.imag / _STEP
        z_flow[j] = flow[j]
    for m in range(M):
        value = z_delayed[m]
        z_delayed[m] += step
        reaction(z_shared, z_flow, z_delayed, constants, out)
        reaction_delayed[:, m] = out.imag / _STEP
        z_delayed[m] = value
    z_total[0] += step
    link(z_shared, z_total, none, constants, out_link)
    link_total[:, 0] = out_link.imag / _STEP
    return link_shared, link_total, rate_shared, rate_flow, reaction_shared, reaction_flow, reaction_delayed


@compiled()
def _size(z: complex) -> float:
    """A cheap substitute for |z| in the choice of a pivot."""
    return abs(z.real) + abs(z.imag)


@compiled()
def _solve(A: C128, b: C128) -> None:
    """Solves A x = b in place by elimination with pivoting; the solution is left in b."""
    n = b.size
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if _size(A[i, k]) > _size(A[pivot, k]):
                pivot = i
        if pivot != k:
            for j in range(k, n):
                A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
            b[k], b[pivot] = b[pivot], b[k]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= factor * A[k, j]
            b[i] -= factor * b[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= A[k, j] * b[j]
        b[k] /= A[k, k]


CUT = types.Tuple((types.UniTuple(_MATRIX, 7), float64, int64[::1], _VECTOR, int64, boolean))
"""A loop to be cut: (partial derivatives, flows, tap states, tap delays, own rate or -1, at the mark?)."""


_WORK = types.Tuple((complex128[:, ::1], complex128[::1]))


@compiled(complex128(complex128, CUT, float64, _WORK))
def loop_gain(s: complex, cut: Cut, advance: float, work: Work) -> complex:
    """The open loop's gain L(s), signed so that 1 + L(s) = 0 is the characteristic equation.

    Cut at the rate, the link and the delayed own rate see the input, and the output is the sending
    rate. Cut at the mark, the delayed shared state is the input, and the output is that state.
    `advance` is a delay common to all paths from input to output, in seconds, to be left out.
    work: a matrix and a vector over all states, overwritten.
    """
    partials, flows, tap_states, tap_delays, own_rate, at_mark = cut
    link_shared, link_total, rate_shared, rate_flow, by_shared, by_flow, by_delayed = partials
    S, K, M = link_shared.shape[0], by_flow.shape[0], tap_states.size
    A, b = work
    A[:], b[:] = 0.0, 0.0
    for i in range(S + K):
        A[i, i] = s
    mark = -1
    for i in range(S):
        for j in range(S):
            A[i, j] -= link_shared[i, j]
            if at_mark:
                A[i, j] -= link_total[i, 0] * flows * rate_shared[0, j]
        if at_mark:
            for j in range(K):
                A[i, S + j] -= link_total[i, 0] * flows * rate_flow[0, j]
        else:
            b[i] = link_total[i, 0] * flows
    for i in range(K):
        for j in range(S):
            A[S + i, j] -= by_shared[i, j]
        for j in range(K):
            A[S + i, S + j] -= by_flow[i, j]
        for m in range(M):
            state = tap_states[m]
            if state < S:
                mark = state
            is_cut = state < S if at_mark else own_rate >= 0 and state == S + own_rate
            delay = tap_delays[m] - advance if is_cut or not at_mark else tap_delays[m]
            gain = by_delayed[i, m] + 0j
            if delay > 0.0:
                gain *= np.exp(-s * delay)
            if is_cut:
                b[S + i] += gain
            else:
                A[S + i, state] -= gain
    _solve(A, b)
    if at_mark:
        return -b[mark]
    output = 0j
    for j in range(S):
        output += rate_shared[0, j] * b[j]
    for j in range(K):
        output += rate_flow[0, j] * b[S + j]
    return -output


LOWEST_FREQUENCY, HIGHEST_FREQUENCY, PER_DECADE = 1.0, 1e7, 12
"""The range of frequencies for crossovers, in rad/s. Two crossovers within one step are missed."""


@compiled()
def _common_delay(cut: Cut) -> float:
    """The delay shared by all paths through the cut loop: 0 where one of them has no delay."""
    (_, _, rate_shared, _, by_shared, _, _), _, tap_states, tap_delays, _, at_mark = cut
    if not at_mark and (np.any(rate_shared != 0.0) or np.any(by_shared != 0.0)):
        return 0.0
    shortest = np.inf
    for m in range(tap_states.size):
        if not at_mark or tap_states[m] < rate_shared.shape[1]:
            shortest = min(shortest, tap_delays[m])
    return shortest


@compiled()
def _crossing(
    left: float, right: float, gain_left: float, gain_right: float, cut: Cut, advance: float, work: Work
) -> float:
    """Where |L| = 1 between two frequencies: Illinois' false position in logarithms."""
    a, b = np.log(left), np.log(right)
    fa, fb = np.log(gain_left), np.log(gain_right)
    w = b
    for _ in range(60):
        w = b - fb * (b - a) / (fb - fa)
        fw = np.log(abs(loop_gain(1j * np.exp(w), cut, advance, work)))
        if abs(fw) < 1e-13 or abs(b - a) < 1e-14:
            break
        if (fw > 0.0) == (fb > 0.0):
            fa /= 2
        else:
            a, fa = b, fb
        b, fb = w, fw
    return np.exp(w)


@compiled(types.UniTuple(float64, 2)(CUT))
def margin(cut: Cut) -> tuple[float, float]:
    """(phase margin in rad, gain crossover in rad/s) of the crossover with the least margin, or NaNs.

    A delay that every path through the loop shares turns the phase by exactly -w tau and is taken out
    first, so that the margin is not folded back into half a turn however long that delay is.
    """
    advance = _common_delay(cut)
    size: int = cut[0][0].shape[0] + cut[0][5].shape[0]
    work: Work = np.empty((size, size), np.complex128), np.empty(size, np.complex128)
    count = int(np.log10(HIGHEST_FREQUENCY / LOWEST_FREQUENCY) * PER_DECADE)
    ratio = 10.0 ** (1.0 / PER_DECADE)
    worst, crossover = np.nan, np.nan
    left = LOWEST_FREQUENCY
    gain_left = abs(loop_gain(1j * left, cut, advance, work))
    for _ in range(count):
        right = left * ratio
        gain_right = abs(loop_gain(1j * right, cut, advance, work))
        if (gain_left > 1.0) != (gain_right > 1.0):
            w = _crossing(left, right, gain_left, gain_right, cut, advance, work)
            gain = loop_gain(1j * w, cut, advance, work)
            phase = np.angle(-gain) - w * advance
            if not phase > worst:
                worst, crossover = phase, w
        left, gain_left = right, gain_right
    return worst, crossover

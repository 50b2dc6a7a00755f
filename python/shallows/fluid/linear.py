"""A model linearised about its fixed point: loop gain, margins, characteristic roots.

N identical flows split into one common mode (all flows together, with the queue) and N-1 equal
differential modes (flows against each other, the queue at rest). Derivatives are taken by the complex
step, so they are exact to rounding. A delay that depends on the state is frozen at its value at the
fixed point, which is exact for the linearisation, as the past is constant there.

Source of the method: ECN or Delay (CoNEXT 2016) §3.2 (margins); Breda, Maset, Vermiglio (SIAM J. Sci.
Comput. 2005) for roots by collocation.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numba import boolean, complex128, float64, int64, types
from numpy.typing import ArrayLike, NDArray

from shallows.contract import F64
from shallows.fluid.compiled import C128, I64, compiled
from shallows.fluid.model import Model
from shallows.fluid.system import COMPLEX, Equations

Partials = tuple[F64, F64, F64, F64, F64, F64, F64]
Cut = tuple[Partials, float, I64, F64, int, bool]
Work = tuple[C128, C128]
Delayed = list[tuple[float, F64]]
"""[(delay in s, matrix), …]"""
Mode = Literal["common", "differential"]

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
    """As good as |z| for choosing a pivot, without the root."""
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
"""Where a crossover is looked for, in rad/s. Two crossovers closer than a step of the grid are missed."""


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


@dataclass(frozen=True)
class Margins:
    """How far a loop is from instability.

    phase_margin_deg, crossover_rad_s: NaN where the gain never crosses 1.
    delay_margin_s: the longest feedback delay (the model's `delay`, not what is added to it) at which
    the loop is stable; below `delay` when it is not, below 0 when no delay would do.
    """

    phase_margin_deg: float
    crossover_rad_s: float
    delay_margin_s: float


@dataclass(frozen=True)
class Loop:
    """The open loop of a linearised model, cut `at` the "rate" or the "mark"."""

    linear: "Linear"
    at: str

    @property
    def _cut(self) -> Cut:
        one = self.linear
        return one.partials, one.flows, one.tap_states, one.tap_delays, one.own_rate, self.at == "mark"

    def gain(self, s: ArrayLike) -> C128:
        """L(s) for an array of complex s; 1 + L(s) = 0 is the characteristic equation."""
        size = len(self.linear.states)
        work = np.empty((size, size), complex), np.empty(size, complex)
        values = [loop_gain(complex(one), self._cut, 0.0, work) for one in np.ravel(s)]
        return np.array(values).reshape(np.shape(s))

    def response(self, omega_rad_s: ArrayLike) -> C128:
        """L(i omega) for an array of real frequencies."""
        return self.gain(1j * np.asarray(omega_rad_s))

    def margins(self) -> Margins:
        """The `Margins` of this loop."""
        phase, crossover = margin(self._cut)
        return Margins(float(np.degrees(phase)), crossover, self.linear.delay + phase / crossover)

    def to_control(self, omega_rad_s: ArrayLike | None = None) -> Any:
        """The loop as python-control's FRD, for its `margin`, `bode_plot`, `nyquist_plot`.

        A frequency response holds the delay exactly; a Padé approximation would not.
        """
        import control

        omega = np.geomspace(10, 1e6, 2000) if omega_rad_s is None else np.asarray(omega_rad_s)
        return control.frd(self.response(omega), omega, smooth=True)


@dataclass(frozen=True)
class Linear:
    """Partial derivatives of a system at its fixed point.

    partials: as `partial_derivatives` returns them. tap_delays: [delayed], seconds.
    states: names in the order of the matrices. delay: the model's feedback delay without queueing.
    """

    partials: Partials
    flows: float
    tap_states: I64
    tap_delays: F64
    own_rate: int
    states: tuple[str, ...]
    delay: float
    loop_at: str = "rate"

    def loop(self, at: str | None = None) -> Loop:
        """The open loop cut "at" the "rate" (where a flow's rate meets the link) or the "mark"."""
        at = at or self.loop_at
        if at not in ("rate", "mark"):
            raise ValueError(f'cut at "rate" or "mark", not {at!r}')
        return Loop(self, at)

    @cached_property
    def common(self) -> tuple[F64, Delayed]:
        """(A0, [(delay in s, A), …]) of x' = A0 x + sum A x(t - delay), x being `states`."""
        link_shared, link_total, rate_shared, rate_flow, by_shared, by_flow, _ = self.partials
        gain = self.flows * link_total
        now = np.block([[link_shared + gain @ rate_shared, gain @ rate_flow], [by_shared, by_flow]])
        return now, self._delayed(len(link_shared))

    @cached_property
    def differential(self) -> tuple[F64, Delayed]:
        """The same for the difference of two flows, x being the flow's states."""
        _, _, _, _, _, by_flow, _ = self.partials
        S = len(self.states) - len(by_flow)
        return by_flow, [(delay, A[S:, S:]) for delay, A in self._delayed(S)]

    def _delayed(self, S: int) -> Delayed:
        size, by_delayed = len(self.states), self.partials[6]
        matrices: dict[float, F64] = {}
        for m, (state, delay) in enumerate(zip(self.tap_states, self.tap_delays, strict=True)):
            matrices.setdefault(delay, np.zeros((size, size)))[S:, state] += by_delayed[:, m]
        return sorted(matrices.items())

    def roots(self, mode: Mode = "common", nodes: int = 20) -> C128:
        """The characteristic roots nearest the right, as an array of complex numbers in 1/s."""
        return characteristic_roots(*(self.common if mode == "common" else self.differential), nodes=nodes)

    def rightmost_root(self, mode: Mode = "common") -> complex:
        """The root that decides: Re > 0 grows. Of a pair, the one with Im >= 0."""
        root = self.roots(mode)[0]
        return complex(root.real, abs(root.imag))

    @property
    def stable(self) -> bool:
        """Whether every disturbance dies out, or (between flows, as under host PI) at least does not grow."""
        return self.rightmost_root().real < 0 and self.rightmost_root("differential").real < NEUTRAL


NEUTRAL = 1e-6
"""In 1/s: a root of 0, up to rounding."""


def linearise(model: Model) -> Linear:
    """The `Linear` of `model` at its fixed point. Raises ValueError where there is none to linearise at."""
    fixed_point = model.fixed_point()
    if not fixed_point.exists:
        raise ValueError(fixed_point.explanation or "no fixed point")
    system, constants = model.system, model.constants_array()
    shared = np.array([fixed_point.state[name] for name in system.shared])
    flow = np.array([fixed_point.state[name] for name in system.flow])
    lags = np.empty(system.lags)
    system.feedback_float(shared, flow, np.empty(0), constants, lags)
    partials = partial_derivatives(
        system.reaction_complex, system.link_complex, system.sending_complex,
        shared, flow, system.tap_states, float(model.flows), constants,
    )  # fmt: skip
    own_rate = system.flow.index(system.own_rate) if system.own_rate else -1
    return Linear(
        partials, float(model.flows), system.tap_states, lags[system.tap_lags], own_rate, system.states,
        model.delay, model.loop_at,
    )  # fmt: skip


NO_DELAY = 1e-12
"""Seconds: what is shorter counts as none, for the collocation divides by it."""


def characteristic_roots(now: F64, delayed: Delayed, nodes: int = 20) -> C128:
    """Roots of det(s I - A0 - sum A_k e^(-s tau_k)), rightmost first, those that are accurate.

    Collocates the system's history at Chebyshev points: the eigenvalues of the discretised generator
    approximate the roots near the origin, and Newton's method finishes them.
    """
    size = len(now)
    instant = now + sum((A for delay, A in delayed if delay < NO_DELAY), np.zeros_like(now))
    lagging = [(delay, A) for delay, A in delayed if delay >= NO_DELAY and A.any()]
    if not lagging:
        return _rightmost_first(np.linalg.eigvals(instant))
    longest = max(delay for delay, _ in lagging)
    points, derivative = _chebyshev(nodes)
    times = (points - 1) * longest / 2
    generator = np.kron(derivative * 2 / longest, np.eye(size))
    generator[:size] = 0
    generator[:size, :size] = instant
    for delay, A in lagging:
        generator[:size] += np.kron(_interpolation(times, -delay), A)
    candidates = _rightmost_first(np.linalg.eigvals(generator))[: 4 * size]
    polished = [_newton(root, instant, lagging) for root in candidates]
    return _rightmost_first(np.array([root for root in polished if root is not None]))


def _rightmost_first(roots: NDArray[Any]) -> C128:
    found = roots.astype(np.complex128)
    return found[np.argsort(-found.real)]


def _chebyshev(nodes: int) -> tuple[F64, F64]:
    """Chebyshev points cos(k pi / n) from 1 to -1, and the matrix that differentiates through them."""
    k = np.arange(nodes + 1)
    x = np.cos(np.pi * k / nodes)
    c = np.where((k == 0) | (k == nodes), 2.0, 1.0) * (-1.0) ** k
    difference = x[:, None] - x[None, :] + np.eye(nodes + 1)
    D = np.outer(c, 1 / c) / difference
    return x, D - np.diag(D.sum(axis=1))


def _interpolation(times: F64, at: float) -> F64:
    """The row of weights that evaluates the polynomial through `times` (Chebyshev points) at `at`."""
    k = np.arange(len(times))
    weights = (-1.0) ** k * np.where((k == 0) | (k == len(times) - 1), 0.5, 1.0)
    gap = at - times
    if (hit := np.isclose(gap, 0, atol=1e-12 * np.ptp(times))).any():
        return hit.astype(float)[None, :]
    return (weights / gap / np.sum(weights / gap))[None, :]


def _newton(s: complex, now: F64, lagging: Delayed) -> complex | None:
    """Newton's method on the determinant; None where it does not settle near its start."""
    start = s
    for _ in range(30):
        matrix, slope = s * np.eye(len(now)) - now, np.eye(len(now), dtype=complex)
        for delay, A in lagging:
            term = A * np.exp(-s * delay)
            matrix, slope = matrix - term, slope + delay * term
        try:
            trace = np.trace(np.linalg.solve(matrix, slope))
        except np.linalg.LinAlgError:
            return s
        step = 1 / trace
        s = s - step
        if not np.isfinite(s) or abs(s - start) > 0.1 * abs(start) + 1.0:
            return None
        if abs(step) < 1e-10 * (abs(s) + 1e-3):
            return s
    return None

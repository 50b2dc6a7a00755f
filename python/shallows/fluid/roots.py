"""Characteristic roots of linear systems with delays.

Source: Breda, Maset, Vermiglio (SIAM J. Sci. Comput. 2005), by collocation.
"""

import numpy as np
from numpy.typing import NDArray

from shallows.core.contract import F64
from shallows.fluid.compiled import C128

Delayed = list[tuple[float, F64]]
"""[(delay in s, matrix), …]"""
NO_DELAY = 1e-12
"""Delays in seconds below this count as none, because the collocation divides by the delay."""


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


def _rightmost_first(roots: NDArray[np.generic]) -> C128:
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

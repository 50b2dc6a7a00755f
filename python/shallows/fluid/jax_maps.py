"""Margins of many points at once by JAX, on a GPU where JAX finds one.

The equations are the models' own (see `traced`); the fixed points, a small part of the work, are numba's.
The method is `loop_gain.margin`'s, written for all points in step: gains over the whole grid of frequencies
first, then the crossings one after another, each until the slowest point of the piece is there. Numbers are
float64 here, whatever JAX is set to elsewhere.
"""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shallows.contract import F64
from shallows.fluid.compiled import python_of
from shallows.fluid.loop_gain import HIGHEST_FREQUENCY, LOWEST_FREQUENCY, PER_DECADE
from shallows.fluid.maps import rest_points
from shallows.fluid.model import Model
from shallows.fluid.system import Equations, System
from shallows.fluid.traced import evaluate

Traced = Any
"""A number, or an array of them, that JAX traces."""
Value = Any
"""The same, or the int 0 for a value on which no symbol acts."""
Symbols = dict[str, Traced]
State = tuple[Traced, ...]

POINTS_IN_ONE_PIECE = {"cpu": 1 << 13, "gpu": 1 << 17}
"""Points in one piece, which limits memory: a point needs about a kilobyte."""

CLOSE = 1e-12
"""Tolerance of ln |L| at a crossing: rounding seldom allows less, and all points would wait."""

_STEP = 1e-30
_COUNT = int(np.log10(HIGHEST_FREQUENCY / LOWEST_FREQUENCY) * PER_DECADE)
_FREQUENCIES = LOWEST_FREQUENCY * 10.0 ** (np.arange(_COUNT + 1) / PER_DECADE)


def margins(model: Model, constants: F64, flows: F64, workers: int | None = None) -> tuple[F64, F64]:
    """(rest [points, 1 + states], (phase margin in rad, crossover in rad/s) [points, 2]), as `maps` has them.

    constants: [points, constants] in the system's order. flows: [points].
    """
    platform = "cpu" if jax.default_backend() == "cpu" else "gpu"
    size = min(POINTS_IN_ONE_PIECE[platform], 1 << max(len(flows) - 1, 0).bit_length())
    rest, out = np.empty((len(flows), 1 + len(model.system.states))), np.empty((len(flows), 2))
    equilibrium = model.system.equilibrium_float
    solve = _solver(type(model))

    def fill(start: int) -> None:
        piece = slice(start, min(start + size, len(flows)))
        missing = size - (piece.stop - start)
        rest_points(equilibrium, constants[piece], rest[piece])
        # Every piece has the same shape; otherwise each would be compiled again.
        padded = (
            np.pad(constants[piece], ((0, missing), (0, 0)), "edge"),
            np.pad(flows[piece], (0, missing), "edge"),
            np.pad(rest[piece], ((0, missing), (0, 0)), "edge"),
        )
        with jax.enable_x64(True):
            out[piece] = np.asarray(solve(*padded))[: size - missing]

    threads = (workers or os.cpu_count()) if platform == "cpu" else 1
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, range(0, len(flows), size)))
    return rest, out


@cache
def _solver(model: type[Model]) -> Callable[..., Traced]:
    """The compiled function of constants, flows and rest, all [points, …], for one class of models."""
    system, at_mark = model.system, model.loop_at == "mark"

    def point(constants: Traced, flows: Traced, rest: Traced) -> Traced:
        symbols = dict(zip(system.constants, constants, strict=True))
        symbols |= dict(zip(system.states, rest[1:], strict=True))
        gain, advance = _loop(system, symbols, flows, at_mark)
        phase, crossover = _margin(gain, advance)
        return jnp.where(rest[0] > 1, jnp.nan, jnp.stack([phase, crossover]))

    return jax.jit(jax.vmap(point))


def _results(function: Equations, symbols: Symbols) -> tuple[Traced, ...]:
    """The results of equations for symbols by name, as a tuple."""
    return evaluate(function, *(symbols[name] for name in _arguments(function)))


def _arguments(function: Equations) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(python_of(function)).parameters


def _derivatives(function: Equations, symbols: Symbols, name: str) -> list[Value]:
    """The partial derivative of every result by the symbol `name`; 0, an int, where it does not occur."""
    if name not in _arguments(function):
        return [0] * len(_results(function, symbols))
    stepped = symbols | {name: jax.lax.complex(symbols[name], jnp.full_like(symbols[name], _STEP))}
    results = _results(function, stepped)
    return [one.imag / _STEP if jnp.iscomplexobj(one) else 0 for one in results]


def _columns(function: Equations, symbols: Symbols, names: Sequence[str]) -> list[tuple[Value, ...]]:
    """[results][names]: the partial derivatives."""
    return list(zip(*(_derivatives(function, symbols, name) for name in names), strict=True))


def _loop(
    system: System, symbols: Symbols, flows: Traced, at_mark: bool
) -> tuple[Callable[[Traced], Traced], Traced]:
    """(L(w in rad/s) without the delay common to all paths, that delay); see `loop_gain.loop_gain`."""
    delays = _results(system.feedback, symbols)
    taps = {name: (state, delays[lag]) for name, (state, lag) in system.delayed.items()}
    symbols = symbols | {name: symbols[state] for name, (state, _) in taps.items()}
    (rate,) = _results(system.sending, symbols)
    symbols["total"] = flows * rate
    (rates,) = _columns(system.sending, symbols, system.states)
    instant, entering = _without_delay(system, symbols, flows, rates, at_mark)
    by_delayed = _columns(system.reaction, symbols, tuple(taps))
    S, places = len(system.shared), {state: i for i, state in enumerate(system.states)}
    direct = [*rates[:S], *(slope for row in instant[S:] for slope in row[:S])]
    cut_at = system.shared if at_mark else (system.own_rate,)
    advance = _common_delay(direct, taps, system.shared, at_mark)

    def gain(w: Traced) -> Traced:
        A, b = [[-slope for slope in row] for row in instant], list(entering)
        for i in range(len(A)):
            A[i][i] = A[i][i] + jax.lax.complex(0.0 * w, w)
        for m, (state, delay) in enumerate(taps.values()):
            is_cut = state in cut_at
            late = _turn(w * (delay - advance if is_cut or not at_mark else delay))
            for i, row in enumerate(by_delayed, start=S):
                if is_cut:
                    b[i] = b[i] + _times(row[m], late)
                else:
                    A[i][places[state]] = A[i][places[state]] - _times(row[m], late)
        x = _solve(A, b)
        if at_mark:
            mark = [state for state, _ in taps.values() if state in system.shared][-1]
            return -x[places[mark]]
        return -sum(_times(slope, value) for slope, value in zip(rates, x, strict=True))

    return gain, advance


def _without_delay(
    system: System, symbols: Symbols, flows: Traced, rates: Sequence[Value], at_mark: bool
) -> tuple[list[list[Value]], list[Value]]:
    """(how each state depends on each state now [states][states], how it does on the cut loop's input)."""
    arriving = [flows * slope for (slope,) in _columns(system.link, symbols, ("total",))]
    link: list[list[Value]] = [
        [*row, *[0] * len(system.flow)] for row in _columns(system.link, symbols, system.shared)
    ]
    if at_mark:
        link = [
            [slope + _times(arrived, rate) for slope, rate in zip(row, rates, strict=True)]
            for row, arrived in zip(link, arriving, strict=True)
        ]
        arriving = [0] * len(arriving)
    reaction = [list(row) for row in _columns(system.reaction, symbols, system.states)]
    return [*link, *reaction], [*arriving, *[0] * len(system.flow)]


def _common_delay(
    direct: Sequence[Value], taps: Mapping[str, tuple[str, Traced]], shared: Sequence[str], at_mark: bool
) -> Traced:
    """As `linear._common_delay`. direct: the slopes of paths without delay from the link to the rate."""
    shortest = [delay for state, delay in taps.values() if not at_mark or state in shared]
    shortest = jnp.min(jnp.stack(jnp.broadcast_arrays(*shortest)))
    for slope in () if at_mark else direct:
        shortest = jnp.where(slope != 0, 0.0, shortest)
    return shortest


def _turn(angle: Traced) -> Traced:
    """e^(-i angle)."""
    return jax.lax.complex(jnp.cos(angle), -jnp.sin(angle))


def _times(a: Value, b: Value) -> Value:
    """The product, or the int 0 if a factor is the int 0: terms on which no symbol acts cost nothing."""
    return 0 if _absent(a) or _absent(b) else a * b


def _absent(value: Value) -> bool:
    return isinstance(value, int)


def _solve(A: list[list[Value]], b: list[Value]) -> list[Value]:
    """The solution of A x = b, lists of numbers, by elimination.

    There is no pivoting, because all points take the same steps: i w on the diagonal keeps pivots from 0.
    """
    size = len(b)
    inverses: list[Value] = []
    for k in range(size):
        inverses.append(A[k][k].conj() / (A[k][k].real ** 2 + A[k][k].imag ** 2))
        for i in range(k + 1, size):
            factor = _times(A[i][k], inverses[k])
            A[i][k + 1 :] = [
                a - _times(factor, top) for a, top in zip(A[i][k + 1 :], A[k][k + 1 :], strict=True)
            ]
            b[i] = b[i] - _times(factor, b[k])
    x: list[Value] = [0] * size
    for k in reversed(range(size)):
        rest = b[k] - sum(_times(A[k][j], x[j]) for j in range(k + 1, size))
        x[k] = _times(rest, inverses[k])
    return x


def _margin(gain: Callable[[Traced], Traced], advance: Traced) -> tuple[Traced, Traced]:
    """(phase margin in rad, crossover in rad/s) of the crossover with the least margin, or NaNs."""
    frequencies = jnp.asarray(_FREQUENCIES)

    def size(w: Traced) -> Traced:
        return jnp.log(jnp.abs(gain(w)))

    sizes = jax.lax.map(size, frequencies)
    above = sizes > 0
    crosses = above[:-1] != above[1:]
    places = jnp.arange(_COUNT)

    def remain(state: State) -> Traced:
        return jnp.any(crosses & (places >= state[0]))

    def next_one(state: State) -> State:
        first, worst, crossover = state
        k = jnp.argmax(crosses & (places >= first))
        ends = jnp.log(frequencies[k]), jnp.log(frequencies[k + 1]), sizes[k], sizes[k + 1]
        w = _crossing(gain, *ends)
        phase = jnp.angle(-gain(w)) - w * advance
        worse = ~(phase > worst)
        return k + 1, jnp.where(worse, phase, worst), jnp.where(worse, w, crossover)

    _, worst, crossover = jax.lax.while_loop(remain, next_one, (jnp.asarray(0), jnp.nan, jnp.nan))
    return worst, crossover


def _crossing(gain: Callable[[Traced], Traced], a: Traced, b: Traced, fa: Traced, fb: Traced) -> Traced:
    """Where |L| = 1 between two frequencies given as logarithms: Illinois' false position, as in `linear`."""

    def goes_on(state: State) -> Traced:
        turn, _, _, _, _, found = state
        return (turn < 60) & ~found

    def step(state: State) -> State:
        turn, a, b, fa, fb, _ = state
        w = b - fb * (b - a) / (fb - fa)
        fw = jnp.log(jnp.abs(gain(jnp.exp(w))))
        same = (fw > 0) == (fb > 0)
        found = (jnp.abs(fw) < CLOSE) | (jnp.abs(b - a) < CLOSE)
        return turn + 1, jnp.where(same, a, b), w, jnp.where(same, fa / 2, fb), fw, found

    state = jax.lax.while_loop(goes_on, step, (jnp.asarray(0), a, b, fa, fb, jnp.asarray(False)))
    return jnp.exp(state[2])

"""Runs a model in time: flows in classes, start and stop times, jitter on the feedback."""

import signal
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from shallows.core.contract import F64, Flags
from shallows.errors import ScenarioError
from shallows.fluid.integrate import (
    DONE,
    HISTORY_TOO_SHORT,
    NOT_FINITE,
    STEP_TOO_LONG,
    Classes,
    Layout,
    Memory,
    Noise,
    Steps,
    integrate,
)
from shallows.fluid.model import Model
from shallows.fluid.system import System

ORDERS = {"rk4": 4, "heun": 2}
Advance = Callable[[int, Memory], tuple[int, float, F64, F64, F64]]
"""A piece of steps from the first on: its status, when it ended, and its times, states and rates."""
PIECE = 100_000
"""Steps between two checks for Ctrl-C: much less than a tenth of a second."""


@dataclass(frozen=True)
class Flows:
    """A class of `count` flows that are alike in everything; it costs as much as one flow.

    rate_bps: the rate each starts at; None is the model's own. start_s, stop_s: when they are there.
    state: initial states by symbol in the equations' units, over those the model would give.
    """

    count: float = 1
    rate_bps: float | None = None
    start_s: float = 0.0
    stop_s: float = np.inf
    state: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class Jitter:
    """Uniform random time from 0 to `width_s` on every feedback delay, drawn anew each `every_s`.

    measured: whether a delay-based sender also takes the extra time for queueing. A mark does not say
    how long it was under way, so it makes no difference to ECN.
    """

    width_s: float
    every_s: float = 20e-6
    seed: int = 1
    measured: bool = False


@dataclass(frozen=True)
class Trajectory:
    """A run. T times, F classes of flows.

    time_s, queue_bytes: [T]. rates_bps: [F, T], of one flow of each class (0 while it is not there).
    counts: [F]. internals: name with unit -> [T] (the link's) or [F, T] (the flows'). step_s: the
    integrator's step, of which the columns hold every so many. interrupted: whether Ctrl-C ended it.
    """

    model: Model
    time_s: F64
    queue_bytes: F64
    rates_bps: F64
    counts: F64
    internals: Mapping[str, F64]
    step_s: float
    interrupted: bool = False

    @property
    def total_bps(self) -> F64:
        """[T]: what all flows send together."""
        return self.counts @ self.rates_bps

    def utilization(self, chosen: slice | Flags = slice(None)) -> float:
        """The share of the capacity that leaves the link: all of it while there is a queue."""
        sent = np.where(self.queue_bytes > 0, self.model.rate, np.minimum(self.total_bps, self.model.rate))
        return float(sent[chosen].mean() / self.model.rate)

    def between(self, start_s: float, stop_s: float = np.inf) -> Flags:
        """[T] booleans: start_s <= time < stop_s."""
        return (self.time_s >= start_s) & (self.time_s < stop_s)


def default_step(model: Model, shortest_lag: float) -> float:
    """Half the shortest lag, at most 2.5 us: RK4's error is then far below a packet."""
    return min(2.5e-6, shortest_lag / 2 or np.inf, model.fastest_s)


def trajectory(
    model: Model,
    duration_s: float,
    *,
    flows: Sequence[Flows] | None = None,
    shared: Mapping[str, float] | None = None,
    step_s: float | None = None,
    method: str = "rk4",
    jitter: Jitter | None = None,
    sample_s: float | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> Trajectory:
    """Integrates `model` for `duration_s` and returns a `Trajectory`.

    flows: the classes; None is one class of `model.flows`. shared: initial shared states by symbol in
    the equations' units (an empty queue otherwise). step_s: None is `default_step`. method: "rk4" or
    "heun". sample_s: time between recorded states, None is about 10,000 samples in all.
    on_progress(time_s) is called many times a second; a KeyboardInterrupt, its own or the user's, ends
    the run early with what there is. Raises ScenarioError where the step is longer than a feedback delay
    or too long to stay finite, or where a value is impossible.
    """
    if method not in ORDERS:
        raise ScenarioError("method", method, " or ".join(ORDERS))
    if not duration_s > 0:
        raise ScenarioError("duration", duration_s, "a time above 0 s")
    classes = [Flows(count=model.flows)] if flows is None else list(flows)
    total = sum(one.count for one in classes)
    system, constants = model.system, model.constants_array()
    start_shared = _in_order(system.shared, dict.fromkeys(system.shared, 0.0) | dict(shared or {}))
    start_flows = np.array([_in_order(system.flow, _initial(model, one, total)) for one in classes])

    lags = np.array([_lags(system, start_shared, one, constants) for one in start_flows])
    step = default_step(model, lags.min()) if step_s is None else step_s
    if not step > 0:
        raise ScenarioError("step", step, "a time above 0 s")
    steps = max(1, round(duration_s / step))
    every = max(1, round((duration_s / 10_000 if sample_s is None else sample_s) / step))
    layout = Layout(
        len(system.shared), len(system.flow), system.tap_states, system.tap_lags, system.lags,
        *_bounds(model), float(model.drain),
    )  # fmt: skip
    there = Classes(
        *(np.array([float(getattr(one, name)) for one in classes]) for name in ("count", "start_s", "stop_s"))
    )
    noise = _noise(model, jitter, len(classes), duration_s)

    ring = 16 + int(2 * (lags.max() + noise.draws.max(initial=0.0)) / step)
    start = np.concatenate([start_shared, start_flows.ravel()])
    piece = max(1, PIECE // len(classes))

    def advance(first: int, memory: Memory) -> tuple[int, float, F64, F64, F64]:
        part = Steps(float(step), first, min(first + piece, steps + 1), every, ORDERS[method])
        return integrate(
            system.reaction_float, system.link_float, system.sending_float, system.feedback_float,
            constants, layout, there, noise, part, memory,
        )  # fmt: skip

    firsts = range(0, steps + 1, piece)
    status, where, pieces, interrupted = _pieces(advance, firsts, start, ring, on_progress)
    while status == HISTORY_TOO_SHORT:
        ring *= 4
        status, where, pieces, interrupted = _pieces(advance, firsts, start, ring, on_progress)
    _check_end(status, where, step)
    time, states, rates = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return _tables(model, time, states, rates, classes, step, interrupted)


def _check_end(status: int, where: float, step: float) -> None:
    """Raises `ScenarioError` where the steps did not come to their end."""
    if status == STEP_TOO_LONG:
        expected = f"a step no longer than the feedback delay of {where * 1e6:g}us"
        raise ScenarioError("step", f"{step * 1e6:g}us", expected)
    if status == NOT_FINITE:
        expected = f"a shorter step: the state is not finite after {where:g} s"
        raise ScenarioError("step", f"{step * 1e6:g}us", expected)


def _pieces(
    advance: Advance,
    firsts: range,
    start: F64,
    ring: int,
    on_progress: Callable[[float], None] | None,
) -> tuple[int, float, list[tuple[F64, F64, F64]], bool]:
    """(status, when it ended, [(times, states, rates)], interrupted) of `advance` from each of `firsts`."""
    memory = Memory(start.copy(), np.zeros((ring + 1, start.size)), np.zeros((ring + 1, start.size)))
    memory.states[ring] = start
    pieces: list[tuple[F64, F64, F64]] = []
    where = 0.0
    with _interrupts_held() as pressed:
        for first in firsts:
            status, where, time, states, rates = advance(first, memory)
            if status != DONE:
                return status, where, pieces, False
            pieces.append((time, states, rates))
            try:
                if on_progress is not None:
                    on_progress(where)
            except KeyboardInterrupt:
                pressed.set()
            if pressed.is_set():
                return DONE, where, pieces, True
    return DONE, where, pieces, False


@contextmanager
def _interrupts_held() -> Generator[threading.Event]:
    """An event that Ctrl-C sets: an exception inside compiled code would become an internal error."""
    pressed = threading.Event()
    heard_here = threading.current_thread() is threading.main_thread()
    if not heard_here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield pressed
        return

    def press(*_: object) -> None:
        pressed.set()

    signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _initial(model: Model, one: Flows, total: float) -> dict[str, float]:
    rate = model.initial_rate(total) if one.rate_bps is None else one.rate_bps
    state = model.start(rate)
    if unknown := set(one.state) - set(state):
        expected = f"states of {model.name}: {', '.join(state)}"
        raise ScenarioError("state", ", ".join(sorted(unknown)), expected)
    return state | dict(one.state)


def _in_order(names: Sequence[str], values: Mapping[str, float]) -> F64:
    return np.array([float(values[name]) for name in names])


def _lags(system: System, shared: F64, flow: F64, constants: F64) -> F64:
    out = np.empty(system.lags)
    system.feedback_float(shared, flow, np.empty(0), constants, out)
    return out


def _bounds(model: Model) -> tuple[F64, F64]:
    bounds = model.bounds()
    pairs = np.array([bounds.get(name, (-np.inf, np.inf)) for name in model.system.states], float)
    return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


def _noise(model: Model, jitter: Jitter | None, classes: int, duration_s: float) -> Noise:
    """The `Noise` of `jitter`."""
    system = model.system
    taps = np.zeros(len(system.delayed))
    if jitter is None:
        return Noise(np.empty((classes, 0)), 1.0, taps)
    if jitter.measured:
        taps[:] = [model.measured_per_second.get(symbol, 0.0) for symbol in system.delayed]
    shape = classes, 2 + int(duration_s / jitter.every_s)
    draws = np.random.default_rng(jitter.seed).uniform(0.0, jitter.width_s, shape)
    return Noise(draws, float(jitter.every_s), taps)


def _tables(
    model: Model, time: F64, states: F64, rates: F64, classes: Sequence[Flows], step: float, interrupted: bool
) -> Trajectory:
    system = model.system
    S, K = len(system.shared), len(system.flow)
    columns = {name: states[:, i] for i, name in enumerate(system.shared)}
    columns |= {name: states[:, S + i :: K].T for i, name in enumerate(system.flow)}
    internals: dict[str, F64] = {}
    for symbol, (name, in_units) in model.outputs.items():
        internals[name] = columns[symbol] * (model.unit_bits if in_units else 1.0)
    return Trajectory(
        model,
        time,
        columns["q"] * model.unit_bits / 8,
        rates.T * model.unit_bits,
        np.array([float(one.count) for one in classes]),
        internals | model.derived(time, columns),
        step,
        interrupted,
    )

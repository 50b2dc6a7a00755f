"""The integrator against solutions worked by hand, an independent solver, and its own order."""

import shutil
from dataclasses import dataclass
from math import factorial
from typing import ClassVar

import numpy as np
import pytest

from shallows.errors import ScenarioError
from shallows.fluid import Dcqcn
from shallows.fluid.linear import linearise
from shallows.fluid.model import Model
from shallows.fluid.system import System, equations
from shallows.fluid.trajectory import Flows, trajectory


@equations
def delayed_decay(x_d, pace):
    return -pace * x_d


@equations
def no_link(total):
    return 0.0 * total


@equations
def no_rate(x):
    return 0.0 * x


@equations
def one_second():
    return 1.0


@equations
def at_origin():
    return 0, 0.0, 0.0


@dataclass(frozen=True, kw_only=True)
class DelayedDecay(Model):
    """x'(t) = -x(t - 1) with x = 1 before 0."""

    name: ClassVar = "delayed-decay"
    system: ClassVar = System(
        shared=("q",),
        flow=("x",),
        delayed={"x_d": ("x", 0)},
        reaction=delayed_decay,
        link=no_link,
        sending=no_rate,
        feedback=one_second,
        equilibrium=at_origin,
        own_rate="x",
    )
    outputs: ClassVar = {"x": ("x", False)}

    def constants(self):
        return {"pace": 1.0}

    def start(self, rate_bps):
        return {"x": 1.0}


@equations
def remember(q_d, pace):
    return pace * q_d


@equations
def grow(total):
    return 0.0 * total + 1.0


@equations
def growing_lag(q):
    return 0.5 + q / 4


@dataclass(frozen=True, kw_only=True)
class GrowingLag(DelayedDecay):
    """q' = 1 and x'(t) = q(t - 1/2 - q(t)/4)."""

    name: ClassVar = "growing-lag"
    system: ClassVar = System(
        shared=("q",),
        flow=("x",),
        delayed={"q_d": ("q", 0)},
        reaction=remember,
        link=grow,
        sending=no_rate,
        feedback=growing_lag,
        equilibrium=at_origin,
    )

    @property
    def unit_bits(self):
        return 8.0

    def start(self, rate_bps):
        return {"x": 0.0}


def last(model, duration, **options):
    return trajectory(model, duration, **options).internals["x"][0, -1]


@pytest.mark.parametrize("method", ["rk4", "heun"])
def test_method_of_steps_by_hand(method):
    # x = 1 - t up to 1; then 1 - t + (t-1)^2/2; then minus (t-2)^3/6: x(2) = -1/2, x(3) = -1/6.
    tolerance = 1e-12 if method == "rk4" else 1e-4
    assert last(DelayedDecay(), 1.0, step_s=0.01, method=method) == pytest.approx(0.0, abs=tolerance)
    assert last(DelayedDecay(), 2.0, step_s=0.01, method=method) == pytest.approx(-1 / 2, abs=tolerance)
    assert last(DelayedDecay(), 3.0, step_s=0.01, method=method) == pytest.approx(-1 / 6, abs=tolerance)


@pytest.mark.parametrize(("method", "order"), [("rk4", 4), ("heun", 2)])
def test_error_falls_with_the_order_of_the_method(method, order):
    # x(10) from the series sum of (-1)^k (t-k+1)^k / k! over k-1 <= t.
    exact = 1 + sum((-1) ** k * (11 - k) ** k / factorial(k) for k in range(1, 12))
    ends = [last(DelayedDecay(), 10.0, step_s=step, method=method) for step in (0.1, 0.05)]
    coarse, fine = np.abs(np.array(ends) - exact)
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.35)


def test_delay_that_depends_on_the_state():
    # q = t, so q_d = t - 1/2 - t/4 from t = 2/3 on, and x(2) is the integral of 3t/4 - 1/2: 2/3.
    assert last(GrowingLag(), 2.0, step_s=0.001) == pytest.approx(2 / 3, abs=1e-6)


def test_step_longer_than_the_delay_is_refused():
    with pytest.raises(ScenarioError, match=r"step = \"2us\".*no longer than the feedback delay of 1us"):
        trajectory(Dcqcn(delay=1e-6), 1e-3, step_s=2e-6)
    trajectory(Dcqcn(delay=1e-6), 1e-3, step_s=1e-6)


def test_no_delay_reads_the_present():
    exact = trajectory(Dcqcn(delay=0.0), 0.1).queue_bytes[-1]
    near = trajectory(Dcqcn(delay=1e-7), 0.1, step_s=1e-7, sample_s=1e-3).queue_bytes[-1]
    assert exact == pytest.approx(near, rel=1e-3)


def test_class_of_flows_moves_like_its_flows():
    together = trajectory(Dcqcn(flows=5), 0.02)
    apart = trajectory(Dcqcn(flows=5), 0.02, flows=[Flows() for _ in range(5)])
    np.testing.assert_allclose(together.queue_bytes, apart.queue_bytes, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(together.rates_bps[0], apart.rates_bps[3], rtol=1e-9)


def test_flow_is_only_there_between_start_and_stop():
    late = Flows(start_s=0.01, stop_s=0.03)
    run = trajectory(Dcqcn(), 0.04, flows=[Flows(), late])
    assert not run.rates_bps[1][run.time_s < 0.0099].any()
    assert run.rates_bps[1][run.between(0.0101, 0.0299)].all()
    assert not run.rates_bps[1][run.time_s > 0.0301].any()
    before, after = (run.queue_bytes[run.between(*when)].max() for when in ((0.009, 0.01), (0.01, 0.0103)))
    assert after > before


def test_queue_stays_between_empty_and_the_buffer():
    queue = trajectory(Dcqcn(flows=10, delay=85e-6, buffer=1e6), 0.02).queue_bytes
    assert queue.min() == 0
    assert queue.max() == 1e6


@pytest.mark.skipif(shutil.which("cc") is None, reason="jitcdde needs a C compiler")
@pytest.mark.filterwarnings("ignore")
def test_agrees_with_jitcdde(monkeypatch, tmp_path):
    """DCQCN, 10 flows, 50 us, 30 ms from 2 % above the fixed point's queue: within 1e-3 KB all along."""
    monkeypatch.chdir(tmp_path)  # its build would read this project's settings
    model = Dcqcn(flows=10, delay=50e-6, kmax=2e6, pmax=0.1)
    rest = model.fixed_point().state
    start = {"R_C": rest["R_C"], "R_T": rest["R_T"], "alpha": rest["alpha"]}
    times = np.arange(0.5e-3, 30.01e-3, 0.5e-3)
    flows, shared = [Flows(10, state=start)], {"q": 1.02 * rest["q"]}
    ours = trajectory(model, 30e-3, step_s=1e-6, sample_s=1e-6, flows=flows, shared=shared)
    theirs = dcqcn_by_jitcdde([1.02 * rest["q"], *start.values()], times)
    assert np.ptp(theirs) > 1.0, "the comparison needs an oscillation"
    assert np.abs(np.interp(times, ours.time_s, ours.queue_bytes / 1e3) - theirs).max() < 1e-3


def dcqcn_by_jitcdde(start, times):
    """The queue in KB of ten flows at 50 us, from eq. 4 to 7 as printed; time in units of 50 us."""
    jitcdde = pytest.importorskip("jitcdde")
    from symengine import Integer, exp, log

    y, t, jitc = jitcdde.y, jitcdde.t, jitcdde.jitcdde
    unit, C, N, tau, tau_alpha, T, B, F, R_AI, g = 50e-6, 5e6, 10, 50e-6, 55e-6, 55e-6, 1e4, 5, 5e3, 1 / 256
    q_d, R_d = y(0, t - 1), y(1, t - 1) * C
    p = Integer(1) * 0.1 * (q_d - 5) / 1995
    R_C, R_T, alpha = y(1) * C, y(2) * C, y(3)
    kept = log(1 - p)
    a = 1 - exp(tau * R_d * kept)
    b, d = p / (exp(-B * kept) - 1), p / (exp(-T * R_d * kept) - 1)
    c, e = b * exp(F * B * kept), d * exp(F * T * R_d * kept)
    equations = [
        N * R_C - C,
        (-R_C * alpha * a / (2 * tau) + (R_T - R_C) / 2 * R_d * (b + d)) / C,
        (-(R_T - R_C) * a / tau + R_AI * R_d * (c + e)) / C,
        g / tau_alpha * (1 - exp(tau_alpha * R_d * kept) - alpha),
    ]
    solver = jitc([equation * unit for equation in equations], delays=[0, 1], max_delay=1.0, verbose=False)
    solver.constant_past([start[0], start[1] / C, start[2] / C, start[3]])
    solver.compile_C(simplify=False)
    solver.set_integration_parameters(rtol=1e-9, atol=1e-10, first_step=1e-3, max_step=0.5)
    solver.step_on_discontinuities()
    return np.array([solver.integrate(time / unit)[0] for time in times])


def test_linearisation_of_the_decay_by_hand():
    # s = -e^-s: the rightmost roots are the principal values of Lambert's W(-1).
    root = linearise(DelayedDecay()).rightmost_root("differential")
    assert root == pytest.approx(-0.31813150520476413 + 1.3372357014306895j, rel=1e-12)

"""DCTCP and DX: window models whose feedback switches."""

import numpy as np
import pytest

from shallows.fluid import Dctcp, Dx
from shallows.fluid import dx as dx_equations
from shallows.fluid.linear import linearise
from shallows.fluid.model import Status
from shallows.fluid.trajectory import Jitter, trajectory

PACKET = 1500.0


def late_queue(model, duration=0.2):
    run = trajectory(model, duration, step_s=1e-6)
    return run.queue_bytes[run.between(duration / 2)] / PACKET, run


def test_dctcp_switches_about_its_threshold():
    """10 Gb/s, 200 us, K = 35, N = 40: W = (166.67 + 35)/40 = 5.04 and alpha = sqrt(2/W) = 0.63."""
    rest = Dctcp(flows=40, k=35 * PACKET).fixed_point()
    assert rest.status == Status.SLIDING
    assert not rest.on_ramp
    assert rest.queue_bytes == 35 * PACKET
    assert rest.state["W"] == pytest.approx(5.0417, abs=1e-3)
    assert rest.alpha == pytest.approx(np.sqrt(2 / 5.04167), rel=1e-4)


SAWTOOTH = [(2, 65, 52, 67), (10, 65, 41, 75), (40, 35, 11.5, 75)]


@pytest.mark.parametrize(("flows", "threshold", "least", "most"), SAWTOOTH)
def test_dctcp_cycle_is_near_the_sawtooth_formulae(flows, threshold, least, most):
    """Q_max = K + N, Q_min = Q_max - sqrt(2 N (C d + K))/2: the fluid's cycle is within 7 packets of it."""
    queue, _ = late_queue(Dctcp(flows=flows, k=threshold * PACKET))
    assert queue.min() == pytest.approx(least, abs=7)
    assert queue.max() == pytest.approx(most, abs=3)


def test_dctcp_cycle_has_the_mean_alpha_of_the_switching_point():
    model = Dctcp(flows=10, k=65 * PACKET)
    _, run = late_queue(model)
    mean = run.internals["alpha"][0][run.between(0.1)].mean()
    assert mean == pytest.approx(model.fixed_point().alpha, rel=0.03)


def test_wide_ramp_ends_the_cycle_of_dctcp():
    narrow, wide = (Dctcp(flows=10, k=65 * PACKET, width=width * PACKET) for width in (10, 100))
    assert linearise(narrow).rightmost_root().real > 0
    assert linearise(wide).rightmost_root().real < 0
    assert np.ptp(late_queue(narrow)[0]) > 10
    assert np.ptp(late_queue(wide)[0]) < 0.1
    assert late_queue(wide)[0][-1] == pytest.approx(wide.fixed_point().queue_bytes / PACKET, rel=1e-3)


def test_dctcp_with_windows_below_two_packets_has_no_fixed_point():
    # W p^2 = 2 needs W >= 2: (166.67 + 65)/N >= 2 up to N = 115.
    assert Dctcp(flows=115, k=65 * PACKET).fixed_point().status == Status.SLIDING
    assert Dctcp(flows=116, k=65 * PACKET).fixed_point().status == Status.NONE


def test_dx_reaction_by_hand():
    """R = 100 us, W = 11: +1 a round without delay; with Q = 10 us, -(11 - 1) 10/100 = -1 in 110 us."""
    C, R, h = 1e6, 100e-6, 1e-6
    assert dx_equations.reaction(11.0, 0.0, 0.0, 0.0, C, R, h) == pytest.approx(1 / 100e-6)
    q, T = 10.0, 110e-6
    assert dx_equations.reaction(11.0, q, 10e-6 * T, 0.0, C, R, h) == pytest.approx(-1 / T)
    assert dx_equations.reaction(1.0, q, 10e-6 * T, 0.0, C, R, h) == 0.0


@pytest.mark.parametrize("flows", [2, 10, 40])
def test_dx_keeps_its_queue_near_the_number_of_flows(flows):
    queue, run = late_queue(Dx(flows=flows))
    assert queue.max() < 2.2 * flows
    assert queue.min() == 0
    assert run.utilization(run.between(0.1)) > 0.9


def test_dx_with_more_flows_than_packets_on_the_path():
    """300 windows of 1 packet on a path of 166.67 leave 133.33 in the queue."""
    model = Dx(flows=300)
    rest = model.fixed_point()
    assert rest.status == Status.OFF_RAMP
    assert rest.queue_bytes / PACKET == pytest.approx(133.333, abs=1e-3)
    assert late_queue(model)[0][-1] == pytest.approx(133.333, abs=0.1)


def test_dx_headroom_is_its_mean_queue():
    rest = Dx(headroom=12e-6).fixed_point()
    assert rest.status == Status.SLIDING
    assert rest.queue_bytes == pytest.approx(12e-6 * 10e9 / 8)


def test_jitter_is_reproducible():
    first, again, other = (
        trajectory(Dx(), 0.01, jitter=Jitter(20e-6, seed=seed)).queue_bytes for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)

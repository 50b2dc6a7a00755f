"""PI controllers: at the switch the queue is fixed and the rates are fair; at the hosts only the queue is."""

import numpy as np
import pytest

from shallows.fluid import Dcqcn, DcqcnPi, PatchedTimelyPi
from shallows.fluid.linear import linearise
from shallows.fluid.published import ScriptHostPi
from shallows.fluid.trajectory import Flows, trajectory

GBPS = 1e9


@pytest.mark.parametrize("delay_us", [4, 85])
@pytest.mark.parametrize("flows", [2, 10, 64])
def test_switch_pi_fixes_the_queue_for_any_number_of_flows(flows, delay_us):
    model = DcqcnPi(flows=flows, delay=delay_us * 1e-6, buffer=12e6)
    run = trajectory(model, 0.35)
    late = run.between(0.3)
    assert run.queue_bytes[late] / 1e3 == pytest.approx(200, rel=5e-3)
    assert run.rates_bps[0][late] / GBPS == pytest.approx(40 / flows, rel=1e-3)
    assert run.internals["p"][-1] == pytest.approx(Dcqcn(flows=flows).fixed_point().p, rel=1e-2)


@pytest.mark.parametrize("delay_us", [4, 85])
@pytest.mark.parametrize("flows", [2, 10, 64])
def test_roots_of_switch_pi(flows, delay_us):
    root = linearise(DcqcnPi(flows=flows, delay=delay_us * 1e-6)).rightmost_root()
    assert -33 < root.real < -24


def test_too_much_integral_gain_is_unstable():
    # K2/K1 = 100 /s at N = 2, 85 us.
    assert linearise(DcqcnPi(delay=85e-6, k2=5.8e-4)).rightmost_root().real == pytest.approx(10.6, abs=0.1)


def host_pi(p_first, p_second, duration=1.0):
    model = PatchedTimelyPi()
    starts = [
        Flows(rate_bps=7 * GBPS, state={"Z": model.integral_for(p_first)}),
        Flows(rate_bps=3 * GBPS, state={"Z": model.integral_for(p_second)}),
    ]
    return trajectory(model, duration, flows=starts)


@pytest.mark.parametrize("start", [(0.0, 0.0), (0.1, 0.4), (0.3, -0.2)])
def test_difference_of_host_pi_never_changes(start):
    integral = host_pi(*start, duration=0.3).internals["integral"]
    assert np.abs(integral[0] - integral[1] - (start[0] - start[1])).max() < 1e-9


def test_equal_starts_of_host_pi_are_fair():
    run = host_pi(0.0, 0.0)
    assert run.rates_bps[:, -1] / GBPS == pytest.approx([5, 5], abs=1e-3)
    assert run.queue_bytes[-1] / 1e3 == pytest.approx(300, abs=1e-2)


def test_unequal_starts_of_host_pi_stay_unequal():
    """delta/beta (1/p + 1/(p + 0.3)) = C gives p = 0.1703, so 1.25/0.1703 = 7.342 and 2.658 Gb/s."""
    run = host_pi(0.1, 0.4)
    assert run.internals["p"][:, -1] == pytest.approx([0.1703, 0.4703], abs=1e-4)
    assert run.rates_bps[:, -1] / GBPS == pytest.approx([7.342, 2.658], abs=1e-3)
    assert run.queue_bytes[-1] / 1e3 == pytest.approx(300, abs=1e-2)


def test_host_pi_is_neutral_between_flows():
    linear = linearise(PatchedTimelyPi())
    assert abs(linear.rightmost_root("differential")) < 1e-9
    assert linear.rightmost_root().real < -1
    assert linear.stable


@pytest.mark.parametrize(("p", "gbps"), [((0.0, 0.0), (5.99, 4.01)), ((0.002, 0.006), (7.39, 2.61))])
def test_figure_19_as_computed(p, gbps):
    model = ScriptHostPi()
    starts = [Flows(rate_bps=rate * GBPS, state={"p": one}) for rate, one in zip((7, 3), p, strict=True)]
    run = trajectory(model, 5.0, flows=starts, step_s=4e-6)
    assert run.rates_bps[:, -1] / GBPS == pytest.approx(gbps, abs=0.01)
    assert run.queue_bytes[-1] / 1e3 == pytest.approx(343.75, abs=0.05)


def test_host_pi_cannot_aim_outside_the_thresholds():
    assert not PatchedTimelyPi(q_ref=50e3).fixed_point().exists
    assert not PatchedTimelyPi(q_ref=700e3).fixed_point().exists

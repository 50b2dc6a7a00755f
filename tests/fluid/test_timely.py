"""TIMELY: no fixed point, or a continuum; Patched TIMELY: eq. 31, its margins, its convergence."""

import numpy as np
import pytest

from shallows.fluid import PatchedTimely, Timely
from shallows.fluid.linear import linearise
from shallows.fluid.model import Status
from shallows.fluid.timely import reaction, update_interval
from shallows.fluid.trajectory import Flows, Jitter, trajectory

GBPS = 1e9


def two(first_gbps, second_gbps, **state):
    return [Flows(rate_bps=rate * GBPS, state=state) for rate in (first_gbps, second_gbps)]


def at(run, time_s):
    return [float(np.interp(time_s, run.time_s, rates)) / GBPS for rates in run.rates_bps]


def test_update_interval():
    # 64 KB at 5 Gb/s last 102.4 us; 16 KB at 10 Gb/s 12.8 us, below D_minRTT.
    assert update_interval(5e9, 512e3, 20e-6) == pytest.approx(102.4e-6)
    assert update_interval(10e9, 128e3, 20e-6) == 20e-6


def rate_change(q_us, g, changed=0.0):
    """dR/dt of 5 Gb/s with D_minRTT 100 us as interval: steps of 1e5 bit/s^2 for each bit/s."""
    C = 10e9
    constants = (C, 10e6, 0.8, 0.875, 50e-6, 500e-6, 20e-6, 100e-6, 1.0, changed)
    return reaction(5e9, g, q_us * 1e-6 * C, 0.0, *constants)[0]


def test_thresholds_come_before_the_gradient():
    assert rate_change(49, g=1.0) == pytest.approx(10e6 / 100e-6)
    # Above T_high: -0.8 (1 - 500/1000) 5e9 / 100 us, whatever the gradient.
    assert rate_change(1000, g=-1.0) == pytest.approx(-0.8 * 0.5 * 5e9 / 100e-6)
    assert rate_change(100, g=-1.0) == pytest.approx(10e6 / 100e-6)
    assert rate_change(100, g=0.25) == pytest.approx(-0.25 * 0.8 * 5e9 / 100e-6)


def test_changed_inequality_differs_only_at_zero():
    assert rate_change(100, g=0.0) == pytest.approx(10e6 / 100e-6)
    assert rate_change(100, g=0.0, changed=1.0) == 0.0
    for g in (-1e-9, 1e-9):
        assert rate_change(100, g) == rate_change(100, g, changed=1.0)


def test_timely_has_no_fixed_point_and_the_changed_one_a_continuum():
    none, many = Timely().fixed_point(), Timely(inequality="changed").fixed_point()
    assert (none.status, many.status) == (Status.NONE, Status.CONTINUUM)
    assert not none.exists
    assert not many.exists
    assert "62.5 and 625 KB" in many.explanation


@pytest.mark.parametrize("start", [(5, 5), (7, 3), (9, 1)])
def test_changed_inequality_leaves_the_run_from_an_empty_queue_alone(start):
    models = (Timely(inequality=inequality) for inequality in ("printed", "changed"))
    printed, changed = (trajectory(model, 0.05, flows=two(*start)) for model in models)
    assert np.array_equal(printed.queue_bytes, changed.queue_bytes)


def test_changed_inequality_rests_wherever_it_is_put():
    """Theorem 4: at 7/3 and 200 KB nothing moves; the printed inequality leaves at once."""
    options = {"flows": two(7, 3), "shared": {"q": 200e3 * 8}}
    resting = trajectory(Timely(inequality="changed"), 0.05, **options)
    np.testing.assert_allclose(resting.rates_bps[:, -1] / GBPS, [7, 3], rtol=1e-12)
    assert np.ptp(resting.queue_bytes) == 0
    assert np.ptp(trajectory(Timely(), 0.05, **options).queue_bytes) > 10e3


def test_rest_is_only_neutral():
    """Nudged by 1e-6, the same start falls into the limit cycle: its queue empties."""
    start = two(7 * (1 + 1e-6), 3)
    run = trajectory(Timely(inequality="changed"), 0.1, flows=start, shared={"q": 200e3 * 8})
    assert run.queue_bytes[run.between(0.05)].min() == 0


def test_figure_8():
    """With a burst in eq. 24: period 15.88 ms, peak 69.65 KB, rates 3.853 to 5.235 Gb/s."""
    run = trajectory(Timely(serialization="seg"), 0.2, step_s=1e-6, method="heun")
    late = run.between(0.1)
    queue, rates = run.queue_bytes[late] / 1e3, run.rates_bps[0][late] / GBPS
    rising = np.flatnonzero((queue[:-1] == 0) & (queue[1:] > 0))
    assert np.diff(run.time_s[late][rising]).mean() * 1e3 == pytest.approx(15.88, abs=0.05)
    assert queue.max() == pytest.approx(69.65, abs=0.1)
    assert rates.min() == pytest.approx(3.853, abs=0.005)
    assert rates.max() == pytest.approx(5.235, abs=0.005)


def test_figure_8_with_the_printed_equation():
    run = trajectory(Timely(), 0.2, step_s=1e-6, method="heun")
    late = run.between(0.1)
    queue = run.queue_bytes[late] / 1e3
    rising = np.flatnonzero((queue[:-1] == 0) & (queue[1:] > 0))
    assert np.diff(run.time_s[late][rising]).mean() * 1e3 == pytest.approx(11.1, abs=0.1)
    assert queue.max() == pytest.approx(66.4, abs=0.2)


def test_figure_9_the_split_depends_on_the_start():
    model = Timely(serialization="seg")
    even, uneven = (trajectory(model, 0.1, flows=two(*start)) for start in ((5, 5), (7, 3)))
    late = even.between(0.06)
    assert np.array_equal(even.rates_bps[0], even.rates_bps[1])
    assert (uneven.rates_bps[:, late].mean(axis=1) / GBPS) == pytest.approx([6.27, 2.79], abs=0.03)


@pytest.mark.parametrize("flows", [1, 2, 10, 40, 71])
def test_queue_of_equation_31(flows):
    rest = PatchedTimely(flows=flows).fixed_point()
    # 62.5 KB (1 + N 10 Mb/s / (0.008 10 Gb/s)) = 62.5 KB + N 7.8125 KB.
    assert rest.queue_bytes == pytest.approx(62.5e3 + 7812.5 * flows, rel=1e-9)
    assert rest.on_ramp


def test_no_rest_above_t_high():
    assert PatchedTimely(flows=71).fixed_point().exists
    assert not PatchedTimely(flows=72).fixed_point().exists


def test_fixed_point_of_patched_timely_stays():
    model = PatchedTimely(flows=10)
    run = trajectory(model, 0.01, shared={"q": model.fixed_point().state["q"]})
    assert np.ptp(run.queue_bytes) < 1e-6


# Delay in us: the flows that are stable with slope 2 (printed) and with slope 0.5.
STABLE = {0: ((2, 19), (3, 39)), 4: ((2, 19), (3, 39)), 50: ((2, 17), (4, 37)), 100: ((3, 16), (5, 35))}


@pytest.mark.parametrize("delay_us", STABLE)
def test_stable_numbers_of_flows(delay_us):
    for slope, (first, last) in zip((2.0, 0.5), STABLE[delay_us], strict=True):
        models = {n: PatchedTimely(flows=n, delay=delay_us * 1e-6, weight_slope=slope) for n in range(1, 72)}
        margins = {n: linearise(model).loop().margins().phase_margin_deg for n, model in models.items()}
        assert [n for n, margin in margins.items() if margin > 0] == list(range(first, last + 1))
        edges = {n: linearise(models[n]).stable for n in (first - 1, first, last, last + 1)}
        assert list(edges.values()) == [False, True, True, False]


@pytest.mark.parametrize(
    ("flows", "margin_deg", "root"), [(2, 7.02, -115 + 1798j), (10, 45.27, None), (20, -4.79, 88 + 2933j)]
)
def test_margins_at_4_us(flows, margin_deg, root):
    linear = linearise(PatchedTimely(flows=flows))
    assert linear.loop().margins().phase_margin_deg == pytest.approx(margin_deg, abs=0.02)
    if root is not None:
        assert linear.rightmost_root() == pytest.approx(root, abs=1)


def test_differences_between_flows_decay_at_one_rate():
    # -delta/(2 Seg) = -10e6 / (2 * 128000) = -39.06 /s, whatever N.
    for flows in (2, 10, 40):
        assert linearise(PatchedTimely(flows=flows)).rightmost_root("differential") == pytest.approx(-39.0625)


def test_seven_to_three_becomes_fair():
    run = trajectory(PatchedTimely(), 0.2, flows=two(7, 3))
    assert at(run, 0.01) == pytest.approx([6.12, 3.59], abs=0.02)
    assert at(run, 0.02) == pytest.approx([5.870, 4.074], abs=0.02)
    assert at(run, 0.05) == pytest.approx([5.290, 4.708], abs=0.02)
    assert at(run, 0.1) == pytest.approx([5.041, 4.959], abs=0.002)
    assert at(run, 0.2) == pytest.approx([5.0009, 4.9991], abs=2e-4)
    assert run.queue_bytes[-1] / 1e3 == pytest.approx(78.125, abs=1e-3)


def test_stability_is_only_local():
    """At 54 us two flows are stable (root about -30), yet 7/3 stays in a cycle of 53 to 108 KB."""
    model = PatchedTimely(delay=54e-6)
    assert linearise(model).rightmost_root().real == pytest.approx(-30, abs=2)
    run = trajectory(model, 1.0, flows=two(7, 3))
    late = run.queue_bytes[run.between(0.9)] / 1e3
    assert late.min() == pytest.approx(53, abs=2)
    assert late.max() == pytest.approx(108, abs=2)


def test_jitter_unsettles_a_measured_delay():
    """Fig. 20: two flows, jitter of 0 to 100 us. As mere delay it starts a cycle of tens of KB (DCQCN stays
    put, see test_dcqcn); taken for queueing, its mean of 50 us empties the queue and idles the link."""
    still, delayed, mistaken = (
        trajectory(PatchedTimely(), 0.2, jitter=jitter)
        for jitter in (None, Jitter(100e-6), Jitter(100e-6, measured=True))
    )
    late = still.between(0.1)
    assert still.queue_bytes[late].std() < 10
    assert delayed.queue_bytes[late].std() > 10e3
    assert mistaken.queue_bytes[late].max() == 0
    assert mistaken.utilization(late) < 0.9

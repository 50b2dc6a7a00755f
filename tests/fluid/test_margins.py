"""Linear stability: the table of margins, python-control, the characteristic equation, the time domain."""

from dataclasses import replace

import numpy as np
import pytest

from shallows.fluid import Dcqcn, DcqcnPi, Dctcp, PatchedTimely, PatchedTimelyPi, Timely
from shallows.fluid.linear import linearise
from shallows.fluid.published import linearise_as_published, taylor_dcqcn
from shallows.fluid.roots import characteristic_roots
from shallows.fluid.trajectory import Flows, trajectory

DELAYS_US = (0, 4, 25, 50, 85, 100)
# N: crossover in rad/s, phase margins in degrees at DELAYS_US, delay margin in us.
TABLE = {
    1: (5450, (27.85, 26.60, 20.05, 12.24, 1.31, -3.37), 89.2),
    2: (4166, (20.42, 19.47, 14.46, 8.49, 0.14, -3.45), 85.6),
    10: (2595, (9.29, 8.69, 5.57, 1.85, -3.35, -5.58), 62.5),
    64: (1650, (24.26, 23.88, 21.90, 19.53, 16.22, 14.81), 256.6),
}


def dcqcn(flows, delay_us=4, **changed):
    return Dcqcn(flows=flows, delay=delay_us * 1e-6, ramp="extended", **changed)


@pytest.mark.parametrize("flows", TABLE)
def test_margins_are_the_table(flows):
    crossover, phase_margins, delay_margin_us = TABLE[flows]
    for delay_us, phase_margin in zip(DELAYS_US, phase_margins, strict=True):
        margins = linearise(dcqcn(flows, delay_us)).loop().margins()
        assert margins.phase_margin_deg == pytest.approx(phase_margin, abs=0.02)
        assert margins.crossover_rad_s == pytest.approx(crossover, abs=1)
        assert margins.delay_margin_s * 1e6 == pytest.approx(delay_margin_us, abs=0.1)


def test_delay_margin_is_where_the_root_crosses():
    for flows in (2, 10, 64):
        edge = linearise(dcqcn(flows)).loop().margins().delay_margin_s
        near, far = (linearise(replace(dcqcn(flows), delay=edge * f)).rightmost_root() for f in (0.99, 1.01))
        assert near.real < 0 < far.real


def test_instability_dips_in_the_number_of_flows():
    def negative(delay_us):
        margins = {n: linearise(dcqcn(n, delay_us)).loop().margins().phase_margin_deg for n in range(1, 101)}
        return [n for n, margin in margins.items() if margin < 0]

    assert negative(85) == list(range(3, 21))
    assert negative(100) == list(range(1, 25))
    assert negative(50) == []
    assert [n for n in (1, 2, 3, 4, 10, 19, 20, 21, 22, 64, 100) if not linearise(dcqcn(n, 85)).stable] == [
        3, 4, 10, 19, 20,
    ]  # fmt: skip


def test_smallest_delay_margins():
    def smallest(**changed):
        margins = {n: linearise(dcqcn(n, **changed)).loop().margins().delay_margin_s for n in range(1, 101)}
        worst = min(margins, key=margins.get)
        return worst, margins[worst] * 1e6

    assert smallest() == (9, pytest.approx(62.0, abs=0.1))
    assert smallest(r_ai=10e6) == (16, pytest.approx(103.7, abs=0.1))


MODELS = [
    dcqcn(10, 85),
    Dcqcn(flows=3, at="enqueue"),
    DcqcnPi(flows=4),
    PatchedTimely(flows=5),
    PatchedTimelyPi(flows=5),
    Dctcp(flows=10, width=60e3),
]


@pytest.mark.parametrize("cut", ["rate", "mark"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_cut_loops_close_to_the_characteristic_equation(model, cut):
    linear = linearise(model)
    roots = linear.roots()[:3]
    assert np.abs(1 + linear.loop(cut).gain(roots)).max() < 1e-6


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_both_cuts_agree_on_stability(model):
    linear = linearise(model)
    for cut in ("rate", "mark"):
        assert (linear.loop(cut).margins().phase_margin_deg > 0) == (linear.rightmost_root().real < 0)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_python_control_computes_the_same_margins(model):
    import control  # seconds, which tests that are collected only need not take

    loop = linearise(model).loop()
    _, phase_margin, _, crossover = control.margin(loop.to_control(np.geomspace(100, 1e5, 4000)))
    assert phase_margin == pytest.approx(loop.margins().phase_margin_deg, abs=0.01)
    assert crossover == pytest.approx(loop.margins().crossover_rad_s, rel=1e-4)


def test_matrices_make_a_state_space_for_python_control():
    """Without delay the closed common mode is x' = (A0 + A1) x, whose poles are the roots."""
    import control  # seconds, which tests that are collected only need not take

    linear = linearise(dcqcn(10, 0))
    now, delayed = linear.common
    plant = control.ss(now + sum(A for _, A in delayed), np.zeros((4, 1)), np.eye(4), np.zeros((4, 1)))
    expected = sorted(linear.roots(), key=lambda root: (root.real, root.imag))
    found = sorted(control.poles(plant), key=lambda root: (root.real, root.imag))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_complex_step_agrees_with_differences(model):
    system, constants = model.system, model.constants_array()
    rest = model.fixed_point().state
    shared = np.array([rest[name] for name in system.shared])
    flow = np.array([rest[name] for name in system.flow])
    delayed = np.array([rest[state] for state, _ in system.delayed.values()])
    by_flow = linearise(model).partials[5]
    for j in range(len(flow)):
        step = np.zeros(len(flow))
        step[j] = 1e-6 * max(abs(flow[j]), 1e-3)
        up, down = np.empty(len(flow)), np.empty(len(flow))
        system.reaction_float(shared, flow + step, delayed, constants, up)
        system.reaction_float(shared, flow - step, delayed, constants, down)
        scale = np.abs(by_flow).max(axis=1) + 1e-12
        np.testing.assert_allclose((up - down) / (2 * step[j]) / scale, by_flow[:, j] / scale, atol=1e-5)


def test_roots_of_a_scalar_equation_by_hand():
    # x' = -(pi/2) x(t-1) oscillates for ever: s = i pi/2.
    roots = characteristic_roots(np.zeros((1, 1)), [(1.0, np.array([[-np.pi / 2]]))])
    assert abs(roots[0].real) < 1e-12
    assert abs(roots[0].imag) == pytest.approx(np.pi / 2, rel=1e-12)
    # x' = -x + x(t-1)/2 + x(t-2)/2 has the root 0, and two delays.
    roots = characteristic_roots(-np.ones((1, 1)), [(1.0, np.array([[0.5]])), (2.0, np.array([[0.5]]))])
    assert abs(roots[0]) < 1e-9


# Delay in us, flows: on both sides of the boundary, with the RED of Fig. 4.
DISTURBED = [
    (50, 10), (75, 10), (85, 10), (100, 10), (75, 20), (85, 20), (95, 20), (100, 24),
    (85, 2), (100, 2), (80, 5),
]  # fmt: skip


@pytest.mark.parametrize(("delay_us", "flows"), DISTURBED)
def test_growth_in_time_is_the_rightmost_root(delay_us, flows):
    model = Dcqcn(flows=flows, delay=delay_us * 1e-6, kmax=2e6, pmax=0.1)
    linear = linearise(model)
    root = linear.rightmost_root().real
    measured = growth_after_a_nudge(model)
    assert measured == pytest.approx(root, rel=0.01, abs=1.0)
    assert (measured > 0) == (linear.loop().margins().phase_margin_deg < 0)


def test_two_flows_at_85_us_decay_as_predicted():
    assert growth_after_a_nudge(Dcqcn(delay=85e-6, kmax=2e6, pmax=0.1)) == pytest.approx(-12.2, abs=1.0)


def growth_after_a_nudge(model):
    """The rate in 1/s at which the peaks of the queue grow, 10 to 60 ms after a nudge by 1e-4 of it."""
    rest = model.fixed_point().state
    flows = [Flows(model.flows, state={name: rest[name] for name in model.system.flow})]
    shared = {"q": rest["q"] * (1 + 1e-4)}
    run = trajectory(model, 0.06, flows=flows, shared=shared, sample_s=2.5e-6)
    late = run.between(0.01)
    off, time = run.queue_bytes[late] * 8 / model.unit_bits - rest["q"], run.time_s[late]
    peaks = np.flatnonzero((off[1:-1] > off[:-2]) & (off[1:-1] >= off[2:]) & (off[1:-1] > 0)) + 1
    return np.polyfit(time[peaks], np.log(off[peaks]), 1)[0]


PUBLISHED = {
    0: {2: 26.62, 10: 4.76, 20: 9.63, 40: 27.37, 100: 56.48},
    50: {2: 8.26, 10: -6.58, 20: -0.95, 40: 15.73, 100: 39.81},
    100: {2: -10.10, 10: -17.93, 20: -11.54, 40: 4.09, 100: 23.14},
}


@pytest.mark.parametrize("delay_us", PUBLISHED)
def test_figure_3_as_published(delay_us):
    for flows, printed in PUBLISHED[delay_us].items():
        margins = taylor_dcqcn(Dcqcn(flows=flows, delay=delay_us * 1e-6)).loop().margins()
        assert margins.phase_margin_deg == pytest.approx(printed, abs=0.1)


def test_figure_11_as_published():
    for flows, printed in {2: -1.9535, 10: 28.529, 20: 41.58, 40: -1.3105}.items():
        margins = linearise_as_published(PatchedTimely(flows=flows, delay=0.0)).loop().margins()
        assert margins.phase_margin_deg == pytest.approx(printed, abs=0.1)


def test_no_margin_without_a_fixed_point():
    for model in (Dcqcn(flows=15), Timely(), Timely(inequality="changed"), Dctcp(), PatchedTimely(flows=72)):
        with pytest.raises(ValueError, match=r"no (single )?fixed point|no margin"):
            linearise(model)
    with pytest.raises(ValueError, match="no phase margin of dctcp"):
        linearise_as_published(Dctcp())

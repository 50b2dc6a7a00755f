"""The discrete models of convergence: DCQCN's cycles, ExpressPass' rounds."""

import numpy as np
import pytest

from shallows.fluid import dcqcn_cycles, expresspass_rounds

# Rate in Gb/s, flows: t, alpha*, Delta T*, e-folding time in ms, for t = 0 and for its upper bound.
TABLE = [
    (40, 2, 26.5, (0.0565, 0.0552), (16.1, 16.5), (31, 32)),
    (40, 10, 11.6, (0.1135, 0.1086), (7.7, 8.1), (7.2, 7.9)),
    (40, 64, 4.3, (0.213, 0.199), (3.7, 4.0), (1.8, 2.1)),
    (10, 2, 26.5, (0.1037, 0.0958), (8.5, 9.3), (8.8, 10.4)),
    (10, 10, 11.6, (0.186, 0.165), (4.3, 5.0), (2.4, 3.2)),
]


@pytest.mark.parametrize(("gbps", "flows", "t", "alphas", "units", "times_ms"), TABLE)
def test_steady_cycle_of_dcqcn(gbps, flows, t, alphas, units, times_ms):
    bound = dcqcn_cycles.longest_marking_time(flows, 40e6)
    assert bound == pytest.approx(t, abs=0.05)
    for time, alpha, length, efolding_ms in zip((0.0, bound), alphas, units, times_ms, strict=True):
        steady = dcqcn_cycles.steady(flows, gbps * 1e9, t=time)
        assert steady.alpha == pytest.approx(alpha, abs=5e-4)
        assert steady.units == pytest.approx(length, abs=0.05)
        assert steady.efolding_s * 1e3 == pytest.approx(efolding_ms, rel=0.02)


def test_alpha_falls_to_its_bound_and_the_rates_meet():
    """Theorem 2, eq. 18 and 19: with a steady alpha a cycle shrinks the difference by 1 - alpha/2."""
    run = dcqcn_cycles.cycles([30e9, 10e9], 300)
    steady = dcqcn_cycles.steady(2)
    assert (np.diff(run.alphas[:100, 0]) < 0).all()
    assert run.alphas.min() > steady.alpha * (1 - 1e-12)
    assert run.alphas[-1, 0] == pytest.approx(steady.alpha, rel=1e-3)
    difference = run.rates_bps[:, 0] - run.rates_bps[:, 1]
    assert difference[-1] / difference[-2] == pytest.approx(1 - steady.alpha / 2, rel=1e-3)
    assert run.rates_bps[-1] == pytest.approx([20e9, 20e9], rel=1e-3)


def test_different_alphas_meet():
    """Eq. 17: their difference shrinks by (1-g)^(Delta T + 1) a cycle."""
    run = dcqcn_cycles.cycles([20e9, 20e9], 3, alphas=[1.0, 0.5])
    kept = (1 - 1 / 256) ** (run.units[0] + 1)
    assert np.diff(run.alphas[1])[0] / np.diff(run.alphas[0])[0] == pytest.approx(kept)


def test_expresspass_settles_at_its_swing():
    run = expresspass_rounds.rounds([1e9, 9e9], 400)
    # D* = 1.1 * 10 Gb/s * 0.01 * (1 - 1/2) = 55 Mb/s.
    assert expresspass_rounds.steady_swing(2) == pytest.approx(55e6)
    swing = np.abs(run.rates_bps[-1] - run.rates_bps[-2])
    assert swing == pytest.approx([55e6, 55e6], rel=0.01)
    assert run.rates_bps[-1] == pytest.approx([5.5e9, 5.5e9], rel=0.005)
    assert run.weights[-1] == pytest.approx([0.01, 0.01])


def test_expresspass_contracts_as_equation_4():
    run = expresspass_rounds.rounds([1e9, 2e9, 8e9], 60, w_max=0.01)
    distance = run.rates_bps[2::2] - 11e9 / 3
    # (1 - 0.01)/(1 + 0.01 * 2) a pair of rounds.
    assert expresspass_rounds.contraction(3) == pytest.approx(0.99 / 1.02)
    np.testing.assert_allclose(distance[1:] / distance[:-1], 0.99 / 1.02, rtol=1e-9)


def test_expresspass_fills_exactly_after_every_fall():
    run = expresspass_rounds.rounds([1e9, 2e9, 8e9], 20)
    np.testing.assert_allclose(run.rates_bps[2::2].sum(axis=1), 11e9)
    assert (run.rates_bps[1::2].sum(axis=1) > 11e9).all()


def test_weights_of_expresspass_halve_in_each_second_round():
    weights = expresspass_rounds.rounds([1e9, 9e9], 6).weights[:, 0]
    assert weights == pytest.approx([0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.0625])

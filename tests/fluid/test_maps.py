"""Maps equal their single points; recommendations keep what they promise, or say that they cannot."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shallows.errors import ScenarioError
from shallows.fluid import MODELS, Dcqcn, DcqcnPi, Dctcp, PatchedTimely, PatchedTimelyPi
from shallows.fluid.linear import linearise
from shallows.fluid.maps import margin_map
from shallows.fluid.recommend import recommend

COUNTS = np.arange(2, 65)


@pytest.mark.parametrize(
    "model",
    [Dcqcn(ramp="extended"), DcqcnPi(), PatchedTimely(), PatchedTimelyPi(), Dctcp(width=60e3)],
    ids=lambda model: model.name,
)
def test_map_is_its_points(model):
    flows, delays = np.array([2, 9, 40]), np.array([10e-6, 85e-6])
    found = margin_map(model, {"flows": flows, "delay": delays})
    assert found.phase_margin_deg.shape == (3, 2)
    for i, j in np.ndindex(3, 2):
        one = replace(model, flows=int(flows[i]), delay=float(delays[j]))
        margins = linearise(one).loop().margins()
        assert found.phase_margin_deg[i, j] == pytest.approx(margins.phase_margin_deg, rel=1e-9)
        assert found.delay_margin_s[i, j] == pytest.approx(margins.delay_margin_s, rel=1e-9)
        assert found.queue_bytes[i, j] == pytest.approx(one.fixed_point().queue_bytes)


def test_map_leaves_out_what_has_no_fixed_point():
    found = margin_map(Dcqcn(delay=85e-6), {"flows": np.arange(1, 21)})
    assert found.exists.tolist() == [True] * 14 + [False] * 6
    assert np.isnan(found.phase_margin_deg[14:]).all()
    assert not found.stable[14:].any()


@pytest.mark.parametrize("name", ["timely", "dctcp", "dx"])
def test_map_of_a_model_without_margins_is_empty(name):
    assert not margin_map(MODELS[name](), {"flows": COUNTS}).exists[0]


def test_map_refuses_what_is_not_a_number_of_the_model():
    for name in ("ramp", "kmx"):
        with pytest.raises(ScenarioError, match="a numeric parameter of dcqcn"):
            margin_map(Dcqcn(), {name: [1.0]})
    with pytest.raises(ScenarioError, match="kmax"):
        margin_map(Dcqcn(), {"kmax": [1e3]})


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    flows=st.integers(2, 100),
    delay=st.floats(0, 200e-6),
    r_ai=st.floats(5e6, 100e6),
    kmax=st.floats(100e3, 5e6),
    rate=st.sampled_from([10e9, 40e9, 100e9]),
)
def test_margin_and_root_agree_on_stability(flows, delay, r_ai, kmax, rate):
    model = Dcqcn(flows=flows, delay=delay, r_ai=r_ai, kmax=kmax, rate=rate, ramp="extended")
    linear = linearise(model)
    root = linear.rightmost_root().real
    assert np.isfinite(root)
    if abs(root) > 1:
        assert (linear.loop().margins().phase_margin_deg > 0) == (root < 0)


def tuned(**options):
    tune = {"r_ai": np.array([5e6, 10e6, 20e6, 40e6]), "kmax": np.array([200e3, 400e3, 1000e3])}
    return recommend(Dcqcn(delay=100e-6, ramp="extended"), COUNTS, tune, **options)


def test_recommendation_is_the_best_of_the_grid():
    found = tuned()
    assert found.model is not None
    worst = {
        (r_ai, kmax): min(
            linearise(Dcqcn(flows=int(n), delay=100e-6, ramp="extended", r_ai=r_ai, kmax=kmax))
            .loop().margins().phase_margin_deg
            for n in COUNTS
        )
        for r_ai in (5e6, 10e6, 20e6, 40e6)
        for kmax in (200e3, 400e3, 1000e3)
    }  # fmt: skip
    best = max(worst, key=worst.get)
    assert (found.parameters["r_ai"], found.parameters["kmax"]) == best
    assert found.worst_margin_deg == pytest.approx(worst[best])
    assert all(linearise(replace(found.model, flows=int(n))).stable for n in (2, 16, 64))


def test_others_are_what_shorter_queues_cost_and_the_next_best():
    """Of twelve choices, each worked out alone."""
    extremes = {}
    for r_ai in (5e6, 10e6, 20e6, 40e6):
        for kmax in (200e3, 400e3, 1000e3):
            one = Dcqcn(delay=100e-6, ramp="extended", r_ai=r_ai, kmax=kmax)
            models = [replace(one, flows=int(n)) for n in COUNTS]
            margin = min(linearise(model).loop().margins().phase_margin_deg for model in models)
            queue = max(model.fixed_point().queue_bytes for model in models)
            if margin > 0:
                extremes[r_ai, kmax] = margin, queue
    found = tuned()
    others = {(one.parameters["r_ai"], one.parameters["kmax"]): one for one in found.others}
    best = found.parameters["r_ai"], found.parameters["kmax"]
    assert len(others) == min(4, len(extremes) - 1)
    assert best not in others
    for key, one in others.items():
        assert (one.worst_margin_deg, one.worst_queue_bytes) == pytest.approx(extremes[key])
    margins = [one.worst_margin_deg for one in found.others]
    assert margins == sorted(margins, reverse=True)
    beaten = {
        key
        for key, (margin, queue) in extremes.items()
        if any(more > margin and less <= queue for more, less in extremes.values())
    }
    unbeaten = set(extremes) - beaten - {best}
    assert 0 < len(unbeaten) <= 4
    assert unbeaten <= set(others)


def test_recommendation_keeps_the_queue_bound():
    free, bound = tuned(), tuned(queue_bound_bytes=800e3)
    assert free.worst_queue_bytes > 800e3
    assert bound.worst_queue_bytes <= 800e3
    assert 0 < bound.worst_margin_deg < free.worst_margin_deg
    queues = [replace(bound.model, flows=int(n)).fixed_point().queue_bytes for n in COUNTS]
    assert bound.worst_queue_bytes == pytest.approx(max(queues))


def test_recommendation_says_what_stands_in_the_way():
    assert "within the bound" in tuned(queue_bound_bytes=50e3).explanation
    cliff = recommend(Dcqcn(delay=100e-6), COUNTS, {"r_ai": np.array([5e6, 40e6])})
    assert cliff.model is None
    assert "lacks a fixed point" in cliff.explanation
    far = recommend(Dcqcn(delay=400e-6, ramp="extended"), COUNTS, {"r_ai": np.array([5e6, 40e6])})
    assert far.model is None
    assert "best worst-case phase margin is -" in far.explanation
    with pytest.raises(ScenarioError, match="at least one parameter"):
        recommend(Dcqcn(), COUNTS, {})

"""Maps equal their single points; margins and roots agree."""

from dataclasses import replace

import numpy as np
import pytest

from shallows.errors import ScenarioError
from shallows.fluid import MODELS, Dcqcn, DcqcnPi, Dctcp, PatchedTimely, PatchedTimelyPi
from shallows.fluid.linear import linearise
from shallows.fluid.maps import margin_map

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


def test_margin_and_root_agree_on_stability():
    from hypothesis import given, settings
    from hypothesis import strategies as st

    @settings(max_examples=30, deadline=None, derandomize=True)
    @given(
        flows=st.integers(2, 100),
        delay=st.floats(0, 200e-6),
        r_ai=st.floats(5e6, 100e6),
        kmax=st.floats(100e3, 5e6),
        rate=st.sampled_from([10e9, 40e9, 100e9]),
    )
    def holds(flows, delay, r_ai, kmax, rate):
        model = Dcqcn(flows=flows, delay=delay, r_ai=r_ai, kmax=kmax, rate=rate, ramp="extended")
        linear = linearise(model)
        root = linear.rightmost_root().real
        assert np.isfinite(root)
        if abs(root) > 1:
            assert (linear.loop().margins().phase_margin_deg > 0) == (root < 0)

    holds()

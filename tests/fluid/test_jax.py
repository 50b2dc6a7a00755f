"""Maps by JAX equal maps by numba, for every model with margins; without JAX there is a clear word."""

import importlib.util
import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from shallows.cli.fluid import app
from shallows.errors import ScenarioError
from shallows.fluid import MODELS, Dcqcn, DcqcnPi, Dctcp, PatchedTimely, PatchedTimelyPi
from shallows.fluid.maps import margin_map
from shallows.fluid.model import Status
from shallows.fluid.system import equations

needs_jax = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None,
    reason="JAX is not installed: pip install jax brings it",
)
FLOWS, DELAYS = np.array([1, 2, 3, 9, 14, 15, 40, 71, 72, 100]), np.array([1e-6, 20e-6, 85e-6, 300e-6])
FOUND, OFF_RAMP, NONE, SLIDING = Status.FOUND, Status.OFF_RAMP, Status.NONE, Status.SLIDING


@equations
def inner(x, y):
    return x if x < y else 2.0 * y


@equations
def outer(x, y):
    z = inner(x, y) + inner(y, x)
    if 0.0 < x < 1.0 or not y > 0.0:
        return np.sqrt(abs(z)), 1.0
    if x > 2.0 and y > 2.0:
        z = z - 1.0
        if z > 4.0:
            return -z, 2.0
    return z, 3.0


@equations
def halved(x):
    while x > 1.0:
        x = x / 2
    return x


def assert_same(model, over):
    """Compares both maps and returns one."""
    by_numba, by_jax = margin_map(model, over), margin_map(model, over, engine="jax")
    np.testing.assert_array_equal(by_jax.status, by_numba.status)
    np.testing.assert_allclose(by_jax.phase_margin_deg, by_numba.phase_margin_deg, rtol=0, atol=1e-6)
    for column in ("crossover_rad_s", "delay_margin_s", "queue_bytes"):
        np.testing.assert_allclose(getattr(by_jax, column), getattr(by_numba, column), rtol=1e-9, atol=1e-12)
    return by_jax


@needs_jax
@pytest.mark.parametrize(
    ("model", "statuses"),
    [
        (Dcqcn(), {FOUND, NONE}),
        (Dcqcn(ramp="extended", at="enqueue"), {FOUND, OFF_RAMP}),
        (DcqcnPi(), {FOUND}),
        (PatchedTimely(), {FOUND, NONE}),
        (PatchedTimely(weight_slope=0.5, interval="seg"), {FOUND, NONE}),
        (PatchedTimelyPi(), {FOUND}),
        (Dctcp(width=60e3), {FOUND, NONE}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_jax_agrees_over_flows_and_delays(model, statuses):
    found = assert_same(model, {"flows": FLOWS, "delay": DELAYS})
    assert set(np.unique(found.status)) == statuses
    assert found.stable.any()
    assert (found.exists & ~found.stable).any()


@needs_jax
def test_jax_agrees_over_every_number_of_a_model():
    over = {
        "flows": [2, 10, 64],
        "r_ai": [5e6, 80e6],
        "kmax": [100e3, 5e6],
        "pmax": [0.01, 1.0],
        "g": [1e-3, 0.5],
    }
    assert_same(Dcqcn(delay=100e-6, ramp="extended"), over | {"rate": [1e9, 400e9], "t": [10e-6, 1e-3]})
    over = {"flows": [2, 10, 64], "beta": [1e-3, 0.8], "t_low": [10e-6, 200e-6], "seg": [1e3, 64e3]}
    assert_same(PatchedTimely(), over | {"delta": [1e6, 1e8], "weight_slope": [0.1, 5.0]})


@needs_jax
@pytest.mark.parametrize("name", ["timely", "dctcp", "dx"])
def test_jax_leaves_models_without_margins_empty(name):
    assert not assert_same(MODELS[name](), {"flows": FLOWS}).exists.any()


@needs_jax
def test_pieces_change_nothing(monkeypatch):
    from shallows.fluid import jax_maps

    over = {"flows": np.arange(1, 12), "delay": DELAYS}
    whole = margin_map(Dcqcn(), over, engine="jax")
    monkeypatch.setattr(jax_maps, "POINTS_IN_ONE_PIECE", {"cpu": 16, "gpu": 16})
    pieces = margin_map(Dcqcn(), over, engine="jax")
    np.testing.assert_allclose(pieces.phase_margin_deg, whole.phase_margin_deg, rtol=1e-12)


@needs_jax
def test_float64_is_not_left_switched_on():
    import jax.numpy as jnp

    margin_map(Dcqcn(), {"flows": [2]}, engine="jax")
    assert jnp.asarray(1.0).dtype == jnp.float32


@needs_jax
def test_a_loop_that_ends_by_a_value_is_refused():
    from shallows.fluid.traced import evaluate

    with pytest.raises(NotImplementedError, match="halved: more than 20 tests on one way; is it a loop"):
        evaluate(halved, 3.0)


@needs_jax
def test_every_way_through_branches_is_found_and_selected():
    """All that a test can be written as, on points that take each of the ways."""
    import jax
    import jax.numpy as jnp

    from shallows.fluid.traced import evaluate

    x, y = (axis.ravel() for axis in np.meshgrid(np.linspace(-3.1, 4.3, 23), np.linspace(-2.7, 3.9, 19)))
    by_numba = np.array([outer(one, other) for one, other in zip(x, y, strict=True)]).T
    with jax.enable_x64(True):
        by_jax = jax.jit(jax.vmap(lambda a, b: jnp.stack([*map(jnp.asarray, evaluate(outer, a, b))])))(x, y).T
    np.testing.assert_allclose(by_jax, by_numba, rtol=1e-14)
    assert set(by_numba[1]) == {1.0, 2.0, 3.0}


@needs_jax
def test_command_line_prints_the_same_by_both():
    command = ["map", "dcqcn", "--over", "flows=2:20", "--set", "ramp=extended", "--json", "--engine"]
    printed = [json.loads(CliRunner().invoke(app, [*command, engine]).stdout) for engine in ("numba", "jax")]
    assert printed[1]["at"] == printed[0]["at"]
    assert printed[1]["phase_margin_deg"] == pytest.approx(printed[0]["phase_margin_deg"], abs=1e-6)


def test_without_jax_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    for module in ("jax_maps", "traced"):
        monkeypatch.delitem(sys.modules, f"shallows.fluid.{module}", raising=False)
    with pytest.raises(ScenarioError, match=r"engine = \"jax\": expected .*pip install"):
        margin_map(Dcqcn(), {"flows": [2]}, engine="jax")
    result = CliRunner().invoke(app, ["map", "dcqcn", "--over", "flows=2:4", "--engine", "jax"])
    assert result.exit_code == 2
    assert "pip install" in result.stderr


def test_an_unknown_engine_is_refused():
    with pytest.raises(ScenarioError, match="numba or jax"):
        margin_map(Dcqcn(), {"flows": [2]}, engine="gpu")

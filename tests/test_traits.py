"""The package knows an algorithm by its row of the catalog or by its class, and never by its name.

`tests/new_algorithm.py` adds an algorithm of other traits than Reno's to a copy. Here a trait is changed in a
row alone, and the code that reads it has to follow.
"""

import ast
import copy
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import shallows as sh
from least_algorithm import Least
from shallows import _core
from shallows.algorithms import algorithm, defaults, traits
from shallows.errors import ScenarioError
from shallows.scenario import sprayed, supported_keys
from shallows.settings import explain
from shallows.units import Frame
from shallows.warnings import slow
from shallows.worlds import wire, wire_flow

PACKAGE = Path(sh.__file__).parent
NAMES = frozenset(row["name"] for row in _core.catalog()) | set(traits.NATIVE)
MAY_NAME = (
    *(
        "fluid/",
        "cli/fluid.py",
        "worlds/fluid_models.py",
        "settings/tuning.py",
    ),  # fluid models and the grids over their parameters
    *("worlds/kernel.py", "worlds/kernel_programs.py", "cli/live.py"),  # programs of the kernel world
    *("worlds/kernel_distance.py",),  # measured distances
    *("importers/", "algorithms/nic.py", "settings/mlx5.py", "cli/importing.py"),  # formats of others
    *("algorithms/traits.py",),  # what the catalog lacks
)
"""Files that may name algorithms, and why."""
ALSO = {"gap", "mrc", "rcp", "fixed"}
"""Names that are also a key, a value of `balancing`, a kind of marking, or a word: only comparisons count."""


def texts(path):
    """The texts of a module, without docstrings."""
    tree = ast.parse(path.read_text())
    lone = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in lone)
    return [(node.lineno, node.value) for node in found if isinstance(node.value, str)]


def compared(path):
    """The names with which a module compares the `name` of something, and where."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare):
            sides = list(ast.walk(node))
            names = {
                one.value for one in sides if isinstance(one, ast.Constant) and isinstance(one.value, str)
            }
            if names & NAMES and any(isinstance(one, ast.Attribute) and one.attr == "name" for one in sides):
                yield node.lineno, " ".join(names)


def named(text):
    """The algorithms that a text names, but for examples ("such as nscc") and other words."""
    text = re.sub(r"such as \S+", "", text)
    words = set(re.findall(r"(?<![\w.@-])[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?![\w-])", text))
    return {word for word in words & NAMES if word not in ALSO}


def test_no_module_names_an_algorithm():
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if not place.startswith(MAY_NAME):
            found += [f"{place}:{line}: {text!r}" for line, text in texts(path) if named(text)]
            found += [f"{place}:{line}: {text!r}" for line, text in compared(path)]
    assert not found


KINDS = frozenset(row["name"] for row in _core.markings())
OF_FORMATS = "settings/"
"""Files of formats of switches, which may ask for a kind of marking."""


def asked(path):
    """Where a module asks whether a `kind` is one of the markings, or has facts by their names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare):
            sides = list(ast.walk(node))
            kinds = KINDS & {one.value for one in sides if isinstance(one, ast.Constant)}
            if kinds and any(getattr(one, "attr", getattr(one, "id", "")) == "kind" for one in sides):
                yield node.lineno, sorted(kinds)
        elif isinstance(node, ast.Dict):
            keys = {one.value for one in node.keys if isinstance(one, ast.Constant)}
            if len(keys) > 1 and keys <= KINDS:
                yield node.lineno, sorted(keys)


def test_no_module_has_facts_of_a_marking_by_its_name():
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if not place.startswith(OF_FORMATS):
            found += [f"{place}:{line}: {kinds}" for line, kinds in asked(path)]
    assert not found


def test_the_search_for_markings_finds_them(tmp_path):
    path = tmp_path / "one.py"
    path.write_text('LEVELS = {"step": 1, "red": 2}\ndraws = self.kind in ("red", "pi")')
    assert [kinds for _, kinds in asked(path)] == [["red", "step"], ["pi", "red"]]


def test_the_catalog_says_what_a_marking_does():
    """By their papers: RED and PI mark at random, CoDel drops at the head, step and RED have thresholds."""
    rows = {row["name"]: row for row in _core.markings()}
    assert {name for name, row in rows.items() if row["draws"]} >= {"red", "pi"}
    assert not any(rows[name]["draws"] for name in ("step", "phantom", "codel", "rcp", "int"))
    assert [name for name, row in rows.items() if row["judges_heads"]][:1] == ["codel"]
    assert rows["step"]["thresholds"] == ["threshold"]
    assert rows["red"]["thresholds"] == ["kmin", "kmax"]
    assert rows["phantom"]["thresholds"] == []  # its queue is virtual
    rules = {one["rule"] for row in rows.values() for one in row["parameters"]} - {None}
    assert rules == set(defaults.PORT_RULES)


def test_the_search_for_names_finds_them(tmp_path):
    assert named("dctcp") == {"dctcp"}
    assert named("use patched-timely (page rates)") == {"patched-timely"}
    assert not named('the name of an algorithm, such as "dctcp", or a table with it')
    assert not named("hosts.gap")
    path = tmp_path / "one.py"
    path.write_text('is_mrc = used.name in ("mrc", "gap") and kind == "rcp"')
    assert [sorted(names.split()) for _, names in compared(path)] == [["gap", "mrc"]]


def test_rows_name_every_rule_and_no_other():
    rows = _core.catalog()
    named = {one["rule"] for row in rows for one in row["parameters"]} - {None}
    assert named == set(defaults.RULES)
    references = {row["traits"]["reference_bps"] for row in rows} - {None}
    assert references == set(defaults.RATIOS)


@pytest.fixture
def reno(monkeypatch):
    """Changes traits of Reno's row: `reno(chooses_paths=True)`."""
    rows = copy.deepcopy(_core.catalog())
    monkeypatch.setattr(algorithm, "catalog", lambda: rows)
    monkeypatch.setattr(supported_keys, "catalog", lambda: rows, raising=False)
    row = next(row for row in rows if row["name"] == "reno")

    def change(**values):
        row["traits"].update(values)
        return row

    return change


def scenario(**tables):
    topology = {"kind": "dumbbell", "hosts": 2, "rate": "1Gbps", "rtt": "100us"}
    traffic = [{"kind": "long-lived"}]
    return sh.Scenario(
        **{"duration": "10ms", "topology": topology, "cc": "reno", "traffic": traffic, **tables}
    )


def test_an_algorithm_that_reacts_to_delays_needs_long_round_trips_in_real_time(reno):
    wire._check_round_trips(scenario())
    reno(reacts_to_delay=True)
    with pytest.raises(ScenarioError, match="may measure delays"):
        wire._check_round_trips(scenario())


def test_an_algorithm_that_chooses_paths_has_balancing_of_hosts_and_no_wire_world(reno):
    reno(chooses_paths=True)["trims"] = True
    assert scenario().network.balancing == "mrc"
    with pytest.raises(ScenarioError, match="one path for a flow"):
        wire.check_algorithm("cc.name", "reno", "reno", {})


def test_an_algorithm_that_reads_switches_does_not_cross_real_ones(reno):
    wire_flow.check_algorithm("--cc", "reno", "reno", {})
    reno(reads_switches=True)
    with pytest.raises(ScenarioError, match="without rates or records"):
        wire_flow.check_algorithm("--cc", "reno", "reno", {})


def test_an_algorithm_that_probes_its_path_has_no_wire_world(reno):
    reno(probes=("ecn", "min_rto"))
    for parameters, refused in (({"ecn": True}, True), ({"ecn": True, "min_rto": 0.0}, False), ({}, False)):
        if refused:
            with pytest.raises(ScenarioError, match="without probes"):
                wire.check_algorithm("cc.name", "reno", "reno", parameters)
        else:
            wire.check_algorithm("cc.name", "reno", "reno", parameters)


def test_a_base_round_trip_may_depend_on_a_flag(reno):
    for least_rtt, without, with_flag in (
        ((True, None), True, True),
        ((False, None), False, False),
        ((True, "ecn"), True, False),
        ((False, "ecn"), False, True),
    ):
        reno(least_rtt=least_rtt)
        assert algorithm.choose("reno", Frame(1500, 1460)).takes_least_rtt == without
        assert algorithm.choose({"name": "reno", "ecn": True}, Frame(1500, 1460)).takes_least_rtt == with_flag


def test_a_step_of_another_rate_is_remarked(reno):
    """A step of 40 Mbit/s at 40 Gbit/s is 1/1000 of the rate, at 1 Gbit/s it is 1/25."""
    row = reno(step=("ecn", "a paper"), reference_bps=40 * 10**9)
    row["parameters"][0] |= {"default": 40e6, "unit": "bit/s", "max": 1e12, "rule": None}
    text = " ".join(explain.explain(scenario()).remarks)
    assert "cc.ecn = 40Mbps is 40 times the share of the rate in a paper (40Mbps at 40Gbps)" in text


def test_buffers_have_room_for_a_target_queue(reno):
    """10 ms at 1 Gbit/s are 1.25 MB; without a target the buffer is 250 packets."""
    assert scenario().network.buffer == 250 * 1500
    row = reno(has_target_queue=True)
    one = row["parameters"][0]
    target = {"base_target": 10e-3, "per_hop": 0.0, "fs_range": 0.0}
    row["parameters"] += [
        {**one, "name": name, "unit": "s", "default": value} for name, value in target.items()
    ]
    assert scenario().network.buffer == 1_251_000  # in whole frames


def test_a_class_says_what_it_reacts_to():
    """What a class does not say counts as what asks for more care."""

    class Told(Least):
        reacts_to_delay = False
        takes_least_rtt = False

    class Given(Least):
        def __init__(self, initial_window, line_rate, *, base_rtt="50us"):
            pass

    silent, told, given = (algorithm.choose(one, Frame(1500, 1460)) for one in (Least, Told, Given))
    alone = [one.traits["reacts_to_queues_alone"] for one in (silent, told, given)]
    assert alone == [False, True, False]
    assert [one.traits["reacts_to_delay"] for one in (silent, told, given)] == [True, False, True]
    assert [one.takes_least_rtt for one in (silent, told, given)] == [True, False, False]


def test_rates_that_return_by_timer_need_long_ramps_for_sprayed_packets(reno):
    """At 100 Gbit/s packets that are sprayed need a ramp from 400 KB on for a rate that returns by timer."""
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2, "rate": "100Gbps"}
    marking = {"kind": "red", "kmin": "5KB", "kmax": "200KB"}
    row = reno()
    row["port"], row["marking"] = "red", "required"

    def warned():
        network = {"balancing": "packet", "marking": marking}
        return sprayed.short_ramps(scenario(topology=topology, network=network))

    assert not warned()
    row["traits"]["returns_by_timer"] = True
    assert re.search('flow of reno; write .*kmin = "400KB"', warned()[0])


@pytest.mark.parametrize("given", [{}, {"keep": 0.5}])
def test_advice_for_gradients_is_for_algorithms_that_have_their_parameters(reno, given):
    """Reno has no `keep`: whatever corrects it, the warning names no parameter that it lacks."""
    row = reno(corrected_by="patched-timely")
    row["parameters"] += [{**row["parameters"][0], "name": key, "unit": "1"} for key in given]
    one = scenario(cc={"name": "reno", **given})
    answer = SimpleNamespace(scenario=one, answer={"ports": {"pauses": np.zeros(1)}}, network=one.graph)
    assert slow._why(answer, 0) == ": their rates return slowly after cuts"

"""Mistakes of a scenario: what their messages cannot show, which are in tests/cases/mistakes."""

import pickle
import textwrap

import pytest
from pydantic import BeforeValidator

from shallows.base.table import Table
from shallows.errors import ScenarioError
from shallows.fluid import Dcqcn
from shallows.scenario import Scenario, places

BASE = {
    "duration": "1ms",
    "topology": {"kind": "dumbbell"},
    "cc": "reno",
    "traffic": [{"kind": "long-lived"}],
}


def test_mistakes_survive_pickling():
    with pytest.raises(ScenarioError) as raised:
        Scenario(**BASE | {"duration": "1mss", "topology": {"kind": "dumbbell", "host": 4}})
    error = raised.value
    assert len(error.every) == 2
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("a", "1"),
        ("b.c.d", "'x # no comment'"),
        ("b.c.e", "[2, 3]"),
        ("b.c.e[1]", "3"),
        ("f[1].g", '"one \\" two"'),
        ("f[1].h.i", "true"),
        ("j[1][0]", '"u"'),
        ("k", '"""'),
        ("q.a b", "5"),
    ],
)
def test_the_place_of_a_value(key, shown):
    text = textwrap.dedent("""\
        a = 1 # first
        b.c = { d = 'x # no comment', e = [2, 3] }
        j = [ # rows
          ["s"],
          ["u", "v"], ]
        k = \"\"\"
        a = 4 ]\"\"\"
        "q"."a b" = 5
        [[f]]
        g = 0
        [[f]]
        g = "one \\" two"
        [f.h]
        i = true
        """)
    place = places.find(text, key)
    assert place is not None
    assert place.text[place.column - 1 :][: place.length] == shown


def test_of_a_long_line_an_error_shows_the_part_around_the_value():
    text = f"a = [{'1, ' * 5000}2, 33, 4]\nb = 5"
    line, carets = str(places.find(text, "a[5001]")).splitlines()
    assert len(line.partition(" | ")[2].strip("…")) == 160, "the most that an error repeats"
    assert "2, 33, 4]" in line
    assert line[carets.index("^") : carets.rindex("^") + 1] == "33"
    line, carets = str(places.find(f"a = '{'x' * 9000}'", "a")).splitlines()
    assert len(line.partition(" | ")[2].strip("…")) == 160
    assert len(carets) <= len(line)
    assert line[carets.index("^") :].startswith("'xxx")
    assert str(places.find(text, "b")) == "    2 | b = 5\n      |     ^"


def test_a_change_of_kind_drops_the_keys_of_the_former_kind():
    scenario = Scenario.from_toml(
        'duration = "1ms"\ncc = "dctcp"\ntraffic = [{ kind = "incast", senders = 2, size = "9KB" }]\n'
        'topology = { kind = "dumbbell", hosts = 4, rate = "40Gbps", edge_rate = "50Gbps" }\n'
        'network = { marking = { kind = "step", threshold = "9KB" } }\n'
    )
    tree = scenario.replace({"topology.kind": "fat-tree"})
    assert (tree.topology.k, tree.topology.rate) == (4, 40 * 10**9)
    star = scenario.replace({"topology.kind": "star", "topology.rate": "25Gbps"})
    assert (star.topology.hosts, star.topology.rate) == (4, 25 * 10**9)
    with pytest.raises(ScenarioError) as raised:
        scenario.replace({"topology.kind": "graph"})
    assert {one.key for one in raised.value.every} == {"topology.edges", "topology.hosts"}
    red = scenario.replace({"network.marking.kind": "red", "cc.name": "dcqcn"})
    assert "threshold" not in red.to_toml().split("marking")[1].split("[")[0]


@pytest.mark.parametrize(
    ("of", "to", "hosts"),
    [("h1*", "h0", {1, 10, 11}), (["h[23]", 0], "h9", {0, 2, 3}), ("h?", "h11", set(range(10)))],
)
def test_sources_may_be_patterns(of, to, hosts):
    scenario = Scenario(
        duration="1ms",
        cc="dctcp",
        topology={"kind": "star", "hosts": 12},
        traffic=[{"kind": "long-lived", "flows": 2 * len(hosts), "from": of, "to": to}],
    )
    assert set(scenario.flows.src.tolist()) == hosts


def test_a_fluid_model_reads_units():
    assert Dcqcn(rate="40Gbps", delay="4us").rate == 40e9
    with pytest.raises(ScenarioError, match="rate"):
        Dcqcn(rate="40 furlongs")


def tables(model=Table):
    return [model, *(below for one in model.__subclasses__() for below in tables(one))]


def test_flags_and_numbers_are_no_texts():
    """A text such as "no" is not false, and 1 is not true."""
    lenient = [
        f"{model.__name__}.{name}"
        for model in tables()
        for name, field in model.model_fields.items()
        if field.annotation in (bool, float) and not any(getattr(of, "strict", None) for of in field.metadata)
        if not any(isinstance(of, BeforeValidator) for of in field.metadata)
    ]
    assert lenient == []
    for value in ("yes", 1):
        with pytest.raises(ScenarioError, match=r"hosts\.prr = .*: expected true or false"):
            Scenario(**BASE, hosts={"prr": value})
    with pytest.raises(ScenarioError, match=r'hosts\.gap = "0\.1": expected a number'):
        Scenario(**BASE, hosts={"gap": "0.1"})


@pytest.mark.parametrize(
    ("table", "senders"),
    [
        ({"from": [4, 5], "to": 0}, [4, 5]),
        ({"from": "h[0-3]", "to": 0}, [1, 2, 3]),
        ({"from": ["h6", 2, "h1"], "senders": 2, "to": 7}, [6, 2]),
        ({"from": ["h1", "h2"]}, [1, 2]),
        ({"from": [3], "times": 3, "period": "100us", "to": 7}, [3, 3, 3]),
    ],
)
def test_the_senders_of_an_incast_may_be_chosen(table, senders):
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4}
    traffic = [{"kind": "incast", "size": "20KB", **table}]
    flows = Scenario(**BASE | {"topology": topology, "traffic": traffic}).flows
    assert flows.src.tolist() == senders
    assert set(flows.dst.tolist()) == {table.get("to", 7)}


def test_the_pairs_of_a_star_may_be_chosen():
    poisson = {"kind": "poisson", "sizes": "20KB", "load": 0.3, "flows": 200, "from": "h*", "to": "h*"}
    pairs = Scenario(**BASE | {"topology": {"kind": "star", "hosts": 9}, "traffic": [poisson]})
    assert len(set(pairs.flows.dst.tolist())) > 1


def test_a_value_with_too_many_levels_is_no_traceback():
    value = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(ScenarioError, match="a value with too many levels"):
        raise ScenarioError("key", value, "less")


def test_a_ramp_may_be_a_step():
    network = {"marking": {"kind": "red", "kmin": "5KB", "kmax": "5KB"}}
    assert Scenario(**BASE | {"cc": "dcqcn", "network": network}).network.marking.kind == "red"

"""All mistakes of a scenario at once, each with its source, its line and a caret."""

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

TEXT = textwrap.dedent("""\
    duration = "1s"
    cc = { name = "dctcp", g = 7 }   # a comment = "no key"

    [topology]
    kind = "dumbbell"
    host = 4

    [network]
    pfc = { treshold = "3KB" }

    [[traffic]]
    kind = "incast"
    senders = 3
    size = "1MBx"

    [[traffic]]
    kind = "poisson"
    load = 1.7
    sizes = "websearch"
    flows = 10
    """)


def mistakes(text, overrides=None):
    with pytest.raises(ScenarioError) as raised:
        Scenario.from_toml(text, file="x.toml", overrides=overrides)
    return raised.value


def test_all_mistakes_are_reported_with_line_and_caret():
    error = mistakes(TEXT)
    found = {one.key: (one.place.line, one.place.column) for one in error.every}
    assert found == {
        "topology.host": (6, 1),
        "network.pfc.treshold": (9, 9),
        "cc.g": (2, 28),
        "traffic[0].size": (14, 8),
        "traffic[1].load": (18, 8),
    }
    assert str(error).count("\n") + 1 == 3 * len(found)
    line, caret = str(error).split("\n")[-2:]
    assert line == "   18 | load = 1.7"
    assert caret == "      |        ^^^"


def test_a_value_of_an_option_is_not_blamed_on_the_file():
    error = mistakes(TEXT, {"topology.rate": "3 furlongs"})
    assert [one.file for one in error.every if one.key == "topology.rate"] == ["overrides"]
    assert [one.file for one in error.every if one.key == "traffic[1].load"] == ["x.toml"]


def test_tables_that_do_not_fit_together_are_all_reported():
    text = 'warmup = "2s"\nduration = "1s"\ncc = "ndp"\ntopology = { kind = "dumbbell" }\n'
    text += 'network = { buffer = "100B" }\ntraffic = [{ kind = "long-lived", start = "3s" }]\n'
    assert mistakes(text).every  # a port that holds no frame ends the check at once
    text = text.replace('"100B"', '"100KB"')
    assert {one.key for one in mistakes(text).every} >= {"warmup"}


def test_mistakes_survive_pickling():
    error = mistakes(TEXT)
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


def test_a_kind_outside_of_a_table_is_an_unknown_key():
    scenario = Scenario.from_toml(
        'duration = "1ms"\ncc = "reno"\ntraffic = [{ kind = "long-lived" }]\ntopology = { kind = "dumbbell" }'
    )
    with pytest.raises(ScenarioError, match=r"kind = .*expected a known key"):
        scenario.replace({"kind": "star"})


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


def test_a_pattern_of_no_host_is_refused():
    with pytest.raises(ScenarioError, match="a pattern of at least one host"):
        Scenario(
            duration="1ms",
            cc="dctcp",
            topology={"kind": "star", "hosts": 12},
            traffic=[{"kind": "long-lived", "from": "x*"}],
        )


def test_a_fluid_model_reads_units():
    assert Dcqcn(rate="40Gbps", delay="4us").rate == 40e9
    with pytest.raises(ScenarioError, match="rate"):
        Dcqcn(rate="40 furlongs")


def test_a_wrong_frame_hides_no_other_mistake():
    """Every size in packets needs that of a frame; the other keys are checked with the default one."""
    file = {**BASE, "seed": -1, "network": {"mtu": "20x", "buffer": "7q"}}
    with pytest.raises(ScenarioError) as error:
        Scenario(**file)
    assert [one.key for one in error.value.every] == ["network.mtu", "seed", "network.buffer"]


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
    ("ramp", "refused"),
    [
        ({"kmin": "10KB", "kmax": "5KB"}, True),
        ({"kmin": "5KB", "kmax": "5KB"}, False),
        ({"kmin": "500KB"}, True),  # the default of kmax is 200 KB
        ({"kmin": {"10Gbps": "9KB"}, "kmax": {"10Gbps": "8KB"}}, True),
    ],
)
def test_a_ramp_does_not_end_before_it_begins(ramp, refused):
    file = {**BASE, "cc": "dcqcn", "network": {"marking": {"kind": "red", **ramp}}}
    if not refused:
        assert Scenario(**file).network.marking.kind == "red"
        return
    with pytest.raises(ScenarioError, match=r"network\.marking\.kmin = .*: expected at most kmax, "):
        Scenario(**file)


def test_the_place_of_a_key_in_a_table_of_the_same_name_as_its_kind():
    """`tasks` is a kind of traffic and a key of it."""
    row = {"name": "a", "from": 0, "to": 1, "size": "1KB", "sizee": 3}
    with pytest.raises(ScenarioError) as error:
        Scenario(**BASE | {"traffic": [{"kind": "tasks", "tasks": [row], "size": "3KB"}]})
    assert sorted(one.key for one in error.value.every) == ["traffic[0].size", "traffic[0].tasks[0].sizee"]

"""Scenarios: read, resolved, written back; and one sentence for everything that can be wrong in them."""

import json
import pickle
import tomllib
from pathlib import Path

import numpy as np
import pytest

from lazy import networkx
from shallows import scenario as scenarios
from shallows.algorithms import algorithm
from shallows.algorithms.marking import Marking
from shallows.errors import ScenarioError
from shallows.registry import keys
from shallows.scenario import Scenario
from shallows.topology import KINDS as TOPOLOGIES
from shallows.traffic import KINDS as TRAFFICS
from shallows.traffic import Collective

pytestmark = pytest.mark.usefixtures("small_catalog")

EXAMPLES = sorted((Path(__file__).parent.parent / "scenarios").glob("*.toml"))

DUMBBELL = """
duration = "1s"
warmup = "100ms"

[topology]
kind = "dumbbell"
hosts = 4
rate = "10Gbps"
rtt = "200us"

[network]
marking = { kind = "step", threshold = "35pkt", at = "enqueue" }

[cc]
name = "dctcp"
g = 0.05

[[traffic]]
kind = "long-lived"
flows = 4

[[traffic]]
kind = "poisson"
sizes = "websearch"
load = 0.2
load_of = "bottleneck"
flows = 50
cc = "dx"
"""


def read(text=DUMBBELL, **overrides):
    overrides = {key.replace("__", "."): value for key, value in overrides.items()}
    return Scenario.from_toml(text, file="x.toml", overrides=overrides)


@pytest.mark.usefixtures("true_catalog")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_resolve_to_themselves(path):
    loaded = Scenario.load(path)
    resolved = loaded.to_toml()
    again = Scenario.from_toml(resolved)
    assert again.to_toml() == resolved
    assert loaded.name == again.name == path.stem
    for column in ("src", "dst", "bytes", "start_ps"):
        assert np.array_equal(getattr(loaded.flows, column), getattr(again.flows, column))


def test_a_packet_on_the_wire_is_the_mtu_and_in_a_flow_its_payload():
    scenario = read(network__mtu="9000B", hosts__initial_window="2pkt")
    assert scenario.network.marking.parameters == {"threshold": 35.0 * 9000, "ecn": 1, "nodrop": 0}
    assert scenario.network.buffer == 70 * 9000  # twice the threshold
    assert scenario.hosts.initial_window == 2 * 8960


def test_set_reads_toml_and_leaves_the_original_alone():
    scenario = read()
    assert scenario.set("traffic.0.flows", "3").traffic[0].flows == 3
    assert scenario.set("traffic[0].flows", 2).traffic[0].flows == 2
    assert scenario.set("topology.rtt", "100us").topology.rtt == 10**8
    marking = scenario.set("network.marking.threshold", "20pkt").network.marking
    assert marking.parameters == {"threshold": 30_000, "ecn": 1, "nodrop": 0}
    assert scenario.set("record.queues", "10us").record.queues == 10**7
    assert scenario.set("traffic.1.cc.headroom", "2us").traffic[1].cc.parameters == {"headroom": 2e-6}
    assert scenario.traffic[0].flows == 4


@pytest.mark.parametrize("name", ["seed", "network", "given", "flow_count"])
def test_no_attribute_of_a_scenario_can_be_set(name):
    scenario = Scenario.load("dctcp-40")
    with pytest.raises(AttributeError):
        setattr(scenario, name, getattr(scenario, name))


def test_naming_another_algorithm_drops_the_parameters_of_the_former():
    scenario = read()
    assert scenario.set("cc.name", "vegas@ns-2").cc.parameters == {"alpha": 1.0}
    assert scenario.set("cc.name", "dctcp").cc.parameters["g"] == 0.05
    assert scenario.replace({"cc.name": "dctcp@ns-2", "cc.g": 0.1}).cc.parameters == {"g": 0.1, "alpha": 0.0}


def test_what_is_set_together_holds_in_any_order():
    scenario = read()
    assert scenario.replace({"cc.g": 0.1, "cc.name": "dctcp@ns-2"}).cc.parameters == {"g": 0.1, "alpha": 0.0}
    assert scenario.replace({"cc.g": 0.1, "cc": "dctcp@ns-2"}).cc.parameters == {"g": 0.1, "alpha": 0.0}
    with pytest.raises(ScenarioError, match=r"cc\.nonsense = 5"):
        scenario.replace({"cc.nonsense": 5, "cc.name": "dx"})


def test_parameters_take_the_unit_of_the_catalog():
    assert read(cc="paced", network__marking="none").cc.parameters == {"floor": 1e7, "burst": 3100.0}
    table = {"name": "paced", "floor": "40Mbps", "burst": "2pkt"}
    scenario = read(cc=table, network__marking="none")
    assert scenario.cc.parameters == {"floor": 4e7, "burst": 3000.0}
    assert tomllib.loads(scenario.to_toml())["cc"] == table
    assert read(cc={"name": "fixed", "window": "3pkt"}).cc.parameters == {"window": 3.0}
    assert read(cc={"name": "reno", "ecn": True}).cc.parameters == {"ecn": 1.0}


def test_marking_unspecified_is_what_the_algorithms_need():
    bare = DUMBBELL.replace('marking = { kind = "step", threshold = "35pkt", at = "enqueue" }', "")
    step = Marking("step", "enqueue", {"threshold": 97_500.0, "ecn": 1.0, "nodrop": 0.0})
    assert read(bare).network.marking == step
    assert read(bare, cc="dx").network.marking == "none"
    assert read(bare, cc="reno").network.marking == "none"
    assert read(bare, cc={"name": "reno", "ecn": True}).network.marking == step


@pytest.mark.parametrize(
    ("spine_rate", "packets"),
    [
        ("10Gbps", 250),
        ("20Gbps", 2 * 2 * 65),  # the guideline of 65 packets at 10 Gbps, at twice the rate, twice
        ("40Gbps", 2 * 4 * 65),
    ],
)
def test_a_buffer_by_default_holds_twice_the_largest_marking_threshold(spine_rate, packets):
    topology = {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 2,
        "spine_rate": spine_rate,
        "link_delay": "25us",
    }
    scenario = Scenario(duration="1ms", cc="dctcp", topology=topology, traffic=[{"kind": "incast"}])
    assert scenario.network.buffer == packets * 1500
    again = Scenario.from_toml(scenario.to_toml())
    assert again.network.buffer == packets * 1500


def test_timeouts_come_from_a_preset():
    assert read(hosts__rto="internet").hosts.rto_min == 10**12
    slow = read(hosts__rto_min="200ms").hosts
    assert (slow.rto_min, slow.rto_initial, slow.rto_max) == (2 * 10**11, 2 * 10**11, 10**12)


def test_a_networkx_graph_is_a_topology_and_is_written_out():
    graph = networkx.Graph()
    graph.add_edges_from((("switch", end) for end in "abc"), rate="10Gbps", delay="1us")
    traffic = [{"kind": "long-lived", "from": ["a", "b"], "to": "c"}]
    scenario = Scenario(topology=graph, duration="1s", cc="dx", traffic=traffic)
    assert scenario.graph.host_names == ["a", "b", "c"]
    assert scenario.flows.dst.tolist() == [2, 2]
    assert Scenario.from_toml(scenario.to_toml()).to_toml() == scenario.to_toml()


def test_a_scenario_survives_pickling():
    scenario = read(traffic__1__load=0.3)
    assert pickle.loads(pickle.dumps(scenario)).to_toml() == scenario.to_toml()


@pytest.mark.usefixtures("true_catalog")
def test_every_algorithm_and_preset_of_the_catalog_can_be_named_and_written_back():
    rows = algorithm.catalog()
    names = [row["name"] for row in rows]
    unmarked = DUMBBELL.replace('marking = { kind = "step", threshold = "35pkt", at = "enqueue" }', "")
    for name in names + [f"{row['name']}@{preset['name']}" for row in rows for preset in row["presets"]]:
        scenario = read(unmarked, cc=name, traffic__1__cc=name)
        assert scenario.cc.label == name
        assert Scenario.from_toml(scenario.to_toml()).cc == scenario.cc


def test_what_is_recorded():
    network = read(record__ports=["s0->s1", "s1->s0"]).graph
    assert [network.port_names[i] for i in network.recorded_ports] == ["s0->s1", "s1->s0"]
    assert len(read(record__ports="all").graph.recorded_ports) == 18
    assert read(record__flows=3).probed_flows.tolist() == [0, 1, 2]
    assert len(read(record__flows="all").probed_flows) == 54
    assert read(record__flows=[53, 0, 53]).probed_flows.tolist() == [53, 0]


def test_ports_are_recorded_by_pattern():
    """Two switches, four hosts each: a port of s0 to each of its hosts, and each port once."""
    network = read(record__ports=["s0->h?", "s0->h2", "s?->s?"]).graph
    names = [network.port_names[i] for i in network.recorded_ports]
    assert sorted(names) == ["s0->h0", "s0->h1", "s0->h2", "s0->h3", "s0->s1", "s1->s0"]


def test_a_missing_file_is_named():
    with pytest.raises(ScenarioError, match=r"nowhere\.toml: expected a readable scenario file \(No"):
        Scenario.load("nowhere.toml")


def two_islands():
    graph = networkx.Graph()
    for i, end in enumerate("abcd"):
        graph.add_edge(end, f"switch {i // 2}", rate="10Gbps", delay="1us")
    return graph


GRAPH = """
duration = "1s"
cc = "dx"
topology = { kind = "graph", file = "net.graphml" }
[[traffic]]
kind = "long-lived"
from = "a"
to = "c"
"""


def test_unreachable_hosts_are_named(tmp_path):
    networkx.write_graphml(two_islands(), tmp_path / "net.graphml")
    (tmp_path / "x.toml").write_text(GRAPH)
    with pytest.raises(ScenarioError, match=r'traffic\[0\]\.to = "c": expected a host that a has a path to'):
        Scenario.load(tmp_path / "x.toml")
    assert len(Scenario.load(tmp_path / "x.toml", {"traffic.0.to": "b"}).flows) == 1


@pytest.mark.parametrize(
    ("content", "expected"),
    [(None, "a readable file (No such file"), ("<html>", "GraphML, or node-link JSON")],
)
def test_a_broken_graph_file_is_named(tmp_path, content, expected):
    if content:
        (tmp_path / "net.graphml").write_text(content)
    (tmp_path / "x.toml").write_text(GRAPH)
    with pytest.raises(ScenarioError) as error:
        Scenario.load(tmp_path / "x.toml")
    assert 'x.toml: topology.file = "net.graphml": expected ' + expected in str(error.value)


PAGES = Path(__file__).parent.parent / "docs"


def documentation():
    """The page of scenarios, and the pages of their tables, as on the site."""
    return "".join(keys.expanded(page.read_text()) for page in sorted(PAGES.glob("scenario*.md")))


@pytest.mark.parametrize("kind", [*TOPOLOGIES, *TRAFFICS])
def test_every_key_of_every_kind_is_documented_with_its_default(kind):
    headings = [f"## `{kind}`"]
    if issubclass((TOPOLOGIES | TRAFFICS)[kind], Collective):
        headings.append("## Collectives")
    section = "".join(documentation().split(f"{heading}\n")[1].split("\n##")[0] for heading in headings)
    for name, field in (TOPOLOGIES | TRAFFICS)[kind].model_fields.items():
        if name in ("kind", "cc", "priority", "traffic_class", "name", "route"):  # said once for all kinds
            continue
        rows = [line.partition(" | ") for line in section.splitlines() if line.startswith("| `")]
        (shown,) = [default for key, _, default in rows if f"`{field.alias or name}`" in key]
        if isinstance(field.default, str | int | list):
            assert f"`{json.dumps(field.default)}`" in shown


@pytest.mark.parametrize(
    "table", [scenarios.NetworkTable, scenarios.HostTable, scenarios.RecordTable, Scenario]
)
def test_every_key_of_every_table_is_documented(table):
    for name in table.key_names():
        assert f"| `{name}` |" in documentation() or f"[{name}]" in documentation()


def test_the_documents_example_runs():
    example = (PAGES / "scenario.md").read_text().split("```toml\n")[1].split("```")[0]
    assert Scenario.from_toml(example).flow_count == 40


def test_a_port_named_twice_is_recorded_once():
    assert read(record__ports=["s0->s1", "s0->s1"]).graph.recorded_ports.tolist() == [
        read().graph.port("s0->s1")
    ]


def test_a_key_below_what_is_no_table_is_refused():
    for below in ("size", "size.part"):
        changes = {"traffic": [1], f"traffic.0.{below}": "1KB"}
        with pytest.raises(ScenarioError, match=rf"traffic\.0 = 1: expected a table, to hold .*\.{below}"):
            Scenario.from_toml(DUMBBELL, overrides=changes)


@pytest.mark.parametrize(
    "text",
    ["name = " + "[" * 5000 + "]" * 5000, "name" + ".a" * 5000 + " = 1", "[x" + ".a" * 20 + "]"],
    ids=["lists", "keys", "tables"],
)
def test_tables_too_deep_are_a_sentence(text):
    with pytest.raises(ScenarioError, match=r"deep\.toml: .*tables nested at most 8 deep"):
        Scenario.from_toml(text, file="deep.toml")


def test_overrides_too_deep_are_a_sentence():
    with pytest.raises(ScenarioError, match="tables nested at most 8 deep"):
        read().set(".".join(["a"] * 5000), 1)


def test_names_that_no_file_has_are_a_sentence():
    for wrong in ("a\0b", "a" * 5000):
        with pytest.raises(ScenarioError, match="expected"):
            Scenario.load(wrong)
        with pytest.raises(ScenarioError, match="an existing file"):
            read(traffic__0={"kind": "trace", "file": wrong})


PAIR = {
    "kind": "graph",
    "edges": [["a", "s", "1Gbps", "1us"], ["b", "s", "1Gbps", "1us"]],
    "hosts": ["a", "b"],
}
BAD = "a\udc80"


@pytest.mark.parametrize(
    ("tables", "key"),
    [
        ({"topology": PAIR | {"hosts": [BAD, "b"]}}, "topology.hosts"),
        ({"topology": PAIR | {"edges": [[BAD, "s", "1Gbps", "1us"]]}}, "topology.edges"),
        ({"name": BAD}, "name"),
        ({"cc": BAD}, "cc"),
        ({"cc": {"name": "dctcp", BAD: 1}}, "cc"),
        ({"traffic": [{"kind": "long-lived", "from": BAD}]}, "traffic.from"),
        ({"record": {"ports": [BAD]}}, "record.ports"),
    ],
)
def test_half_a_character_is_refused_wherever_it_stands(tables, key):
    """No file could keep it. A command line's bytes that are no UTF-8 become such halves."""
    plain = {"duration": "1ms", "topology": PAIR, "cc": "dctcp", "traffic": [{"kind": "long-lived"}]}
    with pytest.raises(ScenarioError, match="expected text that UTF-8 can write") as refused:
        Scenario(**{**plain, **tables})
    assert str(refused.value).startswith(key)
    assert str(refused.value).isascii()


def test_names_of_hosts_may_be_in_any_script(tmp_path):
    topology = {
        **PAIR,
        "edges": [["日本", "s", "1Gbps", "1us"], ["b", "s", "1Gbps", "1us"]],
        "hosts": ["日本", "b"],
    }
    scenario = Scenario(duration="1ms", topology=topology, cc="dctcp", traffic=[{"kind": "long-lived"}])
    assert Scenario.from_toml(scenario.to_toml()).graph.host_names == ["日本", "b"]

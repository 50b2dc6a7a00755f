"""Networks: counts, links and propagation as each kind promises them."""

import json
import time
from fnmatch import fnmatchcase

import numpy as np
import pytest

from lazy import networkx
from shallows.scenario import Scenario
from shallows.scenario.request import request
from shallows.topology import KINDS, graph_table, read_graph
from shallows.topology.routing import Routes, path_counts
from shallows.units import Frame

FRAME = {"frame": Frame(1500, 1460)}


def build(kind, **keys):
    return KINDS[kind].model_validate({"kind": kind, **keys}, context=FRAME).build()


def directed(network):
    """The network as a networkx graph whose edges carry the delay."""
    graph = networkx.DiGraph()
    columns = (network.link_from, network.link_to, network.delay_ps)
    graph.add_weighted_edges_from(zip(*(column.tolist() for column in columns), strict=True))
    return graph


def delay(network, a, b):
    return networkx.shortest_path_length(directed(network), a, b, weight="weight")


def test_every_kind_has_defaults_and_two_links_a_cable():
    for kind in KINDS.keys() - {"graph"}:
        network = build(kind)
        assert np.array_equal(network.link_from[0::2], network.link_to[1::2])
        assert np.array_equal(network.link_to[0::2], network.link_from[1::2])
        assert np.array_equal(network.delay_ps[0::2], network.delay_ps[1::2])
        ports = 2 if kind == "rail-optimised" else 1
        assert np.bincount(network.link_from)[: network.hosts].tolist() == [ports] * network.hosts
        assert len(set(network.port_names)) == len(network.port_names)
        assert not network.is_nic[network.bottlenecks].any()
        assert network.islands().max() == 0


@pytest.mark.parametrize("rtt_ps", [200_000_000, 4, 20_000_004, 123_456_788])
def test_the_round_trip_of_a_dumbbell_is_exact(rtt_ps):
    network = build("dumbbell", hosts=3, rtt=f"{rtt_ps}ps")
    assert delay(network, 0, 3) + delay(network, 3, 0) == rtt_ps
    assert [network.port_names[i] for i in network.bottlenecks] == ["s0->s1"]
    assert (network.senders.tolist(), network.receivers.tolist()) == ([0, 1, 2], [3, 4, 5])


def test_a_dumbbell_puts_half_of_its_delay_in_the_middle():
    network = build("dumbbell", hosts=1, rtt="200us", edge_rate="40Gbps")
    core = network.port("s0->s1")
    assert network.delay_ps[core] == 50_000_000
    assert network.delay_ps[network.port("h0->s0")] == 25_000_000
    assert network.rate_bps[core] == 10**10
    assert network.host_rate_bps.tolist() == [4 * 10**10] * 2


def test_the_round_trip_of_a_star_is_exact():
    network = build("star", hosts=4, rtt="20us")
    assert delay(network, 0, 3) + delay(network, 3, 0) == 20_000_000
    assert [network.port_names[i] for i in network.bottlenecks] == ["s0->h0", "s0->h1", "s0->h2", "s0->h3"]


def test_cables_are_longer_by_a_random_share_of_their_delay():
    """Shares are uniform up to the spread: of 1 %, the mean of 1024 cables is 0.5 % +- 3 * 0.29 % / 32."""
    plain = build("leaf-spine", leaves=32, spines=16, hosts_per_leaf=16)
    drawn = [plain.longer(0.01, seed) for seed in (1, 1, 2)]
    more = drawn[0].delay_ps / plain.delay_ps - 1
    assert len(more) == 2048
    assert (more[::2] == more[1::2]).all()
    assert more.min() >= 0
    assert more.max() <= 0.01
    assert more.mean() == pytest.approx(0.005, abs=0.0003)
    assert (drawn[0].delay_ps == drawn[1].delay_ps).all()
    assert (drawn[0].delay_ps != drawn[2].delay_ps).mean() > 0.99
    assert plain.longer(0.0, 1) is plain


def test_long_flows_cross_every_hop_of_a_parking_lot():
    network = build("parking-lot", hops=3, hosts=2, rtt="100us")
    paths = [
        networkx.shortest_path(directed(network), a, b)
        for a, b in zip(network.senders, network.receivers, strict=True)
    ]
    assert [len(path) - 3 for path in paths] == [3, 1, 1, 1] * 2
    assert delay(network, network.senders[0], network.receivers[0]) == 50_000_000
    assert [network.port_names[i] for i in network.bottlenecks] == ["s0->s1", "s1->s2", "s2->s3"]


def test_multi_bottleneck_is_the_dx_papers_figure_16():
    network = build("multi-bottleneck")
    flows = list(zip(network.senders.tolist(), network.receivers.tolist(), strict=True))
    assert [b == 40 for _, b in flows] == [True] * 10 + [False] * 20 + [True] * 10
    assert sorted(b for _, b in flows[10:30]) == list(range(41, 61))
    assert [network.port_names[i] for i in network.bottlenecks] == ["s0->s1", "s1->h40"]
    assert network.rate_bps[network.bottlenecks].tolist() == [10**10, 10**9]


@pytest.mark.parametrize(("k", "hosts", "switches"), [(2, 2, 5), (4, 16, 20), (8, 128, 80)])
def test_a_fat_tree_has_the_counts_of_its_k(k, hosts, switches):
    network = build("fat-tree", k=k)
    assert (network.hosts, network.nodes - network.hosts) == (hosts, switches)
    assert np.bincount(network.link_from)[hosts:].tolist() == [k] * switches
    assert delay(network, 0, hosts - 1) == 6_000_000


def test_the_three_tier_tree_is_that_of_the_dx_paper():
    network = build("three-tier")
    assert (network.hosts, len(network.switch_names)) == (192, 56)
    assert set(np.bincount(network.link_from)[192:].tolist()) == {8}
    wired = {tuple(name.split("->")) for name in network.port_names}
    assert {b for a, b in wired if a == "tor5"} == {f"h{i}" for i in range(30, 36)} | {"aggr2", "aggr3"}
    assert {b for a, b in wired if a == "aggr3" and "core" in b} == {"core1", "core3", "core5", "core7"}
    assert delay(network, 0, 191) == 2 * 1_000_000 + 4 * 4_000_000
    assert delay(network, 0, 1) == 2_000_000


def test_leaf_spine_hosts_are_numbered_leaf_by_leaf():
    network = build("leaf-spine", leaves=2, spines=3, hosts_per_leaf=4, spine_rate="40Gbps")
    assert {"h3->leaf0", "h4->leaf1"} <= set(network.port_names)
    assert network.rate_bps[network.port("leaf0->spine2")] == 4 * 10**10


def two_islands():
    graph = networkx.Graph()
    for i, end in enumerate(["a", "b", "c", "d"]):
        graph.add_edge(end, f"switch {i // 2}", rate="10Gbps", delay="1us")
    return graph


def test_a_graph_comes_from_networkx_graphml_or_json(tmp_path):
    graph = two_islands()
    networkx.write_graphml(graph, tmp_path / "net.graphml")
    (tmp_path / "net.json").write_text(json.dumps(networkx.node_link_data(graph, edges="edges")))
    tables = [graph_table(graph), read_graph(tmp_path / "net.graphml"), read_graph(tmp_path / "net.json")]
    assert tables[0] == tables[1] == tables[2]
    network = build(**tables[0])
    assert network.host_names == ["a", "b", "c", "d"]
    islands = network.islands()
    assert islands[0] == islands[1] != islands[2] == islands[3]


def test_nodes_called_host_are_the_hosts():
    graph = two_islands()
    networkx.set_node_attributes(graph, {"b": "host", "c": "host"}, "kind")
    assert graph_table(graph)["hosts"] == ["b", "c"]


def test_an_edge_without_a_rate_is_named():
    graph = two_islands()
    del graph.edges["c", "switch 1"]["rate"]
    with pytest.raises(ValueError, match=r'a rate such as "10Gbps" on every edge; c-switch 1 has None'):
        graph_table(graph)


def test_parallel_links_have_numbers_and_a_common_name():
    network = build("leaf-spine", leaves=1, spines=2, hosts_per_leaf=1, links_per_pair=2, ports_per_host=3)
    there = ["leaf0->spine1#0", "leaf0->spine1#1"]
    assert [network.port_names[link] for link in network.ports(["leaf0->spine1"])] == there
    assert [network.port_names[link] for link in network.ports(["leaf0->spine1#1"])] == there[1:]
    assert [network.port_names[link] for link in network.ports(["leaf?->spine1"])] == there
    assert [network.port_names[link] for link in network.ports(["*->spine1#0"])] == there[:1]
    assert len(network.ports(["h0->leaf0"])) == 3
    assert network.host_rate_bps.tolist() == [3 * 10**10]
    with pytest.raises(ValueError, match="a port such as"):
        network.port("leaf0->spine1")


NAMES = [
    ["a->b"],  # the two parallel links
    ["a->b#1", "a->b"],  # one of them, and again with the other
    ["a->b#0"],  # also the name of the link to the switch "b#0"
    ["b->*", "?->c", "b->a#0"],
    ["a->[bc]*", "c->a", "a->c"],
]


@pytest.mark.parametrize("names", NAMES, ids=" ".join)
def test_ports_are_those_whose_name_or_pair_is_given_else_those_that_match(names):
    """Compared with the definition: each name beside each link."""
    edges = [["a", "b", "1Gbps", "1us"]] * 2 + [
        [*ends, "1Gbps", "1us"] for ends in ("ac", ["a", "b#0"], "bc")
    ]
    network = build("graph", hosts=["a", "c"], edges=edges)
    both = list(zip(network.port_names, network.pair_names, strict=True))
    expected: dict[int, None] = {}
    for name in names:
        links = [at for at, known in enumerate(both) if name in known]
        links = links or [at for at, known in enumerate(both) if any(fnmatchcase(one, name) for one in known)]
        assert links
        expected |= dict.fromkeys(links)
    assert network.ports(names) == list(expected)


@pytest.mark.parametrize(
    ("names", "wrong"),
    [
        (["a->b", "a->d", "x->y"], ("a->d", 'a port such as "c->b"; did you mean "a->c"?')),
        (["*->d", "a->d"], ("*->d", 'a pattern of at least one port such as "c->b"')),
    ],
)
def test_the_first_name_without_a_port_is_named(names, wrong):
    network = build("graph", hosts=["a", "c"], edges=[[*ends, "1Gbps", "1us"] for ends in ("ab", "ac", "bc")])
    with pytest.raises(ValueError, match="port") as error:
        network.ports(names)
    assert error.value.args[0] == wrong[0]
    assert error.value.args[1].startswith(wrong[1])


def test_the_default_ports_of_many_planes_are_prepared_in_linear_time():
    """MRC names each port to a host: 2,048 names beside 8,192 links took eight seconds."""
    topology = {"kind": "leaf-spine", "leaves": 16, "spines": 16, "hosts_per_leaf": 16, "planes": 8}
    begun = time.process_time()
    traffic = [{"kind": "incast", "senders": 1, "size": "1KB"}]
    made = Scenario(duration="until-done", cc="mrc", topology=topology, traffic=traffic)
    of_link = request(made)["links"]["discipline"]
    assert time.process_time() - begun < 2
    assert sorted(np.bincount(of_link[~made.graph.is_nic])) == [0, 2048, 4096]


def test_planes_share_only_hosts():
    network = build("leaf-spine", planes=2, ports_per_host=4, leaves=2, spines=3, hosts_per_leaf=2)
    assert (network.hosts, len(network.switch_names)) == (4, 10)
    assert np.bincount(network.link_from)[:4].tolist() == [4] * 4
    ends = {tuple(name.split("#")[0].split("->")) for name in network.port_names}
    assert all(a[:2] == b[:2] for a, b in ends if a[0] == b[0] == "p")
    assert path_counts(network, 3)[0] == 2 * 2 * 3 * 2  # ports up, spines and ports down, in two planes
    with pytest.raises(ValueError, match="a multiple of 2, the planes"):
        build("leaf-spine", planes=2, ports_per_host=3)


def test_rails_join_equal_gpus_and_nvlink_joins_a_server():
    network = build("rail-optimised", units=2, servers=3, gpus=4, spines=2)
    assert (network.hosts, len(network.switch_names)) == (24, 8 + 2 + 6)
    wired = {tuple(name.split("->")) for name in network.port_names}
    assert {a for a, b in wired if b == "leaf6"} == {"h14", "h18", "h22", "spine0", "spine1"}
    assert {a for a, b in wired if b == "nv2"} == {"h8", "h9", "h10", "h11"}
    names = [network.port_names[link] for link in Routes(network).path(0, 3)]
    assert names == ["nv0->h3", "h0->nv0"]
    assert len(Routes(network).path(0, 4)) == 2, "the same rail is one leaf away"
    assert len(Routes(network).path(0, 5)) == 4, "and no host forwards to another rail"
    assert network.in_server.sum() == 2 * 24
    assert network.host_rate_bps.tolist() == [400 * 10**9] * 24


@pytest.mark.parametrize(("groups", "spines", "cables"), [(3, 4, 4), (3, 4, 2), (5, 3, 6), (2, 2, 1)])
def test_dragonfly_groups_have_equally_many_cables(groups, spines, cables):
    network = build("dragonfly+", groups=groups, leaves=2, spines=spines, links_per_group_pair=cables)
    group = np.r_[np.full(network.hosts + 2 * groups, -1), np.repeat(np.arange(groups), spines)]
    ends = group[network.link_from], group[network.link_to]
    between = (ends[0] >= 0) & (ends[1] >= 0)
    assert (ends[0] != ends[1])[between].all()
    counts = np.zeros((groups, groups), int)
    np.add.at(counts, (ends[0][between], ends[1][between]), 1)
    assert (counts == cables * (1 - np.eye(groups, dtype=int))).all()
    of_spine = np.bincount(network.link_from[between])[network.hosts + 2 * groups :]
    assert of_spine.max() - of_spine.min() <= 1
    assert network.islands().max() == 0


def test_a_graph_has_parallel_edges_and_hosts_with_several(tmp_path):
    graph = networkx.MultiGraph()
    for a, b in [("a", "s"), ("a", "s"), ("b", "s"), ("a", "n"), ("b", "n")]:
        graph.add_edge(a, b, rate="10Gbps", delay="1us")
    networkx.set_node_attributes(graph, {"a": "host", "b": "host", "n": "server-switch"}, "kind")
    networkx.write_graphml(graph, tmp_path / "net.graphml")
    (tmp_path / "net.json").write_text(json.dumps(networkx.node_link_data(graph, edges="edges")))
    tables = [graph_table(graph), read_graph(tmp_path / "net.graphml"), read_graph(tmp_path / "net.json")]
    assert all(sorted(table["edges"]) == sorted(tables[0]["edges"]) for table in tables)
    network = build(**tables[0])
    assert {"a->s#0", "a->s#1", "b->s", "a->n"} <= set(network.port_names)
    assert network.host_rate_bps.tolist() == [2 * 10**10, 10**10]
    with pytest.raises(ValueError, match="switches, which are not hosts"):
        build(**{**tables[0], "server_switches": ["a"]})

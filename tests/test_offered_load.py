"""The load that traffic offers to every port, worked out by hand from routes and rates."""

import numpy as np
import pytest

from shallows import _core
from shallows.scenario import Scenario
from shallows.traffic import offered
from shallows.worlds.packet import request

POISSON = {"kind": "poisson", "sizes": "websearch", "flows": 100}


def scenario(topology, *traffic, **tables):
    return Scenario(
        topology=topology, traffic=list(traffic), **{"duration": "until-done", "cc": "dctcp", **tables}
    )


def loads(made):
    of_links = offered.load(made.graph, made.flows.offered)
    return dict(zip(made.graph.port_names, of_links.tolist(), strict=True))


@pytest.mark.parametrize("load", [0.15, 0.342, 0.8])
def test_uplinks_of_racks_carry_what_leaves_the_rack(load):
    """Racks of 6 among 192 hosts, oversubscribed 3:1: of a host's 191 partners 5 are in its rack."""
    made = scenario({"kind": "three-tier"}, {**POISSON, "load": load})
    of = loads(made)
    assert [of["h0->tor0"], of["tor31->h191"]] == pytest.approx([load] * 2)
    assert [of["tor0->aggr0"], of["aggr0->tor0"]] == pytest.approx([3 * load * 186 / 191] * 2)
    warned = [text for text in made.warnings if "offered more" in text]
    assert bool(warned) == (load == 0.8)
    if warned:
        assert "up to 2.34 times" in warned[0]
        assert "traffic[0].load = 0.342 or less" in warned[0]


@pytest.mark.parametrize(("rate", "balancing"), [("100Mbps", "flow"), ("1600Gbps", "packet")])
def test_a_fat_tree_divides_its_traffic_equally(rate, balancing):
    """k = 4, 16 hosts: 14 of 15 partners are behind another edge switch, 12 of 15 in another pod."""
    made = scenario(
        {"kind": "fat-tree", "k": 4, "rate": rate}, {**POISSON, "load": 0.9}, network={"balancing": balancing}
    )
    of = loads(made)
    up = [value for port, value in of.items() if port.startswith("edge") and "->agg" in port]
    core = [value for port, value in of.items() if "core" in port]
    assert len(up) == 16
    assert len(core) == 32
    assert up == pytest.approx([0.9 * 14 / 15] * 16)
    assert core == pytest.approx([0.9 * 12 / 15] * 32)
    assert not [text for text in made.warnings if "offered" in text]


DIAMOND = {
    "kind": "graph",
    "hosts": ["x", "y"],
    "edges": [
        ["x", "s", "10Gbps", "1us"], ["s", "a", "10Gbps", "1us"], ["s", "b", "10Gbps", "1us"],
        ["a", "c", "10Gbps", "1us"], ["a", "d", "10Gbps", "1us"], ["b", "d", "10Gbps", "1us"],
        ["c", "t", "10Gbps", "1us"], ["d", "t", "10Gbps", "1us"], ["t", "y", "10Gbps", "1us"],
    ],
}  # fmt: skip
"""From s to t lead s-a-c-t, s-a-d-t and s-b-d-t: each switch halves, so c carries a quarter."""


def test_equal_cost_paths_are_an_expectation_at_each_switch():
    made = scenario(
        DIAMOND, {"kind": "trace", "flows": [[i * 1e-5, "x", "y", 1460] for i in range(2000)]}, duration="1s"
    )
    of = loads(made)
    whole = of["s->a"] + of["s->b"]
    assert [whole, of["x->s"], of["t->y"]] == pytest.approx([2000 * 1500 * 8 / (1999e-5 * 1e10)] * 3)
    assert [of["s->b"], of["a->c"], of["b->d"]] == pytest.approx([whole / 2, whole / 4, whole / 2])
    assert [of["d->t"], of["c->t"]] == pytest.approx([0.75 * whole, 0.25 * whole])
    taken = np.bincount(
        [link for there, _ in _core.paths(request(made)) for link in there],
        minlength=len(made.graph.port_names),
    )
    share = taken / 2000
    for port, expected in (("s->a", 0.5), ("a->c", 0.25), ("d->t", 0.75)):
        assert share[made.graph.port(port)] == pytest.approx(expected, abs=0.04)


def test_cables_from_one_switch_to_a_host_share_what_comes_to_the_switch():
    """y has two cables to a and one to b, each with half of the traffic: a quarter, a quarter and a half."""
    ends = [("x", "s"), ("s", "a"), ("s", "b"), ("a", "y"), ("a", "y"), ("b", "y")]
    graph = {"kind": "graph", "hosts": ["x", "y"], "edges": [[*pair, "10Gbps", "1us"] for pair in ends]}
    flows = [[i * 1e-5, "x", "y", 1460] for i in range(2000)]
    made = scenario(graph, {"kind": "trace", "flows": flows}, duration="1s")
    whole = 2000 * 1500 * 8 / (1999e-5 * 1e10)
    of = loads(made)
    shares = {"a->y#0": 0.25, "a->y#1": 0.25, "b->y": 0.5}
    assert [of[port] for port in shares] == pytest.approx([whole * share for share in shares.values()])
    taken = np.bincount(
        [link for there, _ in _core.paths(request(made)) for link in there], minlength=len(of)
    )
    for port, share in shares.items():
        assert taken[made.graph.port(port)] / 2000 == pytest.approx(share, abs=0.04)


@pytest.mark.parametrize(("period", "over"), [("131us", True), ("132us", False)])
def test_incasts_that_return_sooner_than_they_drain(period, over):
    """8 times 20 KB are 8 * (20000 + 14 * 40) = 164,480 B on the wire: 131.6 us at 10 Gbps."""
    star = {"kind": "star", "hosts": 9, "rate": "10Gbps"}
    table = {"kind": "incast", "times": 50, "period": period}
    made = scenario(star, table)
    assert loads(made)["s0->h8"] == pytest.approx(164_480 * 8 / (float(period[:3]) * 1e-6 * 1e10))
    warned = [text for text in made.warnings if text.startswith("s0->h8 is offered")]
    assert bool(warned) == over
    if over:
        assert 'traffic[0].period = "132us" or more' in warned[0]
    once = scenario(star, {"kind": "incast", "size": "10MB"})
    assert not any(loads(once).values())


def test_an_advised_period_is_in_whole_picoseconds():
    """64 B take 51.2 ps at 10 Tbps."""
    star = {"kind": "star", "hosts": 2, "rate": "10Tbps"}
    made = scenario(star, {"kind": "incast", "size": "24B", "times": 50, "period": "50ps"})
    assert loads(made)["s0->h1"] == pytest.approx(51.2 / 50)
    assert made.warnings[0].endswith('write traffic[0].period = "52ps" or more')


@pytest.mark.parametrize(("load", "over"), [(0.56, True), (0.55, False)])
def test_incasts_at_random_times_that_overload_an_uplink(load, over):
    """Two racks of 3 hosts: 3 of 5 partners are in the other one, so an uplink carries 3 * 3/5 loads.

    That is its rate at a load of 5/9 = 0.5555...
    """
    racks = {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 3, "rate": "10Gbps"}
    made = scenario(racks, {"kind": "incast", "senders": 2, "times": 50, "load": load})
    assert loads(made)["leaf0->spine0"] == pytest.approx(load * 9 / 5)
    warned = [text for text in made.warnings if "offered more" in text]
    assert bool(warned) == over
    if over:
        assert warned[0].endswith("write traffic[0].load = 0.555 or less")


@pytest.mark.parametrize(("gap_us", "warned"), [(0, False), (0.1, False), (14, True), (17, False)])
def test_a_trace_overloads_a_port_unless_it_is_one_batch(gap_us, warned):
    """From 4 hosts in turn, 20,560 B on the wire each: 16.4 us at the receiver's 10 Gbps.

    100 flows in 10 us are a batch, as an incast is; one every 14 us is 1.2 times what the port carries.
    """
    rows = [[i * gap_us * 1e-6, i % 4, 4, 20_000] for i in range(100)]
    made = scenario({"kind": "star", "hosts": 5, "rate": "10Gbps"}, {"kind": "trace", "flows": rows})
    assert bool([text for text in made.warnings if text.startswith("s0->h4 is offered")]) == warned


def test_loads_of_several_tables_add_up():
    tables = [{**POISSON, "load": 0.6, "to": "h0"}, {**POISSON, "load": 0.4, "from": "h1", "to": "h0"}]
    star = {"kind": "star", "hosts": 5, "rate": "1Gbps"}
    made = scenario(star, {**tables[0], "load_of": "bottleneck"}, {**tables[1], "load": 0.5})
    assert loads(made)["s0->h0"] == pytest.approx(1.1)
    (warned,) = (text for text in made.warnings if "offered more" in text)
    assert "s0->h0 is offered" in warned
    assert "divide the loads of traffic[0] and traffic[1] by 1.1" in warned


def test_closed_loops_offer_no_load():
    for table in (
        {"kind": "long-lived"},
        {"kind": "all-reduce"},
        {"kind": "request-response"},
        {"kind": "shuffle"},
    ):
        made = scenario({"kind": "star", "hosts": 5}, table, duration="1s")
        assert not any(loads(made).values())


def test_a_pair_of_hosts_without_a_switch():
    pair = {"kind": "graph", "hosts": ["x", "y"], "edges": [["x", "y", "1Gbps", "1us"]]}
    made = scenario(pair, {**POISSON, "load": 0.5, "from": "x", "to": "y"}, cc="reno")
    assert loads(made) == pytest.approx({"x->y": 0.5, "y->x": 0.0})


def test_planes_divide_a_host_s_traffic_equally():
    """Two leaves of 4 hosts: 4 of 7 partners are behind the other leaf, over 2 spines and 2 links to each."""
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "links_per_pair": 2}
    made = scenario({**topology, "planes": 2, "ports_per_host": 4}, {**POISSON, "load": 0.4})
    assert made.graph.host_rate_bps.tolist() == [4 * 10**10] * 8
    of = loads(made)
    hosts = [value for port, value in of.items() if port.startswith("h") or "->h" in port]
    between = [value for port, value in of.items() if "spine" in port]
    assert hosts == pytest.approx([0.4] * 64)
    assert between == pytest.approx([4 * 2 * 0.4 * 4 / 7 / 4] * 32)


@pytest.mark.parametrize("most_work", [offered.MOST_WORK, 0])
def test_nvlink_carries_the_part_that_stays_in_a_server(most_work, monkeypatch):
    """Of the 3 partners of a GPU one is in its server, one on its rail, and one behind a spine."""
    monkeypatch.setattr(offered, "MOST_WORK", most_work)
    topology = {"kind": "rail-optimised", "servers": 2, "gpus": 2, "spines": 2, "rate": "400Gbps"}
    of = loads(scenario({**topology, "nvlink_rate": "3600Gbps"}, {**POISSON, "load": 0.3}))
    if most_work:
        assert [of["h0->leaf0"], of["leaf1->h3"]] == pytest.approx([0.3 * 2 / 3] * 2)
        assert [of["h0->nv0"], of["nv1->h3"]] == pytest.approx([0.3 / 3 / 9] * 2)
        assert [of["leaf0->spine1"], of["spine0->leaf1"]] == pytest.approx([2 * 0.3 / 3 / 2] * 2)
    else:
        assert [of["h0->leaf0"], of["leaf1->h3"]] == pytest.approx([0.3] * 2)
        assert [of["h0->nv0"], of["nv1->h3"]] == [0, 0]
        assert np.isnan(of["leaf0->spine1"])

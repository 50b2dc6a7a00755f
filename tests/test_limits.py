"""Values at the limits of `shallows.base.limits` run, and values beyond them are refused with a message."""

import json
import time
from pathlib import Path

import pytest

import shallows as sh
from shallows import Scenario
from shallows.base import limits
from shallows.errors import ScenarioError
from shallows.topology import KINDS
from shallows.traffic import KINDS as TRAFFICS

PAIR = {"kind": "graph", "hosts": ["a", "b"], "edges": [["a", "b", "400Gbps", "1us"]]}
MESSAGE = {"kind": "incast", "to": "b", "senders": 1, "size": "100KB", "jitter": "0s"}


def scenario(**tables):
    base = {"duration": "until-done", "cc": "reno", "topology": PAIR, "traffic": [MESSAGE]}
    return Scenario(**base | tables)


def edges(rate, delay="1us"):
    return {"topology": PAIR | {"edges": [["a", "b", rate, delay]]}}


@pytest.mark.parametrize(
    ("tables", "ended_s"),
    [
        ({"duration": "1000000s"}, 1e6),
        ({"traffic": [MESSAGE | {"start": "999999s"}]}, 999_999),
        # 100 KB in 69 frames, with 100 KB + 69 * 40 B on the wire: 82 ns at 10 Tbps and 0.822 s at 1 Mbps.
        (edges("10Tbps"), 2e-6),
        (edges("1Mbps"), 0.82),
    ],
)
def test_a_value_at_a_limit_runs(tables, ended_s):
    run = sh.run(scenario(**tables))
    assert run.summary["flows"]["finished"] == 1
    assert ended_s <= run.summary["duration_s"] < ended_s * 1.2 + 3e-5
    assert "NaN" not in json.dumps(run.summary)


STAR = {"kind": "star", "hosts": 5000, "rate": "1Gbps", "rtt": "4us"}


@pytest.mark.parametrize("kind", ["all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all"])
@pytest.mark.parametrize("algorithm", ["ring", "tree", "halving-doubling", "halving", "doubling"])
def test_the_flows_of_a_collective_are_counted_before_they_are_drawn(kind, algorithm):
    """Never too few, and at most twice as many."""
    table = {"kind": kind, "channels": 2, "group_size": 8, "size": "8MB"}
    model = TRAFFICS[kind]
    if "algorithm" in model.model_fields:
        table["algorithm"] = algorithm
    try:
        drawn = scenario(topology=STAR | {"hosts": 16}, traffic=[table])
    except ScenarioError:  # another kind's algorithm
        return
    _, count = drawn.traffic[0].flow_count(drawn.graph)
    assert drawn.flow_count <= count <= 2 * drawn.flow_count


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"graph", "fat-tree"}))
def test_the_size_of_a_network_is_known_before_it_is_built(kind):
    topology = KINDS[kind](kind=kind)
    network = topology.build()
    assert topology.sizes() == (network.hosts, len(network.link_from) / 2)


def test_the_default_timeout_of_the_largest_queue_is_at_most_the_longest_time():
    """2 TB at 13 Mbps take 1.2e6 s, more than a run may last."""
    star = {"kind": "star", "hosts": 2, "rate": "13Mbps", "rtt": "4us"}
    marking = {"kind": "step", "threshold": "1000GB"}
    given = scenario(topology=star, network={"marking": marking}, traffic=[{"kind": "shuffle"}], cc="dctcp")
    assert given.hosts.rto_min == 10**18
    assert Scenario.from_toml(given.to_toml()) == given


def test_a_long_link_in_a_network_with_many_places_is_refused_with_both_numbers(monkeypatch):
    """20 links of a quarter of the round trip, 10 ports of hosts, and with pauses 20 links with classes."""
    monkeypatch.setattr(limits, "FEW_ENTITIES", 40)

    def star(rtt, **network):
        topology = {"kind": "star", "hosts": 10, "rate": "1Gbps", "rtt": rtt}
        return scenario(topology=topology, network=network, traffic=[MESSAGE | {"to": 0}])

    star("524ms")
    star("520ms", pfc=True)
    found = "20 links, 10 ports of hosts and 20 links with classes, a link 131ms long"
    expected = "links of at most 130ms in a network with more than 40 of these together, not 50"
    with pytest.raises(ScenarioError, match=f"{found}.*{expected}"):
        star("524ms", pfc=True)


def test_pauses_in_a_large_star_are_prepared_in_linear_time():
    """With a search of all links for each host, 30,000 hosts took half a minute."""
    star = {"kind": "star", "hosts": 30_000, "rate": "10Gbps", "rtt": "4us"}
    begun = time.process_time()
    scenario(topology=star, network={"pfc": True}, traffic=[{"kind": "incast", "senders": 1}])
    assert time.process_time() - begun < 10


def test_a_message_that_takes_longer_than_any_run_has_no_ideal_time():
    """2^31 - 1 packets at 1 Mbps take 2.6e7 s; 64 bits of picoseconds wrapped to 7.3e6 s."""
    largest = MESSAGE | {"size": f"{(2**31 - 1) * 1460}B"}
    run = sh.run(scenario(duration="1ms", traffic=[largest], **edges("1Mbps")))
    assert run.flows.ideal_us.isna().all()


def test_the_documentation_shows_the_table_of_limits():
    from shallows.base.limits import LIMITS
    from shallows.registry.inserted import expanded

    page = expanded((Path(__file__).parents[1] / "docs" / "limits.md").read_text())
    for limit in LIMITS:
        assert f"| {limit.what} |" in page
    assert "| rate of a link | 1Mbps | 10Tbps | 65,535 B take 0.5 s at 1 Mbps |" in page


# Statements of docs/limits.md in words: each with its sentence, which the page has.

FABRIC = {"kind": "star", "hosts": 4, "rate": "10Gbps", "rtt": "10us"}
LONG = {"kind": "long-lived", "flows": 2}
CLASSES = [{"name": "a"}, {"name": "b"}]


def said_in_limits(sentence):
    page = " ".join((Path(__file__).parents[1] / "docs" / "limits.md").read_text().split())
    assert sentence in page
    return page


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ({"network": {"shared": {"size": "1MB"}}}, "describe memory as"),
        ({"classes": [{"name": f"c{number}"} for number in range(9)]}, "at most 8"),
    ],
)
def test_what_classes_lack_is_refused(tables, expected):
    said_in_limits("trimming and memory (`[[pools]]` in place of `network.shared`)")
    said_in_limits("With classes there are up to eight")
    with pytest.raises(ScenarioError, match=expected):
        scenario(**{"topology": FABRIC, "traffic": [LONG], "classes": CLASSES, "duration": "1ms"} | tables)


@pytest.mark.parametrize(
    "tables",
    [
        {"classes": [{"name": f"c{number}"} for number in range(8)]},
        {"classes": CLASSES, "cc": "hull", "network": {"marking": {"kind": "phantom"}}},
        {"classes": [{"name": "a", "pfc": True}, {"name": "b", "marking": {"kind": "red"}}], "cc": "dctcp"},
    ],
)
def test_what_classes_have_runs(tables):
    run = sh.run(scenario(**{"topology": FABRIC, "traffic": [LONG], "duration": "1ms"} | tables))
    assert run.summary["books"]["closed"]
    assert run.summary["flows"]["goodput_gbps"] > 1


def test_without_classes_there_are_two_priorities():
    said_in_limits("there are two (`traffic.priority`), and PFC pauses data as one class")
    first = LONG | {"flows": 1, "from": 0, "to": 3, "priority": 1}
    last = LONG | {"flows": 1, "from": 1, "to": 3}
    tables = {"topology": FABRIC, "duration": "2ms", "cc": {"name": "fixed", "window": 100}}
    both = sh.run(scenario(traffic=[first, last], network={"buffer": "250pkt"}, **tables)).summary["traffic"]
    assert both[0]["goodput_gbps"] > 9
    assert both[1]["goodput_gbps"] < 0.5
    with pytest.raises(ScenarioError, match="priority"):
        scenario(traffic=[LONG | {"priority": 2}], **tables)


def test_connections_are_open_from_the_start():
    """A message of one packet takes the empty path once: no handshake before it."""
    said_in_limits("no handshake")
    one = MESSAGE | {"size": "1000B"}
    run = sh.run(scenario(traffic=[one]))
    # 1040 B at 400 Gbps are 20.8 ns, and the link is 1 us long.
    assert run.flows.fct_us.tolist() == pytest.approx([1.0208], abs=1e-4)


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ({"traffic": [{"kind": "incast"}]}, "a fluid has no flows that end"),
        ({"topology": {"kind": "parking-lot", "hops": 2, "hosts": 1}}, "a fluid has one queue"),
        ({"faults": [{"kind": "loss", "link": "h0->s0", "rate": 0.1}]}, "faults"),
    ],
)
def test_the_fluid_world_refuses_what_it_has_not(tables, expected):
    from shallows.runner import prepare

    said_in_limits("It has no noise, no losses, no flows that end, and one queue.")
    base = {"topology": FABRIC, "traffic": [LONG], "duration": "10ms", "cc": "dctcp"}
    with pytest.raises(ScenarioError, match=expected):
        prepare(scenario(**base | tables), world="fluid")


def test_a_run_without_randomness_is_the_same_for_all_seeds():
    said_in_limits("If nothing in a scenario is random, all seeds give the same run")
    prints = {sh.run(scenario(), seed=seed).summary["fingerprint"] for seed in (1, 2, 3)}
    assert len(prints) == 1


def test_percentiles_of_few_flows_are_marked_below_a_thousand_flows():
    from shallows.results.summary import is_of_few

    said_in_limits("mark a p99 of less than 1,000 flows with `*`")
    assert is_of_few("slowdown_p99", 999)
    assert not is_of_few("slowdown_p99", 1000)


def test_a_load_of_hosts_beyond_a_port_is_warned_of():
    said_in_limits("a run warns of ports that are offered more than their rate")
    uplinks = {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, "rate": "10Gbps"}
    poisson = {"kind": "poisson", "sizes": "20KB", "load": 0.9, "flows": 100}
    made = scenario(topology=uplinks, traffic=[poisson], cc="dctcp")
    assert any("more than" in warning for warning in made.warnings)


def test_a_first_destination_is_the_same_for_all_hosts_of_a_shuffle():
    said_in_limits("all hosts send to the destinations in the same order")
    flows = scenario(topology=FABRIC, traffic=[{"kind": "shuffle", "jitter": "0s"}]).flows
    order = {host: flows.dst[flows.src == host].tolist() for host in range(4)}
    assert order == {0: [1, 2, 3], 1: [0, 2, 3], 2: [0, 1, 3], 3: [0, 1, 2]}
    assert set(flows.start_ps.tolist()) == {0}

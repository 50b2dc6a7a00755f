"""Warnings that are known before a run: each is raised by one scenario and not by its neighbour."""

import pytest

from shallows.scenario import Scenario

STAR = {"kind": "star", "hosts": 5, "rate": "100Gbps", "rtt": "8us"}
LONG = [{"kind": "long-lived"}]


def said(word, **tables):
    """The warnings with this word of a scenario."""
    made = Scenario(**{"duration": "10ms", "cc": "reno", "topology": STAR, "traffic": LONG, **tables})
    return [text for text in made.warnings if word in text]


FABRIC = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2}
DOWN = {"link": "leaf0<->spine0", "kind": "down", "at": "1ms"}


@pytest.mark.parametrize(
    ("topology", "faults", "convergence", "expected"),
    [
        (FABRIC, [DOWN], "never", 'write network.convergence = "10ms", after which switches reroute, or'),
        (FABRIC, [DOWN], "1ms", None),
        (FABRIC, [DOWN, {**DOWN, "kind": "up", "at": "2ms"}], "never", None),
        (FABRIC, [{**DOWN, "kind": "up", "at": "2ms"}, DOWN], "never", None),
        (FABRIC, [{**DOWN, "link": "leaf0->spine0"}], "never", "after that; write network.convergence"),
        (STAR, [{**DOWN, "link": "s0->h4"}], "1ms", "that; write another fault of the link, with kind = "),
        ({"kind": "dumbbell", "hosts": 2}, [{**DOWN, "link": "s0<->s1"}], "never", "write another"),
    ],
)  # fmt: skip
def test_a_path_that_goes_down_for_good(topology, faults, convergence, expected):
    """Of many flows between leaves some take spine0. A dumbbell has no other path, so no rerouting helps."""
    traffic = [{"kind": "shuffle"}] if topology is FABRIC else LONG
    found = said(
        "down for good",
        topology=topology,
        faults=faults,
        traffic=traffic,
        network={"convergence": convergence},
    )
    assert len(found) == (expected is not None)
    assert not found or expected in found[0]


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ({}, None),
        ({"shared": {"size": "4MB"}}, "write no network.shared"),
        ({"pfc": True}, "write no network.pfc"),
        ({"trimming": True}, None),
    ],
)
def test_an_algorithm_that_trims_needs_ports_that_do(network, expected):
    found = said("needs ports that trim", cc="ndp", network=network)
    assert len(found) == (expected is not None)
    assert not found or expected in found[0]
    assert not said("needs ports that trim", network={"shared": {"size": "4MB"}})


@pytest.mark.parametrize(
    ("rate", "headroom", "needed"),
    [
        ("400Gbps", "10KB", "204564B"),
        ("400Gbps", "204564B", None),
        ("400Gbps", "auto", None),
        ("25Gbps", "0B", "17064B"),
        ("1600Gbps", "400KB", "804564B"),
    ],
)
def test_headroom_below_what_a_link_can_need(rate, headroom, needed):
    """A star of 8 us has links of 2 us: 4 us of data, three frames of 1500 B and a pause of 64 B."""
    topology = {**STAR, "rate": rate}
    found = said("headroom", topology=topology, cc="dcqcn", network={"pfc": {"headroom": headroom}})
    assert len(found) == (needed is not None)
    assert not found or f"a link can need {needed}:" in found[0]


def of_class(word, pfc, **keys):
    """The warnings with this word of DCQCN in the second of two classes."""
    classes = [{"name": "tcp"}, {"name": "roce", "pfc": pfc, **keys.pop("one", {})}]
    traffic = [{**LONG[0], "class": "roce"}]
    topology = {**STAR, "rate": "400Gbps"}
    return said(word, topology=topology, cc="dcqcn", traffic=traffic, classes=classes, **keys)


@pytest.mark.parametrize(
    ("headroom", "warned"), [("10KB", True), ("204563B", True), ("204564B", False), ("auto", False)]
)
def test_headroom_of_a_class(headroom, warned):
    found = of_class("headroom", {"headroom": headroom})
    assert len(found) == warned
    assert not found or found[0].startswith('classes[1].pfc.headroom = "')
    assert not found or "a link can need 204564B:" in found[0]


def test_a_class_without_pauses_needs_no_headroom():
    assert not of_class("headroom", False)


@pytest.mark.parametrize(
    ("tables", "key"),
    [
        ({"pfc": {"threshold": "30KB"}}, "classes[1].pfc.threshold = 20pkt"),
        ({"pfc": {"threshold": "31KB"}}, None),
        ({"pfc": True, "pool": "x", "size": "60KB"}, "pools[0].alpha = 20pkt"),
        ({"pfc": True, "pool": "x", "size": "62KB"}, None),
    ],
)
def test_a_class_that_is_paused_before_it_is_marked(tables, key):
    """Marks begin at 30 KB. A lone port of a pool with an alpha of 1 holds half of it."""
    one = {"marking": {"kind": "red", "kmin": "30KB"}, **tables}
    pools = [{"name": "x", "size": one.pop("size")}] if "pool" in one else []
    found = of_class("before a port marks", one.pop("pfc"), one=one, pools=pools)
    assert len(found) == (key is not None)
    assert not found or found[0].startswith(key)


@pytest.mark.parametrize(
    ("sizes", "flows", "seed", "warned"),
    [
        ("datamining", 100, 1, True),
        ("datamining", 1000, 4, True),
        ("1KB", 1000, 1, False),
        ("websearch", 20_000, 1, False),
    ],
)
def test_a_realised_load_far_from_the_stated_one(sizes, flows, seed, warned):
    """Sizes without variance and 1000 arrivals: 3 % of standard deviation. Data mining: half or twice."""
    table = {"kind": "poisson", "sizes": sizes, "load": 0.2, "flows": flows}
    made = Scenario(duration="until-done", cc="reno", topology=STAR, traffic=[table], seed=seed)
    (load,) = made.flows.loads
    assert warned == (not 0.2 / 1.2 <= load.realised <= 0.2 * 1.2)
    found = [text for text in made.warnings if "realise" in text]
    assert len(found) == warned
    assert not found or f"its {flows} flows realise {load.realised:.3f}" in found[0]


@pytest.mark.parametrize(
    ("topology", "balancing", "cc", "hosts", "expected"),
    [
        (FABRIC, "packet", "reno", {}, 'with reno; write hosts.loss_detection = "rack"'),
        (FABRIC, "queue", "dcqcn", {}, 'with dcqcn; write hosts.retransmission = "selective"'),
        (FABRIC, "packet", "reno", {"loss_detection": "rack"}, None),
        (FABRIC, "queue", "dcqcn", {"retransmission": "selective"}, None),
        (FABRIC, "flow", "reno", {}, None),
        (STAR, "packet", "reno", {}, None),
        (FABRIC, "packet", "ndp", {}, None),
    ],
)
def test_sprayed_packets_are_taken_for_lost(topology, balancing, cc, hosts, expected):
    found = said("can reorder", topology=topology, cc=cc, hosts=hosts, network={"balancing": balancing})
    assert len(found) == (expected is not None)
    assert not found or expected in found[0]


def sprayed(cc="dcqcn", balancing="reps", rate="400Gbps", **tables):
    topology = {**FABRIC, "rate": rate, "spine_rate": "100Gbps"}
    hosts = {"retransmission": "selective"} if cc == "dcqcn" else {"loss_detection": "rack"}
    network = {"balancing": balancing, **tables.pop("network", {})}
    return said("is short for", topology=topology, cc=cc, hosts=hosts, network=network, **tables)


def test_a_ramp_within_the_queues_of_sprayed_packets():
    """4 KB per Gbps (HPCC) and four times as much; 50 KB at 400 Gbps is DCQCN's default."""
    (found,) = sprayed()
    assert 'kmin = { "100Gbps" = "400KB", "400Gbps" = "1.6MB" } and network' in found
    assert 'kmax = { "100Gbps" = "1.6MB", "400Gbps" = "6.4MB" }' in found
    kmin = {"100Gbps": "400KB", "400Gbps": "1600KB"}
    assert not sprayed(network={"marking": {"kind": "red", "kmin": kmin, "kmax": "6400KB"}})
    assert not sprayed(balancing="queue")
    assert not sprayed(balancing="flow")
    assert not sprayed(cc="dctcp")
    assert not sprayed(rate="40Gbps")


def test_a_step_within_the_queues_of_sprayed_packets():
    """20 frames at 500 Mbps, where the default is 10; at 1 Gbps it is 20. Links of hosts do not count."""
    slow = {**FABRIC, "rate": "1Gbps", "spine_rate": "500Mbps"}

    def found(balancing="reps", cc="dctcp", topology=slow, **network):
        network["balancing"] = balancing
        hosts = {"loss_detection": "rack"}
        return said("is short for", topology=topology, cc=cc, hosts=hosts, network=network)

    (text,) = found()
    assert "network.marking.threshold is short" in text
    assert "at ports of 500Mbps" in text
    assert text.endswith('write network.marking.threshold = "30KB"')
    assert not found(marking={"kind": "step", "threshold": "20pkt"})
    assert not found("queue")
    assert not found("flow")
    assert not found(cc="reno")
    assert not found(topology={**slow, "spine_rate": "1Gbps"})
    assert not found(topology={**slow, "rate": "100Mbps", "spine_rate": "1Gbps"})


def test_a_ramp_of_a_class_within_the_queues_of_sprayed_packets():
    classes = [{"name": "tcp"}, {"name": "roce"}]
    traffic = [{**LONG[0], "class": "roce"}]
    (found,) = sprayed(classes=classes, traffic=traffic)
    assert "write classes[1].marking.kmin = { " in found


@pytest.mark.parametrize(
    ("duration", "priorities", "warned"),
    [("until-done", (1, 0), True), ("10ms", (1, 0), False), ("until-done", (0, 1), False)],
)
def test_flows_without_an_end_before_those_that_the_run_waits_for(duration, priorities, warned):
    first, second = priorities
    traffic = [{**LONG[0], "priority": first}, {"kind": "incast", "priority": second}]
    assert len(said("may never finish", duration=duration, traffic=traffic)) == warned


def test_the_default_number_of_spines_may_be_too_small_for_collectives():
    """16 servers of 400 Gbps at each leaf, and four spines: 4:1."""

    def warnings(kind, **topology):
        return Scenario(
            duration="until-done", cc="dcqcn", traffic=[{"kind": kind, "size": "1MB"}],
            topology={"kind": "rail-optimised", "gpus": 2, **topology},
        ).warnings  # fmt: skip

    (found,) = (text for text in warnings("all-reduce", servers=16) if "topology.spines" in text)
    assert "4 times as much capacity" in found
    assert "topology.spines = 16" in found
    for others in ({"servers": 4}, {"servers": 16, "spines": 4}):
        assert not any("topology.spines" in text for text in warnings("all-reduce", **others))
    assert not any("topology.spines" in text for text in warnings("incast", servers=16))

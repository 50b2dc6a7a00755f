"""MRC over fabrics of several planes: its ports, its planes, and what lost planes, links and packets cost.

Bounds are shares of the line: a lost plane of P costs 1/P, a lost link between a leaf and a spine at most the
link's share of the leaf's links, and lost packets little more than themselves. States of entropy values are
tested in crates/sim/src/host/value_set.rs.
"""

import re

import numpy as np
import pytest

import shallows as sh
from shallows.errors import ScenarioError
from shallows.why import record, walk

FRAME, HEADER = 4096, 40
HALF = [f"h{i}" for i in range(4)], [f"h{i}" for i in range(4, 8)]
"""The hosts of the first leaf, and those of the second."""
ACROSS = {"kind": "long-lived", "flows": 4, "from": HALF[0], "to": HALF[1]}


def scenario(planes=4, gbps=200, traffic=ACROSS, until="600us", since="200us", hosts=4, **tables):
    """Two leaves with four hosts each. A host has a port in each plane, whose leaf has eight uplinks, so that
    ports of hosts alone limit flows.
    """
    topology = {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 8,
        "hosts_per_leaf": hosts,
        "link_delay": "500ns",
    }
    return sh.Scenario(
        topology=topology | {"planes": planes, "rate": f"{gbps}Gbps"},
        network={"mtu": f"{FRAME}B"},
        hosts={"rto_initial": "1ms"},
        cc="mrc",
        traffic=[traffic],
        duration=until,
        warmup=since,
        **tables,
    )


def shares(made):
    """Goodput of each flow as a share of the payload that its host's ports can send."""
    network = made.graph
    line = network.rate_bps[network.link_from == 0].sum() / 1e9 * (1 - HEADER / FRAME)
    return sh.run(made).flows.goodput_gbps / line


def test_ports_to_hosts_mark_nothing_and_trim_later():
    """Ports trim at the bandwidth-delay product of a plane, and those to hosts at 1.5 of it (UE 1.0.3)."""
    made = scenario()
    queue, (last,) = made.queues[0], made.ports
    assert made.network.balancing == "mrc"
    assert sorted(last.names) == sorted(
        name for name in made.graph.port_names if "->h" in name and not name.startswith("h")
    )
    assert (queue.marks.kind, last.marking) == ("red", "none")
    assert last.trimming.threshold == pytest.approx(1.5 * queue.trimming.threshold, rel=1e-6)


@pytest.mark.parametrize("network", [{"balancing": "reps"}, {"balancing": "flow"}])
def test_another_choice_of_paths_stays(network):
    made = scenario().replace({"network.balancing": network["balancing"]})
    assert (made.network.balancing, made.ports) == (network["balancing"], [])


def test_another_algorithm_has_no_values():
    made = scenario(until="20us", since="0s")
    expected = re.escape('network.balancing = "mrc": expected another one, such as "reps": nscc keeps no')
    with pytest.raises(ScenarioError, match=expected):
        sh.run(made.replace({"cc": "nscc", "network.balancing": "mrc"}))


@pytest.mark.parametrize(("planes", "gbps"), [(4, 50), (8, 25)])
def test_planes_carry_equal_shares(planes, gbps):
    made = scenario(planes, gbps)
    run = sh.run(made)
    ports = run.columns("ports")["utilization"]
    of_hosts = made.graph.is_nic & (made.graph.link_from < 4)
    assert ports[of_hosts].min() >= 0.99 * ports[of_hosts].max()


@pytest.mark.parametrize(("planes", "gbps"), [(4, 50), (8, 25)])
def test_a_lost_plane_costs_its_share_of_the_line(planes, gbps):
    """From 5 ms after the loss on."""
    faults = [{"link": "p1.*<->*", "kind": "down", "at": "200us"}]
    assert shares(scenario(planes, gbps)).to_numpy() == pytest.approx(1, abs=0.01)
    found = shares(scenario(planes, gbps, until="5600us", since="5200us", faults=faults))
    assert found.to_numpy() == pytest.approx(1 - 1 / planes, rel=0.01)


@pytest.mark.parametrize(("planes", "gbps"), [(4, 50), (8, 25)])
def test_a_lost_link_costs_at_most_its_share_of_the_leaf(planes, gbps):
    faults = [{"link": "p0.leaf0<->p0.spine0", "kind": "down", "at": "200us"}]
    healthy = shares(scenario(planes, gbps)).mean()
    broken = shares(scenario(planes, gbps, until="5600us", since="5200us", faults=faults)).mean()
    assert healthy * (1 - 1 / (8 * planes) - 0.005) <= broken <= healthy * 1.001


@pytest.mark.parametrize(("loss", "least"), [(0.001, 0.995), (0.01, 0.98)])
def test_random_loss_costs_little_more_than_the_lost_packets(loss, least):
    """Losses between the leaf and the spines are found by acknowledgements of later packets."""
    one = {"kind": "long-lived", "flows": 1, "from": "h0", "to": "h4"}
    faults = [{"link": "p*.leaf0->p*.spine*", "kind": "loss", "value": loss}]
    run = sh.run(scenario(4, 100, one, "6ms", "1ms", faults=faults))
    found = float(run.flows.goodput_gbps[0]) / (400 * (1 - HEADER / FRAME))
    assert least <= found <= 1 - 0.9 * loss
    assert run.flows.timeouts[0] == 0


SILENT = [{"link": "p0.leaf0->p0.spine0", "kind": "silent-drop", "value": 1.0, "at": "200us"}]


def test_values_whose_packets_are_lost_are_withdrawn():
    """An eighth of a plane's values lead to an uplink that drops everything, of which no switch learns."""
    found = {}
    for name, cc in (("withdrawn", {}), ("kept", {"spares": 0, "ev_min_active": 128})):
        made = scenario(4, 50, until="3ms", since="2ms", faults=SILENT).replace({"cc": {"name": "mrc"} | cc})
        found[name] = int(sh.run(made).flows.retransmits.sum())
        if name == "withdrawn":
            assert shares(made).to_numpy() == pytest.approx(1, abs=0.001)
    assert 0 < found["withdrawn"] < found["kept"] / 10


def test_peers_send_nothing_to_a_port_that_is_down():
    """The receiver tells them; otherwise each value of the plane loses packets until it is withdrawn."""
    faults = [{"link": "h4<->p1.leaf1", "kind": "down", "at": "200us"}]
    found = {}
    for status in (True, False):
        made = scenario(4, 50, ACROSS | {"flows": 1, "from": "h0", "to": "h4"}, "1ms", faults=faults)
        found[status] = int(
            sh.run(made.replace({"cc": {"name": "mrc", "port_status": status}})).flows.retransmits[0]
        )
    assert 0 < found[True] < found[False] / 4


def test_a_flow_that_begins_later_changes_nothing_before():
    """The report of a failed port goes to peers with which its host has exchanged packets: one here, although
    another flow to the host begins a nanosecond before the end. Its host hears of the port once it begins.
    """
    faults = [{"link": "h4<->p1.leaf1", "kind": "down", "at": "200us"}]
    one = ACROSS | {"flows": 1, "from": "h0", "to": "h4"}
    made = scenario(4, 50, one, "1ms", faults=faults)
    last = ACROSS | {"flows": 1, "from": "h1", "to": "h4", "start": "999999ns", "jitter": "0s"}
    alone, beside = (sh.run(made.replace({"traffic": traffic})) for traffic in ([one], [one, last]))
    from_host = alone.ports.port.str.startswith("h4->")
    assert alone.ports.sent[from_host].sum() > 0
    assert (alone.ports[from_host] == beside.ports[from_host]).all(axis=None)
    late = made.replace({"traffic.0.start": "300us"})
    told, untold = (
        int(sh.run(late.replace({"cc": {"name": "mrc", "port_status": status}})).flows.retransmits[0])
        for status in (True, False)
    )
    assert told < untold / 4


def test_an_incast_leaves_a_victim_alone():
    """Seven flows to one host, and one between the same leaves with NICs of its own."""
    incast = {"kind": "long-lived", "flows": 7, "from": [f"h{i}" for i in range(7)], "to": "h8"}
    victim = {"kind": "long-lived", "flows": 1, "from": "h7", "to": "h15"}
    made = scenario(4, 25, victim, "5ms", "0s", hosts=8)
    alone, beside = (
        float(sh.run(made.replace({"traffic": traffic})).flows.goodput_gbps[0])
        for traffic in ([victim], [victim, incast])
    )
    assert 0.98 * alone <= beside <= alone


TWO_PLANES = {"planes": 2, "gbps": 50, "until": "until-done", "since": "0s"}
"""Of 56 messages that eight hosts exchange."""
EXCHANGE = {"kind": "shuffle", "size": "100KB"}
BROKEN = [
    {"link": "p1.leaf0<->p1.spine*", "kind": "flap", "period": "100us", "duty": 0.5, "until": "2ms"},
    {"link": "h4<->p1.leaf1", "kind": "down", "at": "50us", "until": "300us"},
    {"link": "*->*", "kind": "loss", "value": 0.005},
]


def test_it_is_the_same_on_any_number_of_threads_and_why_explains_it():
    """With losses, a port and links that fail and come back: probes and port status in all parts."""
    made = scenario(traffic=EXCHANGE, faults=BROKEN, **TWO_PLANES)
    runs = [sh.run(made, threads=threads) for threads in (1, 2, 3)]
    assert runs[0].summary["flows"]["completed"] == 56
    assert len({run.summary["fingerprint"] for run in runs}) == 1
    assert runs[0].flows.retransmits.sum() > 0
    assert 1000 < (runs[0].flows.start_us + runs[0].flows.fct_us).max() < 1500  # without a timeout of 1 ms
    for flow, its in walk.of_record(record.of_run(runs[0], np.arange(56))).items():
        assert sum(piece.length_ps for piece in its.pieces) == round(runs[0].flows.fct_us[flow] * 1e6)


def test_seven_reboots_of_spines_strand_no_message():
    """Each fails for 60 us, one after another, the last one 500 us after the start of 56 messages."""
    spines = [f"p{i % 2}.spine{i}" for i in range(7)]
    faults = [
        {"node": name, "kind": "down", "at": f"{20 + 80 * i}us", "until": f"{80 + 80 * i}us"}
        for i, name in enumerate(spines)
    ]
    run = sh.run(scenario(traffic=EXCHANGE | {"size": "750KB"}, faults=faults, **TWO_PLANES))
    assert run.summary["flows"]["completed"] == 56
    assert 560 < (run.flows.start_us + run.flows.fct_us).max() < 1500  # the last start is within 1 ms
    assert [fault["stranded"] for fault in run.summary["faults"]] == [0] * 7

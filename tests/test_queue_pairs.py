"""Queue pairs of a connection, and routes of single flows."""

import itertools
from collections import Counter

import numpy as np
import pytest

import shallows as sh

FRAME = {"mtu": "1500B", "header": "100B"}


def fabric(spine_rate, hosts=1):
    """Two leaves and four spines, so that a flow has four paths."""
    return {
        "kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts_per_leaf": hosts,
        "rate": "100Gbps", "spine_rate": spine_rate,
    }  # fmt: skip


def scenario(*traffic, spine_rate="100Gbps", **tables):
    base = {"duration": "until-done", "cc": "dcqcn", "network": {"pfc": True, "marking": "none", **FRAME}}
    return sh.Scenario(**{**base, "topology": fabric(spine_rate), "traffic": list(traffic), **tables})


def broadcast(number, **keys):
    """1.4 MB from h0 to h1 in one message, half a millisecond after the one before."""
    size = {"size": "1.4MB", "chunk": "1.4MB"}
    return {"kind": "broadcast", "name": f"b{number}", "start": f"{500 * number}us", **size, **keys}


@pytest.mark.parametrize(("queue_pairs", "spine_gbps"), [(2, 50), (4, 25)])
def test_busbw_over_queue_pairs_is_distributed_as_counting_says(queue_pairs, spine_gbps):
    """A message is divided among n queue pairs, each on one of four paths at random, whose links have an n-th
    of the rate. With m on the fullest path it takes m times as long: two are on one path in 4 of 16 cases.
    """
    cases = [max(Counter(case).values()) for case in itertools.product(range(4), repeat=queue_pairs)]
    shares = {most: count / len(cases) for most, count in Counter(cases).items()}
    assert queue_pairs != 2 or shares == {1: 0.75, 2: 0.25}
    tables = [broadcast(i, queue_pairs=queue_pairs, split=True) for i in range(100)]
    run = sh.run(scenario(*tables, spine_rate=f"{spine_gbps}Gbps", cc={"name": "fixed", "window": 1000}))
    # 1000 frames of 1500 B at 100 Gbps are 120 us; links of 1 us and the last frame at each hop less than 6.
    busbw = np.array([row["busbw_gb_per_s"] for row in run.summary["collectives"]])
    most = 1400 / busbw / 120
    assert np.all((most - np.rint(most) > 0) & (most - np.rint(most) < 0.05))
    counts = Counter(np.rint(most).astype(int).tolist())
    for number, share in shares.items():
        deviation = (100 * share * (1 - share)) ** 0.5
        assert abs(counts[number] - 100 * share) < 3.3 * deviation, (number, counts)


def test_messages_in_turn_keep_to_the_path_of_their_queue_pair():
    """Eight chunks over three queue pairs. Without queue pairs each chunk has a path of its own."""
    chunks = {"kind": "broadcast", "size": "800KB", "chunk": "100KB"}
    run = sh.run(scenario({**chunks, "queue_pairs": 3}))
    messages = run.messages
    assert messages.queue_pair.tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    for column, value in (("parts", 1), ("bytes", 100_000), ("spread_us", 0)):
        assert (messages[column] == value).all()
    # A message leaves behind the one of its queue pair: three begin together.
    assert (messages.start_us == messages.start_us[0]).tolist() == [True] * 3 + [False] * 5
    hashes = run.scenario.flows.paths.hash
    assert hashes.tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    alone = sh.run(scenario({**chunks, "queue_pairs": 1}))
    used = [port for port in uplinks(alone).values() if port]
    # 100 KB are 72 packets of 1400 B, the last one shorter: one uplink has all of them.
    assert used == [8 * 72]
    assert len([sent for sent in uplinks(sh.run(scenario(chunks))).values() if sent]) > 1
    assert sh.run(scenario(chunks)).messages.empty


def uplinks(run):
    return {row.port: row.sent for row in run.ports.itertuples() if row.port.startswith("leaf0->spine")}


def test_parts_of_a_message_are_one_row_and_wait_for_all_parts():
    """A ring of four ranks: six steps of four messages, each of two parts, and each part waits for both."""
    topology = fabric("100Gbps", hosts=2)
    table = {"kind": "all-reduce", "size": "40001B", "queue_pairs": 2, "split": True}
    one = scenario(table, topology=topology)
    run = sh.run(one)
    assert (len(one.flows), len(run.messages)) == (48, 24)
    assert int(one.flows.bytes.sum()) == int(run.messages.bytes.sum()) == 6 * 40001
    parts = one.flows.bytes.reshape(-1, 2)
    assert (np.abs(np.diff(parts.astype(int))) <= 1).all()
    flow = 4 * 2 + 1  # of the second step, from rank 0: it waits for what rank 3 sent in the first
    assert (one.flows.after.of(flow), one.flows.behind.of(flow)) == ([6, 7], [1])
    ends = run.flows.start_us + run.flows.fct_us
    assert run.messages.fct_us.to_numpy() == pytest.approx(
        ends.to_numpy().reshape(-1, 2).max(axis=1) - run.flows.start_us.to_numpy()[::2]
    )
    assert run.messages.step.tolist() == [step for step in range(6) for _ in range(4)]
    # The queue pairs of 4 connections, each for all steps.
    assert len(set(one.flows.paths.hash.tolist())) == 8


def test_phases_of_an_all_to_all_wait_for_all_parts_of_other_connections():
    one = scenario(
        {"kind": "all-to-all", "order": "pairwise", "queue_pairs": 2, "split": True},
        topology=fabric("100Gbps", hosts=2),
    )
    assert one.flows.behind.of(8) == [0, 1]


def test_a_route_decides_which_links_data_takes():
    table = {"kind": "incast", "senders": 1, "to": "h1", "size": "1MB"}
    for spine in range(4):
        run = sh.run(scenario({**table, "route": ["leaf0", f"spine{spine}", "leaf1"]}))
        assert [port for port, sent in uplinks(run).items() if sent] == [f"leaf0->spine{spine}"]


def test_a_longer_route_takes_as_long_as_its_links():
    """Data passes a switch more, and its answers take the short way."""
    line = [["a", "b", "10Gbps", "1us"], ["b", "c", "10Gbps", "1us"], ["a", "c", "10Gbps", "1us"]]
    ends = [["h0", "a", "10Gbps", "1us"], ["h1", "c", "10Gbps", "1us"]]
    topology = {"kind": "graph", "hosts": ["h0", "h1"], "edges": line + ends}
    table = {"kind": "trace", "flows": [[0, "h0", "h1", 100_000]]}
    short, long = (
        sh.run(scenario({**table, **route}, topology=topology)) for route in ({}, {"route": ["a", "b", "c"]})
    )
    # A link of 1 us more, and the full frame there behind which the last one waits: 1500 B at 10 Gbps.
    more_us = long.flows.fct_us[0] - short.flows.fct_us[0]
    assert more_us == pytest.approx(1 + 1.2, abs=1e-3)
    assert long.flows.ideal_us[0] - short.flows.ideal_us[0] == pytest.approx(more_us, abs=1e-3)


TRIANGLE = {
    "kind": "graph",
    "hosts": ["h0", "h1", "h2"],
    "edges": [[f"h{i}", f"s{i}", "100Gbps", "1us"] for i in range(3)]
    + [[f"s{i}", f"s{(i + 1) % 3}", "100Gbps", "1us"] for i in range(3)],
}


@pytest.mark.parametrize("routed", [False, True])
def test_routes_around_a_triangle_make_a_deadlock(routed):
    """Each flow crosses two links of the circle, whose buffers wait for each other."""
    tables = [
        {"kind": "long-lived", "name": f"f{i}", "from": f"h{i}", "to": f"h{(i + 2) % 3}"}
        | ({"route": [f"s{(i + hop) % 3}" for hop in range(3)]} if routed else {})
        for i in range(3)
    ]
    network = {"pfc": {"threshold": "50KB"}, "marking": "none"}
    duration = "5ms" if routed else "200us"
    run = sh.run(scenario(*tables, topology=TRIANGLE, network=network, duration=duration))
    circle = {f"s{i}->s{(i + 1) % 3}" for i in range(3)}
    assert set(run.summary["network"]["deadlock"]) == (circle if routed else set())
    assert (run.flows.goodput_gbps > 80).tolist() == [not routed] * 3


def test_a_route_does_not_move_when_a_link_fails():
    """Switches move the other flow to a spine that works; the routed one waits for its link."""
    flows = [{"kind": "incast", "senders": 1, "to": "h1", "size": "1MB", "name": name} for name in "ab"]
    flows[0]["route"] = ["leaf0", "spine0", "leaf1"]
    down = {"link": "leaf0<->spine0", "kind": "down", "at": "20us"}
    run = sh.run(scenario(*flows, faults=[down], duration="3ms", network={"convergence": "10us"}))
    assert np.isnan(run.flows.fct_us).tolist() == [True, False]

"""Collectives: schedules by the literature, times and bandwidths by hand, dependencies, groups and errors."""

import numpy as np
import pytest

import shallows as sh
from shallows.traffic import collectives, schedules

MTU, HEADER = 4096, 40


def scenario(traffic, hosts=8, rate="400Gbps", rtt="4us", cc="dcqcn", **more):
    return sh.Scenario(
        duration="until-done",
        topology={"kind": "star", "hosts": hosts, "rate": rate, "rtt": rtt},
        network={"mtu": f"{MTU}B", "header": f"{HEADER}B", "buffer": "unlimited"} | more.pop("network", {}),
        cc=cc,
        traffic=traffic if isinstance(traffic, list) else [traffic],
        **more,
    )


def collective(*arguments, **keys):
    return sh.run(scenario(*arguments, **keys)).summary["collectives"][0]


def message_us(size, rtt_us=4.0, gbps=400):
    """A message over two links of equal rate: its frames, the first again on the second link, half an RTT."""
    payload = MTU - HEADER
    frames = -(-size // payload)
    first = min(size, payload) + HEADER
    return (size + frames * HEADER + first) * 8e-3 / gbps + rtt_us / 2


def owed(schedule, n):
    """Bytes that each rank sends and receives."""
    size = schedule.bytes.astype(float)
    return np.bincount(schedule.source, size, n), np.bincount(schedule.target, size, n)


@pytest.mark.parametrize("rate", [0.1, 10, 400, 1600])
def test_a_ring_takes_the_time_of_its_steps(rate):
    """8 MB over 8 hosts: 14 steps of 1 MB, at 400 Gbps 280 us of payload, plus headers and half RTTs."""
    row = collective({"kind": "all-reduce", "size": "8MB"}, rate=f"{rate}Gbps")
    expected_us = 14 * message_us(1_000_000, gbps=rate)
    assert row["completion_us"] == pytest.approx(expected_us, rel=0.01)
    assert row["ideal_us"] == pytest.approx(expected_us, rel=1e-3)
    assert row["steps_us"] == pytest.approx([expected_us / 14] * 14, rel=0.01)
    algbw = 8e6 / row["completion_us"] / 1e3
    assert row["algbw_gb_per_s"] == pytest.approx(algbw)
    assert row["busbw_gb_per_s"] == pytest.approx(algbw * 14 / 8)


def test_the_bus_bandwidth_of_an_idle_fabric_is_the_links():
    """With short links the ring has 1 - 1 % of what 400 Gbps carry of payload."""
    row = collective({"kind": "all-reduce", "size": "80MB"}, rtt="400ns")
    assert row["busbw_gb_per_s"] == pytest.approx(50 * (MTU - HEADER) / MTU, rel=0.01)


def test_halving_and_doubling_exchange_halves_and_back():
    flows = sh.run(scenario({"kind": "all-reduce", "size": "8MB", "algorithm": "halving-doubling"})).flows
    assert flows.bytes.to_numpy().reshape(6, 8).tolist() == [[mb * 1e6] * 8 for mb in (4, 2, 1, 1, 2, 4)]
    row = collective({"kind": "all-reduce", "size": "8MB", "algorithm": "halving-doubling"})
    assert row["completion_us"] == pytest.approx(
        sum(message_us(mb * 10**6) for mb in (4, 2, 1, 1, 2, 4)), rel=0.01
    )


@pytest.mark.parametrize("kind", ["reduce-scatter", "all-gather"])
def test_half_of_an_all_reduce(kind):
    for algorithm, sizes in (
        ("ring", [1] * 7),
        ({"reduce-scatter": "halving"}.get(kind, "doubling"), [4, 2, 1]),
    ):
        row = collective({"kind": kind, "size": "8MB", "algorithm": algorithm})
        assert row["completion_us"] == pytest.approx(sum(message_us(mb * 10**6) for mb in sizes), rel=0.01)
        assert row["busbw_gb_per_s"] == pytest.approx(row["algbw_gb_per_s"] * 7 / 8)


def test_a_rotated_all_to_all_fills_the_links():
    """7 MB leave each host: 140 us at 400 Gbps, plus headers."""
    row = collective({"kind": "all-to-all", "size": "8MB"}, cc="ndp", network={"balancing": "packet"})
    assert row["completion_us"] == pytest.approx(140 * MTU / (MTU - HEADER), rel=0.04)
    assert row["slowdown"] == pytest.approx(1, abs=0.04)


def test_phases_of_pairs_follow_each_other():
    """Each of seven phases takes a message of 1 MB."""
    row = collective({"kind": "all-to-all", "size": "8MB", "order": "pairwise"})
    assert row["completion_us"] == pytest.approx(7 * message_us(1_000_000), rel=0.01)


def test_a_chain_forwards_chunks():
    """16 chunks over 7 hops: the first takes 7 messages, each of the others the time of its frames."""
    row = collective({"kind": "broadcast", "size": "8MB", "chunk": "500KB"})
    frames_us = message_us(500_000) - message_us(1) + (41 + 41) * 8e-3 / 400
    assert row["completion_us"] == pytest.approx(7 * message_us(500_000) + 15 * frames_us, rel=0.01)
    assert row["ranks"] == 8


@pytest.mark.parametrize("n", [2, 3, 5, 8, 13, 64, 100])
def test_what_ranks_send_is_what_the_literature_says(n):
    total = 840 * n
    for schedule, times in (
        (schedules.ring(n, total, 2 * (n - 1)), 2),
        (schedules.ring(n, total, n - 1), 1),
        (schedules.all_at_once(n, np.full((n, n), total // n, np.uint64), rotated=True), 1),
        (schedules.pairwise(n, np.full((n, n), total // n, np.uint64)), 1),
    ):
        for side in owed(schedule, n):
            assert side.tolist() == [times * total * (n - 1) / n] * n
    tree = schedules.two_trees(n, schedules.divided(total, 8))
    assert max(map(max, owed(tree, n))) <= 2 * total
    assert tree.bytes.sum() == 2 * (n - 1) * total
    if n & (n - 1) == 0:
        for side in owed(schedules.halving_doubling(n, total), n):
            assert side.tolist() == [2 * total * (n - 1) / n] * n


@pytest.mark.parametrize("n", [2, 3, 6, 8, 17])
def test_an_all_reduce_reaches_every_rank_from_every_other(n):
    """Follow the dependencies: what a rank has when it sends must in the end contain every rank's buffer."""
    made = [
        schedules.ring(n, 1000 * n, 2 * (n - 1)),
        schedules.two_trees(n, schedules.divided(8000, 4)),
    ]
    if n & (n - 1) == 0:
        made.append(schedules.halving_doubling(n, 1024 * n))
    for schedule in made:
        carried, has = [], [{rank} for rank in range(n)]
        for flow in range(len(schedule)):
            source, target = int(schedule.source[flow]), int(schedule.target[flow])
            before = schedule.after.of(flow)
            assert all(other < flow and schedule.step[other] < schedule.step[flow] for other in before)
            assert all(schedule.target[other] == source for other in before)
            for other in schedule.behind.of(flow):
                assert other < flow
                assert schedule.step[other] < schedule.step[flow]
                assert schedule.source[other] == source
            carried.append({source}.union(*(carried[other] for other in before)))
            has[target] |= carried[-1]
        assert all(len(ranks) == n for ranks in has)


def test_no_rank_has_children_in_both_trees():
    for n in range(2, 130):
        trees = schedules.two_parents(n)
        parents = [{parent for parent in tree if parent is not None} for tree in trees]
        assert not parents[0] & parents[1]
        assert all(list(tree).count(parent) <= 2 for tree in trees for parent in tree if parent is not None)
        assert [tree.count(None) for tree in trees] == [1, 1]


@pytest.mark.parametrize("asked", [0.0, 0.105, 0.24, 0.6])
def test_skew_has_the_gini_coefficient_that_was_asked_for(asked):
    table = {"kind": "all-to-all", "size": "8MB", "gini": asked}
    flows = sh.run(scenario(table, hosts=16, cc="ndp")).flows
    # A rank keeps its own part: the means of the others' parts are what it receives.
    received = flows.groupby("dst").bytes.mean().to_numpy()
    differences = np.abs(np.subtract.outer(received, received)).mean()
    assert differences / (2 * received.mean()) == pytest.approx(asked, abs=1e-4)


def test_groups_and_channels_run_at_the_same_time():
    rows = sh.run(scenario({"kind": "all-reduce", "size": "8MB", "group_size": 4})).summary["collectives"]
    assert [(row["group"], row["ranks"]) for row in rows] == [(0, 4), (1, 4)]
    for row in rows:
        assert row["completion_us"] == pytest.approx(6 * message_us(2_000_000), rel=0.01)
    two = collective({"kind": "all-reduce", "size": "8MB", "channels": 2})
    assert two["completion_us"] == pytest.approx(14 * (message_us(500_000) + 500_000 * 8e-3 / 400), rel=0.02)


def test_a_rank_takes_its_delay_before_each_message():
    """NCCL's fixed cost a step: 14 times 10 us."""
    rows = [
        collective({"kind": "all-reduce", "size": "8MB", "step_delay": delay}) for delay in ("0s", "10us")
    ]
    assert rows[1]["completion_us"] - rows[0]["completion_us"] == pytest.approx(140, rel=0.01)
    assert rows[1]["ideal_us"] - rows[0]["ideal_us"] == pytest.approx(140, rel=1e-6)


def test_the_delay_before_a_first_message_counts_as_the_same_cost_of_hosts_does():
    """Two ranks: 2 (n - 1) = 2 steps of 11 us, and twice 1 us, and 512 + 40 B on two links of 400 Gbps."""
    tables = {
        "topology": {"kind": "star", "hosts": 2, "rate": "400Gbps", "rtt": "2us"},
        "duration": "until-done",
    }
    for delay, hosts in (("11us", {}), ("0s", {"costs": [{"step": "11us"}]})):
        traffic = {"kind": "all-reduce", "size": "1024B", "step_delay": delay}
        run = sh.run(sh.Scenario(cc="dctcp", traffic=[traffic], hosts=hosts, **tables))
        [row] = run.summary["collectives"]
        assert row["completion_us"] == pytest.approx(2 * (11 + 1 + 2 * 552 * 8e-3 / 400), abs=1e-6)
        if not hosts:
            assert row["slowdown"] == pytest.approx(1, abs=1e-6)


def test_the_ideal_of_a_broadcast_is_its_pipeline():
    """Nine ranks: the first chunk takes 7 hops, and then all pass the last one, one after the other."""
    chunks = [62_500] * 16  # of about equal size
    row = collective({"kind": "broadcast", "size": "1MB", "chunk": "64KB"}, hosts=9)
    payload = MTU - HEADER
    bytes_ = sum(size - (-size // payload) * HEADER for size in chunks)
    expected_us = 7 * message_us(62_500) + (bytes_ + MTU) * 8e-3 / 400 + 2
    assert row["ideal_us"] == pytest.approx(expected_us, rel=1e-3)
    assert row["slowdown"] < 1.05
    assert (row["ideal_is_bound"], row["cause"]) == (False, None)


def test_the_ideal_of_an_all_to_all_is_its_port_and_the_way_behind_it():
    """Seven messages of 125 KB leave each port one after the other; the last frame has 100 us to go."""
    row = collective({"kind": "all-to-all", "size": "1MB"}, rate="100Gbps", rtt="200us")
    payload = MTU - HEADER
    frames = -(-125_000 // payload)
    expected_us = (7 * (125_000 + frames * HEADER) + MTU) * 8e-3 / 100 + 100
    assert row["ideal_us"] == pytest.approx(expected_us, rel=1e-3)
    assert 1 <= row["slowdown"] < 1.01
    assert (row["ideal_is_bound"], row["cause"]) == (True, None)


@pytest.mark.parametrize("chunk", ["64KB", "512KB"])
def test_the_ideal_of_a_tree_is_called_a_bound_and_its_schedule_blames_nobody(chunk):
    """Parents send to two children over one port, which no bound of a chain or of a port knows."""
    tree = {"kind": "all-reduce", "algorithm": "tree", "size": "4MB", "chunk": chunk}
    row = collective(
        tree,
        hosts=9,
        cc={"name": "fixed", "window": "20000pkt"},
        network={"mtu": f"{MTU}B", "buffer": "unlimited"},
    )
    assert 1 < row["slowdown"] < 1.8
    assert (row["ideal_is_bound"], row["cause"]) == (True, None)


def test_a_rank_that_starts_late_delays_all():
    """The others wait, and late ranks forward what has arrived in order: 14 steps after the latest start."""
    run = sh.run(scenario({"kind": "all-reduce", "size": "8MB", "jitter": "200us"}))
    late = run.flows[:8].start_us
    expected = late.max() - late.min() + 14 * message_us(1_000_000)
    assert run.summary["collectives"][0]["completion_us"] == pytest.approx(expected, rel=0.01)


def test_messages_of_a_connection_are_sent_in_order():
    """A message starts when its rank has received the one before, and sent its own one before, not sooner."""
    run = sh.run(scenario({"kind": "all-reduce", "size": "8MB", "jitter": "200us"}))
    start, end = run.flows.start_us.to_numpy(), (run.flows.start_us + run.flows.fct_us).to_numpy()
    frame_us = (MTU + 40) * 8e-3 / 400
    for number in range(8, 112):
        received = end[number - 8 + (7 if number % 8 == 0 else -1)]
        # The last frame leaves the NIC half a round trip and two frame times before it arrives.
        sent = end[number - 8] - 2 - 2 * frame_us
        assert start[number] == pytest.approx(max(received, sent), abs=2 * frame_us)


def test_threads_do_not_change_two_tenants_on_a_fabric():
    made = sh.Scenario(
        duration="until-done",
        topology={"kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 4, "rate": "100Gbps"},
        cc="dctcp",
        traffic=[
            {
                "kind": "all-reduce",
                "size": "1MB",
                "hosts": list(range(0, 16, 2)),
                "algorithm": "tree",
                "chunk": "50KB",
            },
            {
                "kind": "all-to-all",
                "size": "1MB",
                "hosts": list(range(1, 16, 2)),
                "order": "pairwise",
                "gini": 0.2,
            },
        ],
    )
    prints = {sh.run(made, threads=threads).summary["fingerprint"] for threads in (1, 2, 3)}
    assert len(prints) == 1


def test_an_unfinished_collective_has_no_time():
    made = scenario({"kind": "all-reduce", "size": "8MB"}).replace({"duration": "100us"})
    row = sh.run(made).summary["collectives"][0]
    assert row["completion_us"] is row["busbw_gb_per_s"] is row["last_rank"] is row["steps_us"] is None
    assert row["ideal_us"] > 280


def test_the_gini_coefficient_of_known_values():
    assert collectives.gini(np.ones(5)) == 0
    assert collectives.gini(np.array([0, 0, 0, 1.0])) == pytest.approx(0.75)
    assert collectives.gini(np.array([1.0, 2, 3, 4])) == pytest.approx(0.25)


def over_rail(rail, servers, gpus):
    """The GPUs of all servers from the one at this rail on, backwards in every second server."""
    order = []
    for server in range(servers):
        row = [server * gpus + (rail + at) % gpus for at in range(gpus)]
        order += row[::-1] if server % 2 else row
    return order


@pytest.mark.parametrize(
    ("kind", "gpus"), [("all-reduce", 4), ("all-gather", 4), ("reduce-scatter", 4), ("all-reduce", 8)]
)
def test_rings_over_rails_are_those_of_tables_written_by_hand(kind, gpus):
    """Also the eight rings of NCCL over servers of eight GPUs."""
    base = {
        "duration": "until-done", "cc": "dcqcn", "network": {"mtu": "4096B"},
        "topology": {"kind": "rail-optimised", "servers": 4, "gpus": gpus},
    }  # fmt: skip
    rings = [{"kind": kind, "size": "256KB", "hosts": over_rail(rail, 4, gpus)} for rail in range(gpus)]
    table = {"kind": kind, "size": f"{256 * gpus}KB", "channels": gpus, "rails": True}
    one = sh.run(sh.Scenario(**base, traffic=[table]))
    many = sh.run(sh.Scenario(**base, traffic=rings))
    flows = [
        sorted(zip(run.flows.src, run.flows.dst, run.flows.bytes, run.flows.fct_us, strict=True))
        for run in (one, many)
    ]
    assert flows[0] == flows[1]
    (row,) = one.summary["collectives"]
    assert row["completion_us"] == max(of["completion_us"] for of in many.summary["collectives"])

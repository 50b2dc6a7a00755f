"""Traffic: who sends what to whom and when, worked out by hand; and draws that nothing else disturbs."""

import numpy as np
import pytest

from shallows import run
from shallows.errors import ScenarioError
from shallows.scenario import Scenario
from shallows.traffic import Draws
from shallows.units import NEVER

pytestmark = pytest.mark.usefixtures("small_catalog")

DUMBBELL = {"kind": "dumbbell", "hosts": 4}
STAR = {"kind": "star", "hosts": 5}
TREE = {"kind": "fat-tree", "k": 4}
MS = 10**9


def flows(topology, *traffic, seed=1, **tables):
    tables = {"duration": "10s", "cc": "dx", **tables}
    return Scenario(topology=topology, traffic=list(traffic), seed=seed, **tables).flows


def ends(flows):
    return list(zip(flows.src.tolist(), flows.dst.tolist(), strict=True))


def test_long_lived_flows_take_the_topologys_pairs_in_turn():
    drawn = flows(
        DUMBBELL,
        {"kind": "long-lived", "flows": 6, "start": "1ms", "stagger": "2ms", "jitter": "0s", "stop": "5s"},
    )
    assert ends(drawn) == [(0, 4), (1, 5), (2, 6), (3, 7), (0, 4), (1, 5)]
    assert drawn.start_ps.tolist() == [MS + 2 * MS * i for i in range(6)]
    assert set(drawn.stop_ps.tolist()) == {5000 * MS}
    assert not drawn.bytes.any()


def test_starts_differ_by_seed_within_the_jitter():
    table = {"kind": "long-lived", "flows": 4}
    first, second = (flows(DUMBBELL, table, seed=seed).start_ps for seed in (1, 2))
    assert (first != second).all()
    assert first.max() < 10 * MS // 1000


def test_as_many_flows_as_the_topology_has_pairs():
    assert ends(flows(STAR, {"kind": "long-lived"})) == [(i, 4) for i in range(4)]
    assert ends(flows(STAR, {"kind": "long-lived", "to": 0})) == [(i, 0) for i in range(1, 5)]
    assert ends(flows(STAR, {"kind": "long-lived", "from": "h0", "to": [1, 2, 3]})) == [
        (0, 1),
        (0, 2),
        (0, 3),
    ]
    assert len(flows({"kind": "parking-lot", "hops": 3, "hosts": 2}, {"kind": "long-lived"})) == 8
    assert len(flows({"kind": "multi-bottleneck"}, {"kind": "long-lived"})) == 40


def test_a_tree_gets_a_permutation_without_fixed_points():
    drawn = flows(TREE, {"kind": "long-lived"})
    assert sorted(drawn.src.tolist()) == sorted(drawn.dst.tolist()) == list(range(16))
    assert (drawn.src != drawn.dst).all()
    assert ends(drawn) != ends(flows(TREE, {"kind": "long-lived"}, seed=2))


def test_a_staircase_goes_up_and_down_again():
    drawn = flows(
        DUMBBELL, {"kind": "staircase", "flows": 3, "interval": "100ms", "start": "10ms", "jitter": "0s"}
    )
    assert drawn.start_ps.tolist() == [10 * MS, 110 * MS, 210 * MS]
    assert drawn.stop_ps.tolist() == [310 * MS, 410 * MS, 510 * MS]
    changes = np.sort(np.concatenate([drawn.start_ps, drawn.stop_ps]))
    assert (np.diff(changes) == 100 * MS).all()


def test_an_incast_comes_from_everyone_at_once():
    drawn = flows(STAR, {"kind": "incast", "size": "3pkt", "start": "1ms"})
    assert ends(drawn) == [(i, 4) for i in range(4)]
    assert set(drawn.bytes.tolist()) == {3 * 1460}
    assert set(drawn.start_ps.tolist()) == {MS}
    assert set(drawn.stop_ps.tolist()) == {NEVER}


def test_jitter_spreads_an_incast_within_its_time():
    drawn = flows(
        {"kind": "star", "hosts": 500},
        {"kind": "incast", "start": "1ms", "jitter": "100us", "to": 7, "senders": 400},
    )
    after = drawn.start_ps.astype(np.int64) - MS
    assert after.min() >= 0
    assert after.max() < 10**8
    assert after.mean() == pytest.approx(5e7, rel=0.1)
    assert 7 not in drawn.src


def test_an_incast_comes_again_every_period():
    incast = {"kind": "incast", "senders": 3, "size": "20KB", "start": "1ms", "times": 4, "period": "250us"}
    drawn = flows(STAR, incast)
    assert ends(drawn) == [(0, 4), (1, 4), (2, 4)] * 4
    starts = [MS, MS + MS // 4, MS + MS // 2, MS + 3 * MS // 4]
    assert drawn.start_ps.tolist() == [start for start in starts for _ in range(3)]
    late = flows(STAR, incast | {"jitter": "10us"}).start_ps - drawn.start_ps
    assert len(set(late.tolist())) == 12
    assert late.max() < MS // 100


RANDOM = {"kind": "incast", "load": 0.02, "senders": 6, "size": "50KB", "times": 2000}
FABRIC = {"kind": "leaf-spine", "leaves": 4, "spines": 4, "hosts_per_leaf": 8, "rate": "100Gbps"}


def of_fabric(*traffic):
    return Scenario(duration="until-done", topology=FABRIC, cc="dctcp", traffic=list(traffic))


def test_incasts_with_a_load_come_at_random_times_between_random_hosts():
    """HPCC's load: 6 x 50 KB are 6 x 35 frames with 40 B of headers each, 2 % of 32 x 100 Gbps."""
    poisson = {"kind": "poisson", "sizes": "20KB", "load": 0.3, "flows": 50}
    flows = of_fabric(poisson, RANDOM).flows
    mine = flows.group == 1
    src, dst, start = (column[mine].reshape(2000, 6) for column in (flows.src, flows.dst, flows.start_ps))
    assert (dst == dst[:, :1]).all()
    assert (start == start[:, :1]).all()
    assert (src != dst).all()
    assert all(len(set(senders)) == 6 for senders in src.tolist())
    gaps = np.diff(start[:, 0].astype(float), prepend=0)
    mean_ps = 6 * (50_000 + 35 * 40) * 8 * 1e12 / (0.02 * 32 * 100e9)
    assert gaps.mean() == pytest.approx(mean_ps, rel=0.07)  # three standard errors
    assert gaps.std() == pytest.approx(mean_ps, rel=0.15)  # exponential
    for hosts, expected in ((dst[:, 0], 2000 / 32), (src.ravel(), 12_000 / 32)):
        assert abs(np.bincount(hosts, minlength=32) - expected).max() < 5 * expected**0.5
    assert flows.loads[1].realised == pytest.approx(0.02, rel=0.07)


def test_incasts_with_a_load_keep_to_the_hosts_that_they_name():
    flows = of_fabric(RANDOM | {"from": "h[0-7]", "to": ["h3", "h30"], "senders": 7}).flows
    assert set(flows.dst) == {3, 30}
    assert set(flows.src) == set(range(8))
    assert set(flows.src[flows.dst == 3]) == {0, 1, 2, 4, 5, 6, 7}


POISSON = {"kind": "poisson", "sizes": "websearch", "load": 0.4, "flows": 20_000}


def test_poisson_arrivals_carry_the_stated_load():
    drawn = flows(TREE, POISSON)
    (load,) = drawn.loads
    assert load.capacity_bps == 16 * 10**10
    # 1 711 250 B of payload in 1172.59 packets, each with 40 B of header
    assert load.mean_bytes == pytest.approx(1_711_250 + 40 * 1172.59, rel=1e-6)
    assert load.realised == pytest.approx(0.4, rel=0.04)
    wire = drawn.bytes.sum() + 40 * np.ceil(drawn.bytes / 1460).sum()
    assert load.realised == pytest.approx(8e12 * wire / (16e10 * drawn.start_ps[-1]))


def test_gaps_between_poisson_arrivals_are_exponential():
    gaps = np.diff(flows(TREE, POISSON).start_ps.astype(float))
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.03)
    assert np.median(gaps) == pytest.approx(np.log(2) * gaps.mean(), rel=0.03)


def test_poisson_pairs_are_uniform_over_all_hosts_but_oneself():
    drawn = flows(TREE, POISSON)
    assert (drawn.src != drawn.dst).all()
    counts = np.zeros((16, 16))
    np.add.at(counts, (drawn.src, drawn.dst), 1)
    assert counts[~np.eye(16, dtype=bool)] == pytest.approx(20_000 / 240, rel=0.5)


def test_the_load_of_a_bottleneck_is_a_share_of_its_rate():
    packets = {"kind": "poisson", "sizes": "1pkt", "load": 0.8, "load_of": "bottleneck", "flows": 20_000}
    drawn = flows({**DUMBBELL, "edge_rate": "100Gbps"}, packets)
    assert drawn.loads[0].capacity_bps == 10**10
    # A packet takes 1.2 us on the link, so one comes every 1.5 us.
    assert np.diff(drawn.start_ps).mean() == pytest.approx(1.5e6, rel=0.03)
    assert set(zip(drawn.src.tolist(), drawn.dst.tolist(), strict=True)) == {(i, i + 4) for i in range(4)}
    to_one = flows(TREE, {**packets, "to": 3})
    assert to_one.loads[0].capacity_bps == 10**10
    assert set(to_one.src.tolist()) == set(range(16)) - {3}


def test_only_small_flows_can_be_kept():
    drawn = flows(TREE, {**POISSON, "below": "100KB"})
    assert drawn.bytes.max() < 100_000
    assert drawn.loads[0].realised == pytest.approx(0.4, rel=0.04)


def test_a_table_draws_the_same_whatever_stands_beside_it():
    alone = flows(TREE, POISSON)
    beside = flows(TREE, POISSON, {"kind": "incast"}, cc="fixed")
    for column in ("src", "dst", "bytes", "start_ps"):
        assert np.array_equal(getattr(alone, column), getattr(beside, column)[:20_000])
    twice = flows(TREE, POISSON, POISSON)
    assert not np.array_equal(twice.start_ps[:20_000], twice.start_ps[20_000:])
    assert not np.array_equal(flows(TREE, POISSON, seed=2).bytes, alone.bytes)


def test_streams_are_pinned():
    # The first Philox words of key (1, 0); a change here changes every scenario's fingerprint.
    assert Draws(1, 0).uniform("pairs", 2).tolist() == [0.3035680343067586, 0.8487087496857769]


def test_each_table_may_have_its_own_algorithm():
    drawn = flows(
        STAR,
        {"kind": "long-lived", "flows": 2, "cc": "reno"},
        {"kind": "long-lived", "flows": 3},
        {"kind": "long-lived", "flows": 1, "cc": {"name": "dx", "headroom": "1us"}},
        {"kind": "long-lived", "flows": 1, "cc": "reno"},
    )
    assert drawn.cc_names == ["reno", "dx", "dx-2"]
    assert drawn.cc.tolist() == [0, 0, 1, 1, 1, 2, 0]
    assert drawn.group.tolist() == [0, 0, 1, 1, 1, 2, 3]


def test_a_trace_gives_flows_by_number_or_name(tmp_path):
    trace = tmp_path / "flows.csv"
    trace.write_text("# two flows\nstart_s,src,dst,bytes\n0.000001,0,4,1000\n1.5e-3, h1 ,h4,20000\n")
    drawn = flows(STAR, {"kind": "trace", "file": str(trace)})
    assert ends(drawn) == [(0, 4), (1, 4)]
    assert drawn.start_ps.tolist() == [10**6, 15 * 10**8]
    assert drawn.bytes.tolist() == [1000, 20_000]


def test_flows_of_a_trace_wait_for_others_by_name_with_columns_in_any_order(tmp_path):
    trace = tmp_path / "flows.csv"
    rows = ["x,100,0,4,,0", "y,200,4,1,x,2e-6", "z,300,4,2,x,0", "w,400,4,3,y x,0"]
    trace.write_text("id,bytes,src,dst,after,start_s\n" + "\n".join(rows) + "\n")
    table = {"kind": "trace", "file": str(trace)}
    drawn = flows(STAR, table)
    assert ends(drawn) == [(0, 4), (4, 1), (4, 2), (4, 3)]
    assert drawn.bytes.tolist() == [100, 200, 300, 400]
    assert drawn.start_ps.tolist() == [0, 2 * 10**6, 0, 0]
    assert [drawn.after.of(flow) for flow in range(4)] == [[], [0], [0], [0, 1]]
    numbered = {"start_s": [0, 0], "src": [0, 0], "dst": [4, 3], "bytes": [1, 1], "behind": ["", 0]}
    assert flows(STAR, {"kind": "trace", "flows": numbered}).behind.of(1) == [0]


def test_the_starts_of_a_trace_are_exact_to_the_picosecond(tmp_path):
    """A double of 100,000 s knows steps of 15 ps; half a picosecond goes to the even one."""
    trace = tmp_path / "flows.csv"
    starts = ["100000.000000000001", "1.2345678901234567e-05", "1e-12", "0.0000000000005", "0.0000000000015"]
    trace.write_bytes(
        ("\ufeffstart_s,src,dst,bytes\r\n" + "".join(f'"{s}",0,4,1\r\n' for s in starts)).encode()
    )
    drawn = flows(STAR, {"kind": "trace", "file": str(trace)}, duration="until-done")
    assert drawn.start_ps.tolist() == [10**17 + 1, 12345679, 1, 0, 2]


def test_a_trace_that_is_no_text_is_refused(tmp_path):
    """tests/cases/mistakes/broken-traces.sh has what is wrong with texts."""
    trace = tmp_path / "flows.csv"
    trace.write_bytes(b"start_s,src,dst,bytes\n0,h\xff,2,5\n")
    with pytest.raises(ScenarioError, match="text in UTF-8") as error:
        flows(STAR, {"kind": "trace", "file": str(trace)})
    assert error.value.key == "traffic[0].file"


def test_an_exchange_comes_at_the_beginning_and_pauses_until_the_start():
    """Flow i starts at 100 ms + i * 40 ms; all begin within the jitter of 5 us, with 10 kB."""
    base = {"kind": "long-lived", "flows": 3, "start": "100ms", "stagger": "40ms", "jitter": "5us"}
    plain, first = (flows(DUMBBELL, table) for table in (base, base | {"exchange": "10KB"}))
    assert plain.application is None
    assert (first.start_ps < 5_000_000).all()
    assert (first.application.resume_ps == plain.start_ps).all()
    assert (first.application.first_bytes == 10_000).all()
    assert not first.application.off_ps.any()
    both = flows(DUMBBELL, base, base | {"on": "1ms", "off": "2ms"})
    assert both.application.off_ps.tolist() == [0] * 3 + [2 * 10**9] * 3
    assert (both.start_ps[:3] == plain.start_ps).all()


def test_tables_of_traffic_have_names():
    """Their own, or their kind, with a number where another table has that name."""
    incast, ring = {"kind": "incast", "senders": 2}, {"kind": "all-reduce"}
    tables = [incast, {**ring, "name": "incast-2"}, incast, {**incast, "name": "storage"}, ring]
    scenario = {"duration": "1ms", "topology": {"kind": "star", "hosts": 4}, "cc": "dctcp"}
    flows = Scenario(**scenario, traffic=tables).flows
    assert flows.names == ["incast", "incast-2", "incast-3", "storage", "all-reduce"]
    assert run(Scenario(**scenario, traffic=tables)).summary["traffic"][3]["name"] == "storage"
    with pytest.raises(ScenarioError, match=r"traffic\[2\].name.*traffic\[0\] has"):
        Scenario(**scenario, traffic=[{**ring, "name": "a"}, ring, {**ring, "name": "a"}])
    with pytest.raises(ScenarioError, match=r"traffic\[0\].name.*a name, not a path"):
        Scenario(**scenario, traffic=[{**ring, "name": "a/b"}])

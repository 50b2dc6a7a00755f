"""Files of other simulators as scenarios. All files are written here, by hand or from a grammar."""

import os
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

import shallows as sh
from shallows import cli
from shallows.errors import ScenarioError
from shallows.importers import write

INPUTS = Path(__file__).parent / "cases" / "import" / "inputs"
STAR, LEAF_SPINE, HPCC = (
    (INPUTS / name).read_text() for name in ("star.toml", "leaf-spine.topo", "topology.txt")
)
FAT_TREE = """Nodes 8
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 300
Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 1000
Switch_Latency_ns 500
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Bundle 2
Downlink_Latency_ns 2000
Switch_Latency_ns 700
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("star.toml").write_text(STAR)
    return tmp_path


def imported(name, text, *others, on="star.toml", **options):
    """The scenario of a file with this text."""
    Path(name).write_bytes(text) if isinstance(text, bytes) else Path(name).write_text(text)
    return write([name, *others], "out.toml", on=on, **options).scenario


def refused(name, text, *others, on="star.toml", **options):
    with pytest.raises(ScenarioError) as error:
        imported(name, text, *others, on=on, **options)
    assert not Path("out.toml").exists()
    return str(error.value)


def rows(scenario):
    flows = scenario.flows
    columns = (flows.src, flows.dst, flows.bytes, flows.start_ps)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def ring(kind, hosts=8, steps=14):
    """An all-reduce of 8 MB: in each step every host sends 1 MB to the next, after it received one."""
    lines = [f"Nodes {hosts}", f"Connections {hosts * steps}", f"Triggers {hosts * (steps - 1)}"]
    for step in range(steps):
        for host in range(hosts):
            number, following = (at * hosts + host + 1 for at in (step, step + 1))
            begin = f"trigger {number}" if step else "start 0"
            fires = hosts * (step + 1) + (host + 1) % hosts + 1
            end = f" {kind}_done_trigger {fires}" if step < steps - 1 else ""
            lines.append(f"{host}->{(host + 1) % hosts} id {number} {begin} size 1000000{end}")
            assert following - number == hosts
    return "\n".join([*lines, *(f"trigger id {i} oneshot" for i in range(hosts + 1, hosts * steps + 1)), ""])


@pytest.mark.parametrize("kind", ["send", "recv"])
def test_a_ring_runs_all_its_flows_with_either_trigger(folder, kind):
    """14 steps of 1 MB at 400 Gbps take 280 us, headers 1 %, and 14 times half the round trip 28 us."""
    scenario = imported("ring.cm", ring(kind))
    assert len(scenario.flows) == 112
    run = sh.run(scenario)
    assert run.flows["fct_us"].notna().sum() == 112
    end = (run.flows["start_us"] + run.flows["fct_us"]).max()
    assert 280 + 28 < end < 1.03 * (280 + 28)
    native = scenario.replace({"traffic": [{"kind": "all-reduce", "size": "8MB"}]})
    assert end == pytest.approx(sh.run(native).summary["collectives"][0]["completion_us"], rel=1e-3)


def test_a_barrier_of_two_starts_its_target_after_both(folder):
    text = """Nodes 8
Connections 3
Triggers 1
0->2 id 1 start 0 size 1000000 recv_done_trigger 9
1->2 id 2 start 0 size 3000000 recv_done_trigger 9
2->3 id 3 trigger 9 size 1000
trigger id 9 barrier count 2
"""
    flows = sh.run(imported("barrier.cm", text)).flows
    ends = flows["start_us"] + flows["fct_us"]
    assert flows["start_us"][2] == pytest.approx(max(ends[0], ends[1]), abs=4.0)
    assert flows["start_us"][2] >= max(ends[0], ends[1]) - 2.1  # the sender knows half a round trip later
    assert ends[1] > 80  # 4 MB at 400 Gbps: the first alone took half of this


def test_flows_keep_their_order_but_follow_those_that_they_wait_for(folder):
    text = "Nodes 8\n0->1 id 1 start 0 size 1\n3->4 id 2 trigger 7 size 2\n"
    text += "2->3 id 3 start 0 size 3 recv_done_trigger 7\n5->6 id 4 start 0 size 4\ntrigger id 7 oneshot\n"
    flows = imported("a.cm", text).flows
    assert flows.bytes.tolist() == [1, 3, 2, 4]
    assert [flows.after.of(flow) for flow in range(4)] == [[], [], [1], []]


def test_starts_need_a_unit_and_are_exact(folder):
    text = "Nodes 8\n0->1 start 1500 size 10\n2->3 start 0.25 size 20\n"
    assert rows(imported("a.cm", text, time_unit="ns")) == [(0, 1, 10, 1_500_000), (2, 3, 20, 250)]
    assert rows(imported("a.cm", text, time_unit="us")) == [(0, 1, 10, 1_500_000_000), (2, 3, 20, 250_000)]
    Path("out.toml").unlink()
    message = refused("a.cm", text)
    assert message.startswith('a.cm:2:12: start = "1500": expected a unit')
    assert "--time-unit ps" in message
    assert message.endswith("    2 | 0->1 start 1500 size 10\n      |            ^^^^")


def test_messages_of_a_connection_are_sent_in_order(folder):
    lines = ["Nodes 2", *(f"0->1 id 1 msg{number} start 0 size 10" for number in ("", " 2", ""))]
    flows = imported("a.cm", "\n".join(lines)).flows
    assert [flows.behind.of(flow) for flow in range(3)] == [[], [0], [1]]


def test_counts_in_the_header_that_differ_are_named(folder):
    Path("a.cm").write_text("Nodes 8\nConnections 3\n0->1 start 0 size 10\n")
    written = write(["a.cm"], "out.toml", on="star.toml")
    assert any(text.startswith("Connections 3 in the header: the file has 1") for text in written.left_out)


def test_two_tiers_are_a_leaf_spine(folder):
    Path("fabric.topo").write_text(LEAF_SPINE)
    scenario = imported("one.cm", "Nodes 32\n0->31 start 0 size 10\n", "fabric.topo", on=None, cc="ndp")
    topology = scenario.topology
    assert (topology.leaves, topology.spines, topology.hosts_per_leaf, topology.links_per_pair) == (
        4,
        2,
        8,
        2,
    )
    assert scenario.network.buffer == 100_000
    assert scenario.cc.name == "ndp"


def test_three_tiers_are_a_graph_with_the_cores_of_htsim(folder):
    """Cables of 500, 700, 1000 and 600 ns of switches in halves: 5 us + 2 (300 + 500) / 2 ... end to end."""
    Path("fabric.topo").write_text(FAT_TREE)
    scenario = imported("one.cm", "Nodes 8\n0->7 start 0 size 10\n", "fabric.topo")
    network = scenario.graph
    ends = {(name.split("->")[0], name.split("->")[1].split("#")[0]) for name in network.port_names}
    assert network.hosts == 8
    # Two pods of two racks; aggregation switch n of a pod has two cables to each of the cores n and n + 2.
    assert {b for a, b in ends if a == "aggr0"} == {"tor0", "tor1", "core0", "core2"}
    assert {b for a, b in ends if a == "aggr3"} == {"tor2", "tor3", "core1", "core3"}
    assert sum(name.startswith("aggr0->core0") for name in network.port_names) == 2
    delay = dict(zip(network.port_names, network.delay_ps.tolist(), strict=True))
    way = ["h0->tor0", "tor0->aggr0", "aggr0->core0#0", "core0->aggr2#0", "aggr2->tor2", "tor2->h4"]
    # Links 1 + 1 + 2 us each way, and five switches: 0.3 + 0.5 + 0.7 + 0.5 + 0.3 us.
    assert sum(delay[port] for port in way) == 8_000_000 + 2_300_000
    rates = dict(zip(network.port_names, network.rate_bps.tolist(), strict=True))
    assert (rates["tor0->aggr0"], rates["aggr0->core0#0"]) == (200 * 10**9, 100 * 10**9)


def test_a_failure_takes_an_uplink_down_from_the_start(folder):
    Path("fabric.topo").write_text(FAT_TREE)
    text = "Nodes 8\nFailures 1\n0->7 start 0 size 10\nfailure switch_type AGG switch_id 1 link_id 2\n"
    scenario = imported("one.cm", text, "fabric.topo")
    assert [(fault.link, fault.kind, fault.at) for fault in scenario.faults] == [
        ("aggr1<->core3#0", "down", 0)
    ]
    assert sh.run(scenario).flows["fct_us"].notna().all()
    Path("out.toml").unlink()
    for wrong, expected in [
        ("CORE", "it is not there, or has no links upwards"),
        ("SPINE", "TOR, AGG or CORE"),
    ]:
        assert expected in refused("one.cm", text.replace("AGG", wrong), "fabric.topo")
    assert "it has 4 links upwards" in refused(
        "one.cm", text.replace("link_id 2", "link_id 4"), "fabric.topo"
    )
    assert "a topology that is imported too" in refused("one.cm", text)


def test_the_hpcc_simulator_numbers_hosts_as_nodes(folder):
    Path("topology.txt").write_text(HPCC)
    scenario = imported("flow.txt", "2\n1 4 3 100 200000 2\n3 2 3 100 50 2.000001\n", "topology.txt", on=None)
    network = scenario.graph
    assert network.host_names == ["h1", "h2", "h3", "h4"]
    assert rows(scenario) == [(0, 3, 200_000, 2 * 10**12), (2, 1, 50, 2_000_001_000_000)]
    delay = dict(zip(network.port_names, network.delay_ps.tolist(), strict=True))
    rate = dict(zip(network.port_names, network.rate_bps.tolist(), strict=True))
    assert set(delay.values()) == {1_000_000}
    assert [rate[f"s0->h{i}"] for i in range(1, 5)] == [100 * 10**9, 100 * 10**9, 10 * 10**9, 100 * 10**9]
    assert [(fault.link, fault.kind, fault.value) for fault in scenario.faults] == [("s0<->h3", "loss", 1e-6)]
    assert scenario.network.pfc
    assert sh.run(scenario).flows["fct_us"].notna().all()


def test_lines_behind_the_announced_ones_are_named(folder):
    """The simulator reads as many links and flows as the first line says."""
    Path("topology.txt").write_text(HPCC + "1 2 1Gbps 1us 0\n")
    Path("flow.txt").write_text("1\n1 4 3 100 200000 2\n3 2 3 100 50 2\n")
    written = write(["topology.txt", "flow.txt"], "out.toml")
    assert len(written.scenario.flows) == 1
    assert written.left_out == [
        "all from line 7 on: the first line announces 4 links",
        "1 lines behind the 1 flows that the first line announces",
    ]


def test_forks_of_the_hpcc_simulator(folder):
    """SimAI has NVLink switches, PowerTCP the number of racks, and ConWeave flows without a port."""
    simai = "8 2 2 2 8 H100\n4 5\n6 7\n" + "".join(
        f"{gpu} {4 + gpu // 2} 900Gbps 100ns 0\n{gpu} {6 + gpu % 2} 400Gbps 1us 0\n" for gpu in range(4)
    )
    Path("simai.txt").write_text(simai)
    scenario = imported("flow.txt", "1\n0 3 3 1000 0\n", "simai.txt", on=None)
    assert scenario.topology.server_switches == ["nv4", "nv5"]
    assert scenario.graph.hosts == 4
    Path("powertcp.txt").write_text(HPCC.replace("5 1 4", "5 1 1 4", 1))
    Path("out.toml").unlink()
    for old in folder.glob("out.*.csv"):
        old.unlink()
    assert rows(imported("flow.txt", "1\n1 2 3 1000 0\n", "powertcp.txt", on=None)) == [(0, 1, 1000, 0)]


def test_sizes_in_percent_become_arrivals_with_a_load(folder):
    text = "0 0\n10000 15\n20000 20\n30000000 100\n"
    Path("star.toml").write_text(
        STAR.replace('kind = "star", hosts = 8', 'kind = "leaf-spine"').replace(', rtt = "4us"', "")
    )
    scenario = imported("WebSearch.txt", text, load=0.3)
    assert scenario.traffic[0].load == 0.3
    assert len(scenario.flows) == 1000
    Path("out.toml").unlink()
    assert "--load SHARE" in refused("WebSearch.txt", text)
    assert "x.txt:3:1" in refused(
        "x.txt", text.replace("20000 20", "9000 20").replace("10000", "10000"), load=0.3
    )
    assert "the last at 100 percent" in refused("x.txt", "0 0\n10 50\n", load=0.3)


def test_columns_in_any_order_and_with_units(folder):
    text = "tag,Size,dst,start_us,src\na,100,3,1.5,h0\nb,200,0,0,1\n"
    written = [(0, 3, 100, 1_500_000), (1, 0, 200, 0)]
    assert rows(imported("flows.csv", text)) == written
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"bytes": [100, 200], "source": [0, 1], "start_ns": [1500.0, 0.0], "target": [3, 0]})
    pq.write_table(table, "flows.parquet")
    Path("out.toml").unlink()
    assert rows(write(["flows.parquet"], "out.toml", on="star.toml").scenario) == written


def test_flows_come_back_as_they_were_written(folder):
    """200 random flows in each format: the scenario, and what it saves, has the same."""
    draw = random.Random(35)
    flows = [
        (*draw.sample(range(8), 2), draw.randrange(1, 10**7), 1000 * draw.randrange(10**9))
        for _ in range(200)
    ]
    texts = {
        "a.cm": "Nodes 8\n" + "".join(f"{a}->{b} start {t} size {n}\n" for a, b, n, t in flows),
        "b.txt": "200\n" + "".join(f"{a} {b} 3 100 {n} {t // 1000}e-9\n" for a, b, n, t in flows),
        "c.csv": "bytes,start_ps,dst,src\n" + "".join(f"{n},{t},{b},{a}\n" for a, b, n, t in flows),
    }
    for name, text in texts.items():
        scenario = imported(name, text, time_unit="ps")
        assert rows(scenario) == flows
        assert rows(sh.Scenario.from_toml(scenario.to_toml(), file="out.toml")) == flows


def test_two_files_are_two_tenants(folder):
    Path("b.cm").write_text("Nodes 8\n2->3 start 0 size 20\n")
    scenario = imported("a.cm", "Nodes 8\n0->1 start 0 size 10\n", "b.cm")
    assert scenario.flows.names == ["a", "b"]
    assert rows(scenario) == [(0, 1, 10, 0), (2, 3, 20, 0)]


def test_the_command_writes_files_and_says_what_it_assumed(folder):
    Path("ring.cm").write_text(ring("recv"))
    done = CliRunner().invoke(cli.app, ["import", "ring.cm", "--on", "star.toml", "--out", "ring.toml"])
    assert done.exit_code == 0, done.output
    assert "written ring.toml, ring.ring.csv: 112 flows, 8 hosts" in done.output
    assert "assumed: a flow starts when its own host knows" in done.output
    assert Path("ring.toml").read_text().startswith("# Saved by shallows import.\n# Assumed: ")
    Path("mine.toml").write_text("duration = 1\n")
    done = CliRunner().invoke(cli.app, ["import", "ring.cm", "--on", "star.toml", "--out", "mine.toml"])
    assert done.exit_code == 2
    assert "a new file, or a scenario that Shallows wrote" in done.output


UET = os.environ.get("SHALLOWS_UET_HTSIM", "")


@pytest.mark.nightly
@pytest.mark.skipif(
    not UET, reason="SHALLOWS_UET_HTSIM is not the folder of github.com/ultraethernet/uet-htsim"
)
@pytest.mark.parametrize("hosts", [16, 1024])
def test_matrices_of_uet_htsim_load_and_complete(folder, hosts):
    """Those of less than 10 GB in all, as an all-to-all of 2 MB at 16 hosts has."""
    matrices = sorted(Path(UET).glob("htsim/sim/datacenter/connection_matrices/*.cm"))
    chosen = [path for path in matrices if f"Nodes {hosts}\n" in path.read_text()]
    assert len(chosen) > 2
    k = {16: 4, 1024: 16}[hosts]
    Path("on.toml").write_text(
        f'duration = "1s"\ncc = "ndp"\ntraffic = [{{ kind = "incast" }}]\n'
        f'topology = {{ kind = "fat-tree", k = {k}, rate = "100Gbps" }}\n'
        'network = { mtu = "4096B", header = "64B", balancing = "packet" }\n'
    )
    for number, path in enumerate(chosen):
        if path.name == "a2a.cm":  # its triggers are not declared, which htsim refuses too
            with pytest.raises(ScenarioError, match="the id of a trigger that the file declares"):
                write([path], "a2a.toml", on="on.toml")
            continue
        scenario = write([path], f"out{number}.toml", on="on.toml", time_unit="ps").scenario
        lines = [line for line in path.read_text().splitlines() if "->" in line]
        assert len(scenario.flows) == len(lines)
        if scenario.flows.bytes.sum() < 10**10:
            assert sh.run(scenario).flows["fct_us"].notna().all(), path.name

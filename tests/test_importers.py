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

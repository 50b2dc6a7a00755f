"""Files of simulators as they come together: a configuration with what it names, topologies without flows.

All files are written here. Expected values are worked by hand from the sources that the readers name.
"""

import json
import shutil
from pathlib import Path

import pytest

import shallows as sh
from shallows.base import limits
from shallows.errors import ScenarioError
from shallows.importers import write
from shallows.memory import bounds

STAR = """
duration = "5ms"
cc = "dcqcn"
topology = { kind = "star", hosts = 8, rate = "400Gbps", rtt = "4us" }
network = { pfc = true, mtu = "4096B" }
traffic = [{ kind = "incast", senders = 2 }]
"""

INPUTS = Path(__file__).parent / "cases" / "import" / "inputs"
SIMAI, CONFIG, TOPOLOGY = (
    (INPUTS / name).read_text() for name in ("simai.txt", "mix/config.txt", "mix/topology.txt")
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("star.toml").write_text(STAR)
    shutil.copytree(INPUTS / "mix", "mix")
    return tmp_path


def configured(text, *others, on=None, **options):
    Path("mix/config.txt").write_text(text)
    return write(["mix/config.txt", *others], "out.toml", on=on, **options)


def refused(*paths, on="star.toml", **options):
    with pytest.raises(ScenarioError) as error:
        write(paths, "out.toml", on=on, **options)
    assert not Path("out.toml").exists()
    return str(error.value)


def test_a_configuration_reads_its_topology_and_flows(folder):
    """DCQCN's parameters, 48 B of headers, and the memory of the switch without headroom and reserves."""
    written = configured(CONFIG)
    tables = written.scenario.tables
    assert len(written.scenario.flows) == 2
    assert tables["duration"] == "4s"
    assert tables["cc"] == {
        "name": "dcqcn", "tau": "4us", "tau_prime": "1us", "t": "900us", "g": 0.00390625, "f": 1,
        "b": "1000000GB", "r_ai": "50Mbps", "r_hai": "100Mbps", "min_rate": "100Mbps", "clamp": False,
        "has_win": True, "base_rtt": tables["cc"]["base_rtt"],
    }  # fmt: skip
    # GLOBAL_T 1: the longest round trip, 4 us of propagation, frames of 1048 B twice, and an ack twice.
    rtt_us = 4 + 2 * (1048 + 64) * 8 / 100e3
    assert float(tables["cc"]["base_rtt"].removesuffix("ps")) == pytest.approx(rtt_us * 1e6, abs=1)
    network = tables["network"]
    assert (network["mtu"], network["header"]) == ("1048B", "48B")
    assert network["marking"] == {
        "kind": "red", "at": "dequeue", "pmax": 0.2,
        "kmin": {"25Gbps": "100KB", "100Gbps": "400KB"}, "kmax": {"25Gbps": "400KB", "100Gbps": "1.6MB"},
    }  # fmt: skip
    # 32 MiB - 3 links of (3 x 1 us x 100 Gbps / 8 + 4 KiB)
    shared = written.scenario.network.shared
    assert (shared.size, shared.alpha) == (32 * 2**20 - 3 * (37_500 + 4096), 0.125)
    assert tables["faults"] == [{"link": "h2<->s3", "kind": "loss", "value": 0.001}]
    assert sh.run(written.scenario).flows["fct_us"].notna().all()


def test_every_key_of_a_configuration_is_used_or_named(folder):
    written = configured(CONFIG + "NEW_KEY 7\nRP_TIMER 300\n")
    assert written.scenario.tables["cc"]["t"] == "300us"
    said = " ".join(written.left_out)
    for key in ("U_TARGET, MI_THRESH", "FCT_OUTPUT_FILE", "NEW_KEY 7",
                "RP_TIMER: line 30 repeats it"):  # fmt: skip
        assert key in said


def test_hpcc_takes_its_step_and_base_rtt_from_the_network(folder):
    """RATE_AI times the longest round trip: 4 us of propagation, frames of 1090 B twice, and an ack twice."""
    written = configured(CONFIG.replace("CC_MODE 1", "CC_MODE 3"))
    cc = written.scenario.tables["cc"]
    rtt_us = 4 + 2 * (1090 + 64) * 8 / 100e3
    assert cc == {"name": "hpcc-roce", "eta": 0.95, "max_stage": 0, "w_ai": "26B", "base_rtt": cc["base_rtt"]}
    assert float(cc["base_rtt"].removesuffix("ps")) == pytest.approx(rtt_us * 1e6, abs=1)
    assert round(50e6 * rtt_us * 1e-6 / 8) == 26
    assert written.scenario.mtu == 1090
    assert any("reads no marks" in text for text in written.left_out)


def test_dcqcn_takes_its_window_and_acknowledgements_from_the_configuration(folder):
    """Of run.py --cc dcqcn_vwin; GLOBAL_T 0 leaves each flow the round trip of its own path."""
    text = CONFIG.replace("HAS_WIN 1\nGLOBAL_T 1", "HAS_WIN 1\nVAR_WIN 1\nGLOBAL_T 0\nL2_ACK_INTERVAL 1")
    written = configured(text)
    cc = written.scenario.tables["cc"]
    assert (cc["has_win"], cc["var_win"], cc["ack_interval"], "base_rtt" in cc) == (True, True, "1B", False)
    assert not any(key in text for text in written.left_out for key in ("WIN", "L2_ACK", "GLOBAL_T"))
    timely = configured(text.replace("CC_MODE 1", "CC_MODE 7"))
    assert any("HAS_WIN 1: a rate alone limits TIMELY" in text for text in timely.left_out)


def test_timely_and_a_link_that_goes_down(folder):
    text = CONFIG.replace("CC_MODE 1", "CC_MODE 7\nTIMELY_T_LOW 10000\nTIMELY_T_HIGH 50000\nTIMELY_BETA 0.8")
    written = configured(text.replace("LINK_DOWN 0 0 0", "LINK_DOWN 7 3 1"))
    assert written.scenario.tables["cc"] == {
        "name": "timely", "t_low": "10us", "t_high": "50us", "beta": 0.8, "delta": "50Mbps",
        "min_rate": "100Mbps", "hai": 2,
    }  # fmt: skip
    down = {"link": "h1<->s3", "kind": "down", "at": "2000007us"}
    assert down in written.scenario.tables["faults"]


def test_another_algorithm_replaces_one_that_is_not_here(folder):
    written = configured(CONFIG.replace("CC_MODE 1", "CC_MODE 8"), cc="dctcp")
    assert written.scenario.algorithms[0].name == "dctcp"
    assert any("CC_MODE 8 (DCTCP over RoCE)" in text for text in written.left_out)


def test_files_beside_the_configuration_and_as_arguments(folder):
    Path("f.txt").write_text("1\n2 0 3 100 100 2\n")
    assert len(configured(CONFIG, "f.txt", "mix/trace.txt").scenario.flows) == 1


def test_the_older_configuration_of_ns3_rdma(folder):
    text = """TOPOLOGY_FILE mix/topology.txt
FLOW_FILE mix/flow.txt
CNP_INTERVAL 50
ALPHA_RESUME_INTERVAL 55
RP_TIMER 60
BYTE_COUNTER 300000000
DCTCP_GAIN 0.00390625
KMAX 1000
KMIN 40
PMAX 1.0
"""
    tables = configured(text).scenario.tables
    assert tables["cc"] | {"g": 0} == {
        "name": "dcqcn", "tau": "50us", "tau_prime": "55us", "t": "60us", "b": "300MB", "g": 0,
    }  # fmt: skip
    assert tables["network"]["marking"] == {
        "kind": "red", "kmin": "40KB", "kmax": "1MB", "pmax": 1.0, "at": "dequeue",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("header", "rate"),
    [("3 1 1 2", "25000000000.0"), ("3 1 1 2 25000000000 25000000000", "25000000000"), ("3 1 2", "25Gbps")],
)
def test_topologies_of_the_forks_and_rates_without_a_unit(folder, header, rate):
    Path("t.txt").write_text(f"{header}\n2\n0 2 {rate} 1us 0\n1 2 {rate} 1us 0\n")
    Path("f.txt").write_text("1\n0 1 3 100 1000000 2\n")
    network = write(["t.txt", "f.txt"], "out.toml").scenario.graph
    assert network.rate_bps.tolist() == [25 * 10**9] * 4
    assert network.delay_ps.tolist() == [10**6] * 4


def test_a_topology_alone_has_the_traffic_of_the_base(folder):
    Path("t.txt").write_text(TOPOLOGY)
    written = write(["t.txt"], "out.toml", on="star.toml")
    tables = written.scenario.tables
    assert tables["traffic"] == [{"kind": "incast", "senders": 2}]
    assert tables["duration"] == "5ms"
    assert written.scenario.graph.hosts == 3
    assert any("traffic is that of --on" in text for text in written.assumed)


@pytest.mark.parametrize("traffic", ["", '[[traffic]]\nkind = "all-reduce"\nsize = "8MB"\n'])
def test_a_base_needs_no_traffic_if_the_files_have_some(folder, traffic):
    """An all-reduce of 8192 hosts has 134 million messages, more than a run may have."""
    Path("on.toml").write_text(
        'duration = "until-done"\ncc = "dcqcn"\n'
        'topology = { kind = "leaf-spine", leaves = 128, spines = 64, hosts_per_leaf = 64 }\n' + traffic
    )
    Path("one.cm").write_text("Nodes 8192\n0->1 start 0 size 1000\n")
    assert len(write(["one.cm"], "out.toml", on="on.toml").scenario.flows) == 1


def test_a_file_that_announces_no_flows(folder):
    Path("none.txt").write_text("0\n")
    written = write(["none.txt"], "out.toml", on="star.toml")
    assert written.scenario.tables["traffic"] == [{"kind": "incast", "senders": 2}]
    assert "none.txt: it announces 0 flows" in written.left_out
    Path("some.cm").write_text("Nodes 8\n0->1 start 0 size 1\n")
    assert len(write(["none.txt", "some.cm"], "both.toml", on="star.toml").scenario.flows) == 1


def test_sizes_in_shares_are_those_in_percent(folder):
    Path("shares.txt").write_text("0 0\n10000 0.5\n30000 1\n")
    Path("percent.txt").write_text("0 0\n10000 50\n30000 100\n")
    one, other = (
        write([f"{name}.txt"], f"{name}.toml", on="star.toml", load=0.05).scenario
        for name in ("shares", "percent")
    )
    assert one.flows.bytes.tolist() == other.flows.bytes.tolist()


def test_flows_of_size_zero_have_no_end(folder):
    Path("a.cm").write_text("Nodes 8\n0->1 start 0 size 0\n2->1 start 5 size 0\n3->4 start 0 size 1000\n")
    scenario = write(["a.cm"], "out.toml", on="star.toml", time_unit="us").scenario
    flows = scenario.flows
    endless = flows.bytes == 0
    assert sorted(zip(flows.src[endless], flows.dst[endless], flows.start_ps[endless], strict=True)) == [
        (0, 1, 0), (2, 1, 5 * 10**6),
    ]  # fmt: skip
    assert scenario.tables["duration"] == "5ms"
    Path("star.toml").write_text(STAR.replace("5ms", "until-done"))
    written = write(["a.cm"], "done.toml", on="star.toml", time_unit="us")
    assert written.scenario.tables["duration"] == "1ms"  # end_time of htsim's programs
    Path("a.cm").write_text(
        "Nodes 8\n0->1 id 1 start 0 size 0 send_done_trigger 1\n1->2 trigger 1 size 5\ntrigger id 1 oneshot\n"
    )
    Path("out.toml").unlink()
    assert "flows with an end" in refused("a.cm")


def test_computations_alone_run_beside_the_traffic_of_the_base(folder):
    Path("calc.goal").write_text("num_ranks 2\nrank 0 { a: calc 1000 }\nrank 1 { b: calc 2000 }\n")
    run = sh.run(write(["calc.goal"], "out.toml", on="star.toml").scenario)
    took_us = run.computations.finish_us - run.computations.start_us
    assert took_us.tolist() == [1.0, 2.0]
    with pytest.raises(ScenarioError, match="computations alone send nothing"):
        run.scenario.replace({"traffic": run.scenario.tables["traffic"][1:]})
    Path("calc.goal").write_text("num_ranks 2\nrank 0 { a: calc 0 }\nrank 1 { b: calc 0 }\n")
    Path("out.toml").unlink()
    assert refused("calc.goal").startswith("calc.goal: expected a message, or a computation")


def test_a_workload_of_simai_is_one_pass_of_layers(folder):
    """Groups: {0, 1} and {2, 3} tensor parallel, {0, 2} and {1, 3} data parallel; rings of two ranks."""
    Path("w.txt").write_text(SIMAI)
    scenario = write(["w.txt"], "out.toml", on="star.toml").scenario
    flows = scenario.flows
    found = sorted(zip(flows.src.tolist(), flows.dst.tolist(), flows.bytes.tolist(), strict=True))
    tensor = [
        (a, b, size) for a, b in ((0, 1), (1, 0), (2, 3), (3, 2)) for size in (250_000, 500_000, 500_000)
    ]
    data = [(a, b, 2_000_000) for a, b in ((0, 2), (2, 0), (1, 3), (3, 1))] * 2
    assert found == sorted([*tensor, *data])
    run = sh.run(scenario.replace({"duration": "until-done"}))
    # Computations 1 + 1 + 2 + 3 + 2 + 3 us; at 400 Gbps two steps of 500 KB, one of 250 KB, two of 2 MB,
    # 105 us in all, 1 % of headers, and at most half a round trip of 4 us for each of the five steps.
    (row,) = run.summary["tasks"]
    assert row["computation_us"] == pytest.approx(12, abs=0.01)
    assert 12 + 105 < row["completion_us"] < 12 + 105 * 1.02 + 5 * 2.5


def test_more_messages_than_memory_holds_say_how_many_layers_fit(folder, monkeypatch):
    """11,000 B a task: 200,000 B hold the 16 messages of the first layer, and not all 20."""
    Path("w.txt").write_text(SIMAI)
    monkeypatch.setattr(bounds, "free", lambda: bounds.Free(200_000, "a test"))
    said = refused("w.txt")
    expected = "at most 18 messages of collectives, for which there is memory, not 20: keep the first 1"
    assert expected in said


@pytest.mark.parametrize(
    ("most", "advice"), [(19, "keep the first 1 layers and write 1 here"), (15, "lower all_gpus")]
)
def test_more_messages_than_flows_of_a_run_say_how_many_layers_fit(folder, monkeypatch, most, advice):
    """Two rings of two ranks: 8 messages of an all-reduce and 4 of an all-gather, so 16 and 4 by layer."""
    Path("w.txt").write_text(SIMAI)
    monkeypatch.setattr(limits, "FLOWS", limits.FLOWS._replace(most=most))
    said = refused("w.txt")
    expected = f"at most {most} messages of collectives, the flows of a run, not 20: {advice}"
    assert f'w.txt:2:1: layers = "2": expected {expected}' in said


def chakra(rank, comm_type, size):
    attributes = [{"name": "comm_type", "int64Val": comm_type}, {"name": "comm_size", "int64Val": size}]
    node = {"id": 1, "type": "COMM_COLL_NODE", "attr": attributes}
    Path(f"job.{rank}.json").write_text("{}\n" + json.dumps(node))
    return f"job.{rank}.json"


@pytest.mark.parametrize(
    ("number", "table"),
    [
        (0, {"kind": "all-reduce", "size": "4MB"}),
        (2, {"kind": "all-gather", "size": "16MB"}),
        (7, {"kind": "reduce-scatter", "size": "4MB"}),
        (6, {"kind": "all-to-all", "size": "4MB"}),
        (5, {"kind": "broadcast", "size": "4MB", "chunk": "500KB"}),
    ],
)
def test_an_imported_collective_has_the_row_of_one_that_is_written(folder, number, table):
    """Of four ranks with 4 MB each; an all-gather sends those of all."""
    files = [chakra(rank, number, 4_000_000) for rank in range(4)]
    imported = write(files, "out.toml", on="star.toml").scenario
    written = imported.replace({"traffic": [table | {"hosts": [0, 1, 2, 3]}]})
    (row,), (other,) = (sh.run(scenario).summary["collectives"] for scenario in (imported, written))
    assert {**row, "name": ""} == {**other, "name": ""}
    assert row["completion_us"] > 0


def test_remarks_of_a_configuration_are_skipped(folder):
    """The simulator skips words that it does not know: a key behind // is none."""
    remarks = "{choose a mode}\nENABLE_QCN 1\n//BUFFER_SIZE 16\n"
    texts = (CONFIG, CONFIG.replace("ENABLE_QCN 1\n", remarks))
    plain, remarked = (configured(text).scenario for text in texts)
    assert remarked.tables == plain.tables


def test_a_workload_without_its_number_of_ranks_has_all_hosts(folder):
    Path("w.txt").write_text(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4\n1\n"
        "embedding -1 1000 BROADCAST 16384 1 NONE 0 1 NONE 0 1\n"
    )
    found = write(["w.txt"], "w.toml", on="star.toml")
    # Two groups of four: chains of three messages each.
    assert sum(task.to is not None for table in found.scenario.traffic for task in table.tasks) == 2 * 3
    assert any("all 8 hosts are ranks" in text for text in found.assumed)
    Path("six.toml").write_text(STAR.replace("hosts = 8", "hosts = 6"))
    with pytest.raises(sh.ScenarioError, match=r"all_gpus = .6.: expected a multiple of TP x EP x PP, 4"):
        write(["w.txt"], "w.toml", on="six.toml")
    with pytest.raises(sh.ScenarioError, match="all_gpus: N above 0 on this line, a topology, or --on"):
        write(["w.txt"], "w.toml")


def test_a_micro_workload_is_one_collective_of_all_ranks(folder):
    Path("m.txt").write_text("MICRO\n1\nmicro_test\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tALLREDUCE\t4096\t1\n")
    (table,) = write(["m.txt"], "m.toml", on="star.toml").scenario.traffic
    assert (table.kind, table.size, len(table.hosts)) == ("all-reduce", 4096, 8)


def test_a_flow_of_more_than_a_petabyte_has_no_end(folder):
    Path("f.txt").write_text("2\n0 1 3 100 1000 2.0\n1 2 3 100 5000000000000000 2.1\n")
    found = write(["f.txt", "mix/topology.txt"], "f.toml")
    kinds = [table.kind for table in found.scenario.traffic]
    assert kinds == ["trace", "long-lived"]
    assert found.scenario.duration == 2_101_000_000_000
    assert any("more than 1 PB have no end (1 of 2)" in text for text in found.assumed)


def test_sizes_of_homa_are_those_of_its_points(folder):
    """Half of 10 B and half of 100 B: a mean of 55 B, and no size between."""
    Path("homa.txt").write_text("55.0\n10 0.5\n100 1.0\n")
    found = write(["homa.txt"], "h.toml", on="star.toml", load=0.3)
    sizes = found.scenario.flows.bytes
    assert {10, 100} == set(sizes.tolist())
    assert sizes.mean() == pytest.approx(55, abs=4 * 45 / len(sizes) ** 0.5)
    assert found.left_out == []
    Path("homa.txt").write_text("100.0\n10 0.5\n100 1.0\n")
    other = write(["homa.txt"], "h.toml", on="star.toml", load=0.3)
    assert other.left_out == ["homa.txt, line 1: a mean of 100.0; its points have 55"]


def test_sizes_on_a_star_are_between_random_hosts(folder):
    """Eight hosts at a load of 0.3 exceed what one receiver takes."""
    Path("sizes.txt").write_text("0 0\n1000 50\n10000 100\n")
    found = write(["sizes.txt"], "s.toml", on="star.toml", load=0.3)
    assert len(set(found.scenario.flows.dst.tolist())) == 8
    assert any("random pairs of hosts" in text for text in found.assumed)

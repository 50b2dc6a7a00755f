"""The answers with which reports begin."""

import pytest

import shallows as sh
from shallows.printing.report import comparison_report, print_parts, run_report
from shallows.results import metrics

STAR = {"kind": "star", "hosts": 5, "rate": "400Gbps", "rtt": "4us"}


def report(capsys, **tables):
    """The lines of a run."""
    print_parts(run_report(sh.run(sh.Scenario(**{"topology": STAR, "cc": "dcqcn"} | tables)).summary))
    return capsys.readouterr().out.splitlines()


def test_a_collective_comes_first(capsys):
    """8 MB over 5 hosts: 8 steps of 1.6 MB, 32 us each at 400 Gbps, and headers and half round trips."""
    lines = report(
        capsys, duration="until-done", traffic=[{"kind": "all-reduce", "size": "8MB", "name": "train"}]
    )
    words = lines[1].replace(",", "").split()
    assert words[:2] == ["collective", "train:"]
    time, ideal, algbw, busbw = (float(words[place]) for place in (2, 5, 11, 14))
    assert time == pytest.approx(8 * (32 + 2), rel=0.06)
    assert ideal == pytest.approx(8 * (32 + 2), rel=0.06)
    assert algbw == pytest.approx(8e6 / time / 1e3, rel=0.01)
    assert busbw == pytest.approx(algbw * 1.6, rel=0.01)
    assert not any(line.startswith("drain") for line in lines)


FOUR = {"kind": "star", "hosts": 5, "rate": "100Gbps", "rtt": "4us"}
RING = {"kind": "all-reduce", "size": "16MB", "name": "ring", "hosts": ["h0", "h1", "h2", "h3"]}


def cause(capsys, **tables):
    """(the row of the first collective, the line on its largest cause) of a run over RoCE with pauses."""
    run = sh.run(sh.Scenario(**{"duration": "until-done", "cc": "dcqcn", "network": {"pfc": True}} | tables))
    print_parts(run_report(run.summary))
    said = [line.strip() for line in capsys.readouterr().out.splitlines() if "largest cause" in line]
    return run, run.summary["collectives"][0], said


def test_frames_of_others_are_the_largest_cause(capsys):
    """8 MB in frames of 1500 B take 657.5 us, and the ring keeps h1 busy but for 12 us of latency."""
    other = {"kind": "trace", "flows": [[0.0, "h4", "h1", 8_000_000]]}
    _, row, said = cause(capsys, topology=FOUR, traffic=[RING, other])
    beyond_us = row["completion_us"] - row["ideal_us"]
    assert row["cause"] == "other traffic"
    assert row["cause_us"] == pytest.approx(657.5 - 12, rel=0.03)
    assert 0.5 * beyond_us <= row["cause_us"] <= beyond_us
    assert said == [f"largest cause beyond the ideal: {row['cause_us']:.1f} us by frames of others at s0->h1"]
    _, alone, said = cause(capsys, topology=FOUR, traffic=[RING])
    assert (alone["cause"], said) == (None, [])


def test_timeouts_are_the_largest_cause(capsys):
    """A lost last frame waits for 10 ms; 4 MB take 0.3 ms."""
    lossy = [{"link": "h1->s0", "kind": "loss", "value": 0.3}]
    train = {"kind": "all-to-all", "size": "4MB"}
    run, row, said = cause(capsys, topology=FOUR, traffic=[train], faults=lossy)
    assert row["cause"] == "timeouts"
    beyond_us = row["completion_us"] - row["ideal_us"]
    assert run.flows.timeouts.max() * 10_000 <= row["cause_us"] <= beyond_us
    assert said[0].endswith("by timeouts of its messages")


def test_uneven_paths_are_the_largest_cause(capsys):
    """Uplinks at a quarter of the host rate: the fullest is busy beyond the equal share of the ideal."""
    fabric = {"kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts_per_leaf": 4, "rate": "100Gbps"}
    tables = {
        "topology": fabric | {"spine_rate": "25Gbps"},
        "traffic": [{"kind": "all-to-all", "size": "16MB"}],
    }
    run, row, said = cause(capsys, **tables, seed=3)
    used = run.ports.utilization
    busy_us = used.max() * run.summary["duration_s"] * 1e6
    assert row["cause"] == "uneven paths"
    assert row["cause_us"] == pytest.approx(busy_us - row["ideal_us"], rel=0.05)
    assert used[run.ports.port == row["cause_port"]].item() > 0.99 * used.max()
    assert said[0].endswith(f"at {row['cause_port']}, more than an equal share of the paths")


def test_rates_of_senders_are_what_is_left(capsys):
    """HPCC leaves 5 % of links idle, and waits for its windows to grow: no frame of others, no loss."""
    fabric = {"kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts_per_leaf": 4, "rate": "100Gbps"}
    _, row, said = cause(
        capsys, topology=fabric, cc="hpcc-roce", seed=3, traffic=[{"kind": "all-to-all", "size": "64MB"}]
    )
    assert row["cause"] == "rate limits"
    assert row["cause_us"] <= row["completion_us"] - row["ideal_us"]
    assert "`shallows why --task` divides it" in said[0]


def test_an_unfinished_collective_says_so(capsys):
    lines = report(capsys, duration="50us", traffic=[{"kind": "all-reduce", "size": "8MB"}])
    assert lines[1].startswith("collective  all-reduce: unfinished after 50.0 us, ideal 2")


def test_flows_without_an_end_have_their_shares(capsys):
    traffic = [{"kind": "long-lived", "flows": 4, "name": "hogs"}]
    lines = report(capsys, duration="2ms", warmup="1ms", cc="hpcc", traffic=traffic)
    assert lines[1].startswith("shares      hogs: 4 flows, 3")
    assert " Gbit/s to " in lines[1]
    assert "Jain" in lines[1]


def test_requests_and_answers_come_first(capsys):
    """Two trips of 10 us, 1040 B twice, then six frames of 1500 B, and 1280 B twice, at 10 Gbps: 30.9 us."""
    traffic = [{"kind": "request-response", "request": "1KB", "response": "10KB", "pairs": 2, "name": "rpc"}]
    star = {"kind": "star", "hosts": 5, "rate": "10Gbps", "rtt": "20us"}
    lines = report(capsys, duration="5ms", cc="dctcp", topology=star, traffic=traffic)
    words = lines[1].replace(",", "").split()
    assert words[:2] == ["exchanges", "rpc:"]
    assert float(words[words.index("p50") + 1]) == pytest.approx(30.9, rel=0.03)


def test_only_open_loop_traffic_has_a_load_and_a_drain(capsys):
    traffic = [{"kind": "poisson", "sizes": "20KB", "load": 0.3, "flows": 50, "from": "h*", "to": "h*"}]
    lines = report(capsys, duration="until-done", traffic=traffic)
    assert lines[1].startswith("load        traffic[0]: ")
    assert lines[2].startswith("drain       the last ")


def test_a_fault_has_its_recovery(capsys):
    fabric = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2, "rate": "10Gbps"}
    faults = [{"link": "leaf0<->spine0", "kind": "down", "at": "10ms"}]
    lines = report(
        capsys,
        duration="60ms",
        topology=fabric,
        cc="dctcp",
        network={"convergence": "1ms"},
        faults=faults,
        traffic=[{"kind": "long-lived"}],
    )
    (fault,) = [line for line in lines if line.startswith("fault       0: down")]
    assert "recovered" in fault or "never fell" in fault


def test_a_comparison_begins_with_collectives(capsys):
    made = sh.Scenario(
        duration="until-done", topology=STAR, cc="dcqcn", traffic=[{"kind": "all-reduce", "size": "1MB"}]
    )
    print_parts(comparison_report(sh.compare(made, ["dcqcn", "hpcc"])))
    lines = capsys.readouterr().out.splitlines()
    titles = [line.split("  ")[0] for line in lines[1:4]]
    assert titles == ["all-reduce: completion (us)", "all-reduce: ideal (us)", "all-reduce: busbw (GB/s)"]


def test_a_shuffle_has_its_completion_time(capsys):
    """Each of 5 hosts sends 4 MB at 400 Gbps; frames, queues and slow starts may add a quarter."""
    tables = {"traffic": [{"kind": "shuffle", "size": "1MB", "jitter": "0s"}], "topology": STAR}
    run = sh.run(sh.Scenario(cc="dcqcn", duration="until-done", network={"pfc": True}, **tables))
    print_parts(run_report(run.summary))
    words = capsys.readouterr().out.splitlines()[1].replace(",", "").split()
    (row,) = run.summary["traffic"]
    assert words == ["completion", "shuffle:", f"{row['completion_us']:.1f}", "us", "20", "flows"]
    assert row["completion_us"] == pytest.approx((run.flows.start_us + run.flows.fct_us).max(), abs=1e-6)
    assert 4 * 8e6 / 400e3 < row["completion_us"] < 5 * 8e6 / 400e3
    assert metrics.number(run.summary, "traffic.0.completion_us") == (row, "completion_us")
    assert metrics.resolved("completion", tables) == "traffic.0.completion_us"


def test_an_unfinished_shuffle_has_a_lower_bound(capsys):
    lines = report(capsys, duration="50us", traffic=[{"kind": "shuffle", "size": "1MB", "jitter": "0s"}])
    assert lines[1] == "completion  shuffle: unfinished after 50.0 us, 20 flows"

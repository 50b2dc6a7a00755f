"""The answers with which reports begin."""

import pytest

import shallows as sh
from shallows.printing.report import comparison_report, print_parts, run_report

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


def test_an_unfinished_collective_says_so(capsys):
    lines = report(capsys, duration="50us", traffic=[{"kind": "all-reduce", "size": "8MB"}])
    assert lines[1].startswith("collective  all-reduce: unfinished after 50.0 us, ideal 2")


def test_flows_without_an_end_have_their_shares(capsys):
    traffic = [{"kind": "long-lived", "flows": 4, "name": "hogs"}]
    lines = report(capsys, duration="2ms", warmup="1ms", cc="hpcc", traffic=traffic)
    assert lines[1].startswith("shares      hogs: 4 flows, 3")
    assert " Gbit/s to " in lines[1]
    assert "Jain" in lines[1]


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

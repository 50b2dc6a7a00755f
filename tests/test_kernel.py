"""The kernel world: what it refuses anywhere, and, where root and eBPF are, what real TCP does in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import shallows as sh
from shallows import live
from shallows.errors import ScenarioError
from shallows.run import prepare

SCENARIOS = Path(__file__).parent.parent / "scenarios"
TWO, FOUR = SCENARIOS / "kernel-two.toml", SCENARIOS / "kernel-dctcp-4.toml"
COMMAND = [sys.executable, "-c", "from shallows.cli import main; main()"]


def why_not():
    """Why no live test can run here; None if they can."""
    try:
        done = subprocess.run([live.program(), "check"], capture_output=True, text=True, check=False)
    except ScenarioError as error:
        return str(error)
    return " ".join(done.stdout.split()) if done.returncode else None


MISSING = why_not()
needs_kernel = pytest.mark.skipif(MISSING is not None, reason=f"no kernel world here: {MISSING}")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("cc.name", "vegas", "an algorithm of the kernel world"),
        ("topology.rate", "10Gbps", "at most 1Gbps"),
        ("topology.hosts", "40", "at most 64"),
        ("traffic.0.flows", "200", "at most 128"),
    ],
)
def test_what_a_kernel_cannot_do_is_said_before_it_runs(key, value, expected):
    with pytest.raises(ScenarioError, match=expected):
        prepare(TWO, overrides={key: value}, world="kernel")


def test_without_the_program_the_command_says_how_to_get_it(tmp_path):
    environment = {**os.environ, "SHALLOWS_LIVE": str(tmp_path / "nothing"), "PATH": str(tmp_path)}
    done = subprocess.run(
        [*COMMAND, "live", "check"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "make live" in done.stderr


@needs_kernel
def test_check_without_root_says_what_is_missing():
    done = subprocess.run([live.program(), "check"], user=65534, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "root       no: needs" in done.stdout


@needs_kernel
def test_dx_keeps_the_queue_that_dctcp_and_reno_do_not():
    runs = {cc: sh.run(TWO, world="kernel", cc__name=cc) for cc in ("dctcp", "reno")}
    runs["dx"] = sh.run(TWO, world="kernel")
    delay = {cc: queueing_us(run) for cc, run in runs.items()}
    goodput = {cc: run.summary["flows"]["goodput_gbps"] for cc, run in runs.items()}
    assert delay["dctcp"] >= 8 * delay["dx"]
    assert delay["reno"] >= 50 * delay["dx"]
    assert goodput["dx"] >= 0.9 * goodput["dctcp"]
    assert runs["dx"].summary["bottleneck"]["utilization"] >= 0.9
    assert all(run.summary["lateness"]["accepted"] for run in runs.values())


@needs_kernel
def test_dctcp_is_the_same_in_the_packet_world_and_in_the_kernel():
    packet, kernel = (sh.run(FOUR, world=world).summary["bottleneck"] for world in ("packet", "kernel"))
    assert kernel["queue_mean_pkt"] == pytest.approx(packet["queue_mean_pkt"], rel=0.15)
    assert kernel["utilization"] == pytest.approx(packet["utilization"], abs=0.03)


def queueing_us(run):
    """Mean queueing delay of the bottleneck: the queue's, without the packet's own 24 us."""
    return run.summary["bottleneck"]["queue_mean_pkt"] * 24

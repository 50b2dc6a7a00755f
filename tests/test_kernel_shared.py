"""The kernel world on a machine that others use: programs above its control group, other runs."""

import json
import subprocess
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path

import pytest

import shallows as sh
from shallows.errors import ScenarioError
from shallows.runner import prepare
from shallows.scenario import Scenario
from shallows.worlds import kernel, live
from shallows.worlds.kernel_distance import distance
from test_kernel import COMMAND, cli, group, in_real_time, namespace, needs_kernel, run_live

__all__ = ["group", "namespace"]
pytestmark = pytest.mark.kernel

MOUNTS = [path for path in map(Path, ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"]) if path.exists()]
SCENARIO = """
duration = "2s"
warmup = "1s"
topology = { kind = "dumbbell", hosts = 3, rate = "50Mbps", edge_rate = "1Gbps", rtt = "4ms" }
network.buffer = "60pkt"
cc = "reno"
hosts.rto = "internet"
traffic = [{ kind = "long-lived", jitter = "20ms" }]
"""
SHORT = ["--set", "duration=500ms", "--set", "warmup=100ms"]
"""For tests that read no number of a run."""
# 4 ms of 50 Mbps are 17 packets, far less than the buffer: Reno fills it, and halves from 77 packets.
RENO_LEAST_PKT = 30


@pytest.fixture
def place(tmp_path):
    (tmp_path / "one.toml").write_text(SCENARIO)
    return tmp_path


@pytest.fixture(autouse=True)
def once(monkeypatch):
    monkeypatch.setattr(kernel, "RUNS", 1)


@contextmanager
def attached(cc, group, namespace):
    """An algorithm in force for a control group."""
    done = cli("live", "attach", cc, "--iface", "lo", "--cgroup", group, within=namespace)
    assert done.returncode == 0, done.stderr
    try:
        yield
    finally:
        assert cli("live", "detach", within=namespace).returncode == 0


def below(group, place, *words, hidden=False):
    """A run whose control groups all lie below `group`, as they do below one that is attached to the host.

    `hidden`: it cannot see who has attached the programs above it, as in a container.
    """
    root = MOUNTS[0]
    hide = "umount /run/shallows-live/links;" if hidden else ""
    inside = f'umount {root} && mount -t cgroup2 none {root} && {hide} exec "$@"'
    enter = f"echo $$ > {group}/cgroup.procs && exec unshare --cgroup --mount sh -c '{inside}' sh \"$@\""
    run = [*COMMAND, "run", "one.toml", "--world", "kernel", "--repeats", "1", "--json", *words]
    return subprocess.run(
        ["sh", "-c", enter, "sh", *run], cwd=place, capture_output=True, text=True, check=False
    )


@needs_kernel
@pytest.mark.parametrize("cc", ["inigo", "dctcp", "dx"])
def test_a_run_below_an_attachment_of_ours_is_refused(cc, place, group, namespace):
    with attached(cc, group, namespace):
        done = below(group, place)
    assert done.returncode == 2
    assert f"shallows_{cc} is attached to all connections of this host" in done.stderr
    assert "shallows live detach" in done.stderr
    assert not list((place / "results").rglob("summary.json"))


@pytest.mark.parametrize("cc", ["inigo", "dctcp"])
@in_real_time
def test_a_run_below_programs_of_others_keeps_its_algorithm(cc, place, group, namespace):
    with attached(cc, group, namespace):
        done = below(group, place, hidden=True)
    if "too late" in done.stderr:
        pytest.skip(f"this machine is too busy: {done.stderr}")
    assert done.returncode == 0, done.stderr
    bottleneck = json.loads(done.stdout)["data"]["bottleneck"]
    assert bottleneck["queue_mean_pkt"] > RENO_LEAST_PKT
    assert bottleneck["dropped"] > 0
    assert bottleneck["marked"] == 0


@needs_kernel
def test_runs_and_attachments_of_one_algorithm_stand_beside_each_other(place, group, namespace):
    """A congestion control has one name in a kernel: two runs of dx, and dx attached to a control group."""
    words = [*COMMAND, "run", "one.toml", "--cc", "dx", "--world", "kernel", "--repeats", "1"]
    with attached("dx", group, namespace):
        runs = [
            subprocess.Popen([*words, *SHORT, "--out", name], cwd=place, stderr=subprocess.PIPE, text=True)
            for name in ("a", "b")
        ]
        said = [run.communicate()[1] for run in runs]
    assert [run.returncode in (0, 1) for run in runs] == [True, True], said
    for name, text in zip(("a", "b"), said, strict=True):
        assert sh.Run.load(place / name).summary["cc"] == ["dx"], text


@needs_kernel
def test_two_settings_of_one_algorithm_run_together_but_not_those_that_stamp():
    traffic = [
        {"kind": "long-lived", "flows": 1, "jitter": "20ms", "cc": {"name": "inigo", "g": share}}
        for share in (0.0625, 0.125)
    ]
    scenario = tomllib.loads(SCENARIO) | {"traffic": traffic}
    run = run_live(Scenario(**scenario))
    assert run.summary["flows"]["offered"] == 2
    for table, headroom in zip(traffic, ("30us", "60us"), strict=True):
        table["cc"] = {"name": "dx", "headroom": headroom}
    with pytest.raises(ScenarioError, match="one set of parameters of dx"):
        prepare(Scenario(**scenario), world="kernel")


@needs_kernel
def test_a_sweep_over_an_algorithm_of_ours_has_all_its_runs(place):
    words = ["--over", "cc.headroom=30us,60us", "--seeds", "1", "--world", "kernel", "--out", "sweep"]
    done = subprocess.run(
        [*COMMAND, "sweep", "one.toml", "--cc", "dx", *SHORT, *words],
        cwd=place, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "attach" not in done.stderr
    assert len(list((place / "sweep/runs").glob("run=*"))) == 2, done.stderr


@needs_kernel
@pytest.mark.parametrize("cc", ["bbr", "cubic"])
def test_an_algorithm_of_the_kernels_own_runs_and_is_saved(cc, place):
    words = ["--world", "kernel", "--repeats", "1", "--out", "out", "--html", "page.html", "--plot"]
    done = cli_in(place, "run", "one.toml", "--cc", cc, *SHORT, *words)
    assert done.returncode in (0, 1), done.stderr  # 1: too late on a busy machine
    assert "Traceback" not in done.stderr
    assert sh.Run.load(place / "out").summary["cc"] == [cc]
    assert (place / "page.html").exists()
    assert cli_in(place, "report", "out").returncode == 0


@needs_kernel
def test_bbr_is_compared(place):
    words = ["--cc", "reno", "--cc", "bbr", "--world", "kernel", "--out", "out"]
    done = cli_in(place, "compare", "one.toml", *SHORT, *words)
    assert done.returncode in (0, 1), done.stderr
    assert {path.name for path in (place / "out").iterdir() if path.is_dir()} == {"reno", "bbr"}


def cli_in(place, *words):
    return subprocess.run([*COMMAND, *words], cwd=place, capture_output=True, text=True, check=False)


def test_warnings_that_fail_do_not_lose_the_run(monkeypatch):
    from shallows import runner

    def broken(_):
        raise KeyError("bbr")

    monkeypatch.setattr(runner.warnings, "of_run", broken)
    run = sh.run(Scenario(**tomllib.loads(SCENARIO) | {"duration": "1100ms"}))
    assert run.summary["warnings"][0].startswith("a bug in Shallows: the warnings are missing (KeyError")


RECEIVER = """
duration = "3s"
warmup = "1s"
topology = { kind = "star", hosts = 4, rate = "146Mbps", rtt = "1.06ms" }
network.buffer = "200pkt"
cc = { name = "reno", receiver = { kind = "inigo", resolution = "1ms" } }
hosts.rto = "internet"
traffic = [{ kind = "long-lived", flows = 3, from = [0, 1, 2], to = 3 }]
"""


@pytest.mark.parametrize("rtt", [pytest.param("1.06ms", marks=pytest.mark.nightly), "5ms"])
@in_real_time
def test_inigos_receiver_fills_a_link_in_the_kernel_and_not_in_the_packet_world(rtt):
    """Two algorithms under one name: docs/worlds.md does not compare them."""
    scenario = Scenario(**tomllib.loads(RECEIVER)).replace({"topology.rtt": rtt})
    used = [run.summary["bottleneck"]["utilization"] for run in (sh.run(scenario), run_live(scenario))]
    assert used[0] < 0.6
    assert used[1] > 0.9
    known = distance(scenario)
    assert (known.queue_pkt, known.utilization, known.goodput) == (None, None, None)


@needs_kernel
@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize("what", ["folder", "file", "version 1", "file of a group"])
def test_what_is_no_control_group_of_version_2_is_refused(what, dry, tmp_path, namespace, group):
    version_1 = [Path(line.split()[1]) for line in mounts() if line.split()[2] == "cgroup"]
    if what == "version 1" and not version_1:
        pytest.skip("no control groups of version 1 here")
    path = {
        "folder": tmp_path,
        "file": tmp_path / "file",
        "version 1": version_1[0] if version_1 else None,
        "file of a group": Path(group, "cgroup.procs"),
    }[what]
    (tmp_path / "file").touch()
    words = ["--iface", "lo", "--cgroup", str(path), *(["--dry-run"] if dry else [])]
    done = cli("live", "attach", "dx", *words, within=namespace)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{path}: it is ")
    assert f"which is below {root()}" in done.stderr
    assert "libbpf" not in done.stderr
    assert not Path("/run/shallows-live").exists()


@needs_kernel
def test_check_says_where_control_groups_of_version_2_are():
    assert f"cgroup v2  yes: {root()}\n" in cli("live", "check").stdout


def mounts():
    return Path("/proc/self/mounts").read_text().splitlines()


def root():
    return next(line.split()[1] for line in mounts() if line.split()[2] == "cgroup2")


@needs_kernel
def test_detach_without_an_attachment_says_so():
    done = cli("live", "detach")
    assert (done.returncode, done.stdout) == (0, "nothing is attached\n")


@pytest.mark.parametrize("word", ["attach", "detach", "status", "check"])
def test_a_program_that_is_killed_is_named(word, tmp_path):
    """As the kernel does when memory ends."""
    program = tmp_path / live.NAME
    program.write_text("#!/bin/sh\nkill -9 $$\n")
    program.chmod(0o755)
    words = ["dx", "--iface", "lo", "--host"] if word == "attach" else []
    code = f"import os; os.environ['SHALLOWS_LIVE'] = {str(program)!r}; {COMMAND[2]}"
    done = subprocess.run(
        [sys.executable, "-c", code, "live", word, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 137
    assert f"shallows: live {word}: shallows-live was ended by SIGKILL" in done.stderr


def test_a_run_whose_program_is_killed_says_so(tmp_path, monkeypatch):
    program = tmp_path / live.NAME
    program.write_text("#!/bin/sh\n[ $1 = sources ] || kill -9 $$\n")
    program.chmod(0o755)
    monkeypatch.setenv("SHALLOWS_LIVE", str(program))
    with pytest.raises(ScenarioError, match="ended by SIGKILL"):
        live.ask({}, "run")

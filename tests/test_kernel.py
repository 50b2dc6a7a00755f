"""The kernel world: what it refuses anywhere, and, where root and eBPF are, what real TCP does in it."""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import shallows as sh
from shallows import live
from shallows.errors import BooksError, ScenarioError
from shallows.run import prepare
from shallows.worlds.packet import request

SCENARIOS = Path(__file__).parent.parent / "scenarios"
TWO, FOUR = SCENARIOS / "kernel-two.toml", SCENARIOS / "kernel-dctcp-4.toml"
FIVE, RECEIVER = SCENARIOS / "kernel-inigo.toml", SCENARIOS / "kernel-receiver.toml"
INCAST, RRUL = SCENARIOS / "kernel-incast.toml", SCENARIOS / "kernel-rrul.toml"
TESTBED = SCENARIOS / "kernel-testbed.toml"
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


def run_live(scenario, **overrides):
    """A run of the kernel world; a machine that is too busy for one decides nothing."""
    try:
        return sh.run(scenario, world="kernel", **overrides)
    except BooksError as error:
        if "too late" not in str(error):
            raise
        pytest.skip(f"this machine is too busy: {error}")


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
    runs = {cc: run_live(TWO, cc__name=cc) for cc in ("dctcp", "reno")}
    runs["dx"] = run_live(TWO)
    delay = {cc: queueing_us(run) for cc, run in runs.items()}
    goodput = {cc: run.summary["flows"]["goodput_gbps"] for cc, run in runs.items()}
    assert delay["dctcp"] >= 8 * delay["dx"]
    assert delay["reno"] >= 50 * delay["dx"]
    assert goodput["dx"] >= 0.9 * goodput["dctcp"]
    assert runs["dx"].summary["bottleneck"]["utilization"] >= 0.9
    assert all(run.summary["lateness"]["accepted"] for run in runs.values())


@needs_kernel
def test_dctcp_is_the_same_in_the_packet_world_and_in_the_kernel():
    packet, kernel = (run.summary["bottleneck"] for run in (sh.run(FOUR), run_live(FOUR)))
    assert kernel["queue_mean_pkt"] == pytest.approx(packet["queue_mean_pkt"], rel=0.15)
    assert kernel["utilization"] == pytest.approx(packet["utilization"], abs=0.03)


@pytest.fixture(scope="module")
def five():
    """Five flows at 500 Mbps and 4 ms, of each algorithm, and of CUBIC with Inigo's receiver: run once."""
    runs = {cc: run_live(FIVE, cc__name=cc) for cc in ("inigo", "cubic", "reno")}
    return {**runs, "cubic to inigo": run_live(RECEIVER)}


@needs_kernel
@pytest.mark.parametrize("short", ["inigo", "cubic to inigo"])
def test_inigo_keeps_a_third_of_the_queue_of_cubic_and_reno(five, short):
    assert queueing_us(five["cubic"]) >= 3 * queueing_us(five[short])
    assert queueing_us(five["reno"]) >= 3 * queueing_us(five[short])
    # 0.94, as in the packet world, where nothing else wants the processors
    assert five[short].summary["bottleneck"]["utilization"] >= 0.8


def test_a_receiver_with_finer_timestamps_than_linux_has_is_refused():
    with pytest.raises(ScenarioError, match="the tick of a Linux sender"):
        prepare(RECEIVER, overrides={"cc.receiver.resolution": "1us"}, world="kernel")


@needs_kernel
def test_a_ping_is_as_quick_as_its_companions_let_it_be():
    """After RRUL: one link for Inigo, CUBIC and Reno and a ping; then for Inigo alone."""
    mixed = run_live(RRUL)
    alone = run_live(RRUL, traffic__1__cc="inigo", traffic__2__cc="inigo")
    shares = [mixed.summary["traffic"][i]["goodput_gbps"] for i in range(3)]
    assert shares[0] < 0.3 * max(shares), "Inigo yields to those that fill the queue, as in its paper"
    assert mixed.summary["flows"]["finished"] == 100, "fifty requests and fifty answers"
    ping = {name: run.summary["traffic"][3] for name, run in (("mixed", mixed), ("alone", alone))}
    # There and back are 10 ms; the others' queue of 250 packets is up to 30 ms.
    assert ping["alone"]["exchange_p50_us"] < 1.2 * 10_000
    assert ping["mixed"]["exchange_p50_us"] > 2 * ping["alone"]["exchange_p50_us"]


@needs_kernel
def test_the_testbed_of_dx():
    """Fig. 13a at half its rate: medians of 3 and 16 packets, delays 4.85 times apart; K = 20 packets."""
    queue = {}
    for cc in ({"name": "dctcp"}, {"name": "dx", "headroom": "30us"}):
        queue[cc["name"]] = run_live(TESTBED, cc=cc, duration="3s").summary["bottleneck"]["queue_mean_pkt"]
    assert 16 <= queue["dctcp"] <= 22
    assert queue["dctcp"] > 4 * queue["dx"]


@needs_kernel
def test_stamps_tell_delay_twenty_times_finer_than_the_kernels_round_trips():
    """On an idle cable: what else runs on the machine only adds, so the quietest of a few seconds counts."""
    said = [*COMMAND, "live", "run", "dx", "--json"]
    tries = []
    for _ in range(8):
        done = subprocess.run([*said, "--seconds", "1"], capture_output=True, text=True, check=True)
        told = json.loads(done.stdout)
        assert told["checksum_errors"] == 0
        stamps, kernel = told["one_way_delay"], told["kernel_rtt"]
        assert stamps["count"] == kernel["count"] > 1000
        tries.append((stamps["std_us"], kernel["std_us"]))
        if stamps["std_us"] < 5 and kernel["std_us"] > 20 * stamps["std_us"]:
            return
    if os.getloadavg()[0] > os.cpu_count():
        pytest.skip(f"this machine is too busy: {tries}")
    pytest.fail(f"standard deviations of stamps and of the kernel's round trips: {tries}")


@needs_kernel
def test_a_phantom_queue_in_the_emulated_switch_leaves_the_real_one_short():
    run = run_live(FOUR, network__marking={"kind": "phantom"}, duration="2s")
    bottleneck = run.summary["bottleneck"]
    # It drains at 0.95 of the rate, so the link is used so much and no more; step marking keeps 30 packets.
    assert bottleneck["utilization"] == pytest.approx(0.95, abs=0.03)
    assert bottleneck["queue_mean_pkt"] < 15


def test_bbr_is_an_algorithm_of_the_kernel_world_only():
    assert prepare(TWO, overrides={"cc": "bbr"}, world="kernel").flows.ccs[0].native
    with pytest.raises(ScenarioError, match="only --world kernel has it"):
        prepare(TWO, overrides={"cc": "bbr"})


@needs_kernel
def test_twenty_flows_at_once_lose_nothing_under_inigo():
    inigo, cubic = run_live(INCAST), run_live(INCAST, cc="cubic")
    assert inigo.summary["bottleneck"]["dropped"] == 0 < cubic.summary["bottleneck"]["dropped"]
    assert queueing_us(cubic) >= 3 * queueing_us(inigo)
    assert inigo.summary["flows"]["jain"] > 0.9


@needs_kernel
@pytest.mark.parametrize("after_s", [0.02, 0.1, 0.2, 0.6, 1.5])
def test_a_killed_run_leaves_nothing(after_s):
    before = calm()
    kill_after(after_s, "run", live.encode(request(prepare(TWO, world="kernel"))))
    assert settled(before) == before


@needs_kernel
@pytest.mark.parametrize("after_s", [0.1, 0.3, 0.8])
@pytest.mark.parametrize("iperf3", [True, False])
def test_a_killed_cable_leaves_nothing(after_s, iperf3):
    if iperf3 and not shutil.which("iperf3"):
        pytest.skip("no iperf3 (Debian's package iperf3)")
    before = calm()
    dx = {"name": "dx", "parameters": {}}
    told = {"control": dx, "seconds": 5, "rate_bps": 0, "iperf3": iperf3}
    kill_after(after_s, "two-hosts", live.encode(told))
    assert settled(before) == before


@needs_kernel
@pytest.mark.parametrize("after_s", [0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.15])
def test_a_killed_attach_leaves_nothing(after_s, group, namespace):
    before = calm(namespace)
    dx = {"name": "dx", "parameters": {}}
    text = live.encode({"control": dx, "interface": "lo", "control_group": group})
    kill_after(after_s, "attach", text, namespace)
    if Path("/run/shallows-live/complete").exists():
        subprocess.run([*namespace, live.program(), "detach"], stdout=subprocess.DEVNULL, check=True)
    assert settled(before, namespace) == before


@needs_kernel
@pytest.mark.parametrize("name", ["dx", "dctcp", "inigo", "receiver"])
def test_attach_gives_new_connections_the_algorithm_and_detach_takes_it_off(name, group):
    before = calm()
    script = [sys.executable, Path(__file__).with_name("attached.py"), name, group]
    done = subprocess.run(
        ["unshare", "--net", *script], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["attach"]["status"] == 0, told["attach"]["said"]
    assert told["during"] == (told["before"] if name == "receiver" else [f"shallows_{name}"] * 2)
    assert told["again"]["status"] == 2
    assert "attached already" in told["again"]["said"]
    assert told["detach"]["status"] == 0, told["detach"]["said"]
    assert told["after"] == told["before"]
    assert told["segments"][2] == told["segments"][0]
    assert (told["segments"][1] == "1") == (name == "dx")
    assert told["checksum_errors"] == 0
    assert settled(before) == before


@pytest.fixture
def group():
    """A control group whose sockets are watched; nobody else's are."""
    root = next(path for path in map(Path, ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"]) if path.exists())
    path = root / "shallows-test"
    path.mkdir()
    yield str(path)
    path.rmdir()


@pytest.fixture
def namespace():
    """Words that run a command in a network namespace of its own."""
    holder = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdin.write(b"\n")
    holder.stdin.flush()
    holder.stdout.read(1)
    yield ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
    holder.stdin.close()
    holder.wait()


def kill_after(seconds, word, text, within=()):
    """Start a command of the program and kill it."""
    command = [*within, live.program(), word]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    with suppress(BrokenPipeError):
        process.stdin.write(text)
        process.stdin.close()
    time.sleep(seconds)
    process.kill()
    process.wait()


def calm(within=()):
    """Traces once they no longer change: the kernel takes down what an earlier run had in the background."""
    found = traces(within)
    while (before := found) != (found := time.sleep(0.2) or traces(within)):
        pass
    return before


def settled(before, within=()):
    """Traces after the next command, as soon as they are those of before."""
    for _ in range(50):
        subprocess.run([*within, live.program(), "check"], stdout=subprocess.DEVNULL, check=True)
        if (found := traces(within)) == before:
            break
        time.sleep(0.1)
    return found


def traces(within=()):
    """Everything on this machine that a command makes, and what it must never touch."""
    groups = [Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")]
    loopback = subprocess.run(
        [*within, "ip", "-details", "link", "show", "lo"], capture_output=True, text=True, check=True
    )
    return {
        "namespaces": len(set(namespaces())),
        "devices": [name for name in os.listdir("/sys/class/net") if "shallows" in name],
        "groups": [path.name for group in groups if group.exists() for path in group.glob("shallows-*")],
        "attached": Path("/run/shallows-live").exists(),
        "mounts": "shallows" in Path("/proc/self/mounts").read_text(),
        "known": Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(),
        "default": Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text(),
        "ecn": Path("/proc/sys/net/ipv4/tcp_ecn").read_text(),
        "programs, maps, links": [numbers(kind) for kind in ("prog", "map", "link")],
        "loopback": loopback.stdout,
    }


def numbers(kind):
    """What of eBPF the kernel holds; None where there is no bpftool."""
    if not (bpftool := shutil.which("bpftool", path=os.environ["PATH"] + ":/usr/sbin")):
        return None
    done = subprocess.run([bpftool, "--json", kind, "show"], capture_output=True, text=True, check=True)
    return sorted(item["id"] for item in json.loads(done.stdout))


def namespaces():
    """The network namespace of every process."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield os.readlink(process / "ns" / "net")


def queueing_us(run):
    """Mean queueing delay of the bottleneck: the queue's, without the packet's own 24 us."""
    return run.summary["bottleneck"]["queue_mean_pkt"] * 24

"""What the program of the kernel world says to users who may not run it, and inside of namespaces."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from shallows.worlds import live
from test_kernel import cli, group, namespace, needs_kernel

__all__ = ["group", "namespace"]
pytestmark = [pytest.mark.kernel, needs_kernel]

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
NO_CAPABILITIES = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
USER_NAMESPACE = ["unshare", "--user", "--map-root-user"]


@pytest.fixture(scope="module")
def program():
    """A copy of the program where every user may run it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        copy = Path(shutil.copy(live.program(), folder))
        copy.chmod(0o755)
        yield copy


def said(*words, within=(), request=""):
    if within and not shutil.which(within[0]):
        pytest.skip(f"no {within[0]} (util-linux)")
    return subprocess.run([*within, *words], input=request, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("within", "lacks"),
    [
        (NOBODY, "user 65534 may not: run the command as root"),
        (NO_CAPABILITIES, "root lacks CAP_DAC_OVERRIDE, CAP_NET_ADMIN"),
        (USER_NAMESPACE, "root of a user namespace may not load eBPF programs"),
    ],
)
def test_without_privileges_each_command_says_what_is_missing(program, within, lacks):
    checked = said(program, "check", within=within)
    assert checked.returncode == 2
    assert "root       no: needs root" in checked.stdout
    assert lacks in checked.stdout
    for command in ("status", "detach", "run", "attach", "two-hosts"):
        done = said(program, command, within=within, request="{}")
        assert (done.returncode, done.stdout) == (2, "")
        assert lacks in done.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dcqcn", "dcqcn has no program for Linux: expected dctcp"),
        ("cubic", "cubic is the kernel's own: write"),
    ],
)
def test_only_the_kernels_own_algorithms_are_called_so(name, message, namespace):
    done = cli("live", "attach", name, "--iface", "lo", "--dry-run", within=namespace)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_others_cannot_write_where_links_are_pinned(namespace, group):
    assert cli("live", "attach", "dx", "--iface", "lo", "--cgroup", group, within=namespace).returncode == 0
    try:
        for place in map(Path, ("/run/shallows-live", "/run/shallows-live/links")):
            assert place.stat().st_mode & 0o077 == 0
    finally:
        assert cli("live", "detach", within=namespace).returncode == 0


@pytest.fixture
def named():
    """Words that run a command in a named network namespace, as `ip netns exec` does."""
    name = "shallows-test"
    subprocess.run(["ip", "netns", "add", name], check=True)
    yield ["ip", "netns", "exec", name]
    subprocess.run(["ip", "netns", "del", name], check=True)


def test_ip_netns_exec_runs_and_never_attaches_for_its_own_mounts_only(named, group, tmp_path):
    """It mounts a /sys without control groups, and its mounts end with the command."""
    checked = cli("live", "check", within=named)
    assert (checked.returncode, checked.stderr) == (0, "")
    short = [
        "--set",
        "duration=300ms",
        "--set",
        "warmup=50ms",
        "--set",
        "cc=reno",
        "--repeats",
        "1",
        "--json",
    ]
    run = cli(
        "run",
        "--out",
        str(tmp_path / "run"),
        str(Path(__file__).parents[1] / "scenarios" / "kernel-two.toml"),
        "--world",
        "kernel",
        *short,
        within=named,
    )
    assert "cgroup" not in run.stderr
    attached = cli("live", "attach", "dx", "--iface", "lo", "--cgroup", group, within=named)
    if attached.returncode == 0:
        # The mounts of process 1 could be entered: the links are there.
        assert Path("/run/shallows-live/links").exists()
        assert cli("live", "detach").returncode == 0
    else:
        assert "nsenter --net=" in attached.stderr
        assert not Path("/run/shallows-live").exists()

"""Large scenarios in a control group of 2 GB: each is refused, cut down or completed, and none is killed.

Sizes are drawn so that about half of the runs fit. After a run that was saved, a command repeats it for a
closer look. A run that takes long is interrupted: what it held by then was in memory.
"""

import os
import random
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attack import state

LIMIT = 2 * 10**9
PATIENCE_S = 10
KILLED = (-signal.SIGKILL, -signal.SIGABRT, -signal.SIGSEGV)


def attack(place: Path, dice: random.Random, count: int) -> Iterator[str]:
    """Run `count` large scenarios, and some commands on their results.

    Yield each scenario's command and outcome: "run refused", "run completed, why refused".
    """
    with _group() as group:
        for number in range(count):
            file = place / f"{number}.toml"
            file.write_text(_scenario(dice))
            words = ["run", file.name, "--out", f"out{number}"]
            if dice.random() < 0.2:
                words += ["--html", f"page{number}.html"]
            outcome = _outcome(place, words, group, file)
            then = ""
            if outcome == "completed":
                words = _closer(dice, f"out{number}", number)
                then = f", {words[0]} {_outcome(place, words, group, file)}"
            yield f"run {outcome}{then}"


def _outcome(place: Path, words: list[str], group: Path | None, file: Path) -> str:
    """What became of a command, such as "completed"; raises `AssertionError` if it was killed or broke."""
    process = state.start(place, words, lambda: _enter(group))
    began, interrupted = time.monotonic(), False
    while True:
        try:
            _, said = process.communicate(timeout=PATIENCE_S)
            break
        except subprocess.TimeoutExpired:
            interrupted = True
            if time.monotonic() - began > 6 * PATIENCE_S:  # the set-up of a run does not hear Ctrl-C
                process.kill()
                process.communicate()
                return "stopped while it was set up"
            process.send_signal(signal.SIGINT)
    assert process.returncode not in KILLED, f"{words} of {file} was killed:\n{said}"
    assert "Traceback" not in said, f"{words} of {file}:\n{said}"
    if process.returncode == 2:
        assert " expected " in said, f"{words} of {file}:\n{said}"
        return "refused for memory" if " of memory for " in said else "refused by another limit"
    if interrupted:
        return "interrupted"
    if "packets are in flight" in said:
        return "ended at the packets that fit"
    assert process.returncode == 0, f"{words} of {file}: {process.returncode}\n{said}"
    return "left paths out" if "of memory for" in said else "completed"


def _closer(dice: random.Random, out: str, number: int) -> list[str]:
    """A command that repeats the run in `out`."""
    words = [
        ["why", out, "--slowest", str(dice.choice([1, 10, 1000])), "--figure", f"why{number}.png"],
        ["at", out, "10us"],
        ["export", out, "--csv", f"csv{number}"],
        ["report", out, "--html", f"page{number}.html"],
    ]
    return dice.choice(words)


def _scenario(dice: random.Random) -> str:
    """A scenario whose network, flows, messages or samples are large, by a factor from 0.01 to 10."""

    def about(typical: float, least: int = 1) -> int:
        return max(int(typical * 10 ** dice.uniform(-2, 1)), least)

    hosts, rack = about(2000, 8), about(20, 2)
    topology = dice.choice(
        [
            f'kind = "star", hosts = {hosts}',
            f'kind = "dumbbell", hosts = {hosts}, rate = "100Gbps"',
            f'kind = "fat-tree", k = {dice.choice([8, 16, 32, 64])}',
            f'kind = "leaf-spine", leaves = {about(100)}, spines = {about(20)}, hosts_per_leaf = {rack}',
        ]
    )
    period = f'period = "{dice.choice([1, 10, 100])}us"'
    traffic = dice.choice(
        [
            f'kind = "poisson", sizes = "1KB", load = 0.01, flows = {min(about(1e6), 10**7)}',
            f'kind = "incast", times = {about(1000)}, {period}, size = "1KB"',
            f'kind = "incast", size = "{about(2e8)}B"',
            f'kind = "shuffle", size = "{about(1000)}B"',
            f'kind = "request-response", exchanges = {min(about(1000), 10**7)}',
            f'kind = "all-reduce", size = "{about(1e9)}B"',
            f'kind = "all-reduce", algorithm = "tree", size = "{about(1e8)}B", chunk = "{about(1e4)}B"',
            f'kind = "broadcast", size = "{about(1e8)}B", chunk = "{about(1e4)}B"',
            f'kind = "all-to-all", size = "{about(1e8)}B"',
            f'kind = "long-lived", flows = {min(about(1e5), 10**7)}, stop = "1ms"',
        ]
    )
    ends = '"2ms"' if "long-lived" in traffic else dice.choice(['"until-done"', '"2ms"', '"20ms"'])
    network = dice.choice(["", "balancing = 'packet'", f'buffer = "{about(1e6)}B"'])
    host = dice.choice(["", f'nic = "fifo", initial_window = "{about(100)}pkt"'])
    record = dice.choice(["", f'queues = "{about(100)}ns", ports = "all"', f'probes = "{about(1e3)}ns"'])
    return "\n".join(
        [
            f"duration = {ends}",
            f'cc = "{dice.choice(["dctcp", "reno", "dx"])}"',
            f"seed = {dice.randrange(1000)}",
            f"topology = {{{topology}}}",
            f"traffic = [{{{traffic}}}]",
            f"network = {{{network}}}",
            f"hosts = {{{host}}}",
            f"record = {{{record}}}",
        ]
    )


@contextmanager
def _group() -> Iterator[Path | None]:
    """A control group of `LIMIT` below the own one; None, with a note, if none can be made."""
    group = _own_group() / f"shallows-attack-{os.getpid()}"
    try:
        group.mkdir()
        files = ("memory.limit_in_bytes", "memory.max")
        file = next(name for name in files if (group / name).exists())
        (group / file).write_text(str(LIMIT))
    except (OSError, StopIteration) as error:
        print(f"no control group ({error}): RLIMIT_DATA instead")
        if group.exists():
            group.rmdir()
        yield None
        return
    try:
        yield group
    finally:
        group.rmdir()


def _own_group() -> Path:
    """The folder of the own control group for memory, version 1 or 2."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return Path("/sys/fs/cgroup/memory") / path.lstrip("/")
    return Path("/sys/fs/cgroup") / path.lstrip("/")


def _enter(group: Path | None) -> None:
    """Put this process, before it becomes a command, under the limit."""
    if group is None:
        resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    else:
        (group / "cgroup.procs").write_text(str(os.getpid()))

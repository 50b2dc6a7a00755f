"""Signals at random times to series of runs in real time: what is kept, what is said, and what is left."""

import json
import math
import os
import random
import re
import signal
import sys
import time

import pytest

import commands
from test_kernel import MISSING, calm, settled

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform != "linux", reason="worlds in real time need Linux"),
]

SHORT = """
duration = "1200ms"
warmup = "500ms"
topology = { kind = "dumbbell", hosts = 2, rate = "20Mbps", edge_rate = "200Mbps", rtt = "4ms" }
network = { buffer = "60pkt" }
traffic = [{ kind = "long-lived", jitter = "20ms" }]
"""


def numbers(part):
    """All numbers of a summary."""
    if isinstance(part, dict):
        return [number for value in part.values() for number in numbers(value)]
    if isinstance(part, list):
        return [number for value in part for number in numbers(value)]
    return [part] if isinstance(part, int | float) else []


def judged(folder, stdout, stderr):
    """The number of finished runs that an interrupted command has kept; its numbers are possible."""
    assert "Traceback" not in stderr
    assert not re.search(r"\b(nan|inf)\b", stdout)
    if not folder.exists():
        assert "interrupted" in stderr
        return 0
    summary = json.loads((folder / "summary.json").read_text())
    assert all(math.isfinite(number) for number in numbers(summary))
    assert summary["interrupted"]
    port, spread = summary["bottleneck"], summary["spread"]
    assert port["utilization"] is None or 0 <= port["utilization"] <= 1.01
    assert port["queue_mean_pkt"] is None or 0 <= port["queue_mean_pkt"] <= 60
    measured_s = summary.get("interrupted_at_s", 1.2) - 0.5
    # Applications of the kernel world read 64 KiB at a time.
    assert (summary["flows"]["goodput_gbps"] or 0) <= 0.02 + 2 * 2**16 * 8e-9 / max(measured_s, 1e-9)
    for quantity, most in (("utilization", 1.01), ("queue_mean_pkt", 60), ("goodput_gbps", 0.0215)):
        if quantity in spread:
            assert 0 <= spread[quantity]["least"] <= spread[quantity]["most"] <= most
    ended = spread["interrupted"]
    assert ended["run"] == (spread["runs"] + 1 if spread["runs"] < 3 else None)
    assert "INTERRUPTED" in stdout
    if spread["runs"]:
        assert port["utilization"] > 0.3
        assert "interrupted_at_s" not in summary
    return spread["runs"]


@pytest.mark.parametrize(("world", "cc"), [("wire", "dctcp"), ("kernel", "dx"), ("kernel", "reno")])
def test_a_signal_at_any_time_keeps_what_is_finished(world, cc, tmp_path):
    """Twenty times each. Later in the series than a run takes, at least one finished run is there."""
    if world == "kernel" and MISSING:
        pytest.skip(f"no kernel world here: {MISSING}")
    seed = random.SystemRandom().randrange(2**32)
    draws, kept, longest_s, whole = random.Random(seed), [], 0.0, 0
    before = calm() if world == "kernel" else None
    (tmp_path / "short.toml").write_text(SHORT)
    for number in range(20):
        folder = tmp_path / f"out-{number}"
        words = ("--world", world, "--cc", cc, "--repeats", "3", "--out", str(folder))
        process = commands.Process("run", "short.toml", *words, cwd=tmp_path)
        time.sleep(draws.uniform(0.3, 8.0 if cc == "dx" else 6.0))
        process.send_signal(draws.choice([signal.SIGINT, signal.SIGTERM]))
        sent = time.monotonic()
        status = process.wait(60)
        took_s = time.monotonic() - sent
        stdout, stderr = process.communicate()
        if status != 130:  # it came after the end
            assert status in (0, 1), (number, stderr)
            assert "interrupted" not in stderr
            whole += 1
            continue
        longest_s = max(longest_s, took_s)
        kept.append(judged(folder, stdout, stderr))
    print(
        f"seed {seed}, load {os.getloadavg()[0]:.1f}: {longest_s:.2f} s at most; {whole} whole,"
        f" finished runs of the others {kept}"
    )
    assert before is None or settled(before) == before

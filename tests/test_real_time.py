"""Series of runs in real time, without real time: interrupts of a series, and the lock of a machine."""

import json
import math
import os
import stat
import subprocess
import sys

import pytest

import shallows as sh
from shallows import _core
from shallows.algorithms.algorithm import traits_of
from shallows.errors import ScenarioError
from shallows.printing.report import run_report
from shallows.worlds import live, machine, packet, real_time

SLOW = {
    "duration": "200ms",
    "warmup": "100ms",
    "topology": {"kind": "dumbbell", "hosts": 2, "rate": "20Mbps", "edge_rate": "80Mbps", "rtt": "4ms"},
    "cc": "dctcp",
    "traffic": [{"kind": "long-lived"}],
}
SCENARIO = sh.Scenario(**SLOW)
LATE = {"mean_us": 1.0, "p99_us": 1.0, "p999_us": 1.0, "max_us": 1.0, "count": 1}


def answer(seconds=0.2, *, interrupted=False, reason=None):
    """The answer of the packet world for this long, as that of a world in real time."""

    def ends(now_ps, *_):
        if now_ps >= seconds * 1e12:
            raise KeyboardInterrupt

    one = sh.Scenario(**SLOW | {"duration": f"{seconds}s", "warmup": f"{min(seconds / 2, 0.1)}s"})
    answered = _core.simulate(packet.request(one), ends)
    if seconds <= 0.1:
        answered["measured_ps"] = 0
    late = {"reason": reason, "round_trip_us": 4000.0, "deliveries": LATE, "looks": LATE}
    return {
        **answered,
        "interrupted": interrupted,
        "lateness": late,
        "books": {"closed": True, "problems": []},
    }


def series(*answers, repeats=3):
    """The run of a series of these answers; an exception is raised where it stands."""
    given = iter(answers)

    def ask(_):
        one = next(given)
        if isinstance(one, BaseException):
            raise one
        return one

    return real_time.median_run(SCENARIO, ask, "wire", repeats=repeats, attempts=5)


def numbers(part):
    """All numbers of a summary."""
    if isinstance(part, dict):
        return [number for value in part.values() for number in numbers(value)]
    if isinstance(part, list | tuple):
        return [number for value in part for number in numbers(value)]
    return [part] if isinstance(part, int | float) else []


def printed(run):
    """The report of a run, which was saved and read again."""
    summary = json.loads(json.dumps(run.summary))
    assert all(math.isfinite(number) for number in numbers(summary))
    return "\n".join(part for part in run_report(summary) if isinstance(part, str))


@pytest.mark.parametrize(
    ("second", "at"),
    [
        (answer(0.15, interrupted=True), " at 150ms"),
        (answer(0.05, interrupted=True), " at 50ms"),  # in the warm-up: nothing was measured
        (KeyboardInterrupt(), ""),
    ],
)
def test_a_signal_in_a_later_run_keeps_the_finished_ones(second, at):
    run = series(answer(), second)
    assert run.interrupted
    assert run.summary["spread"]["runs"] == 1
    assert run.summary["spread"]["wanted"] == 3
    assert run.summary["spread"]["interrupted"]["run"] == 2
    assert run.summary["duration_s"] == pytest.approx(0.2)
    # 20 Mbps are shared by two flows without an end.
    assert 0.9 < run.summary["bottleneck"]["utilization"] <= 1.0
    assert (
        f"repeated    1 of 3 times: the spread between runs is unknown; INTERRUPTED in run 2{at},"
        in printed(run)
    )


def test_a_signal_in_the_third_run_keeps_the_spread_of_two():
    run = series(answer(), answer(), answer(0.15, interrupted=True))
    assert run.interrupted
    text = printed(run)
    assert "repeated    2 of 3 times: utilisation" in text
    assert "INTERRUPTED in run 3 at 150ms" in text


def test_a_signal_that_comes_too_late_to_shorten_a_run_ends_the_series():
    """The kernel world has the whole run, and a signal came before the answer."""
    run = series(answer(interrupted=True))
    assert run.interrupted
    assert run.summary["spread"]["runs"] == 1
    assert run.summary["spread"]["interrupted"] == {"run": 2, "at_s": None}
    run = series(answer(interrupted=True), repeats=1)
    assert run.interrupted
    assert "INTERRUPTED after the last run" in printed(run)


@pytest.mark.parametrize("seconds", [0.05, 0.15])
def test_a_signal_in_the_first_run_returns_its_part(seconds):
    run = series(answer(seconds, interrupted=True))
    assert run.interrupted
    assert run.summary["interrupted_at_s"] == pytest.approx(seconds, rel=0.02)
    assert "repeated    0 of 3 times" in printed(run)


def test_a_signal_before_the_first_answer_raises_with_its_reason():
    with pytest.raises(KeyboardInterrupt, match="a call that does not end"):
        series(KeyboardInterrupt("a call that does not end"))


def test_an_interrupted_run_that_was_late_does_not_count():
    with pytest.raises(KeyboardInterrupt, match="too late to be kept"):
        series(answer(0.15, interrupted=True, reason="datagrams were lost"))
    run = series(answer(), answer(interrupted=True, reason="late"))
    assert run.summary["spread"]["runs"] == 1
    assert run.summary["spread"]["interrupted"]["run"] == 2


def test_the_answer_of_a_program_that_a_signal_met_is_kept(tmp_path, monkeypatch):
    """The program of the kernel world has a whole answer, although Ctrl-C came: the series learns of it."""
    program = tmp_path / "program"
    program.write_text(
        f"#!{sys.executable}\nimport os, signal, sys\nsys.stdin.read()\n"
        "signal.signal(signal.SIGINT, lambda *_: print('\"whole\"', flush=True) or os._exit(0))\n"
        "os.kill(os.getppid(), signal.SIGINT)\nsignal.pause()\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(live, "program", lambda: program)
    with pytest.raises(live.Interrupted) as signal:
        live.ask({})
    assert signal.value.answer == "whole"


def test_a_run_of_a_comparison_hears_that_it_is_to_end(tmp_path, monkeypatch):
    """It is in a thread, which gets no signal: the report of progress raises."""
    program = tmp_path / "program"
    program.write_text(
        f"#!{sys.executable}\nimport os, signal, sys\n"
        "signal.signal(signal.SIGINT, lambda *_: print('\"part\"', flush=True) or os._exit(0))\n"
        f"open({str(tmp_path / 'ready')!r}, 'w').close()\nsys.stdin.read()\nsignal.pause()\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(live, "program", lambda: program)

    def hears():
        if (tmp_path / "ready").exists():
            raise KeyboardInterrupt

    with pytest.raises(live.Interrupted) as signal:
        live.ask({}, hears=hears)
    assert signal.value.answer == "part"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "folder", lambda: tmp_path)
    return tmp_path


def test_runs_wait_for_each_other_and_say_for_what(place):
    holds = (
        "import sys; from pathlib import Path; from shallows.worlds import machine\n"
        f"machine.folder = lambda: Path({str(place)!r})\n"
        "sys.argv = ['/bin/shallows', 'run', 'x\\x1b.toml']\n"
        "with machine.alone(): print('has it', flush=True); sys.stdin.read()\n"
    )
    said = []
    with subprocess.Popen(
        [sys.executable, "-c", holds], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "has it\n"

        def tell(line):
            said.append(line)
            other.stdin.close()  # now it lets go

        with machine.alone(tell=tell):
            pass
    assert said == [
        f"waits for process {other.pid} (shallows run x\\x1b.toml), which uses this machine in real time"
    ]
    with machine.alone(tell=tell):
        pass
    assert len(said) == 1


def test_the_lock_of_root_is_where_nobody_else_can_open_it():
    folder = machine.folder()
    assert folder.stat().st_uid == os.geteuid()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    if os.geteuid() == 0 and os.access("/run", os.W_OK):
        assert str(folder) == "/run/shallows"


@pytest.mark.parametrize("wrong", ["open to others", "a link"])
def test_a_folder_that_others_can_enter_is_refused(wrong, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr("os.access", lambda *_: False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    theirs = tmp_path / f"shallows-{os.geteuid()}"
    if wrong == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        theirs.symlink_to("elsewhere")
    else:
        theirs.mkdir()
        theirs.chmod(0o777)
    with pytest.raises(ScenarioError, match="a folder that only you can enter"):
        machine.folder()


def test_an_unknown_algorithm_may_measure_delays():
    assert not traits_of("dctcp")["reacts_to_delay"]
    for name in ("dx", "swift", "nscc", "mrc", "Aimd", "one of next year"):
        assert traits_of(name)["reacts_to_delay"]

"""What a run says while it goes on."""

import re
import time

import pytest

import shallows as sh
from shallows.printing import progress
from shallows.printing.progress import count

TWO = sh.Scenario(
    name="two",
    duration="2s",
    topology={"kind": "dumbbell", "hosts": 2, "rate": "10Gbps", "rtt": "20us"},
    cc={"name": "fixed", "window": 10},
    traffic=[{"kind": "long-lived", "flows": 2}],
)


def test_off_a_terminal_a_long_run_says_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(progress, "SILENT_S", 0)
    sh.run(TWO, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(line.startswith("two: ") and "% done" in line and "s simulated" in line for line in lines)


def test_a_line_of_a_world_without_packets_has_no_speed(monkeypatch, capsys):
    monkeypatch.setattr(progress, "SILENT_S", 0)
    progress.Progress().of(TWO, "two-fluid")(1_000_000_000_000, 0, 0)
    assert capsys.readouterr().err.startswith("two-fluid: 50.0% done, 0 flows finished, 1s simulated, about ")


def test_a_short_run_and_one_that_nobody_watches_say_nothing(capsys):
    sh.run(TWO.replace({"duration": "1ms"}), progress=True)
    sh.run(TWO)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (950, "950"),
        (12_345, "12.3 k"),
        (7_200_000, "7.20 M"),
        (999_700, "1.00 M"),
        (9.49e9, "9.49 G"),
    ],
)
def test_a_count_has_three_digits(number, text):
    assert count(number) == text


def test_work_between_runs_says_that_it_goes_on(capsys, monkeypatch):
    """A line after each silent interval, and none while a run speaks."""
    monkeypatch.setattr(progress, "SILENT_S", 0.05)
    with progress.Progress() as bars, bars.steadily("why ring"):
        time.sleep(0.18)
    lines = capsys.readouterr().err.splitlines()
    assert 1 <= len(lines) <= 3
    assert all(re.fullmatch(r"why ring: working for \d+ ms", line) for line in lines)

"""The table of nightly checks: what is due, and what takes longer than it may."""

import os
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

import nightly

pytestmark = pytest.mark.repository

TODAY = date(2026, 11, 29)


def page(**rows):
    """A page on which every part passed today, but for these rows."""
    passed = dict.fromkeys(nightly.PARTS, f"0123456789 | {TODAY} | passed | 3 | 7 passed")
    return nightly.HEAD + "".join(f"| {part} | {row} |\n" for part, row in {**passed, **rows}.items())


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ("0123456789 | 2026-11-15 | passed | 3 | ok", None),
        ("0123456789 | 2026-11-14 | passed | 3 | ok", "soak: passed 15 days ago at 0123456789"),
        ("0123456789 | 2026-11-14 | skipped | 0 | no root", "soak: skipped 15 days ago at 0123456789"),
        ("0123456789 | 2026-11-29 | failed (1) | 3 | no", "soak: failed (1) on 2026-11-29 at 0123456789"),
        (
            "0123456789 | 2026-11-29 | interrupted | 150 | 3 of 5",
            "soak: interrupted on 2026-11-29 at 0123456789",
        ),
    ],
)
def test_a_part_is_due_that_is_older_than_14_days_or_did_not_pass(row, line):
    assert nightly.due(page(soak=row), TODAY) == ([line] if line else [])


def test_a_part_that_never_ran_is_due():
    assert nightly.due(nightly.HEAD, TODAY) == [f"{part}: never ran" for part in nightly.PARTS]


@pytest.mark.parametrize(
    ("command", "status", "last"),
    [
        ("echo one; exit 3", 3, "one"),
        ("echo 'a | b'; exit 0", 0, "a / b"),
        ("echo begun; sleep 60", nightly.INTERRUPTED, "begun"),
    ],
)
def test_a_part_has_its_status_its_last_line_and_an_end(command, status, last):
    found, seconds, line = nightly.ran(command, most_s=0.2)
    assert (found, line) == (status, last)
    assert seconds < 10


def test_ctrl_c_ends_the_processes_of_a_part():
    """The part has a process group of its own, to which the terminal sends nothing."""
    code = "import nightly; nightly.ran('echo $$; exec sleep 60')"
    night = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    part = int(night.stdout.readline())
    night.send_signal(signal.SIGINT)
    assert night.wait(20) != 0
    with pytest.raises(ProcessLookupError):
        os.kill(part, 0)

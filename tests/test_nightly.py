"""The table of nightly checks: what is due, and what takes longer than it may."""

import os
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

import mutants
import nightly
from attack import __main__ as attack

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
        ("echo ended at number 3 of 5; exit 124", nightly.INTERRUPTED, "ended at number 3 of 5"),
        ("echo 'skipped: no toolchain'", nightly.SKIPPED, "skipped: no toolchain"),
        ("echo '7 skipped in 0.12s'", nightly.SKIPPED, "7 skipped in 0.12s"),
        ("echo '6 passed, 1 skipped in 0.12s'", 0, "6 passed, 1 skipped in 0.12s"),
        ("printf 'all:\\n\\t@echo made\\n' | MAKELEVEL=1 make -f -", 0, "made"),
    ],
)
def test_a_part_has_its_status_its_last_line_and_an_end(command, status, last):
    found, seconds, line = nightly.ran(command, most_s=0.2 if "sleep" in command else 60.0)
    assert (found, line) == (status, last)
    assert seconds < 60


@pytest.mark.parametrize("hears", ["", "trap '' INT; "])
def test_ctrl_c_ends_the_processes_of_a_part(hears):
    """The part has a process group of its own, to which the terminal sends nothing; it may not hear of it."""
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # in the background too
    code += f"""; import nightly; nightly.LAST_S = 1; nightly.ran("{hears}echo $$; exec sleep 60", 60)"""
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


@pytest.fixture
def night(tmp_path, monkeypatch):
    """Begins a night of a commit with three parts, one of which fails until a file is there."""
    log, file = tmp_path / "log", tmp_path / "there"
    parts = {
        "good": nightly.Part(1, (f"echo good >> {log}", f"echo better >> {log}")),
        "bad": nightly.Part(1, (f"echo first >> {log}", f"echo second >> {log}; ls {file}", "echo third")),
        "unfinished": nightly.Part(1, (f"echo begun >> {log}; ls {file} || exit 124",)),
    }
    monkeypatch.setattr(nightly, "PARTS", parts)
    monkeypatch.setattr(nightly, "PAGE", tmp_path / "nightly.md")
    monkeypatch.setattr(nightly, "STATES", tmp_path / "states")

    def run(commit="0123456789"):
        night = nightly.Night(commit)
        for part in night.left():
            night.run(part)
        ran, _ = log.read_text().split(), log.unlink()
        return night, ran

    run.file = file
    return run


def test_a_night_goes_on_with_what_has_not_passed_on_its_commit(night):
    first, ran = night()
    assert ran == ["good", "better", "first", "second", "begun"]
    results = [first.rows[part].split(" | ")[2] for part in nightly.PARTS]
    assert results == ["passed", "failed (2)", "interrupted"]
    assert first.summary() == "On 0123456789 1 of 3 parts passed and 0 were skipped, in 0 minutes."
    night.file.touch()
    second, ran = night()
    assert ran == ["second", "begun"]
    assert second.left() == []
    assert nightly.PAGE.read_text().endswith(
        "On 0123456789 3 of 3 parts passed and 0 were skipped, in 0 minutes.\n"
    )
    assert night("1234567890")[1] == ["good", "better", "first", "second", "begun"]


def test_all_parts_fit_into_a_night():
    assert sum(part.minutes for part in nightly.PARTS.values()) <= nightly.NIGHT_MINUTES
    assert max(part.minutes for part in nightly.PARTS.values()) <= 150


def test_each_file_of_tests_is_in_one_step():
    """Those of the kernel apart, of which a step has all."""
    steps = " ".join(step for name in ("python", "wire") for step in nightly.PARTS[name].steps).split()
    places = [word for word in steps if word.startswith("tests/")]
    root = nightly.ROOT
    chosen = [
        path
        for place in places
        for found in root.glob(place)
        for path in [found, *found.glob("**/test_*.py")]
    ]
    assert sorted(path for path in chosen if path.suffix == ".py") == sorted(
        (root / "tests").rglob("test_*.py")
    )


@pytest.mark.parametrize(
    ("count", "status", "last"), [(3, 124, "ended at number 0 of 3"), (0, 0, "0 scenarios in 0 s: {}")]
)
def test_a_soak_that_ends_by_its_time_has_not_passed(tmp_path, count, status, last):
    done = subprocess.run(
        [sys.executable, "-m", "soak", f"--count={count}", "--seconds=0", "--state", tmp_path / "state"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (status, last), done.stderr


def test_attacks_that_end_by_their_time_have_not_passed_and_go_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(attack, "PARTS", {"kills": lambda place, dice, count: ["whole"] * count})
    state = tmp_path / "state.json"
    words = ["attack", "--kills=2", "--seconds=0", f"--state={state}"]
    for status, last in ((124, "ended with 1 kills left"), (0, "1 kills in 0 s: {'whole': 1}")):
        monkeypatch.setattr(sys, "argv", words)
        monkeypatch.setenv("PYTHONPATH", "")
        assert attack.main() == status
        assert capsys.readouterr().out.splitlines()[-1] == last
    assert not state.exists()


def test_a_suite_fails_that_finds_fewer_mutations_than_nine_of_ten_by_more_than_chance():
    """By tables of the binomial distribution: 8 or fewer of 12 come in 2.6 % of draws, 9 or fewer in 11 %."""
    assert [found for found in range(13) if mutants.too_few(found, 12)] == [*range(9)]
    assert not mutants.too_few(0, 0)

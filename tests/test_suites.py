"""Suites of tests: which target runs a test, and that some target runs each."""

import re
from pathlib import Path

import pytest

import suites
from suites import Row

TESTS = Path(__file__).parent
FILE = "tests/test_suites.py"
"""A file that exists."""


def test_the_cheapest_tests_are_fast_and_the_dearest_nightly(monkeypatch):
    """4 + 1 + 2 + 3 = 10 s are fast, 5 s more are thorough, and 6 s no longer fit."""
    monkeypatch.setattr(suites, "FAST_S", 10.0)
    monkeypatch.setattr(suites, "THOROUGH_S", 5.0)
    times = {
        "a::first": 1.0,
        "a::second": 3.0,
        "b::third": 2.0,
        "b::fourth": 5.0,
        "b::fifth": 6.0,
        "a::other": 4.0,
    }
    expected = {
        "a": Row(8.0), "b": Row(2.0), "b::fourth": Row(5.0, "thorough"), "b::fifth": Row(6.0, "nightly")
    }  # fmt: skip
    assert suites.divided(times, {}) == suites.divided(dict(reversed(times.items())), {}) == expected


def test_equal_times_are_divided_by_name(monkeypatch):
    monkeypatch.setattr(suites, "FAST_S", 4.0)
    rows = suites.divided({"c::x": 2.0, "b::x": 2.0, "a::x": 2.0}, {})
    assert rows == {"a": Row(2.0), "b": Row(2.0), "c::x": Row(2.0, "thorough")}


def test_a_measurement_replaces_the_rows_of_its_files():
    """1.4 times is the same, 1.6 times is not; what is no longer dear is fast: 0.1 + 0.05 s of the file."""
    other = "tests/test_each.py"
    kept = {f"{FILE}::{name}": Row(1.0, "nightly") for name in ("gone", "same", "dearer", "cheaper")}
    kept |= {FILE: Row(3.0), other: Row(3.0), f"{other}::one": Row(2.0, "thorough")}
    kept |= {"tests/test_gone.py": Row(1.0), "tests/test_gone.py::one": Row(1.0, "thorough")}
    measured = {"same": 1.4, "dearer": 1.6, "cheaper": 0.1, "small": 0.05, "new": 0.4}
    assert suites.renewed({f"{FILE}::{test}": seconds for test, seconds in measured.items()}, kept) == {
        FILE: Row(pytest.approx(0.15)),
        f"{FILE}::same": Row(1.0, "nightly"),
        f"{FILE}::dearer": Row(1.6, "nightly"),
        f"{FILE}::new": Row(0.4, "thorough"),
        other: Row(3.0),
        f"{other}::one": Row(2.0, "thorough"),
    }


def test_rows_are_read_as_they_were_written(tmp_path, monkeypatch):
    monkeypatch.setattr(suites, "TIMES", tmp_path / "times.txt")
    rows = {"tests/a.py": Row(0.5), "tests/a.py::b[c d]": Row(1.25, "thorough")}
    suites.write(rows)
    assert suites.on_file() == rows


def test_rows_without_a_test_are_named():
    """Not those of a file that was not collected."""
    rows = {FILE, f"{FILE}::here", f"{FILE}::renamed", "tests/test_each.py::one", "tests/test_gone.py"}
    assert suites.without_test(rows, [f"{FILE}::here"]) == [
        "tests/test_gone.py",
        f"{FILE}::renamed",
    ]


def test_tests_share_the_time_of_a_fixture():
    """6 s of a fixture, whichever of its three tests made it."""
    measurement = suites.Measurement()
    measurement.note("a", 0.5, {"module": 6.0}, ["module"])
    measurement.note("b", 0.25, {}, ["module"])
    measurement.note("c", 0.0, {}, ["module"])
    measurement.note("d", 1.0, {}, [])
    assert measurement.times() == {"a": 2.5, "b": 2.25, "c": 2.0, "d": 1.0}


def test_each_file_with_tests_is_collected():
    """A function of a test in another file would never run."""
    has_tests = re.compile(r"^\s*(?:async )?def test_\w+\(", re.MULTILINE)
    files = [path for path in sorted(TESTS.rglob("*.py")) if has_tests.search(path.read_text())]
    assert [path.name for path in files if not path.name.startswith("test_")] == []

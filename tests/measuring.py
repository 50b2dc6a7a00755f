"""A plugin of pytest: the processor time of each test, with that of its processes.

`--measure` writes it to processor_times.txt (see suites.py); without it, a dear test that has no row fails
the session.
"""

import importlib
import os
import time
from multiprocessing import forkserver
from pathlib import Path

import pytest

import commands
import shallows as sh
import suites

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
WAITS = 1 / 8
"""What a second of a test counts at least, up to `DEAR_S`, so that tests that wait are not fast."""


def processor_s() -> float:
    """Seconds of processor time of this process, and of the processes of it and its server that have
    ended."""
    own = sum(os.times()[:4])
    stat = Path(f"/proc/{forkserver._forkserver._forkserver_pid}/stat")
    if not stat.exists():
        return own
    ended = stat.read_text().rpartition(")")[2].split()[13:15]
    return own + TICK_S * sum(map(int, ended))


class Plugin:
    """Measures tests where they run, and gathers what was measured in the process that reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.measures = config.getoption("--measure")
        self.is_worker = hasattr(config, "workerinput")
        self.measurement = suites.Measurement()
        self.began = self.clock = 0.0
        self.made: dict[str, float] = {}
        self.unmarked = set[str]()
        self.over: list[str] = []

    def pytest_sessionstart(self) -> None:
        """What the first test of a process would import and compile is no cost of it."""
        if self.measures:
            for name in commands.PRELOAD:
                importlib.import_module(name)
            str(sh.run(Path(__file__).with_name("small.toml")))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self):
        self.began, self.clock, self.made = processor_s(), time.monotonic(), {}
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        began = processor_s()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                name = _name(fixturedef, getattr(request, "param_index", 0))
                self.made[name] = self.made.get(name, 0.0) + processor_s() - began

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        if call.when == "teardown":
            own = processor_s() - self.began - sum(self.made.values())
            if self.measures:
                own = max(own, min(WAITS * (time.monotonic() - self.clock), suites.DEAR_S))
            item.user_properties.append(("processor_s", [own, self.made, _shared(item)]))
        return (yield)

    def pytest_runtest_logreport(self, report) -> None:
        if report.when == "teardown" and not self.is_worker:
            properties = dict(report.user_properties)
            if "processor_s" in properties:
                self.measurement.note(report.nodeid, *properties["processor_s"])
            if not any(mark in report.keywords for mark in suites.MARKED):
                self.unmarked.add(report.nodeid)

    def pytest_sessionfinish(self, session) -> None:
        """Write the times, or hold tests without a row to `MOST_WITHOUT_ROW_S`."""
        if self.is_worker:
            return
        times, kept = self.measurement.times(), suites.on_file()
        if self.measures:
            if session.exitstatus != pytest.ExitCode.INTERRUPTED:
                whole = session.config.args_source is pytest.Config.ArgsSource.TESTPATHS
                unmarked = {test: seconds for test, seconds in times.items() if test in self.unmarked}
                suites.write((suites.divided if whole else suites.renewed)(unmarked, kept))
            return
        self.over = [
            f"{test} took {seconds:.1f} s of processor time and has no row; {suites.remedy(test)}"
            for test, seconds in times.items()
            if seconds > suites.MOST_WITHOUT_ROW_S and test in self.unmarked - kept.keys()
        ]
        if self.over:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter) -> None:
        times = self.measurement.times()
        terminalreporter.write_line(f"{sum(times.values()):.0f} s of processor time in {len(times)} tests")
        for line in self.over:
            terminalreporter.write_line(line, red=True)


def _shared(item: pytest.Item) -> list[str]:
    """The names of the fixtures of a test that other tests have too."""
    indices = getattr(getattr(item, "callspec", None), "indices", {})
    found = item._fixtureinfo.name2fixturedefs.items()
    return [_name(one[-1], indices.get(name, 0)) for name, one in found if one[-1].scope != "function"]


def _name(fixturedef, index: int) -> str:
    """A name for a fixture with one of its parameters."""
    return f"{fixturedef.baseid}::{fixturedef.argname}::{index}"

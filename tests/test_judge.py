"""The judge: arithmetic of families, verdicts by hand, walls around a class, one page for any threads."""

import json
import math
import os
import runpy
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pydantic
import pytest

import shallows as sh
from each import each
from shallows.judging import draws, expressions, family, plan, running, subject, verdict
from shallows.judging.family import Check, Row

SMALL = (Path(__file__).parent / "cases/judge/inputs/small.toml").read_text()
CLASSES = """
import math
import os
import time


class Fine:
    def __init__(self, initial_window, line_rate):
        self.window = initial_window

    def on_ack(self, now, ack):
        if now > 0.01:
            self.late()

    def on_loss(self, now, loss):
        pass

    def decision(self):
        return self.window

    def late(self):
        pass


class Loops(Fine):
    def late(self):
        while True:
            pass


class Allocates(Fine):
    kept = []

    def late(self):
        while True:
            self.kept.append(bytearray(10_000_000))


class Raises(Fine):
    def late(self):
        raise ValueError("on purpose")


class Nan(Fine):
    def late(self):
        self.window = math.nan


class Infinite(Fine):
    def late(self):
        self.window = math.inf


class Negative(Fine):
    def late(self):
        self.window = -3


class Text(Fine):
    def late(self):
        self.window = "many"


class Connects(Fine):
    def late(self):
        import socket

        try:
            socket.create_connection(("127.0.0.1", PORT))
        except OSError:
            pass


class Writes(Fine):
    def late(self):
        open("owned", "w")


class Reads(Fine):
    def late(self):
        open("/etc/hostname")


class Prints(Fine):
    def late(self):
        print("x" * 100_000_000)


class Exits(Fine):
    def late(self):
        os._exit(0)


class Kills(Fine):
    def late(self):
        os.kill(os.getppid(), 9)


class Starts(Fine):
    def late(self):
        os.system("true")
"""
SLOW = """

class Slow(Fine):
    def decision(self):
        return 1.0
"""
SAID = {
    "Loops": "it did not return from a call, in line 29 of mine.py",
    "Allocates": "MemoryError",
    "Raises": "ValueError: on purpose, in line 42 of mine.py",
    "Nan": "a window of NaN packets",
    "Infinite": "a window of inf packets",
    "Negative": "a window of -3 packets",
    "Text": "returned 'many'",
    "Connects": "it called socket.",
    "Writes": "it opened the file 'owned'",
    "Reads": "it opened the file '/etc/hostname'",
    "Prints": "it printed more than 64000 characters",
    "Exits": "its process ended with the status 0",
    "Kills": "it called os.kill",
    "Starts": "it called os.system",
}
"""What the row of a class says that does this 10 ms after its start."""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    Path("small.toml").write_text(SMALL)
    return tmp_path


def test_a_class_that_does_harm_fails_its_row_alone(place, monkeypatch):
    """The row that ends before 10 ms passes, whatever the class does later."""
    monkeypatch.setattr("shallows.judging.worker.STALL_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.01)
        Path("mine.py").write_text(CLASSES.replace("PORT", str(server.getsockname()[1])))

        @each(SAID)
        def says(name):
            found = sh.judge(
                f"./mine.py:{name}", families=["./small.toml"], quick=True, threads=2, out="page"
            )
            late, early = found.rows
            assert (late.verdict, early.verdict) == ("fail", "pass")
            assert SAID[name] in late.note
            assert [one.row.row.name for one in found.failures] == ["late"]

        with pytest.raises(TimeoutError):
            server.accept()
    assert not Path("owned").exists()


def test_the_page_is_the_same_bytes_for_any_threads_and_after_a_resume(place):
    def files(folder):
        return [(Path(folder) / name).read_bytes() for name in ("judge.html", "judge.json")]

    for threads in (1, 2):
        found = sh.judge("reno", families=["./small.toml"], held_out=3, threads=threads, out=f"page{threads}")
        assert found.counts["pass"] == len(found.rows) == 2
    assert files("page1") == files("page2")
    for stored in list(Path("page2/runs").iterdir())[::2]:
        stored.unlink()
    one = next(Path("page2/runs").iterdir())
    one.write_text(one.read_text()[:40])  # cut off by something else
    sh.judge("reno", families=["./small.toml"], held_out=3, out="page2")
    assert files("page1") == files("page2")
    text = Path("page1/judge.html").read_text()
    assert "1, 2, 3, held-out draws of seed 3" in text
    assert sh.__version__ in text


SEARCH = """
import multiprocessing

import shallows as sh


def judge(out):
    sh.judge("./mine.py:Fine", families=["./small.toml"], quick=True, threads=1, out=out)


judge("first")
child = multiprocessing.get_context("fork").Process(target=judge, args=("second",))
child.start()
child.join()
raise SystemExit(child.exitcode)
"""


def test_a_search_judges_in_its_forked_workers_with_libraries_of_pythonpath(place):
    """As OpenEvolve does. A library outside of the environment is not taken for code of the class."""
    Path("mine.py").write_text(CLASSES)
    Path("search.py").write_text(SEARCH)
    shutil.copytree(Path(pydantic.__file__).parent, "libraries/pydantic")
    environment = os.environ | {"PYTHONPATH": str(place / "libraries")}
    command = [sys.executable, "search.py"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    first, second = (json.loads(Path(name, "judge.json").read_text())["rows"] for name in ("first", "second"))
    assert first == second
    assert all(row["checks"] and "may not" not in row["note"] for row in first)


def test_the_page_of_a_class_has_its_digest(place):
    Path("mine.py").write_text(CLASSES)
    found = sh.judge("./mine.py:Fine", families=["./small.toml"], quick=True, out="page")
    digest = found.plan.subject.digest
    assert digest is not None
    assert digest[:16] in Path("page/judge.html").read_text()
    Path("mine.py").write_text(CLASSES + "\n")
    again = subject.of("./mine.py:Fine")
    assert again.digest != digest


def test_a_failures_scenario_runs_and_has_an_account(place):
    Path("mine.py").write_text(CLASSES + SLOW)
    ends = '"traffic.0" = { kind = "trace", flows = [[0.0, "h0", "h1", 3000]] }'
    text = SMALL.replace("low = 0.05", "low = 0.5") + f"[account]\nflow = 0\n[account.set]\n{ends}\n"
    Path("strict.toml").write_text(text)
    found = sh.judge("./mine.py:Slow", families=["./strict.toml"], quick=True, out="page")
    assert [one.verdict for one in found.rows] == ["fail", "fail"]
    assert "flow 0" in found.failures[0].account
    run = sh.run(Path("page/failures") / found.failures[0].file)
    # A packet of 1500 B a round trip of 1 ms, and the time of some frames, over 100 Mb/s.
    assert run.summary["bottleneck"]["utilization"] == pytest.approx(0.1, abs=0.03)


ROW = Row("a row", {"k": 4.0}, {}, quick=True)


def judged(values, baseline, low=None, high=None, better="smaller", *, is_rule=True):
    """The check of a row whose number has these values by seed."""
    check = Check("x", "x", low, high, better, "", is_rule, None)
    numbers, others = ([{"x": one} for one in of] for of in (values, baseline))
    return verdict._checked(check, ROW, numbers, {"reno": others})


def test_verdicts_and_grades_by_hand():
    cases = {
        # values, low, high: verdict, grade
        ((2, 3, 4), 1, 5): ("pass", 1),
        ((6, 7, 8), 1, 5): ("fail", (5 / 6 + 5 / 7 + 5 / 8) / 3),
        ((0.5, 0.2, 0.1), 1, 5): ("fail", 0.8 / 3),
        ((2, 6, 3), 1, 5): ("open", (1 + 5 / 6 + 1) / 3),
        ((math.nan,) * 3, 1, 5): ("fail", 0),
        ((math.inf,) * 3, 1, 5): ("fail", 0),
        ((7, 8, 9), None, "2 * reno"): ("pass", 1),  # reno has 10
        ((21, 22, 23), None, "2 * best"): ("fail", (20 / 21 + 20 / 22 + 20 / 23) / 3),
        ((17, 17, 17), None, "k ** 2"): ("fail", 16 / 17),
    }

    @each(cases)
    def decides(case):
        values, low, high = case
        found = judged(values, (10, 10, 10), low, high)
        assert (found.verdict, found.grade) == (cases[case][0], pytest.approx(cases[case][1]))


def test_a_number_without_a_rule_is_reported_and_said_to_be_worse_by_its_interval():
    found = judged((5, 5.1, 4.9), (4, 4.2, 3.8), is_rule=False)
    assert found.verdict == "reported"
    # The differences 1, .9, 1.1: mean 1, deviation .1, Student's t of 2 degrees 4.303: 4.303 * .1 / sqrt(3).
    assert found.differences["reno"].half_width == pytest.approx(0.2484, abs=1e-4)
    assert found.is_worse
    assert not judged((5, 5.1, 4.9), (4, 4.2, 3.8), better="larger", is_rule=False).is_worse
    assert not judged((5, 4, 6), (4, 5, 4.5), is_rule=False).is_worse


def test_expressions_are_arithmetic_and_nothing_else():
    values = {
        "2 * (k + 1) ** 2": 50,
        "max(k, 1) / 2": 2,
        "-k < 0": 1,
        "1 / (k - 4)": math.nan,
        "k == 4 and k > 1": 1,
    }
    for text, value in values.items():
        assert expressions.value(text, {"k": 4.0}) == pytest.approx(value, nan_ok=True)
    wrong = (
        "k.real",
        "open('x')",
        "[k]",
        "(lambda: 1)()",
        "k if k else 1",
        "9 ** 9 ** 9",
        "'k'",
        "x",
        "k +",
        "k" * 300,
    )
    for text in wrong:
        with pytest.raises(sh.ScenarioError):
            expressions.value(text, {"k": 4.0})
    assert expressions.filled({"a": ["{k}", "{k / 8}us", "plain"]}, {"k": 4.0}) == {
        "a": [4, "0.5us", "plain"]
    }


@pytest.mark.parametrize("name", sorted(family.names()))
def test_every_family_prepares_for_its_baselines_and_its_draws(name):
    from shallows.judging import scenarios

    one = family.chosen([name])[0]
    for cc in one.baselines:
        its_plan = plan.of(subject.of(cc), [one], held_out=5, seeds=[1])
        for order in its_plan.orders:
            made = scenarios.prepared(order.tables, order.seed)
            assert made.seed == 1
    for row in draws.held_out(one, 11, quick=False):
        for key, (low, high) in one.ranges.items():
            assert low * 0.99 <= row.parameters[key] <= high * 1.01
    assert draws.held_out(one, 11, quick=False) == draws.held_out(one, 11, quick=False)
    assert not one.ranges or draws.held_out(one, 11, quick=False) != draws.held_out(one, 12, quick=False)


def test_the_recorded_page_has_every_row_of_every_family():
    """A family that gains a row, or names one anew, needs `make judged`."""
    text = (Path(__file__).parents[1] / "docs" / "judged.md").read_text("utf-8")
    for one in family.chosen(None):
        assert f"### {one.name}: {one.title}\n" in text
        part = text.partition(f"### {one.name}: ")[2].partition("\n### ")[0]
        assert [row.name for row in one.rows if f"| {row.name} |" not in part] == []


def test_the_page_of_the_catalog_names_what_was_not_judged():
    """The late joiner needs 4 million packet-hops and the incast 0.2: the incast comes first."""
    tool = runpy.run_path(str(Path(__file__).parents[1] / "packaging" / "judged.py"))
    families = family.chosen(["D3", "D1"])
    row = {"family": "D1", "row": families[1].rows[0].name, "verdict": "pass", "note": "", "checks": []}
    found = {"reno": {"version": "1", "seeds": [1], "score": 0.5, "packet_hops": {}, "rows": [row]}}
    text = tool["page"](found, families)
    assert "Not judged: `reno` by D3; `cubic@linux`; `vegas`; " in text
    assert "\n| `reno` |  | 1 of 1 |  |\n" in text
    found["reno"]["rows"].append(row | {"family": "D3", "row": families[0].rows[0].name})
    text = tool["page"](found, families)
    assert "Not judged: `cubic@linux`; `vegas`; " in text
    assert "\n| `reno` | 1 of 1 | 1 of 1 | 0.500 |\n" in text
    found["reno"]["packet_hops"] = {"D3": 4_000_000, "D1": 200_000}
    assert [one.name for one in tool["cheapest_first"](families, found)] == ["D1", "D3"]
    named = {*tool["algorithms"]()}
    assert {"nscc", "hpcc", "cubic@linux"} < named
    assert not named & {"cubic", "dcqcn", "rcp", "ndp", "external", "fixed"}


def test_two_judges_in_one_folder_do_not_mix(place):
    asked = running.planned("reno", ["./small.toml"], quick=True)
    running.run(asked, Path("page"), quick=True)
    before = Path("page/judge.json").read_bytes()
    with (
        running.alone(Path("page"), "judge"),
        pytest.raises(sh.ScenarioError, match="another judge is running"),
    ):
        sh.judge("reno", families=["./small.toml"], quick=True, out="page")
    assert Path("page/judge.json").read_bytes() == before
    shutil.rmtree("page/failures")
    sh.judge("cubic", families=["./small.toml"], quick=True, out="page")
    assert b'"algorithm": "cubic"' in Path("page/judge.json").read_bytes()


RANGED = """[parameters]
buffer = 20
rate = "100Mbps"

[ranges]
buffer = [1, 64]
rate = ["20Mbps", "200Mbps"]

[[rows]]"""


def test_the_worst_row_is_found_and_shrunk_whatever_the_threads(place):
    """A window of a packet uses 60 us of a round trip of 1 ms at 200 Mb/s: the fastest link is the worst."""
    Path("mine.py").write_text(CLASSES + SLOW)
    text = SMALL.replace('100Mbps", rtt', '{rate}bps", rtt').replace("20pkt", "{buffer}pkt")
    text = text.replace("low = 0.05", "low = 0.2").replace("[[rows]]", RANGED, 1)
    Path("ranged.toml").write_text(text)
    found = [
        sh.judge(
            "./mine.py:Slow", families=["./ranged.toml"], quick=True, budget=200, threads=n, out=f"page{n}"
        )
        for n in (1, 2)
    ]
    one = found[0].worst
    assert one.fails
    assert one.found.row.parameters["rate"] > 100e6  # of 20 to 200 Mb/s
    assert one.smallest.row.parameters["buffer"] <= 2  # halved: it changes nothing
    assert one.smallest.verdict == "fail"
    assert found[0].failures[-1].row is one.smallest
    assert (Path("page1") / "judge.html").read_bytes() == (Path("page2") / "judge.html").read_bytes()
    assert one.packet_hops >= 200

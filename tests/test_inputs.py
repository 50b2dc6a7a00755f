"""Files that a scenario names are saved with its run, so that its receiver can run it again."""

import gzip
import json
import shutil
from pathlib import Path

import pytest

import shallows as sh
from commands import run as command
from shallows.errors import ScenarioError
from shallows.printing.report import run_report
from shallows.results import inputs, inventory
from shallows.traffic import KINDS

TRACED = """
duration = "until-done"
cc = "dctcp"
topology = { kind = "star", hosts = 3 }
traffic = [{ kind = "trace", file = "data/f.csv" }]
"""
FLOWS = "start_s,src,dst,bytes\n0,0,1,200000\n"
CLASS = """
from helper import WINDOW


class Fixed:
    def __init__(self, initial_window, line_rate):
        pass

    def on_ack(self, now, ack):
        pass

    def on_loss(self, now, loss):
        pass

    def decision(self):
        return WINDOW
"""


@pytest.fixture
def author(tmp_path, monkeypatch):
    """A working folder of the author, with a scenario and a trace."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "author"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "f.csv").write_text(FLOWS)
    (folder / "m.toml").write_text(TRACED)
    monkeypatch.chdir(folder)
    return folder


def moved(author, name):
    """The result in another folder, without anything else of the author's."""
    place = author.parent / "receiver"
    place.mkdir()
    shutil.move(author / name, place / name)
    shutil.rmtree(author / "data")
    return place / name


SIZES = "size_bytes,cum_prob\n100,0\n5000,1\n"
DATA = {
    ("trace", "file"): (FLOWS, {}),
    ("driven", "file"): ("start_s,src,dst,bytes,number\n0,0,1,2000,0\n", {}),
    ("poisson", "sizes"): (SIZES, {"load": 0.2, "flows": 3}),
    ("request-response", "request"): (SIZES, {"exchanges": 3}),
    ("request-response", "response"): (SIZES, {"exchanges": 3}),
}
"""A file for each key that may name one, and other keys of its table."""


def test_every_key_of_a_file_is_copied_with_the_result(author):
    assert set(DATA) == {(kind, key) for kind, model in KINDS.items() for key in model.keys_of_files()}
    before = {}
    for (kind, key), (text, others) in DATA.items():
        Path("data/s.csv").write_text(text)
        table = {"kind": kind, key: "data/s.csv", **others}
        run = sh.run(sh.Scenario.load("m.toml").replace({"traffic": [table]}))
        name = f"{kind}-{key}"
        run.save(name)
        before[name] = run.summary["fingerprint"]
        assert Path(name, "s.csv.gz").is_file(), name
    shutil.rmtree(author / "data")
    for name, fingerprint in before.items():
        assert sh.run(Path(name, "scenario.toml")).summary["fingerprint"] == fingerprint, name


def test_a_result_with_a_trace_runs_again_where_it_was_moved(author):
    run = sh.run("m.toml")
    run.save("r")
    (row,) = run.summary["inputs"]
    assert (row["name"], row["bytes"], row["copy"]) == ("f.csv", len(FLOWS), "f.csv.gz")
    assert gzip.decompress(Path("r/f.csv.gz").read_bytes()) == FLOWS.encode()
    assert str(author) not in Path("r/scenario.toml").read_text() + Path("r/summary.json").read_text()
    place = moved(author, "r")
    again = sh.run(place / "scenario.toml")
    assert again.summary["fingerprint"] == run.summary["fingerprint"]
    assert sh.Run.load(place).why(0)
    again.save("again")
    assert again.summary["inputs"] == run.summary["inputs"]
    sh.run("again/scenario.toml").save("r2")
    sh.Run.load("r2").save("r3")
    assert sh.run("r3/scenario.toml").summary["fingerprint"] == run.summary["fingerprint"]
    sh.Run.load("r2").save("again")  # replaces a result with copies


def test_a_file_that_changed_is_named(author):
    first = sh.run("m.toml").save("one")
    Path("data/f.csv").write_text(FLOWS.replace("200000", "300000"))
    second = sh.run("m.toml").save("two")
    changed = inventory.differences([inventory.of_folder(folder) for folder in (first, second)])
    assert list(changed) == ["inputs.f.csv"]
    Path("one/f.csv.gz").write_bytes(gzip.compress(FLOWS.replace("200000", "300000").encode()))
    with pytest.raises(
        ScenarioError, match=r'input = "f\.csv": expected the file with which the run was made'
    ):
        sh.Run.load("one").why(0)
    with pytest.raises(ScenarioError, match=r"holds f\.csv\.gz, which no run wrote"):
        sh.run("m.toml").save("one")


def test_a_trace_that_changes_during_the_run_has_no_copy(author):
    run = sh.run("m.toml")
    Path("data/f.csv").write_text(FLOWS.replace("200000", "300000"))
    run.save("r")
    assert run.summary["inputs"][0]["copy"] is None
    assert '"../data/f.csv"' in Path("r/scenario.toml").read_text()
    assert not Path("r/f.csv.gz").exists()


def test_above_a_size_only_the_digest_is_kept_and_the_run_says_so(author, monkeypatch):
    monkeypatch.setattr(inputs, "LIMIT", len(FLOWS) - 1)
    run = sh.run("m.toml")
    run.save("r")
    assert run.summary["inputs"][0]["copy"] is None
    assert '"../data/f.csv"' in Path("r/scenario.toml").read_text()
    assert sh.run("r/scenario.toml").summary["fingerprint"] == run.summary["fingerprint"]
    (text, *_) = run_report(run.summary)
    assert "inputs      f.csv (" in text
    assert "digest alone" in text


def test_a_class_is_a_copy_that_runs_only_where_it_is_trusted(author, monkeypatch):
    Path("mine.py").write_text(CLASS)
    Path("helper.py").write_text("WINDOW = 4.0\n")
    run = sh.run("m.toml", overrides={"cc": "./mine.py:Fixed"})
    run.save("r")
    assert {row["copy"] for row in run.summary["inputs"]} == {"f.csv.gz", "mine.py", "helper.py"}
    assert Path("r/mine.py").read_text() == CLASS
    assert 'name = "mine.py:Fixed"' in Path("r/scenario.toml").read_text()
    assert sh.Run.load("r").why(0)  # the author has run it
    place = moved(author, "r")
    for name in ("mine.py", "helper.py"):
        Path(name).unlink()
    monkeypatch.setenv("XDG_STATE_HOME", str(author.parent / "nobody"))
    asked = ["run", str(place / "scenario.toml"), "--out", str(author / "again")]
    refused = command(*asked, cwd=author)
    assert refused.returncode == 2
    assert "Python code that you trust" in refused.stderr
    done = command(*asked, "--trust", cwd=author)
    assert done.returncode == 0, done.stderr
    again = json.loads((author / "again" / "summary.json").read_text())
    assert again["fingerprint"] == run.summary["fingerprint"]


@pytest.mark.parametrize(
    "content",
    [b"", b"\x1f\x8b", gzip.compress(b"a" * 100)[:-8], gzip.compress(b"x")[:-1] + b"\x7f"],
    ids=["empty", "begun", "cut", "another sum"],
)
def test_a_broken_file_is_refused(author, content):
    Path("data/f.csv.gz").write_bytes(content)
    Path("m.toml").write_text(TRACED.replace("f.csv", "f.csv.gz"))
    with pytest.raises(ScenarioError):
        sh.run("m.toml")

"""`shallows results`: what it lists, how it compares, what it removes."""

import pytest
from typer.testing import CliRunner

import shallows as sh
from shallows import cli
from shallows.results import store
from test_sweeps import SCENARIO


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.toml").write_text(SCENARIO)
    for words in ([], ["--seed", "2"], ["--set", "network.buffer=90pkt"]):
        assert CliRunner().invoke(cli.app, ["run", "short.toml", *words]).exit_code == 0
    return tmp_path / "results"


def said(*words, **options):
    done = CliRunner().invoke(cli.app, ["results", *words], **options)
    return done.exit_code, done.output


def test_the_list_tells_what_scenarios_differ_in(results):
    sh.sweep("short.toml", seeds=2, out=results / "short" / "sweep")
    status, output = said("list")
    assert status == 0
    lines = output.splitlines()
    assert sum("network.buffer=250pkt" in line for line in lines) == 2
    assert sum("network.buffer=90pkt" in line and "(latest)" in line for line in lines) == 1
    assert lines[-1] == "short/sweep: a sweep, 2 runs"
    assert said() == (status, output)
    assert said("list", "nowhere")[1] == "no results in nowhere\n"


def test_a_sweep_is_reported_as_it_was_when_it_ran(results):
    swept = ["short.toml", "--over", "network.buffer=90pkt,250pkt", "--seeds", "2", "--out", "swept"]
    first = CliRunner().invoke(cli.app, ["sweep", *swept])
    again = CliRunner().invoke(cli.app, ["report", "swept"])
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert "250pkt" in again.stdout
    assert again.stdout == first.stdout
    page = CliRunner().invoke(cli.app, ["report", "swept", "--html", "page.html"])
    assert "expected the folder of a run, such as swept/runs/run=" in page.output
    why = CliRunner().invoke(cli.app, ["why", "swept", "0"])
    assert "this is a sweep, and its runs are in swept/runs" in why.output


def test_two_runs_are_told_apart(results):
    runs = sorted(path for path in (results / "short").iterdir() if not path.is_symlink())
    first = next(path for path in runs if "seed2" in path.name)
    status, output = said("diff", str(first), "results/short/latest")
    assert status == 0
    assert ["network.buffer", "250pkt", "90pkt"] in [line.split() for line in output.splitlines()]
    assert "fingerprint" in output
    assert "the results are the same" in said("diff", str(first), str(first))[1]
    status, output = said("diff", "short.toml", str(first))
    assert (status, "expected a folder saved by a run" in output) == (2, True)


def test_cleaning_asks_and_leaves_the_latest(results):
    latest = (results / "short" / "latest").resolve()
    assert said("clean") == (0, "nothing to remove in results\n")
    (results / "short" / ".killed.partial").mkdir()
    status, output = said("clean", "--all", input="n\n")
    assert (status, "nothing was removed" in output) == (1, True)
    assert len(list((results / "short").iterdir())) == 5
    assert said("clean", "--all", "--yes")[0] == 0
    assert {path.name for path in (results / "short").iterdir()} == {latest.name, "latest"}


def test_cleaning_leaves_what_is_not_wholly_a_result_or_in_use(results):
    folder = results / "short"
    latest = (folder / "latest").resolve()
    noted, used = (path for path in sorted(folder.iterdir()) if path != latest and not path.is_symlink())
    (noted / "notes.txt").write_text("mine")
    mine = folder / ".thesis.partial"
    mine.mkdir()
    (mine / "chapter.tex").write_text("mine")
    (folder / ".mail.partial").write_text("mine")
    saving = folder / ".other.partial"
    saving.mkdir()
    with store.locked(used), store.locked(folder / "other"):
        assert said("clean", "--all", "--yes")[1] == "nothing to remove in results\n"
    assert (noted / "notes.txt").exists()
    assert said("clean", "--all", "--yes")[0] == 0
    assert {path.name for path in folder.iterdir()} == {
        latest.name, "latest", noted.name, mine.name, ".mail.partial"
    }  # fmt: skip

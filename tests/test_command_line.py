"""The command line as a whole: options, help, JSON, and what messages tell users to write."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import commands
from shallows import cli
from shallows.base import extras
from shallows.cli import parsing
from shallows.errors import ScenarioError
from shallows.scenario import Scenario
from test_interrupts import SMALL


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "small.toml").write_text(SMALL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoked(*words):
    return CliRunner().invoke(cli.app, list(words), env={"COLUMNS": "80"})


def groups():
    """Every group of commands, as words: the first is that of all."""
    context = typer.Context(typer.main.get_command(cli.app))
    for name in cli.COMMANDS:
        if hasattr(context.command.get_command(context, name), "commands"):
            yield (name,)


def every_command():
    """(words, command) of each command without subcommands."""
    top = typer.main.get_command(cli.app)
    context = typer.Context(top)
    for name in cli.COMMANDS:
        command = top.get_command(context, name)
        below = getattr(command, "commands", {"": command})
        for inner, found in below.items():
            yield tuple(filter(None, (name, inner))), found


def test_options_of_several_values_and_flags_may_be_repeated(place):
    done = invoked("run", "small.toml", "--set", "seed=2", "--set", "cc=dx", "--json", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["data"]["seed"] == 2


def test_every_command_refuses_repeated_options():
    assert all(isinstance(command, parsing.Command) for _, command in every_command())


def test_the_help_begins_with_six_commands_and_cuts_no_line():
    said = invoked("--help").stdout
    first, more = said.split("\nCommands:\n")[1].split("\nMore commands:\n")
    assert [line.split()[0] for line in first.strip().splitlines()] == list(cli.COMMANDS)[:6]
    assert [line.split()[0] for line in more.strip().splitlines()] == list(cli.COMMANDS)[6:]
    assert cli.SUMMARIES.keys() == cli.COMMANDS.keys()
    assert all(len(text) <= 60 for text in cli.SUMMARIES.values())


@pytest.mark.parametrize("words", list(groups()))
def test_the_help_of_a_group_has_whole_sentences(words):
    said = invoked(*words, "--help").stdout
    assert said.count("\nCommands:\n") == 1
    assert "..." not in said.partition("Commands:")[2]
    assert len(said.partition("Commands:")[2].splitlines()) >= 3


def test_the_help_of_all_commands_imports_none_of_them():
    code = (
        "import sys\nfrom shallows import cli\n"
        "try: cli.app()\n"
        "except SystemExit: print([name for name in sys.modules if name.startswith('shallows.cli.')])"
    )
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True)
    imported = set(re.findall(r"cli\.(\w+)", done.stdout.splitlines()[-1]))
    assert imported == {"signals", "parsing"}


JSON = {
    ("run", "small.toml"): "run",
    ("compare", "small.toml", "--cc", "dctcp", "--cc", "dx"): "comparison",
    ("sweep", "small.toml", "--over", "traffic.0.senders=2,3", "--out", "swept"): "sweep",
    ("report", "saved"): "run",
    ("why", "saved", "--slowest", "1"): "why",
    ("at", "saved", "20us"): "at",
    ("results", "list", "."): "results",
    ("results", "diff", "saved", "other"): "results-diff",
    ("scenarios",): "scenarios",
    ("scenarios", "dctcp-40"): "scenario",
    ("explain", "pfc.watchdog"): "explanations",
    ("cc",): "algorithms",
    ("cc", "dctcp"): "algorithm",
    ("cc", "dctcp", "--on", "small.toml"): "values",
    ("fluid", "fixed-point", "dcqcn"): "fluid-fixed-point",
    ("fluid", "margin", "dcqcn"): "fluid-margin",
    ("settings", "read", "nic.txt"): "settings",
    ("settings", "explain", "nic.txt", "--on", "roce-fabric"): "settings-explain",
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    place = tmp_path_factory.mktemp("saved")
    (place / "small.toml").write_text(SMALL)
    (place / "nic.txt").write_text("RPG_AI_RATE_P1 50\nRPG_TIME_RESET_P1 300\n")
    for folder, seed in (("saved", 1), ("other", 2)):
        commands.run("run", "small.toml", "--seed", str(seed), "--out", folder, cwd=place)
    return place


@pytest.mark.parametrize("words", JSON, ids=" ".join)
def test_json_of_each_command_has_its_kind_and_version(words, saved, monkeypatch):
    monkeypatch.chdir(saved)
    done = invoked(*words, "--json")
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    assert list(printed) == ["kind", "version", "data"]
    assert (printed["kind"], printed["version"]) == (JSON[words], 1)
    assert printed["data"]


def test_every_command_that_prints_data_has_json():
    """Those without write files, change something, or print text for another program."""
    without = {
        ("draw",), ("export",), ("import",), ("schema",), ("results", "clean"), ("settings", "write"),
        ("live", "attach"), ("live", "detach"), ("live", "status"), ("request",), ("flow-session",),
    }  # fmt: skip
    have = {
        words for words, command in every_command() if any("--json" in each.opts for each in command.params)
    }
    assert {words for words, _ in every_command()} - have == without


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ('{"url": "file:///a%20b/shallows-0.1-abi3.whl"}', 'pip install "/a b/shallows-0.1-abi3.whl[plot]"'),
        ('{"url": "file:///home/me", "dir_info": {"editable": true}}', 'pip install -e "/home/me[plot]"'),
        ('{"url": "file:///home/me", "dir_info": {}}', 'pip install "/home/me[plot]"'),
        (None, 'pip install "shallows[plot]"'),  # by its name, from an index
    ],
)
def test_a_missing_library_is_installed_from_where_the_package_is(origin, expected, monkeypatch):
    """A wheel or clone is not named as one of the index: anyone could register the name there."""

    class Installed:
        def read_text(self, name):
            assert name == "direct_url.json"
            return origin

    monkeypatch.setattr(extras, "distribution", lambda _: Installed())
    monkeypatch.setattr(extras, "has", lambda _: False)
    with pytest.raises(ScenarioError) as error:
        extras.need("plot", "--plot")
    assert str(error.value) == f"--plot: expected matplotlib to be installed; write: {expected}"


def test_a_checkout_that_is_not_installed_names_itself(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "distribution", missing)
    assert extras.command("plot") == f'pip install -e "{Path(__file__).parents[1]}[plot]"'


def test_a_figure_has_the_window_that_options_name(place, monkeypatch):
    from shallows.runs import Run

    asked = []
    monkeypatch.setattr(Run, "figure", lambda self, **options: asked.append(options) or _empty())
    words = ["run", "small.toml", "--out", "out"]
    for window in (["--since", "5us", "--until", "10us"], ["--until", "10us"]):
        assert invoked(*words, *window).exit_code == 0
        assert (place / "out/figure.pdf").exists(), "a window asks for the figure"
    assert asked == [{"since": "5us", "until": "10us"}, {"until": "10us"}]


def _empty():
    from shallows.plot.drawing import Drawing

    return Drawing((1, 1))


@pytest.mark.parametrize(
    "words",
    [
        ["run", "small.toml"],
        ["compare", "small.toml", "--cc", "dctcp"],
        ["sweep", "small.toml", "--seeds", "1", "--dry-run"],
    ],
    ids=lambda words: words[0],
)
def test_a_long_preparation_is_announced(words, place):
    """Ten million flows were drawn for 5 to 15 s before anything was said."""
    code = (
        "import time\nfrom shallows.printing import progress\nfrom shallows.scenario import Scenario\n"
        "progress.report_if_slow.__wrapped__.__defaults__ = (0.05,)\n"
        "load = Scenario.load.__func__\n"
        "Scenario.load = classmethod(lambda *a, **k: (time.sleep(0.3), load(*a, **k))[1])\n" + commands.MAIN
    )
    done = commands.run(*words, cwd=place, code=code)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("preparing: building the network and drawing flows\n")


def test_a_file_whose_name_is_not_ascii_runs_in_the_locale_c(tmp_path):
    """With Python's UTF-8 mode and its coercion of locales off, names of files come as bytes."""
    text = "".join(line for line in SMALL.splitlines(True) if not line.startswith('name = "small"'))
    (tmp_path / "é.toml").write_text(text)
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for words in (["run", "é.toml"], ["sweep", "é.toml", "--seeds", "1", "--workers", "1"], ["results"]):
        done = subprocess.run(
            [sys.executable, "-m", "shallows", *words],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "results" / "é" / "latest" / "summary.json").exists()
    assert (tmp_path / "results" / "é" / "sweep" / "table.parquet").exists()
    summary = json.loads((tmp_path / "results" / "é" / "latest" / "summary.json").read_text())
    assert summary["name"] == "é"


ASKS = {
    "--html", "--plot", "--csv", "--figure", "--record", "--save", "--perfetto", "--pcap", "--out",
    "--slowest", "--class", "--task", "--on", "--baseline", "--heatmap", "--until", "--receiver",
    "--time-unit", "--load", "--fct",
}  # fmt: skip
"""Options that ask for something which is not done without them."""


def test_the_help_of_every_other_option_has_its_default():
    silent = [
        (*words, option.opts[0])
        for words, command in every_command()
        for option in command.params
        if option.param_type_name == "option" and not option.is_flag and not option.multiple
        if option.default is None and not option.required and option.opts[0] not in ASKS
        if not re.search("default|absent", option.help)
    ]
    assert silent == []


def test_only_runs_and_comparisons_have_pages(saved, monkeypatch):
    monkeypatch.chdir(saved)
    assert "a page of a run or a comparison" in " ".join(invoked("report", "--help").stdout.split())
    assert invoked("sweep", "small.toml", "--out", "pages", "--seeds", "1").exit_code == 0
    refused = invoked("report", "pages", "--html", "page.html")
    assert refused.exit_code == 2
    assert "the folder of a run, such as" in refused.stderr


def test_the_scenario_of_the_tutorial_has_no_warning():
    """With 200 flows 0.308 of the stated load of 0.4 were realised, and a newcomer's first run was warned."""
    page = Path(__file__).parents[1] / "docs" / "tutorial.md"
    text = re.search(r"```toml\n(.*?)```", page.read_text(), re.S)[1]
    made = Scenario.from_toml(text)
    assert made.warnings == []
    assert made.traffic[0].load == 0.4

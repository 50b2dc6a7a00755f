"""Every page does what it says: each command and block of it runs, in order, in one folder.

The word behind its fence says what a block is. `sh`: commands, a line each. `python` runs; with `>>>` it
also prints what it shows. `toml` or `python` beginning with `# name.toml` or `# name.py` is that file.
`sql` is for DuckDB. `console` is a command with its output (tests/test_printed_numbers.py), `mermaid` a
diagram. `text` is nothing to run: a message, or a folder, whose files the blocks before it have made.
"""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shallows import _core, cli
from shallows.algorithms import user_algorithms
from shallows.cli import live as cli_live
from shallows.errors import ScenarioError
from shallows.scenario import Scenario, examples
from shallows.worlds import live, wire

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("bench/*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
WITH_BLOCKS = [path for path in PAGES if FENCE.search(path.read_text())]
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
FILE = re.compile(r"[\w-]+\.(?:toml|json|parquet|csv|png|pdf)\b")


MARKS = {"README": pytest.mark.thorough} | dict.fromkeys(
    ("advise", "gallery", "gpus", "mrc", "results", "sweeps"), pytest.mark.nightly
)
"""Pages whose commands take more than a few seconds."""


def _marked(page):
    return pytest.param(page, marks=MARKS.get(page.stem, ()), id=page.stem)


@pytest.mark.parametrize("page", [_marked(page) for page in WITH_BLOCKS])
def test_every_block_of_every_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(user_algorithms, "_CLASSES", {})
    _scenarios(tmp_path)
    if page.stem == "settings":
        _settings(tmp_path)
    monkeypatch.setattr(examples, "folder", lambda: tmp_path / "scenarios")
    names, seen = {"__name__": "page"}, set()
    for kind, text in FENCE.findall(page.read_text()):
        if kind == "sh":
            for line in text.replace("\\\n", "").splitlines():
                _command(shlex.split(line, comments=True), monkeypatch)
        elif kind == "toml" and text.startswith("# "):
            Path(text.splitlines()[0].removeprefix("# ").split()[0]).write_text(text)
        elif kind == "toml":
            _fragment(text)
        elif kind == "python" and re.match(r"# \S+\.py$", text, re.M):
            Path(text.splitlines()[0].removeprefix("# ")).write_text(text)
        elif kind == "python" and not text.startswith(">>>"):
            exec(compile(text, str(page), "exec"), names)
        elif kind == "sql":
            import duckdb

            assert duckdb.sql(text).fetchall()
        elif kind == "text" and (missing := set(FILE.findall(text)) - seen):
            message = re.match(r"(\S+\.toml): (.+)", text, re.S)
            assert message, f"files that are not there: {missing}"
            _refused(*message.groups())
        else:
            assert kind in ("text", "python", "console", "mermaid")
        seen |= {path.name for path in tmp_path.rglob("*")}


NIC = "Device #1:\n  RPG_AI_RATE_P1  20\n  CLAMP_TGT_RATE_P1  True(1)\n  SRIOV_EN  False(0)\n"


def _settings(folder):
    """The files that docs/settings.md reads: settings of a switch and of a NIC, and a scenario."""
    inputs = ROOT / "tests" / "cases" / "settings" / "inputs"
    shutil.copy(inputs / "tomahawk5.json", folder / "config_db.json")
    shutil.copy(inputs / "star.toml", folder / "mine.toml")
    (folder / "nic.txt").write_text(NIC)


def _scenarios(folder):
    """The examples, a tenth as long or with 40 flows; tests/test_sweeps.py runs them whole."""
    (folder / "scenarios").mkdir()
    for path in (ROOT / "scenarios").iterdir():
        text = re.sub(r'(?m)^(duration|warmup) = "([\d.]+)(m?s)"', _tenth, path.read_text())
        text = re.sub(r"(?m)^flows = \d{4,}$", "flows = 40", text)
        (folder / "scenarios" / path.name).write_text(text)


def _tenth(line):
    key, value, unit = line.groups()
    return f'{key} = "{float(value) / 10:g}{unit}"'


def _command(words, monkeypatch):
    """What pages tell to type: shallows with anything, make with a target, pip with a package."""
    if not words or words[0] in ("pip", "sudo"):
        return
    program, *rest = words
    if program == "make":
        assert set(rest) <= TARGETS
        return
    assert program in ("shallows", ".venv/bin/shallows"), program
    if ">" in rest:
        rest, output = rest[: rest.index(">")], rest[-1]
    else:
        output = None
    if rest[0] == "live":  # nothing here touches this machine: only what would be asked of it is read
        monkeypatch.setattr(live, "program", lambda: live.NAME)
        monkeypatch.setattr(live, "call", lambda *words, request=None: 0)
        monkeypatch.setattr(live, "ask", lambda request, word: _two_hosts())
        monkeypatch.setattr(cli_live, "_agreed_to_whole_host", lambda what: True)  # as at a terminal
    if "wire" in rest:  # nothing here depends on how busy this machine is: packets are never late
        monkeypatch.setattr(_core, "emulate", _on_time)
        monkeypatch.setattr(wire, "capacity", lambda: 1e9)
    result = CliRunner().invoke(cli.app, rest)
    assert result.exit_code == 0, f"{' '.join(words)}\n{result.output}"
    if output:
        Path(output).write_text(result.stdout)


def _on_time(request, on_progress):
    never = {"mean_us": 0}
    lateness = {"reason": None, "deliveries": never, "looks": never, "round_trip_us": 1}
    return {**_core.simulate(request, on_progress), "lateness": lateness}


def _two_hosts():
    zeros = dict.fromkeys(("goodput_bps", "retransmits", "checksum_errors"), 0)
    return zeros | {"congestion_control": "dx", "traffic": "own", "one_way_delay": None, "kernel_rtt": None}


def _fragment(text):
    """A scenario, or tables of one: with what they lack beside them."""
    import tomllib

    rest = {"duration": "1s", "topology": {"kind": "dumbbell"}, "cc": "dctcp"}
    Scenario(**{**rest, "traffic": [{"kind": "long-lived"}], **tomllib.loads(text)})


def _refused(file, message):
    """The text of an error, from a file with just that key wrong."""
    key, value = re.match(r"([\w.]+) = (\".*?\"):", message).groups()
    table, name = key.split(".")
    rest = 'duration = "1s"\ncc = "dctcp"\ntraffic = [{ kind = "long-lived" }]\n'
    Path(file).write_text(f'{rest}[{table}]\nkind = "dumbbell"\n{name} = {value}\n')
    with pytest.raises(ScenarioError) as error:
        Scenario.load(file)
    assert str(error.value) == f"{file}: {message}".rstrip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_named_in_passing_exists(page):
    """`make x` and `shallows x` within a sentence."""
    inline = re.findall(r"(?<!`)`((?:make|shallows) [^`\n]+)`", FENCE.sub("", page.read_text()))
    for words in map(str.split, inline):
        names = TARGETS if words[0] == "make" else {*cli.COMMANDS, "--version", "--install-completion"}
        named = words[1].rstrip(",.")
        assert named in names or named.isupper(), " ".join(words)

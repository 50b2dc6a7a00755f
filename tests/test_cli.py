"""The command line as its users meet it: what it prints, what it leaves behind, its exit status."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import commands
import shallows as sh
from shallows import cli

ENDLESS = 'kind = "long-lived"\nflows = 2'
SCENARIO = Path(__file__).with_name("small.toml").read_text()
LONG = SCENARIO.partition('kind = "incast"')[0].replace("until-done", "3000s") + ENDLESS


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The folder that commands begin in, with two scenarios."""
    (tmp_path / "small.toml").write_text(SCENARIO)
    (tmp_path / "long.toml").write_text(LONG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def shallows(place):
    """Runs a command within this process; one that leaves by anything but an exit status fails the test."""

    def run(*words):
        result = CliRunner().invoke(cli.app, words)
        if not isinstance(result.exception, SystemExit | None):
            raise result.exception
        return subprocess.CompletedProcess(words, result.exit_code, result.stdout, result.stderr)

    return run


def test_run_saves_a_folder_and_says_where(place, tmp_path):
    done = commands.run("run", "small.toml", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "4 offered = 4 finished + 0 cut off + 0 lost" in done.stdout
    assert "books closed" in done.stdout
    assert "saved in results/small/dctcp-seed1-" in done.stderr
    assert sh.Run.load(tmp_path / "results" / "small" / "latest").summary["flows"]["finished"] == 4


def test_json_holds_the_summary(shallows, tmp_path):
    done = shallows("run", "small.toml", "--json", "--seed", "5", "--out", "here", "--plot")
    printed = json.loads(done.stdout)
    summary = printed.pop("data")
    assert printed == {"kind": "run", "version": 1}
    assert summary["seed"] == 5
    assert summary == json.loads((tmp_path / "here" / "summary.json").read_text())
    assert (tmp_path / "here" / "figure.png").exists()


def test_set_replaces_keys_and_another_algorithm_gets_a_folder_of_its_own(shallows, tmp_path):
    done = shallows("run", "small.toml", "--set", "cc.name=dx", "--set", "traffic.0.senders=3")
    assert done.returncode == 0, done.stderr
    run = sh.Run.load(tmp_path / "results" / "small" / "latest")
    assert list(run.flows.cc) == ["dx"] * 3


def test_compare_prints_slowdown_by_size_for_each_algorithm(shallows, tmp_path):
    done = shallows("compare", "small.toml", "--cc", "dctcp", "--cc", "dx")
    assert done.returncode == 0, done.stderr
    head, row = done.stdout.splitlines()[:2]
    assert head.split() == ["slowdown", "p50", "/", "p99", "dctcp", "dx", "flows"]
    assert row.startswith("10-100 KB")
    assert row.split()[-1] == "4"
    folder = tmp_path / "results" / "small" / "latest"
    assert {path.name for path in folder.iterdir()} >= {"dctcp", "dx", "figure.png", "comparison.csv"}


def test_compare_as_json(shallows):
    words = ["compare", "small.toml", "--cc", "dctcp", "--cc", "dx", "--json"]
    summaries = json.loads(shallows(*words).stdout)["data"]
    assert [summary["cc"] for summary in summaries.values()] == [["dctcp"], ["dx"]]


def test_a_mistake_ends_the_process_with_status_2(place):
    """A true process; tests/cases/options/wrong-words.sh has the messages."""
    words = [*commands.COMMAND, "run", "nowhere.toml"]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert "nowhere.toml: expected a readable scenario file" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_the_catalog_lists_every_algorithm(shallows):
    listed = json.loads(shallows("cc", "--json").stdout)["data"]
    assert {"fixed", "reno", "cubic", "vegas", "dctcp", "dx"} <= {row["name"] for row in listed}
    people = shallows("cc").stdout
    assert all(row["name"] in people for row in listed)
    beside = people[people.index("cc.receiver") :]
    assert all(
        word in beside for word in ("inigo", "network.marking", "phantom", "gamma = 0.95", "red", "pi")
    )


def test_the_catalog_shows_where_an_algorithm_differs_from_its_paper(shallows):
    row = json.loads(shallows("cc", "dx", "--json").stdout)["data"]
    of_average = next(one for one in row["deviations"] if one["line"].startswith("§V-B: Q is the average"))
    assert "are left out" in of_average["here"]
    page = " ".join(shallows("cc", "dx").stdout.split())
    assert "differences from the source" in page
    assert "dx@as-printed as_printed = true" in page


def test_the_catalog_shows_one_algorithm(shallows):
    page = shallows("cc", "dctcp").stdout
    row = json.loads(shallows("cc", "dctcp", "--json").stdout)["data"]
    for part in ("RFC 8257", "step (required)", "transport tcp", "0.0625", "dctcp@", "not modelled"):
        assert part in page
    # DCTCP begins with the host's window, HPCC with one of its own.
    assert "hosts.initial_window" in page
    assert "hosts.initial_window" not in shallows("cc", "hpcc").stdout
    assert {"g"} <= {parameter["name"] for parameter in row["parameters"]}


def test_the_catalog_shows_what_stands_beside_an_algorithm(shallows):
    assert "kmax" in shallows("cc", "red").stdout
    assert json.loads(shallows("cc", "red", "--json").stdout)["data"]["name"] == "red"
    # The sender has no parameters, the port has.
    both = shallows("cc", "rcp").stdout
    assert both.index("no parameters") < both.index("network.marking = rcp") < both.index("init_rate_fact")
    rcp = json.loads(shallows("cc", "rcp", "--json").stdout)["data"]
    assert rcp["network.marking"]["at"] == "dequeue"


def test_version(place):
    assert commands.run("--version", cwd=place).stdout == f"shallows {sh.__version__}\n"


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from shallows.cli import app; "
        "heavy = {'pandas', 'pyarrow', 'matplotlib', 'scipy', 'networkx', 'shallows._core'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.stdout == "[]\n", done.stderr


def test_ctrl_c_in_a_comparison_keeps_every_run(place, interrupted):
    words = ["--cc", "dctcp", "--cc", "dx", "--threads", "2", "--out", "there/out"]
    status, output = interrupted(place, "compare", "long.toml", *words, runs=2)
    assert status == 130, output
    assert all(sh.Run.load(place / "there" / "out" / cc).interrupted for cc in ("dctcp", "dx"))


LARGEST = """
duration = "100s"
cc = "dctcp"
topology = { kind = "fat-tree", k = 64 }
traffic = [{ kind = "incast", senders = 200, size = "100GB" }]
"""


@pytest.mark.nightly
def test_the_largest_fabric_starts_in_seconds():
    """65,536 hosts and a millisecond of 200 flows in 20 s of this process, so that no neighbour counts."""
    scenario = sh.Scenario.from_toml(LARGEST)
    before = time.process_time()
    run = sh.run(scenario, overrides={"duration": "1ms"})
    assert time.process_time() - before < 20
    assert run.summary["books"]["closed"]
    assert len(run.flows) == 200
    assert run.summary["flows"]["goodput_gbps"] > 0


@pytest.mark.parametrize(
    "after_s",
    [
        pytest.param(0.5, marks=pytest.mark.nightly),
        2,
        pytest.param(5, marks=pytest.mark.nightly),
    ],
)
def test_ctrl_c_is_heard_while_the_largest_fabric_is_set_up(tmp_path, after_s):
    """65,536 hosts; while Python lays them out or Rust finds ways, it ends in ten seconds of its own."""
    (tmp_path / "largest.toml").write_text(LARGEST)
    hear = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}
    # Before that it is Python that starts.
    code = "import sys; from shallows.cli import main; print('begun', file=sys.stderr, flush=True); main()"
    words = [sys.executable, "-c", code, "run", "largest.toml", "--out", "out"]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, **hear)
    assert process.stderr.readline() == "begun\n"
    time.sleep(after_s)
    assert process.poll() is None
    # Fields 14 and 15 of proc(5), in ticks; the name of the process, field 2, has no space.
    ticks = sum(map(int, Path(f"/proc/{process.pid}/stat").read_text().split()[13:15]))
    process.send_signal(signal.SIGINT)
    errors = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130, errors
    assert used.ru_utime + used.ru_stime - ticks / os.sysconf("SC_CLK_TCK") < 10
    assert "Traceback" not in errors


@pytest.mark.parametrize("module", ["typer", "shallows.cli.run", "shallows.runner"])
def test_ctrl_c_while_python_loads_is_one_line(tmp_path, module):
    code = (
        "import sys\n"
        "class Hears:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == '{module}':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Hears())\n"
        "from shallows.__main__ import main; main()"
    )
    words = [sys.executable, "-c", code, "run", "small.toml"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 130
    assert done.stderr == "shallows: interrupted before there was anything to save\n"


@pytest.mark.parametrize("method", ["make_context", "parse_args", "get_command", "main"])
def test_ctrl_c_while_the_command_line_is_read_is_one_line(tmp_path, method):
    """Wherever typer is, which by itself ends with status 130 and no word."""
    code = (
        "from shallows import cli\n"
        "from typer.core import TyperGroup\n"
        "def interrupted(*_, **__): raise KeyboardInterrupt\n"
        f"{'cli.Commands' if method == 'get_command' else 'TyperGroup'}.{method} = interrupted\n"
        "cli.main()"
    )
    done = commands.run("run", "small.toml", cwd=tmp_path, code=code)
    assert done.returncode == 130
    assert done.stderr == "shallows: interrupted before there was anything to save\n"


@pytest.mark.parametrize("text", ["SchemaError: Field `cc`:\\n  KeyboardInterrupt: ", "another mistake"])
def test_ctrl_c_while_pydantic_builds_a_model_is_one_line(place, text):
    """Pydantic hides what interrupts it in an error of its own; other errors of it are mistakes of ours."""
    body = (
        "from pydantic_core import SchemaError\n"
        f"def run(*_, **__): raise SchemaError('{text}')\n"
        "packet.run = run"
    )
    done = broken_world(place, body)
    assert (done.returncode == 130) == ("KeyboardInterrupt" in text)
    assert ("Traceback" in done.stderr) == ("KeyboardInterrupt" not in text)


def broken_world(tmp_path, body):
    """A command line whose packet world is replaced by `body`."""
    code = f"import shallows.worlds.packet as packet\n{body}\nfrom shallows.cli import main; main()"
    return commands.run("run", "small.toml", "--out", "out", cwd=tmp_path, code=code)


def test_open_books_are_saved_and_fail(place):
    body = (
        "real = packet.run\n"
        "def run(*of, **how):\n"
        "    result = real(*of, **how)\n"
        "    result.summary['books'] = {'closed': False, 'problems': ['a packet is missing']}\n"
        "    return result\n"
        "packet.run = run"
    )
    done = broken_world(place, body)
    assert done.returncode == 1
    assert "the books do not close: a packet is missing" in done.stderr
    assert "Traceback" not in done.stderr
    assert sh.Run.load(place / "out").summary["books"]["closed"] is False


def test_what_a_users_algorithm_raises_is_no_bug_of_shallows(place):
    """A recursion without an end is a RuntimeError, as our own bugs are."""
    (place / "mine.py").write_text(
        "class Endless:\n"
        "    def __init__(self, initial_window, line_rate): self.window = initial_window\n"
        "    def on_ack(self, now, ack): self.on_ack(now, ack)\n"
        "    def on_loss(self, now, loss): pass\n"
        "    def decision(self): return self.window\n"
    )
    done = commands.run("run", "small.toml", "--cc", "./mine.py:Endless", cwd=place)
    assert done.returncode == 1
    assert "RecursionError" in done.stderr
    assert "report" not in done.stderr


def test_a_bug_asks_to_be_reported_with_all_it_takes(place):
    body = (
        "from shallows._core import Bug\n"
        "def run(*of, **how):\n"
        "    raise Bug('time runs backwards')\n"
        "packet.run = run"
    )
    done = broken_world(place, body)
    assert done.returncode == 1
    for part in ("time runs backwards", "scenario small, seed 1", f"version {sh.__version__}", "report it"):
        assert part in done.stderr
    assert "Traceback" not in done.stderr

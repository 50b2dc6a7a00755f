"""Signals that end a command: what is saved, what is said, and when they act."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import commands
import shallows as sh
from shallows.cli import signals
from shallows.sweeps.interrupts import delayed

SMALL = Path(__file__).with_name("small.toml").read_text()
LONG = """
duration = "1000s"
topology = { kind = "star", hosts = 3, rate = "10Gbps", rtt = "20us" }
cc = "dctcp"
traffic = [{ kind = "incast", senders = 2, size = "10GB" }]
"""
ENDING = ["SIGINT", "SIGTERM", "SIGHUP"]
# Says how far it is at once, so that nothing depends on how fast this machine is.
TELLS = f"from shallows.printing import progress; progress.SILENT_S = 0; {commands.MAIN}"


@pytest.fixture
def place(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "long.toml").write_text(LONG)
    return tmp_path


@pytest.mark.parametrize("name", ENDING)
def test_a_run_saves_what_it_has_done(name, place):
    process = commands.Process("run", "long.toml", "--out", "out", "--plot", cwd=place, code=TELLS)
    for line in process.error_lines():
        if " simulated, " in line:
            break
    process.send_signal(getattr(signal, name))
    assert process.wait() == 130
    assert "interrupted; what was done is saved in out, and not drawn" in process.communicate()[1]
    assert sh.Run.load(place / "out").interrupted
    assert not (place / "out/figure.png").exists()  # drawing takes seconds


def test_a_signal_that_the_parent_ignores_is_ignored(place):
    """As `nohup` does."""
    code = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); " + (
        "from shallows.printing import progress; progress.SILENT_S = 0;" + commands.MAIN
    )
    process = commands.Process("run", "long.toml", "--out", "out", cwd=place, code=code)
    for line in process.error_lines():
        if " simulated, " in line:
            process.send_signal(signal.SIGHUP)
            break
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 130


@pytest.mark.parametrize("name", ENDING)
def test_a_sweep_keeps_its_runs_and_says_nothing_of_its_processes(name, place):
    """The whole process group gets the signal, as from a terminal: workers and their server too."""
    words = ["sweep", "small.toml", "--seeds", "40", "--workers", "2", "--out", "out"]
    whole = [*commands.COMMAND, *words, "--set", "duration=100ms"]
    process = subprocess.Popen(
        whole, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not list((place / "out/runs").glob("run=*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, getattr(signal, name))
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    assert "the same command continues from what is saved in" in said
    for word in ("Traceback", "resource_tracker", "before there was anything"):
        assert word not in said
    assert list((place / "out/runs").glob("run=*"))


WRITES = """
from shallows.results import files, store
from shallows.cli import status
def command(**_):
    files.write_text("page.html", files.GENERATOR)
    {then}
    raise KeyboardInterrupt
raise SystemExit(status._status(command, {{}}))
"""


@pytest.mark.parametrize(
    ("then", "written"),
    [("pass", "page.html"), ('files.write_text("b.html", files.GENERATOR)', "page.html, b.html")],
)
def test_the_message_names_what_has_been_written(then, written, tmp_path):
    done = commands.run(cwd=tmp_path, code=WRITES.format(then=then))
    assert done.returncode == 130
    assert done.stderr == f"shallows: interrupted after it had written {written}\n"


def test_an_interrupted_sweep_of_advise_names_its_folder(place):
    """`--out` holds finished runs."""
    code = (
        "from shallows.sweeps import running\n"
        "def ended(*_): raise KeyboardInterrupt\n"
        "running.Sweep.save = ended\n" + commands.MAIN
    )
    words = ["small.toml", "--seeds", "1", "--set", "duration=100us", "--out", "out"]
    # A true process: a fork of the server waits for its workers when it ends.
    done = subprocess.run(
        [sys.executable, "-c", code, "sweep", *words], cwd=place, capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    assert f"interrupted after it had written {place / 'out'}" in done.stderr


def test_an_interrupted_judge_says_how_many_runs_it_has_and_goes_on(place):
    """Not the names of some hundred files."""
    (place / "small.toml").write_text((Path(__file__).parent / "cases/judge/inputs/small.toml").read_text())
    code = (
        "from shallows.judging import running\n"
        "def ended(*_): raise KeyboardInterrupt\n"
        "running._failures = ended\n" + commands.MAIN
    )
    words = ["reno", "--families", "./small.toml", "--quick", "--out", "page"]
    command = [sys.executable, "-c", code, "judge", *words]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    kept = len(list((place / "page/runs").glob("*.json")))
    assert done.returncode == 130
    said = f"interrupted after {kept} runs, which page/runs has: the same command goes on with the others"
    assert done.stderr.splitlines()[-1] == f"shallows: {said}"
    assert kept >= 2


def test_a_figure_or_page_that_was_written_is_named(place):
    commands.run("run", "small.toml", "--out", "out", cwd=place)
    code = (
        "from shallows.why import page\n"
        "def ended(*_, **__): raise KeyboardInterrupt\n"
        "page.write = ended\n" + commands.MAIN
    )
    words = ["out", "--slowest", "1", "--figure", "w.png", "--html", "w.html"]
    done = commands.run("why", *words, cwd=place, code=code)
    assert done.returncode == 130
    assert "interrupted after it had written w.png" in done.stderr


def test_ctrl_c_while_the_core_loads_numpy_is_no_panic():
    """The core asks numpy for its version, in Python, before its first array."""
    code = (
        "import os, signal, numpy.lib\n"
        "from shallows import _core\n"
        "class Version(numpy.lib.NumpyVersion):\n"
        "    def __init__(self, version):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        super().__init__(version)\n"
        "numpy.lib.NumpyVersion = Version\n"
        "try:\n"
        "    _core.check({})\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    # A true process: a fork of the server has loaded numpy.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


# In each of these places but the last Python 3.11 renames or drops the exception.
PLACES = {
    "class": "class D:\n def __set_name__(self, *_): signal()\nclass C: d = D()",
    "weak reference": "import weakref\nclass C: pass\nc = C()\nw = weakref.ref(c, lambda _: signal())\ndel c",
    "end of an object": "class C:\n def __del__(self): signal()\nc = C()\ndel c",
    "plain": "signal()",
}


@pytest.mark.parametrize("name", ENDING)
@pytest.mark.parametrize("where", PLACES)
def test_a_signal_during_an_import_acts_when_it_is_complete(where, name, tmp_path):
    head = f"import os, signal as s, time\nsignal = lambda: os.kill(os.getpid(), s.{name})\n"
    (tmp_path / "slow.py").write_text(head + PLACES[where] + "\ntime.sleep(0.05)\ncomplete = True\n")
    code = (
        "import sys, time\n"
        "from shallows.cli import signals\n"
        "signals.PATIENCE_S = 60\nsignals.install()\n"
        "sys.path.insert(0, '.')\n"
        "try:\n import slow\n time.sleep(30)\n"
        "except KeyboardInterrupt: print(sys.modules['slow'].complete, 'ended')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=20, check=False
    )
    assert done.stdout.split() == ["True", "ended"], done.stderr
    assert done.stderr == ""


def test_an_import_without_an_end_is_ended(tmp_path):
    (tmp_path / "endless.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nwhile 1: 0\n"
    )
    code = (
        "import sys\nfrom shallows.cli import signals\n"
        "signals.PATIENCE_S = 0.1\nsignals.install()\nsys.path.insert(0, '.')\n"
        "try:\n import endless\nexcept KeyboardInterrupt: print('ended')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=20, check=False
    )
    assert done.stdout == "ended\n"


def test_ctrl_c_that_python_hides_in_an_error_of_a_class_is_one_line(tmp_path):
    code = (
        "from shallows import cli\n"
        "def broken(*_, **__):\n"
        "    try: raise KeyboardInterrupt\n"
        "    except KeyboardInterrupt as error:\n"
        "        raise RuntimeError('Error calling __set_name__') from error\n"
        "cli.Commands.get_command = broken\n"
        "cli.main()"
    )
    done = commands.run("run", "small.toml", cwd=tmp_path, code=code)
    assert (done.returncode, done.stderr) == (
        130,
        "shallows: interrupted before there was anything to save\n",
    )


def test_a_delayed_signal_acts_at_the_end_of_the_block():
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    done = []

    def block():
        with delayed():
            os.kill(os.getpid(), signal.SIGTERM)
            done.append(True)

    try:
        with pytest.raises(KeyboardInterrupt):
            block()
        assert done
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_only_handlers_that_are_not_ignored_are_replaced():
    before = {number: signal.getsignal(number) for number in (*signals.ENDING, signal.SIGALRM)}
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signals.install()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signals._end
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_sweep_without_an_axis_for_its_figure_is_refused_before_it_runs(place):
    for words, expected in (
        (["--plot"], "--plot: expected a swept key"),
        (["--over", "traffic.0.senders=1,2", "--x", "sender"], "one of the swept keys: traffic.0.senders"),
        (["--over", "traffic.0.flows=1,2", "--heatmap", "flow"], "one of the swept keys: traffic.0.flows"),
    ):
        done = commands.run("sweep", "small.toml", "--seeds", "2", *words, "--out", "out", cwd=place)
        assert done.returncode == 2
        assert expected in done.stderr
        assert not (place / "out").exists()

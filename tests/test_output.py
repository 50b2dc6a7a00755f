"""Everything written: results before figures, only over files of Shallows, completely or not at all."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import commands
import fake_packet_run as fake
import shallows as sh
from shallows.errors import ScenarioError
from shallows.printing.report import run_report
from shallows.results import files

SCENARIO = """
duration = "1ms"
cc = "dctcp"
[topology]
kind = "dumbbell"
hosts = 2
[[traffic]]
kind = "trace"
file = "flows.csv"
"""
TRACE = "start_s,src,dst,bytes\n0,0,2,20000\n"


@pytest.fixture
def place(tmp_path):
    (tmp_path / "a.toml").write_text(SCENARIO)
    (tmp_path / "flows.csv").write_text(TRACE)
    return tmp_path


def ran(place, *words, **options):
    return commands.run(*words, cwd=place, **options)


BREAKS = (
    "from matplotlib.figure import Figure\n"
    "def savefig(*_, **__): raise {}\n"
    "Figure.savefig = savefig\n"
    "from shallows.cli import main; main()"
)


@pytest.mark.parametrize(
    "words", [["run", "--plot"], ["compare", "--cc", "dctcp", "--cc", "dx"], ["run", "--html", "page.html"]]
)
def test_a_figure_that_fails_loses_no_result(place, words):
    code = BREAKS.format("RuntimeError('latex was not found')")
    done = ran(place, words[0], "a.toml", *words[1:], "--out", "out", code=code)
    assert done.returncode == 1
    assert "latex was not found" in done.stderr
    assert "Traceback" not in done.stderr
    assert len([*(place / "out").rglob("summary.json")]) == (2 if words[0] == "compare" else 1)


def test_ctrl_c_while_drawing_keeps_the_results(place):
    done = ran(place, "run", "a.toml", "--plot", "--out", "out", code=BREAKS.format("KeyboardInterrupt"))
    assert done.returncode == 130
    assert "the results are saved in out" in done.stderr
    assert sh.Run.load(place / "out").summary["books"]["closed"]


def test_the_backend_of_a_notebook_is_not_needed(place):
    backend = "module://matplotlib_inline_that_is_missing.backend_inline"
    done = ran(place, "run", "a.toml", "--plot", "--out", "out", MPLBACKEND=backend)
    assert (done.returncode, (place / "out" / "figure.png").exists()) == (0, True), done.stderr


def test_every_kind_of_file_replaces_its_own_kind(place):
    assert ran(place, "run", "a.toml", "--out", "out").returncode == 0
    pages = ["--html", "why.html", "--record", "record"]
    for _ in range(2):
        for figure in ("why.png", "why.pdf", "why.svg"):
            done = ran(place, "why", "out", "0", "--figure", figure, *pages)
            assert done.returncode == 0, done.stderr
    run = sh.Run.load(place / "out")
    for _ in range(2):
        run.html(place / "page.html")
        (place / "empty.html").write_text("")
        run.html(place / "empty.html")
        taps = run.taps(["*->*"])
        taps.csv(place / "csv")
    assert not list(place.rglob(".*"))


@pytest.mark.parametrize("way", ["pcap", "perfetto"])
def test_a_capture_replaces_a_capture(place, way):
    pytest.importorskip("pcapng" if way == "pcap" else "perfetto")
    assert ran(place, "run", "a.toml", "--out", "out").returncode == 0
    taps = sh.Run.load(place / "out").taps(["*->*"])
    for _ in range(2):
        getattr(taps, way)(place / "file")


def test_a_file_that_fails_halfway_leaves_the_old_one(tmp_path):
    file = files.write_text(tmp_path / "page.html", f"<!doctype html>{files.GENERATOR}old")

    def fails():
        with files.writing(file, files.PAGE) as filling:
            filling.write_text("new")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"No space left on device: .*page\.html"):
        fails()
    assert file.read_text().endswith("old")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_part_never_replaces_a_whole(tmp_path):
    whole, part = fake.run(), fake.run()
    part.summary["interrupted"] = True
    assert part.save(tmp_path / "out") == tmp_path / "out"
    assert part.save(tmp_path / "out") == tmp_path / "out"
    whole.save(tmp_path / "out")
    assert part.save(tmp_path / "out") == tmp_path / "out-interrupted"
    assert not sh.Run.load(tmp_path / "out").interrupted


WRITES = re.compile(
    r"""open\([^)]*["'][wax]b?\+?["']|\.savefig\(|(?<!files\.)(?<!output\.)write_text\(|write_bytes\(|to_parquet\(|to_csv\(|\bfdopen\("""
)
WRITERS = {
    "results/files.py": "the writer of files",
    "results/run.py": "fills a folder of the store",
    "sweeps/comparison.py": "fills a folder of the store",
    "export/tables.py": "fills a folder of the store",
    "export/pcap.py": "fills a file of the writer",
    "export/perfetto.py": "fills a file of the writer",
    "cli/fluid_output.py": "fills a file of the writer",
    "html/chart.py": "draws into memory",
    "plot/__init__.py": "draws into memory",
    "sweeps/result.py": "fills a file of the writer",
    "sweeps/shards.py": "copies files of runs between folders that are open already",
    "cli/__init__.py": "the null device",
    "algorithms/trust.py": "appends a line to the user's record",
    "fluid/figures.py": "figures of the documentation",
    "plot/drawing.py": "a figure that the user saves",
}
"""The files that write, and why they may."""


def test_nothing_writes_beside_the_writer():
    folder = Path(sh.__file__).parent
    found = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        if WRITES.search(path.read_text("utf-8"))
    }
    calls = {name for name in found if name not in WRITERS}
    allowed = {"__init__.py"}  # an example in its documentation
    assert not calls - allowed, "write through shallows.results.files or shallows.results.store"


def test_messages_name_what_to_do(tmp_path):
    (tmp_path / "page.html").write_text("mine")
    with pytest.raises(ScenarioError, match="choose another name, or remove the file"):
        files.check(tmp_path / "page.html", files.PAGE)


def test_a_terminal_of_ascii_is_no_error(place):
    (place / "a.toml").write_text(SCENARIO.replace("duration", 'name = "ü"\nduration'))
    done = ran(place, "run", "a.toml", "--out", "out", PYTHONIOENCODING="ascii")
    assert (done.returncode, "\\xfc" in done.stdout) == (0, True), done.stderr


def test_a_pipe_is_written_as_it_is(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        files.write_text(tmp_path / "pipe", "a capture", files.CAPTURE)
        assert reader.stdout.read() == "a capture"


def test_a_short_run_is_told_in_a_unit_that_fits():
    run = fake.run(ended_ps=52_020_400)
    report = "\n".join(str(part) for part in run_report(run.summary))
    assert "simulated   52us in " in report
    assert repr(run).endswith("packet world, 52us>")

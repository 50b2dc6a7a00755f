"""Commands whose shell has closed a standard stream: nothing is lost."""

import os
import subprocess
import sys

import pytest

import shallows as sh

SCENARIO = """
duration = "1ms"
topology = { kind = "star", hosts = 3 }
cc = "dctcp"
traffic = [{ kind = "incast", senders = 2 }]
"""


@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&-", "<&- >&- 2>&-", "2<a.toml", ">/dev/null 0>&1"])
def test_a_run_is_saved_whatever_is_closed(tmp_path, closed):
    (tmp_path / "a.toml").write_text(SCENARIO)
    code = "from shallows.cli import main; main()"
    command = f"{sys.executable} -c '{code}' run a.toml --out R {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, check=False, timeout=600)
    assert done.returncode == 0
    assert sh.Run.load(tmp_path / "R").check_books()


PAIR = """
duration = "until-done"
topology = { kind = "star", hosts = 2 }
cc = "dctcp"
traffic = [{ kind = "all-reduce", size = "1MB" }]
"""
ASKED = {
    "run a.toml --out R --plot --html r.html": ["R/summary.json", "R/figure.pdf", "r.html"],
    "run a.toml --out R --plot --json": ["R/figure.pdf"],
    "compare a.toml --cc dctcp --cc reno --out C --html c.html": ["C/figure.pdf", "c.html"],
    "sweep a.toml --over network.buffer=90pkt,150pkt --out S --plot": ["S/figure.pdf"],
    "fit pair.toml times.csv --plot f.pdf --out fitted.toml": ["f.pdf", "fitted.toml"],
    "fluid margin dcqcn --flows 10 --plot m.pdf": ["m.pdf"],
    "fluid trajectory dctcp --duration 1ms --csv t.csv --plot t.pdf": ["t.csv", "t.pdf"],
}


@pytest.mark.parametrize("words", ASKED)
def test_what_a_command_was_asked_to_write_is_written_when_the_reader_has_left(tmp_path, words):
    """As in `shallows run a.toml --plot | head -1`: figures and pages come after the report."""
    (tmp_path / "a.toml").write_text(SCENARIO)
    (tmp_path / "pair.toml").write_text(PAIR)
    (tmp_path / "times.csv").write_text("size,time_us\n" + "".join(f"{n}000000,{n}00\n" for n in range(1, 5)))
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", "from shallows.cli import main; main()", *words.split()]
    done = subprocess.run(
        command, cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, text=True, check=False, timeout=600
    )
    os.close(write)
    assert [name for name in ASKED[words] if not (tmp_path / name).exists()] == []
    assert done.returncode == 0
    assert "BrokenPipe" not in done.stderr

"""Commands whose shell has closed a standard stream: nothing is lost."""

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

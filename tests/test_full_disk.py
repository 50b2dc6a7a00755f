"""A figure that cannot be written leaves the earlier one, and the message names the file."""

import errno

import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from shallows.cli import app

SCENARIO = """
duration = "1ms"
topology = { kind = "star", hosts = 3 }
cc = "dctcp"
traffic = [{ kind = "incast", senders = 2 }]
"""


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_draw_on_a_full_disk(tmp_path, monkeypatch, kind):
    (tmp_path / "a.toml").write_text(SCENARIO)
    out = tmp_path / f"d.{kind}"
    words = ["draw", str(tmp_path / "a.toml"), "--out", str(out)]
    assert CliRunner().invoke(app, words).exit_code == 0
    before = out.read_bytes()

    def full(figure, path, **how):
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", full)
    result = CliRunner().invoke(app, words)
    assert result.exit_code != 0
    assert f"d.{kind}" in result.output + str(result.exception)
    assert out.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.toml", f"d.{kind}"]

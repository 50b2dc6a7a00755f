"""The tutorial does what it says: every command and block of it, in order, in one folder."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shallows import cli

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"


def test_every_block_of_the_tutorial_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert [kind for kind, _ in blocks].count("sh") >= 5
    for kind, text in blocks:
        if kind == "toml":
            Path(text.splitlines()[0].removeprefix("# ")).write_text(text)
        elif kind == "python":
            exec(text, {})
        else:
            for line in text.splitlines():
                assert line.startswith("shallows ")
                result = CliRunner().invoke(cli.app, line.split()[1:])
                assert result.exit_code == 0, f"{line}\n{result.output}"
    assert list(tmp_path.glob("results/dctcp-40/*/figure.png"))


def test_the_site_builds_without_a_broken_link(tmp_path):
    build = pytest.importorskip("mkdocs.commands.build", reason="mkdocs comes with make lint")
    from mkdocs.config import load_config

    build.build(
        load_config(str(PAGE.parents[1] / "mkdocs.yml"), site_dir=str(tmp_path / "site"), strict=True)
    )
    page = (tmp_path / "site" / "catalog.html").read_text()
    assert "RFC 8257 §4.2: 1/16" in page
    assert "fonts.googleapis" not in page

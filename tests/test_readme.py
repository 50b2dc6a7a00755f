"""What is written for people stays true: tables, links and the commands they are told to type."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shallows import catalog, cli

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("bench/*.md")])
README = (ROOT / "README.md").read_text()


def test_the_readmes_algorithms_are_of_the_catalog_and_in_its_order():
    rows = [f"| `{row['name']}` | {row['summary']} | {row['source']} |" for row in catalog.algorithms()]
    told = [line for line in README.splitlines() if line.startswith("| `")]
    assert told == [row for row in rows if row in told]
    assert len(told) >= 16


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def told():
    lines = [line for line in README.splitlines() if line.startswith(".venv/bin/shallows")]
    return [line.split("#")[0].split()[1:] for line in lines]


@pytest.mark.parametrize("command", told(), ids=lambda command: " ".join(command[:3]))
def test_the_readmes_commands_run(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    result = CliRunner().invoke(cli.app, command)
    assert result.exit_code == 0, result.output

"""Tables, links and names of the documentation are right. Its commands and blocks: test_pages.py."""

import re
import sys
from pathlib import Path

import pytest

from shallows.algorithms import catalog

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("bench/*.md")])
README = (ROOT / "README.md").read_text()
sys.path.insert(0, str(ROOT / "packaging"))

from reference import pages  # noqa: E402

GENERATED = {*pages()}
"""Pages that are made when the site is built."""


def test_the_readmes_algorithms_are_of_the_catalog_and_in_its_order():
    rows = [f"| `{row['name']}` | {row['summary']} | {row['source']} |" for row in catalog.algorithms()]
    lines = [line for line in README.splitlines() if line.startswith("| `")]
    assert lines == [row for row in rows if row in lines]
    assert len(lines) >= 16


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text())
    made = GENERATED if page.parent.name == "docs" else ()
    assert [link for link in links if not (page.parent / link).exists() and link not in made] == []


def test_contributing_names_files_and_functions_of_the_simulator():
    """Each paragraph of the short paths names files, and functions that are defined in one of them."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.partition("## Find it within ten minutes")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| Where")]
    assert len(rows) == 4
    packet = section.partition("To follow one packet")[2]
    assert packet
    for row in [*rows, packet]:
        files = [ROOT / "crates/sim/src" / name for name in re.findall(r"`([\w/]+\.rs)`", row)]
        source = "".join(file.read_text() for file in files)
        functions = re.findall(r"`(?:\w+::)?([a-z_]+)`", row)
        assert functions
        assert [name for name in functions if f"fn {name}" not in source] == []

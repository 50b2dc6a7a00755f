"""Tables, links and names of the documentation are right. Its commands and blocks: test_pages.py."""

import json
import re
import sys
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("bench/*.md")])
README = (ROOT / "README.md").read_text()
sys.path.insert(0, str(ROOT / "packaging"))

from reference import pages  # noqa: E402

pytestmark = pytest.mark.repository

OUTSIDE = [page for page in PAGES if page.parent.name != "docs" and page.stem != "CHANGELOG"]
"""Pages that are not of the site. The changelog of a release links to pages as they were."""
WORKFLOW = "../../actions/workflows/ci.yml"
"""The page of a workflow on GitHub, relative to that of README.md."""
BADGES = {
    WORKFLOW: ".github/workflows/ci.yml",
    f"{WORKFLOW}/badge.svg": ".github/workflows/ci.yml",
    "https://img.shields.io/badge/license-MIT%20or%20Apache--2.0-blue": "LICENSE",
    "https://img.shields.io/badge/python-3.11%20or%20later-blue": "pyproject.toml",
}
"""Addresses of the badges of README.md, and the file that each is about."""
GENERATED = {*pages()}
"""Pages that are made when the site is built."""


def test_the_speeds_of_the_readme_are_those_on_file():
    """As multiples of the same ns-3 those of `make peers`, and those of the table in bench/README.md."""
    measured = {
        row["work"]: row for row in json.loads((ROOT / "bench/peers/results.json").read_text())["speed"]
    }
    earlier = (ROOT / "bench/README.md").read_text()
    (htsim,) = re.findall(r"(?m)^\| htsim .*\| ([\d.]+) \| ([\d.]+) \|$", earlier)
    (debian,) = re.findall(r"(?m)^\| ns-3 3.37, Debian.*\| ([\d.]+) \| ([\d.]+) \|$", earlier)
    (optimised,) = re.findall(r"(?m)^\| ns-3 3.37, from source.*\| ([\d.]+) \| ([\d.]+) \|$", earlier)
    rows = [line for line in README.splitlines() if "¹ |" in line]
    works = ("dctcp-40", "websearch-fat-tree")
    for row, work, theirs, ns3 in zip(rows, works, htsim, debian, strict=True):
        ours = measured[work]["ratio"]
        cells = [cell.strip() for cell in row.split("|")]
        assert cells[2:5] == [f"{ours:.0f}", "1", f"{float(theirs) / float(ns3):.0f} ²"]
    of_ns3 = [f"{float(best) / float(ns3):.1f}" for best, ns3 in zip(optimised, debian, strict=True)]
    assert "an optimised ns-3 had {} and {}".format(*of_ns3) in " ".join(README.split())


def test_the_readme_fits_on_two_screens():
    """At most 60 lines of text and tables beside the figure: a screen shows some 40."""
    lines = [line for line in README.splitlines() if line.strip() and not line.startswith("![")]
    assert len(lines) <= 60


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text())
    made = GENERATED if page.parent.name == "docs" else ()
    known = {*made, *(BADGES if page.stem == "README" else ())}
    assert [link for link in links if not (page.parent / link).exists() and link not in known] == []


def test_the_badges_say_what_the_package_says():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = [unquote(link.split("/")[-1]).replace("--", "-") for link in BADGES if "shields.io" in link]
    assert texts == [
        f"license-{project['license'].replace(' OR ', ' or ')}-blue",
        f"python-{project['requires-python'].removeprefix('>=')} or later-blue",
    ]
    assert all(f"({link})" in README and (ROOT / file).exists() for link, file in BADGES.items())


@pytest.mark.parametrize("page", OUTSIDE, ids=lambda page: str(page.relative_to(ROOT)))
def test_anchors_lead_to_headings(page):
    """Of pages outside of the site, which mkdocs does not check."""
    for name, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text()):
        text = (page.parent / name if name else page).read_text()
        headings = re.findall(r"(?m)^#+ (.+)$", text)
        slugs = {re.sub(r"[^\w -]", "", one.lower()).strip().replace(" ", "-") for one in headings}
        assert anchor in slugs, f"{name}#{anchor}"


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

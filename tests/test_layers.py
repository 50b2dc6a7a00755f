"""Packages import those below them and no others, for types and in functions too."""

import re
from pathlib import Path

import pytest

import shallows
from layers import CRATES, LAYERS, crate_arrows, python_arrows, upward

PACKAGE = Path(shallows.__file__).parent
ROOT = Path(__file__).parents[1]


def test_each_package_imports_only_those_below_it():
    assert upward(python_arrows(PACKAGE)) == {}


def test_the_order_has_each_package_once():
    names = [name for layer in LAYERS for name in layer]
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    assert sorted(names) == sorted(packages | modules)


def test_each_crate_depends_only_on_those_below_it():
    level = {crate: at for at, crate in enumerate(CRATES)}
    arrows = crate_arrows(ROOT / "crates")
    assert ("sim", "cc") in arrows
    assert [pair for pair in arrows if level[pair[1]] >= level[pair[0]]] == []


@pytest.mark.parametrize(
    "text",
    [
        "from shallows.sweeps import result",
        "import shallows.sweeps.result",
        "from shallows import sweeps",
        "def f():\n    from shallows.sweeps import result",
        "if TYPE_CHECKING:\n    from shallows.sweeps.result import Sweep",
    ],
)
def test_every_form_of_import_is_found(text, tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "run.py").write_text(f"from typing import TYPE_CHECKING\n{text}\n")
    assert list(upward(python_arrows(tmp_path))) == [("results", "sweeps")]


def test_the_page_of_the_architecture_has_the_order():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rows = text.partition("| package | may import |")[2].partition("\n\n")[0].splitlines()[2:]
    named = [tuple(re.findall(r"`(\w+)`", row.split("|")[1])) for row in rows]
    assert named == [*LAYERS[:-1], ("cli",)]

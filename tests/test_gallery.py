"""The gallery shows each kind of figure and page with its command. test_pages.py runs the commands."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from shallows import plot

sys.path.insert(0, str(Path(__file__).parents[1] / "packaging"))

import gallery
from reference import commands

pytestmark = pytest.mark.repository

DRAWING = ("--plot", "--html", "--figure")
ELSEWHERE = {
    ("merge", "--plot"): "the figure of a sweep",
    ("run", "--html"): "the page of `report --html`",
    ("compare", "--html"): "the page of `report --html`",
    ("fit", "--plot"): "docs/fit.md, with measured times",
    ("settings explain", "--html"): "docs/settings.md, with the settings of a switch",
}
"""Options that draw, and where their figure is shown if the gallery lacks it."""


def drawing():
    """(command, option) of each option that draws a figure or a page."""
    for words, command in commands.commands().items():
        for one in command.params:
            for name in {*one.opts} & {*DRAWING}:
                yield words, name


def used():
    """(command, option) of the gallery."""
    for section in gallery.sections():
        for entry in section["figures"]:
            for command in entry["commands"]:
                words = shlex.split(command)[1:]
                name = next(key for key in commands.commands() if words[: len(key.split())] == key.split())
                yield from ((name, option) for option in words if option in DRAWING)


def test_the_page_is_that_of_the_list():
    assert gallery.PAGE.read_text("utf-8") == gallery.page(), "run: python packaging/gallery.py --page"


def test_every_option_that_draws_is_shown():
    assert {*drawing()} - {*used()} == {*ELSEWHERE}
    assert {"draw", "compare"} <= {
        shlex.split(command)[1]
        for section in gallery.sections()
        for entry in section["figures"]
        for command in entry["commands"]
    }


def test_every_panel_is_shown_and_every_figure_is_there():
    text = gallery.PAGE.read_text("utf-8")
    shown = re.findall(r"figures/gallery/([\w-]+\.png)", text)
    assert {f"{panel.__name__}.png" for panel in plot.PANELS} <= {*shown}
    assert sorted(shown) == sorted(path.name for path in gallery.FIGURES.iterdir())
    for name in shown:
        assert (gallery.FIGURES / name).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"

"""The guide's examples are true: its commands print what it shows, its Python says what it shows."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shallows.cli.fluid import app

GUIDE = Path(__file__).parents[2] / "docs" / "fluid.md"
EXAMPLES = re.findall(r"```console\n\$ shallows fluid (.*)\n((?:.*\n)*?)```", GUIDE.read_text())


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command[:40] for command, _ in EXAMPLES])
def test_command_prints_what_the_guide_shows(command, output):
    result = CliRunner().invoke(app, shlex.split(command))
    assert result.exit_code == 0, result.output
    assert result.stdout == output


def test_python_says_what_the_guide_shows():
    failed, tried = doctest.testfile(str(GUIDE), module_relative=False)
    assert tried > 10
    assert failed == 0


def test_figures_of_the_guide_exist():
    for figure in re.findall(r"\]\((figures/[^)]*)\)", GUIDE.read_text()):
        assert (GUIDE.parent / figure).exists()

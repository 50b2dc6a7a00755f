"""The guide's Python says what it shows. Its commands: tests/test_printed_numbers.py."""

import doctest
import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "fluid.md"


def test_python_says_what_the_guide_shows():
    failed, tried = doctest.testfile(str(GUIDE), module_relative=False)
    assert tried > 10
    assert failed == 0


def test_figures_of_the_guide_exist():
    for figure in re.findall(r"\]\((figures/[^)]*)\)", GUIDE.read_text()):
        assert (GUIDE.parent / figure).exists()

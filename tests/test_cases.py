"""The cases of tests/cases, a test for each topic, and the program that runs them."""

from pathlib import Path

import pytest

import commands
import run_cases

CODE = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import run_cases; run_cases.main()"


DEAR = ("warnings-of-long-runs",)
"""Topics that `make thorough` runs. Without a mark the dearest topics would leave `make test`."""


def marked():
    """The topics, each with the mark of its suite."""
    for topic in run_cases.topics():
        yield pytest.param(topic, marks=pytest.mark.thorough if topic in DEAR else pytest.mark.fast)


@pytest.mark.parametrize("topic", [*marked()])
def test_what_comes_out_is_on_file(topic):
    """In one process, a fork of that which has imported what commands need."""
    done = commands.run(topic, cwd=Path(__file__).parent, code=CODE)
    assert done.stderr == ""
    if done.returncode:
        pytest.fail(done.stdout, pytrace=False)


@pytest.fixture
def topic(tmp_path, monkeypatch):
    """An empty topic, alone."""
    monkeypatch.setattr(run_cases, "CASES", tmp_path)
    (tmp_path / "one").mkdir()
    return tmp_path / "one"


def test_a_difference_is_shown_and_can_be_accepted(topic):
    case = topic / "wrong.toml"
    case.write_text('# $ shallows run wrong.toml\nduration = "1s"\nhosts = 3\n')
    assert run_cases.judged(case, accept=True) is None
    assert run_cases.judged(case) is None
    expected = case.with_suffix(".out")
    expected.write_text(expected.read_text().replace("hosts = 3", "hosts = 4"))
    first, *lines = run_cases.judged(case).splitlines()
    assert first == "one/wrong.toml (python tests/run_cases.py --accept one/wrong):"
    assert {"-    3 | hosts = 4", "+    3 | hosts = 3"} <= set(lines)


def test_a_number_needs_a_source(topic):
    case = topic / "numbers.sh"
    case.write_text("$ shallows cc fixed --json\n")
    assert "expected a line `# numbers: SOURCE`" in run_cases.judged(case, accept=True)
    assert not case.with_suffix(".out").exists()
    case.write_text(f"# numbers: the catalog\n{case.read_text()}")
    assert run_cases.judged(case, accept=True) is None


def test_a_case_has_a_command_and_an_output_a_case(topic):
    (topic / "none.toml").write_text('duration = "1s"\n')
    (topic / "gone.out").write_text("")
    assert "expected a command" in run_cases.judged(topic / "none.toml")
    assert run_cases._orphans("one") == ["one/gone.out: expected a case gone.toml or .sh beside it"]

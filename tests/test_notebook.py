"""What notebooks and shells get: tables, images, one line of an error, completions."""

import os
import subprocess
import sys

import pytest

import fake_packet_run as fake
import shallows as sh
from shallows.registry import catalog
from shallows.scenario import examples


def test_a_run_is_its_report_and_its_figure_an_image():
    run = fake.run()
    shown = run._repr_html_()
    assert shown.startswith("<pre")
    assert "bottleneck" in shown
    assert run.figure()._repr_png_()[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_comparison_is_its_table():
    comparison = sh.compare("dx-10", ["dctcp", "dx"], overrides={"duration": "5ms", "warmup": "0s"})
    shown = comparison._repr_html_()
    assert "dctcp" in shown
    assert "dx" in shown


def test_a_mistake_is_one_line():
    with pytest.raises(sh.ScenarioError) as error:
        sh.run("dctcp-40", overrides={"topology.rate": "10gbps"})
    (line,) = error.value._render_traceback_()
    assert line == f"ScenarioError: {error.value}"


def completed(tmp_path, *words):
    """What bash is offered for the last of `words`."""
    asked = {
        "_SHALLOWS_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    code = "import sys; sys.argv = ['shallows']; from shallows.cli import app; app(prog_name='shallows')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **asked},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    return set(done.stdout.split())


def test_shells_complete_commands_examples_algorithms_and_keys(tmp_path):
    assert "sweep" in completed(tmp_path, "shallows", "sw")
    assert completed(tmp_path, "shallows", "run", "dctcp-") == {
        n for n in examples.names() if n.startswith("dctcp-")
    }
    presets = {f"vegas@{preset['name']}" for preset in catalog.entry("vegas")["cc"]["presets"]}
    assert completed(tmp_path, "shallows", "compare", "dx-10", "--cc", "vegas@") == presets
    assert "network.buffer=" in completed(tmp_path, "shallows", "run", "dx-10", "--set", "network.")

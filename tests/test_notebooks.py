"""The notebooks of docs/notebooks run, show what theory and papers say, and their widgets move figures.

Tests execute them with short parameters. The nightly ones have those that readers see.
"""

import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from lazy import nbformat, notebooks

for library in ("nbclient", "ipywidgets"):
    if find_spec(library) is None:
        pytest.skip(f"{library} comes with make test", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parents[1] / "packaging"))

CHECKS = {
    # ns-3: 35.7 packets, 0.989 of the link. Roundings of windows of five packets move the queue by a quarter.
    "first-figure": """
        assert 0.75 * 35.7 < bottleneck["queue_mean_pkt"] < 1.25 * 35.7
        assert 0.97 < bottleneck["utilization"] <= 1
        assert len(run.flows) == 40
    """,
    # Reno: from 167 + 150 packets to half. DCTCP: 52 to 67 packets (section 3.3).
    "sawtooth": """
        assert 0.95 * 317 < windows.max() < 1.05 * 317
        assert 1.9 < windows.max() / windows.min() < 2.1
        assert highest == 67
        assert 51.5 < lowest < 52.5
        assert 0.9 * lowest < queue.quantile(0.01) < 1.1 * lowest
        assert 0.9 * highest < queue.quantile(0.99) < 1.1 * highest
        queues = compared.table.queue_mean_pkt
        assert 0 < queues["dx"] < 10 < 0.7 * 65 < queues["dctcp"] < 1.1 * 65 < queues["vegas"] < 200
    """,
    # Zhu et al., CoNEXT 2016, section 3: ten flows at 40 Gbps converge with 4 us and not with 85 us.
    "dcqcn-stability": """
        found = {delay: linearise(Dcqcn(flows=10, rate=40e9, delay=delay)).stable for delay in swings}
        assert found == {4e-6: True, 85e-6: False}
        assert 0 <= swings[4e-6] < 0.05
        assert 0.5 < swings[85e-6] < 20
    """,
    # Empty path of 28 us. The files keep what their windows allow in the port.
    "slow-flow": """
        assert sum(path.by_cause().values()) == path.fct_ps
        assert 0.85 < path.by_cause()["queue"] / path.fct_ps < 1
        assert set(list(path.by_flow())[:2]) == {0, 1}
        assert 10 < run.flows.slowdown.iloc[2:].max() < 25
    """,
    # 2 (n - 1) / n of the bytes, with headers of 66 B in frames of 4096 B, and 14 steps of at most 3 us.
    "slow-all-reduce": """
        payload_us = 2 * 7 / 8 * size * 8 / 100e9 * 1e6
        least = payload_us * 4096 / (4096 - 66)
        assert abs(ideal_us - payload_us) < 0.1
        assert least < took_us < least + 14 * 3
        assert sum(path.by_cause().values()) == path.fct_ps
        assert abs(path.fct_ps / 1e6 - shared.summary["collectives"][0]["completion_us"]) < 0.01
        assert 1.2 < shared.summary["collectives"][0]["completion_us"] / took_us < 3
        assert path.by_traffic()["experts"] > 0
    """,
    # The class is Reno; its window is halved.
    "own-algorithm": """
        reno, mine = compared.runs["reno"], compared.runs["aimd"]
        assert (reno.flows.goodput_gbps == mine.flows.goodput_gbps).all()
        windows = mine.probes.query("name == 'window_pkt' and time_us > 100e3").value
        assert 0.95 * 103 < windows.max() < 1.05 * 103
        assert 1.9 < windows.max() / windows.min() < 2.1
    """,
    # Student's t of scipy on the table.
    "sweep": """
        from scipy import stats

        for row in sweep.intervals("slowdown_p99"):
            sample = sweep.table.query("threshold == @row['threshold']").slowdown_p99
            assert len(sample) == seeds
            low, high = stats.t.interval(0.95, len(sample) - 1, sample.mean(), stats.sem(sample))
            assert abs(row["low"] - low) < 1e-9 * high
            assert abs(row["high"] - high) < 1e-9 * high
        written = open("threshold.pdf", "rb").read()
        assert b"/Type3" not in written
        assert b"/Type0" in written
    """,
}
"""What holds after a notebook has run, from outside of the simulator."""
MOVES = {
    "first-figure": (60, 3, 20),
    "sawtooth": (8, 4, 2),
    "dcqcn-stability": (20, 4, 10),
    "slow-flow": (100, 400, 250),
    "slow-all-reduce": (8, 1, 2),
    "own-algorithm": (0.8, 0.35, 0.5),
    "sweep": ("queue_mean_pkt", "utilization", "slowdown_p50"),
}
"""Positions of the widget of each notebook. Each draws another figure."""
MOVE = """
import time

control, pictures, seconds = {function}.widget.children[0], [{function}.widget.result._repr_png_()], []
for value in {values}:
    started = time.process_time()
    control.value = value
    pictures.append({function}.widget.result._repr_png_())
    seconds.append(time.process_time() - started)
assert len({{*pictures}}) >= {least}
print("seconds of a move:", *(f"{{one:.2f}}" for one in seconds))
assert min(seconds) < 1
"""


def check(name, folder, short):
    book = notebooks.read(name, short)
    ((_, function),) = notebooks.interactive(book)
    values = MOVES[name]
    move = MOVE.format(function=function, values=values, least=len(values))
    expected = "\n".join(line.removeprefix(" " * 8) for line in CHECKS[name].splitlines())
    book.cells += [nbformat.v4.new_code_cell(source) for source in (expected, move)]
    notebooks.execute(book, folder)
    print(book.cells[-1].outputs[-1].text)


def test_every_notebook_has_its_checks():
    assert notebooks.names() == sorted(CHECKS) == sorted(MOVES)


@pytest.mark.parametrize("name", CHECKS)
def test_a_notebook_shows_what_is_expected_and_moves(name, tmp_path):
    check(name, tmp_path, short=True)


@pytest.mark.nightly
@pytest.mark.parametrize("name", CHECKS)
def test_a_whole_notebook_shows_what_is_expected(name, tmp_path):
    check(name, tmp_path, short=False)


@pytest.mark.parametrize("name", CHECKS)
def test_a_notebook_has_outputs_without_errors(name):
    """As readers see it without a kernel. The interactive cell shows its first figure."""
    book = notebooks.read(name)
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    for index, _ in notebooks.interactive(book):
        assert "image/png" in book.cells[index].outputs[-1].data


NUMBER = re.compile(r"\d+(?:\.\d+)?")
ELSEWHERE = re.compile(r"`[^`]*`|\]\([^)]*\)|[Ss]ection [\d.]+|Type \d+|\b\d{4}\b")
"""Numbers in a text that are of code, links, papers and formats."""


@pytest.mark.parametrize("name", CHECKS)
def test_each_number_in_the_text_of_a_notebook_is_in_its_code_or_output(name):
    said, shown = set(), set()
    for cell in notebooks.read(name).cells:
        if cell.cell_type == "markdown":
            said |= set(NUMBER.findall(ELSEWHERE.sub("", cell.source)))
            continue
        outputs = [output.get("text", "") for output in cell.outputs]
        outputs += [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
        shown |= set(NUMBER.findall("\n".join([cell.source, *outputs])))
    assert said <= shown

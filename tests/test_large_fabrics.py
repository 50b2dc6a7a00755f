"""Fabrics of MRC with a million links: they start, and their memory is within its estimate."""

import importlib
from pathlib import Path

import pytest

import shallows as sh
from shallows.scenario import needs

BENCH = Path(__file__).parents[1] / "bench"


@pytest.fixture
def fabrics(monkeypatch):
    """The script of bench/ that runs such fabrics, as a module."""
    monkeypatch.syspath_prepend(BENCH)
    return importlib.import_module("fabrics")


@pytest.mark.nightly
def test_a_million_links_need_as_much_memory_as_is_estimated(fabrics):
    """8 planes of 256 leaves with 128 hosts and 128 spines: 2 * 8 * (256 * 128 + 256 * 128) links.

    At 100 Gbps 5 us are 15 frames of 4096 B for each of 8 ports of 8,192 hosts, each over four links at most.
    """
    measured = fabrics.measure((256, 128, 128), "5us")
    assert measured["links"] == 2**20
    assert measured["problems"] == 0
    assert 8192 * 8 <= measured["hops"] <= 8192 * 8 * 15 * 2 * 4
    assert measured["core_mb"] < 2500
    assert measured["peak_mb"] < measured["estimate_mb"] < 2 * measured["peak_mb"]


def test_racks_and_not_hosts_need_paths(fabrics):
    """16 leaves with 16 hosts and 16 spines in each of 8 planes: 16 racks, and 256 switches."""
    made = sh.Scenario(**fabrics.scenario(16, 16, 16, "1us"))
    by_packet, by_flow = (
        needs.of_run(made.replace({"network.balancing": kind})) for kind in ("packet", "flow")
    )
    assert by_packet - by_flow == 4 * 16 * 256

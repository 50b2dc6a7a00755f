"""The small cases of `make peers`: the same network, flows and ways in ns-3 and here."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench" / "peers"))

import compare
import ns3

FIRST = "incast-65kb"
"""The quickest of the quick; the others are nightly."""
QUICK = [
    pytest.param(name, marks=[] if name == FIRST else pytest.mark.nightly)
    for name, case in compare.CASES.items()
    if case.get("quick")
]


@pytest.fixture(scope="module")
def _ns3():
    try:
        ns3.program()
    except ns3.MissingError as missing:
        pytest.skip(str(missing))


@pytest.mark.usefixtures("_ns3")
@pytest.mark.parametrize("name", QUICK)
def test_ns3_sees_the_same(name):
    rows = compare.rows(name)
    assert [row for row in rows if row.verdict == "DIFFERS"] == []


def row(ours, theirs, **changes):
    return compare.Row(
        "a case", "a quantity", ours, theirs, **{"tolerance": 0.1, "range": None, "why": "", **changes}
    )


def test_a_difference_needs_its_reason_and_its_range():
    assert row(1.09, 1).verdict == "agrees"
    assert row(1.11, 1).verdict == "DIFFERS"
    assert row(0.89, 1).verdict == "DIFFERS"
    reason = {"range": [1.2, 1.4], "why": "RFC 9999 §1"}
    assert row(1.3, 1, **reason).verdict == "explained"
    assert row(1.5, 1, **reason).verdict == "DIFFERS"
    assert row(1.3, 1, range=[1.2, 1.4], why="Open. Nobody knows.").verdict == "open"
    assert row(0, 0).verdict == "agrees"
    assert row(1, 0).verdict == "DIFFERS"


def test_cases_that_are_measured_anew_leave_the_rows_of_the_others():
    first, second, third = [{"case": name, "ours": 1} for name in list(compare.CASES)[:3]]
    anew = {"case": second["case"], "ours": 2}
    assert compare.replaced([first, second, third], [anew]) == [first, anew, third]


@pytest.mark.parametrize("name", compare.CASES)
def test_every_range_has_its_reason(name):
    for entry in compare.CASES[name]["compare"].values():
        assert ("range" in entry) == ("why" in entry)


def test_without_ns3_a_sentence_names_the_package(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ns3.MissingError, match="libns3-dev"):
        ns3.program.__wrapped__()


def test_the_network_is_described_as_it_is():
    """Limits and thresholds without the packet being sent: for a buffer of 5 and a threshold of 20."""
    lines = list(ns3.describe(compare.scenario("lost-tail")))
    assert "link 2 3 100000000 5000000000 4 0 " in lines
    # Reno leaves gaps of up to 0.2 % of the 12 us of a frame, 24 ns.
    assert "link 0 2 1000000000 2500000000 10000000 24000 " in lines
    # 20 ms both ways, and 42 bytes over 1 Gbps, 100 Mbps and 1 Gbps, both ways: 2 x 4.032 us before the data.
    assert lines[0].startswith("run 4 ")
    assert lines[-1] == "flow 0 1 14580 0 ns3::TcpLinuxReno 0 0 4 3 | 2 5 1"
    lines = list(ns3.describe(compare.scenario("dctcp-1gbps-2")))
    assert "link 4 5 1000000000 50000000 249 0 red 18 18 1 1 0 1 1" in lines
    # CoDel: the target is shorter by the time of the packet in ns-3's device, 0.6 ms at 20 Mbps.
    lines = list(ns3.describe(compare.scenario("codel-drops"), {"ns3::A::B": "c"}))
    assert "link 8 9 20000000 12500000000 999 0 codel 4400000000 100000000000 1" in lines
    assert "attribute ns3::A::B c" in lines


def test_variants_change_the_scenario_of_a_seed():
    name = "late-reno-1gbps"
    assert len(compare.CASES[name]["variants"]) == compare.CASES[name]["seeds"]
    asked = compare.scenario(name, 4)
    assert (asked.duration_ps, asked.warmup_ps) == (430_000_000_000, 30_000_000_000)
    assert 0 <= int(asked.flows.start_ps[1]) - 30_000_000_000 <= 10_000_000  # jitter
    assert asked.graph.rate_bps[:4].tolist() == [1_000_100_000] * 2 + [999_900_000] * 2

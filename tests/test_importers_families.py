"""Files of simulators as they come together: a configuration with what it names, topologies without flows.

All files are written here. Expected values are worked by hand from the sources that the readers name.
"""

import json
import shutil
from pathlib import Path

import pytest

import shallows as sh
from shallows.base import limits
from shallows.errors import ScenarioError
from shallows.importers import write
from shallows.memory import bounds

STAR = """
duration = "5ms"
cc = "dcqcn"
topology = { kind = "star", hosts = 8, rate = "400Gbps", rtt = "4us" }
network = { pfc = true, mtu = "4096B" }
traffic = [{ kind = "incast", senders = 2 }]
"""

INPUTS = Path(__file__).parent / "cases" / "import" / "inputs"
SIMAI, CONFIG, TOPOLOGY = (
    (INPUTS / name).read_text() for name in ("simai.txt", "mix/config.txt", "mix/topology.txt")
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("star.toml").write_text(STAR)
    shutil.copytree(INPUTS / "mix", "mix")
    return tmp_path


def refused(*paths, on="star.toml", **options):
    with pytest.raises(ScenarioError) as error:
        write(paths, "out.toml", on=on, **options)
    assert not Path("out.toml").exists()
    return str(error.value)


def test_more_messages_than_memory_holds_say_how_many_layers_fit(folder, monkeypatch):
    """11,000 B a task: 200,000 B hold the 16 messages of the first layer, and not all 20."""
    Path("w.txt").write_text(SIMAI)
    monkeypatch.setattr(bounds, "free", lambda: bounds.Free(200_000, "a test"))
    said = refused("w.txt")
    expected = "at most 18 messages of collectives, for which there is memory, not 20: keep the first 1"
    assert expected in said


@pytest.mark.parametrize(
    ("most", "advice"), [(19, "keep the first 1 layers and write 1 here"), (15, "lower all_gpus")]
)
def test_more_messages_than_flows_of_a_run_say_how_many_layers_fit(folder, monkeypatch, most, advice):
    """Two rings of two ranks: 8 messages of an all-reduce and 4 of an all-gather, so 16 and 4 by layer."""
    Path("w.txt").write_text(SIMAI)
    monkeypatch.setattr(limits, "FLOWS", limits.FLOWS._replace(most=most))
    said = refused("w.txt")
    expected = f"at most {most} messages of collectives, the flows of a run, not 20: {advice}"
    assert f'w.txt:2:1: layers = "2": expected {expected}' in said


def chakra(rank, comm_type, size):
    attributes = [{"name": "comm_type", "int64Val": comm_type}, {"name": "comm_size", "int64Val": size}]
    node = {"id": 1, "type": "COMM_COLL_NODE", "attr": attributes}
    Path(f"job.{rank}.json").write_text("{}\n" + json.dumps(node))
    return f"job.{rank}.json"


@pytest.mark.parametrize(
    ("number", "table"),
    [
        (0, {"kind": "all-reduce", "size": "4MB"}),
        (2, {"kind": "all-gather", "size": "16MB"}),
        (7, {"kind": "reduce-scatter", "size": "4MB"}),
        (6, {"kind": "all-to-all", "size": "4MB"}),
        (5, {"kind": "broadcast", "size": "4MB", "chunk": "500KB"}),
    ],
)
def test_an_imported_collective_has_the_row_of_one_that_is_written(folder, number, table):
    """Of four ranks with 4 MB each; an all-gather sends those of all."""
    files = [chakra(rank, number, 4_000_000) for rank in range(4)]
    imported = write(files, "out.toml", on="star.toml").scenario
    written = imported.replace({"traffic": [table | {"hosts": [0, 1, 2, 3]}]})
    (row,), (other,) = (sh.run(scenario).summary["collectives"] for scenario in (imported, written))
    assert {**row, "name": ""} == {**other, "name": ""}
    assert row["completion_us"] > 0


def test_sizes_of_homa_are_those_of_its_points(folder):
    """Half of 10 B and half of 100 B: a mean of 55 B, and no size between."""
    Path("homa.txt").write_text("55.0\n10 0.5\n100 1.0\n")
    found = write(["homa.txt"], "h.toml", on="star.toml", load=0.3)
    sizes = found.scenario.flows.bytes
    assert {10, 100} == set(sizes.tolist())
    assert sizes.mean() == pytest.approx(55, abs=4 * 45 / len(sizes) ** 0.5)
    assert found.left_out == []
    Path("homa.txt").write_text("100.0\n10 0.5\n100 1.0\n")
    other = write(["homa.txt"], "h.toml", on="star.toml", load=0.3)
    assert other.left_out == ["homa.txt, line 1: a mean of 100.0; its points have 55"]


def test_sizes_on_a_star_are_between_random_hosts(folder):
    """Eight hosts at a load of 0.3 exceed what one receiver takes."""
    Path("sizes.txt").write_text("0 0\n1000 50\n10000 100\n")
    found = write(["sizes.txt"], "s.toml", on="star.toml", load=0.3)
    assert len(set(found.scenario.flows.dst.tolist())) == 8
    assert any("random pairs of hosts" in text for text in found.assumed)

"""Files that somebody made to mislead an importer: costs, counts, broken values, and names with a meaning."""

import json
import time
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import shallows as sh
from shallows.base.garbage import uncollected
from shallows.errors import ScenarioError
from shallows.importers import cm, columns, goal, hpcc, simai, topo, write
from shallows.importers.formats import read_all
from shallows.importers.order import ordered
from shallows.memory import bounds

STAR = """
duration = "until-done"
cc = "dctcp"
topology = { kind = "star", hosts = 8, rate = "400Gbps", rtt = "4us" }
traffic = [{ kind = "incast" }]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("star.toml").write_text(STAR)
    return tmp_path


def cpu_s(name, text):
    """The processor time of reading a file with this text."""
    Path(name).write_text(text)
    begin = time.process_time()
    read_any(Path(name))
    return time.process_time() - begin


def goal_pairs(n):
    """`n` sends and receives of two ranks with one tag."""
    sends, receives = "send 8b to 1\n" * n, "recv 8b from 0\n" * n
    return f"num_ranks 2\nrank 0 {{\n{sends}}}\nrank 1 {{\n{receives}}}\n"


def goal_barriers(n):
    """A join of `n` sends that `n` computations require."""
    sends = "".join(f"s{i}: send 8b to 1\nj requires s{i}\n" for i in range(n))
    after = "".join(f"c{i}: calc 5\nc{i} requires j\n" for i in range(n))
    receives = "recv 8b from 0\n" * n
    return f"num_ranks 2\nrank 0 {{\nj: calc 0\n{sends}{after}}}\nrank 1 {{\n{receives}}}\n"


def chakra_nodes(n):
    return "{}\n" + "\n".join(
        json.dumps({"id": i, "type": "COMP_NODE", "durationMicros": 5, "dataDeps": [i - 1] if i else []})
        for i in range(n)
    )


def flows_csv(n):
    return "src,dst,bytes\n" + "0,1,100\n" * n


def matrix(n):
    return "Nodes 8\n" + "0->1 start 0 size 100\n" * n


def hpcc_flows(n):
    return f"{n}\n" + "0 1 3 100 100 0.5\n" * n


def hpcc_topology(n):
    return f"{n + 1} 1 {n}\n{n}\n" + "".join(f"{i} {n} 100Gbps 1us 0\n" for i in range(n))


def read_goal(path):
    return ordered(goal.read(path).work)


GROWTH = {
    "goal in one line": ("a.goal", lambda n: goal_pairs(n).replace("\n", " ")),
    "goal pairs": ("a.goal", goal_pairs),
    "goal barrier": ("a.goal", goal_barriers),
    "chakra": ("a.0.json", chakra_nodes),
    "csv": ("a.csv", flows_csv),
    "matrix": ("a.cm", matrix),
    "options of a matrix": ("a.cm", lambda n: f"{matrix(1)[:-1]}{' msg' * n}\n"),
    "hpcc flows": ("f.txt", hpcc_flows),
    "hpcc topology": ("t.txt", hpcc_topology),
    "hpcc traced nodes": ("t.txt", lambda n: f"{n}\n" + "1 " * n),
    "hpcc configuration": ("c.txt", lambda n: "CC_MODE 1\n" + "".join(f"KEY_{i} 1\n" for i in range(n))),
    "sizes": ("s.txt", lambda n: "".join(f"{i} {100 * i / n}\n" for i in range(n + 1))),
    "simai": (
        "w.txt",
        lambda n: (
            f"{simai.TYPE} model_parallel_NPU_group: 2 all_gpus: 2\n{n}\n"
            + "a -1 5 NONE 0 5 NONE 0 5 NONE 0 1\n" * n
        ),
    ),
}
"""Name of a file, and its text with `n` items."""


def read_any(path):
    """What an import reads of a file, and the order of its tasks."""
    if path.name == "t.txt" and path.read_text().endswith(" "):
        with uncollected():  # as an import reads all files
            return hpcc.read_traced(path)
    (parts,) = read_all([path], None)
    if path.suffix == ".goal":
        ordered(parts.work)
    return parts


@pytest.mark.parametrize(("name", "text"), GROWTH.values(), ids=GROWTH)
def test_time_grows_with_the_file_alone(folder, name, text):
    """Eight times the lines take at most 20 times as long; a quadratic reader takes 64 times.

    In one of five tries, since other work on the core slows what is beside it.
    """
    tries = []
    for _ in range(5):
        small, large = (cpu_s(name, text(n)) for n in (250, 2000))
        if large < 20 * small + 0.02:
            return
        tries.append((small, large))
    pytest.fail(f"(seconds of 250 lines, of 2000) of five tries: {tries}")


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "text"), GROWTH.values(), ids=GROWTH)
def test_a_million_lines_take_less_than_fifteen_times_as_long_as_a_tenth_of_them(folder, name, text):
    """A tenth is read before and after them, since other work on the core slows what is beside it.

    The smaller sizes end a reader with quadratic time, 100 times as long, before it reads a million. A
    barrier of 100,000 takes 14 times as long as a tenth of it, because of caches; so 30 is their limit.
    """
    sizes = (1000, 10_000, 100_000, 1_000_000, 100_000)
    thousand, ten_thousand, more, million, again = (cpu_s(name, text(n)) for n in sizes)
    assert ten_thousand < 30 * thousand + 0.05
    assert more < 30 * ten_thousand
    assert million < 15 * max(more, again)


@pytest.mark.parametrize("name", ["a.cm", "a.topo", "a.goal", "a.csv", "a.0.json", "a.0.et", "f.txt"])
def test_a_file_of_two_gigabytes_is_refused_at_once(folder, name, monkeypatch):
    """It would need 240 GB of memory; the file has a hole and takes no space."""
    monkeypatch.setattr(bounds, "free", lambda: bounds.Free(150 * 10**9, "this machine"))
    with Path(name).open("wb") as file:
        file.truncate(2 * 10**9)
    begin = time.process_time()
    with pytest.raises(ScenarioError, match=rf"{name}: about 240.*at most 150.*a smaller file"):
        write([name], "out.toml", on="star.toml")
    assert time.process_time() - begin < 1


def test_a_comment_without_an_end_is_found_at_once(folder):
    Path("a.goal").write_text("num_ranks 2\n" + "/* " * 100_000)
    with pytest.raises(ScenarioError, match=r"a\.goal:2:1: .*an end"):
        goal.read(Path("a.goal"))


def test_a_long_number_without_a_unit_is_refused_at_once(folder):
    Path("t.txt").write_text(hpcc_topology(2).replace("100Gbps", "1" * 300_000 + "§"))
    with pytest.raises(ScenarioError, match="rate"):
        hpcc.read_topology(Path("t.txt"))


def test_a_long_cycle_is_shown_at_once(folder):
    n = 5_000
    lines = "".join(f"c{i}: calc 5\nc{i} requires c{(i + 1) % n}\n" for i in range(n))
    Path("a.goal").write_text(f"num_ranks 2\nrank 0 {{\n{lines}}}\nrank 1 {{ x: calc 5 }}\n")
    with pytest.raises(ScenarioError, match="no cycle"):
        read_goal(Path("a.goal"))


def test_a_barrier_that_stays_a_task_ends_when_its_last_message_does(folder):
    """The k² waits of a barrier of 200 become a join of no length, and the times stay the same."""
    ends = []
    for n in (60, 200):
        Path("a.goal").write_text(goal_barriers(n))
        scenario = write(["a.goal"], f"out{n}.toml", on="star.toml").scenario
        run = sh.run(scenario)
        last = (run.flows.start_us + run.flows.fct_us).max()
        starts = run.computations.start_us
        assert starts.min() > 0
        ends.append((len(run.computations) - n, starts.min() - last))
    # The sender of 60 and of 200 messages knows of the last one after the same time.
    assert [joins for joins, _ in ends] == [0, 1]
    assert ends[1][1] == pytest.approx(ends[0][1], abs=0.1)


@pytest.mark.parametrize(
    ("read", "name", "text", "expected"),
    [
        (hpcc.read_topology, "t.txt", "100000000 1 1\n", "ends before all"),
        (hpcc.read_topology, "t.txt", "2147483647 1 1\n", "ends before all"),
        (hpcc.read_topology, "t.txt", "100000000 1 1\n2\n0 2 1Gbps 1us 0\n", "at most 2: a node"),
        (
            topo.read,
            "a.topo",
            "Nodes 2147483646\nTiers 2\nPodsize 2147483646\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 1\n"
            "Radix_Up 1\nDownlink_Latency_ns 1\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2147483646\n"
            "Downlink_Latency_ns 1\n",
            "at most 8388608 links",
        ),
        (
            lambda path: cm.read(path, None),
            "a.cm",
            "Nodes 8\n" + "0->1 start 0 size 1 send_done_trigger 1\n" * 2000
            + "1->2 trigger 1 size 1\n" * 2000 + "trigger id 1 barrier count 2000\n",
            "at most 1000000 pairs",
        ),
    ],
    ids=["nodes", "most nodes", "isolated", "htsim", "barrier"],
)  # fmt: skip
def test_a_count_is_compared_with_the_file_and_the_limits(folder, read, name, text, expected):
    Path(name).write_text(text)
    begin = time.process_time()
    with pytest.raises(ScenarioError, match=expected):
        read(Path(name))
    assert time.process_time() - begin < 1


@pytest.mark.parametrize(
    "text",
    ['{"a": ' * 100_000, "[" * 100_000, '{"id": 1, "durationMicros": ' + "9" * 5000 + "}"],
    ids=lambda text: text[:9],
)
def test_a_trace_of_chakra_without_end_is_an_error_with_the_file(folder, text):
    Path("a.0.json").write_text("{}\n" + text)
    with pytest.raises(ScenarioError, match=r"a\.0\.json"):
        write(["a.0.json"], "out.toml", on="star.toml")


def test_a_field_of_a_megabyte_in_a_csv_is_an_error_with_the_line(folder):
    Path("a.csv").write_text(f"src,dst,bytes\n0,1,{'1' * 200_000}\n")
    with pytest.raises(ScenarioError, match=r"a\.csv:2"):
        columns.read(Path("a.csv"), None)


def test_more_rows_than_flows_of_a_run_are_refused_before_they_are_read(folder, monkeypatch):
    pyarrow.parquet.write_table(
        pyarrow.table({"src": [0] * 9, "dst": [1] * 9, "bytes": [1] * 9}), "a.parquet"
    )
    monkeypatch.setattr(columns.limits, "FLOWS", columns.limits.FLOWS._replace(most=8))
    monkeypatch.setattr(pyarrow.parquet, "read_table", None)
    with pytest.raises(ScenarioError, match="9 rows: expected at most 8"):
        columns.read(Path("a.parquet"), None)


HOSTILE = [
    "x\nseed = 7\n#",
    'x\ncc = "./evil.py:Aimd"\n[hosts]\n#',
    "\x1b[31mred",
    "a\x7fb",
    "\u2028seed = 7",
    "𝄞",
]
"""Names that would be another line, a command of a terminal, or no text of TOML."""


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_the_name_of_a_column_writes_nothing_into_the_scenario(folder, name):
    pyarrow.parquet.write_table(
        pyarrow.table({"src": [0], "dst": [1], "bytes": [10], name: [1]}), "a.parquet"
    )
    found = write(["a.parquet"], "out.toml", on="star.toml")
    plain = write(["a.parquet"], "plain.toml", on="star.toml", cc="dctcp")
    assert found.scenario.seed == plain.scenario.seed == 1
    assert found.scenario.algorithms[0].name == "dctcp"
    assert Path("out.toml").read_text().isascii() or "𝄞" in name
    assert sh.Scenario.load("out.toml").seed == 1


@pytest.mark.parametrize("name", ["a\x7fb", "\x1b[31m"], ids=ascii)
def test_a_label_that_no_scenario_may_have_is_refused_before_anything_is_written(folder, name):
    lines = f"{name}: send 8b to 1\n}}\nrank 1 {{ recv 8b from 0 c: calc 5 }}\n"
    Path("a.goal").write_text(f"num_ranks 2\nrank 0 {{\n{lines}")
    with pytest.raises(ScenarioError, match="expected a name"):
        write(["a.goal"], "out.toml", on="star.toml")
    assert not Path("out.toml").exists()

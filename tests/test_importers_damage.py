"""Files with damage: a reader refuses them, or finds exactly what they say, or names what it left out.

Six kinds of damage: in a line some characters change or a number becomes huge, a line is removed, doubled, or
changes its place, or the file ends early.
`second_readers` say what a damaged file means.
"""

import random
import re
import zlib
from pathlib import Path

import pytest

import second_readers as second
from shallows.errors import ScenarioError
from shallows.fit import measured as table_of_times
from shallows.importers.formats import read_all
from shallows.importers.order import ordered
from shallows.settings import mlx5_text, port_tables, sonic
from shallows.units import RATE, SIZE, TIME
from test_importers import FAT_TREE

FAST, MANY = 60, 2000
"""Damaged files of each format, before a commit and at night."""
LETTERS = "0123456789 .-_#>,:{}abxG*"

MATRIX = """Nodes 8
Connections 5
Triggers 2
0->1 id 1 start 0 size 1000 send_done_trigger 1
2->3 id 2 start 500 size 2000 send_done_trigger 2
4->3 id 3 start 0 size 3000 send_done_trigger 2
1->5 id 4 trigger 1 size 4000
3->6 id 5 trigger 2 size 5000
trigger id 1 oneshot
trigger id 2 barrier count 2
"""
TOPOLOGY = """5 2 4
3 4
0 3 100Gbps 1us 0
1 3 100Gbps 2us 0
2 4 25000000000 0.5us 0.001
3 4 400Gbps 5us 0
"""
FLOWS = """4
0 1 3 100 1000 2.0
1 2 3 100 2000 2.00001
2 0 3 100 3000 2.1
0 2 3 100 4000 3
"""
SIZES = "0 0\n1000 20\n5000 60\n20000 90\n100000 100\n"
CONFIG = """ENABLE_QCN 1
CC_MODE 1
PACKET_PAYLOAD_SIZE 1000
RP_TIMER 900
RATE_DECREASE_INTERVAL 4
FAST_RECOVERY_TIMES 1
EWMA_GAIN 0.00390625
RATE_AI 50Mb/s
RATE_HAI 100Mb/s
"""
GOAL = """num_ranks 2
rank 0 {
a: calc 1000
b: send 500b to 1 tag 7
c: recv 600b from 1 tag 8
b requires a
}
rank 1 {
d: recv 500b from 0 tag 7
e: calc 2000
f: send 600b to 0 tag 8
e requires d
f requires e
}
"""
TABLE = "src,dst,bytes,start_us,color\n0,1,1000,0,1\nh2,3,2000,1.5,2\n4,5,3000,2,3\n"
NIC = """RPG_AI_RATE_P1 5
RPG_HAI_RATE_P1 50
* RPG_TIME_RESET_P1 300
RPG_THRESHOLD_P1 1
CLAMP_TGT_RATE_P1 False(0)
SRIOV_EN True(1)
"""
LEAF_SPINE = """Nodes 8
Tiers 2
Podsize 8
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 1000
Oversubscribed 1
Queue_Up 9000
Tier 1
Downlink_speed_Gbps 50
Radix_Down 8
Bundle 2
Downlink_Latency_ns 1000
Queue_Down 9000
"""
CHAKRA = """{"version": "1"}
{"id": 1, "type": "COMP_NODE", "durationMicros": 10}
{"id": 2, "type": "COMM_SEND_NODE", "dataDeps": [1], "attr": [
{"name": "comm_dst", "int64Val": 1},
{"name": "comm_size", "int64Val": 5000},
{"name": "comm_tag", "int64Val": 5}
]}
{"id": 3, "type": "COMP_NODE", "dataDeps": [1], "ctrlDeps": [2],
"durationMicros": 20,
"attr": [{"name": "is_cpu_op", "boolVal": true}]}
{"id": 4, "type": "COMM_COLL_NODE", "dataDeps": [3], "attr": [
{"name": "comm_type", "int64Val": 0},
{"name": "comm_size", "int64Val": 8000}]}
{"id": 5, "type": "MEM_LOAD_NODE", "dataDeps": [4], "durationMicros": 5}
{"id": 6, "type": "COMP_NODE", "dataDeps": [5], "durationMicros": 30}
"""
WORKLOAD = """HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 8
3
a -1 1000 ALLREDUCE 10000 2000 NONE 0 3000 ALLREDUCE 40000 1
b -1 1500 NONE 0 2500 ALLGATHER 5000 3500 NONE 0 0
c -1 1600 ALLTOALL_EP 6000 2600 REDUCESCATTER 7000 3600 ALLGATHER_DP_EP 8001 1
"""
MEASURED = """# a table
message,time_us,note
8,1.5,1
64,1.75,2
512,2.25,3
---
4096,7.5,4
"""
LOOKUP = """# speed cable size xon xoff threshold xon_offset
10000 5m 1248 2288 35776 -3 2288
40000 40m 1248 2288 70000 -3 2288
100000 300m 1248 2288 184320 -3
"""
SWITCH = """{"WRED_PROFILE": {
"A": {"ecn": "ecn_all",
"green_min_threshold": "1000",
"green_max_threshold": "2000",
"green_drop_probability": "5"}},
"QUEUE": {"Ethernet0|3": {
"wred_profile": "A"}},
"PORT_QOS_MAP": {"Ethernet0": {
"pfc_enable": "3"}},
"BUFFER_PROFILE": {"B": {
"xoff": "5000",
"xon_offset": "300",
"static_th": "9000"}},
"BUFFER_PG": {"Ethernet0|3": {
"profile": "B"}}}
"""


def parts_of(text, name):
    Path(name).write_text(text)
    (parts,) = read_all([Path(name)], "ps")
    return parts


def messages(parts):
    return [(task.host, task.to, task.bytes, task.delay_ps) for task in parts.work.tasks]


def matrix(text):
    parts = parts_of(text, "a.cm")
    found = [
        (*row, tuple(sorted(task.after)), task.needs or len(task.after))
        for row, task in zip(messages(parts), parts.work.tasks, strict=True)
    ]
    return sorted(found), parts.left_out


def topology(text):
    parts = parts_of(text, "t.txt")
    errors = {fault["link"]: fault["value"] for fault in parts.fabric.faults}
    ends = (
        (int(a.lstrip("hs")), int(b.lstrip("hs")), a, b, *rest)
        for a, b, *rest in parts.fabric.topology["edges"]
    )
    return sorted(
        (a, b, RATE.parse(rate), TIME.parse(delay), errors.get(f"{x}<->{y}", 0.0))
        for a, b, x, y, rate, delay in ends
    ), parts.left_out


def flows(text):
    parts = parts_of(text, "f.txt")
    return messages(parts), [*parts.left_out, *parts.assumed]


def sizes(text):
    parts = parts_of(text, "s.txt")
    if parts.sizes is None:  # recognised as flows or a topology, of which it has none
        assert parts.left_out
        raise ScenarioError(None, None, "sizes")
    most = parts.sizes[-1][1]
    return [(size, share / most) for size, share in parts.sizes], parts.left_out


def configuration(text):
    parts = parts_of(text, "c.txt")
    cc = parts.settings.cc
    if cc is None:  # another algorithm, which the import refuses unless --cc names one
        assert parts.settings.mode.text not in ("1", "3", "7")
        raise ScenarioError(None, None, "an algorithm")
    found = {key: TIME.parse(cc[key]) for key in ("t", "tau") if key in cc}
    found |= {key: RATE.parse(cc[key]) for key in ("r_ai", "r_hai") if key in cc}
    found |= {key: round(cc[key], 9) for key in ("f", "g") if key in cc}
    network = parts.settings.tables["network"]
    if "mtu" in network:
        found["payload"] = SIZE.parse(network["mtu"]) - SIZE.parse(network["header"])
    return found, parts.left_out


def goal(text):
    parts = parts_of(text, "a.goal")
    found = []
    received = {  # receives wait for a message of another rank first
        task.name
        for task in parts.work.tasks
        if task.to is None and task.after and not task.after[0].startswith(f"{task.host}.")
    }
    for task in parts.work.tasks:
        label = task.name.partition(".")[2]
        if task.to is not None:
            found.append((task.host, label, task.to, task.bytes))
        elif task.duration_ps or task.name not in received:
            found.append((task.host, label, task.duration_ps))
        waits = [name for name in [*task.after, *task.behind] if name.startswith(f"{task.host}.")]
        found += [(task.host, label, name.partition(".")[2]) for name in waits]
    return sorted(found, key=str), parts.left_out


def table(text):
    parts = parts_of(text, "a.csv")
    return messages(parts), parts.left_out


NAMES = {"h": 0, "tor": 1, "leaf": 1, "aggr": 2, "spine": 2, "core": 3}


def fabric(text):
    parts = parts_of(text, "a.topo")
    table, found = parts.fabric.topology, []
    edges = table.get("edges") or [
        *((f"h{host}", f"leaf{host // table['hosts_per_leaf']}", table["rate"], table["link_delay"])
          for host in range(table["leaves"] * table["hosts_per_leaf"])),
        *((f"leaf{leaf}", f"spine{spine}", table["spine_rate"], table["link_delay"])
          for leaf in range(table["leaves"]) for spine in range(table["spines"])
          for _ in range(table["links_per_pair"])),
    ]  # fmt: skip
    for *ends, rate, delay in edges:
        split = [re.fullmatch("([a-z]+)([0-9]+)", end).groups() for end in ends]
        places = [(NAMES[name], int(at)) for name, at in split]
        found.append((*places, RATE.parse(rate) // 10**9, TIME.parse(delay)))
    return (sorted(found), {SIZE.parse(size) for size in parts.fabric.network.values()}), parts.left_out


def chakra(text):
    Path("a.0.json").write_text(text)
    Path("a.1.json").write_text(second.PARTNER)
    (parts,) = read_all([Path("a.0.json"), Path("a.1.json")], None)
    tasks = {task.name: task for task in parts.work.tasks}
    numbers = [name for name in tasks if re.fullmatch("0[.][0-9]+", name)]
    found = []
    for name in numbers:
        task, start = tasks[name], tasks.get(f"{name}.start", tasks[name])
        waits = sorted(int(one[2:]) for one in [*start.after, *start.behind] if one in numbers)
        sent = [one.bytes for one in tasks.values() if one.name.startswith("c1m")]
        row = ("for", task.processor, task.duration_ps)
        if task.to is not None:
            row = ("to", task.to, task.bytes)
        elif start is not task:  # a ring of two ranks: two steps, in each of which both send a half
            assert len(sent) == 4
            row = ("all-reduce", 0, sum(sent) // 2)
        found.append((int(name[2:]), *row, waits))
    ordered(parts.work)  # refuses cycles and names that two tasks have
    return sorted(found), parts.left_out


def workload(text):
    work = (parts := parts_of(text, "w.txt")).work
    found, steps = [], {}
    for task in work.tasks:
        rank, _, rest = task.name.partition(".")
        if task.to is not None:
            steps.setdefault(rank, []).append(task.bytes)
        elif "." not in rest:
            found.append((task.host, rest, task.duration_ps))
    waited = {name.partition(".")[2].removesuffix(".end") for task in work.tasks
              for name in task.after if name.endswith(".end")}  # fmt: skip
    last = found[-1][1] if found else ""
    return [
        (rank, ps, step in waited or (step == last and step in steps and not step.endswith("w")),
         len(steps.get(step, ())), sum(steps.get(step, ())))
        for rank, step, ps in found
    ], parts.left_out  # fmt: skip


def nic(text):
    found, left = mlx5_text.settings(text)
    return found, left


def switch(text):
    Path("q.json").write_text(text)
    found = sonic.fragment(Path("q.json"))
    if "network" not in found.tables:  # queues that differ are classes, by their numbers
        raise ScenarioError(None, None, "queues that are alike")
    network = found.tables["network"]
    if not {"marking", "pfc"} <= network.keys():  # without the entry that asks for it, which is named
        assert found.not_expressed
        raise ScenarioError(None, None, "a lossless queue that marks")
    marking, pfc = network["marking"], network["pfc"]
    thresholds = [SIZE.parse(marking.get(key, marking.get("threshold", "0B"))) for key in ("kmin", "kmax")]
    headroom = 0 if pfc.get("headroom", "auto") == "auto" else SIZE.parse(pfc["headroom"])
    values = [headroom, *(SIZE.parse(pfc.get(key, "0B")) for key in ("threshold", "hysteresis"))]
    return [*thresholds, round(100 * marking.get("pmax", 1)), "3", *values], found.not_expressed


def measured(text):
    Path("m.txt").write_text(text)
    tables = table_of_times.read(Path("m.txt"))
    rows = sorted(row for table in tables for row in table.rows)
    return rows, [text for table in tables for text in table.left]


def lookup(text):
    Path("pg_profile_lookup.ini").write_text(text)
    (table,) = port_tables.read(Path("pg_profile_lookup.ini")).values()
    places = {tuple(map(float, key.split("|"))): [*row.values()] for key, row in table.items()}
    return places, []


FORMATS = {
    "matrix": (MATRIX, matrix), "topology": (TOPOLOGY, topology), "flows": (FLOWS, flows),
    "sizes": (SIZES, sizes), "configuration": (CONFIG, configuration), "goal": (GOAL, goal),
    "table": (TABLE, table), "nic": (NIC, nic), "switch": (SWITCH, switch),
    "leaf-spine": (LEAF_SPINE, fabric), "fat-tree": (FAT_TREE, fabric), "chakra": (CHAKRA, chakra),
    "workload": (WORKLOAD, workload), "measured": (MEASURED, measured), "lookup": (LOOKUP, lookup),
}  # fmt: skip


def damaged(text, rng):
    lines = text.splitlines()
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.choice(("changed", "changed", "removed", "doubled", "moved", "huge", "truncated"))
    if kind == "truncated":
        return text[: rng.randrange(1, len(text))]
    if kind == "huge" and (numbers := [*re.finditer("[0-9]+", lines[at])]):
        number, huge = rng.choice(numbers), str(10 ** rng.randrange(5, 30))
        lines[at] = lines[at][: number.start()] + huge + lines[at][number.end() :]
    elif kind == "changed":
        for _ in range(rng.choice((1, 1, 2, 5))):
            place = rng.randrange(len(lines[at]) + 1)
            letters = rng.choice(
                ("", "", rng.choice(LETTERS), lines[at][place : place + 1] + rng.choice(LETTERS))
            )
            lines[at] = lines[at][:place] + letters + lines[at][place + 1 :]
    elif kind == "removed":
        del lines[at]
    elif kind == "doubled":
        lines.insert(other, lines[at])
    else:
        lines.insert(other, lines.pop(at))
    return "\n".join(lines) + "\n"


def check(name, text):
    """Whether the text was read; fails where something of it was lost silently."""
    read = FORMATS[name][1]
    try:
        found, notes = read(text)
    except ScenarioError:
        return False
    try:
        expected, unknown = getattr(second, read.__name__)(text)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        pytest.fail(f"read, though it means nothing ({error!r}): {found} {notes}\n{text}")
    said = " ".join(notes)
    silent = [word for word in unknown if word not in said]
    assert found == expected, text
    assert not silent, f"{silent} {notes}\n{text}"
    return True


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", FORMATS)
def test_a_whole_file_is_what_the_second_reader_finds(folder, name):
    assert check(name, FORMATS[name][0])


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_of_a_damaged_file_is_lost_silently(folder, name):
    read = _many(name, FAST)
    assert 0 < read < FAST


@pytest.mark.nightly
@pytest.mark.parametrize("name", FORMATS)
def test_nothing_of_many_damaged_files_is_lost_silently(folder, name):
    assert 0 < _many(name, MANY) < MANY


def _many(name, count):
    rng = random.Random(zlib.crc32(name.encode()))
    return sum(check(name, damaged(FORMATS[name][0], rng)) for _ in range(count))

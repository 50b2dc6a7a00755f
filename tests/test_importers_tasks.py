"""Schedules and traces with computations: GOAL, Chakra, and triggers that need tasks."""

import json
from pathlib import Path

import pytest

import shallows as sh
from shallows.errors import ScenarioError
from shallows.importers import write
from shallows.importers.protobuf import BrokenError, fields, messages, numbers

STAR = """
duration = "1s"
cc = "dcqcn"
topology = { kind = "star", hosts = 8, rate = "100Gbps", rtt = "4us" }
network = { pfc = true }
traffic = [{ kind = "incast" }]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("star.toml").write_text(STAR)
    return tmp_path


def imported(files):
    for name, text in files.items():
        Path(name).write_bytes(text) if isinstance(text, bytes) else Path(name).write_text(text)
    return write(list(files), "out.toml", on="star.toml").scenario


def refused(files):
    with pytest.raises(ScenarioError) as error:
        imported(files)
    assert not Path("out.toml").exists()
    return str(error.value)


def tasks(scenario):
    """{name: table} of its tasks."""
    return {task["name"]: task for task in scenario.tables["traffic"][0]["tasks"]}


def varint(number):
    low, high = number & 127, number >> 7
    return bytes([low | 128]) + varint(high) if high else bytes([low])


def field(number, value):
    """A field on the wire (protobuf.dev): a varint, or bytes after their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def attribute(name, value):
    kinds = {int: 9, str: 29, bool: 27}
    return field(1, name) + field(kinds[type(value)], value)


TYPES = {"METADATA": 1, "COMP": 4, "COMM_SEND": 5, "COMM_RECV": 6, "COMM_COLL": 7}


def trace(nodes):
    """The bytes of an .et file of (id, type, dependencies, microseconds, attributes)."""
    rows = [field(1, "0.0.4")]
    for number, kind, waits, duration, values in nodes:
        node = field(1, number) + field(2, f"n{number}") + field(3, TYPES[kind])
        node += field(5, b"".join(map(varint, waits))) + field(7, duration)  # packed, as proto3 has it
        node += b"".join(field(10, attribute(*pair)) for pair in values.items())
        rows.append(node)
    return b"".join(varint(len(row)) + row for row in rows)


def as_json(nodes):
    """The same as jsonizer writes it: an object for each node, 64-bit numbers as texts."""
    rows = [{"version": "0.0.4"}]
    for number, kind, waits, duration, values in nodes:
        attr = [
            {"name": name, "int64Val" if isinstance(v, int) else "stringVal": v} for name, v in values.items()
        ]
        ids = [str(one) for one in waits]
        node = {"id": str(number), "type": f"{kind}_NODE", "dataDeps": ids, "durationMicros": str(duration)}
        rows.append(node | {"attr": attr})
    return "".join(json.dumps(row, indent=2) for row in rows)


def pair(rank):
    """Rank 0 computes, sends 1 MB and computes; rank 1 receives it, computes, and both reduce 800 KB."""
    reduce = {"comm_type": 0, "comm_size": 800_000}
    if rank == 0:
        message = (2, "COMM_SEND", [1], 0, {"comm_dst": 1, "comm_size": 1_000_000, "comm_tag": 5})
        return [(1, "COMP", [], 10, {}), message, (3, "COMP", [2], 20, {}), (4, "COMM_COLL", [3], 0, reduce)]
    message = (7, "COMM_RECV", [], 0, {"comm_src": 0, "comm_size": 1_000_000, "comm_tag": 5})
    return [message, (8, "COMP", [7], 30, {}), (9, "COMM_COLL", [8], 0, reduce), (10, "COMP", [9], 5, {})]


@pytest.mark.parametrize(("write_trace", "end"), [(trace, "et"), (as_json, "json")])
def test_chakra_traces_of_two_ranks(folder, write_trace, end):
    scenario = imported({f"job.{rank}.{end}": write_trace(pair(rank)) for rank in range(2)})
    of = tasks(scenario)
    assert of["0.1"] == {"name": "0.1", "host": 0, "compute": "10us"}
    assert of["0.2"] == {"name": "0.2", "from": 0, "to": 1, "size": "1MB", "after": ["0.1"]}
    assert of["0.3"] == {"name": "0.3", "host": 0, "compute": "20us", "behind": ["0.2"]}
    assert of["1.8"] == {"name": "1.8", "host": 1, "compute": "30us", "after": ["0.2"]}
    # A ring of two: two steps of 400 KB each way, the second after the first was received.
    parts = {name: task for name, task in of.items() if task.get("size") == "400KB"}
    assert [(part["from"], part["to"]) for part in parts.values()] == [(0, 1), (1, 0), (0, 1), (1, 0)]
    first, other, second, last = parts
    assert parts[first]["after"] == ["0.3"]
    assert parts[other]["after"] == ["1.8"]
    assert (parts[second]["after"], parts[second]["behind"]) == ([other], [first])
    assert set(of["1.10"]["after"]) == {second}
    assert set(of["1.10"]["behind"]) == {last}
    run = sh.run(scenario)
    ends = run.flows["start_us"] + run.flows["fct_us"]
    # 10 us, 1 MB (with headers 82.2 us), 30 us, two steps of 32.9 us; 2 us of propagation for each message.
    assert ends.max() == pytest.approx(10 + 82.2 + 30 + 2 * 32.9 + 3 * 2, rel=0.02)


@pytest.mark.parametrize(("name", "key"), [("low", "low"), ("0", "0"), ("0.0", "0"), ("0.0", "0.0")])
def test_groups_of_ranks_are_a_file(folder, name, key):
    """ASTRA-sim reads the name of a group as a whole number: "0.0" is 0."""
    values = {"comm_type": 2, "comm_size": 1000, "pg_name": name}
    files = {
        f"job.{rank}.et": trace([(1, "COMM_COLL", [], 0, values)] if rank < 2 else []) for rank in range(3)
    }
    scenario = imported({**files, "groups.json": json.dumps({key: [0, 1]})})
    flows = scenario.flows
    assert list(zip(flows.src.tolist(), flows.dst.tolist(), flows.bytes.tolist(), strict=True)) == [
        (0, 1, 1000),
        (1, 0, 1000),
    ]


def test_files_of_traces_are_checked(folder):
    whole = trace([(1, "COMP", [9], 1, {})])
    assert "protocol buffers, each after its length" in refused({"job.0.et": whole[:-3]})
    assert "NAME.RANK.et or NAME.RANK.json" in refused({"job.et": whole})
    assert "one for each rank from 0 to 1; there are 1" in refused({"job.1.et": whole})
    gather = [(1, "COMM_COLL", [], 0, {"comm_type": 3, "comm_size": 10})]
    assert "comm_type = 3 (GATHER): expected one of ALL_REDUCE" in refused({"job.0.et": trace(gather)})


def test_control_dependencies_of_a_trace(folder):
    """Field 4 of a node; here the fields of nodes are written by hand."""
    first = field(1, 5) + field(3, 4) + field(7, 2)
    second = field(1, 6) + field(3, 5) + field(4, 5) + field(10, attribute("comm_dst", 1))
    second += field(10, attribute("comm_size", 10))
    rows = [field(1, "0.0.4"), first, second]
    Path("job.0.et").write_bytes(b"".join(varint(len(row)) + row for row in rows))
    receive = [(1, "COMM_RECV", [], 0, {"comm_src": 0})]
    assert tasks(imported({"job.1.et": trace(receive), "job.0.et": Path("job.0.et").read_bytes()}))["0.6"][
        "after"
    ] == ["0.5"]
    contradicted = [field(1, "0.0.4"), first + field(4, 6), second.replace(field(4, 5), field(5, 5))]
    Path("job.0.et").write_bytes(b"".join(varint(len(row)) + row for row in contradicted))
    written = write(["job.0.et", "job.1.et"], "out.toml", on="star.toml")
    assert written.left_out[0].startswith("ctrl_deps")


def test_calls_of_the_cpu_and_cut_traces(folder):
    """A collective without a type is its call; nodes that were cut off are named."""
    call = (1, "COMM_COLL", [77], 4, {"is_cpu_op": 1})
    rows = {0: [call, (2, "COMM_SEND", [1], 0, {"comm_dst": 1, "comm_size": 10})], 1: []}
    rows[1] = [(1, "COMM_RECV", [], 0, {"comm_src": 0})]
    for rank, nodes in rows.items():
        Path(f"job.{rank}.et").write_bytes(trace(nodes))
    written = write(["job.0.et", "job.1.et"], "out.toml", on="star.toml")
    assert tasks(written.scenario)["0.1"] == {"name": "0.1", "host": 0, "compute": "4us", "processor": 1}
    assert written.left_out == ["1 dependencies on nodes that their file does not have"]


def test_the_wire_format_of_protocol_buffers():
    """Examples of protobuf.dev/programming-guides/encoding: 150 is 96 01, packed 3, 270, 86942."""
    assert list(fields(bytes.fromhex("089601"))) == [(1, 150)]
    assert list(fields(bytes.fromhex("120774657374696e67"))) == [(2, b"testing")]
    (number, packed), *_ = fields(bytes.fromhex("3206038e029ea705"))
    assert (number, numbers(packed)) == (6, [3, 270, 86942])
    assert list(messages(bytes.fromhex("0308960100"))) == [(1, bytes.fromhex("089601")), (5, b"")]
    for broken in ("0896", "120974657374", "0b"):
        with pytest.raises(BrokenError):
            list(fields(bytes.fromhex(broken)))

"""`shallows flow-session` against a model of its protocol, and as the program that another one starts.

SHALLOWS_SESSIONS=10000 tries 10,000 random sequences of frames.
"""

import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import flow_session_model as protocol
from shallows import _core
from shallows.scenario import Scenario
from shallows.scenario.request import request
from shallows.worlds import flow_session

STAR = Path(__file__).parents[1] / "examples/c/star.toml"
COUNT = int(os.environ.get("SHALLOWS_SESSIONS", "200"))
BINARY = Path(sys.executable).with_name("shallows-flow-session")


def answers(data):
    """The objects of frames."""
    found = []
    while data:
        (length,) = struct.unpack(">I", data[:4])
        found.append(json.loads(data[4 : 4 + length]))
        assert protocol.canonical(found[-1]) == data[4 : 4 + length]
        data = data[4 + length :]
    return found


def without_message(answer):
    """An answer as the model has it: errors carry a sentence besides."""
    assert ("message" in answer) == (answer["status"] == "error")
    assert answer.pop("message", "a sentence").strip()
    return answer


def served(data, scenario):
    """What a session in this process answers to an input, and whether it was closed in order."""
    with tempfile.TemporaryFile() as input_, tempfile.TemporaryFile() as output:
        input_.write(data)
        input_.seek(0)
        closed = flow_session.serve({protocol.PROFILE: scenario}, input_.fileno(), output.fileno())
        output.seek(0)
        return output.read(), closed


def test_random_sequences_are_answered_as_the_model_says():
    scenario = Scenario.load(STAR)
    asked, codes, closed = request(scenario), set(), 0
    asked["record"]["probe_flows"] = []
    for number in range(COUNT):
        data, expected = protocol.sequence(asked, random.Random(number))
        came, in_order = served(data, scenario)
        found = [without_message(answer) for answer in answers(came)]
        assert [*map(protocol.canonical, found)] == [*map(protocol.canonical, expected)], f"sequence {number}"
        is_cut = expected[-1].get("error_code") in ("truncated_frame", "oversized_frame")
        assert in_order == (any(answer.get("verb") == "close" for answer in expected) and not is_cut)
        codes |= {answer.get("error_code") for answer in expected}
        closed += in_order
    assert closed > COUNT / 50
    assert len(codes) > 15


@pytest.fixture
def process():
    """A function that starts the program as SimLLM does; none is left at the end."""
    started = []

    def start():
        environment = os.environ | {flow_session.PROFILES: f"other={STAR}{os.pathsep}rnic-nn={STAR}"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started.append(subprocess.Popen([BINARY, "--flow-session"], env=environment, **pipes))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.wait()


def asked(process, body):
    """The answer to a request, while the session goes on."""
    process.stdin.write(protocol.framed(protocol.canonical(body)))
    process.stdin.flush()
    (length,) = struct.unpack(">I", process.stdout.read(4))
    return json.loads(process.stdout.read(length))


def study(process, nodes, flows, gap):
    """A session as persistent_session_v1/run_study.py of SimLLM drives it: (FCTs, high-water marks)."""
    identity = f"rnic-nn:nodes={nodes}"
    assert asked(process, protocol.opening(node_count=nodes, topology_identity=identity))["sequence"] == 0
    for number, (source, destination, payload) in enumerate(flows):
        flow = protocol.injection(number + 1, source, destination, payload, number * gap)
        assert asked(process, flow)["status"] == "ok"
    through = max(gap, 10_000_000) * len(flows)
    rows = asked(process, protocol.cursor("advance", len(flows), through_ps=through))["projections"]
    assert len(rows) == 4 * len(flows)
    drained = asked(process, protocol.cursor("drain", len(flows)))
    assert drained["quiescent"]
    assert asked(process, protocol.cursor("close", len(flows)))["status"] == "ok"
    process.stdin.close()
    assert (process.wait(30), process.stderr.read()) == (0, b"")
    return [row["fct_ps"] for row in drained["completion_rows"]], drained["sq_high_watermarks"]


@pytest.mark.parametrize(
    ("nodes", "flows", "gap", "fcts", "marks"),
    [
        (2, [(0, 1, 4096), (1, 0, 8192)], 10_000_000, [2_166_400, 2_249_600], [1, 1]),
        (
            4,
            [(0, 1, 4096), (1, 2, 8192), (2, 3, 4096), (3, 0, 8192)],
            10_000_000,
            [2_166_400, 2_249_600, 2_166_400, 2_249_600],
            [1, 1, 1, 1],
        ),
        (2, [(0, 1, 4096), (0, 1, 4096)], 0, [2_166_400, 2_249_600], [2, 0]),
        (2, [(0, 1, 8192)], 0, [2_249_600], [1, 0]),
    ],
)
def test_the_published_numbers_come_out(process, nodes, flows, gap, fcts, marks):
    """RESULTS.md of SimLLM's examples/persistent_session_v1: latency identity and retained-state relation.

    By hand: two links of 1 us and a frame of 4160 B over each, 83,200 ps; each further frame comes as much
    later.
    """
    assert study(process(), nodes, flows, gap) == (fcts, marks)


def test_the_second_of_two_overlapping_flows_ends_behind_the_first(process):
    """The last of four frames ends 3 * 83,200 ps after the first; RESULTS.md has 2416000 too."""
    (first, second), marks = study(process(), 2, [(0, 1, 8192), (0, 1, 8192)], 0)
    assert (second, marks) == (2_416_000, [2, 0])
    assert first < second


@pytest.mark.parametrize("data", [b"", b"\0\0", protocol.framed(protocol.canonical(protocol.opening()))[:-3]])
def test_a_closed_input_leaves_no_process(process, data):
    one = process()
    came, said = one.communicate(data, timeout=30)
    assert (one.returncode, said) == (1, b"")
    assert [answer["error_code"] for answer in answers(came)] == ["truncated_frame"] * bool(data)


def test_a_closed_output_and_a_signal_leave_no_process(process):
    one = process()
    one.stdout.close()
    one.stdin.write(protocol.framed(b"{}"))
    one.stdin.close()
    assert one.wait(30) == 1
    other = process()
    assert asked(other, protocol.opening())["status"] == "ok"
    other.send_signal(signal.SIGINT)
    assert other.wait(30) == -signal.SIGINT


def test_an_error_of_a_scenario_is_an_answer(tmp_path):
    """A mistake that only the number of hosts shows, and an exception that is none of the user's mistakes."""
    scenario = Scenario.load(STAR).set("traffic.0.senders", 3)
    opening = protocol.opening(node_count=2, topology_identity="rnic-nn:nodes=2")
    came, closed = served(protocol.framed(protocol.canonical(opening)), scenario)
    (answer,) = answers(came)
    assert (answer["error_code"], closed) == ("refused_by_network", False)
    assert "traffic[0].senders" in answer["message"]

    def fails(profile, seed, hosts):
        raise RuntimeError("a bug")

    path = tmp_path / "input"
    path.write_bytes(protocol.framed(protocol.canonical(opening)))
    with path.open("rb") as input_, pytest.raises(RuntimeError, match="a bug"):
        _core.flow_session(fails, input_.fileno(), os.open(os.devnull, os.O_WRONLY))

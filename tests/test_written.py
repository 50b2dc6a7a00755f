"""Algorithms written in Python: the same decisions as the catalog's, and exceptions of their own."""

import traceback
from pathlib import Path

import pytest

import shallows as sh
from shallows import algorithm
from shallows.scenario import Scenario
from shallows.worlds import packet

GUIDE = Path(__file__).parents[1] / "docs/algorithms.md"


@pytest.fixture(autouse=True)
def _own_names(monkeypatch):
    monkeypatch.setattr(algorithm, "_WRITTEN", {})


def scenario(cc, **overrides):
    tables = {
        "duration": "60ms",
        "topology": {"kind": "dumbbell", "hosts": 3, "rate": "1Gbps", "rtt": "100us"},
        "network": {"buffer": "20pkt"},
        "cc": cc,
        "traffic": [{"kind": "long-lived", "flows": 3, "stagger": "1ms"}],
    }
    return Scenario(**tables | overrides)


def guide():
    """The guide's example."""
    return GUIDE.read_text().split("```python\n")[1].split("```")[0]


def aimd():
    """The class of the guide."""
    names = {}
    exec(guide().split("sh.register")[0], names)
    return names["Aimd"]


def test_the_guides_example_runs_to_its_last_line(capsys):
    names = {}
    exec(guide(), names)
    run = names["run"]
    assert set(run.flows.cc) == {"aimd"}
    # Forty Reno-like flows fill any buffer.
    assert run.summary["bottleneck"]["utilization"] > 0.99
    assert run.summary["bottleneck"]["dropped"] > 0
    assert capsys.readouterr().out == f"{run.summary['bottleneck']}\n"


def test_the_guides_aimd_is_reno_packet_by_packet():
    sh.register("aimd", aimd())
    written, reno = packet.run(scenario("aimd")), packet.run(scenario("reno"))
    assert written.summary["fingerprint"] == reno.summary["fingerprint"]
    assert reno.summary["flows"]["retransmits"] > 5
    assert set(written.flows.cc) == {"aimd"}


def test_what_it_raises_ends_the_run_with_its_traceback():
    class Broken(aimd()):
        def on_ack(self, now, ack):
            if now > 0.01:
                raise ZeroDivisionError("a mistake of mine")
            super().on_ack(now, ack)

    sh.register("broken", Broken)
    with pytest.raises(ZeroDivisionError, match="a mistake of mine") as raised:
        packet.run(scenario("broken"))
    assert "on_ack" in [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]


def test_a_pace_and_marks_reach_it():
    class Paced:
        ecn = True
        marked = 0.0

        def __init__(self, initial_window, line_rate):
            self.rate = line_rate / 2

        def on_ack(self, now, ack):
            Paced.marked += ack.marked

        def on_loss(self, now, loss):
            pass

        def decision(self):
            return 1000.0, self.rate, None

    sh.register("paced", Paced)
    run = packet.run(scenario("paced", network={"buffer": "2000pkt"}, duration="20ms"))
    assert run.scenario.network.marking.kind == "step"
    # Three flows at half the link's rate fill it; each keeps to its half until they meet.
    assert run.summary["bottleneck"]["utilization"] > 0.9
    assert Paced.marked > 0
    one = [{"kind": "long-lived", "flows": 1}]
    alone = packet.run(scenario("paced", traffic=one, network={"buffer": "100pkt"}))
    assert alone.summary["bottleneck"]["utilization"] == pytest.approx(0.5, rel=0.02)


def test_a_name_must_be_free_and_the_class_complete():
    with pytest.raises(ValueError, match="called that"):
        sh.register("reno", aimd())
    with pytest.raises(TypeError, match="no method decision"):
        sh.register("half", type("Half", (), {"on_ack": print, "on_loss": print}))


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (-1, "-1: a window of -1 packets"),
        (float("nan"), "returned nan: a window of NaN packets"),
        (None, "returned None: it is neither a number nor three"),
        ((10, 0.0, None), "a pace of 0 bit/s"),
        ((10, float("inf"), None), "a pace of inf bit/s"),
        ((10, None, 0.0), "to be called at 0 s, which is not to come"),
    ],
)
def test_a_decision_that_is_none_names_the_class_and_what_it_returned(answer, wrong):
    class Odd:
        def __init__(self, window, line_rate):
            self.acks = 0

        def on_ack(self, now, ack):
            self.acks += 1

        def on_loss(self, now, loss):
            pass

        def decision(self):
            return 10 if self.acks < 3 else answer

    sh.register("odd", Odd)
    scenario = sh.Scenario(
        duration="1ms", topology={"kind": "star"}, cc="odd", traffic=[{"kind": "long-lived", "flows": 1}]
    )
    with pytest.raises(ValueError, match=f"Odd.decision.*{wrong}"):
        sh.run(scenario)

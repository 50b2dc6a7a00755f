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


def aimd():
    """The class of the guide."""
    code = GUIDE.read_text().split("```python\n")[1].split("sh.register")[0]
    names = {}
    exec(code, names)
    return names["Aimd"]


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

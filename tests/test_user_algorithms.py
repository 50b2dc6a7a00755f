"""Algorithms written in Python: the same decisions as the catalog's, and exceptions of their own."""

import traceback
from pathlib import Path

import pytest
from typer.testing import CliRunner

import commands
import shallows as sh
from shallows import cli
from shallows.algorithms import user_algorithms
from shallows.scenario import Scenario
from shallows.worlds import packet

GUIDE = Path(__file__).parents[1] / "docs/algorithms.md"


@pytest.fixture(autouse=True)
def _own_names(monkeypatch):
    monkeypatch.setattr(user_algorithms, "_CLASSES", {})


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
    """The guide's class, and the run of it."""
    return [block.split("```")[0] for block in GUIDE.read_text().split("```python\n")[1:3]]


def aimd():
    """The class of the guide."""
    names = {}
    exec(guide()[0], names)
    return names["Aimd"]


def test_the_guides_example_runs_to_its_last_line(capsys, tmp_path, monkeypatch):
    names = {}
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(guide()[0])
    exec(guide()[1], names)
    run = names["run"]
    assert set(run.flows.cc) == {"Aimd"}
    # Forty Reno-like flows fill any buffer.
    assert run.summary["bottleneck"]["utilization"] > 0.99
    assert run.summary["bottleneck"]["dropped"] > 0
    assert capsys.readouterr().out == f"{run.summary['bottleneck']}\n"


def test_the_guides_aimd_is_reno_packet_by_packet():
    sh.register("aimd", aimd())
    mine, reno = (packet.run(scenario(cc).set("hosts.gap", 0)) for cc in ("aimd", "reno"))
    assert mine.summary["fingerprint"] == reno.summary["fingerprint"]
    assert reno.summary["flows"]["retransmits"] > 5
    assert set(mine.flows.cc) == {"aimd"}


def test_a_late_flow_gets_its_share_of_a_queue_that_a_class_fills():
    """The phase effect of the core's Reno: without gaps after its frames the second flow gets nothing."""
    from test_phase_effects import shares

    assert min(shares(aimd(), 1, (0, 0), 20, 1)) >= 0.35
    assert shares(aimd(), 1, (0, 0), 20, 1, gap=0)[1] < 0.05

    class Marked(aimd()):
        ecn = True

    with pytest.raises(sh.ScenarioError, match=r"hosts\.gap = 0\.0: expected 0\.002, the default"):
        shares(Marked, 1, (0, 0), 20, 1, gap=0)


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


def written():
    """The guide's class that uses delivery rates."""
    names = {}
    exec(GUIDE.read_text().split("```python\n")[3].split("```")[0], names)
    return names["Delivered"]


@pytest.mark.parametrize(("transport", "ecn"), [("tcp", False), ("roce", False), ("unordered", True)])
def test_a_class_that_sends_at_its_delivery_rate_fills_a_link_over_each_transport(transport, ecn):
    """1 Gbps carries 1460 of 1500 B as payload, 973 Mbps; samples say so, to one packet in ten.

    A pace above the rate fills the queue, and the window holds it at one bandwidth-delay product.
    """
    seen = []

    class Watched(written()):
        def on_ack(self, now, ack):
            super().on_ack(now, ack)
            if now > 0.03 and ack.delivery and ack.delivery.rate:
                seen.append(ack.delivery.rate)

    Watched.transport, Watched.ecn = transport, ecn
    sh.register("watched", Watched)
    one = [{"kind": "long-lived", "flows": 1}]
    run = packet.run(scenario("watched", traffic=one, network={"buffer": "100pkt"}, warmup="20ms"))
    assert run.summary["bottleneck"]["utilization"] > 0.95
    assert run.scenario.algorithms[0].transport == transport
    assert sorted(seen)[len(seen) // 2] == pytest.approx(1e9 * 1460 / 1500, rel=0.1)


def test_losses_and_departures_reach_a_class():
    """A buffer of 4 packets loses some of a first window of 30; each of 100 frames leaves once, or again."""
    heard = {"sent": 0, "lost": 0.0, "told": 0.0}

    class Hearing(aimd()):
        def on_sent(self, now, frame):
            heard["sent"] += 1
            assert frame == 1500

        def on_packet_lost(self, now, lost):
            heard["lost"] += lost.size
            assert lost.in_flight >= 1
            assert lost.lost >= lost.size

        def on_loss(self, now, loss):
            heard["told"] += loss.lost
            super().on_loss(now, loss)

    sh.register("hearing", Hearing)
    one = [{"kind": "incast", "senders": 1, "size": "146000B", "to": "h1", "jitter": "0s"}]
    network = {"buffer": "4pkt", "marking": "none"}
    hosts = {"initial_window": "30pkt"}
    topology = {"kind": "dumbbell", "hosts": 1, "rate": "1Gbps", "edge_rate": "10Gbps", "rtt": "100us"}
    run = packet.run(
        scenario("hearing", traffic=one, network=network, hosts=hosts, topology=topology, duration="1s")
    )
    retransmits = int(run.flows.retransmits[0])
    assert retransmits > 10
    assert heard["sent"] == 100 + retransmits
    assert 0 < heard["told"] <= heard["lost"] == retransmits


def test_a_class_with_ecn_runs_over_ports_that_drop_alone():
    class Marked(aimd()):
        ecn = True

    sh.register("marked", Marked)
    run = packet.run(scenario("marked", network={"buffer": "20pkt", "marking": "none"}))
    assert run.summary["network"]["marked"] == 0
    assert run.summary["network"]["dropped"] > 0
    assert not any("marks alone" in text for text in run.scenario.warnings)


def test_a_name_must_be_free_and_the_class_complete():
    with pytest.raises(ValueError, match="called that"):
        sh.register("reno", aimd())
    with pytest.raises(TypeError, match="no method decision"):
        sh.register("half", type("Half", (), {"on_ack": print, "on_loss": print}))
    with pytest.raises(
        TypeError, match=r"expected .*Closed.* with __init__\(self, initial_window, line_rate\)"
    ):
        sh.register("closed", type("Closed", (aimd(),), {"__init__": lambda self: None}))


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (-1, "-1: a window of -1 packets"),
        (float("nan"), "returned nan: a window of NaN packets"),
        (None, "returned None: it is neither a number nor three"),
        ((10, 0.0, None), "a pace of 0 bit/s"),
        ((10, float("inf"), None), "a pace of inf bit/s"),
        ((10, None, 0.0), r"to be called at 0 s, which is not later than now, [0-9.]+ s"),
    ],
)
@pytest.mark.parametrize("after", [0, 3])
def test_a_decision_that_is_none_names_the_class_and_what_it_returned(answer, wrong, after):
    class Odd:
        def __init__(self, window, line_rate):
            self.acks = 0

        def on_ack(self, now, ack):
            self.acks += 1

        def on_loss(self, now, loss):
            pass

        def decision(self):
            return 10 if self.acks < after else answer

    sh.register("odd", Odd)
    scenario = sh.Scenario(
        duration="1ms", topology={"kind": "star"}, cc="odd", traffic=[{"kind": "long-lived", "flows": 1}]
    )
    with pytest.raises(sh.ScenarioError, match=f"Odd.decision.*{wrong}: expected a window in"):
        sh.run(scenario)


MINE = '''
class Aimd:
    """Adds `increase` packets a round trip; on a loss keeps `keep` of the window."""

    def __init__(self, initial_window, line_rate, *, increase=1.0, keep=0.5, late=20e-6, ecn_too=False):
        self.window, self.increase, self.keep, self.late = initial_window, increase, keep, late

    def on_ack(self, now, ack):
        self.window += self.increase * ack.acked / self.window

    def on_loss(self, now, loss):
        self.window = max(1.0, self.keep * self.window)

    def decision(self):
        return self.window

    def probe(self):
        return {"increase_pkt": self.increase, "late_us": 1e6 * self.late}
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path / "mine.py"


def test_a_class_in_a_file_runs_from_the_command_line_and_again_from_its_result(mine, tmp_path):
    short = ["--set", "duration=20ms", "--set", "warmup=0s", "--set", "record.probes=1ms"]
    words = ["run", "dctcp-40", "--cc", "./mine.py:Aimd", "--set", "cc.increase=2", *short, "--out", "one"]
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == 0, result.output
    one = sh.Run.load("one")
    assert set(one.flows.cc) == {"Aimd"}
    assert one.scenario.cc.parameters == {"increase": 2.0, "keep": 0.5, "late": 20e-6, "ecn_too": False}
    (tmp_path / "elsewhere").mkdir()
    script = "import shallows as sh; run = sh.run('../one/scenario.toml'); print(run.summary['fingerprint'])"
    again = commands.run(cwd=tmp_path / "elsewhere", code=script)
    assert again.stdout.strip() == one.summary["fingerprint"]
    probes = one.probes
    assert set(probes[probes.name == "increase_pkt"].value) == {2.0}
    assert probes[probes.name == "late_us"].value.iloc[0] == pytest.approx(20)


def test_parameters_decide_and_take_units(mine):
    runs = [sh.run(scenario({"name": "mine.py:Aimd", "keep": keep})) for keep in (0.5, 0.9)]
    assert runs[0].summary["fingerprint"] != runs[1].summary["fingerprint"]
    parameters = scenario({"name": "mine.py:Aimd", "late": "35us", "increase": "3pkt"}).cc.parameters
    assert (parameters["late"], parameters["increase"]) == (pytest.approx(35e-6), 3.0)


QUANTITIES = f"""{MINE}

class Late(Aimd):
    def __init__(self, initial_window, line_rate, *, target="20us", mode="fast", which="7"):
        super().__init__(initial_window, line_rate)
        self.target, self.mode = target, mode + which

    def on_ack(self, now, ack):
        super().on_ack(now, ack)
        if now > 2 * self.target:
            self.fail()

    def fail(self):
        raise KeyError(self.mode)
"""


def test_a_text_that_is_a_quantity_is_a_number_as_a_default_too(mine):
    mine.write_text(QUANTITIES)
    given = scenario("mine.py:Late").cc.parameters
    assert given == {"target": pytest.approx(20e-6), "mode": "fast", "which": "7"}
    given = scenario({"name": "mine.py:Late", "target": "1ms", "mode": "20us"}).cc.parameters
    assert given == {"target": pytest.approx(1e-3), "mode": "20us", "which": "7"}
    with pytest.raises(sh.ScenarioError, match='target = "soon": expected a number, or a time, a rate'):
        scenario({"name": "mine.py:Late", "target": "soon"})


def test_an_error_shows_the_lines_of_the_algorithm_alone(mine):
    """On the command line; in a sweep it fails the run, in `run` it is raised as it is."""
    mine.write_text(QUANTITIES)
    short = ["--set", "duration=20ms", "--set", "warmup=0s"]
    result = CliRunner().invoke(cli.app, ["run", "dctcp-40", "--cc", "./mine.py:Late", *short])
    assert result.exit_code == 1
    shown = result.output.splitlines()
    assert shown[0] == "shallows: an algorithm in Python failed"
    files = [line.split('"')[1] for line in shown if line.startswith("  File")]
    assert files == [str(mine.resolve())] * 2
    assert shown[-1] == "KeyError: 'fast7'"
    with pytest.raises(KeyError, match="fast7"):
        sh.run(scenario("mine.py:Late"))
    with pytest.raises(RuntimeError, match=r"all 2 runs failed: KeyError: 'fast7', in line \d+ of .*mine.py"):
        sh.sweep(scenario("mine.py:Late"), seeds=2, workers=1, out="swept")


def test_a_class_itself_is_an_algorithm_and_compares_with_others(mine):
    names = {}
    exec(MINE, names)  # no file has this one
    run = sh.run(scenario(names["Aimd"]))
    assert run.summary["cc"] == ["Aimd"]
    assert sh.run(run.scenario).summary["fingerprint"] == run.summary["fingerprint"]
    comparison = sh.compare(scenario("reno"), ["reno", names["Aimd"]])
    assert list(comparison.runs) == ["reno", "Aimd"]
    assert list(sh.compare(scenario("reno"), ["./mine.py:Aimd"]).runs) == ["Aimd"]


def test_a_sweep_loads_it_in_every_process(mine, tmp_path):
    swept = sh.sweep(scenario("reno"), cc=["reno", "mine.py:Aimd"], seeds=2, workers=2, out="sweep")
    assert swept.failures == {}
    assert list(swept.table.cc) == ["reno", "reno", "Aimd", "Aimd"]
    alone = sh.run(scenario("mine.py:Aimd"), seed=2)
    assert swept.table.fingerprint.iloc[3] == alone.summary["fingerprint"]


def test_an_edited_file_is_read_again(mine):
    before = sh.run(scenario("mine.py:Aimd")).summary["fingerprint"]
    mine.write_text(MINE.replace("increase=1.0", "increase=4.0"))
    assert sh.run(scenario("mine.py:Aimd")).summary["fingerprint"] != before


HEARS = """
    def on_ack(self, now, ack): pass
    def on_loss(self, now, loss): pass
    def decision(self): return 1
"""


@pytest.mark.parametrize(
    ("cc", "wrong"),
    [
        ("yours.py:Aimd", "an existing file and a class in it; there is none in"),
        ("mine.py:Amid", r'a class of mine.py \(Aimd\); did you mean "Aimd"\?'),
        ({"name": "mine.py:Aimd", "keeep": 1}, r'\(increase, keep, late, ecn_too\); did you mean "keep"\?'),
        ({"name": "mine.py:Aimd", "keep": "half"}, "a number, or a time, a rate or packets"),
        ({"name": "mine.py:Aimd", "ecn_too": 1}, "true or false"),
        ("broken.py:Aimd", "a file that runs; ZeroDivisionError in line 2: division by zero"),
        ("half.py:Half", "a class with on_ack, on_loss, decision; Half has no on_ack"),
        (
            "bare.py:Bare",
            r"Bare with __init__\(self, initial_window, line_rate\), then only keyword arguments",
        ),
        ("deaf.py:Deaf", r"Deaf with on_loss\(self, now, loss\)"),
        ("python:Lost", 'the file of the class, such as "mine.py:Aimd"'),
    ],
)
def test_what_is_wrong_with_a_class_is_a_sentence(mine, cc, wrong):
    mine.with_name("broken.py").write_text("x = 1\ny = 1 / 0\n")
    mine.with_name("half.py").write_text("class Half:\n    pass\n")
    mine.with_name("bare.py").write_text(f"class Bare:\n{HEARS}")
    made = "    def __init__(self, window, rate, *, keep=0.5): pass\n"
    mine.with_name("deaf.py").write_text(f"class Deaf:\n{made}{HEARS.replace('now, loss', 'loss')}")
    with pytest.raises(sh.ScenarioError, match=wrong):
        scenario(cc)


def test_a_probe_that_is_none_ends_the_run(mine):
    mine.write_text(MINE.replace("return {", "return 1 or {"))
    with pytest.raises(sh.ScenarioError, match=r"Aimd.probe\(\) returned 1: expected a dict of names and"):
        sh.run(scenario("mine.py:Aimd", record={"probes": "1ms"}))

"""One scenario in two worlds: the fluid says what packets do, in the same tables, or says that it cannot."""

import csv
import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import shallows as sh
from shallows import _core, cli
from shallows.algorithms.algorithm import catalog
from shallows.algorithms.defaults import Scale
from shallows.algorithms.marking import markings
from shallows.cli import status
from shallows.fluid import MODELS as EQUATIONS
from shallows.fluid.trajectory import trajectory
from shallows.printing.report import comparison_report
from shallows.results import TABLES
from shallows.sweeps.comparison import Comparison
from shallows.worlds import fluid, live
from shallows.worlds.fluid_models import MARKING_ONLY, MODELS, ModelInputs

SCENARIOS = Path(__file__).parents[1] / "scenarios"
SMALL = """
name = "small"
duration = "60ms"
warmup = "20ms"
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
rtt = "100us"
[network]
marking = { kind = "step", threshold = "40pkt" }
[cc]
name = "dctcp"
[[traffic]]
kind = "long-lived"
[record]
queues = "10us"
probes = "100us"
"""


@pytest.fixture
def small():
    return sh.Scenario.from_toml(SMALL)


def distances(scenario, cc, **overrides):
    """{quantity: row} of packet and fluid."""
    comparison = sh.compare(scenario, [cc], worlds=["packet", "fluid"], overrides=overrides)
    return {row["quantity"]: row for row in comparison.distances}


def test_fluid_and_packets_agree_on_the_queue_of_two_dcqcn_flows():
    """The fixed point of ECN or Delay at 2 flows, 40 Gbps, 4 us: 20.15 KB; the packets' mean within 15 %."""
    path = SCENARIOS / "dcqcn-2.toml"
    away = distances(path, "dcqcn@ecn-or-delay", **{"record.queues": "off", "record.probes": "off"})
    assert away["queue_mean_pkt"]["value"] == pytest.approx(20.15, rel=2e-3)
    assert abs(away["queue_mean_pkt"]["percent"]) < 15
    shown = "{reference:.3f}  {value:.3f}".format(**away["queue_mean_pkt"])
    assert shown in (SCENARIOS.parent / "docs" / "fluid.md").read_text()
    assert abs(away["utilization"]["difference"]) < 0.02
    assert abs(away["flow_goodput_mean_gbps"]["percent"]) < 2


TIMELY = {"name": "patched-timely@queue-error", "start_rate": "5Gbps"}
TIMELY_4US = {
    "cc": TIMELY,
    "topology.rtt": "4us",
    "topology.hosts": 3,
    "network.mtu": "1000B",
    "network.marking": "none",
}


@pytest.mark.parametrize(
    ("changes", "queue_pkt", "percent"),
    [
        # eq. 31: q = C T_low (1 + N delta/(beta C)) = 62.5 KB * 1.25
        (TIMELY_4US, 78.125, 5),
        ({"cc": {"name": "dctcp"}}, None, 15),
    ],
    ids=["patched-timely", "dctcp"],
)
def test_fluid_and_packets_agree(small, changes, queue_pkt, percent):
    longer = small.replace({**changes, "duration": "250ms", "warmup": "100ms"})
    runs = {world: sh.run(longer, world=world).summary["bottleneck"] for world in ("packet", "fluid")}
    mean = {world: port["queue_mean_pkt"] for world, port in runs.items()}
    assert mean["fluid"] == pytest.approx(mean["packet"], rel=percent / 100)
    assert runs["fluid"]["utilization"] == pytest.approx(runs["packet"]["utilization"], abs=0.01)
    if queue_pkt:
        assert mean["fluid"] == pytest.approx(queue_pkt, rel=1e-3)


def test_a_fluid_refuses_data_that_the_port_would_drop(small):
    """A step at 40 packets drops TIMELY's data, which is not ECN-capable: its queue of 78 does not exist."""
    dropping = small.replace({**TIMELY_4US, "network.marking": {"kind": "step", "threshold": "40pkt"}})
    with pytest.raises(sh.ScenarioError, match=re.escape("network.marking.nodrop: expected true, or ")):
        sh.run(dropping, world="fluid")
    port = sh.run(dropping.replace({"network.marking.nodrop": True}), world="fluid").summary["bottleneck"]
    assert port["queue_mean_pkt"] > 40


def shape(value):
    """The keys of nested dicts, without what they hold."""
    return {key: shape(item) for key, item in value.items()} if isinstance(value, dict) else None


def test_both_worlds_give_the_same_tables_and_keys(small):
    packet, liquid = (sh.run(small, world=world) for world in ("packet", "fluid"))
    assert shape(packet.summary) == shape(liquid.summary)
    assert liquid.summary["world"] == "fluid"
    for name in TABLES:
        assert liquid.table(name).schema == packet.table(name).schema
    for column in ("flow", "cc", "src", "dst", "start_us"):
        assert list(liquid.flows[column]) == list(packet.flows[column])
    assert {"window_pkt", "rate_gbps", "rtt_us", "alpha"} == set(liquid.probes.name)
    assert list(liquid.ports.port) == ["s0->h3"]
    assert set(liquid.queues.port) == {"s0->h3"}
    assert liquid.queues.time_us.diff().dropna().between(7, 13).all()


def test_statistics_are_those_of_the_trajectory(small):
    run = sh.run(small, world="fluid")
    port = run.summary["bottleneck"]
    late = run.queues[run.queues.time_us >= 20e3].queue_pkt
    assert port["queue_mean_pkt"] == pytest.approx(late.mean(), rel=5e-3)
    assert port["queue_p99_pkt"] == pytest.approx(late.quantile(0.99), abs=1)
    assert port["queue_max_pkt"] >= late.max() - 1e-9
    bins = run.queue_histograms
    assert bins.time_us.sum() == pytest.approx(40e3, rel=1e-6)
    assert np.average(bins.from_pkt, weights=bins.time_us) == pytest.approx(port["queue_mean_pkt"], rel=0.01)
    # 1460 of 1500 bytes are payload, and what leaves the port is what the flows got
    goodput = port["utilization"] * 10 * 1460 / 1500
    assert run.summary["flows"]["goodput_gbps"] == pytest.approx(goodput, rel=1e-6)
    assert run.flows.goodput_gbps.sum() == pytest.approx(goodput, rel=1e-6)
    assert run.ports.sent[0] == pytest.approx(port["utilization"] * 10e9 * 40e-3 / 12e3, rel=1e-4)
    assert 0.02 < port["marked"] / run.ports.sent[0] < 0.6


def test_a_fluid_that_leaks_does_not_close_its_books(small, monkeypatch):
    def leaking(*arguments, **options):
        run = trajectory(*arguments, **options)
        return dataclasses.replace(run, rates_bps=1.01 * run.rates_bps)

    monkeypatch.setattr("shallows.fluid.trajectory.trajectory", leaking)
    with pytest.raises(sh.BooksError, match="bytes of the fluid are neither sent, nor dropped, nor queued"):
        sh.run(small, world="fluid")


def test_what_a_full_buffer_has_no_room_for_is_dropped(small):
    run = sh.run(small.replace({"network.buffer": "41pkt"}), world="fluid")
    assert run.summary["bottleneck"]["queue_max_pkt"] <= 41
    assert run.summary["bottleneck"]["dropped"] > 0
    assert run.summary["books"]["closed"]


def test_the_delay_is_a_frame_there_and_an_ack_back(small):
    """100 us, and at two hops 1500 + 40 bytes at 10 Gbps: 1.2 + 0.032 us."""
    path, model, classes, _ = fluid.translate(small)
    assert path.base_rtt_s == pytest.approx(102.464e-6)
    assert model.delay == path.base_rtt_s
    assert (model.k, model.min_window, model.flows) == (60_000, 2, 3)
    assert [one.state for one in classes] == [{"alpha": 1.0}] * 3
    timely = small.replace({"cc": {"name": "timely"}, "network.marking": "none"})
    assert fluid.translate(timely)[1].delay == pytest.approx(101.264e-6)


def test_flows_that_start_together_are_integrated_together(small):
    together = small.replace({"traffic": [{"kind": "long-lived", "jitter": "0s"}]})
    _, _, classes, class_of = fluid.translate(together)
    assert [one.count for one in classes] == [3]
    assert list(class_of) == [0, 0, 0]
    assert sh.run(together, world="fluid").summary["flows"]["jain"] == pytest.approx(1)


def test_flows_come_and_go(small):
    """A staircase and a long-lived flow: 1, 2, 3, 2, 1 flows share the link, 100 ms each."""
    stairs = [
        {"kind": "long-lived", "flows": 1, "from": 0},
        {"kind": "staircase", "flows": 2, "from": [1, 2], "start": "100ms", "interval": "100ms"},
    ]
    changes = {"traffic": stairs, "duration": "500ms", "topology.rtt": "20us", "topology.hosts": 4}
    run = sh.run(small.replace(changes), world="fluid")
    rates = run.probes[run.probes.name == "rate_gbps"]
    for step, flows in enumerate([1, 2, 3, 2, 1]):
        late = rates[(rates.time_us > (100 * step + 80) * 1e3) & (rates.time_us < (100 * step + 100) * 1e3)]
        assert late.flow.nunique() == flows
        assert late.groupby("flow").value.mean().to_numpy() == pytest.approx(9.733 / flows, rel=0.05)


def test_ctrl_c_keeps_what_there_is(small):
    def stop(now_ps, packet_hops, flows_finished):
        if now_ps >= 30e9:
            raise KeyboardInterrupt

    long = small.replace({"duration": "10s"})
    run = fluid.run(long, stop)
    assert run.interrupted
    assert 0.03 <= run.summary["interrupted_at_s"] < 1
    assert run.summary["books"]["closed"]
    assert run.queues.time_us.max() <= run.summary["duration_s"] * 1e6


def test_ctrl_c_while_compiled_code_runs(tmp_path):
    """The signal comes in the middle of an integration that would take many seconds."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL.replace("60ms", "60s").partition("[record]")[0])
    program = (
        "import signal, sys, threading\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from shallows.worlds import fluid\n"
        "import shallows as sh\n"
        "def progress(now_ps, *_):\n"
        "    if not waiting.is_set():\n"
        "        waiting.set()\n"
        "        threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()\n"
        "waiting = threading.Event()\n"
        "run = fluid.run(sh.Scenario.load(sys.argv[1]), progress)\n"
        "assert run.interrupted and 0 < run.summary['duration_s'] < 60, run.summary\n"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


WRONG = [
    ({"traffic": [{"kind": "incast"}]}, 'traffic[0].kind = "incast": expected long-lived or staircase'),
    ({"topology": {"kind": "parking-lot"}}, 'topology.kind = "parking-lot": expected dumbbell or star'),
    ({"cc.name": "vegas"}, 'cc.name = "vegas": expected an algorithm with a fluid model (dctcp, dx,'),
    ({"duration": "20us", "warmup": "0s"}, 'duration = "20us": expected at least'),
    ({"hosts.acks_every": 2}, "hosts.acks_every = 2: expected 1"),
    ({"hosts.nic": "fifo"}, 'hosts.nic = "fifo": expected "fair"'),
    ({"hosts.timestamps": {"kind": "hardware"}}, "hosts.timestamps: expected none"),
    ({"cc": {"name": "dctcp", "receiver": "inigo"}}, 'cc.receiver = "inigo": expected none'),
    ({"network.marking.at": "dequeue"}, 'network.marking.at = "dequeue": expected "enqueue"'),
    ({"network.marking": {"kind": "red"}}, 'network.marking.kind = "red": expected step'),
    ({"record.ports": ["s0->h0"]}, 'record.ports = "s0->h0": expected s0->h3'),
    ({"traffic.0.flows": 1}, "traffic: expected a queue at s0->h3 alone: h0->s0, with 1 of 1 flows"),
    ({"traffic.0.to": [2, 3], "traffic.0.from": [0, 1]}, "expected flows that all cross one switch port"),
    ({"cc": {"name": "timely", "hai": 5}}, "cc.hai = 5.0: expected 1"),
    ({"cc": {"name": "timely", "start_rate": "8Gbps"}}, 'cc.start_rate = "8Gbps": expected less than'),
    (
        {"cc": {"name": "dcqcn", "r_hai": "1Gbps"}, "network.marking": {"kind": "red"}},
        'cc.r_hai = "1Gbps": expected "200Mbps", the default',
    ),
    (
        {"traffic": [{"kind": "long-lived"}, {"kind": "long-lived", "cc": "dx"}]},
        'traffic[1].cc = "dx": expected the algorithm and parameters of traffic[0], dctcp',
    ),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
def test_what_a_fluid_cannot_express_is_an_error_before_anything_runs(small, changes, message):
    changed = small.replace(changes)  # the packet world has nothing against it
    with pytest.raises(sh.ScenarioError, match=re.escape(message)):
        sh.run(changed, world="fluid")


def test_slow_hosts_and_unequal_paths_are_errors():
    with pytest.raises(
        sh.ScenarioError, match=r'topology.edge_rate = "1Gbps": .* h0->s0, with 1 of 10 flows'
    ):
        sh.run(SCENARIOS / "dx-10.toml", world="fluid", overrides={"topology.edge_rate": "1Gbps"})
    ends = {"traffic.0.from": [0, 12], "traffic.0.to": 11}
    with pytest.raises(sh.ScenarioError, match="paths with one round trip, not 102464ns and 203696ns"):
        sh.run(SCENARIOS / "dx-10.toml", world="fluid", overrides=ends)


def test_the_command_line_names_the_option_and_ends_with_2(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    words = ["run", str(path), "--world", "fluid", "--set", "hosts.nic=fifo", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == status.MISTAKE
    assert "--set: hosts.nic" in result.output
    assert not (tmp_path / "out").exists()


def test_comparing_worlds_prints_and_saves_how_far_apart_they_are(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    words = ["compare", str(path), "--cc", "dctcp", "--world", "packet", "--world", "fluid", "--json"]
    result = CliRunner().invoke(cli.app, [*words, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)["data"]
    packet, liquid = (answer[f"dctcp-{world}"]["bottleneck"] for world in ("packet", "fluid"))
    row = answer["distances"][0]
    assert (row["quantity"], row["world"], row["than"]) == ("queue_mean_pkt", "fluid", "packet")
    assert (row["reference"], row["value"]) == (packet["queue_mean_pkt"], liquid["queue_mean_pkt"])
    assert row["difference"] == row["value"] - row["reference"]
    assert row["percent"] == pytest.approx(100 * (row["value"] / row["reference"] - 1))
    quantities = [row["quantity"] for row in csv.DictReader((tmp_path / "out" / "distances.csv").open())]
    assert quantities[:3] == ["queue_mean_pkt", "queue_p99_pkt", "utilization"]
    assert len(quantities) == 6


def test_the_figure_of_two_worlds_draws_queue_and_rates_of_both(small):
    comparison = sh.compare(small, ["dctcp"], worlds=["packet", "fluid"])
    axes = comparison.figure().axes
    assert [ax.get_title(loc="left")[:9] for ax in axes] == [
        "(a) Queue",
        "(b) Rates",
        "(c) Distr",
        "(d) Queue",
    ]
    named = [[line for line in ax.lines if line.get_gid() in comparison.runs] for ax in axes]
    assert len(named[1]) == 2 * 3  # three flows in each world
    assert len(named[3]) == 2


class Spy(dict):
    """A dict that remembers which of its keys were read."""

    def __init__(self, values):
        super().__init__(values)
        self.read = set()

    def __getitem__(self, key):
        self.read.add(key)
        return super().__getitem__(key)


@pytest.mark.parametrize("key", MODELS, ids=["-".join(filter(None, key)) for key in MODELS])
def test_every_parameter_of_an_algorithm_is_translated_or_refused(key):
    name, kind = key
    row, known = MODELS[key], {p["name"]: p["default"] for p in _row(catalog(), name)["parameters"]}
    marks = {p["name"]: p["default"] for p in _row(markings(), kind)["parameters"]} if kind else {}
    given = ModelInputs(Spy(known), Spy(marks), "dequeue", 1000, 952, 1e-6, 1)
    values = {parameter: given.get(source) for parameter, source in row.parameters.items()}
    EQUATIONS[row.model](flows=2, rate=1e10, delay=1e-5, mtu=1000.0, **values)
    for source in row.states.values():
        given.get(source)
    plain = ModelInputs(known, marks, "dequeue", 1000, 952, 1e-6, 1)
    assert row.reads(plain) == given.cc.read | {"start_rate"}
    # what the fluid integrates, and what acts on data that is not ECN-capable only, which is refused
    assert given.marking.read | {"interval", "nodrop"} | set(MARKING_ONLY) >= set(marks)
    assert set(row.only) | set(row.same) <= set(known)


def _row(table, name):
    return next(row for row in table if row["name"] == name)


@pytest.mark.parametrize(
    ("sources", "message"), [("0" * 8, "run `make live` to rebuild it"), (None, "run it")]
)
def test_a_program_that_was_not_built_again_says_so(tmp_path, monkeypatch, sources, message):
    """Either it does not know of what is asked, as it is older, or this machine cannot do it."""
    program = tmp_path / "shallows-live"
    program.write_text(
        f"""#!/bin/sh
if [ "$1" = sources ]; then echo '"{sources or _core.sources()}"'; exit; fi
echo "no such parameter" >&2; exit 2
"""
    )
    program.chmod(0o755)
    monkeypatch.setenv("SHALLOWS_LIVE", str(program))
    with pytest.raises(sh.ScenarioError, match=rf"{message} \(.*no such parameter\)"):
        live.ask({})
    assert live.call("status") == 2
    older = program.read_text().replace('echo "no such parameter" >&2; exit 2', "echo {}")
    program.write_text(older)
    with pytest.raises(sh.ScenarioError, match=rf"{message} \(.*an answer without 'fingerprint'\)"):
        sh.run("kernel-two", world="kernel")


WITH_NETWORK_DEFAULTS = ["dcqcn", "timely", "patched-timely", "patched-timely-pi"]


def of_defaults(cc, rate, flows=2, settled_ms=40, measured_ms=20, **network):
    return sh.Scenario(
        duration=f"{settled_ms + measured_ms}ms",
        warmup=f"{settled_ms}ms",
        topology={"kind": "star", "hosts": flows + 1, "rate": rate, "rtt": "4us"},
        network={"buffer": "unlimited", **network},
        cc=cc,
        traffic=[{"kind": "long-lived", "flows": flows}],
    )


@pytest.mark.parametrize("cc", WITH_NETWORK_DEFAULTS)
@pytest.mark.parametrize("rate", ["10Gbps", "25Gbps", "40Gbps", "100Gbps", "400Gbps"])
def test_a_fluid_accepts_what_the_program_derived(cc, rate):
    given = of_defaults(cc, rate)
    fluid.check(given)
    fluid.check(sh.Scenario.from_toml(given.to_toml()))  # a saved scenario writes every value
    with pytest.raises(sh.ScenarioError, match="not part of the fluid model"):
        fluid.check(of_defaults({"name": cc, "min_rate": "123Mbps"}, rate))


def test_a_fluid_says_that_it_pauses_nobody():
    run = sh.run(of_defaults("dcqcn", "25Gbps", pfc=True), world="fluid", progress=False)
    assert any("network.pfc" in said and "pauses nobody" in said for said in run.summary["warnings"])


@pytest.mark.parametrize(
    ("model", "flows", "rate"), [("patched-timely", 7, "25Gbps"), ("dcqcn", 3, "100Gbps")]
)
def test_the_command_and_a_scenario_have_the_same_defaults(model, flows, rate):
    """The queue of the fixed point, which the trajectory of the scenario reaches."""
    options = ["--flows", str(flows), "--rate", rate, "--delay", "4us", "--set", "mtu=1500B", "--json"]
    answer = CliRunner().invoke(cli.app, ["fluid", "fixed-point", model, *options])
    assert "by default" in answer.stderr
    queue = sh.run(of_defaults(model, rate, flows), world="fluid", progress=False).summary["bottleneck"]
    expected_kb = json.loads(answer.stdout)["data"]["queue_kb"]
    assert queue["queue_mean_pkt"] * 1.5 == pytest.approx(expected_kb, rel=0.05)


@pytest.mark.parametrize(
    ("cc", "rate", "flows", "percent"),
    [("patched-timely", "25Gbps", 8, 15), ("dcqcn", "25Gbps", 2, 40), ("dcqcn", "100Gbps", 8, 40)],
)
def test_fluid_and_packets_agree_on_defaults(cc, rate, flows, percent):
    """Patched TIMELY compares the absolute round trip: the bytes of the empty path count as queue there."""
    given = of_defaults(cc, rate, flows, settled_ms=200 if cc == "patched-timely" else 40)
    packets, equations = (
        sh.run(given, world=world, progress=False).summary["bottleneck"]["queue_mean_pkt"]
        for world in ("packet", "fluid")
    )
    if cc == "patched-timely":
        scale = Scale.of(given.graph, given.mtu)
        packets += scale.in_flight(scale.slowest) / given.mtu
    assert packets == pytest.approx(equations, rel=percent / 100)


@pytest.mark.parametrize(("rate", "flows"), [("10Gbps", 2), ("40Gbps", 2), ("10Gbps", 8), ("25Gbps", 8)])
def test_the_queue_of_host_pi_agrees_in_both_worlds(rate, flows):
    """q_ref of eq. 32, 300 KB at 10 Gbps: 200 packets of 1500 B, and in proportion to the rate.

    Eight flows start at their share, because the integrals of eight line rates empty for 23 s.
    """
    bps = int(rate.removesuffix("Gbps")) * 10**9
    cc = {"name": "patched-timely-pi"} | ({"start_rate": f"{bps // flows}bps"} if flows == 8 else {})
    given = of_defaults(cc, rate, flows, settled_ms=300, measured_ms=100)
    packets = sh.run(given, progress=False).summary["bottleneck"]
    assert packets["queue_mean_pkt"] == pytest.approx(200 * bps / 1e10, rel=0.05)
    assert packets["utilization"] > 0.99
    equations = sh.run(given, world="fluid", progress=False).summary["bottleneck"]
    assert packets["queue_mean_pkt"] == pytest.approx(equations["queue_mean_pkt"], rel=0.15)


def test_integrals_that_line_rates_filled_empty_slowly():
    """Eight flows from the line rate fall below it again, and p by K2 q_ref = 5e-6 2.4e6 = 12 a second."""
    recorded = {"record": {"probes": "50ms", "flows": 1}}
    tables = of_defaults("patched-timely-pi", "10Gbps", 8, settled_ms=300, measured_ms=300).replace(recorded)
    run = sh.run(tables, progress=False)
    probes = run.probes
    p = probes.value[(probes.name == "p") & (probes.time_us >= 300_000)].to_numpy()
    assert run.summary["bottleneck"]["utilization"] < 0.9
    assert (p[0] - p[-1]) / (0.05 * (len(p) - 1)) == pytest.approx(12, rel=0.15)


def test_a_comparison_says_how_sure_its_numbers_are():
    """Two worlds, of which one ran in real time, several times: its interval, late packets, rejected runs."""
    packet, real = (sh.run(Path(__file__).with_name("small.toml")) for _ in range(2))
    half = {"mean": 2.0, "half_width": 0.63, "least": 1.5, "most": 2.5}
    late = {"mean_us": 3.0, "p99_us": 9.0, "most_us": 20.0}
    real.summary |= {
        "world": "wire",
        "spread": {"runs": 3, "confidence": 0.95, "queue_mean_pkt": half, "utilization": half},
        "lateness": {"round_trip_us": 100.0, "deliveries": late, "looks": late, "rejected": ["a", "b"]},
    }
    compared = Comparison({"dx-packet": packet, "dx-wire": real})
    text = "\n".join(part for part in comparison_report(compared) if isinstance(part, str))
    assert "dx-wire: packets 4.5 us late on average (4% of a round trip), 2 runs rejected" in text
    assert "dx-wire: repeated    3 times: utilisation" in text
    (row,) = [row for row in compared.distances if row["quantity"] == "queue_mean_pkt"]
    assert (row["half_width"], row["reference_half_width"]) == (0.63, None)

"""The page of a network over time: its numbers, its drawing, and what refuses to be one."""

import re
from html import unescape

import numpy as np
import pytest
from typer.testing import CliRunner

import shallows as sh
from shallows import cli
from shallows.errors import ScenarioError
from shallows.pages import moments, topology
from slope import FAULT, ODD, SAMPLED, SHORT, data, paused, recorded, scenario


def shallows(*words):
    return CliRunner().invoke(cli.app, [str(word) for word in words])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run, loaded from its folder, and its page as `shallows draw` writes it."""
    folder = tmp_path_factory.mktemp("network")
    sh.run(scenario()).save(folder / "run")
    done = shallows("draw", folder / "run", "--out", folder / "network.html")
    assert done.exit_code == 0, done.output
    return sh.Run.load(folder / "run"), folder / "network.html"


def test_a_frame_has_the_share_of_sending_and_the_longest_queue(made):
    """From 102.2 us, when its first frame is in s, s gets a frame every 1.2 us and sends one every 12 us."""
    run, _ = made
    shown = moments.of_run(run, run.scenario.graph)
    port = {run.scenario.graph.port_names[link]: row for row, link in enumerate(shown.links)}
    assert len(shown.samples) <= moments.MOST_MOMENTS
    assert shown.samples.sum() == 2980  # 3 ms / 1.007 us, and one at 0
    at = int(np.searchsorted(shown.edges_us, 200.0))  # a frame begins soon after 200 us
    a, s = port["a->s"], port["s->b"]
    assert shown.utilization[[a, s], at].tolist() == [1, 1]
    last_us = shown.edges_us[at + 1] - 1.007
    waiting = (last_us - 102.2) * (1 / 1.2 - 1 / 12)
    assert shown.queue_bytes[s, at] / 1500 == pytest.approx(waiting, abs=1.5)
    assert shown.utilization[:, : int(100 / 13.1)].max() == 0
    late = int(np.searchsorted(shown.edges_us, 400.0))  # a has sent all by 100 + 200 * 1.2 = 340 us
    assert shown.utilization[[a, s], late].tolist() == [0, 1]
    assert shown.busiest == int(np.searchsorted(shown.edges_us, 341.2)) - 1
    assert shown.error < 0.005


def test_a_link_fails_from_and_until(made):
    run, _ = made
    net = run.scenario.graph
    shown = moments.of_run(run, net)
    both = [net.port(f"{ODD}->s"), net.port(f"s->{ODD}")]
    assert shown.faults == [(link, 500.0, 900.0, "down") for link in sorted(both)]
    failed = [at for at in range(len(shown.samples)) if shown.failed(at)]
    assert shown.edges_us[failed[0]] <= 500 < shown.edges_us[failed[0] + 1]
    assert shown.edges_us[failed[-1]] < 900 <= shown.edges_us[failed[-1] + 1]
    assert failed == list(range(failed[0], failed[-1] + 1))


def test_faults_have_their_times_and_words_and_end_with_the_run():
    given = [
        {"link": "s->b", "kind": "flap", "at": "1ms", "until": "2ms", "period": "500us", "duty": 0.2},
        {"link": "s->b", "kind": "slow", "at": "1.05ms", "until": "2ms", "value": 0.25},
        {"link": "a->s", "kind": "rate", "at": "2ms", "until": "2.1ms", "value": "2.5Gbps"},
        {"link": "b->s", "kind": "loss", "at": "2.2ms", "value": 0.01},
        {"link": "s->a", "kind": "drain", "at": "2.3ms"},
        {"link": f"{ODD}->s", "kind": "down", "at": "2.5ms"},
        {"node": ODD, "kind": "down", "at": "2.6ms"},
    ]
    run = sh.run(scenario(faults=given, hosts={"rto_initial": "1ms"}))
    net = run.scenario.graph
    expected = [
        ("s->b", 1000, 1100, "down"),
        ("s->b", 1050, 2000, "slowed to 250 Mbit/s"),
        ("s->b", 1500, 1600, "down"),
        ("a->s", 2000, 2100, "slowed to 2.5 Gbit/s"),
        ("b->s", 2200, 3000, "loses 1 % of packets"),
        ("s->a", 2300, 3000, "drained"),
        (f"{ODD}->s", 2500, 3000, "down"),
        (f"s->{ODD}", 2600, 3000, "down"),
    ]
    assert moments.faults(run, net) == [(net.port(port), *rest) for port, *rest in expected]


def test_a_run_that_ends_with_its_flows_ends_its_faults():
    """The last of 200 frames is in b at 100 + 1.2 + 1 + 200 * 12 + 1 = 2503.2 us."""
    given = [{**FAULT, "at": "2ms", "until": "9ms"}, {"link": "b->s", "kind": "down", "at": "8ms"}]
    run = sh.run(scenario(faults=given, duration="until-done"))
    found = moments.faults(run, run.scenario.graph)
    ended_us = run.summary["duration_s"] * 1e6
    assert 2503.2 < ended_us < 2520
    assert [one[1:] for one in found] == [(2000, pytest.approx(ended_us), "down")] * 2


def test_a_port_that_is_down_does_not_send():
    down = {"link": "s->b", "kind": "down", "at": "300us", "until": "2ms"}
    run = sh.run(scenario(faults=[down], hosts={"rto_initial": "1s"}))
    net = run.scenario.graph
    shown = moments.of_run(run, net)
    row = shown.links.tolist().index(net.port("s->b"))
    inside = (shown.edges_us[:-1] > 300) & (shown.edges_us[1:] < 2000)
    assert inside.sum() > 100
    assert shown.utilization[row, inside].max() == 0


def test_a_paused_port_does_not_send():
    run = sh.run(paused())
    net = run.scenario.graph
    shown = moments.of_run(run, net)
    row = shown.links.tolist().index(net.port("s->t"))
    late = shown.edges_us[:-1] > 1000
    assert shown.utilization[row, late].mean() == pytest.approx(0.1, abs=0.02)
    assert shown.paused[row, late].mean() == pytest.approx(0.9, abs=0.02)
    assert shown.error < 0.01
    exact = float(run.ports.set_index("port").paused_us["s->t"]) / 3000
    assert (shown.paused[row] * shown.samples).sum() / shown.samples.sum() == pytest.approx(exact, abs=0.01)
    assert "The scenario ran again" in topology.network(run)


def test_a_run_that_cannot_be_repeated_says_that_pauses_mislead():
    run = sh.run(paused())
    run.summary["fingerprint"] = "0123456789abcdef"
    shown = moments.of_run(run, run.scenario.graph)
    assert shown.paused is None
    page = topology.network(run)
    assert "A port that a pause stops with a queue counts as sending" in page
    assert "paused for" not in re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)


def test_a_page_of_a_saved_run_is_that_of_the_run(made):
    run, page = made
    assert topology.network(sh.run(run.scenario)) == page.read_text()


def test_a_run_of_one_sample_has_one_frame():
    page = topology.network(sh.run(scenario(record={"ports": "all", "queues": "5ms"})))
    found = data(page)
    assert (found["samples"], found["times"]) == ([1], ["0 us"])
    assert 'min="0" max="0"' in page
    assert "is a single sample" in page


def test_ports_that_were_not_recorded_have_no_colour():
    page = topology.network(sh.run(scenario(record={"queues": "1.007us", "ports": ["s->b"]})))
    assert len(re.findall(r'<path class="half" [^>]*style="stroke', page)) == 1
    assert "1 of 6 ports were recorded" in page
    assert "not recorded</span>" in page


@pytest.mark.parametrize(
    "table",
    [
        {
            "kind": "leaf-spine",
            "leaves": 2,
            "spines": 2,
            "hosts_per_leaf": 2,
            "planes": 2,
            "links_per_pair": 2,
        },
        {"kind": "rail-optimised", "servers": 2, "gpus": 3, "spines": 2},
        {"kind": "dragonfly+"},
    ],
    ids=lambda table: table["kind"],
)
def test_every_direction_of_every_cable_is_drawn_apart(table):
    traffic = [{"kind": "long-lived", "flows": 2, "from": ["h0", "h1"], "to": ["h2", "h3"]}]
    run = sh.run(sh.Scenario(topology=table, cc="dctcp", traffic=traffic, duration="100us", record=SAMPLED))
    page = topology.network(run)
    halves = re.findall(r'<path class="half" d="([^"]+)"', page)
    assert len(set(halves)) == len(halves) == len(run.scenario.graph.port_names)


def test_a_large_fabric_is_a_small_page():
    """A fat tree of k = 8 has 384 cables and 128 hosts; with all of its hosts it has 768 ports."""
    traffic = [{"kind": "poisson", "load": 0.6, "sizes": "websearch"}]
    record = {"ports": "all", "queues": "503.5ns"}
    table = {"kind": "fat-tree", "k": 8}
    run = sh.run(sh.Scenario(topology=table, cc="dctcp", traffic=traffic, duration="2ms", record=record))
    page = topology.network(run)
    found = data(page)
    assert len(found["links"]) == 768
    assert len(found["samples"]) <= 240
    assert sum(found["samples"]) == 3973  # 2 ms / 503.5 ns, and one at 0
    assert len(page) < 1_000_000


def test_a_page_needs_nothing_but_itself_and_names_are_text(made):
    text = made[1].read_text()
    assert "http" not in text
    assert not re.findall(r'(?:src|href)="(?!#)', text)
    assert ODD not in text
    assert unescape(re.search(r"<title>(c[^<]*)</title>", text)[1]) == ODD


def test_round_intervals_are_warned_of(made):
    assert "Shorter intervals come closer" not in made[1].read_text()
    # One frame in flight: 15.2 us to b, and an acknowledgement of 64 B back in 2.5632 us. The sample of each
    # round meets the same phase of it, though a sends for 1.2 us of 17.7632 us.
    round_trip = {"ports": ["a->s"], "queues": "17.7632us"}
    run = sh.run(scenario(cc={"name": "fixed", "window": "1pkt"}, faults=[], record=round_trip))
    assert recorded(run, "a->s", 200, 3000)[0] in (0, 100)
    assert "Shorter intervals come closer" in topology.network(run)


def test_a_fluid_is_one_port_and_says_what_it_cannot_show():
    traffic = [{"kind": "long-lived", "flows": 4}]
    made = sh.Scenario(topology={"kind": "dumbbell"}, cc="dctcp", traffic=traffic, **SHORT)
    page = topology.network(sh.run(made, world="fluid"))
    assert len(data(page)["links"]) == 1
    assert "A fluid has no frame in transmission" in page


def test_a_scenario_has_no_page_and_the_message_says_how_to_make_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slope.toml").write_text(scenario(record={}).to_toml())
    refused = shallows("draw", "slope.toml", "--out", "network.html")
    assert refused.exit_code == 2
    assert "nothing has happened in a scenario" in refused.stderr
    _obey(refused.stderr)
    assert (tmp_path / "network.html").is_file()


def test_a_result_without_samples_says_how_to_record_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sh.run(scenario(record={})).save("run")
    refused = shallows("draw", "run", "--out", "network.html")
    assert refused.exit_code == 2
    assert re.search(r"run: no samples of ports: expected .*record\.queues = \"1007ns\"", refused.stderr)
    assert not (tmp_path / "network.html").exists()
    _obey(refused.stderr)
    done = shallows("draw", "run-sampled", "--out", "network.html")
    assert done.exit_code == 0, done.output
    with pytest.raises(
        ScenarioError, match=r'overrides=\{"record\.ports": "all", "record\.queues": "1007ns"\}'
    ):
        topology.network(sh.run(scenario(record={})))


def _obey(message):
    """Type what a message says to write."""
    said = re.search(r"(shallows run .*)", message.replace("\n", " "))[1]
    for command in said.split(" && "):
        done = shallows(*command.split()[1:])
        assert done.exit_code == 0, f"{command}\n{done.output}"


def test_a_page_of_something_else_is_not_replaced(made, tmp_path):
    (tmp_path / "mine.html").write_text("<p>mine</p>")
    run = made[1].with_name("run")
    refused = shallows("draw", run, "--out", tmp_path / "mine.html")
    assert (refused.exit_code, (tmp_path / "mine.html").read_text()) == (2, "<p>mine</p>")
    assert shallows("draw", run, "--out", run / "network.html").exit_code == 2
    assert "not that of a figure" in shallows("draw", run, "--out", tmp_path / "network.gif").stderr

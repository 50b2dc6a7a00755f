"""The critical path of a flow: its pieces sum to its completion time exactly, and say what is so."""

import json

import numpy as np
import pytest

import shallows as sh
from least_algorithm import Least
from shallows.algorithms.algorithm import choose
from shallows.errors import ScenarioError
from shallows.units import Frame
from shallows.why import index, pauses, record, report, stoppages, walk
from shallows.why.counterfactual import Counterfactual
from shallows.why.stoppages import Stoppage
from shallows.why.window_cuts import WindowCuts

US = 1_000_000
ABOUT = {"abs": 0.001}
"""What rounding to picoseconds may add up to, in microseconds."""


def followed(edges, flows, cc=None, **settings):
    """The `Paths` of all flows over a graph of 10 Gbps and 1 us a cable unless it says otherwise.

    A full frame takes 1.2 us, an acknowledgement of 64 B 51.2 ns.
    """
    edges = [[*edge, "10Gbps", "1us"] if len(edge) == 2 else edge for edge in edges]
    nodes = dict.fromkeys(node for edge in edges for node in edge[:2])
    topology = {
        "kind": "graph",
        "edges": edges,
        "hosts": [node for node in nodes if not node.startswith("s")],
    }
    traffic = [{"kind": "trace", "flows": flows}] if isinstance(flows[0], list) else flows
    cc = cc or {"name": "fixed", "window": "1000pkt"}
    scenario = sh.Scenario(duration="until-done", topology=topology, traffic=traffic, cc=cc, **settings)
    return sh.run(scenario).why(range(scenario.flow_count))


def us(path):
    return {cause: length / US for cause, length in path.by_cause().items()}


def test_a_victim_of_a_pause_three_hops_away():
    """A slow host behind the fourth switch stops what comes over three links; the victim goes elsewhere.

    First 17 to 26 KB of the other flow leave each of three switches at 1 Gbps, 8 us a KB: 408 to 624 us.
    """
    edges = [["a", "s1"], ["v", "s1"], ["s1", "s2"], ["s2", "s3"], ["s3", "s4"]]
    edges += [["s4", "d", "1Gbps", "1us"], ["s4", "e"]]
    flows = [[0, "a", "d", 300 * 1460], [300e-6, "v", "e", 1460]]
    paths = followed(edges, flows, network={"pfc": {"threshold": "20KB", "hysteresis": "2pkt"}})
    victim, names = paths[1], paths.record.names
    assert 408 * US < victim.fct_ps < 624 * US
    assert victim.by_cause()["pause"] > 0.75 * victim.fct_ps
    assert {names[port] for port in victim.by_port("pause")} == {"s1->s2", "s2->s3", "s3->s4"}
    asked = {"s1->s2": "s2", "s2->s3": "s3", "s3->s4": "s4"}
    met = pauses.pausers(victim)
    assert {key[:2] for key in met} == set(asked.items())
    assert {root for *_, root in met} == {"s4->d"}
    assert sum(met.values()) == victim.by_cause()["pause"]
    all_pauses = pauses.Pauses(paths.record)
    assert [names[root] for root in all_pauses.tree()] == ["s4->d"]
    assert list(all_pauses.victims()) == [1]


def test_a_window_cut_without_a_mark_or_a_loss_names_nobody():
    """HPCC's falls for what ports write: b has what a waited behind its frames, and no share of the window.

    They come to the link from 50.02 us on and have been sent by 62.02 us; a's first comes at 51.2 us.
    """
    edges = [["a", "s", "10Gbps", "50us"], ["b", "s", "100Gbps", "1us"], ["s", "c", "10Gbps", "50us"]]
    paths = followed(edges, [[0, "a", "c", 600 * 1460], [48.9e-6, "b", "c", 10 * 1460]], cc="hpcc")
    walks = index.Index(paths.record)
    flows, kinds, causes = walks.packets["flow"], walks.kind, walks.packets["cause"]
    data = [packet for packet, flow in enumerate(flows) if flow == 0 and kinds[packet] == "data"]
    windows = [walks.causes["window"][causes[packet]] for packet in data]
    assert windows[0] == max(windows) > min(windows)
    assert us(paths[0])["window"] > 0
    assert "cut" not in us(paths[0])
    assert paths[0].by_flow() == {1: pytest.approx((62.02 - 51.2) * US, abs=1000)}


def test_a_path_does_not_depend_on_the_other_flows_that_are_asked_for():
    """Acknowledgements ride on data, also on links that no frame of their own flow takes."""
    scenario = sh.Scenario(
        duration="until-done",
        topology={"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 2},
        cc="dctcp",
        hosts={"piggyback": True, "initial_window": "2pkt"},
        traffic=[{"kind": "all-to-all", "size": "300KB", "channels": 2}],
    )
    run = sh.run(scenario)
    paths = run.why(range(scenario.flow_count))
    assert np.count_nonzero(paths.record.tables["packets"]["length"] == 0) > 100
    for flow in range(0, scenario.flow_count, 7):
        assert run.why(flow).pieces == paths[flow].pieces


@pytest.mark.parametrize("jitter", ["0s", "5us"])
def test_an_acknowledgement_leaves_because_of_the_newest_packet_that_it_covers(jitter):
    """Packets arrive in order, every 1.2 us, and their acknowledgements wait up to 5 us."""
    paths = followed(
        [["a", "c"]], [[0, "a", "c", 200 * 1460]], cc={"name": "fixed", "window": "20pkt"},
        hosts={"ack_jitter": jitter},
    )  # fmt: skip
    walks = index.Index(paths.record)
    rows, newest = walks.packets, 0
    for packet, kind in enumerate(walks.kind):
        if kind == "ack" and rows["cumulative"][packet] > newest:
            newest = rows["cumulative"][packet]
            assert rows["seq"][walks.causes["packet"][rows["cause"][packet]]] == newest - 1
    assert newest > 190


@pytest.mark.parametrize("cc", ["mrc", "ndp"])
def test_an_answer_that_waits_answers_the_packet_that_came_then(cc):
    """Answers to each of 200 packets wait for a time uniform up to 20 us, 10 us on average.

    The average of 200 is within 10 +- 4 x 20 / (12 x 200) ** .5 us. Packets come every 1.2 us, also those
    that came in the meantime.
    """
    network = {"network": {"trimming": {"queue": 50}}} if cc == "ndp" else {}
    settings = {"cc": cc, "hosts": {"ack_jitter": "20us"}, **network}
    paths = followed([["a", "s"], ["s", "c"]], [[0, "a", "c", 200 * 1460]], **settings)
    walks = index.Index(paths.record)
    rows, causes = walks.packets, walks.causes
    answers = [rows["cause"][packet] for packet, kind in enumerate(walks.kind) if kind == "ack"]
    answered = [causes["packet"][cause] for cause in answers]
    assert len(set(answered)) == len(answered) > 180  # some wait at the end of the run
    waits = [(causes["at_ps"][cause] - causes["since_ps"][cause]) / US for cause in answers]
    assert [causes["since_ps"][cause] for cause in answers] == [walks.arrival(one) for one in answered]
    assert 0 <= min(waits) < max(waits) <= 20
    assert sum(waits) / len(waits) == pytest.approx(10, abs=4 * 20 / (12 * 200) ** 0.5)


def test_an_application_that_pauses(monkeypatch):
    """Ten frames at once, ten more at 100 us: the tenth begins to leave at 10.8 us."""
    from shallows.why import rerun

    request = rerun.request

    def pausing(scenario, *rest):
        whole = request(scenario, *rest)
        application = {
            "first_bytes": 10 * 1460,
            "resume_ps": 100 * US,
            "on_ps": 0,
            "off_ps": 0,
            "every_ps": 0,
        }
        columns = {key: np.array([value], np.uint64) for key, value in application.items()}
        return {**whole, "flows": {**whole["flows"], "application": columns}}

    monkeypatch.setattr(rerun, "request", pausing)
    edges = [[*edge, "10Gbps", "1us"] for edge in ("as", "sc")]
    topology = {"kind": "graph", "edges": edges, "hosts": ["a", "c"]}
    traffic = [{"kind": "trace", "flows": [[0, "a", "c", 20 * 1460]]}]
    cc = {"name": "fixed", "window": "1000pkt"}
    scenario = sh.Scenario(duration="until-done", topology=topology, traffic=traffic, cc=cc)
    one = walk.of_record(record.of_scenario(scenario, [0]))[0]
    expected = {"application": 100 - 10.8, "transmission": 10.8 + 10 * 1.2 + 1.2, "propagation": 2}
    assert us(one) == pytest.approx(expected, **ABOUT)


def test_of_many_pauses_a_gap_meets_those_that_overlap_it():
    """A link is paused for 1 of each 2 ps, in class 1 for 1 of each 10, and down from 4 to 7 ps."""
    pauses = [Stoppage(0, at, at + 1, "paused", 3) for at in range(0, 100, 2)]
    others = [Stoppage(0, at, at + 1, "paused", 3, 1) for at in range(0, 100, 10)]
    down = Stoppage(0, 4, 7, "down", record.NONE)
    found = stoppages.by_link(sorted([*pauses, *others, down], key=lambda one: one.until_ps))
    assert sorted(found[0], key=len) == [[down], others, pauses]
    assert stoppages.within(pauses, 5, 9) == [pauses[3], pauses[4]]
    assert stoppages.within(pauses, 4, 7) == [pauses[2], pauses[3]]
    assert stoppages.within(pauses, 5, 6) == []
    assert stoppages.within([down], 0, 4) == stoppages.within([down], 7, 100) == []


def test_a_servers_pacer_is_a_pace():
    """HULL's, one for a host: what the flow waits there is what the NIC rests between its frames."""
    cc = {"name": "hull", "per_server": True}
    edges = [["a", "s"], ["b", "s"], ["s", "c"]]
    paths = followed(edges, [[0, "a", "c", 600 * 1460], [0, "b", "c", 600 * 1460]], cc=cc)
    assert max(us(one)["pace"] for one in paths.values()) > 10
    for one in paths.values():
        assert "shaping" not in one.by_cause()
        assert {paths.record.names[port] for port in one.by_port("pace")} <= {"a->s", "b->s"}


TWO_WAYS = [
    ["a", "s1"],
    ["s1", "s2"],
    ["s1", "s3", "10Gbps", "50us"],
    ["s2", "s4"],
    ["s3", "s4"],
    ["s4", "c"],
]
"""From `s1` to `s4` by `s2` in 2 us, by `s3` in 51 us."""


def test_frames_that_overtook_each_other():
    """RoCE over two ways: the first frame takes the long one, the second comes at 1.2 + 4 * 2.2 = 10 us.

    The receiver answers that the first is missing, over the long way: 4 * 0.0512 + 53 us. Both are sent
    again; the first copy of the first is there meanwhile, and the second takes the long way, 4 * 1.2 + 53 us,
    1.2 us behind the first, as it was 1.2 us behind it before.
    """
    tables = {"network": {"balancing": "packet"}, "hosts": {"gap": 0}}
    paths = followed(TWO_WAYS, [[0, "a", "c", 2 * 1460]], cc="dcqcn", seed=8, **tables)
    assert ways(paths.record, "data") == ["s3", "s2", "s2", "s3"]
    assert ways(paths.record, "nack") == ["s3"]
    expected = {"reordering": 4 * 2.2 + 53.2048, "transmission": 4 * 1.2 + 2 * 1.2, "propagation": 53}
    assert us(paths[0]) == pytest.approx(expected, **ABOUT)


def ways(record, kind):
    """By which of the two switches each packet of a kind went, in their order."""
    hops, packets = record.tables["hops"], record.tables["packets"]
    pairs = zip(hops["packet"], (record.names[link] for link in hops["link"]), strict=True)
    mine = [name for packet, name in pairs if record.kinds[packets["kind"][packet]] == kind]
    return [name[-2:] for name in mine if name in ("s1->s2", "s1->s3", "s4->s2", "s4->s3")]


def test_where_nothing_is_lost_no_time_is_lost_to_losses():
    """TCP over the two ways and endless buffers: what is sent again had only been overtaken."""
    flows = [[0, "a", "c", packets * 1460] for packets in (100, 107, 131)]
    settings = {"network": {"balancing": "packet", "buffer": "unlimited"}, "cc": "reno"}
    paths = followed(TWO_WAYS, flows, **settings)
    assert not np.isin(paths.record.tables["hops"]["outcome"], (2, 3, 4)).any()
    assert paths.by_cause()["reordering"] > 0
    assert not {"loss", "timeout"} & set(paths.by_cause())


def test_a_nic_that_fifty_flows_share():
    """The last of fifty frames waits for the turn of the others, 1.2 us each."""
    paths = followed([["a", "s"], ["s", "c"]], [[0, "a", "c", 1460]] * 50)
    last = max(paths.values(), key=lambda one: one.fct_ps)
    assert us(last) == pytest.approx({"nic": 49 * 1.2, "transmission": 2.4, "propagation": 2}, **ABOUT)
    assert set(last.by_flow().values()) == {1_200_000}
    assert len(last.by_flow()) == 49


def test_credits_that_came_late():
    """Eight requests of 84 B, 67.2 ns each, come to one receiver one behind the other, the last at 2.6048 us.

    Two credits pass back to back, the next ones as their share of the link lets them, 1584 B of it each,
    1.2672 us: the eighth at 2.1344 + 6 * 1.2672 = 9.7376 us. It takes 2 * 1.0672 us to its sender. Its frame
    comes to the port behind the switch 6 * 1.2672 us after the first, and waits there for seven frames and
    stops of 84 B.
    """
    edges = [["c", "s"], *([f"a{number}", "s"] for number in range(8))]
    cc = {"name": "expresspass", "jitter": 0, "credit_spread": "0B"}
    paths = followed(edges, [[0, f"a{number}", "c", 1460] for number in range(8)], cc=cc)
    last = max(paths.values(), key=lambda one: one.fct_ps)
    found = us(last)
    waited = found.pop("shaping") + found.pop("nic")
    assert waited == pytest.approx(9.7376 - 2.6048, abs=0.01)
    expected = {"credit": 4 * 1.0672, "queue": 7 * 0.0672 + 1.2672, "transmission": 2.4, "propagation": 2}
    assert found == pytest.approx(expected, abs=0.01)


def test_a_flow_that_waited_for_another():
    """A request of 140 B takes 2 * (0.112 + 1) us, the server 100; the response is counted from then on."""
    traffic = {"kind": "request-response", "pairs": 1, "exchanges": 1, "request": "100B", "response": "1460B"}
    traffic |= {"service": "100us", "jitter": "0s", "from": ["a"], "to": ["c"]}
    paths = followed([["a", "s"], ["s", "c"]], [traffic])
    response = paths[1]
    assert us(response) == pytest.approx({"transmission": 2.4, "propagation": 2}, **ABOUT)
    before = [(piece.cause, piece.flow, piece.length_ps / US) for piece in response.before]
    assert before == [("dependency", 0, pytest.approx(2.224)), ("delay", None, pytest.approx(100))]
    assert response.before[-1].end_ps == response.start_ps


def test_the_time_before_a_flow_is_found_on_demand(monkeypatch):
    """In a chain of n flows all of them together have n^2 pieces before their starts."""
    found, find = [], walk._before
    monkeypatch.setattr(walk, "_before", lambda record, flow: found.append(flow) or find(record, flow))
    traffic = [{"kind": "request-response", "pairs": 1, "exchanges": 30, "from": ["a"], "to": ["c"]}]
    paths = followed([["a", "s"], ["s", "c"]], traffic)
    assert found == []
    assert [piece.flow for piece in paths[59].before if piece.cause == "dependency"] == list(range(59))
    assert found == [59]


def test_the_paces_of_a_flow_are_found_once(monkeypatch):
    """Each wait for a pace looks in them, and to find them takes as long as the flow has packets."""
    found, find = [], WindowCuts._fastest
    monkeypatch.setattr(WindowCuts, "_fastest", lambda cuts, flow: found.append(flow) or find(cuts, flow))
    traffic = [{"kind": "incast", "senders": 2, "size": "3MB", "to": "c"}]
    paths = followed([["a", "s"], ["b", "s"], ["s", "c"]], traffic, cc="dcqcn", network={"pfc": True})
    waits = sum(piece.cause == "pace_cut" for piece in paths[0].pieces)
    assert (waits > 100, found.count(0)) == (True, 1)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A saved run of a few flows that meet."""
    from pathlib import Path

    folder = tmp_path_factory.mktemp("why") / "small"
    sh.run(Path(__file__).with_name("small.toml"), out=folder)
    return folder


def test_the_command_tells_prints_and_draws(small, tmp_path):
    from typer.testing import CliRunner

    from shallows import cli

    figure, saved = tmp_path / "why.png", tmp_path / "record"
    arguments = ["why", str(small), "3", "--figure", str(figure), "--record", str(saved)]
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 0, result.output
    assert "flow 3:" in result.stdout
    assert "exact, in picoseconds" in result.stdout
    assert figure.stat().st_size > 10_000
    assert {file.stem for file in saved.iterdir()} == set(record.TABLES)
    several = CliRunner().invoke(cli.app, ["why", str(small), "--slowest", "2", "--json"])
    entries = json.loads(several.stdout)["data"]
    assert [len(entries), entries[0]["fct_ps"]] == [2, sum(entries[0]["causes_ps"].values())]


def test_every_column_of_the_record_has_a_meaning(small):
    tables = record.of_run(sh.Run.load(small), [0]).tables
    assert {name: set(its) for name, its in tables.items()} == {
        name: set(its) for name, its in record.TABLES.items()
    }


def test_groups_of_equal_slowdown_have_a_bar_each(small):
    """Four flows of nearly one slowdown: to a decimal, some of them have the same."""
    paths = sh.Run.load(small).why(range(4))
    titles = [f"{one.fct_ps / one.ideal_ps:.1f}" for one in paths.values()]
    assert len(set(titles)) < 4
    left, _ = paths.figure().axes
    assert len(left.get_xticks()) == 4
    heights = [sum(bar.get_height() for bar in bars) for bars in zip(*left.containers, strict=True)]
    assert heights == pytest.approx([100] * 4)


def test_a_path_of_too_many_pieces_is_drawn_in_steps(small, monkeypatch):
    """Every step is as long as what it shows, every cause has its time, and the title says what is drawn."""
    from shallows.why import figure

    paths = sh.Run.load(small).why([0])
    one = paths[0]
    whole = paths.figure().axes[0].get_title("left")
    monkeypatch.setattr(figure, "MOST_BARS", 10)
    monkeypatch.setattr(figure, "STEPS", 7)
    monkeypatch.setattr(figure, "MOST_POINTS", 20)
    bars = figure._bars(one)
    by_cause, by_step = {}, {}
    for bar in bars:
        by_cause[bar.cause] = by_cause.get(bar.cause, 0) + bar.length_ps
        by_step[bar.begin_ps] = by_step.get(bar.begin_ps, 0) + bar.high - bar.low
    assert by_cause == one.by_cause()
    *full, last = by_step.values()
    assert full == pytest.approx([1] * 6)
    assert 0 < last <= 1
    drawn = paths.figure()
    assert drawn.axes[0].get_title("left").startswith(whole)
    assert f"in steps of {-(-one.fct_ps // 7) / 1e6:.2f} us" in drawn.axes[0].get_title("left")
    assert all(len(ax.lines[0].get_xdata()) <= 20 for ax in drawn.axes[1:])


def test_who_interrupts_the_second_pass_is_not_told_of_another_run(small, monkeypatch):
    from shallows import _core

    watch = _core.watch

    def stopped(*arguments):
        answer, tables = watch(*arguments)
        return {**answer, "interrupted": True, "fingerprint": "0" * 16}, tables

    monkeypatch.setattr(_core, "watch", stopped)
    with pytest.raises(KeyboardInterrupt, match="the saved result is unchanged"):
        sh.Run.load(small).why(0)


def test_another_run_is_not_explained(small):
    """The second pass must be the same run: a fingerprint that differs is refused."""
    run = sh.Run.load(small)
    run.summary["fingerprint"] = "0" * 16
    with pytest.raises(ScenarioError, match="Run the scenario again"):
        run.why(0)


def test_pauses_and_a_deadlock_are_reported():
    """Five switches in a circle: the run, its comparison and `--pauses` name its five ports."""
    from shallows.printing.report import comparison_report, run_report

    compared = sh.compare("pause-deadlock", ["fixed"])
    (run,) = compared.runs.values()
    kept = record.of_run(run, [])
    lines = run_report(run.summary)[0].splitlines()
    assert any(line.startswith("pauses      21 of ports") for line in lines)
    circle = "deadlock    s0->s1, s1->s2, s2->s3, s3->s4, s4->s0 wait for each other"
    assert any(line.startswith(circle) for line in lines)
    assert any(isinstance(part, str) and circle in part for part in comparison_report(compared))
    parts = report.of_pauses(kept)
    assert parts[-1].startswith(circle)
    whole = [
        its for its in pauses.Pauses(kept).tree().items() if any(chain.count(its[0]) > 1 for chain in its[1])
    ]
    assert whole, "no pause goes back to itself"


@pytest.mark.paper
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (2, 3))])
def test_without_the_culprits_the_time_is_gone(seed):
    """Of the ten slowest flows, eight or more are done in what the culprits left, to a tenth of that.

    What they leave is the completion time less their share, and not less than the flow takes alone.
    """
    overrides = {"traffic.0.flows": 1500, "cc": "dctcp", "seed": seed}
    run = sh.run("scenarios/websearch-tree.toml", overrides=overrides)
    near = 0
    for one in run.why(slowest=10).counterfactuals().values():
        print(
            one.flow, one.fct_ps, one.share_ps, one.alone_ps, one.expected_ps, one.ran_ps, len(one.culprits)
        )
        assert len(one.culprits) < 0.05 * 1500
        near += abs(one.ran_ps - one.expected_ps) <= 0.1 * one.expected_ps
    assert near >= 8


def test_what_a_culprit_cost_is_what_its_absence_saves():
    """The mouse of the first test: 70.2 us behind the elephant, 15.2 alone and without it."""
    edges = [["a", "s"], ["b", "s"], ["s", "c", "1Gbps", "1us"]]
    paths = followed(edges, [[0, "a", "c", 20 * 1460], [5e-6, "b", "c", 1460]])
    cost = paths.counterfactuals()[1]
    assert cost.culprits == [0]
    times = (cost.fct_ps, cost.share_ps, cost.alone_ps, cost.expected_ps, cost.ran_ps)
    assert [time / US for time in times] == pytest.approx([70.2, 55, 15.2, 15.2, 15.2], **ABOUT)


def test_a_flow_keeps_the_one_that_it_waits_for():
    """A response behind its own request's end: without anybody else both are still there."""
    traffic = {
        "kind": "request-response",
        "pairs": 2,
        "exchanges": 1,
        "request": "100B",
        "response": "14600B",
    }
    traffic |= {"service": "100us", "jitter": "0s", "from": ["a", "b"], "to": ["c"]}
    paths = followed([["a", "s"], ["b", "s"], ["s", "c", "1Gbps", "1us"]], [traffic])
    for cost in paths.counterfactuals().values():
        assert cost.alone_ps <= cost.ran_ps <= cost.fct_ps


def test_flows_without_an_end_can_be_left_out():
    """A mouse among elephants, one of which stops at some time and one never."""
    edges = [[a, b, "10Gbps", "1us"] for a, b in ("as", "bs", "ds")] + [["s", "c", "1Gbps", "1us"]]
    endless = {"kind": "long-lived", "flows": 1, "to": ["c"], "jitter": "0s"}
    traffic = [
        {**endless, "from": ["a"]},
        {**endless, "from": ["d"], "stop": "100us"},
        {"kind": "trace", "flows": [[50e-6, "b", "c", 1460]]},
    ]
    topology = {"kind": "graph", "edges": edges, "hosts": ["a", "b", "d", "c"]}
    cc = {"name": "fixed", "window": "10pkt"}
    run = sh.run(sh.Scenario(duration="2ms", topology=topology, traffic=traffic, cc=cc))
    cost = run.why([2]).counterfactuals()[2]
    assert set(cost.culprits) == {0, 1}
    assert cost.ran_ps / US == pytest.approx(15.2, **ABOUT)


def test_the_queue_at_a_port_is_what_has_come_and_has_not_left():
    """Ports of 20 mice and an elephant, at times forth and back, counted frame by frame."""
    flows = [[place * 1e-6, "b", "c", 1460] for place in range(20)]
    flows += [[0, "a", "c", 100 * 1460], [30e-6, "d", "c", 20 * 1460]]
    edges = [[name, "s", "10Gbps", "1us"] for name in "abdc"]
    topology = {"kind": "graph", "edges": edges, "hosts": ["a", "b", "d", "c"]}
    traffic = [{"kind": "trace", "flows": flows}]
    cc = {"name": "fixed", "window": "1000pkt"}
    scenario = sh.Scenario(duration="until-done", topology=topology, traffic=traffic, cc=cc)
    its = record.of_scenario(scenario, range(len(flows)))
    frames, found, deepest = its.tables["frames"], index.Index(its), 0
    dice = np.random.default_rng(1)
    asked = zip(*(dice.integers(0, end, 2000).tolist() for end in (200 * US, 8)), strict=True)
    for time, link in asked:
        there = (frames["link"] == link) & (frames["offered_ps"] <= time) & (frames["ended_ps"] > time)
        held = {}
        both = (frames[name][there].tolist() for name in ("flow", "length"))
        for flow, length in zip(*both, strict=True):
            held[flow] = held.get(flow, 0) + length
        assert found.queue(link, time) == held
        deepest = max(deepest, len(held))
    assert deepest > 2


class Told(Least):
    """A class that says that delays change nothing."""

    reacts_to_delay = False


@pytest.mark.parametrize(
    ("names", "said"), [(["dctcp", "reno@linux", "dcqcn", Told], []), (["dctcp", "dx", Least], ["dx, Least"])]
)
def test_only_algorithms_of_marks_and_losses_have_exact_predictions(names, said):
    """An incast under DX was expected to take 5,002 us without the others, and took 1,714."""
    used = [choose(name, Frame(1500, 1460)) for name in names]
    found = [
        Counterfactual(0, 0, [], 0, 0, 0, one.label, one.traits["reacts_to_queues_alone"]) for one in used
    ]
    assert [line.split(" with ")[1].split(", which")[0] for line in report.upper_bounds(found)] == said

"""What everything was doing at one moment: exact, of the same run, and shown to those who ask."""

import pytest

import shallows as sh
from shallows.errors import ScenarioError


def elephant_and_mouse(**settings):
    """Twenty frames of `a` and one of `b`, at 10 Gbps and 1 us a cable, to `c` behind 1 Gbps.

    A full frame takes 1.2 us, on the last link 12 us.
    """
    edges = [["a", "s", "10Gbps", "1us"], ["b", "s", "10Gbps", "1us"], ["s", "c", "1Gbps", "1us"]]
    topology = {"kind": "graph", "edges": edges, "hosts": ["a", "b", "c"]}
    flows = [[0, "a", "c", 20 * 1460], [5e-6, "b", "c", 1460]]
    cc = {"name": "fixed", "window": "1000pkt"}
    traffic = [{"kind": "trace", "flows": flows}]
    return sh.run(sh.Scenario(duration="until-done", topology=topology, traffic=traffic, cc=cc, **settings))


def ports(moment):
    return moment.ports.set_index("port")[["queue_frames", "queue_bytes", "wire_frames", "wire_bytes"]].T


def test_queues_flows_and_packets_at_one_moment():
    """Frames come to the last link at 2.2, 3.4, 4.6, 5.8, 7.0 us, the mouse at 7.2 us.

    The first is sent there from 2.2 us on: at 7.2 us 7 of its 12 us are left, 875 B. Frame 5 has just left
    its host (6 * 1.2 us) and is on the wire; 6 begins to leave.
    """
    run = elephant_and_mouse()
    moment = run.at("7.2us")
    found = ports(moment)
    assert found["s->c"].tolist() == [6, 875 + 5 * 1500, 0, 0]
    assert found["a->s"].tolist() == [1, 1500, 1, 1500]
    assert found["b->s"].tolist() == [0, 0, 0, 0]
    assert moment.packets[moment.packets.port == "a->s"].place.tolist() == ["flying", "leaving"]
    waiting = moment.packets[moment.packets.port == "s->c"]
    assert waiting.place.tolist() == ["leaving"] + 5 * ["waiting"]
    assert list(zip(waiting.flow, waiting.number, strict=True)) == [*((0, seq) for seq in range(5)), (1, 0)]
    assert waiting.arrives_us.tolist() == pytest.approx([2.2 + 12 * (1 + at) + 1 for at in range(6)])
    flows = moment.flows
    assert flows.state.tolist() == ["ready", "blocked"]
    assert flows.sent_pkt.tolist() == [7, 1]
    assert flows.in_flight_pkt.tolist() == [7, 1]
    assert flows.window_pkt.tolist() == [1000, 1000]
    assert flows.delivered_bytes.tolist() == [0, 0]
    assert moment.fingerprint == run.summary["fingerprint"]


def test_the_beginning_and_the_end_are_moments_too():
    """The mouse's frame is the sixth of 21: the last byte is there at 2.2 + 21 * 12 + 1 = 255.2 us."""
    run = elephant_and_mouse()
    first = run.at("0s")
    assert first.flows.state.tolist() == ["ready", "to come"]
    assert ports(first)["a->s"].tolist() == [1, 1500, 0, 0]
    last = run.at("255.2us")
    assert last.flows.delivered_bytes.tolist() == [20 * 1460, 1460]
    assert last.flows.state.tolist() == ["finished", "finished"]
    with pytest.raises(
        ScenarioError, match=r'time = "255.3us": expected at most 255.2us, when the run ended'
    ):
        run.at("255.3us")


@pytest.mark.parametrize(
    ("cc", "time", "state", "waits_for"),
    [
        ({"name": "fixed", "window": "1pkt"}, "5us", "blocked", "window"),
        ({"name": "fixed", "window": "9pkt"}, "12us", "blocked", "answer"),
        ({"name": "fixed", "window": "9pkt"}, "3us", "ready", "nic"),
        ({"name": "timely", "seg": "1pkt", "start_rate": "1Gbps"}, "5us", "paced", "pace"),
        ({"name": "expresspass", "host_time": "5us"}, "1us", "blocked", "answer"),
        ({"name": "expresspass", "host_time": "5us"}, "7us", "blocked", "host"),
    ],
)
def test_what_a_flow_waits_for(cc, time, state, waits_for):
    """Nine frames of 1.2 us, 4.4 us there, 2.1 back; a pace of 12 us; a credit after 4.3, a host of 5."""
    edges = [["a", "s", "10Gbps", "1us"], ["s", "c", "10Gbps", "1us"]]
    topology = {"kind": "graph", "edges": edges, "hosts": ["a", "c"]}
    traffic = [{"kind": "trace", "flows": [[0, "a", "c", 9 * 1460]]}]
    scenario = sh.Scenario(duration="until-done", topology=topology, traffic=traffic, cc=cc)
    (flow,) = sh.run(scenario).at(time).flows.itertuples()
    assert (flow.state, flow.waits_for) == (state, waits_for)
    assert flow.paced_until_us == 12 if state == "paced" else flow.paced_until_us != flow.paced_until_us


def test_pauses_of_a_deadlock_are_there_at_the_end():
    run = sh.run("pause-deadlock")
    circle = run.summary["network"]["deadlock"]
    assert len(circle) == 5
    held = run.at(f"{run.summary['duration_s']}s").ports.set_index("port")
    assert held.loc[circle].paused.all()
    assert not run.at("1us").ports.paused.any()


def test_every_transport_has_a_moment():
    """Windows, rates, credits, pulls: what an algorithm probes is there, and packets of both directions."""
    wanted = {
        "dctcp": "window_pkt",
        "dcqcn": "pace_gbps",
        "rcp": "pace_gbps",
        "expresspass": "credit_rate_mbps",
        "ndp": "rtt_us",
    }
    for name, column in wanted.items():
        scenario = sh.Scenario(
            duration="1ms",
            topology={"kind": "dumbbell", "hosts": 2, "rtt": "40us"},
            traffic=[{"kind": "long-lived", "flows": 2}],
            cc=name,
        )
        moment = sh.run(scenario).at("700us")
        assert moment.flows[column].notna().all(), name
        assert moment.packets.kind.nunique() >= 2, name


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("at") / "run"
    elephant_and_mouse().save(folder)
    return folder


def test_another_run_has_no_moment(saved):
    run = sh.Run.load(saved)
    run.summary["fingerprint"] = "0" * 16
    with pytest.raises(ScenarioError, match="Run the scenario again"):
        run.at("1us")
    run.summary["interrupted"] = True
    with pytest.raises(ScenarioError, match="an interrupted one cannot be repeated"):
        run.at("1us")

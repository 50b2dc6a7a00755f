"""Traffic of several kinds on one network: what each would see is worked out by hand, or a paper's."""

from pathlib import Path

import numpy as np
import pytest

from shallows.scenario import Scenario
from shallows.traffic import NO_FLOW
from shallows.worlds import packet

SCENARIOS = Path(__file__).parents[1] / "scenarios"


def load(name, **changes):
    scenario = Scenario.load(SCENARIOS / f"{name}.toml")
    return scenario.replace({key.replace("__", "."): value for key, value in changes.items()})


def run(name, **changes):
    result = packet.run(load(name, **changes))
    assert result.summary["books"]["closed"], result.summary["books"]["problems"]
    return result


@pytest.mark.parametrize(("service", "ack"), [(0, 0.0512), (7, 0)])
def test_an_exchange_takes_what_request_ack_and_response_take(service, ack):
    """By hand: 10 us and 2 * 112 ns there; 51.2 ns for its ack, if the response is there at the same time;
    10 us and 14 * 1.2 us + 848 ns back: 13 full frames, one of 1060 B, two hops."""
    result = run(
        "request-response",
        traffic__0__pairs=1,
        traffic__0__exchanges=3,
        traffic__0__jitter="0s",
        traffic__0__service=f"{service}us",
    )
    table = result.flows
    exchange = 20 + 2 * 0.112 + service + ack + 14 * 1.2 + 0.848
    responses = table[1::2]
    assert responses.exchange_us.to_numpy() == pytest.approx([exchange] * 3, abs=1e-9)
    assert table[0::2].exchange_us.isna().all()
    assert table.start_us[2] == pytest.approx(exchange + 100)
    assert list(zip(table.src, table.dst, strict=True))[:2] == [("h0", "h10"), ("h10", "h0")]


def test_clients_take_turns_by_themselves():
    """Every client has one exchange at a time, and none is quicker than alone."""
    table = run("request-response").flows
    responses = table[table.exchange_us.notna()]
    assert len(responses) == len(table) / 2 == 1000
    assert responses.exchange_us.min() >= 37.9232 - 1e-9
    for _, mine in responses.groupby("dst"):
        begun = mine.start_us + mine.fct_us - mine.exchange_us
        ended = mine.start_us + mine.fct_us
        assert np.allclose(begun[1:], ended[:-1] + 100)


def test_a_response_follows_its_own_request():
    """Three clients, two exchanges: requests 0 to 2, their responses, then 6 to 8, and theirs."""
    flows = load("request-response", traffic__0__pairs=3, traffic__0__exchanges=2).flows
    assert [flows.after.of(flow) for flow in range(12)] == [[], [], []] + [[flow] for flow in range(9)]
    assert flows.answers.tolist() == [NO_FLOW] * 3 + [0, 1, 2] + [NO_FLOW] * 3 + [6, 7, 8]


@pytest.mark.parametrize("seed", [1, 7])
def test_responses_have_the_sizes_of_their_distribution(seed):
    """4,000 responses, within four standard errors: 1 KB to 20 KB for three of four, the median at .5 / .75
    of that way; the rest up to 1 MB. Mean .75 * 10.5 KB + .25 * 510 KB."""
    sizes = [[1_000, 0], [20_000, 0.75], [1_000_000, 1]]
    many = {"traffic__0__pairs": 40, "traffic__0__exchanges": 100, "seed": seed}
    fixed = load("request-response", **many).flows
    flows = load("request-response", **many, traffic__0__response=sizes).flows
    answers = flows.answers != NO_FLOW
    responses = flows.bytes[answers]
    assert len(responses) == 4000
    assert responses.min() >= 1_000
    assert responses.max() <= 1_000_000
    assert np.mean(responses <= 20_000) == pytest.approx(0.75, abs=0.027)
    assert np.median(responses) == pytest.approx(13_667, abs=800)
    assert responses.mean() == pytest.approx(135_375, abs=16_500)
    assert len(set(responses[:40].tolist())) > 30
    # Requests, hosts and starts are those of responses of one size.
    assert flows.bytes[~answers].tolist() == fixed.bytes[~answers].tolist()
    for name in ("src", "dst", "start_ps"):
        assert getattr(flows, name).tolist() == getattr(fixed, name).tolist()


def test_responses_of_one_size_draw_nothing():
    one = {"traffic__0__jitter": "0s", "traffic__0__pairs": 10}
    assert load("request-response", **one).flows.drawn == [False]
    assert load("request-response", **one, traffic__0__response=[[9, 0], [20_000, 1]]).flows.drawn == [True]


def test_flows_that_wait_are_numbered_through_all_tables():
    scenario = load("request-response", traffic__0__pairs=2, traffic__0__exchanges=1)
    table = {"kind": "request-response", "pairs": 1, "exchanges": 1}
    flows = scenario.replace({"traffic": [table, {**table, "pairs": 2}]}).flows
    assert [flows.after.of(flow) for flow in range(6)] == [[], [0], [], [], [2], [3]]


def test_flows_that_wait_for_each_other_are_an_error():
    scenario = load("request-response", traffic__0__pairs=1, traffic__0__exchanges=1)
    request = packet.request(scenario)
    own, other = np.array([0, 1], np.uint32), np.array([1, 0], np.uint32)
    request["flows"]["after"] = {"flow": own, "predecessor": other}
    from shallows import _core

    with pytest.raises(ValueError, match="flow 0, flow 1: expected no cycle: each waits for the next"):
        _core.simulate(request, None)


PING = {
    "kind": "request-response",
    "pairs": 1,
    "exchanges": 5,
    "request": "64B",
    "response": "64B",
    "think": "1ms",
    "priority": 1,
}


@pytest.fixture(scope="module")
def coexisting():
    return {priority: run("priorities", traffic__1__priority=priority) for priority in (1, 0)}


def test_what_goes_first_sees_an_empty_network(coexisting):
    """By hand: 200 us, six times the 83.2 ns of 104 B, 51.2 ns for the ack that leaves before the response.
    Beside others also, at most, the frame being sent at each of three ports there and an ack at each back."""
    alone = 200 + 6 * 0.0832 + 0.0512
    ping = load("priorities", traffic=[PING])
    assert packet.run(ping).flows.exchange_us.dropna().to_numpy() == pytest.approx([alone] * 5, abs=1e-6)
    first, equal = (coexisting[priority].flows.exchange_us.dropna() for priority in (1, 0))
    assert len(first) == 400
    assert first.min() >= alone - 1e-9
    assert first.max() <= alone + 3 * 1.2 + 3 * 0.0512
    assert equal.median() > alone + 100


def test_the_others_get_the_rest(coexisting):
    """400 exchanges of a few frames in half a second are nothing: the link stays full, the queue long."""
    with_, without = (coexisting[priority].summary["bottleneck"] for priority in (1, 0))
    assert with_["utilization"] > 0.99
    assert with_["queue_mean_pkt"] == pytest.approx(without["queue_mean_pkt"], rel=0.1)


def small_flows(cc, count):
    """99th percentile of what a sender waits for, in us: the flow, and 100 us until it hears of its end."""
    table = run("small-flows", cc__name=cc, topology__hosts=count, traffic__0__flows=count).flows
    small = table[table.bytes.notna() & (table.start_us > 50e3)]
    return small.fct_us.quantile(0.99) + 100


def test_small_flows_are_done_sooner_over_dx_than_over_dctcp_and_hull():
    """DX Fig. 18: 18 % and 2 % lower at ten long flows, and 3 to 4 us more for ten more senders."""
    dx, dctcp, hull = (small_flows(cc, 10) for cc in ("dx", "dctcp", "hull"))
    assert dx < 0.82 * dctcp
    assert 0.96 < dx / hull < 1
    assert small_flows("dx", 30) - dx < 2 * 10


def test_a_ping_beside_four_algorithms():
    """By hand, alone: 10 ms; 104 B four times at 1 Gbps and twice at 100 Mbps; the ack before the response
    keeps it 4.288 us at the slow link and 0.512 us at its host. Going first it also waits for a frame there,
    120 us, and for an ack on the way back, 5.12 us, at most."""
    alone = 10_000 + 4 * 0.832 + 2 * 8.32 + 4.288 + 0.512
    equal, first = (run("mix", traffic__4__priority=priority) for priority in (0, 1))
    for result in (equal, first):
        assert result.summary["bottleneck"]["utilization"] > 0.99
        assert (result.flows.goodput_gbps[:4] > 0.05 * 0.1).all()
    pings = first.flows.exchange_us.dropna()
    assert pings.min() >= alone - 1e-6
    assert pings.max() <= alone + 120 + 5.12
    assert equal.flows.exchange_us.median() > alone + 20_000

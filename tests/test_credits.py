"""ExpressPass, and what its paper compares it with, DCTCP and RCP, on a 10 Gbps dumbbell, 100 us there and
back: Cho, Jang and Han, SIGCOMM 2017, §3 and §6."""

from pathlib import Path

import pytest

import shallows as sh

SCENARIOS = Path(__file__).parents[1] / "scenarios"
SCENARIO = sh.Scenario.load(SCENARIOS / "expresspass.toml")
RCP = sh.Scenario.load(SCENARIOS / "rcp.toml")
MANY = sh.Scenario.load(SCENARIOS / "dctcp-many.toml")
DATA_SHARE = 1538 / (84 + 1538)


def run(changes, scenario=SCENARIO):
    result = sh.run(scenario.replace(changes))
    assert result.summary["books"]["closed"]
    return result


def of(flows):
    return {"topology.hosts": flows, "traffic.0.flows": flows}


def dumbbell(flows, name="expresspass"):
    return run(of(flows) | {"cc.name": name})


def jain(rates):
    return rates.sum() ** 2 / (len(rates) * (rates**2).sum())


@pytest.mark.parametrize("flows", [4, 64, 256])
def test_the_published_simulator_fills_and_shares_what_credits_leave_free(flows):
    """94.82 % of the link within 0.5 points, Jain's index of 0.95, two frames queued, no data lost."""
    result = dumbbell(flows, "expresspass@ns-2")
    port = result.summary["bottleneck"]
    assert port["utilization"] == pytest.approx(DATA_SHARE, abs=0.005)
    assert jain(result.flows.goodput_gbps) >= 0.95
    assert port["queue_max_pkt"] <= 2.3
    assert port["dropped"] == 0
    assert result.flows.retransmits.sum() == 0


@pytest.mark.parametrize("flows", [2, 4])
def test_the_papers_algorithm_fills_the_link_and_is_fair_to_a_few(flows):
    result = dumbbell(flows)
    assert result.summary["bottleneck"]["utilization"] == pytest.approx(DATA_SHARE, abs=0.01)
    assert jain(result.flows.goodput_gbps) >= 0.95


def test_a_lone_flow_takes_all_that_credits_leave_free():
    """A frame a credit, and credits at 5.18 % of the receiver's link."""
    port = dumbbell(1).summary["bottleneck"]
    assert port["utilization"] == pytest.approx(DATA_SHARE, abs=0.002)


def test_credits_that_come_too_late_are_wasted_and_counted():
    """Data that is all sent no longer answers what is on its way for half a round trip: 50 us at up to
    770 654 credits a second, and as much again until the stop arrives."""
    ends = {"traffic": [{"kind": "incast", "senders": 1, "size": "3MB"}]}
    ends |= {"duration": "until-done", "warmup": "0s"}
    flow = run(ends).flows.iloc[0]
    frames = -(-3_000_000 // 1460)
    assert flow.retransmits == 0
    assert 30 <= flow.credits_wasted <= 80
    assert frames <= flow.credits - flow.credits_wasted


def test_credits_cross_the_links_that_their_data_will_load():
    """On a fat tree of equal paths data would meet more than credits allow, if these came another way."""
    tables = {
        "topology": {"kind": "fat-tree", "k": 4},
        "traffic": [{"kind": "long-lived"}],
    }
    result = run(tables)
    assert result.ports.queue_max_pkt.max() < 10
    assert result.flows.retransmits.sum() == 0


@pytest.mark.parametrize("flows", [32, 64, 256])
def test_rcp_overflows_the_buffer_where_many_start_together(flows):
    """All are told the whole link: 32 bring 32 times what it can take, for a round trip at least."""
    assert run(of(flows), RCP).summary["bottleneck"]["dropped"] > 250


def test_one_more_flow_does_not_overflow_it():
    """The second is told the whole link too, for the slot in which it came and a round trip: 162 frames."""
    port = run(of(2), RCP).summary["bottleneck"]
    assert 60 <= port["queue_max_pkt"] <= 200
    assert port["dropped"] == 0


@pytest.mark.parametrize("flows", [2, 16, 64])
def test_rcp_settles_on_a_full_link_an_empty_queue_and_equal_rates(flows):
    settled = {"warmup": "60ms", "duration": "100ms", "traffic.0.stagger": "100us"}
    result = run(of(flows) | settled, RCP)
    port = result.summary["bottleneck"]
    assert port["utilization"] >= 0.97
    assert port["queue_mean_pkt"] <= 5
    assert jain(result.flows.goodput_gbps) >= 0.99


def test_beyond_256_flows_rcp_leaves_capacity_unused():
    """§6.1: "RCP has under-utilization beyond 256 flows"."""
    settled = {"warmup": "60ms", "duration": "100ms", "traffic.0.stagger": "100us"}
    assert run(of(256) | settled, RCP).summary["bottleneck"]["utilization"] <= 0.95


@pytest.mark.parametrize(("flows", "fair"), [(16, True), (32, True), (128, False), (256, False)])
def test_windows_of_two_packets_are_unfair_once_they_do_not_fit(flows, fair):
    """The paper's DCTCP breaks around 64 flows: here between half and twice as many."""
    index = jain(run(of(flows), MANY).flows.goodput_gbps)
    assert index >= 0.85 if fair else index <= 0.8


@pytest.mark.parametrize("flows", [96, 128])
def test_it_is_the_drops_that_are_unfair_not_the_windows(flows):
    """Past (81 + 65)/2 = 73 flows every packet is marked and every window is two: the queue is what the pipe
    does not hold. That is fair as long as it fits, with 250 packets up to (81 + 250)/2 = 165 flows."""
    result = run(of(flows) | {"network.buffer": "250pkt", "hosts.rto_min": "1ms"}, MANY)
    port = result.summary["bottleneck"]
    assert port["queue_mean_pkt"] == pytest.approx(2 * flows - 83, abs=5)
    assert port["dropped"] == 0
    assert jain(result.flows.goodput_gbps) >= 0.95


def test_an_algorithm_that_asks_for_rates_needs_ports_that_tell_them():
    with pytest.raises(sh.ScenarioError, match=r'kind = "step".*rates, which rcp cannot do without'):
        RCP.replace({"network.marking": {"kind": "step"}})
    with pytest.raises(sh.ScenarioError, match=r'kind = "rcp".*marks, which dctcp cannot do without'):
        RCP.replace({"cc.name": "dctcp", "network.marking": {"kind": "rcp"}})

"""ExpressPass, and what its paper compares it with, DCTCP and RCP, on a 10 Gbps dumbbell, 100 us there and
back: Cho, Jang and Han, SIGCOMM 2017, §3 and §6."""

from functools import cache
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


@pytest.mark.parametrize("flows", [2, 3, 5, 8, 12, 16, 24, 32, 48, 64, 100, 256, 700])
def test_the_published_simulator_fills_and_shares_what_credits_leave_free(flows):
    """94.82 % of the link within 0.5 points, Jain 0.95 over 100 ms, two frames and eight credits queued."""
    recorded = {"record.probes": "off", "record.queues": "off"}
    result = run(of(flows) | {"cc.name": "expresspass@ns-2", "duration": "120ms", **recorded})
    port = result.summary["bottleneck"]
    assert port["utilization"] == pytest.approx(DATA_SHARE, abs=0.005)
    assert jain(result.flows.goodput_gbps) >= 0.95
    assert port["queue_max_pkt"] <= 2
    assert port["dropped"] == 0
    assert result.flows.retransmits.sum() == 0
    credit_port = result.ports.set_index("port").loc["s1->s0"]
    assert credit_port.queue_max_pkt * 1538 <= 8 * 84 + 1


def test_it_fills_the_link_at_400_us_too():
    result = run(of(64) | {"cc.name": "expresspass@ns-2", "topology.rtt": "400us", "duration": "100ms"})
    assert result.summary["bottleneck"]["utilization"] == pytest.approx(DATA_SHARE, abs=0.005)
    assert jain(result.flows.goodput_gbps) >= 0.9


def test_losses_that_never_raise_the_rate_leave_a_tenth_unused_and_algorithm_1_needs_them_so():
    """The later version's cap: of a handful of credits a round trip the least count decides.

    Algorithm 1 without it is unfair to few flows, over 100 ms.
    """
    capped = dumbbell(16, "expresspass@ns-2-capped").summary["bottleneck"]["utilization"]
    assert capped < dumbbell(16, "expresspass@ns-2").summary["bottleneck"]["utilization"] - 0.02

    def least_fair(fall_only):
        pair = of(3) | {"duration": "120ms", "cc.fall_only": fall_only, "record.probes": "off"}
        return min(jain(run(pair | {"seed": seed}).flows.goodput_gbps) for seed in range(1, 7))

    assert least_fair(True) > least_fair(False) + 0.02


@pytest.mark.parametrize("flows", [4, 64, 256, 1024])
def test_the_papers_algorithm_fills_and_shares_it_over_100_ms(flows):
    """The interval of Fig. 15."""
    result = run(of(flows) | {"duration": "120ms", "record.probes": "off", "record.queues": "off"})
    assert result.summary["bottleneck"]["utilization"] == pytest.approx(DATA_SHARE, abs=0.01)
    assert jain(result.flows.goodput_gbps) >= 0.95


def test_under_the_papers_algorithm_one_of_two_may_take_the_link_unless_sizes_of_credits_vary():
    """A rate of 1.1 links loses 9.09 % of its credits, less than the target: who gets there stays."""

    def least_fair(spread):
        pair = of(2) | {"duration": "120ms", "cc.credit_spread": spread}
        return min(jain(run(pair | {"seed": seed}).flows.goodput_gbps) for seed in range(1, 7))

    assert least_fair("0B") <= 0.8
    assert least_fair("8B") >= 0.9


def test_no_flow_loses_every_credit_for_ever():
    """Two receivers whose links shape their credits alike meet at a port further on.

    Of credits that come at equal distances, each as long as the others, it may drop all of one flow.
    """
    tables = {
        "topology": {
            "kind": "three-tier",
            "cores": 2,
            "aggregations": 4,
            "tors": 4,
            "hosts_per_tor": 2,
            "rate": "1Gbps",
        },
        "network": {"pfc": True},
        "traffic": [
            {"kind": "long-lived", "flows": 3, "stagger": "100us"},
            {"kind": "request-response", "pairs": 3, "exchanges": 8},
        ],
        "duration": "60ms",
    }
    for seed in range(1, 13):
        assert run(tables | {"seed": seed}).summary["traffic"][1]["finished"] == 48


def shares_after_joining(name, rate, seed, span, **changes):
    """Of the second of two flows, in twice its fair share, every `span` after it joined the first."""
    changes = (
        of(2) | {"cc.name": name, "topology.rate": rate, "traffic.0.stagger": "20ms", "seed": seed} | changes
    )
    changes = {"warmup": "0s", "duration": "24ms", "record.queues": "off", "record.probes": span} | changes
    table = run(changes).probes
    rates = table[table.name == "rate_gbps"].pivot(index="time_us", columns="flow", values="value")
    rates = rates[rates.index > 20e3].fillna(0)
    return 2 * rates[1] / rates.sum(axis=1)


def last_outside(shares, by=0.25):
    """How many spans pass until both stay within a quarter of their share."""
    outside = (shares - 1).abs() > by
    return int(outside.to_numpy().nonzero()[0].max(initial=-1)) + 1


@pytest.mark.parametrize("rate", ["10Gbps", "100Gbps"])
def test_two_flows_share_within_five_round_trips_on_average(rate):
    """Over ten seeds, to a quarter of the share: the paper does not say what it calls converged."""
    runs = [shares_after_joining("expresspass@ns-2", rate, seed, "100us") for seed in range(1, 11)]
    assert last_outside(sum(runs) / len(runs)) <= 5


@pytest.mark.paper
def test_dctcp_takes_80_times_as_long_and_longer_still_at_100_gigabits():
    """Fig. 16 (f) to (h): K = 65 and g = 1/16, K = 650 and g = 0.01976; the median of three runs."""
    slow = {"10Gbps": ("65pkt", 0.0625, "120ms"), "100Gbps": ("650pkt", 0.01976, "500ms")}
    took = {}
    for rate, (threshold, g, duration) in slow.items():
        changes = {"network.marking": {"kind": "step", "threshold": threshold}, "network.buffer": "2500pkt"}
        changes |= {"cc.g": g, "duration": duration}
        runs = [shares_after_joining("dctcp", rate, seed, "1ms", **changes) for seed in (1, 2, 3)]
        took[rate] = 10 * sorted(map(last_outside, runs))[1]
    assert took["10Gbps"] >= 80 * 3
    assert took["100Gbps"] >= 3 * took["10Gbps"]


@cache
def steady(flows, w_min):
    """By how much a rate changes in a round trip, in shares of max_rate, and w: means over three seeds."""
    settings = of(flows) | {"duration": "100ms", "record.probes": "100us", "record.flows": "all"}
    swings, weights = [], []
    for seed in (1, 2, 3):
        table = run(settings | {"seed": seed, "cc.w_min": w_min}).probes
        table = table[table.time_us > 20e3]
        rates = table[table.name == "credit_rate_mbps"].pivot(index="time_us", columns="flow", values="value")
        swings.append(rates.diff().abs().mean().mean() * 1e6 / (10e9 * 84 / 1622))
        weights.append(table[table.name == "w"].value.mean())
    return sum(swings) / 3, sum(weights) / 3


@pytest.mark.parametrize("flows", [3, 4])
def test_the_steady_swing_is_not_d_star_but_that_of_losses_seen_a_period_late(flows):
    """Of four periods two rise to C - (C - C/N) (13/14) (5/7), one falls back, one stays: C (1 - 1/N) 33/196
    a period, while w goes through 1/14, 2/7, 1/7, 1/14, whose mean is 1/7. The arithmetic is in
    receiver/expresspass.rs. No w_min below 1/14 matters, where D* = C w_min (1 - 1/N) would be a tenth.
    """
    swing, w = steady(flows, 0.01)
    assert swing == pytest.approx(1.1 * (1 - 1 / flows) * 33 / 196, rel=0.25)
    assert w == pytest.approx(1 / 7, rel=0.15)
    assert steady(flows, 0.001) == pytest.approx((swing, w), rel=0.1)


def test_rates_swing_more_the_less_of_the_link_a_flow_has():
    """C (1 - 1/N): 5/6 of the link's credits with six flows, 1/2 with two, 15 %."""
    assert steady(6, 0.01)[0] / steady(2, 0.01)[0] == pytest.approx((5 / 6) / (1 / 2), rel=0.15)


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
    assert result.ports.queue_max_pkt.max() < 15
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


BORDER = pytest.mark.xfail(
    strict=True, reason="0.954; 0.92 to 0.98 over five seeds: the paper says beyond 256"
)


@pytest.mark.parametrize("flows", [pytest.param(256, marks=BORDER), 300, 512])
def test_beyond_256_flows_rcp_leaves_capacity_unused(flows):
    """§6.1: "RCP has under-utilization beyond 256 flows": more than ExpressPass's 5 % for credits."""
    settled = {"warmup": "60ms", "duration": "100ms", "traffic.0.stagger": "100us"}
    assert run(of(flows) | settled, RCP).summary["bottleneck"]["utilization"] <= 0.95


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


def test_credits_are_not_sprayed():
    with pytest.raises(sh.ScenarioError, match=r'network.balancing = "packet": .*one way there and back'):
        sh.run(SCENARIO.set("network.balancing", "packet"))

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


@pytest.mark.parametrize("form", ["ns-2", "sigcomm17"])
def test_a_decrease_that_never_raises_the_rate_leaves_capacity_unused(form):
    """The cap of the later simulator: of a handful of credits a round trip the least count decides."""
    used = {
        cap: dumbbell(16, f"expresspass@{form}{cap}").summary["bottleneck"]["utilization"]
        for cap in ("", "-capped")
    }
    assert used[""] == pytest.approx(DATA_SHARE, abs=0.01)
    assert 0.85 < used["-capped"] < used[""] - 0.02


@pytest.mark.parametrize("rtt_us", [40, 100, 200])
@pytest.mark.parametrize("flows", [5, 12, 40, 200])
def test_algorithm_1_fills_and_shares_what_credits_leave_free(flows, rtt_us):
    """94.82 % within a point, 2.5 frames, no loss; a Jain index of .95 over 2000 round trips (two seeds)."""
    span = {"warmup": "20ms", "duration": f"{20 + 2 * rtt_us}ms", "topology.rtt": f"{rtt_us}us"}
    recorded = {"record.probes": "off", "record.queues": "off"}
    results = [run(of(flows) | span | recorded | {"seed": seed}) for seed in (1, 2)]
    for result in results:
        port = result.summary["bottleneck"]
        assert port["utilization"] == pytest.approx(DATA_SHARE, abs=0.01)
        assert 1 <= port["queue_max_pkt"] <= 2.5
        assert port["dropped"] == 0
        assert result.flows.retransmits.sum() == 0
    assert 0.95 <= sum(jain(result.flows.goodput_gbps) for result in results) / 2 < 1


@pytest.mark.parametrize("flows", [256, 1024])
def test_algorithm_1_fills_and_shares_it_over_100_ms_with_many_flows(flows):
    """The interval of Fig. 15."""
    result = run(of(flows) | {"duration": "120ms", "record.probes": "off", "record.queues": "off"})
    assert result.summary["bottleneck"]["utilization"] == pytest.approx(DATA_SHARE, abs=0.01)
    assert jain(result.flows.goodput_gbps) >= 0.95


def indices(flows, **cc):
    """Jain's index over 100 ms for six seeds."""
    changes = of(flows) | {"duration": "120ms", "record.probes": "off", "record.queues": "off"}
    changes |= {f"cc.{name}": value for name, value in cc.items()}
    return [jain(run(changes | {"seed": seed}).flows.goodput_gbps) for seed in range(1, 7)]


def test_two_to_four_flows_are_unfair_for_a_while_because_of_the_port():
    """docs/credits.md: a drop-tail queue spares the flow whose credits come in step with it.

    That flow loses less than a tenth, the target; with a target of 5 % it loses too much and gives way.
    """
    for flows in (2, 3, 4):
        assert 0.75 < min(indices(flows)) < 0.95
        assert min(indices(flows, target_loss=0.05)) > 0.97
    long = run(of(3) | {"duration": "1020ms", "record.probes": "off", "record.queues": "off"})
    assert jain(long.flows.goodput_gbps) > 0.97


def test_one_of_two_takes_the_link_where_all_credits_have_one_size():
    """A rate of 1.1 links loses 9.09 % of its credits, less than the target: its flow keeps it."""
    assert 0.5 < min(indices(2, credit_spread="0B")) <= 0.75


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


@cache
def steady(flows, w_min, name="expresspass@sigcomm17-capped"):
    """By how much a rate changes in a round trip, in shares of max_rate, and w: means over three seeds."""
    settings = of(flows) | {"duration": "100ms", "record.probes": "100us", "record.flows": "all"}
    swings, weights = [], []
    for seed in (1, 2, 3):
        table = run(settings | {"seed": seed, "cc.name": name, "cc.w_min": w_min}).probes
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


@pytest.mark.parametrize("flows", [3, 4])
def test_without_the_cap_the_steady_swing_is_half_as_far(flows):
    """Flows do not rise and fall together: between D* and what they would swing in step."""
    swing, w = steady(flows, 0.01, "expresspass")
    in_step = 1.1 * (1 - 1 / flows) * 33 / 196
    assert 5 * 1.1 * 0.01 * (1 - 1 / flows) < swing < 0.7 * in_step
    assert 0.01 < w < 1 / 7
    assert steady(flows, 0.001, "expresspass") == pytest.approx((swing, w), rel=0.1)


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


def test_a_flow_that_has_not_begun_has_no_credits():
    stairs = [{"kind": "staircase", "flows": 2, "interval": "20ms", "from": [0, 1], "to": 2}]
    table = run(of(2) | {"traffic": stairs, "warmup": "0s", "duration": "5ms"}).flows
    # Credits at 770 654 a second after the start; nothing before it.
    assert 0.5 * 770_654 * 5e-3 < table.credits[0] <= 1.1 * 770_654 * 5e-3
    assert table.credits[1] == table.credits_wasted[1] == 0


def test_credits_cross_the_links_that_their_data_will_load():
    """On a fat tree of equal paths data would meet more than credits allow, if these came another way.

    The largest queue of five seeds is 11 to 25 frames, of 250 that fit.
    """
    tables = {
        "topology": {"kind": "fat-tree", "k": 4},
        "traffic": [{"kind": "long-lived"}],
    }
    result = run(tables)
    assert 2 < result.ports.queue_max_pkt.max() < 30
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
    with pytest.raises(sh.ScenarioError, match=r'kind = "step".*rates, which rcp needs'):
        RCP.replace({"network.marking": {"kind": "step"}})
    with pytest.raises(sh.ScenarioError, match=r'kind = "rcp".*marks, which dctcp needs'):
        RCP.replace({"cc.name": "dctcp", "network.marking": {"kind": "rcp"}})


def test_credits_are_not_sprayed():
    with pytest.raises(
        sh.ScenarioError, match=r'network.balancing = "packet": .*one path in both directions'
    ):
        sh.run(SCENARIO.set("network.balancing", "packet"))

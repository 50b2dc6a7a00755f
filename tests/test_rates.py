"""DCQCN, TIMELY and their networks in the packet world, against "ECN or Delay" (CoNEXT 2016) and its models.

Queues are in KB of 1000 bytes. Random marks make the packet world noisier than the fluid: means are over most
of a second.
"""

from pathlib import Path

import numpy as np
import pytest

import shallows as sh
from shallows.fluid import Dcqcn

SCENARIOS = Path(__file__).parents[1] / "scenarios"


def run(name, changes=None):
    scenario = sh.Scenario.load(SCENARIOS / f"{name}.toml")
    result = sh.run(scenario.replace(changes) if changes else scenario)
    assert result.summary["books"]["closed"]
    return result


def queue_kb(result):
    return result.summary["bottleneck"]["queue_mean_pkt"] * result.scenario.mtu / 1e3


def swing_kb(result):
    """Standard deviation of the bottleneck's queue after the warm-up."""
    table, after = result.queues, result.summary["warmup_s"] * 1e6
    port = result.summary["bottleneck"]["port"]
    return table[(table.port == port) & (table.time_us >= after)].queue_bytes.std() / 1e3


def rates(result):
    return result.flows.goodput_gbps.to_numpy()


def dcqcn(flows, **changes):
    settings = {key.replace("__", "."): value for key, value in changes.items()}
    return run("dcqcn", {"topology.hosts": flows, "traffic.0.flows": flows, **settings})


@pytest.fixture(scope="module")
def ten():
    return dcqcn(10)


@pytest.mark.parametrize(("flows", "fixed_point_kb"), [(2, 20.2), (10, 123.8)])
def test_dcqcn_settles_at_the_fixed_point_of_its_fluid_model(flows, fixed_point_kb, ten):
    """Fig. 4 at 4 us: the table of fixed points, 15 %; rates equal within 5 %."""
    result = ten if flows == 10 else dcqcn(flows)
    assert queue_kb(result) == pytest.approx(fixed_point_kb, rel=0.15)
    assert max(rates(result)) / min(rates(result)) < 1.05
    assert result.summary["bottleneck"]["dropped"] == 0


def test_beyond_the_printed_cliff_all_flows_are_cut_at_once(ten):
    """With everything marked above 200 KB the swings of ten flows empty the queue: no fixed point."""
    cliff = dcqcn(10, network__marking__extended=False)
    assert queue_kb(cliff) < 0.75 * 122.6
    assert cliff.summary["bottleneck"]["utilization"] < ten.summary["bottleneck"]["utilization"] - 0.01


def many(times, flows, **span):
    """That many times the flows, the capacity and the ramp: to the fluid equations only the scale changes."""
    topology = {"hosts": times * flows, "rate": f"{40 * times}Gbps", "edge_rate": "40Gbps", "rtt": "4us"}
    ramp = {"kmin": f"{5 * times}KB", "kmax": f"{200 * times}KB", "extended": True}
    tables = {
        "topology": {"kind": "dumbbell", **topology},
        "network.buffer": "unlimited",
        "network.marking": {"kind": "red", **ramp, "at": "dequeue"},
        "traffic.0.flows": times * flows,
        "traffic.0.stagger": "1us",
    }
    return run("dcqcn", {**tables, "duration": "150ms", "warmup": "75ms", **span})


@pytest.mark.paper
def test_the_more_flows_the_less_their_random_marks_move_the_queue():
    """20.15 KB by the fluid model, 10 %, and less than half the noise."""
    one, ten_times = many(1, 2, duration="1s"), many(10, 2)
    assert queue_kb(ten_times) / 10 == pytest.approx(20.15, rel=0.10)
    assert swing_kb(ten_times) / 10 < swing_kb(one) / 2


@pytest.mark.paper
def test_ten_gigabits_and_n_flows_are_forty_and_four_n():
    """p*, and with it the queue on the ramp, depends on C/N only; times scale with the packet rate."""
    at_10 = dcqcn(2, topology__rate="10Gbps", topology__rtt="4us", duration="3s")
    at_40 = dcqcn(8, duration="1500ms")
    assert queue_kb(at_10) == pytest.approx(queue_kb(at_40), rel=0.10)


def random_flows(flows, count=80, seconds=0.2):
    """The mean rate of DCQCN flows at the equations' marking probability, in fair shares, each by itself.

    tau = 50 us, T = tau' = 55 us, F = 5, g = 1/256, R_AI = 40 Mbps, B = 10 MB, packets of 1000 B.
    """
    draws, step, fair = np.random.default_rng(1), 5e-6, 40e9 / flows
    unmarked = np.log1p(-Dcqcn(flows=flows, ramp="extended").fixed_point().p)
    rate, target, alpha = np.full(count, fair), np.full(count, fair), np.full(count, 0.15)
    packets, sent, stages = np.zeros(count), np.zeros(count), np.zeros((2, count))
    looks = draws.integers(0, 10, count)
    timer, decay = draws.integers(0, 11, (2, count))
    total = 0.0
    steps = round(seconds / step)
    for i in range(steps):
        packets += rate * step / 8e3
        sent += rate * step / 8
        timer += 1
        decay += 1
        looking = np.flatnonzero(i % 10 == looks)
        notified = looking[draws.random(len(looking)) < -np.expm1(packets[looking] * unmarked)]
        packets[looking] = 0
        target[notified] = rate[notified]
        rate[notified] *= 1 - alpha[notified] / 2
        alpha[notified] += (1 - alpha[notified]) / 256
        timer[notified] = decay[notified] = sent[notified] = 0
        stages[:, notified] = 0
        quiet = np.flatnonzero(decay >= 11)
        alpha[quiet] *= 255 / 256
        decay[quiet] = 0
        for stage, due in enumerate((np.flatnonzero(timer >= 11), np.flatnonzero(sent >= 10e6))):
            stages[stage, due] += 1
            target[due[stages[:, due].max(axis=0) >= 5]] += 40e6
            rate[due] = (target[due] + rate[due]) / 2
            (timer, sent)[stage][due] = 0
        total += rate.mean() if i > steps / 4 else 0
    return total / (steps - steps // 4 - 1) / fair


@pytest.mark.paper
@pytest.mark.parametrize("flows", [20, 64])
def test_random_marks_leave_dcqcn_more_than_the_equations_say(flows):
    """So packets need more marks, and on a ramp more queue, than the fluid: no network is needed for that."""
    assert 1.05 <= random_flows(flows) <= 1.15


def timely(name="timely", first="7Gbps", second="3Gbps", **changes):
    ccs = {f"traffic.{i}.cc": {"name": name, "start_rate": rate} for i, rate in enumerate((first, second))}
    return run("timely-split", {**ccs, **{key.replace("__", "."): value for key, value in changes.items()}})


def test_the_split_of_two_timely_flows_depends_on_how_they_start():
    """Fig. 9: equal starts stay about equal; 7/3, or a start 10 ms later, does not become fair."""
    span = {"duration": "100ms", "warmup": "60ms"}
    even, uneven = timely(first="5Gbps", second="5Gbps", **span), timely(**span)
    late = timely(first="5Gbps", second="5Gbps", traffic__1__start="10ms", **span)
    shares = [max(rates(result)) / min(rates(result)) for result in (even, uneven, late)]
    assert shares[0] < 1.5
    assert shares[1] > 2
    assert shares[2] > 1.5


def test_bursts_of_16_kb_make_timely_fair():
    """Fig. 10a."""
    result = timely("timely@ecn-or-delay-16KB", warmup="100ms")
    assert max(rates(result)) / min(rates(result)) < 1.2


def test_bursts_of_64_kb_collapse_and_climb_back():
    """Fig. 10b: both meet in the queue, fall to almost nothing and grow again by delta."""
    result = timely("timely@ecn-or-delay-64KB")
    paces = result.probes[result.probes.name == "pace_gbps"]
    pace = paces.pivot(index="time_us", columns="flow", values="value")
    assert pace.loc[10e3:50e3].max().max() < 0.1
    assert (pace.loc[290e3] > 5 * pace.loc[50e3]).all()


@pytest.mark.parametrize("flows", [2, 10, 40])
def test_patched_timely_has_one_fixed_point(flows):
    """Eq. 31: q' (1 + N delta / (beta C)) with q' = 62.5 KB, 10 %."""
    tables = {
        "topology": {"kind": "dumbbell", "hosts": flows, "rate": "10Gbps", "rtt": "4us"},
        "network": {"mtu": "1000B", "header": "48B", "buffer": "20MB"},
        "cc": {"name": "patched-timely", "start_rate": f"{10_000 // flows}Mbps"},
        "traffic": [{"kind": "long-lived", "flows": flows}],
    }
    result = sh.run(sh.Scenario(duration="300ms", warmup="150ms", **tables))
    assert queue_kb(result) == pytest.approx(62.5 * (1 + flows / 8), rel=0.10)


def joining(flows, apart_ms, settled_ms, **cc):
    """Patched TIMELY flows that join one by one, measured for 100 ms from `settled_ms` after the last on."""
    settled = apart_ms * (flows - 1) + settled_ms
    return sh.run(
        sh.Scenario(
            duration=f"{settled + 100}ms",
            warmup=f"{settled}ms",
            topology={"kind": "dumbbell", "hosts": flows, "rate": "10Gbps", "rtt": "4us"},
            network={"mtu": "1048B", "header": "48B", "buffer": "unlimited"},
            cc={"name": "patched-timely", **cc},
            traffic=[{"kind": "long-lived", "flows": flows, "stagger": f"{apart_ms}ms"}],
            record={"queues": "off", "probes": "off"},
        )
    )


def fairness(rates):
    return sum(rates) ** 2 / len(rates) / sum(rate**2 for rate in rates)


@pytest.mark.parametrize(("flows", "apart_ms"), [(3, 10), (3, 30), (8, 20), (12, 15), (20, 10), (20, 30)])
@pytest.mark.parametrize("start", ["line rate", "C/N"])
def test_patched_timely_flows_that_join_one_by_one_become_equal(flows, apart_ms, start):
    """Theorem 5: Jain's index of .99, and eq. 31 within 10 %.

    Algorithm 2 compares round trips, so the queue is shorter than eq. 31 by what the other links take. Flows
    that start at line rate bring a link more each: twenty pile up 11 MB, which take half a second to drain.
    """
    cc = {"start_rate": f"{10_000 // flows}Mbps"} if start == "C/N" else {}
    slow = (flows, apart_ms, start) == (20, 10, "line rate")
    result = joining(flows, apart_ms, 900 if slow else 200, **cc)
    assert 0.99 <= fairness(rates(result)) <= 1
    eq31 = 62.5 * (1 + flows / 8)
    assert 0.9 * eq31 < queue_kb(result) < eq31


def test_patched_timely_is_unfair_to_early_flows_where_each_has_its_own_base():
    """Each leaves out its smallest round trip: the last to join takes the queue for its path."""
    result = joining(3, 30, 200, name="patched-timely@queue-error")
    assert fairness(rates(result)) < 0.9


def test_patched_timely_makes_seven_to_three_fair():
    """Fig. 12a."""
    result = timely("patched-timely")
    assert max(rates(result)) / min(rates(result)) < 1.05
    assert queue_kb(result) == pytest.approx(78.1, rel=0.10)


@pytest.mark.parametrize(("p", "fair"), [((0.2, 0.2), True), ((0.1, 0.4), False)])
def test_pi_in_the_hosts_holds_the_queue_and_keeps_what_the_flows_differ_by(p, fair):
    """Fig. 19, Theorem 6: 300 KB either way; 7.34 and 2.66 Gbps by the fluid model for 0.1 and 0.4."""
    ccs = {
        f"traffic.{i}.cc": {"name": "patched-timely-pi", "start_rate": "5Gbps", "p": p_i}
        for i, p_i in enumerate(p)
    }
    result = run("timely-split", {**ccs, "duration": "1s", "warmup": "500ms"})
    assert queue_kb(result) == pytest.approx(300, rel=0.05)
    ratio = max(rates(result)) / min(rates(result))
    assert ratio < 1.1 if fair else ratio == pytest.approx(7.34 / 2.66, rel=0.15)


@pytest.fixture(scope="module")
def incast():
    return run("pfc-incast")


def test_pauses_keep_the_incast_of_line_rate_senders_lossless(incast):
    network = incast.summary["network"]
    assert network["dropped"] == 0
    assert network["pauses"] >= 64
    assert network["paused_us"] > 0
    assert network["deadlock"] == []
    assert incast.ports.pauses.sum() == network["pauses"]


def test_a_victim_waits_behind_pauses_that_are_not_its_own(incast):
    """Head-of-line blocking: without pauses, in unlimited buffers, the same flow has its link to itself."""
    free = run("pfc-incast", {"network.pfc": False, "network.buffer": "unlimited"})
    victim, undisturbed = rates(incast)[-1], rates(free)[-1]
    assert undisturbed > 9.3
    assert victim < undisturbed / 2


def test_a_circle_of_pauses_is_named():
    result = run("pause-deadlock")
    circle = result.summary["network"]["deadlock"]
    assert sorted(circle) == ["s0->s1", "s1->s2", "s2->s3", "s3->s4", "s4->s0"]
    assert result.summary["network"]["dropped"] == 0


def test_a_watchdog_drops_what_a_circle_of_pauses_holds():
    """Nothing passes a circle for 20 ms without a watchdog. One of 5 ms drops nothing before that time.

    Then packets are dropped, memory becomes free, pauses end, and flows go on until the next circle.
    """
    stuck = run("pause-deadlock")
    watched = run("pause-deadlock", {"network.pfc.watchdog": "5ms"})
    early = run("pause-deadlock", {"network.pfc.watchdog": "5ms", "duration": "5ms"})
    assert early.summary["network"]["dropped"] == 0
    assert watched.summary["network"]["dropped"] > 0
    assert watched.summary["network"]["deadlock"] == []
    assert watched.summary["flows"]["goodput_gbps"] > 10 * stuck.summary["flows"]["goodput_gbps"]
    # A watchdog of which no pause is long enough changes nothing.
    patient = run("pfc-incast", {"network.pfc.watchdog": "10s"})
    assert patient.summary["fingerprint"] == run("pfc-incast").summary["fingerprint"]


ORIGINAL = {"10Gbps": (37.9, 91.5), "5Gbps": (45.1, 117.9), "1Gbps": (142.6, 399.4)}
"""Of ns3-rdma (branch timely, 123df9e), by the rate at which flows start: median and 90th percentile in us of
those below 100 KB, for the flows of one second of short-flows at load 0.8."""


@pytest.mark.paper  # 4 s
@pytest.mark.parametrize("start_rate", ORIGINAL)
def test_timely_is_its_authors_simulators_on_the_same_flows(start_rate):
    """Within 10 %; a percentile of 372 flows."""
    cc = {"name": "timely@ns3-rdma", "start_rate": start_rate}
    table = run("short-flows", {"cc": cc, "traffic.0.load": 0.64, "traffic.0.flows": 1500}).flows
    short = table[(table.bytes < 100e3) & (table.start_us < 1e6)].fct_us
    assert len(short) == 372
    assert short.quantile([0.5, 0.9]).tolist() == pytest.approx(ORIGINAL[start_rate], rel=0.1)


def test_without_pauses_go_back_n_keeps_a_link_busy_and_delivers_nothing():
    """Twenty senders with 20 Gbps for a link of 10: no segment of 16 frames arrives whole, so none is
    acknowledged, so no sender learns a round trip and slows down. With pauses the same flows fill the link
    with data: 10 Gbps * 1000/1048 = 9.54.
    """
    tables = {
        "topology": {"kind": "dumbbell", "hosts": 20, "rate": "10Gbps", "rtt": "6us"},
        "hosts": {"rto_initial": "10ms"},
        "cc": {"name": "patched-timely", "start_rate": "1Gbps"},
        "traffic": [{"kind": "long-lived", "flows": 20}],
    }
    lossy, lossless = (
        sh.run(sh.Scenario(duration="200ms", warmup="100ms", network=network, **tables))
        for network in (
            {"mtu": "1048B", "header": "48B", "buffer": "1MB"},
            {"mtu": "1048B", "header": "48B", "pfc": True},
        )
    )
    assert lossy.summary["bottleneck"]["utilization"] > 0.99
    assert lossy.flows.goodput_gbps.sum() < 0.5
    assert lossless.flows.goodput_gbps.sum() == pytest.approx(9.54, rel=0.01)


STACK = {"poll": "0s", "stack": "280us", "burst": 1, "host_delay_removed": False, "burst_reduced": False}


def alone(cc, **changed):
    """One flow of TIMELY's family, whose link nobody else uses."""
    return sh.run(
        sh.Scenario(
            duration="60ms",
            warmup="10ms",
            topology={"kind": "star", "hosts": 2, "rate": "10Gbps", "rtt": "20us"},
            cc=cc,
            hosts={"timestamps": changed} if changed else {},
            traffic=[{"kind": "long-lived"}],
            record={"probes": "50us", "flows": 1},
        )
    )


def round_trips_us(result):
    probes = result.probes
    return probes[(probes.name == "rtt_us") & (probes.time_us > 10_000)].value


@pytest.mark.parametrize("cc", ["timely", "patched-timely", "patched-timely-pi"])
def test_round_trips_have_the_errors_of_stamps_under_timely(cc):
    """A stack that takes up to 280 us adds 140 in the mean (deviation 81), unless it is taken out.

    Below T_low the rate only grows: at the link's a segment of 64 KB takes 51 us, and a thousand samples are
    within 20 us of that mean.
    """
    cc = {"name": cc, "t_low": "1ms", "t_high": "2ms"}
    ideal = round_trips_us(alone(cc)).min()
    assert round_trips_us(alone(cc, **STACK | {"host_delay_removed": True})).min() == pytest.approx(
        ideal, abs=0.1
    )
    late = round_trips_us(alone(cc, **STACK)) - ideal
    assert late.between(0, 281).all()
    assert late.mean() == pytest.approx(140, abs=20)


def test_timely_takes_a_slow_stack_for_a_queue():
    """With a stack of up to 2 ms three in four round trips are above T_high: the rate falls (Alg. 1)."""
    assert alone("timely").summary["bottleneck"]["utilization"] > 0.9
    slowed = alone("timely", **STACK | {"stack": "2ms"})
    assert 0 < slowed.summary["bottleneck"]["utilization"] < 0.2


@pytest.mark.parametrize("cc", ["timely", "patched-timely", "patched-timely-pi"])
@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "hardware"},
        {"burst": 20},
        {"bucket": 9, "burst_reduced": True},
        {"poll": "3us"},
        {"stack": "100us"},
        {"noise": "1us"},
        {"host_delay_removed": True},
        {"burst_reduced": True},
        {"calibrated": False},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_every_key_of_timestamps_acts_under_timely(cc, changed):
    """But for drift, which is in no round trip."""
    plain = STACK | {"burst": 44, "poll": "6us"} | ({"burst_reduced": True} if "bucket" in changed else {})
    plain |= {} if "kind" not in changed else {"stack": None}
    settings = [
        {key: value for key, value in one.items() if value is not None} for one in (plain, plain | changed)
    ]
    before, after = (alone(cc, **one).summary["fingerprint"] for one in settings)
    assert before != after

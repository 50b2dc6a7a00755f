"""The window family against its papers: HULL, DX and its measurement, the gap, TCP Inigo.

Bands are the papers' numbers with the tolerance of a single run; the scenarios say which figure.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import two_ways
from shallows.errors import ScenarioError
from shallows.scenario import Scenario
from shallows.worlds import packet

SCENARIOS = Path(__file__).parents[1] / "scenarios"


def run(name, **changes):
    scenario = Scenario.load(SCENARIOS / f"{name}.toml")
    result = packet.run(scenario.replace({key.replace("__", "."): value for key, value in changes.items()}))
    assert result.summary["books"]["closed"]
    return result


def port(result):
    return result.summary["bottleneck"]


def flows(count):
    return {"topology.hosts": count, "traffic.0.flows": count}


def probe(result, name, flow=None):
    table = result.probes
    return table[(table.name == name) & (True if flow is None else table.flow == flow)]


@cache
def means(name, count, **changes):
    """Of three seeds: utilisation, and the mean queue in packets."""
    ports = [port(run(name, seed=seed, **flows(count), **changes)) for seed in (1, 2, 3)]
    return [np.mean([found[key] for found in ports]) for key in ("utilization", "queue_mean_pkt")]


EMPTY_US = 200 + 3 * (1500 + 64) * 8 / 10e3
"""A full packet there and its acknowledgement back, three links of 10 Gbps each way."""


def test_dx_never_takes_a_short_packet_for_a_short_path():
    """An exchange of 10 KB is seven full packets: one of 1240 B among them would show 0.5 us less."""
    meeting = run("dx-10", traffic__0__exchange="10KB", duration="20ms", warmup="0s", record__queues="off")
    assert probe(meeting, "base_rtt_us").value.min() == pytest.approx(EMPTY_US, abs=1e-3)


THIRTY_PACED = """Behind a full link the phantom queue grows by a packet in 24 us at most, whatever
comes: 75 B of each 1500. Its threshold of ten packets is 200 frames away, 1.2 round trips, in which
thirty flows add 36 packets, and paced ones go on at the rate of before. So they hold 8.6 packets to
DX's 6.0. Hosts' links a thousandth or a fifth faster, where no two packets arrive at once, change
neither (8.6 and 5.7 to 6.1)."""


@pytest.mark.parametrize(
    "count", [10, 20, pytest.param(30, marks=pytest.mark.xfail(strict=True, reason=THIRTY_PACED))]
)
def test_paced_hull_has_queues_like_dx(count):
    """§VI-C1 says so of the average; the pacer belongs to HULL."""
    used, queue = means("hull-20", count, cc__pacer=True)
    assert 0.85 <= used <= 0.95
    assert queue <= means("dx-10", count, duration="400ms")[1] + 1


@pytest.mark.parametrize("count", [10, 20, 30])
def test_a_phantom_queue_beside_the_link_sees_paced_flows_come(count):
    used, queue = means("hull-20", count, cc__pacer=True, network__marking__at="enqueue")
    assert 0.85 <= used <= 0.95
    assert queue <= means("dx-10", count, duration="400ms")[1] + 1


def test_dx_shares_two_bottlenecks_as_the_paper_prints():
    """Fig. 16: 51.5, 477.7 and 48.5 Mbps on the wire, each within 5 %."""
    result = run("dx-multi-bottleneck")
    mbps = np.array(result.flows.goodput_gbps) * 1e3 * 1500 / 1460
    groups = [mbps[:10].mean(), mbps[10:30].mean(), mbps[30:].mean()]
    assert groups == pytest.approx([51.5, 477.7, 48.5], rel=0.05)


def test_dx_both_ways_leaves_what_an_independent_simulation_leaves():
    """Acks that wait behind data come back in clumps, and so does data (Zhang et al., SIGCOMM 1991).

    Without that wait both ways are as full as one: it is the clock that is lost, and not what is measured.
    """
    assert min(two_ways.used(10, ways=1)) >= 0.97
    assert min(two_ways.used(10, ways=2, acks_wait=False)) >= 0.97
    theirs = [used for seed in (1, 2, 3) for used in two_ways.used(10, ways=2, seed=seed)]
    there, back = list(range(10)), list(range(10, 20))
    traffic = [
        {"kind": "long-lived", "flows": 10, "stagger": "1ms", "from": source, "to": sink}
        for source, sink in ((there, back), (back, there))
    ]
    both = run("dx-10", traffic=traffic, duration="300ms", record__queues="off").ports.set_index("port")
    ours = both.utilization[["s0->s1", "s1->s0"]]
    assert 0.5 <= min(theirs) <= max(theirs) <= 0.85
    assert ours.mean() == pytest.approx(np.mean(theirs), rel=0.15)


def noisy(sigma_us, headroom_us):
    stamps = {"kind": "hardware", "poll": "0s", "bucket": 1, "burst": 1, "noise": f"{sigma_us}us"}
    cc = {"name": "dx", "headroom": f"{headroom_us}us", "tolerance": f"{sigma_us}us"}
    return port(run("dx-10", duration="200ms", cc=cc, hosts__timestamps=stamps))


def test_noise_costs_headroom_and_headroom_costs_queue():
    """Fig. 15: the headroom for full utilisation grows with the noise; three standard deviations here."""
    needed = []
    for sigma in (0.6, 1.2, 2.4):
        used = {share: noisy(sigma, round(share * sigma, 3)) for share in (1, 4)}
        assert used[1]["utilization"] < 0.9
        assert used[4]["utilization"] >= 0.985
        needed.append(used[4]["queue_mean_pkt"])
    assert needed[0] < needed[2] <= needed[0] + 4 * 2.4 / 1.2


@pytest.mark.parametrize("drift", [4e-5, -4e-5])
def test_a_drifting_clock_does_not_matter_to_a_renewed_base(drift):
    """§III: 40 ns a millisecond. Without renewal DX starves or fills the queue."""
    stamps = {"kind": "hardware", "drift": drift}
    used = {}
    for tolerance in ("1us", "0us"):
        cc = {"name": "dx", "headroom": "1.2us", "tolerance": tolerance}
        used[tolerance] = port(run("dx-10", duration="300ms", cc=cc, hosts__timestamps=stamps))
    ideal = port(run("dx-10", duration="300ms", cc={"name": "dx", "headroom": "1.2us"}))
    assert used["1us"]["utilization"] >= 0.995
    assert used["1us"]["queue_mean_pkt"] == pytest.approx(ideal["queue_mean_pkt"], abs=3)
    lost = used["0us"]["utilization"] < 0.9 or used["0us"]["queue_mean_pkt"] > ideal["queue_mean_pkt"] + 3
    assert lost


def test_the_gaps_queue_does_not_grow_with_the_flows():
    """The poster: queue regardless of the number of flows, rates below a packet a round trip."""
    results = {count: run("gap-10us", **flows(count)) for count in (10, 30, 50)}
    queues = [port(result)["queue_mean_pkt"] for result in results.values()]
    assert max(queues) - min(queues) <= 3
    assert all(port(result)["utilization"] >= 0.95 for result in results.values())
    assert (probe(results[50], "packets_per_rtt").value < 1).mean() > 0.9


SCALED_TICK = "inigo@scaled-tick"
"""Stamps fine enough for Fig. 3's margins: with the paper's ticks of 1 ms a round trip of 4 ms is coarse."""


@pytest.fixture(scope="module")
def five():
    names = ("inigo", "cubic", "reno", "cdg@inigo")
    results = {name: run("inigo-five", cc={"name": name}) for name in names}
    managed = {
        f"{name}+rcv": run("inigo-five", cc={"name": name, "receiver": SCALED_TICK})
        for name in ("cubic", "reno")
    }
    return {name: {**port(r), **r.summary["flows"]} for name, r in (results | managed).items()}


@pytest.mark.parametrize("name", ["cubic", "reno"])
def test_receiver_control_shortens_queues_and_ends_losses(five, name):
    """Inigo Fig. 3 (four times) and §4.1 (4457 retransmissions to 4)."""
    plain, managed = five[name], five[f"{name}+rcv"]
    assert managed["queue_mean_pkt"] < plain["queue_mean_pkt"] / 4
    assert managed["retransmits"] <= plain["retransmits"] / 50
    assert managed["utilization"] > plain["utilization"] - 0.05


def test_inigos_receiver_has_stamps_of_its_own():
    with pytest.raises(
        ScenarioError, match=r'hosts.timestamps = "software": expected no hosts.timestamps with cc.receiver'
    ):
        run("inigo-five", cc={"name": "cubic", "receiver": "inigo"}, hosts__timestamps={"kind": "software"})


def test_the_receivers_marks_keep_dctcps_queue_short():
    """Inigo §3, where no switch marks: 424 packets would be the first mark, 0.17 of 4 ms are 28 packets."""
    receiver = {"cc": {"name": "dctcp", "receiver": {"kind": SCALED_TICK, "mark": True}}}
    marked = port(run("inigo-five", **receiver, network__marking={"kind": "step", "threshold": "424pkt"}))
    assert marked["queue_mean_pkt"] < 28
    assert marked["utilization"] > 0.95


def test_twenty_flows_at_once_lose_nothing_under_inigo():
    """Inigo Fig. 8 to 10: full utilisation, no drop, the shortest queue of those without ECN."""
    inigo = port(run("inigo-incast"))
    assert inigo["dropped"] == 0
    assert inigo["utilization"] > 0.99
    for name in ("cubic", "reno", "cdg@inigo"):
        other = port(run("inigo-incast", cc=name))
        assert other["dropped"] > 0
        assert inigo["queue_mean_pkt"] < other["queue_mean_pkt"] / 4, name


def test_dilation_holds_a_share_beside_cubic_and_gives_the_latency_back():
    """Inigo Fig. 13. The share is small: it fights three windows in forty."""
    stubborn = {"name": "inigo", "dilation": False}
    dilating, not_dilating = run("dilation-mix"), run("dilation-mix", traffic__0__cc=stubborn)

    def mean(result, flow, name, start_s, stop_s):
        table = probe(result, name, flow)
        return table[(table.time_us > start_s * 1e6) & (table.time_us <= stop_s * 1e6)].value.mean()

    beside = [mean(result, 0, "rate_gbps", 4, 10) for result in (dilating, not_dilating)]
    assert beside[0] > 1.5 * beside[1]
    alone, after = (mean(dilating, 2, "rtt_us", *span) for span in ((1, 2), (12, 20)))
    assert after == pytest.approx(alone, rel=0.1)
    assert mean(dilating, 0, "rate_gbps", 12, 20) > 0.08

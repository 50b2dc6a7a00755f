"""The wire world is within its bands of the packet world. Nightly: minutes, on a machine that keeps up.

The bands come from measurements of a prototype on two cores. The world rejects a run that the machine makes
late; if it rejects all, the test skips and prints the reason. `docs/worlds.md` has the bands.
"""

import os
from typing import NamedTuple

import pytest

import shallows as sh
from shallows.errors import BooksError, ScenarioError

pytestmark = pytest.mark.nightly

NOT_COMPARABLE = ("vegas", "hull", "inigo")
"""Vegas takes lateness for queueing, HULL counts late bursts, and the dilation of Inigo starts by chance."""
WITHOUT_FIXED_POINT = ("timely", "4ms")
"""TIMELY has no fixed point, and here its queue follows from the noise of its samples: in packets it is 18.0
without `hosts.ack_jitter`, and 14.0, 7.1 and 2.6 with 50 us, 200 us and 1 ms."""
STARTS_BY_COUNT = ("timely", "patched-timely", "patched-timely-pi")
"""They start at C/(N+1) (CoNEXT 2016 §4), where C is the rate of the bottleneck."""
ALGORITHMS = [
    *("dctcp", "dx", "vegas", "inigo", "gap", "swift", "hpcc", "rcp", "hull", "cubic", "expresspass"),
    *("dcqcn", *STARTS_BY_COUNT),
]
NOT_HELD = (("gap", 500), ("timely", 500))
"""One packet in a thousand is late by a round trip, which both take for delay: .92 and .80 of the link for 1
on an idle machine. The rule that rejects late runs does not see it."""
REPEATS = 3
SEEDS = range(1, 4)
MORE_SEEDS = {"gap": range(1, 21)}
"""Three seeds do not show how unequal the flows of `gap` become: at 500 Mbps .59 to .75 in twenty."""
LESS_EQUAL = {"cubic": 0.10, "inigo": 0.10}
"""How far Jain's index may be below that of the packet world, where not .05."""


class Point(NamedTuple):
    """A dumbbell, and how far the worlds may be apart on it."""

    rate_mbps: int
    flows: int
    rtt: str
    utilization: float = 0.03
    packets: float = 3
    share: float = 0.20


POINTS = [
    Point(50, 8, "2ms"),
    Point(100, 4, "1ms"),
    Point(100, 2, "4ms"),
    Point(200, 8, "1ms", 0.05, 4, 0.25),
    Point(500, 2, "1ms", 0.05, 4, 0.25),
]
"""A run at 500 Mbps is within the bands of 200 Mbps, or rejected."""


def emulated(scenario):
    """The median of three accepted runs; skips if the machine could not keep up."""
    try:
        run = sh.run(scenario, world="wire", repeats=REPEATS)
    except (BooksError, ScenarioError) as error:
        if not any(reason in str(error) for reason in ("too late in", "this machine carries")):
            raise
        pytest.skip(f"load {os.getloadavg()[0]:.1f}: {error}")
    print(f"load {os.getloadavg()[0]:.1f}, lateness {run.summary['lateness']['deliveries']}")
    return run


def dumbbell(rate_mbps, flows, rtt):
    edge_rate = f"{4 * rate_mbps}Mbps"
    return {
        "kind": "dumbbell",
        "hosts": flows,
        "rate": f"{rate_mbps}Mbps",
        "edge_rate": edge_rate,
        "rtt": rtt,
    }


def jain(run):
    goodputs = run.flows.goodput_gbps
    return float(goodputs.sum() ** 2 / (len(goodputs) * (goodputs**2).sum()))


@pytest.mark.parametrize("point", POINTS, ids=lambda point: "-".join(map(str, point[:3])))
@pytest.mark.parametrize("cc", ALGORITHMS)
def test_a_run_is_within_the_bands_or_rejected(cc, point, capsys, request):
    if (cc, point.rate_mbps) in NOT_HELD:
        request.applymarker(pytest.mark.xfail(reason="lateness of a round trip at 500 Mbps is accepted"))
    algorithm = {"name": cc}
    if cc in STARTS_BY_COUNT:
        algorithm["start_rate"] = f"{point.rate_mbps / (point.flows + 1):.4g}Mbps"
    scenario = sh.Scenario(
        duration="3s",
        warmup="1500ms",
        topology=dumbbell(*point[:3]),
        traffic=[{"kind": "long-lived", "flows": point.flows, "stagger": "200ms"}],
        cc=algorithm,
    )
    simulated = [sh.run(scenario, seed=seed) for seed in MORE_SEEDS.get(cc, SEEDS)]
    wire = emulated(scenario)
    fast = point.rate_mbps >= 200
    packets = {"expresspass": 8 if fast else 4}.get(cc, point.packets)
    utilization = {"dx": 0.07 if fast else 0.04, "timely": 0.08}.get(cc, point.utilization)
    expected, measured = simulated[0].summary["bottleneck"], wire.summary["bottleneck"]
    with capsys.disabled():
        print(
            f"\n{cc} {point.rate_mbps} Mbps {point.flows} {point.rtt}: "
            f"{expected['utilization']:.3f}/{measured['utilization']:.3f} "
            f"{expected['queue_mean_pkt']:.1f}/{measured['queue_mean_pkt']:.1f} "
            f"{min(map(jain, simulated)):.3f}/{jain(wire):.3f}"
        )
    assert measured["utilization"] == pytest.approx(expected["utilization"], abs=utilization)
    if cc not in NOT_COMPARABLE and (cc, point.rtt) != WITHOUT_FIXED_POINT:
        queue = expected["queue_mean_pkt"]
        assert measured["queue_mean_pkt"] == pytest.approx(queue, abs=max(packets, point.share * queue))
    assert jain(wire) >= min(map(jain, simulated)) - LESS_EQUAL.get(cc, 0.05)


@pytest.mark.parametrize("cc", ["ndp", "rccc"])
def test_an_incast_of_trimmed_packets_completes_as_in_packets(cc, capsys):
    scenario = sh.Scenario(
        duration="2s",
        topology=dumbbell(100, 8, "1ms"),
        traffic=[{"kind": "incast", "senders": 8, "size": "1MB"}],
        cc={"name": cc},
    )
    wire = emulated(scenario)
    expected, measured = sh.run(scenario).flows.fct_us.max(), wire.flows.fct_us.max()
    with capsys.disabled():
        print(f"\n{cc}: last completion {expected:.0f}/{measured:.0f} us")
    assert measured == pytest.approx(expected, rel=0.10)
    assert wire.flows.timeouts.sum() == 0

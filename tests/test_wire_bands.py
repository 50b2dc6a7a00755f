"""The wire world is within its bands of the packet world. Nightly: it needs an idle machine, and minutes.

The bands come from measurements of a prototype on two cores. The world rejects a run that the machine makes
late; if it rejects all, the test skips and prints the reason. DCQCN and TIMELY are left out: the parameters
of their papers are for links of 10 Gbps and more.
"""

import os

import pytest

import shallows as sh
from shallows.errors import BooksError

pytestmark = pytest.mark.nightly

NOT_COMPARABLE = ("vegas", "hull", "inigo")
"""Vegas takes lateness for queueing, HULL counts late bursts, and the dilation of Inigo starts by chance."""
ALGORITHMS = ["dctcp", "dx", "vegas", "inigo", "gap", "swift", "hpcc", "rcp", "hull", "cubic", "expresspass"]


def scenario(cc, rate_mbps, flows, rtt):
    return sh.Scenario(
        duration="3s",
        warmup="1500ms",
        topology={
            "kind": "dumbbell",
            "hosts": flows,
            "rate": f"{rate_mbps}Mbps",
            "edge_rate": f"{4 * rate_mbps}Mbps",
            "rtt": rtt,
        },
        traffic=[{"kind": "long-lived", "flows": flows, "stagger": "200ms"}],
        cc={"name": cc},
    )


def jain(run):
    goodputs = run.flows.goodput_gbps
    return float(goodputs.sum() ** 2 / (len(goodputs) * (goodputs**2).sum()))


@pytest.mark.parametrize(
    ("rate_mbps", "flows", "rtt", "utilization", "packets", "share"),
    [(50, 8, "2ms", 0.03, 3, 0.20), (100, 4, "1ms", 0.03, 3, 0.20), (200, 8, "1ms", 0.05, 4, 0.25)],
)
@pytest.mark.parametrize("cc", ALGORITHMS)
def test_a_run_is_within_the_bands_or_rejected(cc, rate_mbps, flows, rtt, utilization, packets, share):
    one = scenario(cc, rate_mbps, flows, rtt)
    there = [sh.run(one, seed=seed) for seed in (1, 2, 3)]
    try:
        here = sh.run(one, world="wire")
    except BooksError as late:
        pytest.skip(f"load {os.getloadavg()[0]:.1f}: {late}")
    print(cc, rate_mbps, here.summary["lateness"]["deliveries"], os.getloadavg())
    utilization = {"dx": 0.04}.get(cc, utilization) if rate_mbps < 200 else utilization
    packets = {"expresspass": packets + 1 if rate_mbps < 200 else 8}.get(cc, packets)
    (mine, its) = (run.summary["bottleneck"] for run in (here, there[0]))
    assert mine["utilization"] == pytest.approx(its["utilization"], abs=utilization)
    if cc not in NOT_COMPARABLE:
        queue = its["queue_mean_pkt"]
        assert mine["queue_mean_pkt"] == pytest.approx(queue, abs=max(packets, share * queue))
    assert jain(here) >= min(map(jain, there)) - (0.10 if cc == "cubic" else 0.05)

"""PowerTCP on one port of 100 Gbps: the queue that it keeps, and an incast of first windows.

At rest the queue is the sum of the flows' additive steps, beta (NSDI 2022: Gamma = 1 + q/(b tau), and a
window W divided by Gamma is W - beta). An incast of first windows leaves a bandwidth-delay product (BDP) of
each sender beyond the first in the queue. The windows shrink to beta within a few round trips, so that the
queue falls by nearly a BDP in each.
"""

import pytest

import shallows as sh

GBPS, FRAME, RTT_US = 100, 1500, 10
BDP = GBPS * 1000 / 8 * RTT_US
PROPAGATION_NS = RTT_US * 1000 - 2 * (FRAME + 40) * 8 / GBPS
"""The round trip less the time of a frame and of its answer on two links each."""


def scenario(flows, beta, traffic, **keys):
    """beta: packets."""
    return sh.Scenario(
        topology={
            "kind": "star",
            "hosts": flows + 1,
            "rate": f"{GBPS}Gbps",
            "rtt": f"{PROPAGATION_NS:.1f}ns",
        },
        network={"mtu": f"{FRAME}B", "header": "40B", "buffer": "64MB"},
        cc={"name": "powertcp", "beta": f"{beta}pkt"},
        traffic=[traffic],
        **keys,
    )


@pytest.mark.parametrize("beta", [12, 20])
@pytest.mark.parametrize("flows", [2, 4, 8, 16, 32])
def test_the_queue_is_the_sum_of_the_steps(flows, beta):
    made = scenario(flows, beta, {"kind": "long-lived"}, duration="8ms", warmup="4ms")
    port = sh.run(made).summary["bottleneck"]
    assert 0.90 <= port["queue_mean_pkt"] / (flows * beta) <= 1.05
    assert port["utilization"] >= 0.999


@pytest.mark.parametrize("beta", [1, 2, 3])
def test_the_queue_of_an_incast_falls_by_a_bdp_a_round_trip(beta):
    """Eleven flows: one that fills the link, and ten at once 1 ms later."""
    long = {"kind": "long-lived", "from": [0], "to": 11}
    made = scenario(11, beta, long, duration="2ms", record={"queues": "1us"})
    burst = long | {"from": list(range(1, 11)), "start": "1ms"}
    run = sh.run(made.replace({"traffic": [long, burst]}))
    port = run.queues[run.queues.port == run.summary["bottleneck"]["port"]]
    queue = port.queue_bytes.to_numpy() / BDP
    peak = queue.argmax()
    since = (port.time_us - port.time_us.iloc[peak]) / RTT_US
    assert 9 <= queue[peak] <= 10
    assert (queue[peak] - queue[since == 4][0]) / 4 == pytest.approx(1, abs=0.1)
    assert queue[since >= 8].max() < 5
    assert queue[since >= 30].max() < 1

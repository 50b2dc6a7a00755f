"""Fixed points of the window models beside packets: the same scenario in both worlds, on one port.

The points were written down before the runs; buffers lose nothing. Queues agree within 5 %, and so does the
share of the link in use where no queue stands.
"""

import pytest

import shallows as sh
from shallows.worlds.fluid import translate


def star(cc, flows, gbps, rtt_us, **network):
    """Long flows to one host; the round trip of a full frame and its answer is `rtt_us`."""
    frame = network.get("mtu", 1500)
    crossing_us = 2 * (frame + 64) * 8e-3 / gbps
    return sh.Scenario(
        topology={
            "kind": "star",
            "hosts": flows + 1,
            "rate": f"{gbps}Gbps",
            "rtt": f"{rtt_us - crossing_us}us",
        },
        network=network | {"mtu": f"{frame}B", "buffer": "16MB"},
        cc=cc,
        traffic=[{"kind": "long-lived", "jitter": "20us"}],
        duration=f"{2000 * rtt_us}us",
        warmup=f"{1000 * rtt_us}us",
    )


POINTS = [
    *(
        star("swift", *path)
        for path in ((5, 100, 10), (20, 100, 10), (50, 100, 10), (20, 400, 10), (8, 25, 20))
    ),
    *(
        star({"name": "hpcc", "w_ai": w_ai}, *path)
        for w_ai, path in (
            ("80B", (2, 100, 10)),
            ("80B", (10, 100, 13)),
            ("8000B", (8, 100, 40)),
            ("4000B", (16, 100, 40)),
            ("40000B", (4, 400, 20)),
        )
    ),
    *(
        star({"name": "powertcp", "beta": beta}, *path)
        for beta, path in (
            ("30000B", (2, 100, 10)),
            ("18000B", (8, 100, 10)),
            ("18000B", (32, 100, 10)),
            ("22500B", (8, 25, 20)),
            ("45000B", (16, 400, 8)),
        )
    ),
    *(
        star("nscc", *path, mtu=4096)
        for path in ((2, 400, 8), (4, 400, 8), (8, 400, 8), (16, 400, 8), (8, 800, 10))
    ),
]


def named(scenario):
    rate = scenario.topology.rate // 10**9
    return f"{scenario.algorithms[0].name}-{len(scenario.flows)}-{rate}"


@pytest.mark.parametrize("scenario", POINTS, ids=named)
def test_the_fixed_point_is_that_of_packets(scenario):
    _, model, _, _ = translate(scenario)
    rest, port = model.fixed_point(), sh.run(scenario).summary["bottleneck"]
    if rest.queue_bytes:
        assert port["queue_mean_pkt"] * model.mtu == pytest.approx(rest.queue_bytes, rel=0.05)
    else:
        assert port["utilization"] == pytest.approx(rest.state["U"], rel=0.05)

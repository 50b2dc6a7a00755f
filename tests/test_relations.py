"""Relations between runs: what must not matter does not, and what scales, scales."""

import numpy as np
import pytest

import shallows as sh
from shallows.scenario import Scenario

BASE = {
    "seed": 11,
    "duration": "20ms",
    "warmup": "2ms",
    "topology": {"kind": "dumbbell", "hosts": 4, "rate": "10Gbps", "rtt": "80us"},
    "network": {"buffer": "100pkt", "marking": {"kind": "step", "threshold": "30pkt"}},
    "cc": {"name": "dctcp", "g": 0.0625},
    "traffic": [
        {"kind": "long-lived", "flows": 4},
        {"kind": "poisson", "sizes": "20KB", "load": 0.2, "load_of": "bottleneck", "flows": 150},
    ],
}


def fingerprint(**changes):
    return sh.run(Scenario(**{**BASE, **changes})).summary["fingerprint"]


def test_units_do_not_matter():
    same = {
        "duration": "20000us",
        "warmup": "2000000ns",
        "topology": {"kind": "dumbbell", "hosts": 4, "rate": "10000Mbps", "rtt": "80000000ps"},
        "network": {"buffer": "150KB", "marking": {"kind": "step", "threshold": "45000B"}},
    }
    assert fingerprint() == fingerprint(**same)


def test_names_do_not_matter():
    def graph(*names):
        hosts, switches = names[:4], names[4:]
        edges = [[host, switches[i % 2], "10Gbps", "10us"] for i, host in enumerate(hosts)]
        edges.append([*switches, "10Gbps", "20us"])
        return {"kind": "graph", "edges": edges, "hosts": list(hosts)}

    traffic = [{"kind": "shuffle", "size": "100KB"}]
    plain = fingerprint(name="a", topology=graph("a", "b", "c", "d", "s", "t"), traffic=traffic)
    assert plain == fingerprint(name="b", topology=graph("z", "y", "x", "w", "q", "p"), traffic=traffic)


def test_the_order_of_keys_does_not_matter():
    shuffled = Scenario(**dict(reversed(BASE.items())))
    assert sh.run(shuffled).summary["fingerprint"] == fingerprint()


def test_a_warm_up_moves_no_packet():
    assert fingerprint() == fingerprint(warmup="0s")


def test_a_seed_does_matter():
    assert fingerprint() != fingerprint(seed=12)


@pytest.mark.parametrize("times", [10, 4])
def test_rates_that_grow_and_times_that_shrink_alike_change_nothing_but_the_scale(times):
    """A frame takes 1200 and 300 ns, which both divide: completion times do, and every decision is the same.

    DCTCP and its marks know no time, and the timers are scaled too. One flow, for of two packets at one
    instant the order depends on the instant.
    """

    def run(k):
        ns = lambda amount: f"{amount // k}ns"  # noqa: E731
        return sh.run(
            Scenario(
                duration=ns(40_000_000),
                topology={
                    "kind": "dumbbell",
                    "hosts": 1,
                    "rate": f"{10 * k}Gbps",
                    "edge_rate": f"{40 * k}Gbps",
                    "rtt": ns(80_000),
                },
                network={"buffer": "70pkt", "marking": {"kind": "step", "threshold": "60pkt"}},
                hosts={
                    "rto_min": ns(4_000_000),
                    "rto_initial": ns(8_000_000),
                    "rto_max": ns(400_000_000),
                    "ack_delay": ns(400_000),
                },
                cc="dctcp",
                traffic=[{"kind": "incast", "size": "9MB"}],
            )
        )

    slow, fast = run(1), run(times)
    assert slow.summary["flows"]["retransmits"] > 0
    assert slow.summary["network"]["marked"] > 0
    np.testing.assert_allclose(fast.flows.fct_us * times, slow.flows.fct_us, rtol=1e-9)
    assert list(fast.flows.retransmits) == list(slow.flows.retransmits)
    np.testing.assert_allclose(fast.flows.slowdown, slow.flows.slowdown, rtol=1e-9)

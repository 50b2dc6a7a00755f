"""Algorithms beside simulations of the same papers that share no code with Shallows (tests/independent)."""

import heapq
import random
from pathlib import Path

import pytest

import shallows as sh
from independent import expresspass

SCENARIOS = Path(__file__).parents[1] / "scenarios"


def losses(rates, own_port=True, random_times=False, credits=60_000):
    """Shares of credits that senders at constant rates, in shares of what a port serves, lose at it."""
    draw = random.Random(1)
    ports, shared = [expresspass.Port(84) for _ in rates], expresspass.Port(84)
    events = [(draw.random(), i, False, 0) for i in range(len(rates))]
    sent, passed = [0] * len(rates), [0] * len(rates)
    while sum(sent) < credits:
        now, i, arrived, size = heapq.heappop(events)
        if arrived:
            passed[i] += shared.leaves(now, size) is not None
            continue
        sent[i] += 1
        gap = draw.expovariate(1) if random_times and i == 0 else 1 + 0.1 * draw.uniform(-1, 1)
        heapq.heappush(events, (now + gap / rates[i], i, False, 0))
        size = draw.randint(76, 92)
        leaves = ports[i].leaves(now, size) if own_port else now
        if leaves is not None:
            heapq.heappush(events, (leaves + 1, i, True, size))
    return [1 - p / s for p, s in zip(passed, sent, strict=True)]


def test_a_port_spares_the_credits_that_come_in_step_with_it():
    """docs/credits.md: half of the newcomer's credits where a tenth would be in proportion."""
    first, second = losses([1.05, 0.05], own_port=False)
    assert second == pytest.approx(1 / 2, abs=0.04)
    assert first < 0.09
    assert losses([1.05, 0.05])[1] == pytest.approx(0.32, abs=0.05)
    assert losses([1.05, 0.05], own_port=False, random_times=True)[1] == pytest.approx(1 - 1 / 1.1, abs=0.04)


def packets(scenario, flows, rtt_us, mbps, changes):
    """The same dumbbell in the packet world."""
    base = sh.Scenario.load(SCENARIOS / f"{scenario}.toml")
    network = {"topology.hosts": flows, "topology.rate": f"{mbps}Mbps", "topology.rtt": f"{rtt_us}us"}
    return sh.run(base.replace({**network, "traffic.0.flows": flows, **changes}))


@pytest.mark.parametrize(
    ("flows", "rtt_us", "mbps", "seed", "stagger_us"),
    [
        (6, 100, 1000, 3, 0),
        (12, 40, 10_000, 5, 0),
        (16, 300, 1000, 8, 2000),
        (8, 100, 2500, 11, 300),
        (30, 80, 5000, 2, 0),
    ],
)
def test_expresspass_is_the_independent_simulation(flows, rtt_us, mbps, seed, stagger_us):
    """The share of the link, and the sum of all credit rates by what a port serves, within 3 %."""
    spans = {"warmup": "40ms", "duration": "100ms", "seed": seed, "traffic.0.stagger": f"{stagger_us}us"}
    spans |= {"record.flows": "all", "record.queues": "off"}
    result = packets("expresspass", flows, rtt_us, mbps, spans)
    probes = result.probes[(result.probes.name == "credit_rate_mbps") & (result.probes.time_us > 40e3)]
    credits = probes.groupby("flow").value.mean().sum() / (mbps * 84 / 1622)
    used, _, queue, rates = expresspass.simulate(
        flows, rtt_us * 1e-6, 0.1, 0.04, link=mbps * 1e6, seed=seed, stagger=stagger_us * 1e-6
    )
    port = result.summary["bottleneck"]
    assert used == pytest.approx(port["utilization"], rel=0.03)
    assert sum(rates) == pytest.approx(credits, rel=0.03)
    assert 1 < queue < 2.5
    assert 1 < port["queue_max_pkt"] < 2.5

"""How switches choose among equal paths: what `network.balancing` says reaches the ports."""

import numpy as np
import pytest

import shallows as sh

SCENARIO = sh.Scenario(
    duration="10ms",
    topology={"kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts_per_leaf": 2},
    cc="fixed",
    traffic=[{"kind": "long-lived", "flows": 1, "from": "h0", "to": "h2", "jitter": "0s"}],
)


def sent_up(balancing):
    """Packets that each of the four spines got from the sender's leaf."""
    run = sh.run(SCENARIO.set("network.balancing", balancing))
    ports = run.ports.groupby("port")["sent"].sum()
    counts = [int(n) for name, n in ports.items() if name.split("->")[1].startswith("spine")]
    return np.sort(counts)[-4:]


def test_a_flow_has_one_way_and_its_packets_have_all():
    assert (sent_up("flow") > 0).sum() <= 2  # of data one, of acknowledgements one


@pytest.mark.parametrize("balancing", ["packet", "queue"])
def test_packets_share_all_ways(balancing):
    sent = sent_up(balancing)
    assert sent.min() > 0.7 * sent.mean()


@pytest.mark.nightly
@pytest.mark.parametrize("rate_gbps", [10, 100, 400])
def test_the_shortest_queue_is_at_least_as_good_as_a_random_one(rate_gbps):
    """Random permutations of 128 hosts. Exact depths gave .71 to .77 of the ideal."""
    bits = 30e6 if rate_gbps == 10 else 100e6
    scenario = sh.Scenario(
        duration=f"{bits / rate_gbps}ns",
        warmup=f"{bits / rate_gbps / 5}ns",
        topology={"kind": "fat-tree", "k": 8, "rate": f"{rate_gbps}Gbps"},
        network={"mtu": "9000B"},
        cc="ndp",
        traffic=[{"kind": "long-lived"}],
    )
    goodput = {
        balancing: sh.run(scenario.set("network.balancing", balancing)).summary["flows"]["goodput_gbps"]
        for balancing in ("queue", "packet")
    }
    assert goodput["queue"] >= goodput["packet"]
    assert 0.85 < goodput["packet"] / (128 * rate_gbps) < goodput["queue"] / (128 * rate_gbps) < 0.99


def test_a_flow_over_several_slow_ways_beats_the_ideal_of_one_and_the_run_says_so():
    """Four spines at 1 Gbps carry one flow: at best in a quarter of what one way takes; the books close."""
    change = {
        "duration": "until-done",
        "topology.spine_rate": "1Gbps",
        "network.balancing": "queue",
        "cc": {"name": "fixed", "window": 100},
        "traffic": [{"kind": "trace", "flows": [[0, "h0", "h2", 3_000_000]]}],
    }
    run = sh.run(SCENARIO.replace(change))
    assert 0.25 <= run.flows.slowdown[0] < 0.5
    (warning,) = (warning for warning in run.summary["warnings"] if "slowdown" in warning)
    assert "1 of 1 flows have a slowdown below 1" in warning


PATHS = 64
FRAMES = 8000


@pytest.fixture(scope="module")
def sprayed():
    """For ten seeds, the frames of one flow that each of 64 paths got."""
    scenario = sh.Scenario(
        duration="until-done",
        topology={"kind": "leaf-spine", "leaves": 2, "spines": PATHS, "hosts_per_leaf": 1},
        network={"balancing": "packet", "buffer": "unlimited"},
        hosts={"loss_detection": "rack"},
        cc={"name": "fixed", "window": 20},
        traffic=[{"kind": "trace", "flows": [[0, "h0", "h1", FRAMES * 1460]]}],
    )
    ports = [sh.run(scenario, seed=seed).ports for seed in range(1, 11)]
    counts = np.array([of.sent[of.port.str.startswith("leaf0->spine")] for of in ports])
    assert counts.shape == (10, PATHS)
    assert (counts.sum(axis=1) == FRAMES).all()
    return counts


def test_the_fullest_of_random_paths_is_that_of_a_multinomial(sprayed):
    """Simulated apart: 151.6 of 8,000 draws are in the fullest of 64 cells, with a deviation of 4.4."""
    assert sprayed.max(axis=1).mean() == pytest.approx(151.6, abs=5 * 4.4 / np.sqrt(10))


def test_random_paths_of_different_seeds_are_independent(sprayed):
    """64 cells of 125 have chi-squared of 63 with a deviation of 11.2, and so has each difference of two."""
    assert ((sprayed - 125) ** 2 / 125).sum(axis=1).mean() == pytest.approx(63, abs=5 * 11.2 / np.sqrt(10))
    apart = ((sprayed[1:] - sprayed[:-1]) ** 2 / 250).sum(axis=1)
    assert apart.mean() == pytest.approx(63, abs=5 * 11.2 / np.sqrt(9))


@pytest.mark.parametrize("balancing", ["packet", "queue"])
def test_seeds_differ_as_the_order_of_the_flows_does(balancing):
    """A permutation of 32 flows of 4 MB, of which a link sends one in 329 us.

    With random paths the last flow ended after 408 to 442 us in eight orders of the flows, which change the
    hashes and nothing else.
    """
    flows = [[0, f"h{n}", f"h{(n + 8) % 32}", 4_000_000] for n in range(32)]
    scenario = sh.Scenario(
        duration="until-done",
        topology={"kind": "leaf-spine", "leaves": 4, "spines": 8, "hosts_per_leaf": 8, "rate": "100Gbps"},
        network={"balancing": balancing},
        hosts={"loss_detection": "rack"},
        cc="dctcp",
        traffic=[{"kind": "trace", "flows": flows}],
    )
    last = [float(sh.run(scenario, seed=seed).flows.fct_us.max()) for seed in range(1, 11)]
    assert len(set(last)) == 10
    if balancing == "packet":
        assert 15 < max(last) - min(last) < 60

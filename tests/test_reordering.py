"""Transports that tolerate reordering, sprayed over equal paths, against one link of the total rate."""

import pytest

from shallows.runner import run
from shallows.scenario import Scenario

BY_TIME = {"loss_detection": "rack"}


def crossing(cc, paths, gbps=400, *, balancing="queue", hosts=BY_TIME, seed=1, **tables):
    """One flow over `paths` links of `gbps` in all; slower ones for longer, with as many packets."""
    scale = max(400 / gbps, 1)
    return Scenario(
        **{
            "seed": seed,
            "topology": {
                "kind": "leaf-spine",
                "leaves": 2,
                "spines": paths,
                "hosts_per_leaf": 1,
                "rate": f"{gbps}Gbps",
                "spine_rate": f"{gbps / paths}Gbps",
            },
            "network": {"balancing": balancing},
            "hosts": hosts,
            "cc": cc,
            "traffic": [{"kind": "long-lived", "flows": 1, "from": ["h0"], "to": ["h1"]}],
            "duration": f"{2000 * scale}us",
            "warmup": f"{500 * scale}us",
        }
        | tables
    )


def goodput(scenario):
    """Goodput of a run without losses, which must not retransmit."""
    ran = run(scenario)
    assert int(ran.ports.dropped.sum()) == 0
    assert int(ran.flows.retransmits.sum()) == 0
    return float(ran.flows.goodput_gbps.sum())


@pytest.mark.parametrize("paths", [4, 16, 64])
@pytest.mark.parametrize("gbps", [10, 400, 1600])
def test_dctcp_with_rack_fills_equal_paths(paths, gbps):
    one = goodput(crossing("dctcp", 1, gbps))
    assert 0.98 <= goodput(crossing("dctcp", paths, gbps)) / one <= 1.001


@pytest.mark.parametrize(("paths", "seed"), [(4, 1), (4, 2), (16, 3), (64, 4)])
def test_random_paths_look_like_no_loss(paths, seed):
    """Random choices leave links idle, and longer queues are marked; reordering costs nothing."""
    sprayed = goodput(crossing("dctcp", paths, balancing="packet", seed=seed))
    assert sprayed > 0.75 * goodput(crossing("dctcp", 1))


def test_three_duplicate_acks_take_sprayed_packets_for_lost():
    ran = run(crossing("dctcp", 16, hosts={}))
    assert ran.flows.goodput_gbps.sum() < 100
    assert any('hosts.loss_detection = "rack"' in warning for warning in ran.summary["warnings"])
    assert not run(crossing("dctcp", 16)).summary["warnings"]


@pytest.mark.parametrize("cc", ["dctcp", "dx", "reno", "hpcc"])
def test_one_path_without_losses_has_the_same_result(cc):
    """Nothing is lost and nothing overtakes: both ways to detect losses send the same packets."""
    rack, three = (
        run(crossing(cc, 1, 10, balancing="flow", hosts=hosts, network={"buffer": "4MB"}))
        for hosts in (BY_TIME, {})
    )
    assert rack.summary["fingerprint"] == three.summary["fingerprint"]


@pytest.mark.parametrize("cc", ["dctcp", "reno", "cubic"])
def test_one_path_with_losses_has_about_the_same_result(cc):
    """Without reordering RACK behaves as three duplicate acknowledgements (RFC 8985 section 3.3)."""
    faults = [{"link": "leaf0->spine0", "kind": "loss", "value": 1e-3, "at": "0s"}]
    rack, three = (
        sum(
            float(run(made).flows.goodput_gbps.sum())
            for seed in (1, 2, 3)
            for made in [crossing(cc, 1, 10, balancing="flow", hosts=hosts, faults=faults, seed=seed)]
        )
        for hosts in (BY_TIME, {})
    )
    assert rack / three == pytest.approx(1, abs=0.1)

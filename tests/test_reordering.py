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
    """Random choices leave links idle, but nothing is retransmitted."""
    sprayed = goodput(crossing("dctcp", paths, balancing="packet", seed=seed))
    assert 0.85 <= sprayed / goodput(crossing("dctcp", 1)) <= 1.001


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


BY_FRAME = {"retransmission": "selective"}


@pytest.mark.parametrize(
    ("paths", "gbps"), [(4, 10), (16, 10), (4, 400), (16, 400), (64, 400), (4, 1600), (64, 1600)]
)
def test_dcqcn_over_irn_fills_equal_paths(paths, gbps):
    """Marks begin above four frames, the steps in which switches compare queues."""
    network = {"balancing": "queue", "marking": {"kind": "red", "kmin": "30KB", "kmax": "200KB"}}
    one, many = (goodput(crossing("dcqcn", n, gbps, hosts=BY_FRAME, network=network)) for n in (1, paths))
    assert 0.98 <= many / one <= 1.001


@pytest.mark.parametrize("cc", ["dcqcn", "timely", "patched-timely"])
@pytest.mark.parametrize("balancing", ["packet", "queue"])
def test_irn_sends_nothing_again_where_nothing_was_lost(cc, balancing):
    goodput(crossing(cc, 16, hosts=BY_FRAME, balancing=balancing))


@pytest.mark.parametrize("cc", ["dcqcn", "timely", "patched-timely"])
def test_one_path_has_the_same_rate_with_both_repairs(cc):
    """Without losses they differ by acknowledgements of each frame and a limit of the window."""
    irn, classic = (goodput(crossing(cc, 1, 100, balancing="flow", hosts=hosts)) for hosts in (BY_FRAME, {}))
    assert irn / classic == pytest.approx(1, abs=0.01)


def test_irn_repairs_what_was_lost():
    """Go-back-N sends again what follows a loss, IRN one frame for each loss."""
    faults = [{"link": "leaf0->spine0", "kind": "loss", "value": 1e-3}]
    irn, classic = (
        run(crossing("dcqcn", 1, 100, balancing="flow", hosts=hosts, faults=faults, warmup="0s"))
        for hosts in (BY_FRAME, {})
    )
    lost = int(irn.ports.lost.sum())
    assert lost > 5
    assert lost - 3 <= int(irn.flows.retransmits.sum()) <= lost
    assert classic.flows.retransmits.sum() > 3 * classic.ports.lost.sum()
    assert irn.flows.goodput_gbps.sum() > classic.flows.goodput_gbps.sum()


@pytest.mark.parametrize(("cc", "hosts"), [("dctcp", BY_TIME), ("dcqcn", BY_FRAME)])
def test_reordering_depth(cc, hosts):
    """None over one path; over 16 paths at least a packet and at most what the paths hold at any time."""
    one = run(crossing(cc, 1, balancing="flow", hosts=hosts))
    many = run(crossing(cc, 16, balancing="packet", hosts=hosts, warmup="0s"))
    assert one.flows.reordering_pkt.tolist() == [0]
    held = 2 + 15 * (float(many.ports.queue_max_pkt.max()) + 2)
    assert 1 <= int(many.flows.reordering_pkt.max()) <= held

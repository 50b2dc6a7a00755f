"""Hosts that choose paths by entropy values, and switches that choose in turn or by flowlet."""

import tomllib

import numpy as np
import pytest

import shallows as sh
from shallows.runner import run
from shallows.scenario import Scenario
from shallows.scenario.tables import balancings
from test_reordering import BY_FRAME, BY_TIME, crossing


def goodput(scenario):
    """Goodput of a run without losses, which must not retransmit."""
    ran = run(scenario)
    assert int(ran.ports.dropped.sum()) == 0
    assert int(ran.flows.retransmits.sum()) == 0
    return float(ran.flows.goodput_gbps.sum())


def share(cc, paths, gbps, balancing="reps", **tables):
    """Goodput over equal paths, by that over one link of the total rate."""
    network = {"balancing": balancing, **tables.pop("network", {})}
    many = goodput(crossing(cc, paths, gbps, network=network, **tables))
    return many / goodput(crossing(cc, 1, gbps, network=network | {"balancing": "flow"}, **tables))


def by_reps(cc, paths, gbps):
    """The share by REPS with the markings that warnings recommend."""
    if cc == "dctcp":
        # The default step is less than 20 frames of 1500 B below 1 Gbps.
        slow = {"marking": {"kind": "step", "threshold": "20pkt"}} if gbps < paths else {}
        return share(cc, paths, gbps, hosts=BY_TIME, network=slow)
    if cc == "dcqcn":
        # HPCC's ramp, 4 KB per Gbps of the port, but at least 20 frames.
        kmin = max(4 * gbps / paths, 30)
        marking = {"kind": "red", "kmin": f"{kmin}KB", "kmax": f"{4 * kmin}KB"}
        return share(cc, paths, gbps, hosts=BY_FRAME, network={"marking": marking})
    # Swift adds one packet in each round trip, so it begins with 12 for each path and what 20 us hold.
    hosts = {**BY_FRAME, "initial_window": f"{18 * paths + 2.5 * gbps}KB"}
    return share(cc, paths, gbps, hosts=hosts)


ALGORITHMS = ["dctcp", "dcqcn", "swift-roce"]
SHORT = [(4, 10), (64, 10), (64, 100), (16, 400)]


@pytest.mark.parametrize(("paths", "gbps"), SHORT)
@pytest.mark.parametrize("cc", ALGORITHMS)
def test_equal_paths_are_filled_by_reps(cc, paths, gbps):
    """DCTCP with RACK, DCQCN and Swift over IRN, where a frame takes from 0.5 to 77 us on each path."""
    assert 0.98 <= by_reps(cc, paths, gbps) <= 1.001


@pytest.mark.nightly
@pytest.mark.parametrize("paths", [4, 8, 16, 32, 64])
@pytest.mark.parametrize("gbps", [10, 100, 400, 1600])
@pytest.mark.parametrize("cc", ALGORITHMS)
def test_all_of_these_are_filled_by_reps(cc, paths, gbps):
    assert 0.98 <= by_reps(cc, paths, gbps) <= 1.001


@pytest.mark.nightly
@pytest.mark.parametrize("mtu", ["1500B", "4160B", "9000B"])
@pytest.mark.parametrize(("paths", "gbps"), [(64, 10), (16, 100), (64, 100), (64, 400)])
def test_frames_of_all_sizes_fill_paths_with_a_step_of_20(paths, gbps, mtu):
    """SIGCOMM 2010 section 3.5, its threshold at 1 Gbps."""
    network = {"mtu": mtu, "marking": {"kind": "step", "threshold": "20pkt"}}
    scale = int(mtu[:-1]) / 1500 * 400 / gbps
    times = {"duration": f"{4000 * scale:.0f}us", "warmup": f"{2000 * scale:.0f}us"}
    assert 0.98 <= share("dctcp", paths, gbps, hosts=BY_TIME, network=network, **times) <= 1.001


def test_a_ramp_for_one_path_is_too_short_for_sprayed_dcqcn():
    """The default of 5 KB at ports of 25 Gbps: marks on any path cut the whole flow."""
    assert share("dcqcn", 16, 400, hosts=BY_FRAME) < 0.9


# 64 paths of 156 Mbps: a frame takes 76.8 us on both links of each and 1.2 us on those of the hosts, and an
# acknowledgement 6.7 us in all. With eight times 1 us the empty round trip is 171 us.
# The host sends 143 frames in this time, 2.2 for each path.
SLOW = {"duration": "160ms", "warmup": "80ms"}


def test_a_default_step_is_too_short_where_a_frame_takes_half_a_round_trip():
    """A step of five frames: DCTCP grows only in round trips without a mark on any of 64 paths."""
    assert 0.5 < share("dctcp", 64, 10, hosts=BY_TIME, **SLOW) < 0.9


def test_two_products_in_flight_are_too_few_where_a_frame_takes_half_a_round_trip():
    """A constant window of 286 frames, 4.5 for each path; IRN allows 20 more than the product for each."""
    held, free = (
        share({"name": "fixed", "window": f"{n}pkt"}, 64, 10, hosts=BY_TIME, **SLOW) for n in (286, 1400)
    )
    assert 0.9 < held < 0.98
    assert free > 0.995


def test_a_target_of_the_rule_for_fast_links_is_too_short_where_a_frame_takes_half_a_round_trip():
    """5/4 of 171 us: the queue of half a frame on each path."""
    cc = {"name": "swift-roce", "base_target": "214us"}
    assert share(cc, 64, 10, hosts={**BY_FRAME, "initial_window": "1MB"}, **SLOW) < 0.5


@pytest.mark.parametrize("cc", ["dctcp", "dcqcn"])
def test_what_a_warning_says_to_write_fills_the_paths(cc):
    """Both defaults are short at ports of 625 Mbps or of 25 Gbps."""
    hosts, gbps = (BY_TIME, 10) if cc == "dctcp" else (BY_FRAME, 400)
    scenario = crossing(cc, 32, gbps, hosts=hosts, network={"balancing": "reps"})
    (text,) = [one for one in scenario.warnings if "is short for" in one]
    written = tomllib.loads(text.partition("; write ")[2].replace(" and ", "\n"))
    made = scenario.set("network.marking", written["network"]["marking"])
    assert not made.warnings
    one = goodput(crossing(cc, 1, gbps, hosts=hosts, network={"balancing": "flow"}))
    assert 0.98 <= goodput(made) / one <= 1.001


@pytest.mark.parametrize("paths", [4, 16, 64])
def test_ports_in_turn_are_perfect_for_one_flow(paths):
    assert 0.99 <= share("dctcp", paths, 400, "round-robin", hosts=BY_TIME) <= 1.001


@pytest.mark.parametrize(
    "balancing",
    [*(name for name, row in balancings().items() if row["takes_entropies"]), "round-robin", "flowlet"],
)
@pytest.mark.parametrize(("cc", "hosts"), [("dctcp", {}), ("dcqcn", {}), ("ndp", {}), ("swift", BY_TIME)])
def test_with_one_path_the_choice_changes_nothing(cc, hosts, balancing):
    """The fingerprint covers entropy values, so compare times."""
    network = {"buffer": "4MB"} if cc != "ndp" else {}
    traffic = [{"kind": "trace", "flows": [[0, "h0", "h1", 3_000_000]]}]
    tables = {"hosts": hosts, "traffic": traffic, "duration": "until-done", "warmup": "0s"}
    fct = {
        kind: run(crossing(cc, 1, 100, network={**network, "balancing": kind}, **tables)).flows.fct_us[0]
        for kind in ("flow", balancing)
    }
    # Where packets are sprayed timers of losses differ, and nothing is lost.
    assert fct[balancing] == pytest.approx(fct["flow"], rel=1e-9)


def permutation(balancing, *, slow, seed=1):
    """64 hosts of eight leaves, a flow each to another leaf; `slow` has one uplink at a quarter."""
    network = {"balancing": balancing, "mtu": "4160B", "header": "64B"}
    flows = [
        [0, f"h{n}", f"h{(n + 8 * seed + (5 * n + seed) % 8 - n % 8) % 64}", 4_000_000] for n in range(64)
    ]
    both = ("leaf0->spine0", "spine0->leaf0")
    return Scenario(
        seed=seed,
        topology={
            "kind": "leaf-spine",
            "leaves": 8,
            "spines": 8,
            "hosts_per_leaf": 8,
            "rate": "400Gbps",
            "spine_rate": "400Gbps",
        },
        network=network | ({} if balancing == "flow" else {"entropies": 64}),
        hosts=BY_TIME,
        cc="dctcp",
        traffic=[{"kind": "trace", "flows": flows}],
        faults=[{"link": link, "kind": "rate", "value": "100Gbps"} for link in both] if slow else [],
        duration="until-done",
    )


@pytest.mark.nightly
@pytest.mark.parametrize("slow", [False, True])
def test_order_of_choices(slow):
    """Sums of last completions over four seeds, at least 82 us each."""
    last = {
        kind: sum(
            float(run(permutation(kind, slow=slow, seed=seed)).flows.fct_us.max()) for seed in range(1, 5)
        )
        for kind in ("reps", "bitmap", "oblivious", "flow")
    }
    assert 4 * 82 < last["reps"] < last["bitmap"] < last["oblivious"]
    assert last["oblivious"] < (1 if slow else 0.7) * last["flow"]


def test_hosts_leave_a_path_that_loses_everything():
    """A link to the receivers' leaf fails, of which the senders' leaf learns nothing: after a timeout PLB and
    REPS take another path, and ECMP never does.
    """
    hosts = {f"h{n}": f"h{n + 4}" for n in range(4)}
    scenario = sh.Scenario(
        duration="200ms",
        topology={"kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts_per_leaf": 4},
        cc="dctcp",
        hosts=BY_TIME,
        traffic=[{"kind": "trace", "flows": [[0, one, other, 3_000_000] for one, other in hosts.items()]}],
        faults=[{"link": "spine0->leaf1", "kind": "down", "at": "500us"}],
    )
    unfinished = {
        balancing: sum(
            int(
                (
                    ~np.isfinite(
                        run(scenario.set("network.balancing", balancing).set("seed", seed)).flows.fct_us
                    )
                ).sum()
            )
            for seed in range(1, 5)
        )
        for balancing in ("flow", "plb", "reps")
    }
    assert unfinished["flow"] > 0
    assert (unfinished["plb"], unfinished["reps"]) == (0, 0)


def test_a_flowlet_keeps_its_path():
    """A flow without pauses has one flowlet; with a gap of zero each packet begins one."""
    depths = {}
    for gap in ("100us", "0s"):
        network = {"balancing": "flowlet", "flowlet_gap": gap}
        ran = run(crossing("dctcp", 16, hosts=BY_TIME, network=network))
        depths[gap] = int(ran.flows.reordering_pkt.max())
    assert depths["100us"] == 0
    assert depths["0s"] > 10

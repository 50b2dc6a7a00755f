"""Pause storms: what a NIC that sends pauses without an end does to others. Numbers are worked by hand."""

import pytest

import shallows as sh

STORM_MS = 10
FABRIC = {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2, "rate": "10Gbps"}


FRAME_US = 1.2  # 1500 B at 10 Gbps
RESUME_US = 2 * FRAME_US  # two frames below the threshold, the hysteresis, at the rate of a host
HOP_US = 2 + 2 * FRAME_US  # a pause or a resume and data behind it: two links, and a frame before each


def stormy(*faults, rto_initial="100ms", **pfc):
    """h0 sends to h2, and h1 to h3 over the same uplinks, 25 MB each; these have twice the rate."""
    return sh.run(
        sh.Scenario(
            duration="until-done",
            cc="dcqcn",
            topology={**FABRIC, "spine_rate": "20Gbps"},
            network={"pfc": {"threshold": "100KB", **pfc}, "marking": "none"},
            hosts={"rto_initial": rto_initial},
            traffic=[{"kind": "trace", "flows": [[0, "h0", "h2", 25_000_000], [0, "h1", "h3", 25_000_000]]}],
            faults=list(faults),
        )
    )


def paused_ms(run):
    return {row.port: row.paused_us / 1e3 for row in run.ports.itertuples() if row.paused_us}


STORM = {"node": "h2", "kind": "pause-storm", "at": "5ms", "until": f"{5 + STORM_MS}ms"}


def test_a_pause_storm_stops_victims_hop_by_hop():
    """10 ms from 5 ms on. The link to h2 stops for all of it but a frame, and is busy from then on, because
    the hops hold data for it. The leaf holds 100 KB from the spine, 80 us at 10 Gbps; the spine 100 KB at
    20 Gbps from the other leaf, 40 us more; and that leaf 100 KB of each host, 80 us more. A hop resumes when
    it holds two frames less than that. So the victim to h3 loses 10 ms, less 80 us, and the two frames.
    """
    calm, run = stormy(), stormy(STORM)
    lost_us = (run.flows.fct_us - calm.flows.fct_us).tolist()
    whole_us = 1e3 * STORM_MS
    assert whole_us - FRAME_US <= lost_us[0] <= whole_us
    victim_us = whole_us - 80 + RESUME_US
    assert victim_us - HOP_US < lost_us[1] < victim_us + HOP_US
    paused = paused_ms(run)
    assert paused["leaf1->h2"] == pytest.approx(STORM_MS, abs=1e-6)
    hops = {"spine0->leaf1": (1, 80), "leaf0->spine0": (2, 120), "h0->leaf0": (3, 200), "h1->leaf0": (3, 200)}
    for port, (hop, later_us) in hops.items():
        late_us = 1e3 * paused[port] - (whole_us - later_us + RESUME_US)
        assert -hop * HOP_US < late_us < hop * HOP_US, port
    assert set(paused) == {"leaf1->h2", *hops}
    assert run.summary["network"]["dropped"] == 0
    assert not paused_ms(calm)
    assert not run.flows.timeouts.any()


def test_a_storm_as_long_as_the_timeout_sends_what_the_hops_hold_again():
    """After 10 ms without an answer the sender to h2 goes back to the first packet that was not acknowledged.
    The hops hold 100 KB, 50 KB (half of the spine's is for h3) and 100 KB of it, each with two frames more or
    less: its end is as much later as these take on the link to h2.
    """
    calm, run = (stormy(*of, rto_initial="10ms") for of in ((), (STORM,)))
    again = int(run.flows.retransmits[0])
    assert run.flows.timeouts.tolist() == [1, 0]
    assert (250_000 - 6 * 1500) / 1500 < again < (250_000 + 6 * 1500) / 1500
    lost_us = run.flows.fct_us[0] - calm.flows.fct_us[0]
    assert -FRAME_US <= lost_us - 1e3 * STORM_MS - again * FRAME_US <= 0


def test_a_watchdog_ends_the_effect_of_a_storm_on_victims():
    """After 2 ms the port drops what is for h2, so that the victim loses 2 ms less 80 us, and not 10 ms."""
    storm = {"link": "leaf1->h2", "kind": "pause-storm", "at": "5ms", "until": "15ms"}
    calm, run = (stormy(*of, watchdog="2ms", restoration="1ms") for of in ((), (storm,)))
    lost_ms = (run.flows.fct_us - calm.flows.fct_us) / 1e3
    assert lost_ms[1] == pytest.approx(2 - 0.08, abs=0.15)
    assert lost_ms[0] > STORM_MS + 1 - 0.1  # the port sends again 1 ms after the storm
    dropped = {row.port: row.dropped for row in run.ports.itertuples() if row.dropped}
    assert list(dropped) == ["leaf1->h2"]

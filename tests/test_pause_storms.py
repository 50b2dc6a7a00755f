"""Pause storms: what a NIC that sends pauses without an end does to others. Numbers are worked by hand."""

import pytest

import shallows as sh

STORM_MS = 10
FABRIC = {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2, "rate": "10Gbps"}


def stormy(*faults, **pfc):
    """h0 sends to h2, and h1 to h3 over the same uplinks, 25 MB each; these have twice the rate."""
    return sh.run(
        sh.Scenario(
            duration="until-done",
            cc="dcqcn",
            topology={**FABRIC, "spine_rate": "20Gbps"},
            network={"pfc": {"threshold": "100KB", **pfc}, "marking": "none"},
            traffic=[{"kind": "trace", "flows": [[0, "h0", "h2", 25_000_000], [0, "h1", "h3", 25_000_000]]}],
            faults=list(faults),
        )
    )


def paused_ms(run):
    return {row.port: row.paused_us / 1e3 for row in run.ports.itertuples() if row.paused_us}


def test_a_pause_storm_stops_victims_hop_by_hop():
    """10 ms from 5 ms on. The link to h2 stops for all of it. The leaf holds 100 KB from the spine, 80 us at
    10 Gbps; the spine 100 KB at 20 Gbps from the other leaf, 40 us more; and that leaf 100 KB of each host,
    80 us more. So the victim to h3 loses 10 ms less 80 us, and what is on its way.
    """
    storm = {"node": "h2", "kind": "pause-storm", "at": "5ms", "until": f"{5 + STORM_MS}ms"}
    calm, run = stormy(), stormy(storm)
    lost_ms = (run.flows.fct_us - calm.flows.fct_us) / 1e3
    # Behind the storm the hops resume one after the other, each once what it holds has drained: up to 0.2 ms.
    assert STORM_MS - 0.01 < lost_ms[0] < STORM_MS + 0.2 + 0.05
    assert lost_ms[1] == pytest.approx(STORM_MS - 0.08, abs=0.1)
    paused = paused_ms(run)
    assert paused["leaf1->h2"] == pytest.approx(STORM_MS, abs=1e-3)
    for port, later in (
        ("spine0->leaf1", 0.08),
        ("leaf0->spine0", 0.12),
        ("h0->leaf0", 0.2),
        ("h1->leaf0", 0.2),
    ):
        # What the spine holds then pauses hops again for a while: 250 KB at 10 Gbps at most.
        assert STORM_MS - later - 0.02 < paused[port] < STORM_MS - later + 0.25, port
    assert set(paused) == {"leaf1->h2", "spine0->leaf1", "leaf0->spine0", "h0->leaf0", "h1->leaf0"}
    assert run.summary["network"]["dropped"] == 0
    assert not paused_ms(calm)


def test_a_watchdog_ends_the_effect_of_a_storm_on_victims():
    """After 2 ms the port drops what is for h2, so that the victim loses 2 ms less 80 us, and not 10 ms."""
    storm = {"link": "leaf1->h2", "kind": "pause-storm", "at": "5ms", "until": "15ms"}
    calm, run = (stormy(*of, watchdog="2ms", restoration="1ms") for of in ((), (storm,)))
    lost_ms = (run.flows.fct_us - calm.flows.fct_us) / 1e3
    assert lost_ms[1] == pytest.approx(2 - 0.08, abs=0.15)
    assert lost_ms[0] > STORM_MS + 1 - 0.1  # the port sends again 1 ms after the storm
    dropped = {row.port: row.dropped for row in run.ports.itertuples() if row.dropped}
    assert list(dropped) == ["leaf1->h2"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"faults": [{"link": "leaf0->spine0", "kind": "pause-storm"}]},
            r"link = .*a host that sends the pauses",
        ),
        (
            {"network": {}, "faults": [{"node": "h2", "kind": "pause-storm"}]},
            r"kind = .*expected network\.pfc",
        ),
        ({"faults": [{"node": "h2", "kind": "pause-storm", "value": 1}]}, r"value = 1: expected nothing"),
    ],
)
def test_a_pause_storm_that_cannot_be_is_refused(changes, message):
    tables = {
        "duration": "1ms",
        "cc": "dcqcn",
        "topology": FABRIC,
        "network": {"pfc": True},
        "traffic": [{"kind": "incast", "senders": 2}],
    }
    with pytest.raises(sh.ScenarioError, match=message):
        sh.Scenario(**{**tables, **changes})

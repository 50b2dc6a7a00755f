"""What happens to links, as a scenario says it: which world supports it, what is refused, what comes back."""

import re

import pytest

import shallows as sh
from shallows.errors import ScenarioError
from shallows.worlds import fluid, kernel

BASE = {
    "duration": "until-done",
    "topology": {"kind": "dumbbell", "hosts": 1, "rate": "10Gbps", "rtt": "100us"},
    "cc": "reno",
    "traffic": [
        {"kind": "trace", "flows": {"start_s": [0], "src": ["h0"], "dst": ["h1"], "bytes": [1_460_000]}}
    ],
}
CABLE = "s0<->s1"


def scenario(*faults, **tables):
    return sh.Scenario(**{**BASE, **tables}, faults=list(faults))


def loss(value, link="s0->s1"):
    return {"link": link, "kind": "loss", "value": value}


def run(*faults, **tables):
    return sh.run(scenario(*faults, **tables)).check_books()


def test_what_is_lost_is_counted_at_its_link_and_not_as_dropped():
    result = run(loss(0.01))
    ports = result.ports.set_index("port")
    lost = ports.loc["s0->s1", "lost"]
    # A share of 1 % of 1000 packets and their repairs: 10, within five deviations of 3.2.
    assert 0 < lost < 26
    assert lost == ports.lost.sum() == result.summary["network"]["lost"]
    assert result.summary["network"]["dropped"] == 0


def test_a_cable_that_is_down_holds_a_flow_up_for_as_long():
    down = {"link": CABLE, "kind": "down", "at": "300us"}
    up = {"link": CABLE, "kind": "up", "at": "5ms"}
    plain, held = run().flows.fct_us[0], run(up, down).flows.fct_us[0]
    assert plain < 2000 < 5000 < held


@pytest.mark.parametrize("at", ["0s", "1us"])
def test_a_run_whose_only_way_stays_down_ends_and_says_so(at):
    """All packets are accounted for: the books close."""
    result = run({"link": CABLE, "kind": "down", "at": at})
    assert result.summary["books"] == {"closed": True, "problems": []}
    assert result.summary["drain_s"] is None
    before, after = result.summary["warnings"]
    assert before.startswith("1 of 1 flows take a path over s0->s1")
    assert re.search(
        r"flow 0 cannot make progress: timers repeat.*; link s0->s1, on the path of flow 0,", after
    )


@pytest.mark.parametrize("link", ["h0->s0", "h0<->s0"])
def test_a_host_whose_own_link_stays_down_is_named(link):
    said = run({"link": link, "kind": "down", "at": "0s"}).summary["warnings"][-1]
    assert re.search(r"flow 0 cannot make progress: no event is left.*; link h0->s0,.*is down", said)


def test_a_slower_link_takes_as_much_longer():
    slow = {"link": "s0->s1", "kind": "rate", "value": "1Gbps"}
    # 1000 frames of 12 us, and what slow start leaves idle: less than three round trips.
    assert 12_000 < run(slow, network={"buffer": "unlimited"}).flows.fct_us[0] < 12_300


def test_switches_send_round_a_link_once_they_have_heard():
    fabric = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 1, "rate": "10Gbps"}
    traffic = [
        {"kind": "trace", "flows": {"start_s": [0], "src": ["h0"], "dst": ["h1"], "bytes": [14_600_000]}}
    ]

    def of(network, *faults):
        return run(*faults, topology=fabric, traffic=traffic, network=network)

    ports = of({}).ports.set_index("port").sent
    own, other = sorted(["leaf0->spine0", "leaf0->spine1"], key=ports.get, reverse=True)
    result = of({"convergence": "2ms"}, {"link": own, "kind": "down", "at": "1ms"})
    assert result.ports.set_index("port").sent[other] > 8000


def test_the_same_seed_loses_the_same_packets():
    one, same, other = (run(loss(0.01), seed=seed).summary["fingerprint"] for seed in (1, 1, 2))
    assert one == same != other


@pytest.mark.parametrize("world", [fluid, kernel])
def test_worlds_whose_links_do_not_fail_say_so(world):
    with pytest.raises(ScenarioError, match=r"faults\[0\]\.kind = \"loss\": expected no faults: "):
        world.check(scenario(loss(0.1), duration="1ms", traffic=[{"kind": "long-lived"}]))

"""Policers: what passes follows from the token bucket by hand."""

import numpy as np
import pytest

import shallows as sh

POLICER = {"rate": "1Gbps", "burst": "15KB"}
"""Ten full frames; a frame each 12 us."""


def line(policer, count=1000, *, names="s0->s1", **tables):
    """Frames of 1500 B that come to the port s0->s1 each 1.2 us, at 10 Gbps. None is sent again."""
    every = [[1.2e-6 * k, 0, 1, 1460] for k in range(count)]
    given = {
        "duration": f"{round(1.2 * count + 200)}us",
        "cc": "reno",
        "hosts": {"rto_min": "100ms", "rto_initial": "100ms", "gap": 0.0},
        "topology": {"kind": "dumbbell", "hosts": 1, "rtt": "80us"},
        "network": {"buffer": "unlimited"},
        "ports": [{"names": names, "policer": policer}],
        "traffic": [{"kind": "trace", "flows": every}],
    }
    return sh.Scenario(**{**given, **tables})


def passed(scenario):
    """The numbers of the messages that arrived, and the run."""
    run = sh.run(scenario)
    return np.flatnonzero(np.isfinite(run.columns("flows")["fct_us"])).tolist(), run


def test_a_burst_passes_and_then_the_rate():
    """The bucket has 15,000 B; each 1.2 us bring 150 B, and a frame takes 1500 B.

    Before frame k it has 15,000 - 1350 k B: frames 0 to 10 pass, the last one with exactly 1500 B. Then one
    of ten does.
    """
    found, run = passed(line(POLICER))
    assert found == [*range(11), *range(20, 1000, 10)]
    port = run.ports.query('port == "s0->s1"').iloc[0]
    assert (port["sent"], port["dropped"]) == (109, 891)
    assert run.summary["books"]["closed"]


def test_in_the_long_run_it_passes_its_rate():
    """24,000 us bring 3,000,000 B: 2000 frames and the ten of the burst, within one."""
    found, _ = passed(line(POLICER, 20_000))
    assert abs(len(found) - 2010) <= 1


@pytest.mark.parametrize("marking", ["none", {"kind": "step", "threshold": "5pkt"}, {"kind": "codel"}])
def test_it_acts_before_queue_and_marking(marking):
    """The queue behind it never grows: no more passes than the link carries."""
    network = {"buffer": "2pkt" if marking == "none" else "unlimited", "marking": marking}
    found, _ = passed(line(POLICER, network=network))
    assert found == [*range(11), *range(20, 1000, 10)]


def test_a_class_has_its_own():
    """Of two classes that share a link, the policer of one drops nothing of the other."""
    every = [[2.4e-6 * k, 0, 1, 1460] for k in range(500)]
    classes = [{"name": "free", "weight": 1}, {"name": "policed", "weight": 1, "policer": POLICER}]
    traffic = [{"kind": "trace", "class": one["name"], "flows": every} for one in classes]
    found, _ = passed(line(POLICER, classes=classes, traffic=traffic, ports=[]))
    assert [n for n in found if n < 500] == list(range(500))
    policed = [n - 500 for n in found if n >= 500]
    # Each 2.4 us bring 300 B: 15,000 - 1200 k are 1500 or more up to k = 11, before which there are 1800.
    # Then 300 are left, and one of five passes, with what remains: 1500 B come with k = 15.
    assert policed[:13] == [*range(12), 15]
    assert np.diff(policed[12:]).tolist() == [5] * (len(policed) - 13)


def test_a_port_may_have_none():
    """`false` of a table of ports takes away what the network has; the other port drops as much."""
    ports = [{"names": "s0->s1", "policer": False}]
    scenario = line(POLICER, network={"buffer": "unlimited", "policer": POLICER}, ports=ports)
    found, run = passed(scenario)
    assert found == [*range(11), *range(20, 1000, 10)]
    assert run.ports.set_index("port").loc[["s0->s1", "s1->h1"], "dropped"].tolist() == [0, 891]


def test_a_long_flow_gets_the_rate_of_a_policer():
    """Reno behind 20 Mbps and a burst of 50 KB: above half of it, and at most the rate and the burst."""
    scenario = sh.Scenario(
        duration="20s",
        warmup="5s",
        cc="reno",
        topology={"kind": "dumbbell", "hosts": 1, "rate": "100Mbps", "rtt": "20ms"},
        ports=[{"names": "s0->s1", "policer": {"rate": "20Mbps", "burst": "50KB"}}],
        traffic=[{"kind": "long-lived"}],
    )
    sent_gbps = sh.run(scenario).summary["flows"]["goodput_gbps"] * 1500 / 1460
    assert 0.010 < sent_gbps < 0.02 + 50e3 * 8 / 15 / 1e9


@pytest.mark.parametrize("threads", [2, 3])
def test_it_is_the_same_in_any_number_of_threads(threads):
    tables = {
        "duration": "300us",
        "cc": "dctcp",
        "topology": {"kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 3},
        "network": {"policer": {"rate": "4Gbps", "burst": "20KB"}},
        "traffic": [{"kind": "poisson", "sizes": "30KB", "load": 0.7, "flows": 200}],
    }
    one, more = (sh.run(sh.Scenario(**tables), threads=count) for count in (1, threads))
    assert one.summary["fingerprint"] == more.summary["fingerprint"]
    assert one.summary["network"]["dropped"] > 0

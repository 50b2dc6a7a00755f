"""Whatever the network, the traffic and the algorithm: the books close and the same run comes again."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shallows as sh
from shallows.algorithms import catalog

ALGORITHMS = [row["name"] for row in catalog.algorithms()]

TOPOLOGIES = st.sampled_from(
    [
        {"kind": "dumbbell", "hosts": 3, "rtt": "40us"},
        {"kind": "dumbbell", "hosts": 2, "rate": "1Gbps", "edge_rate": "10Gbps", "rtt": "200us"},
        {"kind": "star", "hosts": 5, "rtt": "20us"},
        {"kind": "parking-lot", "hops": 2, "hosts": 2, "rtt": "40us"},
        {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 3},
        {"kind": "fat-tree", "k": 4},
        {"kind": "three-tier", "cores": 2, "aggregations": 2, "tors": 2, "hosts_per_tor": 2},
    ]
)
TRAFFIC = st.lists(
    st.sampled_from(
        [
            {"kind": "long-lived", "flows": 3},
            {"kind": "long-lived", "flows": 2, "start": "1ms", "stop": "3ms"},
            {"kind": "staircase", "flows": 2, "interval": "1ms"},
            {"kind": "incast", "senders": 2, "size": "60KB", "jitter": "5us"},
            {"kind": "poisson", "sizes": "websearch", "below": "1MB", "load": 0.05, "flows": 20},
            {"kind": "shuffle", "size": "20KB"},
            {"kind": "request-response", "pairs": 2, "exchanges": 5},
        ]
    ),
    min_size=1,
    max_size=2,
)
HOSTS = st.fixed_dictionaries(
    {},
    optional={
        "nic": st.sampled_from(["fair", "fifo"]),
        "initial_window": st.sampled_from(["1pkt", "40pkt"]),
        "acks_every": st.integers(1, 4),
        "rto": st.sampled_from(["datacenter", "internet"]),
        "segment": st.sampled_from([2, 44]),
        "loss_detection": st.just("rack"),
        "retransmission": st.just("selective"),
        "timestamps": st.sampled_from([{"kind": "software"}, {"kind": "hardware", "drift": -4e-5}]),
    },
)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(TOPOLOGIES, TRAFFIC, HOSTS, st.sampled_from(ALGORITHMS), st.sampled_from(["4pkt", "250pkt"]))
def test_books_close_and_runs_repeat(topology, traffic, hosts, cc, buffer):
    network = {"buffer": buffer}
    row = catalog.algorithm(cc)
    if row["marking"] == "required" and row["port"] == "step":
        network["marking"] = {"kind": "step", "threshold": "3pkt"}
    heard = {"nic", "rto", *(key.removeprefix("hosts.") for key in row["honours"])}
    hosts = {key: value for key, value in hosts.items() if key in heard}
    tables = {"topology": topology, "traffic": traffic, "hosts": hosts, "cc": cc, "network": network}
    scenario = sh.Scenario(duration="6ms", warmup="1ms", seed=3, **tables)
    first, second = sh.run(scenario), sh.run(scenario)
    flows = first.summary["flows"]
    assert first.summary["books"] == {"closed": True, "problems": []}
    assert flows["offered"] == flows["finished"] + flows["cut_off"] + flows["lost"] == scenario.flow_count
    assert first.summary["fingerprint"] == second.summary["fingerprint"]
    slowdown = first.flows.slowdown.dropna()
    assert (slowdown >= 1).all()


PAUSES = st.fixed_dictionaries(
    {},
    optional={
        "pfc": st.fixed_dictionaries(
            {
                "threshold": st.sampled_from(["1pkt", "5KB", "100KB"]),
                "hysteresis": st.sampled_from(["1pkt", "1MB"]),
            }
        ),
        "shared": st.fixed_dictionaries(
            {"size": st.sampled_from(["20KB", "1MB"]), "alpha": st.sampled_from([0.125, 4])}
        ),
    },
)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(TOPOLOGIES, TRAFFIC, st.sampled_from(ALGORITHMS), PAUSES)
def test_with_pauses_no_data_is_lost_whatever_runs(topology, traffic, cc, pauses):
    """These topologies route up and down trees: no circle of pauses. What ExpressPass drops are credits."""
    network = {"pfc": {}, **pauses}
    if "shared" in network:  # the memory decides when a link is paused
        network["pfc"] = {key: value for key, value in network["pfc"].items() if key != "threshold"}
    scenario = sh.Scenario(duration="6ms", seed=3, topology=topology, traffic=traffic, cc=cc, network=network)
    summary = sh.run(scenario).summary
    assert summary["books"] == {"closed": True, "problems": []}
    # A link that stays paused for longer than a timeout looks like a loss.
    assert summary["flows"]["retransmits"] == 0 or summary["flows"]["timeouts"] > 0
    assert summary["network"]["deadlock"] == []
    if cc != "expresspass":
        assert summary["network"]["dropped"] == 0

"""DualPI2 in the packet world: shares, delays and use of pairs of flows over 50 Mbps.

The rows are "Scenario 1 Fairness" of heistp/l4s-tests (November 2020, TCP Prague of that time beside CUBIC).
Of each pair the flow that has more there has more here too; pairs of equal flows are ties.
"""

import pytest

import shallows as sh

ROWS = {
    ("cubic", 10, "prague", 10): (12.7, 34.6),
    ("cubic", 20, "prague", 20): (14.9, 32.4),
    ("cubic", 20, "prague", 10): (9.2, 37.9),
    ("prague", 20, "cubic", 10): (28.4, 18.8),
    ("prague", 80, "prague", 20): (5.8, 41.5),
    ("prague", 80, "cubic", 20): (22.4, 24.9),
    ("cubic", 80, "prague", 80): (17.9, 29.6),
    ("prague", 160, "prague", 10): (1.6, 45.5),
    ("cubic", 160, "cubic", 10): (10.7, 36.5),
    ("cubic", 160, "prague", 10): (4.9, 41.7),
}
"""(algorithm, RTT in ms, of two flows): Mbps of both."""
CCS = {"cubic": "cubic@linux", "prague": "prague@udp_prague"}


def scenario(first, rtt, second, other, duration="180s", warmup="60s"):
    """Two flows over one port; their senders are as far away as their round trips ask."""
    edges = [
        ["a", "s", "1Gbps", f"{rtt / 2 - 0.02:.2f}ms"],
        ["b", "s", "1Gbps", f"{other / 2 - 0.02:.2f}ms"],
        ["s", "t", "50Mbps", "10us"],
        ["t", "c", "1Gbps", "10us"],
    ]
    flows = [("a", first), ("b", second)]
    return sh.Scenario(
        topology={"kind": "graph", "edges": edges, "hosts": ["a", "b", "c"]},
        network={"mtu": "1514B", "marking": {"kind": "dualpi2"}},
        traffic=[
            {"kind": "long-lived", "flows": 1, "from": host, "to": "c", "cc": CCS[name]}
            for host, name in flows
        ],
        duration=duration,
        warmup=warmup,
    )


def test_results_tell_the_two_queues_apart():
    """CUBIC's data is in C, Prague's in L; both queues have the packets of the port."""
    run = sh.run(scenario("cubic", 10, "prague", 10, duration="3s", warmup="1s"))
    queues = run.classes[run.classes["port"] == "s->t"].set_index("class")
    assert sorted(queues.index) == ["C", "L"]
    port = run.ports.set_index("port").loc["s->t"]
    for column in ("sent", "marked", "dropped"):
        assert queues[column].sum() == port[column]
        assert (queues["sent"] > 0).all()


@pytest.mark.thorough
@pytest.mark.parametrize("pair", ROWS)
def test_the_order_of_two_flows_is_that_of_the_published_rows(pair):
    run = sh.run(scenario(*pair))
    shares = run.flows["goodput_gbps"].tolist()
    assert (shares[0] < shares[1]) == (ROWS[pair][0] < ROWS[pair][1]), shares
    queues = run.classes[run.classes["port"] == "s->t"].set_index("class")
    assert run.ports.set_index("port").loc["s->t", "utilization"] >= 0.98
    frame_us = 1514 * 8 / 50
    delay_ms = (queues["delay_mean_us"] - frame_us) / 1e3
    if "prague" in pair:
        assert delay_ms["L"] < 1
    if "cubic" in pair and max(pair[1], pair[3]) <= 20:
        assert 11 <= delay_ms["C"] <= 17


def test_prague_reacts_to_losses_where_ports_drop_alone():
    """A window that halves at a loss keeps a port with a buffer of a BDP, 83 packets, busy."""
    run = sh.run(
        sh.Scenario(
            topology={
                "kind": "dumbbell",
                "hosts": 1,
                "rate": "50Mbps",
                "edge_rate": "500Mbps",
                "rtt": "20ms",
            },
            network={"marking": "none", "buffer": "83pkt"},
            cc="prague",
            traffic=[{"kind": "long-lived", "flows": 1}],
            duration="20s",
            warmup="5s",
        )
    )
    port = run.ports.set_index("port").loc["s0->s1"]
    assert 0.9 <= port["utilization"] <= 1.001
    assert 1 <= port["dropped"] <= 100
    assert port["marked"] == 0

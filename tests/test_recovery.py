"""Loss recovery of the TCP-like transport, held against ns-3 3.37 (with SACK) and the RFCs' arithmetic."""

import pytest

from shallows.results.summary import jain
from shallows.runner import run as run_scenario
from shallows.scenario import Scenario
from shallows.worlds import packet

# Frames of ns-3's point-to-point links: payload of 1448 B, 54 B of headers.
NS3_FRAMES = {"mtu": "1502B", "header": "54B"}


def run(**tables):
    result = packet.run(Scenario(name="recovery", **tables))
    assert result.summary["books"]["closed"]
    return result


def line(edge, core, delay, senders=1):
    """Senders, two switches and a receiver; the core's delay is `delay`, each edge's 1 us."""
    names = [f"L{i}" for i in range(senders)]
    edges = [[name, "A", edge, "1us"] for name in names]
    return {
        "kind": "graph",
        "edges": [*edges, ["B", "R", edge, "1us"], ["A", "B", core, delay]],
        "hosts": [*names, "R"],
    }


def transfers(senders, size, **tables):
    traffic = [{"kind": "incast", "senders": senders, "size": size, "to": "R", "jitter": "0s"}]
    return run(duration="until-done", cc={"name": "reno"}, traffic=traffic, **tables)


@pytest.mark.parametrize("edge", ["10Gbps", "11Gbps", "40Gbps"])
@pytest.mark.parametrize("cc", ["reno", "cubic", "cdg"])
def test_ten_flows_fill_a_drop_tail_link(cc, edge):
    """RFC 5681: a window between W/2 and W loses one of (3/8) W^2 packets.

    At 10 Gbps and 200 us with 250 packets of buffer ten flows reach 42 packets each: one in 650. CUBIC keeps
    more after a loss and loses less often. Also where hosts' links are as fast as the bottleneck: no flow is
    locked out.
    """
    result = run(
        duration="2s",
        warmup="500ms",
        topology={"kind": "dumbbell", "edge_rate": edge},
        cc={"name": cc},
        traffic=[{"kind": "long-lived", "flows": 10}],
    )
    bottleneck = result.summary["bottleneck"]
    packets = bottleneck["utilization"] * 1.5 * 10e9 / (1500 * 8)
    assert bottleneck["utilization"] >= 0.99
    assert result.flows.goodput_gbps.sum() >= 0.95 * 10 * 1460 / 1500
    assert packets / 2000 <= bottleneck["dropped"] <= packets / 500
    assert jain(result.flows.goodput_gbps) >= 0.97


@pytest.mark.parametrize(
    ("rate", "mbps", "one_way", "buffer"), [("20Mbps", 20, "25ms", 92), ("50Mbps", 50, "20ms", 167)]
)
def test_cubic_fills_a_slow_long_link(rate, mbps, one_way, buffer):
    result = run(
        duration="40s",
        warmup="15s",
        topology=line("1Gbps", rate, one_way),
        network={**NS3_FRAMES, "buffer": f"{buffer}pkt"},
        hosts={"rto": "internet"},
        cc={"name": "cubic@rfc9438"},
        traffic=[{"kind": "long-lived", "from": "L0", "to": "R"}],
    )
    assert 0.95 * mbps <= result.flows.goodput_gbps.sum() * 1e3 * 1502 / 1448 <= 1.005 * mbps


@pytest.mark.parametrize("edge", ["10Gbps", "40Gbps"])
@pytest.mark.parametrize(("size", "ms"), [("145800B", 35.04), ("14580000B", 100.9)])
def test_slow_start_doubles_also_where_the_nic_is_as_slow_as_the_bottleneck(size, ms, edge):
    """10 Gbps, 10 ms: windows of 10, 20, 40 and 30 packets; 5.04 ms for the first of four.

    9,987 packets of 1.2 us: nine windows, 10 to 2560, are 5,110. The tenth begins after nine round trips and
    has 4,877: 5.85 ms, and 5 ms to go, make 100.9. ns-3 has 35.04 and 101.
    """
    network = {"buffer": "unlimited"}
    topology = {"kind": "dumbbell", "hosts": 1, "rate": "10Gbps", "rtt": "10ms", "edge_rate": edge}
    traffic = [{"kind": "incast", "senders": 1, "size": size, "to": "h1", "jitter": "0s"}]
    hosts = {"rto": "internet"}
    result = run(
        duration="until-done", cc="reno", traffic=traffic, topology=topology, network=network, hosts=hosts
    )
    assert result.flows.fct_us[0] / 1e3 == pytest.approx(ms, rel=1e-3)


@pytest.mark.parametrize(("size", "ms"), [("14480B", 5.1226), ("14480000B", 180.007)])
def test_slow_start_takes_what_it_takes_in_ns3(size, ms):
    """1 Gbps between edges of 10, 10 ms there and back, no loss; an acknowledgement a packet."""
    network = {**NS3_FRAMES, "buffer": "100000pkt"}
    hosts = {"rto": "internet", "nic": "fifo"}
    result = transfers(1, size, topology=line("10Gbps", "1Gbps", "4998us"), network=network, hosts=hosts)
    assert result.flows.fct_us[0] / 1e3 == pytest.approx(ms, rel=1e-4)


def test_goodput_counts_what_arrives_when_it_arrives():
    """RFC 2647 §3.17. 100 Mbps carry 83.3 frames of 1500 B in 10 ms: at most 84 arrive, with one under way.

    Slow start overshoots 50 packets of buffer; a hole closes that hundreds of packets lie behind. Counted as
    they are read, in order, they were 248 Mbps.
    """
    link = {"kind": "dumbbell", "hosts": 1, "rate": "100Mbps", "edge_rate": "1Gbps", "rtt": "100ms"}
    most = 0
    for warmup in range(600, 800, 10):
        result = run(
            duration=f"{warmup + 10}ms",
            warmup=f"{warmup}ms",
            topology=link,
            network={"buffer": "50pkt"},
            hosts={"rto": "internet"},
            cc="reno",
            traffic=[{"kind": "long-lived", "flows": 1}],
        )
        most = max(most, result.flows.goodput_gbps[0] * 1e9 * 0.01 / (8 * 1460))
    assert 80 <= most <= 84


@pytest.mark.parametrize("buffer", ["unlimited", "3000pkt"])
def test_an_ordinary_recovery_trips_no_timeout(buffer):
    """1460 B sqrt(3/2) / (20 ms sqrt(p)) is 14.3 Mbps with p = 0.0025 (Mathis et al. 1997).

    A model by rounds has 15.0. A retransmission takes one round trip more than a timer of about one that
    began with the last new acknowledgement; restarted with it (RFC 6675 section 6), the timer waits. What a
    loss of a retransmission may cost, p times the losses, is less than three timeouts.
    """
    result = run(
        duration="60s",
        seed=11,
        topology={"kind": "dumbbell", "hosts": 1, "rate": "10Gbps", "rtt": "20ms"},
        network={"buffer": buffer},
        cc="reno",
        traffic=[{"kind": "long-lived", "flows": 1}],
        faults=[{"link": "s0->s1", "kind": "loss", "value": 0.0025}],
    )
    lost = result.columns("ports")["lost"].sum()
    assert 13 <= result.flows.goodput_gbps[0] * 1e3 <= 17.5
    assert result.summary["flows"]["timeouts"] <= 3
    assert lost <= result.flows.retransmits[0] <= 1.02 * lost


@pytest.mark.parametrize("cc", ["reno", "dctcp", "timely", "rcp", "expresspass"])
def test_a_path_longer_than_the_first_timeout_does_not_time_out(cc):
    """1 Gbps, 30 ms there and back: three times the default `rto_initial` of 10 ms."""
    result = run(
        duration="until-done",
        topology={"kind": "dumbbell", "hosts": 1, "rate": "1Gbps", "rtt": "30ms"},
        cc=cc,
        traffic=[{"kind": "incast", "senders": 1, "size": "60KB", "to": "h1", "jitter": "0s"}],
    )
    assert (result.flows.timeouts[0], result.flows.retransmits[0]) == (0, 0)


def test_an_incast_takes_as_long_as_in_ns3():
    """32 times 65 KB into 100 packets at 1 Gbps, timeouts of 10 ms and more: ns-3 has 15.0 and 17.4 ms."""
    result = transfers(
        32,
        "65KB",
        topology=line("1Gbps", "1Gbps", "98us", senders=32),
        network={**NS3_FRAMES, "buffer": "100pkt"},
        hosts={"nic": "fifo", "rto_min": "10ms"},
    )
    assert result.flows.fct_us.mean() / 1e3 == pytest.approx(15.0, rel=0.25)
    assert result.flows.fct_us.max() / 1e3 == pytest.approx(17.4, rel=0.25)


def test_the_smoothed_round_trip_of_a_lone_packet_is_that_of_the_path():
    """1 Gbps and 400 us in all: there 2 * 12, back 2 * 0.512 us, every time. RoCE has none."""
    star = {"kind": "star", "hosts": 2, "rate": "1Gbps", "rtt": "400us"}
    tables = {"duration": "20ms", "topology": star, "traffic": [{"kind": "long-lived"}]}
    flow = run(cc={"name": "fixed", "window": 1}, **tables).flows
    assert flow.srtt_mean_us[0] == pytest.approx(425.024, abs=1e-6)
    assert flow.srtt_max_us[0] == pytest.approx(425.024, abs=1e-6)
    roce = run(cc="timely", **tables).flows
    assert roce[["srtt_mean_us", "srtt_max_us"]].isna().all(axis=None)


@pytest.mark.parametrize(("cc", "rtt_us", "first_us"), [("reno", 20, 1000), ("dctcp", 2000, 6000)])
def test_the_first_timeout_of_an_open_connection_is_that_of_a_handshake(cc, rtt_us, first_us):
    """RFC 6298 §2.2 after a handshake: max(rto_min, 3 R), here 1 ms and three times 2 ms.

    More frames meet than the buffer holds; a flow that loses its only frame once ends one timeout later. ns-3
    with open connections: 3.03 ms for the last of 120 flows, which time out at 1 and 3 ms.
    """
    run = run_scenario(
        Scenario(
            duration="until-done",
            topology={"kind": "star", "hosts": 121, "rtt": f"{rtt_us}us"},
            network={"buffer": "70pkt", "marking": {"kind": "step", "threshold": "60pkt"}},
            hosts={"rto_min": "1ms"},
            cc=cc,
            traffic=[{"kind": "incast", "senders": 120, "size": "1400B"}],
        ),
        progress=False,
    )
    once = run.flows[run.flows.timeouts == 1]
    assert len(once) > 40
    assert once.fct_us.min() == pytest.approx(first_us + once.ideal_us.min(), rel=0.05)
    assert once.fct_us.max() < first_us * 1.1 + rtt_us

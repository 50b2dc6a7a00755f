"""Mechanisms of hosts and switches that the papers describe, beside arithmetic by hand."""

import re
from pathlib import Path

import numpy as np
import pytest

import shallows as sh

FRAME_US = 1.2
"""Time of a full frame of 1500 B at 10 Gbps."""


def star(count, rtt, duration, traffic, *, rate="10Gbps", **tables):
    topology = {"kind": "star", "hosts": count, "rate": rate, "rtt": rtt}
    return sh.run(sh.Scenario(duration=duration, topology=topology, traffic=traffic, **tables))


def long_lived(source=0, target=1, **keys):
    return {"kind": "long-lived", "flows": 1, "from": source, "to": target, "jitter": "0s"} | keys


def gaps(run, port, kind):
    """Times in us between the first bits of successive frames of a kind at a port."""
    taps = run.taps([port])
    begun = np.sort(taps.frames["begun_ps"][taps.tapped & taps.of_kind(kind)])
    return np.diff(begun[begun < 2**63].astype(np.int64)) / 1e6


@pytest.mark.parametrize("receiver", ["inigo@ce", {"kind": "inigo@ce", "tsecr": True}])
def test_ce_on_acknowledgements_has_no_effect_on_any_sender(receiver):
    """Inigo §4.1. Nobody reads CE on an acknowledgement: each flow does what it does without the receiver."""
    traffic = [long_lived(source, 5, start=f"{100 * source}ms") for source in range(5)]
    tables = {"rate": "500Mbps", "warmup": "600ms", "network": {"buffer": "unlimited"}}
    tables["network"] |= {"marking": {"kind": "step", "threshold": "100pkt"}}
    found = {}
    for name, of_cc in {"alone": {}, "ce": {"receiver": receiver}}.items():
        run = star(6, "4ms", "1500ms", traffic, cc={"name": "dctcp", **of_cc}, **tables)
        found[name] = run.flows.goodput_gbps.tolist(), run.summary["bottleneck"]["queue_mean_pkt"]
    assert found["alone"] == found["ce"]
    echoing = {"name": "dctcp", "receiver": {"kind": "inigo", "mark": True}}
    run = star(6, "4ms", "1500ms", traffic, cc=echoing, **tables)
    assert run.flows.goodput_gbps.tolist() != found["alone"][0]


def credit_gaps(cc):
    """Gaps between credits as they leave the receiver and as the switch sends them on, in us."""
    network = {"mtu": "1538B", "header": "78B"}
    run = star(2, "20us", "12ms", [long_lived()], cc=cc, network=network)
    return [gaps(run, port, "credit")[2000:] for port in ("h1->s0", "s0->h0")]


def test_a_switch_moves_the_gaps_of_credits_by_at_most_700_ns():
    """ExpressPass, Fig. 14b. A credit of 84 B for a frame of 1538 B at 10 Gbps: 1622 B are 1.2976 us."""
    sent, received = credit_gaps("expresspass@testbed-switch")
    nominal = 1622 * 8e-4
    count = min(len(sent), len(received))
    assert count > 5000
    assert np.median(received) == pytest.approx(nominal, rel=0.05)
    assert received.mean() == pytest.approx(nominal, rel=0.01)
    change = np.abs(received[:count] - sent[:count])
    assert 0.6 < change.max() < 0.701
    assert (change**2).mean() == pytest.approx(0.7**2 / 6, rel=0.03)  # the difference of two uniform times
    exact = credit_gaps("expresspass@testbed")
    assert exact[1][:count] == pytest.approx(exact[0][:count], abs=0.01)


@pytest.mark.parametrize(
    ("poll_us", "batch", "share"),
    [
        (6, 10, 1.0),
        (11, 10, 1.0),
        (20, 10, 10 * FRAME_US / 20),
        (6, 4, 4 * FRAME_US / 6),
        (40, 20, 20 * FRAME_US / 40),
    ],
)
def test_a_token_bucket_sends_so_many_frames_a_poll(poll_us, batch, share):
    """DX §III: "the upper bound is 10 packets, which is enough to saturate 99.99%" of 10 Gbps."""
    hosts = {"poll": f"{poll_us}us"} | ({"batch": batch} if batch != 10 else {})
    traffic = [long_lived(), long_lived()]
    run = star(2, "100us", "40ms", traffic, cc={"name": "fixed", "window": 400}, hosts=hosts, warmup="5ms")
    port = run.ports.set_index("port").loc["h0->s0"]
    assert port.utilization == pytest.approx(share, rel=0.001)
    frames = gaps(run, "h0->s0", "data")
    assert frames.min() == pytest.approx(FRAME_US)
    rates = run.flows.goodput_gbps
    assert rates.max() == pytest.approx(rates.min(), rel=0.01)  # a queue for each flow, served in turn


def test_dx_uses_the_link_through_a_token_bucket():
    """A poll each frame time, as §V-A has it: "burst size of MTU"."""
    hosts = {"poll": "1200ns", "timestamps": {"kind": "hardware", "poll": "1ns"}}
    assert of_two_dx_flows(hosts, "12us") > 0.999


def test_calibration_removes_what_the_batches_of_a_poll_add():
    """Nine frames of a poll have one timestamp, up to 9.6 us too early; the headroom is 2.4 us."""
    stamps = {"kind": "hardware", "poll": "1ns"}
    assert of_two_dx_flows({"poll": "11us"}, "2.4us") < 0.8
    assert of_two_dx_flows({"poll": "11us", "timestamps": stamps}, "2.4us") > 0.97


def of_two_dx_flows(hosts, headroom):
    """The share of the link that two flows use."""
    traffic = [long_lived(0, 2), long_lived(1, 2)]
    cc = {"name": "dx", "headroom": headroom}
    run = star(3, "100us", "100ms", traffic, warmup="40ms", cc=cc, hosts=hosts)
    return run.summary["bottleneck"]["utilization"]


def test_an_option_takes_room_in_data_and_acknowledgements():
    """DX §V-B: 14 B. 1500 B carry 1446 B, and an acknowledgement has 18 + 20 + 20 + 14 = 72 B, not 64 B."""
    for option, payload, ack in ((0, 1460, 64), (14, 1446, 72)):
        hosts = {"option": f"{option}B"} if option else {}
        run = star(
            2, "40us", "20ms", [long_lived()], cc={"name": "fixed", "window": 100}, hosts=hosts, warmup="2ms"
        )
        ports = run.ports.set_index("port")
        assert run.flows.goodput_gbps[0] == pytest.approx(10 * payload / 1500, rel=0.001)
        acks = ports.loc["h1->s0"]
        assert acks.utilization == pytest.approx(ack / 1500, rel=0.001)


@pytest.mark.parametrize("jitter_us", [30, 100])
def test_jitter_of_acknowledgements_lengthens_the_round_trip_by_half_of_it(jitter_us):
    """A window of one packet: a packet each R + U, where U is uniform from zero to the jitter."""
    hosts, rtt_us = {"ack_jitter": f"{jitter_us}us"}, 40
    cc = {"name": "fixed", "window": 1}
    run = star(2, f"{rtt_us}us", "400ms", [long_lived()], cc=cc, hosts=hosts, warmup="10ms")
    sending = 2 * (1500 + 64) * 8e-4
    expected = 1460 * 8e-3 / (rtt_us + sending + jitter_us / 2)
    assert run.flows.goodput_gbps[0] == pytest.approx(expected, rel=0.01)


def base_and_delay(cc, traffic, duration, warmup_us):
    """Means of the base round trip and the queueing delay that the last flow probed, in us, after a time."""
    tables = {"network": {"buffer": "unlimited"}, "record": {"probes": "1ms", "flows": "all"}}
    cc = {"name": cc, "target": "40us", "gain": 0.03}
    run = star(6, "100us", duration, traffic, rate="1Gbps", cc=cc, **tables)
    late = run.probes[(run.probes.time_us > warmup_us) & (run.probes.flow == len(traffic) - 1)]
    return [late[late.name == name].value.mean() for name in ("base_rtt_us", "queueing_delay_us")]


def test_a_channel_of_high_priority_measures_the_base_beside_a_standing_queue():
    """The poster §3: the minimum since the flow began contains the queue of 120 packets, less a few.

    A probe waits for a frame at most.
    """
    background = {"cc": {"name": "fixed", "window": 60}}
    traffic = [long_lived(0, 5) | background, long_lived(2, 5) | background, long_lived(1, 5, start="20ms")]
    empty = 100 + 2 * (1500 + 64) * 8e-3
    assert base_and_delay("gap@exact-base-rtt", traffic, "80ms", 40e3)[0] == pytest.approx(empty)
    assert empty <= base_and_delay("gap@high-priority-channel", traffic, "80ms", 40e3)[0] <= empty + 12
    standing = (120 - empty / 12) * 12
    assert base_and_delay("gap", traffic, "80ms", 40e3)[0] == pytest.approx(empty + standing, rel=0.03)


def test_the_exact_base_has_the_fingerprint_on_file():
    """That of the commit before the channel got probes. 50 flows of pingpong.toml start 100 us apart."""
    flows = {"kind": "long-lived", "flows": 50, "stagger": "100us"}
    changes = {"duration": "20ms", "traffic": [flows]}
    scenario = Path(__file__).parents[1] / "scenarios" / "pingpong.toml"
    found = {
        name: sh.run(scenario, overrides=changes | {"cc": name}, threads=1).summary["fingerprint"]
        for name in ("gap@exact-base-rtt", "gap@high-priority-channel", "gap")
    }
    assert (found["gap@exact-base-rtt"], found["gap"]) == ("72973d8b271ea144", "80f2a079e9d0ca80")
    assert len(set(found.values())) == 3


def test_with_a_channel_of_high_priority_flows_meet_at_one_delay():
    """Where all have the same base, q = T (1 + 2/(1 + w)), with w = C R/5 packets each."""
    traffic = [long_lived(host, 5, start=f"{20 * host}ms") for host in range(5)]
    _, delay = base_and_delay("gap@exact-base-rtt", traffic, "600ms", 300e3)
    window = (100 + 2 * (1500 + 64) * 8e-3) / 12 / 5
    assert delay == pytest.approx(40 * (1 + 2 / (1 + window)), rel=0.03)


def test_priorities_separate_dx_from_tcp():
    """DX §VII: one TCP flow in the same queue starves DX; a priority of its own gives DX the link."""
    traffic = [long_lived(0, 2), long_lived(1, 2, cc="cubic")]
    tables = {"cc": "dx@ns-2", "warmup": "50ms", "network": {"buffer": "250pkt"}}
    together = star(3, "100us", "200ms", traffic, **tables)
    assert together.flows.goodput_gbps[0] < 0.1 * 9.73
    apart = [traffic[0] | {"class": "dx"}, traffic[1] | {"class": "tcp"}]
    classes = [{"name": "dx"}, {"name": "tcp"}]
    del tables["network"]
    separate = star(3, "100us", "200ms", apart, classes=classes, **tables)
    assert separate.flows.goodput_gbps[0] == pytest.approx(10 * 1460 / 1500, rel=0.005)


def test_requests_of_dx_wait_for_a_frame_of_tcp_a_round_trip():
    """DX §VII. 100 KB are 69 packets: ten, then 20, then the rest, three round trips of 100 us and more."""
    scenario = sh.Scenario.load(Path(__file__).parents[1] / "scenarios" / "dx-beside-tcp.toml")
    only = scenario.replace({"traffic": [scenario.traffic[0]]})
    beside, alone = (requests_us(sh.run(one)) for one in (scenario, only))
    assert alone == pytest.approx(alone[0])
    waited = beside - alone[0]
    assert 0 < waited.mean() < waited.max() < 3 * FRAME_US
    bulk = sh.run(scenario).flows.goodput_gbps.iloc[-1]
    assert bulk > 9


def requests_us(run):
    """Completion times of the requests."""
    flows = run.flows[(run.flows.traffic == 0) & (run.flows.bytes == 100_000)]
    return flows.fct_us.dropna().to_numpy()


def test_the_files_of_the_table_of_mechanisms_exist():
    """docs/mechanisms.md: every row but those that need hardware or its NIC has a file and a test."""
    root = Path(__file__).parents[1]
    page = (root / "docs" / "mechanisms.md").read_text("utf-8")
    named = set(re.findall(r"`((?:bpf|crates|python|tests)/[^`]+)`", page))
    assert len(named) > 60
    assert [name for name in sorted(named) if not (root / name).exists()] == []
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    lacking = [row[0] for row in rows if len(row) != 4]
    assert lacking == [
        "polling driver and timestamps of a real NIC (§V-A)",
        "the implementation in SoftNIC, below a kernel's TCP (§5)",
    ]


@pytest.mark.parametrize("flows", [1, 5])
def test_acknowledgements_on_data_take_no_room(flows):
    """Data both ways at full rate: 64 B of each 1564 B are acknowledgements of their own, or none."""
    cc = {"name": "fixed", "window": 400}
    for piggyback, share in ((False, 1500 / 1564), (True, 1.0)):
        hosts = {"piggyback": piggyback}
        traffic = [long_lived(0, 1)] * flows + [long_lived(1, 0)] * flows
        run = star(2, "100us", "40ms", traffic, cc=cc, hosts=hosts, warmup="10ms")
        goodput = run.flows.goodput_gbps.sum() / 2
        assert goodput == pytest.approx(10 * share * 1460 / 1500, rel=0.01)


@pytest.mark.parametrize(("cc", "least", "most"), [("dcqcn", 0.97, 1.0), ("patched-timely", 0.0, 0.67)])
def test_marks_withstand_the_jitter_that_delays_do_not(cc, least, most):
    """ECN or Delay, Fig. 20: "DCQCN is more resilient to jitter than TIMELY"."""
    network = {"mtu": "1000B", "header": "48B", "buffer": "unlimited"}
    network |= {"marking": {"kind": "red"}} if cc == "dcqcn" else {}
    tables = {"cc": f"{cc}@ecn-or-delay", "warmup": "80ms", "network": network}
    traffic = [long_lived(0, 2), long_lived(1, 2)]
    used = [
        star(3, "8us", "160ms", traffic, hosts={"ack_jitter": jitter}, **tables).summary["bottleneck"]
        for jitter in ("0s", "100us")
    ]
    assert least <= used[1]["utilization"] / used[0]["utilization"] <= most


def test_dx_keeps_its_acknowledgement_clock_if_acknowledgements_ride():
    """docs/windows.md: ten flows each way use three fifths of both links if they do not."""
    traffic = [long_lived(host, 10 + host) for host in range(10)]
    traffic += [long_lived(10 + host, host) for host in range(10)]
    topology = {"kind": "dumbbell", "hosts": 10, "rate": "10Gbps", "rtt": "200us"}
    used = {}
    for piggyback in (False, True):
        hosts = {"piggyback": piggyback}
        tables = {"duration": "80ms", "warmup": "40ms", "cc": "dx@ns-2", "hosts": hosts}
        run = sh.run(sh.Scenario(topology=topology, traffic=traffic, **tables))
        used[piggyback] = run.ports.set_index("port").loc[["s0->s1", "s1->s0"]].utilization
    assert used[False].max() < 0.7
    assert used[True].min() > 0.95

"""NSCC of Ultra Ethernet: the queues that its rules keep, and incasts, on one port of 400 Gbps with trimming.

Bounds of queues are those of an independent simulation of the rules of UE 1.0 (one bottleneck, each packet
answered): fair increase adds up to 5 MTU a for each sender and round trip, so that the mean delay grows with
the number of senders. crates/cc/tests/scripts/nscc*.txt has the rules one by one.
"""

from collections import Counter

import numpy as np
import pytest

import shallows as sh
from independent.nscc import Rules, incast
from shallows.why import record, walk

RATE_GBPS, FRAME, HEADER, RTT_US = 400, 4096, 40, 8
TARGET_US = 0.75 * RTT_US
PROPAGATION_NS = RTT_US * 1000 - 2 * (FRAME + 64) * 8 / RATE_GBPS
"""The round trip less the time of a frame and of its answer on two links each."""


def scenario(senders, traffic, **keys):
    return sh.Scenario(
        topology={
            "kind": "star",
            "hosts": senders + 1,
            "rate": f"{RATE_GBPS}Gbps",
            "rtt": f"{PROPAGATION_NS:.1f}ns",
        },
        network={"mtu": f"{FRAME}B", "header": f"{HEADER}B"},
        cc="nscc",
        traffic=[traffic],
        **keys,
    )


def test_ports_mark_and_trim_as_ultra_ethernet_does():
    """400 Gbps and 8 us are 400,000 B: a ramp at dequeue from 80 to 320 KB, and trimming at 400 KB."""
    made = scenario(2, {"kind": "long-lived"}, duration="1ms")
    queue = made.queues[0]
    assert queue.marks is not None
    assert queue.trimming is not None
    assert (queue.marks.kind, queue.marks.at) == ("red", "dequeue")
    given = [queue.marks.parameters[key] for key in ("kmin", "kmax", "pmax")]
    assert given == pytest.approx([80_000, 320_000, 1], rel=1e-4)
    assert queue.trimming.threshold == pytest.approx(400_000, rel=1e-4)
    assert made.algorithms[0].parameters["base_rtt"] == pytest.approx(RTT_US * 1e-6, rel=1e-4)


def test_a_ramp_that_is_set_stays():
    made = scenario(2, {"kind": "long-lived"}, duration="1ms")
    made = made.replace({"network.marking": {"kind": "red", "kmin": "50KB", "kmax": "100KB"}})
    assert made.queues[0].marks.parameters["kmin"] == 50_000


LAST_HOP = {"network.trimming": {"threshold": "600KB"}}
"""1.5 bandwidth-delay products, as UE has at the last hop, which the only port here is."""


def long_lived(senders, seed=1):
    """100 round trips to settle, and 600 that count."""
    made = scenario(
        senders,
        {"kind": "long-lived"},
        duration=f"{700 * RTT_US}us",
        warmup=f"{100 * RTT_US}us",
        seed=seed,
    )
    return sh.run(made.replace(LAST_HOP))


def jain(shares):
    return shares.sum() ** 2 / (len(shares) * (shares**2).sum())


@pytest.mark.parametrize(
    ("senders", "least", "most"), [(2, 0.93, 1.08), (8, 0.93, 1.08), (16, 1.05, 1.11), (32, 1.16, 1.25)]
)
def test_the_mean_delay_exceeds_the_target_by_what_senders_add(senders, least, most):
    """Bands of the independent simulation; the link is full, and shares are equal within half a percent."""
    run = long_lived(senders)
    port = run.summary["bottleneck"]
    assert least <= port["delay_mean_us"] / TARGET_US <= most
    assert port["utilization"] >= 0.995
    assert jain(run.flows.goodput_gbps) >= 0.97
    assert run.summary["flows"]["timeouts"] == port["dropped"] == 0


@pytest.mark.parametrize(("senders", "size"), [(2, 1), (4, 8), (8, 1), (8, 8), (16, 4), (32, 1)])
def test_the_last_answer_of_an_incast_comes_within_three_round_trips_of_its_bytes(senders, size):
    """Megabytes. The last answer comes half a round trip after the last byte."""
    traffic = {"kind": "incast", "senders": senders, "size": f"{size}MB"}
    run = sh.run(scenario(senders, traffic, duration="until-done").replace(LAST_HOP))
    packets = -(-size * 10**6 // (FRAME - HEADER))
    bytes_us = senders * (size * 10**6 + HEADER * packets) * 8 / (RATE_GBPS * 1000)
    late_us = run.flows.fct_us.max() + RTT_US / 2 - bytes_us - RTT_US
    assert 0 <= late_us <= 3 * RTT_US
    assert run.summary["network"]["trimmed"] > 0
    assert run.summary["flows"]["timeouts"] == run.summary["network"]["dropped"] == 0


def test_without_trimming_what_is_lost_is_sent_again_after_a_timeout():
    """16 first windows of 600 KB into 800 KB of buffer: most of them is lost at once, and found by time."""
    traffic = {"kind": "incast", "senders": 16, "size": "2MB", "jitter": "164ns"}
    made = scenario(16, traffic, duration="until-done")
    changes = {"network.trimming": False, "network.buffer": "800KB", "hosts.rto_initial": "200us"}
    run = sh.run(made.replace(changes | {"cc": {"name": "nscc", "trimming": False}}))
    assert run.summary["network"]["dropped"] > 0 < run.summary["flows"]["timeouts"]
    rules = Rules(rate=RATE_GBPS * 1e9, rtt=RTT_US * 1e-6, rto=200e-6)
    ends_us = [
        max(incast(rules, 16, 2_000_000, seed=seed, jitter=164e-9, buffer=800e3, kmin=80e3, kmax=320e3)) * 1e6
        for seed in range(3)
    ]
    assert 0.97 * min(ends_us) <= run.flows.fct_us.max() <= 1.03 * max(ends_us)


MRC = {"name": "mrc", "trimming": False, "value_probe": "1s"}
"""Without probes of entropy values, which the independent simulation does not have."""
ALONE = [{"name": "nscc", "trimming": False}, MRC, MRC | {"silence": 0, "reordering": 0}]


@pytest.mark.parametrize("cc", ALONE)
@pytest.mark.parametrize(
    ("links", "us"),
    [(["s0->h1"], 30), (["h1->s0"], 30), (["s0->h1"], 3000), (["s0->h1", "h1->s0"], 300)],
)
def test_a_lost_window_takes_as_long_as_with_a_timer_for_each(cc, links, us):
    """8 MB at 100 Gbps whose window of 37 packets is lost: the independent simulation has one timer for each
    packet, RTO_INIT 2^retries (UE 1.0.3). The flow ends within 3 %.
    """
    faults = [{"link": link, "kind": "down", "at": "100us", "until": f"{100 + us}us"} for link in links]
    end_us = sh.run(alone(cc, faults)).flows.fct_us[0]
    down = (100e-6, 100e-6 + us * 1e-6)
    (end,) = incast(
        rules(cc), 1, 8_000_000, kmin=20e3, kmax=80e3,
        down=down if "s0->h1" in links else (), reverse_down=down if "h1->s0" in links else (),
    )  # fmt: skip
    assert end_us == pytest.approx(end * 1e6, rel=0.03)


def rules(cc):
    """Those of the independent simulation."""
    times = {"silence": 4.0, "reordering": 1.5} if cc == MRC else {}
    return Rules(rate=100e9, rtt=8e-6, rto=1e-3, **times)


def alone(cc, faults, seed=1):
    """A flow of 8 MB over a star of 100 Gbps and 8 us."""
    return sh.Scenario(
        duration="until-done",
        seed=seed,
        cc=cc,
        topology={"kind": "star", "hosts": 2, "rate": "100Gbps", "rtt": "7334.4ns"},
        network={"mtu": f"{FRAME}B", "header": f"{HEADER}B", "trimming": False, "buffer": "500KB"}
        | {"marking": {"kind": "red", "kmin": "20KB", "kmax": "80KB", "pmax": 1, "at": "dequeue"}},
        hosts={"rto_initial": "1ms"},
        traffic=[{"kind": "trace", "flows": [[0.0, "h0", "h1", 8_000_000]]}],
        faults=faults,
    )


LOST = ("seed", [1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2, 21))])


@pytest.mark.parametrize("cc", ALONE)
@pytest.mark.parametrize("loss", [0.001, 0.01, 0.05, 0.1])
@pytest.mark.parametrize(*LOST)
def test_lost_packets_are_sent_again_when_the_independent_simulation_does(cc, loss, seed):
    """Each packet is lost with a probability. The independent simulation, which loses the same copies of the
    same packets, ends in the same nanosecond.
    """
    run = sh.run(alone(cc, [{"link": "s0->h1", "kind": "loss", "value": loss}], seed))
    seen = record.of_run(run, np.arange(1))
    packets, hops = seen.tables["packets"], seen.tables["hops"]
    lost_at = seen.outcomes.index("lost")
    lost = set(hops["packet"][hops["outcome"] == lost_at].tolist())
    copies, same = Counter(), set()
    for packet in np.argsort(packets["left_ps"], kind="stable").tolist():
        kind = seen.kinds[packets["kind"][packet]]
        if kind in ("data", "probe"):
            name = int(packets["seq"][packet]) if kind == "data" else None
            same |= {(0, name, copies[name])} if packet in lost else set()
            copies[name] += 1
    assert len(same) == len(lost)
    (end,) = incast(rules(cc), 1, 8_000_000, kmin=20e3, kmax=80e3, lost=same)
    assert run.flows.fct_us[0] == pytest.approx(end * 1e6, abs=1e-3)


@pytest.mark.parametrize("balancing", ["packet", "reps", "bitmap"])
def test_it_is_the_same_on_any_number_of_threads_over_several_paths(balancing):
    made = sh.Scenario(
        duration="until-done",
        cc="nscc",
        topology={"kind": "leaf-spine", "leaves": 4, "spines": 4, "hosts_per_leaf": 4},
        network={"balancing": balancing},
        traffic=[{"kind": "shuffle", "size": "100KB"}],
    )
    one, three = (sh.run(made, threads=threads) for threads in (1, 3))
    assert one.summary["flows"]["completed"] == 16 * 15
    assert one.summary["fingerprint"] == three.summary["fingerprint"]


@pytest.mark.parametrize("balancing", ["flow", "packet"])
def test_why_explains_every_picosecond(balancing):
    """An incast of 16 first windows, most of whose packets are trimmed and sent again."""
    made = scenario(16, {"kind": "incast", "senders": 16, "size": "1MB"}, duration="until-done")
    run = sh.run(made.replace({"network.balancing": balancing}))
    assert run.summary["network"]["trimmed"] > 100
    for flow, its in walk.of_record(record.of_run(run, np.arange(16))).items():
        assert sum(piece.length_ps for piece in its.pieces) == round(run.flows.fct_us[flow] * 1e6)

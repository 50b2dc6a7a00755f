"""Algorithms beside simulations of the same papers that share no code with Shallows (tests/independent)."""

import heapq
import random
from pathlib import Path

import pytest

import shallows as sh
from independent import dx, expresspass, inigo, patched_timely, pi

SCENARIOS = Path(__file__).parents[1] / "scenarios"
OFF = {"queues": "off", "probes": "off"}


def losses(rates, own_port=True, random_times=False, credits=60_000):
    """Shares of credits that senders at constant rates, in shares of what a port serves, lose at it."""
    draw = random.Random(1)
    ports, shared = [expresspass.Port(84) for _ in rates], expresspass.Port(84)
    events = [(draw.random(), i, False, 0) for i in range(len(rates))]
    sent, passed = [0] * len(rates), [0] * len(rates)
    while sum(sent) < credits:
        now, i, arrived, size = heapq.heappop(events)
        if arrived:
            passed[i] += shared.leaves(now, size) is not None
            continue
        sent[i] += 1
        gap = draw.expovariate(1) if random_times and i == 0 else 1 + 0.1 * draw.uniform(-1, 1)
        heapq.heappush(events, (now + gap / rates[i], i, False, 0))
        size = draw.randint(76, 92)
        leaves = ports[i].leaves(now, size) if own_port else now
        if leaves is not None:
            heapq.heappush(events, (leaves + 1, i, True, size))
    return [1 - p / s for p, s in zip(passed, sent, strict=True)]


def test_a_port_spares_the_credits_that_come_in_step_with_it():
    """docs/credits.md: half of the newcomer's credits where a tenth would be in proportion."""
    first, second = losses([1.05, 0.05], own_port=False)
    assert second == pytest.approx(1 / 2, abs=0.04)
    assert first < 0.09
    assert losses([1.05, 0.05])[1] == pytest.approx(0.32, abs=0.05)
    assert losses([1.05, 0.05], own_port=False, random_times=True)[1] == pytest.approx(1 - 1 / 1.1, abs=0.04)


def packets(scenario, flows, rtt_us, mbps, changes):
    """The same dumbbell in the packet world."""
    base = sh.Scenario.load(SCENARIOS / f"{scenario}.toml")
    network = {"topology.hosts": flows, "topology.rate": f"{mbps}Mbps", "topology.rtt": f"{rtt_us}us"}
    return sh.run(base.replace({**network, "traffic.0.flows": flows, **changes}))


@pytest.mark.parametrize(
    ("flows", "rtt_us", "mbps", "seed", "stagger_us"),
    [
        (6, 100, 1000, 3, 0),
        (12, 40, 10_000, 5, 0),
        (16, 300, 1000, 8, 2000),
        (8, 100, 2500, 11, 300),
        (30, 80, 5000, 2, 0),
    ],
)
def test_expresspass_is_the_independent_simulation(flows, rtt_us, mbps, seed, stagger_us):
    """The share of the link, and the sum of all credit rates by what a port serves, within 3 %."""
    spans = {"warmup": "40ms", "duration": "100ms", "seed": seed, "traffic.0.stagger": f"{stagger_us}us"}
    spans |= {"record.flows": "all", "record.queues": "off"}
    result = packets("expresspass", flows, rtt_us, mbps, spans)
    probes = result.probes[(result.probes.name == "credit_rate_mbps") & (result.probes.time_us > 40e3)]
    credits = probes.groupby("flow").value.mean().sum() / (mbps * 84 / 1622)
    used, _, queue, rates = expresspass.simulate(
        flows, rtt_us * 1e-6, 0.1, 0.04, link=mbps * 1e6, seed=seed, stagger=stagger_us * 1e-6
    )
    port = result.summary["bottleneck"]
    assert used == pytest.approx(port["utilization"], rel=0.03)
    assert sum(rates) == pytest.approx(credits, rel=0.03)
    assert 1 < queue < 2.5
    assert 1 < port["queue_max_pkt"] < 2.5


def staggered(kind, flows, mbps, rtt_us, spans, starts_ms, **tables):
    """One long flow from each host, each with its own start."""
    far = flows if kind == "dumbbell" else 0
    ccs = tables.pop("ccs", [{}] * flows)
    traffic = [
        {
            "kind": "long-lived",
            "flows": 1,
            "from": i,
            "to": flows + i if far else flows,
            "start": f"{start}ms",
        }
        | cc
        for i, (start, cc) in enumerate(zip(starts_ms, ccs, strict=True))
    ]
    hosts = flows if kind == "dumbbell" else flows + 1
    topology = {"kind": kind, "hosts": hosts, "rate": f"{mbps}Mbps", "rtt": f"{rtt_us}us"}
    duration, warmup = spans
    return sh.run(
        sh.Scenario(
            duration=f"{duration}ms", warmup=f"{warmup}ms", topology=topology, traffic=traffic, **tables
        )
    )


def mean_window(result, warmup_ms):
    """The mean over time and flows of the window in packets."""
    probes = result.probes[(result.probes.name == "window_pkt") & (result.probes.time_us > warmup_ms * 1e3)]
    return probes.value.mean()


@pytest.mark.parametrize(
    ("starts_ms", "gbps", "link_gbps", "rtt_us", "spans", "more"),
    [
        ([0, 0], [7, 3], 10, 4, (30, 5), {}),
        ([0, 10, 20], [10, 10, 10], 10, 4, (60, 30), {}),
        ([0, 5], [2, 2], 5, 4, (40, 10), {}),
        ([0] * 8, [1] * 8, 10, 10, (30, 10), {"t_low": 80}),
        ([0, 0, 20, 20], [2, 1, 5, 5], 10, 4, (60, 25), {"t_low": 100}),
    ],
)
def test_patched_timely_is_the_independent_simulation(starts_ms, gbps, link_gbps, rtt_us, spans, more):
    """Each flow's goodput, also before rates are equal, and the queue within 3 %."""
    theirs, queue = patched_timely.simulate(
        [start / 1e3 for start in starts_ms], [rate * 1e9 for rate in gbps], *(span / 1e3 for span in spans),
        capacity=link_gbps * 1e9, rtt=rtt_us * 1e-6, **{name: us * 1e-6 for name, us in more.items()},
    )  # fmt: skip
    cc = {"name": "patched-timely@ecn-or-delay", **{name: f"{us}us" for name, us in more.items()}}
    ours = staggered(
        "dumbbell", len(gbps), link_gbps * 1000, rtt_us, spans, starts_ms,
        ccs=[{"cc": cc | {"start_rate": f"{rate}Gbps"}} for rate in gbps],
        network={"mtu": "1048B", "header": "48B", "buffer": "unlimited"}, record=OFF,
    )  # fmt: skip
    assert ours.flows.goodput_gbps.tolist() == pytest.approx(theirs, rel=0.03)
    assert ours.summary["bottleneck"]["queue_mean_pkt"] == pytest.approx(queue, rel=0.03)


@pytest.mark.parametrize(
    ("cc", "flows", "stagger_ms", "mbps", "rtt_us", "spans"),
    [
        ("dx", 3, 1, 10_000, 100, (120, 40)),
        ("dx", 7, 2, 2500, 150, (200, 80)),
        ("dx", 4, 5, 1000, 500, (500, 200)),
        ("dx", 12, 0.5, 40_000, 60, (60, 20)),
        ("dx", 2, 7, 5000, 80, (120, 40)),
        ("dx@as-printed", 10, 1, 10_000, 200, (100, 40)),
        ("dx@as-printed", 7, 2, 2500, 150, (200, 80)),
        ("dx@as-printed", 4, 5, 1000, 500, (500, 200)),
    ],
)
def test_dx_is_the_independent_simulation(cc, flows, stagger_ms, mbps, rtt_us, spans):
    """The mean window and the share of the link within 3 %."""
    starts = [i * stagger_ms for i in range(flows)]
    windows, used, _ = dx.simulate(
        [start / 1e3 for start in starts], *(span / 1e3 for span in spans),
        link=mbps * 1e6, rtt=rtt_us * 1e-6, answer_once=cc == "dx",
    )  # fmt: skip
    ours = staggered(
        "dumbbell", flows, mbps, rtt_us, spans, starts, cc={"name": cc}, network={"buffer": "unlimited"},
        record={"queues": "off", "probes": "100us", "flows": "all"},
    )  # fmt: skip
    assert mean_window(ours, spans[1]) == pytest.approx(sum(windows) / flows, rel=0.03)
    assert ours.summary["bottleneck"]["utilization"] == pytest.approx(used, rel=0.03)


def test_dx_with_windows_of_a_packet_or_two_does_not_wait_long_for_its_acknowledgements():
    """Three flows at 100 Mbps and 200 us, where a packet takes 120 us: 2.7 packets fill the path.

    An acknowledgement covers two packets, or one after 500 us. A flow of one packet has a round of 824 us at
    least, in which the link is idle for 704: three use at least 3 120 / (3 120 + 704) of it. Twenty runs of
    the simulation use between .762 and .823.
    """
    keys = {"link": 100e6, "rtt": 200e-6, "edge": 10e9, "acks_every": 2, "ack_delay": 500e-6}
    starts = [[random.Random(f"{seed} {flow}").random() * 10e-6 for flow in range(3)] for seed in range(6)]
    theirs = [dx.simulate(one, 2.0, 0.5, **keys, seed=seed)[1] for seed, one in enumerate(starts)]
    changes = {"cc": "dx", "hosts.acks_every": 2, "topology.rate": "100Mbps", "topology.rtt": "200us"}
    changes["record"] = OFF
    base = sh.Scenario.load(SCENARIOS / "kernel-three.toml").replace(changes)
    ours = [sh.run(base.replace({"seed": seed})).summary["bottleneck"]["utilization"] for seed in range(1, 4)]
    assert 0.338 < 0.98 * min(theirs) <= min(ours) <= max(ours) <= 1.02 * max(theirs) < 0.9


def test_dx_without_the_choice_of_this_code_leaves_more_of_the_link():
    """dx.rs: counting delays that a cut has answered. Ten flows at 10 Gbps and 200 us."""
    starts = [i * 1e-3 for i in range(10)]
    used = {once: dx.simulate(starts, 0.1, 0.04, answer_once=once)[1] for once in (True, False)}
    assert used[True] == pytest.approx(0.998, abs=0.003)
    assert used[False] == pytest.approx(0.984, abs=0.004)


@pytest.mark.parametrize(
    ("printed", "flows", "stagger_ms", "mbps", "rtt_us", "spans"),
    [
        (None, 5, 300, 500, 4000, (3000, 1600)),
        (None, 2, 100, 500, 4000, (2500, 1000)),
        (None, 3, 20, 2000, 1000, (500, 200)),
        (None, 6, 30, 300, 3000, (2500, 1000)),
        (None, 1, 0, 500, 4000, (2500, 1000)),
        (5, 1, 0, 500, 4000, (2500, 1000)),
        (5, 3, 20, 2000, 1000, (1500, 200)),
        (5, 5, 300, 500, 4000, (3000, 1600)),
        (7, 2, 100, 500, 4000, (2500, 1000)),
        (7, 5, 300, 500, 4000, (3000, 1600)),
    ],
)
def test_inigos_sender_is_the_independent_simulation(printed, flows, stagger_ms, mbps, rtt_us, spans):
    """The mean window and the share of the link within 3 %, so also what it leaves unused of Fig. 2."""
    starts = [i * stagger_ms for i in range(flows)]
    windows, used, _ = inigo.simulate(
        [start / 1e3 for start in starts], *(span / 1e3 for span in spans),
        link=mbps * 1e6, rtt=rtt_us * 1e-6, printed=printed,
    )  # fmt: skip
    cc = {"name": f"inigo@algorithm-{printed}" if printed else "inigo"}
    ours = staggered(
        "star", flows, mbps, rtt_us, spans, starts, cc=cc, network={"buffer": "unlimited"},
        record={"queues": "off", "probes": "1ms", "flows": "all", "ports": [f"s0->h{flows}"]},
        hosts={"nic": "fifo"},
    )  # fmt: skip
    assert mean_window(ours, spans[1]) == pytest.approx(sum(windows) / flows, rel=0.03)
    assert ours.summary["bottleneck"]["utilization"] == pytest.approx(used, rel=0.03)


def test_inigos_receiver_as_printed_fills_the_link_or_a_twentieth_by_the_phase_of_its_ticks():
    """Algorithm 8 takes echoes for arrivals: docs/windows.md. Five DCTCP flows at 500 Mbps and 4 ms."""
    ours, theirs = [], []
    for seed in range(1, 7):
        draw = random.Random(seed)
        starts = [round(100 * i + draw.random(), 3) for i in range(5)]
        _, used, _ = inigo.simulate(
            [start / 1e3 for start in starts], 2.0, 1.0, dctcp=True, receiver="printed", mark_at=424
        )
        theirs.append(used)
        cc = {"name": "dctcp", "receiver": {"kind": "inigo@tsecr", "mark": True}}
        run = staggered(
            "star", 5, 500, 4000, (2000, 1000), starts, cc=cc, hosts={"nic": "fifo"},
            network={"buffer": "unlimited", "marking": {"kind": "step", "threshold": "424pkt"}},
            record=OFF | {"ports": ["s0->h5"]},
        )  # fmt: skip
        ours.append(run.summary["bottleneck"]["utilization"])
    for used in (ours, theirs):
        assert min(used) < 0.1
        assert max(used) > 0.9


@pytest.mark.parametrize(("settled", "joining", "stands"), [(10, 5, False), (10, 20, True), (0, 30, True)])
def test_dx_flows_that_join_at_once_can_leave_a_standing_queue(settled, joining, stands):
    """docs/windows.md: m flows with a wrong base against what the others give up. Headroom of two packets."""
    starts = [i * 1e-3 for i in range(settled)] + [0.06 + i * 52e-6 for i in range(joining)]
    flows = settled + joining
    _, _, theirs = dx.simulate(starts, 0.25, 0.2, headroom=2.401e-6)
    ours = staggered(
        "dumbbell", flows, 10_000, 200, (250, 200), [round(start * 1e3, 3) for start in starts],
        cc={"name": "dx@ns-2"}, network={"buffer": "unlimited"}, record=OFF,
    )  # fmt: skip
    for queue in (theirs, ours.summary["bottleneck"]["queue_mean_pkt"]):
        assert (queue > 24) == stands
        assert flows / 2 < queue < 150


def test_dx_flows_that_join_at_once_with_small_windows_leave_none():
    """An initial window of two packets."""
    assert dx.simulate([i * 52e-6 for i in range(30)], 0.25, 0.2, headroom=2.401e-6, window=2)[2] < 30


@pytest.mark.nightly  # 10 s
@pytest.mark.parametrize("flows", [2, 10])
def test_random_marks_are_what_makes_the_queue_under_pi_vary(flows):
    """docs/rates.md: as much as the reference, in packets too, and 3 % of it with evenly spaced marks."""
    mean, spaced = pi.queue(flows, random_marks=False)
    assert mean == pytest.approx(200, rel=0.05)
    assert spaced < 0.05 * 200
    mean, drawn = pi.queue(flows, random_marks=True)
    assert mean == pytest.approx(200, rel=0.25)
    marking = {"kind": "pi", "q_ref": "200KB"}
    run = staggered(
        "dumbbell", flows, 40_000, 4, (600, 200), [0] * flows, cc={"name": "dcqcn@ecn-or-delay"},
        network={"mtu": "1000B", "header": "48B", "buffer": "unlimited", "marking": marking},
        record={"queues": "20us", "probes": "off", "ports": ["s0->s1"]},
    )  # fmt: skip
    packets = run.queues[run.queues.time_us > 200e3].queue_pkt
    assert packets.mean() == pytest.approx(200, rel=0.25)
    assert 0.6 * 200 < drawn < 1.3 * 200
    assert 0.6 * 200 < packets.std() < 1.4 * 200


def test_inigos_receiver_shares_at_a_tick_of_a_millisecond_what_fine_ticks_do_not():
    """Three CUBIC flows half a second apart, 100 Mbps and 10 ms."""
    shares = {}
    for resolution in ("1ms", "1us"):
        run = staggered(
            "star", 3, 100, 10_000, (6000, 2000), [0, 500, 1000],
            cc={"name": "cubic", "receiver": {"kind": "inigo", "resolution": resolution}},
            network={"buffer": "unlimited"}, record=OFF,
        )  # fmt: skip
        rates = run.flows.goodput_gbps
        shares[resolution] = rates.sum() ** 2 / 3 / (rates**2).sum()
    assert shares["1ms"] > 0.99
    assert shares["1us"] < 0.7

"""Links whose rate or delay changes during a run; the expected times follow from rates and delays by hand."""

import pytest

import shallows as sh

EDGES = [
    ["h0", "s0", "10Gbps", "10us"],
    ["s0", "s1", "1Gbps", "100us"],
    ["s1", "h1", "10Gbps", "10us"],
]
"""A frame of 1500 B takes 1.2 us, 12 us and 1.2 us."""
MIDDLE = {"link": "s0->s1"}
EACH_20_US = {"kind": "trace", "flows": [[20e-6 * k, 0, 1, 1460] for k in range(100)]}
"""Messages of one full frame, which never meet in a queue."""
LONG = {"kind": "long-lived", "flows": 1, "jitter": "0s"}
NO_TIMEOUTS = {"rto_min": "100ms", "rto_initial": "100ms", "gap": 0.0}
FALLING = [
    {**MIDDLE, "kind": "delay", "value": "300us"},
    {**MIDDLE, "kind": "delay", "value": "50us", "at": "1ms"},
]


def line(*faults, **tables):
    """Two hosts and two switches in a row."""
    topology = {"kind": "graph", "hosts": ["h0", "h1"], "edges": EDGES}
    given = {"duration": "3ms", "cc": "reno", "topology": topology, "traffic": [EACH_20_US]}
    return sh.Scenario(**{**given, "faults": list(faults), **tables})


def completions(*faults, **tables):
    """The completion times of the messages, in microseconds."""
    return sh.run(line(*faults, **tables)).columns("flows")["fct_us"]


def delivered(run):
    """Bytes of payload that have arrived in all."""
    return round(run.summary["flows"]["goodput_gbps"] * run.summary["duration_s"] * 1e9 / 8)


def test_a_link_is_as_long_as_a_fault_says():
    """1.2 + 10 + 12 + 100 + 1.2 + 10 us, then 300 and 50 us in place of 100.

    The frame of message k begins to cross the middle at 20 k + 11.2 us: from 500 us on that of message 25.
    """
    longer = {**MIDDLE, "kind": "delay", "value": "300us", "at": "500us"}
    shorter = {**MIDDLE, "kind": "delay", "value": "50us", "at": "500us"}
    at_first, after = completions(longer)[:25], completions(longer)[25:]
    assert at_first == pytest.approx([134.4] * 25, abs=1e-6)
    assert after == pytest.approx([334.4] * 75, abs=1e-6)
    # Frames that would arrive within the 50 us after the last one of before arrive with it.
    assert completions(shorter)[32:] == pytest.approx([84.4] * 68, abs=1e-6)
    # The least delay is the one of the fault, and `until` ends it.
    assert completions({**shorter, "until": "800us"})[41:] == pytest.approx([134.4] * 59, abs=1e-6)
    assert completions({**MIDDLE, "kind": "delay", "value": "0s"}) == pytest.approx([34.4] * 100, abs=1e-6)


def test_frames_keep_their_order_when_the_delay_falls():
    """The delay falls from 300 to 50 us at 1 ms.

    The frame of message 49 leaves s0 at 991.2 to 1003.2 us and arrives at 1303.2 us. That of message 50 + j
    would arrive at 1073.2 + 20 j us: up to j = 11 it arrives with that one, and waits for 1 + j frames of
    1.2 us at s1. The next one arrives at 1313.2 us, where the port of s1 is busy until 1303.2 + 13 * 1.2 =
    1318.8 us.
    """
    expected = [334.4] * 50
    expected += [1303.2 + (2 + j) * 1.2 + 10 - (1000 + 20 * j) for j in range(12)]
    expected += [1318.8 + 1.2 + 10 - 1240] + [84.4] * 37
    assert completions(*FALLING) == pytest.approx(expected, abs=1e-6)


def test_a_frame_of_before_the_first_change_is_not_overtaken():
    """At 7 ms the delay falls from 5 ms to nothing, with 5 ms of frames on the way.

    Frame i begins at 11.2 + 12 i us. Number 582 ends at 7007.2 us and arrives at 12,007.2 us; those that end
    until then arrive with it. The port of s1 is free at 12,007.2 us and sends one each 1.2 us. By 12,088.8,
    1.2 and 10 us before the end, it has sent 582 + (12088.8 - 12007.2) / 1.2 = 650. With a window of 4,000
    packets all are sent before any acknowledgement.
    """
    edges = [EDGES[0], ["s0", "s1", "1Gbps", "5ms"], EDGES[2]]
    scenario = line(
        {**MIDDLE, "kind": "delay", "value": "0s", "at": "7ms"},
        duration="12.1ms",
        cc={"name": "fixed", "window": "4000pkt"},
        network={"buffer": "5000pkt"},
        topology={"kind": "graph", "hosts": ["h0", "h1"], "edges": edges},
        traffic=[LONG],
    )
    run = sh.run(scenario)
    assert delivered(run) == 650 * 1460


def test_a_link_becomes_faster_than_its_own_rate():
    """At 10 Gbps the middle takes 1.2 us in place of 12 us: 1.2 + 10 + 1.2 + 100 + 1.2 + 10 us."""
    faster = {**MIDDLE, "kind": "rate", "value": "10Gbps", "at": "500us"}
    expected = [134.4] * 25 + [123.6] * 75
    assert completions(faster) == pytest.approx(expected, abs=1e-6)
    expected[50:] = [134.4] * 50
    assert completions({**faster, "until": "1ms"}) == pytest.approx(expected, abs=1e-6)


def test_a_full_link_that_becomes_faster_carries_more():
    """1 Gbps until 10 ms, then 5 Gbps, until 20 ms.

    Frame 833 ends at 11.2 + 833 * 12 = 10,007.2 us; the others take 2.4 us each. Those that end by
    20,000 - 111.2 us arrive: 833 + (19888.8 - 10007.2) / 2.4 = 4950.
    """
    scenario = line(
        {**MIDDLE, "kind": "rate", "value": "5Gbps", "at": "10ms"},
        duration="20ms",
        cc={"name": "fixed", "window": "1000pkt"},
        network={"buffer": "2000pkt"},
        traffic=[LONG],
    )
    run = sh.run(scenario)
    assert delivered(run) == 4950 * 1460
    (warning,) = (line for line in run.summary["warnings"] if "rate" in line)
    assert "s0->s1 was slower before, with 1Gbps of 5Gbps" in warning


def test_a_link_that_holds_frames_delivers_them_together():
    """Frame k would arrive at s1 at 20 k + 123.2 us. It arrives at the next multiple of 100 us.

    The n-th of those that arrive together waits for n - 1 frames of 1.2 us. Frames that begin to leave after
    1 ms are not held, but do not overtake: 50 to 53, which would arrive from 1123.2 us on, arrive at 1200 us
    with number 49. The port of s1 is busy until 1206 us then, and number 54 arrives at 1203.2 us.
    """
    hold = {**MIDDLE, "kind": "hold", "value": "100us", "until": "1ms"}
    arrives = [100 * -(-(20 * k + 123.2) // 100) for k in range(50)] + [1200] * 4
    place = [arrives[:k].count(at) for k, at in enumerate(arrives)]
    expected = [
        at + 1.2 * (1 + n) + 10 - 20 * k for k, (at, n) in enumerate(zip(arrives, place, strict=True))
    ]
    expected += [1206 + 1.2 + 10 - 20 * 54, *[134.4] * 45]
    assert completions(hold) == pytest.approx(expected, abs=1e-6)


def test_acknowledgements_that_are_held_make_bursts():
    """A window of 100 packets leaves each round trip, or each 20 ms if acknowledgements wait for that.

    In 200 ms a window leaves at once and one after each of the multiples 20, 40 and so on to 180 ms.
    """
    tables = {
        "duration": "199ms",
        "cc": {"name": "fixed", "window": "100pkt"},
        "traffic": [LONG],
    }
    hold = {"link": "s1->s0", "kind": "hold", "value": "20ms"}
    assert delivered(sh.run(line(hold, **tables))) == 10 * 100 * 1460
    assert delivered(sh.run(line(**tables))) > 100 * 100 * 1460


def test_a_share_of_frames_is_late():
    """5,000 messages, of which a tenth are late: 500, within five deviations of 21. None meets another."""
    late = {**MIDDLE, "kind": "reorder", "value": {"share": 0.1, "delay": "5.01ms"}}
    every = {"kind": "trace", "flows": [[20e-6 * k, 0, 1, 1460] for k in range(5000)]}
    tables = {"duration": "110ms", "traffic": [every], "hosts": NO_TIMEOUTS}
    scenario = line(late, **tables)
    run = sh.run(scenario)
    times = run.columns("flows")["fct_us"]
    are_late = times > 1000
    assert times[are_late] == pytest.approx(134.4 + 5010, abs=1e-6)
    assert times[~are_late] == pytest.approx(134.4, abs=1e-6)
    assert abs(are_late.sum() - 500) < 106
    assert run.summary["random"] == ["faults.0"]
    other = sh.run(scenario.set("seed", 2)).columns("flows")["fct_us"] > 1000
    assert (other != are_late).any()


def test_frames_that_are_late_are_overtaken():
    """A sender takes them for lost if three others arrive before, and sends again what has arrived."""
    late = {**MIDDLE, "kind": "reorder", "value": {"share": 0.02, "delay": "1ms"}}
    tables = {"duration": "100ms", "traffic": [LONG], "network": {"buffer": "unlimited"}}
    run = sh.run(line(late, **tables))
    assert run.columns("flows")["retransmits"][0] > 10
    assert run.summary["network"]["lost"] == run.summary["network"]["dropped"] == 0
    assert sh.run(line(**tables)).columns("flows")["retransmits"][0] == 0


def fabric(**tables):
    """A fabric whose links between switches change all the time, in several domains."""
    faults = [
        {"link": f"leaf{leaf}->spine{spine}", "kind": kind, "value": value, "at": f"{at}us"}
        for at, kind, value in [
            (40, "delay", "3us"), (90, "delay", "100ns"), (130, "delay", "8us"), (170, "delay", "500ns"),
            (60, "rate", "40Gbps"), (150, "rate", "2Gbps"), (50, "hold", "4us"),
            (20, "reorder", {"share": 0.2, "delay": "7us"}), (200, "loss", 0.01),
        ]
        for leaf in range(4)
        for spine in range(2)
    ]  # fmt: skip
    given = {
        "duration": "400us",
        "cc": "dctcp",
        "topology": {"kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 3},
        "faults": faults,
        "traffic": [{"kind": "poisson", "sizes": "30KB", "load": 0.7, "flows": 300}],
    }
    return sh.Scenario(**{**given, **tables})


@pytest.mark.parametrize("balancing", ["flow", "packet", "queue"])
def test_changes_are_the_same_in_any_number_of_threads(balancing):
    runs = [sh.run(fabric(network={"balancing": balancing}), threads=threads) for threads in (1, 2, 3)]
    assert len({run.summary["fingerprint"] for run in runs}) == 1
    unchanged = sh.run(fabric(network={"balancing": balancing}, faults=[]))
    assert runs[0].summary["fingerprint"] != unchanged.summary["fingerprint"]


def test_a_frame_is_exported_with_the_time_at_which_it_left():
    """That of message k leaves s0 at 20 k + 11.2 to 23.2 us, however long it then takes."""
    taps = sh.run(line(*FALLING)).taps(["s0->s1"], nics=False)
    frames = {name: column[taps.tapped] for name, column in taps.frames.items()}
    assert frames["begun_ps"].tolist() == [20_000_000 * k + 11_200_000 for k in range(100)]
    assert frames["ended_ps"].tolist() == [20_000_000 * k + 23_200_000 for k in range(100)]


def test_a_snapshot_tells_frames_on_a_longer_link_from_those_in_its_queue():
    """The frame of message k leaves s0 at 20 k + 11.2 to 23.2 us.

    At 900 us frames are on the way that left since 600 us: 29 (603.2 us) to 43 (883.2 us). Of that of
    message 44, 3.2 us of 12 are left: 400 B.
    """
    (port,) = sh.run(line(FALLING[0])).at("900us").ports.query('port == "s0->s1"').to_dict("records")
    assert (port["wire_frames"], port["wire_bytes"]) == (15, 15 * 1500)
    assert (port["queue_frames"], port["queue_bytes"]) == (1, 400)

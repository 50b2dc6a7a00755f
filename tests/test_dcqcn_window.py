"""The window and the acknowledgements of DCQCN in the HPCC simulator."""

import shallows as sh


def hpcc(window, senders=16):
    """`run.py --cc dcqcn` and `dcqcn_vwin` of the HPCC simulator for 100 Gbps, with a lower threshold of
    pauses, as its users advise (issue 14: pauses with DCQCN alone, none with a window).
    """
    return sh.run(
        sh.Scenario(
            duration="until-done",
            cc={"name": "dcqcn@hpcc-vwin", "has_win": window, "var_win": window},
            topology={"kind": "star", "hosts": senders + 1, "rate": "100Gbps", "rtt": "4us"},
            network={
                "mtu": "1048B",
                "header": "48B",
                "shared": {"size": "4MB", "alpha": 0.125},
                "pfc": {"hysteresis": "3072B"},
                "marking": {"kind": "red", "kmin": "400KB", "kmax": "1.6MB", "pmax": 0.2, "at": "dequeue"},
            },
            traffic=[{"kind": "incast", "senders": senders, "size": "1MB"}],
        )
    )


def test_a_window_of_dcqcn_keeps_pauses_away():
    """A window is 100 Gbps x (4 us + a frame and an acknowledgement at two hops) = 52 KB. 16 of them leave an
    eighth of 3.1 MB to each link, 390 KB, which none reaches. Rates alone fill it, as users say.
    """
    run, alone = hpcc(True), hpcc(False)
    rtt_us = 4 + 2 * (1048 + 64) * 8 / 100e3
    window_pkt = -(-100e3 / 8 * rtt_us // 1000)
    queue_pkt = run.ports.queue_max_pkt.max()
    assert run.ports.pauses.sum() == 0
    assert alone.ports.pauses.sum() > 16  # that of each sender, and more than once
    assert 15 * window_pkt - 16 < queue_pkt <= 16 * window_pkt
    assert (4e6 - 16 * window_pkt * 1048) / 8 > 7 * window_pkt * 1048
    assert run.summary["network"]["dropped"] == 0
    assert not run.flows.retransmits.any()


def test_acknowledgements_cover_whole_packets():
    """A flow of 100 packets: an acknowledgement for each, or for 4000 B, four packets each."""
    for interval, answers in (("1B", 100), ("4000B", 25), ("3001B", 25), ("0B", 100)):
        run = sh.run(
            sh.Scenario(
                duration="until-done",
                cc={"name": "dcqcn", "ack_interval": interval},
                topology={"kind": "star", "hosts": 2, "rate": "100Gbps", "rtt": "4us"},
                network={"mtu": "1048B", "header": "48B", "marking": "none"},
                traffic=[{"kind": "trace", "flows": [[0, 0, 1, 100_000]]}],
            )
        )
        sent = {row.port: row.sent for row in run.ports.itertuples()}
        assert sent["h1->s0"] == answers, interval

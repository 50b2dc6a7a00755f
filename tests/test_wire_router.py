"""A Linux router serves algorithms with tc alone: it meters credits, and marks. Nightly, as root.

The bands were written down before these measurements, for two cores and a kernel without RED. Round trips of
the namespaces are about 100 us, so that nearly all of a window waits in the router.
"""

import json
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import shallows as sh
from router import flows, network, two_of_three, why_not
from router import sh as run

pytestmark = [pytest.mark.kernel, pytest.mark.nightly]

MARK = Path(__file__).parents[1] / "bpf" / "mark.bpf.c"
FRAME, CREDIT, GAP = 1514, 100.1, 24
"""Bytes that tc counts, and those of preamble and gap. Credits have 98 bytes or up to 8 more."""
SECONDS, WARM_UP_S, WINDOW_S = 16, 7, 4


@pytest.fixture(autouse=True)
def _can_run():
    if reason := why_not():
        pytest.skip(reason)


def shape(router, device, kbits, limit):
    """Make `device` a link of a rate that counts preambles and gaps, with a buffer of `limit` frames."""
    tc = f"ip netns exec {router} tc"
    run(f"{tc} qdisc add dev {device} root handle 1: htb default 2")
    rate = f"rate {kbits}kbit burst {2 * FRAME} quantum {FRAME}"
    run(f"{tc} class add dev {device} parent 1: classid 1:2 htb {rate}")
    run(f"{tc} qdisc add dev {device} parent 1:2 handle 2: pfifo limit {limit}")
    return tc


def statistics(router, device):
    """By handle, the row of each qdisc."""
    return {
        row["handle"]: row
        for row in json.loads(run(f"ip netns exec {router} tc -s -j qdisc show dev {device}"))
    }


def counted(router, device):
    """(time, packets that have left `device`) of the quickest of five readings: one may wait for the ends."""

    def reading():
        begin = time.monotonic()
        packets = statistics(router, device)["2:"]["packets"]
        took_s = time.monotonic() - begin
        return took_s, begin + took_s / 2, packets

    return min(reading() for _ in range(5))[1:]


def jain(seen):
    """Of the packets between the 5th and the 9th second of each flow."""
    packets = np.array([sum(row[2] for row in end["rows"] if 5 < row[0] <= 9) for end in seen], float)
    return packets.sum() ** 2 / (len(packets) * (packets**2).sum())


@pytest.mark.parametrize(("rate_mbps", "least"), [(50, 0.95), (100, 0.95), (200, 0.90)])
@two_of_three
def test_expresspass_fills_the_metered_share(rate_mbps, least, capsys):
    link_kbit = rate_mbps * 1000 * FRAME // (FRAME + GAP)
    # A credit and its frame share a link in the paper (§3.1), so that credits of both directions fit.
    credits_per_s = rate_mbps * 1e6 / 8 / (FRAME + CREDIT + 2 * GAP)
    with network() as (sender, router, receiver):
        shape(router, "r2", link_kbit, 250)
        tc = shape(router, "r1", 1_000_000, 1000)
        burst = "burst 250 cburst 250"
        rate = f"{round(credits_per_s * CREDIT * 8)}bit"
        run(f"{tc} class add dev r1 parent 1: classid 1:1 htb rate {rate} {burst} quantum {FRAME}")
        run(f"{tc} qdisc add dev r1 parent 1:1 handle 3: pfifo limit 8")
        run(f"{tc} filter add dev r1 parent 1: protocol ip u32 match ip tos 0xb8 0xfc flowid 1:1")
        words = ("--cc", "expresspass", "--seconds", str(SECONDS), "--rate-limit", f"{rate_mbps}Mbps")
        with flows(sender, receiver, 8, *words) as ended:
            time.sleep(WARM_UP_S)
            begin, before = counted(router, "r2")
            time.sleep(WINDOW_S)
            end, after = counted(router, "r2")
            sent, seen = ended()
        meter, data = statistics(router, "r1")["3:"], statistics(router, "r2")["2:"]
    share = (after - before) / (end - begin) / credits_per_s
    refused = meter["drops"] / (meter["drops"] + meter["packets"])
    frames = sum(end["packets"] for end in seen)
    repeated = sum(end["retransmits"] for end in sent) / frames
    with capsys.disabled():
        print(
            f"\n{rate_mbps} Mbps: {share:.3f} of the share, {meter['packets']} credits for {frames} frames, "
            f"{refused:.2f} of the credits and {data['drops']} frames dropped, Jain {jain(seen):.4f}, "
            f"{repeated:.5f} sent again"
        )
    if frames > meter["packets"]:  # whatever else the machine does: it is not tried again
        pytest.fail(f"{frames} frames for the {meter['packets']} credits that have passed")
    assert data["drops"] == 0
    assert refused >= 0.30
    assert least <= share <= 1.03
    assert jain(seen) >= 0.98
    if rate_mbps <= 100:
        assert repeated <= 0.001


def marks(router, folder, kmin, kmax, pmax):
    """Mark what leaves r2 by the program of tc."""
    if not shutil.which("clang"):
        pytest.skip("no clang on the PATH")
    machine = f"-I/usr/include/{run('uname -m').strip()}-linux-gnu"
    constants = (f"-DKMIN={kmin}", f"-DKMAX={kmax}", f"-DPMAX={round(1000 * pmax)}")
    words = [
        "clang",
        "-O2",
        "-g",
        "-target",
        "bpf",
        machine,
        *constants,
        "-c",
        str(MARK),
        "-o",
        folder / "mark.o",
    ]
    subprocess.run(words, check=True)
    run(f"ip netns exec {router} tc qdisc add dev r2 clsact")
    run(f"ip netns exec {router} tc filter add dev r2 egress bpf da obj {folder}/mark.o sec tc")


def backlog(router, seconds):
    """Mean of samples of the frames that wait at r2."""
    end, samples = time.monotonic() + seconds, []
    while time.monotonic() < end:
        samples.append(statistics(router, "r2")["2:"]["qlen"])
        time.sleep(0.01)
    return float(np.mean(samples))


STEP = {"kind": "step", "threshold": "20pkt", "at": "enqueue"}
RAMP = {"kind": "red", "kmin": "1pkt", "kmax": "20pkt", "pmax": 0.01, "at": "enqueue"}
"""The program marks what comes. Marks on what leaves hold a longer queue: 18.8 packets, and 7.2 so."""


@pytest.mark.parametrize(
    ("cc", "marking", "thresholds", "packets", "share"),
    [
        ("dctcp", STEP, (20 * FRAME, 20 * FRAME, 1), 6, 0.30),
        ("dcqcn", RAMP, (FRAME, 20 * FRAME, 0.01), 0, 0.30),
    ],
    ids=["step", "ramp"],
)
@two_of_three
def test_marks_of_a_router_hold_the_queue_of_the_packet_world(
    cc, marking, thresholds, packets, share, tmp_path, capsys
):
    expected = sh.run(
        sh.Scenario(
            duration="9s",
            warmup="5s",
            topology={
                "kind": "dumbbell",
                "hosts": 4,
                "rate": "100Mbps",
                "edge_rate": "100Mbps",
                "rtt": "200us",
            },
            traffic=[{"kind": "long-lived", "flows": 4, "stagger": "200ms"}],
            network={"buffer": "250pkt", "marking": marking},
            cc={"name": cc},
        )
    ).summary["bottleneck"]
    with network() as (sender, router, receiver):
        shape(router, "r2", 100_000 * FRAME // (FRAME + GAP), 250)
        marks(router, tmp_path, *thresholds)
        words = ("--cc", cc, "--seconds", str(SECONDS), "--rate-limit", "100Mbps")
        with flows(sender, receiver, 4, *words) as ended:
            time.sleep(WARM_UP_S)
            begin, before = counted(router, "r2")
            queue = backlog(router, WINDOW_S)
            end, after = counted(router, "r2")
            ended()
            drops = statistics(router, "r2")["2:"]["drops"]
    used = (after - before) / (end - begin) * (FRAME + GAP) * 8 / 100e6
    with capsys.disabled():
        print(
            f"\n{cc}: utilization {expected['utilization']:.3f}/{used:.3f}, "
            f"queue {expected['queue_mean_pkt']:.1f}/{queue:.1f} packets, {drops} drops"
        )
    assert 0.93 <= used <= 1.01
    assert queue == pytest.approx(
        expected["queue_mean_pkt"], abs=max(packets, share * expected["queue_mean_pkt"])
    )


def test_without_marks_the_router_drops_and_flows_recover(capsys):
    with network() as (sender, router, receiver):
        shape(router, "r2", 98_000, 50)
        words = ("--cc", "dctcp", "--seconds", "8", "--rate-limit", "100Mbps")
        with flows(sender, receiver, 4, *words) as ended:
            sent, seen = ended()
        data = statistics(router, "r2")["2:"]
    with capsys.disabled():
        print(
            f"\nwithout marks: {data['drops']} drops of {data['packets']}, "
            f"{[end['timeouts'] for end in sent]} timeouts"
        )
    assert data["drops"] > 0
    assert sum(end["retransmits"] for end in sent) >= data["drops"] // 2
    # Rows are of 100 ms, timeouts of 71 ms and then 142: a frame lost twice leaves no three rows empty.
    packets = np.array([[row[2] for row in end["rows"][-20:-1]] for end in seen])
    assert (packets[:, :-2] + packets[:, 1:-1] + packets[:, 2:] > 0).all()

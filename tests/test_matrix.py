"""Every topology with every algorithm on defaults, from 100 Mbps to 1.6 Tbps, with frames of 1500 to 9000 B.

Four long flows share the port to one host. `SHALLOWS_MATRIX=full` runs all 5,040 combinations (ten minutes of
processor time); otherwise a subset has every algorithm with every rate once, and every topology and frame.
"""

import os
import re
import tomllib

import numpy as np
import pytest

import matrix
import shallows as sh
from shallows.algorithms.algorithm import catalog
from shallows.algorithms.defaults import Scale
from shallows.scenario import Scenario
from shallows.topology import KINDS
from shallows.units import RATE, TIME

NEWER = (
    *("swift", "swift-roce", "hpcc-roce", "rccc", "nscc", "powertcp", "theta-powertcp", "mrc"),
    *("prague", "bbr3"),
)
"""They come last, so that the others keep their topologies and frames."""
ALGORITHMS = [
    row["name"] for row in catalog() if row["name"] not in ("fixed", "external", *NEWER)
]  # neither has a law
ALGORITHMS += NEWER
TOPOLOGIES = list(KINDS)
RATES = ["100Mbps", "1Gbps", "10Gbps", "25Gbps", "100Gbps", "400Gbps", "800Gbps", "1600Gbps"]
FRAMES = ["1500B", "4160B", "9000B"]
SHORT_QUEUES = {
    *("dctcp", "hull", "hpcc", "hpcc-roce", "dx", "timely", "rcp", "ndp", "rccc", "nscc", "expresspass"),
    *("powertcp", "theta-powertcp", "mrc"),
}
"""Algorithms whose papers promise short queues."""
LOSSLESS = {"dcqcn", "timely", "patched-timely", "patched-timely-pi"}
"""Algorithms of RoCE, whose papers assume PFC: senders begin at the link rate and go back N on a loss."""
FLOWS = 4


def combinations():
    if os.environ.get("SHALLOWS_MATRIX") == "full":
        return [(t, a, r, f) for t in TOPOLOGIES for a in ALGORITHMS for r in RATES for f in FRAMES]
    return [
        (TOPOLOGIES[(i + 3 * j) % len(TOPOLOGIES)], algorithm, rate, FRAMES[(i + j) % len(FRAMES)])
        for i, algorithm in enumerate(ALGORITHMS)
        for j, rate in enumerate(RATES)
    ]


def settling_ps(used, frames, frame_bits, rtt_ps):
    """Picoseconds that senders need to settle, of RoCE after all have begun at the link rate.

    Swift adds `ai` packets in each round trip, from ten packets to a share of the BDP, which has `frames`;
    half as long again is allowed. DCQCN's alpha falls by g in each tau. TIMELY falls to its least rate, and
    then adds delta with every segment, but once a round trip at most: its rate grows e times in seg / delta,
    and a quarter of the link, which is 250 deltas, takes e**5.5 or 250 round trips. Twice and three times as
    long are allowed. Prague grows by a packet a virtual round trip for a while, which is longer at higher
    rates, and then e times in reference_rtt / growth_queue of these; twice as long is allowed for a window.
    """
    given = used.parameters
    if used.name.startswith("swift"):
        return 1.5 * rtt_ps * frames / FLOWS / given["ai"]
    if used.name == "dcqcn":
        return 10**12 * given["tau"] / given["g"]
    if used.name == "prague":
        trip_ps = max(10**12 * given["reference_rtt"], rtt_ps)
        rate_bps = frames * frame_bits * 10**12 / rtt_ps / FLOWS
        wait = given["growth_wait"] + rate_bps / given["growth_rate"]
        grows = given["reference_rtt"] / given["growth_queue"] * np.log(max(frames, 2))
        return trip_ps * (wait + 2 * grows)
    if used.name not in LOSSLESS:
        return 0
    return 10**12 * (10 * 8 * given["seg"] / given["delta"] + 750 * given["d_min_rtt"])


def measured(kind, cc, rate, frame):
    """(share of the receiver's link, longest mean queue in bytes, BDP in bytes, timeouts without a drop per
    packet, warnings, scenario).
    """
    network = {"mtu": frame} | ({"pfc": True} if cc in {*LOSSLESS, "hpcc-roce", "swift-roce"} else {})
    tables = {"topology": matrix.topology(kind, rate), "network": network, "cc": cc}
    plain = Scenario(duration="1s", traffic=[{"kind": "long-lived"}], **tables)
    scale = Scale.of(plain.graph, plain.mtu)
    port_bps = int(scale.port_bps.min())
    frame_ps = plain.mtu * 8 * 10**12 // port_bps
    frames = scale.in_flight(port_bps) / plain.mtu
    settling = settling_ps(plain.algorithms[0], frames, 8 * plain.mtu, scale.rtt_ps)
    half_ps = int(max(400 * scale.rtt_ps, 4000 * frame_ps, settling))
    last = plain.graph.hosts - 1
    whole = Scenario(
        duration=f"{2 * half_ps}ps",
        warmup=f"{half_ps}ps",
        traffic=[{"kind": "long-lived", "flows": FLOWS, "from": [0, 1], "to": last}],
        **tables,
    )
    run = sh.run(whole)
    summary, ports = run.summary, run.columns("ports")
    to_last = whole.graph.link_to == last
    share = float(ports["utilization"][to_last].max())
    queue = summary["bottleneck"]["queue_mean_pkt"] * plain.mtu
    packets = max(np.ceil(2 * half_ps / frame_ps), 1)
    spurious = summary["flows"]["timeouts"] / packets if not summary["bottleneck"]["dropped"] else 0.0
    return share, queue, max(scale.in_flight(port_bps), plain.mtu), spurious, summary["warnings"], whole


def least_share(cc, bdp_frames):
    """The least share of the receiver's link, 90 % unless the algorithm itself has a reason."""
    if cc in ("hull", "inigo"):
        # HULL's virtual queue drains at 95 % of the rate, and DCTCP on its marks leaves more of a long path
        # idle. Inigo leaves 6 to 14 % unused with one to five flows, and so does an independent simulation
        # (inigo.rs).
        return 0.85
    if cc == "prague":
        # It acts once in a virtual round trip of 100 us, on marks of shorter paths: .88 in one of eight.
        return 0.85
    if bdp_frames < 10:
        # RCP: alpha (C - y) = beta Q / d, so a frame that waits or is being sent costs half of it over C d.
        # HPCC: 95 % of the link, less what windows below a frame leave idle.
        return {"rcp": 0.6, "hpcc": 0.85, "hpcc-roce": 0.85}.get(cc, 0.9)
    return 0.9


def longest_queue(scenario, bdp_bytes, rate_bps):
    """Bytes below which the mean queue stays: 3 BDP, or what the paper itself lets stand."""
    used, frame = scenario.algorithms[0], scenario.mtu
    own = 0
    if used.name == "dctcp":  # K + N packets (SIGCOMM 2010 §3.3)
        own = scenario.marking_begins + FLOWS * frame
    if used.name in ("dctcp", "hull"):  # least windows of two packets (RFC 8257 §3.3)
        own = max(own, 2 * FLOWS * frame)
    if used.name == "timely":  # below t_low it only speeds up
        own = used.parameters["t_low"] * rate_bps / 8
    if used.name in ("ndp", "rccc"):  # queues of 8 packets (SIGCOMM 2017 §3.1)
        own = 8 * frame
    if used.name == "mrc":  # where the last hop trims, as it does not mark
        own = scenario.ports[0].trimming.threshold
    return max(3 * bdp_bytes, own)


def remedy(warning):
    """Keys and values that a warning of starved flows says to write.

    Full queues lock flows out (RFC 7567, section 2), of data and of credits (docs/credits.md). TIMELY has no
    fixed point (Zhu et al., CoNEXT 2016, theorem 3). Equal targets leave longer paths less queue (Swift,
    SIGCOMM 2020, section 3.5). Other flows have not had the time to settle.
    """
    settles = re.search("about (.*); write a longer warmup and duration", warning)
    if settles:
        return {"warmup": settles[1], "duration": f"{2 * TIME.parse(settles[1])}ps"}
    if warning.endswith(": use patched-timely"):
        return {"cc": "patched-timely"}
    (key, value), *_ = re.findall(r"write (network\.marking|cc\.\w+) = (\{.*\}|[^ ,]+)", warning)
    return {key: tomllib.loads(f"value = {value}")["value"]}


TRIMMED = [
    ("fat-tree", "mrc", "25Gbps", "9000B"),
    ("leaf-spine", "mrc", "800Gbps", "9000B"),
    ("graph", "mrc", "1Gbps", "1500B"),
]
"""Networks beside the others in which MRC's queue stands where the last hop trims."""


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "cc", "rate", "frame"), [*combinations(), *TRIMMED])
def test_defaults_hold_for_every_network(kind, cc, rate, frame):
    """Four flows of one start without delays that vary can share unequally, of which the run warns.

    BBRv3 sends above the link's rate until 2 % of a round trip are lost (draft, section 5.3.3). MRC's ports
    to hosts do not mark, so that nothing but trimming ends the growth of flows to one host.
    """
    share, queue, bdp, spurious, warnings, scenario = measured(kind, cc, rate, frame)
    assert share >= least_share(cc, bdp / scenario.mtu)
    assert queue < longest_queue(scenario, bdp, RATE.parse(rate)) or cc not in SHORT_QUEUES
    assert spurious < 1e-3
    starved = [text for text in warnings if "less than a tenth of their fair share" in text]
    unequal = [text for text in warnings if "no seed shows how shares depend on delays" in text]
    expected = {"bbr3": r"\d+ packets were (dropped|sent again)", "mrc": r".*, because ports trimmed \d+"}
    lossy = [text for text in warnings if cc in expected and re.match(expected[cc], text)]
    assert sorted(warnings) == sorted(starved + unequal + lossy)
    for text in starved:  # what starves them is not a default: it goes with the cause that the warning names
        assert sh.run(scenario, overrides=remedy(text)).summary["warnings"] == []


@pytest.mark.parametrize("mode", [*matrix.CLASSES, *matrix.PORTS, *matrix.FAULTS])
def test_each_port_feature_works_with_each_algorithm_or_says_why_not(mode):
    """One small fabric at one rate; `python -m matrix` has every topology, rate and kind of balancing."""
    said = {cc: matrix.outcome("leaf-spine", cc, "100Gbps", mode) for cc in matrix.ALGORITHMS}
    findings = {cc: one for cc, one in said.items() if one and not matrix.is_expected(cc, mode, one)}
    assert findings == {}


def test_some_algorithm_works_with_each_port_feature_and_each_with_most():
    """The refusals that `matrix.REASONS` admits are few: it is no list of everything."""
    ran = {(cc, mode) for cc in ("dctcp", "ndp", "swift") for mode in matrix.PORTS
           if matrix.outcome("star", cc, "100Gbps", mode) is None}  # fmt: skip
    assert {mode for _, mode in ran} == set(matrix.PORTS)

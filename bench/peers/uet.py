"""Compares NSCC with uet-htsim: the last completion of ten incasts, by both on the same network.

    python bench/peers/uet.py /path/to/htsim_uec [NUMBER ...]

htsim_uec is that of github.com/ultraethernet/uet-htsim 40ccb05, built as its README says. A completion is
when the sender knows that everything has arrived. Prints a table of means over seeds; exit status 1 if one
differs by more than `TOLERANCE`. NUMBER: the cases to run, from 1.
"""

import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean

import shallows as sh

TOLERANCE = 0.02
SEEDS = (1, 2, 3)
CASES = [
    (2, 4, 400), (4, 32, 400), (8, 1, 400), (8, 8, 100), (16, 2, 400),
    (16, 8, 800), (32, 1, 200), (32, 4, 400), (64, 1, 400), (128, 1, 400),
]  # fmt: skip
"""Senders, megabytes of each, and Gbps of all links, chosen before the first run of either simulator."""
LEAVES, PER_LEAF, SPINES = 32, 8, 8
FRAME, HEADER, ANSWER = 4160, 64, 64
LINK_US, LINKS = 1.0, 4
ENTROPIES = 256
TOPOLOGY = """Nodes {hosts}
Tiers 2
Podsize {hosts}
Tier 0
Downlink_speed_Gbps {gbps}
Radix_Down {per_leaf}
Radix_Up {spines}
Downlink_Latency_ns 1000
Switch_Latency_ns 0
Tier 1
Downlink_speed_Gbps {gbps}
Radix_Down {leaves}
Downlink_Latency_ns 1000
Switch_Latency_ns 0
"""


def senders(count):
    """Hosts of other leaves than that of host 0, one leaf after the other."""
    others = LEAVES - 1
    return [PER_LEAF * (1 + n % others) + n // others for n in range(count)]


def round_trip_us(gbps):
    """Of a frame and an answer over four links, with which uet-htsim configures NSCC."""
    return 2 * LINKS * LINK_US + LINKS * (FRAME + ANSWER) * 8 / (gbps * 1000)


def product_frames(gbps):
    """The bandwidth-delay product: uet-htsim trims there, and marks from a fifth to four fifths of it."""
    return math.ceil(round_trip_us(gbps) * gbps * 1000 / 8 / FRAME)


def of_htsim(program, case, seed, folder):
    """The last completion in us that uet-htsim finds."""
    count, megabytes, gbps = case
    hosts = LEAVES * PER_LEAF
    topology, matrix = folder / "leaf_spine.topo", folder / "incast.cm"
    topology.write_text(
        TOPOLOGY.format(hosts=hosts, gbps=gbps, per_leaf=PER_LEAF, spines=SPINES, leaves=LEAVES)
    )
    flows = [
        f"{host}->0 id {n + 1} start 0 size {megabytes * 10**6}" for n, host in enumerate(senders(count))
    ]
    matrix.write_text("\n".join([f"Nodes {hosts}", f"Connections {count}", *flows, ""]))
    command = [
        program, "-topo", topology, "-tm", matrix, "-sender_cc_only", "-sender_cc_algo", "nscc",
        "-load_balancing_algo", "oblivious", "-paths", ENTROPIES, "-mtu", FRAME, "-linkspeed", gbps * 1000,
        "-sack_threshold", 1, "-seed", seed, "-end", 10**6, "-o", folder / "log",
    ]  # fmt: skip
    told = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=folder)
    if told.returncode:
        sys.exit(f"{told.stdout[-2000:]}{told.stderr}")
    finished = [float(us) for us in re.findall(r"finished at ([\d.]+)", told.stdout)]
    if len(finished) != count:
        sys.exit(f"{len(finished)} of {count} flows finished:\n{told.stdout[-2000:]}")
    return max(finished)


def of_shallows(case, seed):
    """The last completion in us here: the last byte's arrival, and an answer over four links."""
    count, megabytes, gbps = case
    frames = product_frames(gbps)
    flows = [[0.0, f"h{host}", "h0", megabytes * 10**6] for host in senders(count)]
    scenario = sh.Scenario(
        seed=seed,
        duration="until-done",
        topology={
            "kind": "leaf-spine",
            "leaves": LEAVES,
            "spines": SPINES,
            "hosts_per_leaf": PER_LEAF,
            "rate": f"{gbps}Gbps",
            "link_delay": f"{LINK_US}us",
        },
        cc={"name": "nscc@htsim", "base_rtt": f"{round_trip_us(gbps):.6f}us"},
        network={
            "mtu": f"{FRAME}B",
            "header": f"{HEADER}B",
            "balancing": "oblivious",
            "entropies": ENTROPIES,
            "trimming": {
                "threshold": f"{frames * FRAME}B",
                "headers": f"{frames * FRAME}B",
                "ratio": 100_000,
            },
            "marking": {
                "kind": "red",
                "kmin": f"{math.ceil(0.2 * frames) * FRAME}B",
                "kmax": f"{math.ceil(0.8 * frames) * FRAME}B",
                "pmax": 1.0,
                "at": "dequeue",
            },
        },
        traffic=[{"kind": "trace", "flows": flows}],
    )
    run = sh.run(scenario, progress=False)
    return float(run.flows.fct_us.max()) + LINKS * (LINK_US + ANSWER * 8 / (gbps * 1000))


def main(program, numbers):
    """Run the cases with these numbers, or all of them. Returns the exit status."""
    worst = 0.0
    print("| senders | size (MB) | rate (Gbps) | uet-htsim (us) | Shallows (us) | difference |")
    print("|---|---|---|---|---|---|")
    for case in [CASES[number - 1] for number in numbers] or CASES:
        with tempfile.TemporaryDirectory() as folder:
            theirs = mean(of_htsim(program, case, seed, Path(folder)) for seed in SEEDS)
        ours = mean(of_shallows(case, seed) for seed in SEEDS)
        worst = max(worst, abs(ours / theirs - 1))
        columns = [*map(str, case), f"{theirs:.2f}", f"{ours:.2f}", f"{ours / theirs - 1:+.2%}"]
        print(f"| {' | '.join(columns)} |", flush=True)
    return int(worst > TOLERANCE)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], [int(word) for word in sys.argv[2:]]))

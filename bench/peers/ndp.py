"""Compares the processor time of a permutation by NDP with that of htsim: 1,024 hosts, all links at 100 Gbps.

    python bench/peers/ndp.py /path/to/htsim_ndp [--size BYTES] [--rounds N]

htsim_ndp is that of github.com/Broadcom/csg-htsim 841d9e7, built as its README says. Both run the same flows
over the same fat tree (k = 16), with frames of 4,000 B, windows of 30 packets and 8 packets at a port, each
in a process of its own, in alternating rounds. Prints for each round the processor time of the whole process,
and the last completion, which must agree within `TOLERANCE`: htsim counts the way back of the last answer.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

K, GBPS, FRAME, HEADER, WINDOW, QUEUE = 16, 100, 4000, 64, 30, 8
HOSTS = K**3 // 4
TOLERANCE = 0.05


def permutation():
    """A receiver for each host, none itself."""
    draw = random.Random(1)
    while True:
        receivers = draw.sample(range(HOSTS), HOSTS)
        if all(host != receiver for host, receiver in enumerate(receivers)):
            return receivers


def timed(command):
    """The output of a command, and its processor time in s."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[0]} ended with status {process.returncode}:\n{text[-2000:]}")
    return text, usage.ru_utime + usage.ru_stime


def of_htsim(program, size):
    """Processor time in s and the last completion in us."""
    with tempfile.TemporaryDirectory() as folder:
        matrix = Path(folder) / "permutation.cm"
        flows = [f"{n}->{to} id {n + 1} start 0 size {size}" for n, to in enumerate(permutation())]
        matrix.write_text("\n".join([f"Nodes {HOSTS}", f"Connections {HOSTS}", *flows, ""]))
        text, seconds = timed(
            [program, "-tm", matrix, "-nodes", HOSTS, "-tiers", 3, "-strat", "perm", "-q", QUEUE,
             "-linkspeed", GBPS * 1000, "-mtu", FRAME, "-cwnd", WINDOW, "-end", 10**5,
             "-o", Path(folder) / "log"]
        )  # fmt: skip
    finished = [float(us) for us in re.findall(r"finished at ([\d.]+)", text)]
    if len(finished) != HOSTS:
        sys.exit(f"{len(finished)} of {HOSTS} flows finished:\n{text[-2000:]}")
    return seconds, max(finished)


def once(size):
    """Run the permutation in this process, and print the last completion in us."""
    import shallows as sh

    made = sh.Scenario(
        duration="until-done",
        topology={"kind": "fat-tree", "k": K, "rate": f"{GBPS}Gbps", "link_delay": "1us"},
        network={
            "mtu": f"{FRAME}B",
            "header": f"{HEADER}B",
            "balancing": "packet",
            "trimming": {"queue": QUEUE},
        },
        cc={"name": "ndp", "window": f"{WINDOW}pkt"},
        traffic=[
            {
                "kind": "trace",
                "flows": [[0.0, f"h{n}", f"h{to}", size] for n, to in enumerate(permutation())],
            }
        ],
    )
    print(float(sh.run(made, threads=1, progress=False).flows.fct_us.max()))


def of_shallows(size):
    """Processor time in s and the last completion in us."""
    text, seconds = timed([sys.executable, __file__, "--once", "--size", size])
    return seconds, float(text)


def main():
    """Print a table. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="ndp", description=__doc__.partition("\n")[0])
    parser.add_argument("program", nargs="?", help="the path of htsim_ndp")
    parser.add_argument("--size", type=int, default=2_000_000, help="bytes of each flow")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.once:
        once(asked.size)
        return 0
    if asked.program is None:
        parser.error("expected the path of htsim_ndp")
    agree = True
    print("| htsim (s) | Shallows (s) | times as fast | last (us), htsim | Shallows |")
    print("|---|---|---|---|---|")
    for _ in range(asked.rounds):
        (theirs, last), (ours, own) = of_htsim(asked.program, asked.size), of_shallows(asked.size)
        agree &= abs(own / last - 1) <= TOLERANCE
        print(f"| {theirs:.2f} | {ours:.2f} | {theirs / ours:.2f} | {last:.1f} | {own:.1f} |", flush=True)
    return int(not agree)


if __name__ == "__main__":
    sys.exit(main())

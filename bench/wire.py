"""What a flow between two processes costs: `wire send` and `wire receive` over loopback, a core each.

    python bench/wire.py [--cc NAME] [--rate-limit RATE] [--seconds S]

Prints the goodput, data packets a second, and the processor time of both ends for each, without the start of
Python. Needs Linux and two processors.
"""

import argparse
import json
import os
import subprocess
import sys

MAIN = "from shallows.cli import main; main()"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cc", default="dctcp")
    parser.add_argument("--rate-limit", default="1Gbps")
    parser.add_argument("--seconds", default=10, type=int)
    asked = parser.parse_args()
    spent = {seconds: flow(asked, seconds) for seconds in (1, 1 + asked.seconds)}
    (short, before), (long, after) = spent.values()
    packets = long["packets"] - short["packets"]
    cpu_us = [1e6 * (late - early) / packets for early, late in zip(before, after, strict=True)]
    mbps = 8e-6 * (long["delivered_bytes"] - short["delivered_bytes"]) / asked.seconds
    print(
        f"{asked.cc} at {asked.rate_limit}: {mbps:.0f} Mbps of payload, "
        f"{packets / asked.seconds:,.0f} packets a second"
    )
    print(
        f"processor time for each data packet: {cpu_us[0]:.1f} us at the sender, "
        f"{cpu_us[1]:.1f} us at the receiver"
    )


def flow(asked, seconds):
    """What the receiver of a flow has seen, and the processor seconds of the sender and of the receiver."""
    there = end(1, "receive", "--once", "--json")
    try:
        assert "listening" in there.stderr.readline()
        words = ("--cc", asked.cc, "--rate-limit", asked.rate_limit, "--seconds", str(seconds), "--json")
        here = end(0, "send", "127.0.0.1", *words)
        seen = json.loads(there.stdout.read())["data"]
        here.stdout.read()
        return seen, [spent(process) for process in (here, there)]
    finally:
        there.kill()


def end(processor, *words):
    command = ["taskset", "-c", str(processor), sys.executable, "-c", MAIN, "wire", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def spent(process):
    """The processor seconds of a process that has ended or ends."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, process.stderr.read()
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()

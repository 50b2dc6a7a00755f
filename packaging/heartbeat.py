"""Run a command, and print the elapsed time on standard error every ten seconds, also while it is silent.

Usage: heartbeat.py COMMAND [ARGUMENT ...]. The exit status is that of the command.
"""

import subprocess
import sys
import time

INTERVAL_S = 10.0


def main(command: list[str], interval_s: float = INTERVAL_S) -> int:
    """Run `command` with our own input and output, and return its exit status."""
    started = time.monotonic()
    with subprocess.Popen(command) as process:
        while True:
            try:
                return process.wait(interval_s)
            except subprocess.TimeoutExpired:
                elapsed = round(time.monotonic() - started)
                print(f"\n… {elapsed} s: {' '.join(command)[:60]}", file=sys.stderr, flush=True)
            except KeyboardInterrupt:  # the command got it too, and ends by itself
                interval_s = 60.0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

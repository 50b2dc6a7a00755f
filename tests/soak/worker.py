"""A process that may die or hang without the others noticing."""

import multiprocessing
import os
import resource
import signal
import sys
import time
from pathlib import Path

from soak import by_schema, failures, lawful, scenarios, transports

GRAMMARS = {
    "lawful": lawful,
    "scenarios": scenarios,
    "schema": by_schema,
    "failures": failures,
    "transports": transports,
}
MEMORY_BYTES = 5 * 2**30
"""Address space that a run may add: 2 GiB of packets, in a table that may have as much room again."""
STILL = 10
"""How many times its patience a process may take while it waits, for others or for nothing."""


class Worker:
    """A process that runs one scenario at a time."""

    def __init__(self):
        self.process, self.given = None, None

    def give(self, grammar, seed, number, patience, why=False):
        """Let it run a scenario, for that many seconds of processor time at most."""
        if self.process is None or not self.process.is_alive():
            context = multiprocessing.get_context("spawn")
            self.end, other = context.Pipe()
            self.process = context.Process(target=_work, args=(other,), daemon=True)
            self.process.start()
            other.close()
        self.given, self.since, self.patience = (grammar, seed, number), time.monotonic(), patience
        self.end.send((*self.given, patience, why))

    def outcome(self):
        """(kind, world, outcome, what is wrong) if it has one; None while it runs, or has nothing to do."""
        if self.process is None or self.given is None:
            return None
        result = None
        try:
            if self.end.poll():
                result = self.end.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            result = self._ended()
        if result is None and time.monotonic() - self.since > STILL * self.patience:
            self.process.kill()
            self.process.join()
            result = (
                *_text(*self.given)[:2],
                "hung",
                f"hang: more than {STILL * self.patience:g} s, busy or not",
            )
        if result is not None:
            self.given = None
        return result

    def _ended(self):
        if self.process.exitcode == -signal.SIGXCPU:
            said = "hung", f"hang: more than {self.patience:g} s of processor time"
        else:
            said = "died", f"abort: the process ended with {self.process.exitcode}"
        return (*_text(*self.given)[:2], *said)


def _text(grammar, seed, number):
    return GRAMMARS[grammar].text(seed, number)


def _work(end):
    from soak.oracles import problem

    sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    os.dup2(sys.stderr.fileno(), 2)
    while True:
        grammar, seed, number, patience, why = end.recv()
        has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (has + MEMORY_BYTES, resource.RLIM_INFINITY))
        resource.setrlimit(
            resource.RLIMIT_CPU, (round(time.process_time() + patience), resource.RLIM_INFINITY)
        )
        kind, world, written = _text(grammar, seed, number)
        how = GRAMMARS[grammar].how(seed, number)
        if why:
            how["oracles"] = (*how.get("oracles", ()), "why of all")
        end.send((kind, world, *problem(written, world, **how)))

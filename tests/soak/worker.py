"""A process that may die or hang without the others noticing."""

import multiprocessing
import os
import resource
import sys
import time

from soak.scenarios import text

MEMORY_BYTES = 6 * 2**30


class Worker:
    """A process that runs one scenario at a time."""

    def __init__(self):
        self.process, self.given = None, None

    def give(self, seed, number):
        """Let it run a scenario."""
        if self.process is None or not self.process.is_alive():
            context = multiprocessing.get_context("spawn")
            self.end, other = context.Pipe()
            self.process = context.Process(target=_work, args=(other,), daemon=True)
            self.process.start()
            other.close()
        self.given, self.since = (seed, number), time.monotonic()
        self.end.send(self.given)

    def outcome(self, patience):
        """(kind, world, outcome, what is wrong) if it has one; None while it runs, or has nothing to do."""
        if self.process is None or self.given is None:
            return None
        told = None
        try:
            if self.end.poll():
                told = self.end.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            told = (*text(*self.given)[:2], "died", f"abort: the process ended with {self.process.exitcode}")
        if told is None and time.monotonic() - self.since > patience:
            self.process.kill()
            self.process.join()
            told = (*text(*self.given)[:2], "hung", f"hang: more than {patience:g} s")
        if told is not None:
            self.given = None
        return told


def _work(end):
    from soak.checks import problem

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    os.dup2(sys.stderr.fileno(), 2)
    while True:
        seed, number = end.recv()
        kind, world, written = text(seed, number)
        end.send((kind, world, *problem(written, world, save=number % 10 == 0)))

"""One run of a row in a process of its own, with limits; its numbers go back as JSON.

The process ends when its run does. What comes back is data, whatever a class did in it.
"""

import json
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from shallows.algorithms import user_algorithms
from shallows.errors import BooksError, ScenarioError
from shallows.judging import guard, measures

STALL_S = 10
"""Processor time without progress of a run after which a class does not return."""
WAIT_S = 120
"""Real time without progress, for a class that sleeps."""
LONGEST = 500
"""The most characters of what a class raised that are kept."""


@dataclass(frozen=True)
class Limits:
    """Limits of a run: processor seconds, and bytes of memory beyond those of an idle process."""

    seconds: float = 900.0
    memory: int = 2**31


LIMITS = Limits()


@dataclass(frozen=True)
class Order:
    """One run: its address, its scenario, and the numbers that are wanted of it.

    tables: a scenario without a class that the record has not, whose overrides are in "set". numbers: the
    measure and the arguments of each, by name. is_class: the judged algorithm is Python code of the user.
    account: instead of numbers, the account of a flow, with these overrides and this number.
    """

    run: str
    tables: Mapping[str, Any]
    seed: int
    numbers: Mapping[str, tuple[str, Mapping[str, Any]]]
    is_class: bool
    limits: Limits = LIMITS
    account: tuple[Mapping[str, Any], int | None] | None = None


def serve(order: Order, answer: Connection) -> None:
    """Perform `order` in this process, and send what came of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _Worker(order, answer).perform()


class _Worker:
    def __init__(self, order: Order, answer: Connection) -> None:
        self._order, self._answer = order, answer
        self._once = threading.Lock()
        self._guard = guard.Guard()
        self._at: tuple[int, ...] = ()
        self._progress()

    def perform(self) -> None:
        order = self._order
        _limit(order.limits)
        if order.is_class:
            self._guard.close()  # before a second thread: only a process of one may leave its network
        threading.Thread(target=self._watch, daemon=True).start()
        try:
            found = self._numbers()
        except BaseException as error:
            found = {"failure": _said(error)}
        if self._guard.broken:
            found = {"failure": self._guard.broken}
        self._end(found)

    def _numbers(self) -> dict[str, Any]:
        from shallows.judging import account, scenarios
        from shallows.runner import in_world

        try:
            scenario = scenarios.prepared(self._order.tables, self._order.seed)
        except ScenarioError as error:
            if self._guard.broken or isinstance(error.__cause__, Exception):
                raise
            return {"refused": " ".join(str(error).split())[:LONGEST]}
        self._progress()
        if self._order.account is not None:
            return account.of(scenario, *self._order.account, self._progress)
        run = in_world("packet")(scenario, self._progress).check_books()
        return {
            "numbers": {
                name: measures.of_run(run, measure, arguments)
                for name, (measure, arguments) in self._order.numbers.items()
            },
            "packet_hops": run.summary["packet_hops"],
            "fingerprint": run.summary["fingerprint"],
        }

    def _progress(self, *at: int) -> None:
        """Note that the run is further than before; the core also reports while a call does not return."""
        if at != self._at or not at:
            self._at, self._at_s, self._at_cpu_s = at, time.monotonic(), time.process_time()

    def _watch(self) -> None:
        """End the process if its run makes no progress, or takes longer than its limit."""
        while True:
            time.sleep(0.25)
            stalled = time.process_time() - self._at_cpu_s > STALL_S or time.monotonic() - self._at_s > WAIT_S
            if stalled:
                what = "it did not return from a call"
            elif time.process_time() > self._order.limits.seconds:
                what = f"its run took more than {self._order.limits.seconds:g} s of processor time"
            else:
                continue
            frames = sys._current_frames().values()  # pyright: ignore[reportPrivateUsage]
            of_class = (guard.of_class(frame) for frame in frames)
            self._end({"failure": what + guard.where(next(filter(None, of_class), None))})

    def _end(self, found: Mapping[str, Any]) -> None:
        """Send once, and end the process."""
        with self._once:
            self._answer.send_bytes(json.dumps(found).encode())
            os._exit(0)


def _limit(limits: Limits) -> None:
    seconds = int(limits.seconds) + 60
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    most = _data_bytes() + limits.memory
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _data_bytes() -> int:
    """Memory of this process that counts for the limit of data."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
    except (OSError, StopIteration):
        return 0


def _said(error: BaseException) -> str:
    """An error in one line, with the place in the user's code."""
    if isinstance(error, BooksError):
        return str(error)[:LONGEST]
    text = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
    if isinstance(error, ScenarioError):
        return " ".join(str(error).split())[:LONGEST]
    if user_algorithms.frames(error):
        *_, last = traceback.extract_tb(error.__traceback__)
        return f"{text}, in line {last.lineno} of {os.path.basename(last.filename)}"
    return text

"""Orders performed in processes of their own: the `engine.Work` of a judge, whose results are files.

A process that ends without an answer, or that exceeds its time, gives a failure; the others are not touched.
"""

import json
import multiprocessing
import signal
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.base.toml import is_table
from shallows.judging import worker
from shallows.judging.worker import Order
from shallows.results import files
from shallows.sweeps import engine, executors
from shallows.sweeps.interrupts import start_servers

if TYPE_CHECKING:
    from multiprocessing.connection import Connection, PipeConnection

    Answer = Connection[Any, Any] | PipeConnection[Any, Any]

Outcome = dict[str, Any]
"""What came of an order: its "numbers", "packet_hops" and "fingerprint"; or a "failure" of the algorithm; or
"refused", where the scenario does not fit the algorithm."""
SLOWEST = 20
"""Real time, in processor seconds of its limit, after which a process is ended from outside."""
LONGEST_ANSWER = 1 << 20
KIND = files.Kind("a stored run of a judge", (b'{"kind": "judged-run"',), (".json",))


@dataclass(frozen=True)
class Separate:
    """The `engine.Work` of orders in a folder: an outcome is a file with the name of its address."""

    folder: Path
    stop: threading.Event = field(default_factory=threading.Event)
    starting: threading.Lock = field(default_factory=threading.Lock)

    def find(self, order: Order) -> Outcome | None:
        """The stored outcome; None if there is none that can be read."""
        try:
            return _checked(json.loads(self._place(order).read_text("utf-8")), order)
        except (OSError, ValueError, RecursionError):
            return None

    def perform(self, order: Order) -> Outcome:
        """Perform an order in a process, and store what came of it, unless the judge stops before."""
        process, answer = self._started(order)
        until_s = time.monotonic() + SLOWEST * order.limits.seconds
        try:
            while not answer.poll(0.2):
                if self.stop.is_set():
                    raise KeyboardInterrupt
                if time.monotonic() > until_s:
                    process.kill()
            outcome = _received(answer, process, order)
        finally:
            process.kill()
            process.join()
            answer.close()
        files.write_text(self._place(order), json.dumps({"kind": "judged-run"} | outcome) + "\n", KIND)
        return outcome

    def lost(self, order: Order, error: BaseException) -> Outcome:
        """Nothing replaces an outcome that could not be stored."""
        raise error

    def _started(self, order: Order) -> tuple[BaseProcess, "Answer"]:
        context = multiprocessing.get_context("forkserver")
        answer, theirs = context.Pipe(duplex=False)
        with self.starting, executors.without_main():
            process = context.Process(target=worker.serve, args=(order, theirs), daemon=True)
            process.start()
        theirs.close()
        return process, answer

    def _place(self, order: Order) -> Path:
        return self.folder / f"{order.run}.json"


def all_of(
    orders: Sequence[Order], folder: Path, workers: int, bar: engine.Watcher | None = None
) -> dict[str, Outcome]:
    """`{address: outcome}` of all orders, `workers` at a time; those in `folder` are not repeated."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(["shallows.judging.preload"])
    start_servers()
    work, found = Separate(folder), dict[str, Outcome]()
    with ThreadPoolExecutor(workers) as pool:
        executor = partial(executors.through, pool)
        try:
            with closing(engine.results(orders, work, executor, bar)) as coming:
                deque((found.update({order.run: outcome}) for order, outcome in coming), maxlen=0)
        finally:
            work.stop.set()
    return found


def _received(answer: "Answer", process: BaseProcess, order: Order) -> Outcome:
    """What a process sent, or why it ended without."""
    try:
        return _checked(json.loads(answer.recv_bytes(LONGEST_ANSWER)), order)
    except (EOFError, OSError):
        process.join(10)
        return {"failure": f"its process ended {_how(process.exitcode)}"}
    except (ValueError, RecursionError):
        return {"failure": "its process sent something else than numbers"}


def _how(status: int | None) -> str:
    if status is None or status >= 0:
        return f"with the status {status}"
    why = {
        signal.SIGKILL: ": it took too long, or memory ran out",
        signal.SIGXCPU: ": it took too long",
        signal.SIGABRT: ", perhaps for lack of memory",
    }
    name = signal.Signals(-status)
    return f"by {name.name}{why.get(name, '')}"


def _checked(found: object, order: Order) -> Outcome:
    """`found`, if a worker could have sent it for this order, its numbers as floats; else `ValueError`."""
    if not is_table(found):
        raise ValueError("no table")
    outcome: Outcome = found
    for key in ("failure", "refused"):
        if key in outcome:
            return {key: str(outcome[key])[: worker.LONGEST]}
    if order.account is not None:
        return {key: str(outcome[key])[:LONGEST_ANSWER] for key in ("scenario", "account") if key in outcome}
    numbers, hops = outcome.get("numbers"), outcome.get("packet_hops")
    if not is_table(numbers) or set(numbers) != set(order.numbers) or not isinstance(hops, int):
        raise ValueError("other numbers")
    return {
        "numbers": {name: float(numbers[name]) for name in order.numbers},
        "packet_hops": hops,
        "fingerprint": str(outcome.get("fingerprint"))[: worker.LONGEST],
    }

"""Faults at the n-th call by which Python changes files, in a fork of this process.

Python reports such calls to audit hooks, and a hook that raises an error makes the call fail. `os.fsync` is
reported to none, so it is replaced. What Rust writes, it writes into files of a folder that Python has made.
"""

import errno
import itertools
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

CALLS = frozenset(
    ["os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "fcntl.flock", "ctypes.dlsym"]
)
"""The events of calls that change files or lock them; the last precedes an exchange of two names."""
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
"""Flags of `open` for writing."""
RAISED, DONE = 3, 0
"""Exit statuses of a fork: an `OSError`, or no fault, because there were fewer calls."""


def die() -> None:
    """End the process as a kill does: nothing is cleaned up."""
    os.kill(os.getpid(), signal.SIGKILL)


def full_disk() -> None:
    """Fail the call."""
    raise OSError(errno.ENOSPC, "No space left on device")


def outcomes(work: Callable[[], object], fault: Callable[[], None]) -> Iterator[int]:
    """The exit status of `work` with `fault` at its first call, at its second, and so on.

    The last status is `DONE`: `work` has no further call.
    """
    for number in itertools.count():
        process = os.fork()
        if process == 0:
            _work(work, fault, number)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        yield status
        if status == DONE:
            return


def _work(work: Callable[[], object], fault: Callable[[], None], number: int) -> None:
    numbers, sync, failed = itertools.count(), os.fsync, []

    def count() -> None:
        if next(numbers) == number:
            failed.append(number)
            fault()

    def synced(descriptor: int) -> None:
        count()
        sync(descriptor)

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        if event in CALLS or (event == "open" and arguments[2] & WRITES):
            count()

    os.fsync = synced
    sys.addaudithook(heard)
    try:
        work()
        os._exit(RAISED if failed else DONE)  # the fault hit a call that may fail, such as one that cleans up
    except OSError:
        os._exit(RAISED)
    except BaseException:
        traceback.print_exc()
        os._exit(1)

"""Interruptions that must not fall into the start of a process."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from multiprocessing import forkserver


def start_servers() -> None:
    """Start the servers of `multiprocessing` so that they and their processes ignore SIGHUP.

    A closed terminal sends it to all processes of the command. The command ends its workers itself.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        forkserver.ensure_running()
    finally:
        signal.signal(signal.SIGHUP, before)


@contextmanager
def delayed() -> Generator[None]:
    """Delay signals with a handler in Python, such as Ctrl-C, to the end of the block.

    A process whose start is interrupted is not known to its pool, which then cannot end it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in ending}
    before = {number: handler for number, handler in before.items() if callable(handler)}
    for number in before:
        signal.signal(number, lambda number, _: caught.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if caught:
            signal.raise_signal(caught[0])

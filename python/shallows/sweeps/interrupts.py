"""Processes of a pool: their server, and interruptions that must not fall into the start of one."""

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from multiprocessing import forkserver
from typing import Any


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


def _forget_server() -> None:
    """In a fork of this process, forget the server of `multiprocessing`, which is no child of the fork.

    Without it no pool starts in workers of `concurrent.futures`, where a search calls a sweep or a judge.
    """
    server: Any = forkserver._forkserver  # pyright: ignore[reportPrivateUsage]
    if server._forkserver_alive_fd is not None:
        os.close(server._forkserver_alive_fd)
    server._forkserver_address = server._forkserver_alive_fd = server._forkserver_pid = None
    server._lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_server)


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

"""Signals that end a command: Ctrl-C, SIGTERM of a job scheduler, SIGHUP of a closed terminal.

Each raises `KeyboardInterrupt`, so that what exists is saved. Python ignores or renames an exception that is
raised in some parts of an import, so a signal that arrives during one acts when the import is complete.
"""

import signal
import time
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE_S = 1.0
"""The longest delay of a signal by an import."""
LOOK_S = 0.005
"""Time between two looks whether the import is complete."""

_until: float | None = None


def install() -> None:
    """Handle these signals, except those that the parent process has ignored (`nohup`, background jobs)."""
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    signal.signal(signal.SIGALRM, _end)


def _end(number: int, frame: FrameType | None) -> None:
    global _until
    now = time.monotonic()
    _until = _until or now + PATIENCE_S
    if now < _until and _imports(frame):
        signal.setitimer(signal.ITIMER_REAL, LOOK_S)
        return
    _until = None
    raise KeyboardInterrupt


def _imports(frame: FrameType | None) -> bool:
    """True if `frame` was called by an import."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False

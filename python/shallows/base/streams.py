"""The standard output whose reader has left, as in `shallows run a.toml --plot | head`."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def unread() -> Generator[None]:
    """Print within this block. If the reader leaves, the command continues without output.

    Figures, pages and files that a command was asked for come after its report.
    """
    try:
        yield
        print(end="", flush=True)
    except BrokenPipeError:
        discard()


def discard() -> None:
    """Discard what is still in Python's buffer, and all further output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""The lock of a machine: runs in real time wait for each other, whichever installation they belong to.

Root's is below /run, where no other user can open it, so that nobody holds up the runs of root. Any other
user has an own one, in the folder of the session or, without that, in one for temporary files. So runs of two
users do not wait for each other; lateness rejects what they disturb.
"""

import fcntl
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shallows.base import names
from shallows.errors import ScenarioError

if TYPE_CHECKING:
    from shallows.core.progress import OnProgress

NAME = "real-time.lock"
LOOK_S = 0.1
"""Time between two attempts."""
MOST_TOLD = 200
"""The most bytes that are read of who holds the lock."""


def _print(line: str) -> None:
    print(f"shallows: {line}", file=sys.stderr, flush=True)


@contextmanager
def alone(on_progress: "OnProgress | None" = None, tell: Callable[[str], None] = _print) -> Generator[None]:
    """Hold the lock. A wait is told with the process that holds it.

    Ctrl-C ends the wait, and so does an exception of `on_progress`, which is called some times a second.
    """
    file = _open(folder() / NAME)
    try:
        waits = False
        while not _taken(file):
            if not waits:
                holder = names.line(os.pread(file, MOST_TOLD, 0).decode(errors="replace"))
                tell(f"waits for {holder or 'another run'}, which uses this machine in real time")
            waits = True
            if on_progress:
                on_progress(0, 0, 0)
            time.sleep(LOOK_S)
        os.ftruncate(file, 0)
        os.pwrite(file, _this_process(), 0)
        yield
        os.ftruncate(file, 0)
    finally:
        os.close(file)


def folder() -> Path:
    """The folder of this user's lock, which nobody else can enter. Raises `ScenarioError` without one."""
    user = os.geteuid()
    session = os.environ.get("XDG_RUNTIME_DIR", "")
    if user == 0 and os.access("/run", os.W_OK):
        place = Path("/run/shallows")
    elif user != 0 and session and Path(session).is_dir() and Path(session).stat().st_uid == user:
        place = Path(session, "shallows")
    else:
        place = Path(tempfile.gettempdir(), f"shallows-{user}")
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        found = place.lstat()
    except OSError as error:
        raise ScenarioError(None, None, f"a folder for the lock of this machine ({error})") from None
    others = stat.S_IRWXG | stat.S_IRWXO
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user or found.st_mode & others:
        expected = f"{place} to be a folder that only you can enter: it holds the lock of this machine"
        raise ScenarioError(None, None, expected)
    return place


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except OSError as error:
        raise ScenarioError(
            None, None, f"{path} to be a file for the lock of this machine ({error})"
        ) from None


def _taken(file: int) -> bool:
    """True if this process has the lock now."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _this_process() -> bytes:
    """This process and its command, for those that wait."""
    words = [Path(sys.argv[0]).name, *sys.argv[1:]] if sys.argv else []
    return f"process {os.getpid()} ({' '.join(words)})".encode(errors="replace")[:MOST_TOLD]

"""Walls around a class that is judged: no network, no files but Python code, no other processes, few words.

They stop mistakes and careless code, and are no prison: whoever does not trust a class reads it first
(docs/trust.md). A call of the class that they refuse raises an error there, and fails the run even if the
class catches it.
"""

import inspect
import io
import os
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

from shallows.algorithms import trust

MOST_OUTPUT = 64_000
"""Characters that a class may print in a run; they are not shown."""
REFUSED = tuple(
    f"{module}."
    for module in (
        "_posixsubprocess", "_thread", "ctypes", "fcntl", "mmap", "os", "pty", "resource", "shutil", "signal",
        "socket", "sqlite3", "subprocess", "syslog", "tempfile", "webbrowser",
    )
)  # fmt: skip
"""Beginnings of the events of Python that a class may not cause, but while a module is imported."""
NEW_NETWORK, NEW_USER = 0x40000000, 0x10000000
"""CLONE_NEWNET and CLONE_NEWUSER of unshare(2)."""
_IMPORTS = "<frozen importlib"
_BASE = str(Path(__file__).with_name("worker.py"))
"""The file of the code that the process of a run begins with; what called it is no code of the user."""


class RefusedError(PermissionError):
    """What a judged class did and may not do."""


class Guard:
    """The walls of this process, from `close` on. `broken` says what the class tried first, and where."""

    def __init__(self) -> None:
        self.broken: str | None = None

    def close(self) -> None:
        """Close the walls, which nothing opens again in this process. No code of the user is loaded yet."""
        _loaded.update(_of_loaded())
        _leave_network()
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        sys.stdout = sys.stderr = _Output(self._refuse)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        sys.addaudithook(self._on_event)

    def _on_event(self, event: str, arguments: tuple[object, ...]) -> None:
        is_file = event == "open"
        if not (is_file or event.startswith(REFUSED)):
            return
        frame = _caller(inspect.currentframe())
        if frame is None or (is_file and _is_code(arguments[0])):
            return
        what = f"it opened the file {arguments[0]!r}" if is_file else f"it called {event}"
        self._refuse(what, frame)

    def _refuse(self, what: str, frame: FrameType | None) -> None:
        """Note what the class did, and raise `RefusedError` there."""
        self.broken = self.broken or f"{what}, which a judged class may not{where(frame)}"
        raise RefusedError(what)


class _Output(io.TextIOBase):
    """Counts what is printed, and keeps nothing."""

    def __init__(self, refuse: Callable[[str, FrameType | None], None]) -> None:
        self._left, self._refuse = MOST_OUTPUT, refuse

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        self._left -= len(text)
        if self._left < 0:
            self._refuse(f"it printed more than {MOST_OUTPUT} characters", _caller(inspect.currentframe()))
        return len(text)


def where(frame: FrameType | None) -> str:
    """ ", in line 12 of mine.py"; empty without a frame."""
    return f", in line {frame.f_lineno} of {Path(frame.f_code.co_filename).name}" if frame else ""


def of_class(frame: FrameType | None, unless: str = _BASE) -> FrameType | None:
    """The innermost frame of the user's code, from `frame` outwards; None if there is none.

    It is not searched beyond a frame whose file begins with `unless`.
    """
    while frame is not None and _is_ours(frame.f_code.co_filename):
        if frame.f_code.co_filename.startswith((unless, _BASE)):
            return None
        frame = frame.f_back
    return frame


def _caller(frame: FrameType | None) -> FrameType | None:
    """`of_class`, but None where the user's code imports a module, which reads files and lists folders."""
    return of_class(frame, _IMPORTS)


_ours: dict[str, bool] = {}
_loaded: set[Path] = set()
"""Packages and modules that the process had loaded before the class: `PYTHONPATH` may have some of them."""


def _is_ours(name: str) -> bool:
    """True for code of Python, of an installed package, and of what was loaded before the class."""
    if name not in _ours:
        _ours[name] = name.startswith("<frozen ") or (os.path.isabs(name) and _is_library(Path(name)))
    return _ours[name]


def _is_library(file: Path) -> bool:
    return trust.is_installed(file) or not _loaded.isdisjoint((file, *file.parents))


def _of_loaded() -> set[Path]:
    """The folder of each package that is loaded, and the file of each module outside of packages."""
    files = [getattr(module, "__file__", None) for name, module in sys.modules.items() if "." not in name]
    places = [Path(file) for file in files if file]
    return {place.parent if place.stem == "__init__" else place for place in places}


def _is_code(name: object) -> bool:
    """True for the name of a file of Python code, which tracebacks read."""
    return isinstance(name, str | bytes) and os.fsdecode(name).endswith((".py", ".pyc", ".so", ".pth"))


def _leave_network() -> None:
    """Move to a network without interfaces, where the system allows it. The process has one thread yet."""
    unshare: Callable[[int], None] | None = getattr(os, "unshare", None)  # Python 3.12, Linux
    if unshare is None:
        return
    for flags in (NEW_NETWORK, NEW_NETWORK | NEW_USER):
        with suppress(OSError):
            unshare(flags)
            return

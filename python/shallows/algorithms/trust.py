"""Python code that the user trusts: files of algorithms, by path and digest.

A scenario, a result or a peer can name a Python file, and may be somebody else's. Such a file is executed
only if its path and the digest of all that it loads are in the user's own record, which lies outside of
results; or with `--trust`. What the user names on the command line, and what the calling program names, is a
`Named`: it is executed, and recorded. docs/trust.md explains this for users.

The digest covers the files that the text imports, and those that were in fact loaded when it was executed.
The record has a list of the latter, and code of the record cannot load any other file.
"""

import ast
import errno
import hashlib
import json
import os
import site
import sys
import sysconfig
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, TypedDict, cast

from shallows.errors import ScenarioError

MARK = ".py:"
_everything = False
_ran: "list[Entry]" = []
"""The record of this process, for a user whose record cannot be written, and for other processes."""
_loaded: dict[Path, frozenset[Path]] = {}
"""The files of the user that each file loaded when it was last executed, or according to its record."""
_watch: "_Watch | None" = None
_is_hooked = False


class Entry(TypedDict):
    """A file that the user ran: its path, its digest, and the files that it loaded."""

    file: str
    digest: str
    loads: list[str]


class Named(str):
    """The location of a class, "/home/me/mine.py:Aimd", that the user or the calling program named.

    Only `named` makes one. A name in a file or from a peer is another `str`, which is not trusted.
    """

    __slots__ = ()


def named(value: Any, folder: Path = Path(), key: str = "cc") -> Any:
    """`value` with the locations of algorithms in it as `Named`, relative to `folder`.

    Only for what the user wrote on the command line, or the calling program passed. key: that of `value` in a
    scenario, "cc", "traffic", or "" for all tables.
    """
    if isinstance(value, Mapping):
        inside = {"name": "cc"} if key == "cc" else {"cc": "cc", "traffic": "traffic"}
        tables = cast("Mapping[str, object]", value)
        return {
            word: named(item, folder, inside[word]) if word in inside else item
            for word, item in tables.items()
        }
    if isinstance(value, list | tuple):
        return [named(item, folder, key) for item in cast("Iterable[object]", value)]
    if key != "cc" or not isinstance(value, str) or isinstance(value, Named):
        return value
    path, _, word = value.rpartition(":")
    return Named(f"{(folder / path).resolve()}:{word}") if MARK in value and "\0" not in path else value


def everything() -> None:
    """Trust every file that scenarios and results of this process name: `--trust`."""
    global _everything
    _everything = True


def check(file: Path, name: str) -> None:
    """Raise `ScenarioError` unless this file may be executed for the algorithm `name`."""
    if not _is_trusted(name) and not is_recorded(file):
        known = any(entry.get("file") == str(file) for entry in _recorded())
        problem = "it or a module that it imports has changed" if known else "you have not run it"
        expected = f"Python code that you trust: {problem}. Read {file}, then add --trust"
        raise ScenarioError("name", name, expected)


def _is_trusted(name: str) -> bool:
    """True if code of this name may run whatever the record says."""
    return _everything or isinstance(name, Named)


def ran() -> "Sequence[Entry]":
    """What this process ran, for `also_ran` in another process of the same user."""
    return tuple(_ran)


def also_ran(entries: "Sequence[Entry]") -> None:
    """Add what another process of the same user ran to the record of this one."""
    _ran.extend(entry for entry in entries if entry not in _ran)


def record(file: Path) -> None:
    """Record a file with its present digest as the user's own, on the disk too if there is a place for it."""
    entry: Entry = {
        "file": str(file),
        "digest": digest(file),
        "loads": sorted(map(str, _loaded.get(file, ()))),
    }
    known = entry in _recorded()
    also_ran([entry])
    if known:
        return
    place = _place()
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a") as stream:
            stream.write(json.dumps(entry) + "\n")


def is_recorded(file: Path) -> bool:
    """True if the user ran this file, and everything that it loaded, as they are now."""
    for entry in _recorded():
        if entry.get("file") == str(file):
            loads = frozenset(map(Path, entry.get("loads", ())))
            if entry.get("digest") == _digest(sources(file, loads)):
                _loaded[file] = loads
                return True
    return False


def digest(file: Path) -> str:
    """The digest of a file and of all files of the user that it imports or loaded, with their paths."""
    return _digest(sources(file))


def _digest(files: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for source in files:
        found.update(f"{source}\0".encode(errors="surrogateescape"))
        with suppress(OSError):  # a file that was loaded once may be gone
            found.update(hashlib.sha256(source.read_bytes()).digest())
    return found.hexdigest()


def sources(file: Path, loads: Iterable[Path] | None = None) -> list[Path]:
    """A file and those of the user that it imports or loaded, directly or not.

    `loads` are the files that it loaded; by default those of its last execution.
    """
    file = file.resolve()
    found, waiting = dict[Path, None](), [file, *(_loaded.get(file, ()) if loads is None else loads)]
    where = [str(file.parent), *(path for path in sys.path if path)]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = None
            waiting += _imported(path, where)
    return [file, *sorted(path for path in found if path != file)]


class _Watch:
    """What one thread loads: files of the user, and which of them it may load (None: any)."""

    def __init__(self, allowed: frozenset[Path] | None) -> None:
        self.thread, self.allowed, self.found = threading.get_ident(), allowed, set[Path]()

    def loads(self, name: object) -> None:
        """Note a file whose code is loaded. Raises `ImportError` if it may not be."""
        if not isinstance(name, str) or not os.path.isabs(name):
            return
        path = Path(name).resolve()
        path = next((at for at in (path, *path.parents) if at.is_file()), path)  # code in an archive
        if path in self.found or not path.is_file() or is_installed(path):
            return
        if self.allowed is not None and path not in self.allowed:
            raise ImportError(f"{path} is code that you have not run: read it, then add --trust")
        self.found.add(path)


@contextmanager
def executing(file: Path, name: str) -> Generator[None]:
    """Execute a file in this block, for the algorithm `name`.

    Notes what the file loads, and refuses what its record does not have.
    """
    global _watch, _is_hooked
    if not _is_hooked:
        sys.addaudithook(_on_event)
        _is_hooked = True
    before, modules = _watch, set(sys.modules)
    _watch = mine = _Watch(None if _is_trusted(name) else frozenset(sources(file)))
    try:
        yield
        for name in set(sys.modules) - modules:
            mine.loads(getattr(sys.modules[name], "__file__", None))
        _loaded[file] = frozenset(mine.found - {file})
    finally:
        _watch = before


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    """Hear that code is executed, that an extension is imported, or that a file of Python code is read.

    Cached bytecode of the user's folders is not found: it can differ from its source, and says what it is of.
    """
    watch = _watch
    if watch is None or watch.thread != threading.get_ident():
        return
    if event == "exec":
        watch.loads(getattr(arguments[0], "co_filename", None))
    elif event == "import":
        watch.loads(arguments[1])
    elif event == "open" and isinstance(arguments[0], str | bytes):
        name = os.path.abspath(os.fsdecode(arguments[0]))
        if name.endswith((".py", ".pyc")) and not set(arguments[1] or "") & set("wax+"):
            path = Path(name).resolve()
            if path.suffix == ".pyc" and path.parent.name == "__pycache__" and not is_installed(path):
                raise FileNotFoundError(errno.ENOENT, "cached bytecode is not used", name)
            watch.loads(name)


def _imported(path: Path, where: list[str]) -> Iterator[Path]:
    """The user's modules that one file imports. All modules of a package count."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    names: set[str] = set()
    if any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(tree)):
        yield from sorted(path.parent.rglob("*.py"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    for name in sorted(names - {"shallows"}):  # a helper may have the name of a module of Python
        spec = PathFinder.find_spec(name, where)
        folders = list(spec.submodule_search_locations or ()) if spec else []
        files = [file for folder in folders for file in sorted(Path(folder).rglob("*.py"))]
        if spec and spec.origin and not folders:
            files = [Path(spec.origin)]
        yield from (file.resolve() for file in files if not is_installed(file.resolve()))


def is_installed(file: Path) -> bool:
    """True for a file of Python, of this package, or of another one in the environment of this process."""
    return not _installed().isdisjoint(file.parents)


@cache
def _installed() -> frozenset[Path]:
    """The folders of installed packages, by what the interpreter says, and not by their names."""
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    found = [sysconfig.get_path(kind) for kind in kinds]
    found += site.getsitepackages([sys.prefix, sys.base_prefix])
    found += [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return frozenset(Path(path).resolve() for path in (str(Path(__file__).parents[1]), *found))


def _place() -> Path:
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
    return folder / "shallows" / "trusted"


def _recorded() -> list[Mapping[str, Any]]:
    """The entries of the record, here and on the disk; a line that is none is left out."""
    found: list[Mapping[str, Any]] = [*_ran]
    try:
        lines = _place().read_text("utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return found
    for line in lines:
        with suppress(ValueError):
            entry = json.loads(line)
            found += [entry] if isinstance(entry, dict) else []
    return found

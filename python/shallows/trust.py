"""Python code that the user trusts: files of algorithms, by path and digest.

A scenario or a result can name a Python file, and may come from somebody else. Such a file is executed only
if the user named it to this process, or if its path and the digest of all that it imports are in the user's
own record, which lies outside of results; or with `--trust`. Classes that the user's own program makes or
names are trusted, and recorded. docs/trust.md explains this for users.
"""

import ast
import hashlib
import os
import sys
import sysconfig
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, cast

from shallows.errors import ScenarioError

MARK = ".py:"
_everything = False
_named_by_user: ContextVar[frozenset[Path] | None] = ContextVar("named", default=None)
"""The files that the user names while a text is read; None if the user's own program builds the scenario."""


def everything() -> None:
    """Trust every file that scenarios and results of this process name: `--trust`."""
    global _everything
    _everything = True


@contextmanager
def reading(named: Mapping[str, Any], folder: Path = Path()) -> Generator[None]:
    """Read a scenario in `folder` from a text, which is trusted less than the overrides `named`."""
    paths = [text.rpartition(":")[0] for text in _texts(named)]
    files = {(at / path).resolve() for path in paths for at in (Path(), folder) if "\0" not in path}
    token = _named_by_user.set(frozenset(files))
    try:
        yield
    finally:
        _named_by_user.reset(token)


def check(file: Path, name: str) -> None:
    """Raise `ScenarioError` unless this file may be executed for the algorithm `name`; record it."""
    named = _named_by_user.get()
    if not (_everything or named is None or file in named) and not is_recorded(file):
        known = any(line.endswith(f" {file}") for line in _recorded())
        problem = "it or a module that it imports has changed" if known else "you have not run it"
        expected = f"Python code that you trust: {problem}. Read {file}, then add --trust"
        raise ScenarioError("name", name, expected)
    record(file)


def check_texts(given: Any, folder: Path) -> None:
    """Like `check`, for every Python file that the values of a text name, relative to `folder`."""
    for text in _texts(given):
        path = text.rpartition(":")[0]
        for file in (folder / path, Path(path)):
            if file.is_file():
                with reading({}):
                    check(file.resolve(), text)


def record(file: Path) -> None:
    """Record a file with its present digest as the user's own, if there is a place for the record."""
    if is_recorded(file):
        return
    place = _place()
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a") as stream:
            stream.write(f"{digest(file)} {file}\n")


def is_recorded(file: Path) -> bool:
    """True if the user ran this file, and everything that it imports, as they are now."""
    return f"{digest(file)} {file}" in _recorded()


def digest(file: Path) -> str:
    """The digest of a file and of all modules of the user that it imports, with their paths."""
    found = hashlib.sha256()
    for source in sources(file):
        found.update(f"{source}\0".encode(errors="surrogateescape"))
        found.update(hashlib.sha256(source.read_bytes()).digest())
    return found.hexdigest()


def sources(file: Path) -> list[Path]:
    """A file and the modules that it imports, directly or not, without Python's and installed ones."""
    found, waiting = dict[Path, None](), [file.resolve()]
    where = [str(file.resolve().parent), *(path for path in sys.path if path)]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = None
            waiting += _imported(path, where)
    return [file.resolve(), *sorted(path for path in found if path != file.resolve())]


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
    for name in sorted(names - sys.stdlib_module_names - {"shallows"}):
        spec = PathFinder.find_spec(name, where)
        folders = list(spec.submodule_search_locations or ()) if spec else []
        files = [file for folder in folders for file in sorted(Path(folder).rglob("*.py"))]
        if spec and spec.origin and not folders:
            files = [Path(spec.origin)]
        yield from (file.resolve() for file in files if not _is_installed(file.resolve()))


def _is_installed(file: Path) -> bool:
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = [Path(sysconfig.get_path(kind)).resolve() for kind in kinds]
    return "site-packages" in file.parts or any(folder in file.parents for folder in folders)


def _place() -> Path:
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
    return folder / "shallows" / "trusted"


def _recorded() -> set[str]:
    try:
        return set(_place().read_text("utf-8", errors="surrogateescape").splitlines())
    except OSError:
        return set()


def _texts(value: Any) -> Iterator[str]:
    """The locations of classes in `value`."""
    if isinstance(value, str):
        yield from [value] if MARK in value else []
    elif isinstance(value, Mapping):
        for item in cast("Mapping[str, Any]", value).values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in cast("Iterable[Any]", value):
            yield from _texts(item)

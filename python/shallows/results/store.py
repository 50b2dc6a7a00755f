"""Folders of results that are complete or absent.

A hidden folder beside the result is filled, synced to the disk, and renamed. A process that is killed in
between leaves the earlier result and a hidden folder, which the next save removes.
"""

import fcntl
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from shallows.errors import ScenarioError
from shallows.results.tables import TABLES

Place = str | os.PathLike[str]
FILES = {
    "scenario.toml",
    "summary.json",
    "figure.png",
    "figure.pdf",
    "comparison.csv",
    "distances.csv",
    *(f"{name}.parquet" for name in TABLES),
}
"""The files that a run or a comparison may write. Only such files are ever replaced."""
PAGE = "a page", b"<!doctype html>", (".html", ".htm")
CAPTURE, TRACE = ("a capture", b"\n\r\r\n"), ("a trace", b"\n")
"""Files that may lie beside results: kind, first bytes, and suffix if there is one."""


@contextmanager
def replacing(folder: Place) -> Generator[Path]:
    """An empty folder to fill, which replaces `folder` at once when the block ends.

    If the block raises, `folder` does not change. Raises `ScenarioError` if `folder` holds anything that is
    not part of a result.
    """
    asked, folder = folder, Path(os.path.realpath(folder))
    folder.parent.mkdir(parents=True, exist_ok=True)
    with naming(asked), _locked(folder):
        check_replaceable(folder)
        filling = _beside(folder, "partial")
        shutil.rmtree(filling, ignore_errors=True)
        filling.mkdir()
        try:
            yield filling
            sync(filling)
            put(filling, folder)
        finally:
            shutil.rmtree(filling, ignore_errors=True)


@contextmanager
def naming(place: Place) -> Generator[None]:
    """Add the name `place` to errors of the block: for a full disk the system names no file."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(place)) from error


def check_replaceable(folder: Place, source: Place | None = None) -> None:
    """Raise `ScenarioError` if saving results to `folder` would replace anything else.

    `source` is a file that the run reads, which must not lie in the folder either.
    """
    folder = Path(os.path.realpath(folder))
    if not folder.exists():
        return
    expected = "a new or empty folder, or one with only an earlier result"
    if not folder.is_dir():
        raise ScenarioError("it is a file", file=folder, expected=expected)
    if source and Path(os.path.realpath(source)).parent == folder:
        raise ScenarioError(
            f"it holds {Path(source).name}, which the run reads", file=folder, expected=expected
        )
    entries = sorted(folder.iterdir())
    for entry in entries:
        if not _of_a_result(entry):
            raise ScenarioError(f"it holds {entry.name}, which no run wrote", file=folder, expected=expected)
    if entries and not any((folder / name).is_file() for name in ("summary.json", "comparison.csv")):
        raise ScenarioError("it holds no result", file=folder, expected=expected)


def check_writable(folder: Place) -> None:
    """Check that `folder` is writable, before a run starts. Raises `ScenarioError`."""
    place = Path(os.path.realpath(folder))
    trial = _beside(place, f"trial-{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        trial.mkdir()
        trial.rmdir()
    except OSError as error:
        problem = f"it cannot be written ({error.strerror})"
        raise ScenarioError(problem, None, "another folder for the results", file=str(folder)) from None


def check_file(file: Place, kind: str, begins: bytes = b"", ends: tuple[str, ...] = ()) -> None:
    """Raise `ScenarioError` if writing a file of a `kind` that `begins` so would spoil something else.

    That is a file of another kind, such as the scenario, a file in the folder of a result, or a name that
    `ends` like another kind.
    """
    check_outside(file)
    path = Path(os.path.realpath(file))
    if ends and Path(file).suffix.lower() not in ends:
        better = Path(file).with_suffix(ends[0]) if Path(file).name else f"page{ends[0]}"
        raise ScenarioError("its name is not that of " + kind, file=file, expected=f"a name such as {better}")
    if path.is_dir():
        raise ScenarioError("it is a folder", file=file, expected=f"a file for {kind}")
    if not path.is_file():
        return
    with path.open("rb") as stream:
        there = stream.read(len(begins))
    if there and there != begins:
        raise ScenarioError("it is something else", file=file, expected=f"a new file, or an earlier {kind}")


def check_outside(place: Place) -> None:
    """Raise `ScenarioError` if `place` is the folder of a result, or in one."""
    path = Path(os.path.realpath(place))
    for folder in (path, *path.parents):
        if any((folder / name).is_file() for name in ("summary.json", "comparison.csv")):
            expected = "a place outside of it: the folder of a result holds only what its run wrote"
            raise ScenarioError(f"{folder} is a result", file=place, expected=expected)


def restore(folder: Place) -> None:
    """Restore a result that a killed save had moved aside, on file systems that cannot swap two names."""
    folder = Path(os.path.realpath(folder))
    aside = _beside(folder, "replaced")
    if not aside.exists():
        return
    with _locked(folder):
        if aside.exists() and not folder.exists():
            os.rename(aside, folder)


def put(filled: Path, folder: Path) -> None:
    """Rename `filled` to `folder`. The earlier content is then at `filled`, or removed."""
    try:
        os.rename(filled, folder)
    except OSError:
        if not folder.is_dir():
            raise
        if not _swap(filled, folder):
            _change_over(filled, folder)
    _sync_path(folder.parent)


def sync(folder: Place) -> None:
    """Sync everything below `folder` to the disk, the files of a folder concurrently.

    A disk writes concurrent requests together, which is much faster than one file after the other.
    """
    for path, _, files in os.walk(folder):
        failed: list[OSError] = []
        paths = [path, *(os.path.join(path, name) for name in files)]
        waiting = [Thread(target=_sync_or_tell, args=(one, failed)) for one in paths]
        for thread in waiting:
            thread.start()
        for thread in waiting:
            thread.join()
        if failed:
            raise failed[0]


def point(link: Path, target: str) -> None:
    """Make `link` a symbolic link to `target`, a name beside it, in place of an earlier link."""
    new = _beside(link, f"new-{os.getpid()}")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    os.replace(new, link)


def leftovers(folder: Place) -> list[Path]:
    """Leftovers of killed saves below `folder`: a list of paths."""
    return sorted(path for path in Path(folder).rglob(".*") if path.suffix in (".partial", ".replaced"))


def _of_a_result(entry: Path) -> bool:
    """True if a run or a comparison wrote `entry`: one of its files, or the folder of one of its runs."""
    if entry.is_symlink():
        return False
    if not entry.is_dir():
        return entry.name in FILES or entry.suffix == ".partial"
    inside = {path.name for path in entry.iterdir()}
    return "summary.json" in inside and inside <= FILES


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    path = _beside(folder, "lock")
    descriptor = _lock(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _lock(path: Path) -> int:
    """A descriptor of `path`, locked. Importing filelock takes longer than saving a run."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # the holder of the lock has removed it


def _beside(folder: Path, what: str) -> Path:
    return folder.with_name(f".{folder.name}.{what}")


def _sync_or_tell(path: Place, failed: list[OSError]) -> None:
    try:
        _sync_path(path)
    except OSError as error:
        failed.append(error)


def _sync_path(path: Place) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _swap(one: Path, other: Path) -> bool:
    """Exchange two names atomically; False if the system or its file system cannot."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if hasattr(libc, "renameat2"):
        here, exchange = -100, 2
        return libc.renameat2(here, names[0], here, names[1], exchange) == 0
    if hasattr(libc, "renamex_np"):
        return libc.renamex_np(*names, 2) == 0
    return False


def _change_over(filled: Path, folder: Path) -> None:
    """Like `_swap`, in two steps. `restore` repairs a kill between them."""
    aside = _beside(folder, "replaced")
    shutil.rmtree(aside, ignore_errors=True)
    os.rename(folder, aside)
    os.rename(filled, folder)
    shutil.rmtree(aside, ignore_errors=True)

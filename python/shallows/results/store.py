"""Folders of results that are complete or absent.

A hidden folder beside the result is filled, synced to the disk, and renamed. A process that is killed in
between leaves the earlier result and a hidden folder, which the next save removes.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from shallows.base import texts
from shallows.base.toml import is_table
from shallows.errors import ScenarioError
from shallows.results import inputs
from shallows.results.tables import ALL_TABLES

Place = str | os.PathLike[str]
FILES = {
    "scenario.toml",
    "summary.json",
    "figure.png",
    "figure.pdf",
    "comparison.csv",
    "distances.csv",
    *(f"{name}.parquet" for name in ALL_TABLES),
}
"""The files that a run or a comparison may write. Only such files are ever replaced."""


written: list[str] = []
"""Files and folders that this process has written completely, as the user named them, the latest last."""


def note(place: Place) -> None:
    """Add a place to `written`."""
    name = str(place)
    if name not in written:
        written.append(name)


@contextmanager
def replacing(folder: Place, check: Callable[[Path], None] | None = None) -> Generator[Path]:
    """An empty folder to fill, which replaces `folder` at once when the block ends.

    If the block raises, `folder` does not change. Raises `ScenarioError` if `folder` holds anything that is
    not part of a result, or whatever `check` raises for a folder of another kind.
    """
    given, folder = folder, Path(os.path.realpath(folder))
    folder.parent.mkdir(parents=True, exist_ok=True)
    with naming(given), locked(folder):
        (check or check_replaceable)(folder)
        filling = beside(folder, "partial")
        shutil.rmtree(filling, ignore_errors=True)
        filling.mkdir()
        try:
            yield filling
            sync(filling)
            put(filling, folder)
            note(given)
        finally:
            shutil.rmtree(filling, ignore_errors=True)


@contextmanager
def adding(folder: Place, file: str, text: str) -> Generator[Path]:
    """A folder to fill with further files for a saved result, which are renamed into `folder` one by one.

    Raises `ScenarioError` if `folder` no longer holds the result whose `file` has this text.
    """
    given, folder = folder, Path(os.path.realpath(folder))
    filling = beside(folder, "partial")
    with naming(given), locked(folder):
        path = folder / file
        if not path.is_file() or path.read_text("utf-8") != text:
            raise ScenarioError(
                "another result has replaced it", file=given, expected="the result just saved"
            )
        shutil.rmtree(filling, ignore_errors=True)
        filling.mkdir()
        try:
            yield filling
            sync(filling)
            for new in filling.iterdir():
                os.replace(new, folder / new.name)
            sync_path(folder)
        finally:
            shutil.rmtree(filling, ignore_errors=True)


def check_only(folder: Path, names: set[str]) -> None:
    """Raise `ScenarioError` unless `folder` is absent, or holds only files with these names."""
    if not folder.exists():
        return
    expected = "a new or empty folder, or one with only an earlier export: choose another name"
    if not folder.is_dir():
        raise ScenarioError("it is a file", file=folder, expected=expected)
    for entry in sorted(folder.iterdir()):
        if entry.name not in names or not entry.is_file() or entry.is_symlink():
            raise ScenarioError(
                f"it holds {entry.name}, which no export wrote", file=folder, expected=expected
            )


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
    trial = beside(place, f"trial-{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        trial.mkdir()
        trial.rmdir()
    except OSError as error:
        problem = f"it cannot be written ({error.strerror})"
        raise ScenarioError(problem, None, "another folder for the results", file=str(folder)) from None


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
    aside = beside(folder, "replaced")
    if not aside.exists():
        return
    with locked(folder):
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
    sync_path(folder.parent)


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
    new = beside(link, f"new-{os.getpid()}")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    os.replace(new, link)


def leftovers(folder: Place) -> list[Path]:
    """Leftovers of killed saves below `folder`: folders with only files of results, of no running save."""
    hidden = (path for path in Path(folder).rglob(".*") if path.suffix in (".partial", ".replaced"))
    return sorted(path for path in hidden if is_ours(path) and not is_used(path))


def is_ours(folder: Path) -> bool:
    """True if `folder` holds nothing but files of results, at any depth that results have."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    return all(_of_a_result(entry) or _is_partly_filled(entry) for entry in folder.iterdir())


def is_used(path: Path) -> bool:
    """True if a process is saving to `path` or filling it, or runs the sweep that it belongs to."""
    name = path.name.removeprefix(".").removesuffix(path.suffix if path.name.startswith(".") else "")
    for lock in (beside(path.with_name(name), "lock"), path.parent.parent / ".lock"):
        try:
            descriptor = os.open(lock, os.O_RDWR)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
    return False


def _is_partly_filled(entry: Path) -> bool:
    """True if `entry` is the folder of one run of a comparison that a kill left unfinished."""
    plain = entry.is_dir() and not entry.is_symlink()
    return plain and all(path.is_file() and _of_a_run(path) for path in entry.iterdir())


def _of_a_run(path: Path) -> bool:
    """True for one of `FILES`, and for a copy of an input as the summary beside it describes it."""
    if path.name in FILES:
        return True
    try:
        summary = texts.from_json((path.parent / "summary.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return is_table(summary) and path.name in inputs.copies_in(path.parent, summary.get("inputs"))


def _of_a_result(entry: Path) -> bool:
    """True if a run or a comparison wrote `entry`: one of its files, or the folder of one of its runs."""
    if entry.is_symlink():
        return False
    if not entry.is_dir():
        return _of_a_run(entry) or entry.name.removesuffix(".partial") in FILES
    inside = [*entry.iterdir()]
    return any(path.name == "summary.json" for path in inside) and all(map(_of_a_run, inside))


@contextmanager
def opened(folder: Place, within: int | None = None) -> Generator[int]:
    """A descriptor of a folder, relative to the one of `within`. Raises `ScenarioError` for a link."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=within)
    except OSError as error:
        raise ScenarioError(error.strerror, file=folder, expected="a folder that is no link") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """Allow one writer at a time of a folder or file."""
    path = beside(folder, "lock")
    descriptor = _lock(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _lock(path: Path) -> int:
    """A descriptor of `path`, locked. Importing filelock takes longer than saving a run."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # the holder of the lock has removed it


def beside(folder: Path, what: str) -> Path:
    """A hidden name beside a folder or file."""
    return folder.with_name(f".{folder.name}.{what}")


def _sync_or_tell(path: Place, failed: list[OSError]) -> None:
    try:
        sync_path(path)
    except OSError as error:
        failed.append(error)


def sync_path(path: Place) -> None:
    """Sync a file, or the names in a folder, to the disk."""
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
        current_folder, exchange = -100, 2
        return libc.renameat2(current_folder, names[0], current_folder, names[1], exchange) == 0
    if hasattr(libc, "renamex_np"):
        return libc.renamex_np(*names, 2) == 0
    return False


def _change_over(filled: Path, folder: Path) -> None:
    """Like `_swap`, in two steps. `restore` repairs a kill between them."""
    aside = beside(folder, "replaced")
    shutil.rmtree(aside, ignore_errors=True)
    os.rename(folder, aside)
    os.rename(filled, folder)
    shutil.rmtree(aside, ignore_errors=True)

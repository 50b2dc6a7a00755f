"""Parts of a sweep that run apart, on machines that share no disk, and their merger."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from shallows.errors import ScenarioError
from shallows.results import store
from shallows.results.address import Address
from shallows.sweeps.jobs import SET_ASIDE, name_of, set_aside, wrong_run
from shallows.sweeps.result import Sweep
from shallows.sweeps.running import alone, check_place

Shard = tuple[int, int]
"""(number from 1, how many) of a part of the runs of a sweep."""
Place = str | os.PathLike[str]


def shard_of(text: str | None) -> Shard | None:
    """(2, 4) of "2/4". Raises `ScenarioError`."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    number, count = map(int, found.groups()) if found else (0, 0)
    if not 1 <= number <= count:
        raise ScenarioError("--shard", text, "I/N with I from 1 to N, such as 2/4")
    return number, count


def merge(folders: Sequence[Place], out: Place) -> Sweep:
    """Merge the shards of a sweep in `folders` into one sweep in the folder `out`, and return it.

    All shards of the same sweep have to be there, complete. Their runs are linked or copied. A run in `out`
    that is damaged or not of this sweep is set aside. The table is that of the sweep run in one process.
    Raises `ScenarioError`.
    """
    shards = [Sweep.load(folder) for folder in folders]
    _check(shards)
    shards.sort(key=_place)
    folder = Path(os.path.realpath(out))
    check_place(folder)
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    with alone(folder), store.opened(folder / "runs") as target:
        for one in shards:
            with store.opened(one.folder / "runs") as source:
                for row in one.rows:
                    if not row["failure"]:
                        _take(Address(row["run"]), (one.folder, source), (folder, target))
        result = Sweep(_in_order(shards), shards[0].swept, folder, {**shards[0].about, "shard": None})
        result.save()
    return result


def _check(shards: list[Sweep]) -> None:
    """Raise `ScenarioError` unless these are all shards of one sweep, each once and complete."""
    first = shards[0]
    for one in shards:
        about, _ = one.about, _place(one)
        for key in ("told", "seeds", "world", "version"):
            if about[key] != first.about[key]:
                what = {"told": "sweep"}.get(key, key)
                expected = f"shards of one sweep: its {what} differs from that of {first.folder}"
                raise ScenarioError("another sweep", file=one.folder, expected=expected)
        if about["interrupted"]:
            raise ScenarioError("interrupted", file=one.folder, expected="a complete shard: run it again")
    places = [_place(one) for one in shards]
    count = places[0][1]
    if sorted(places) != [(number, count) for number in range(1, count + 1)]:
        here = ", ".join(f"{number}/{every}" for number, every in places)
        raise ScenarioError("shards", here, f"each of 1/{count} to {count}/{count} once")


def _place(one: Sweep) -> tuple[int, int]:
    """The number of a shard, and how many there are. Raises `ScenarioError` for another sweep."""
    shard = one.about["shard"]
    if not shard:
        raise ScenarioError("it is no shard", file=one.folder, expected="a sweep that ran with --shard I/N")
    number, every, *_ = [*shard, 0, 0]
    if len(shard) != 2 or not 1 <= number <= every:
        raise ScenarioError("shard", shard, "[I, N] with I from 1 to N, such as [2, 4]", file=one.folder)
    return number, every


def _in_order(shards: list[Sweep]) -> list[dict[str, object]]:
    """The rows of all shards in the order of the sweep, which deals its runs out in turn."""
    every = max(len(one.rows) for one in shards)
    return [one.rows[at] for at in range(every) for one in shards if at < len(one.rows)]


def _take(run: Address, source: tuple[Path, int], target: tuple[Path, int]) -> None:
    """Link or copy the run with this address into `target`, unless it is there and whole.

    Both are the folder of a sweep, and a descriptor of its `runs`.
    """
    name = name_of(run)
    here, there = source[0] / "runs" / name, target[0] / "runs" / name
    if problem := wrong_run(run, here):
        raise ScenarioError(problem, file=here, expected="a shard whose runs are whole: run it again")
    if os.path.lexists(there):
        if wrong_run(run, there) is None:
            return
        set_aside(there, target[0] / SET_ASIDE)
    filling = f".{name}.{os.getpid()}.partial"
    shutil.rmtree(filling, ignore_errors=True, dir_fd=target[1])
    os.mkdir(filling, dir_fd=target[1])
    with store.opened(name, source[1]) as old, store.opened(filling, target[1]) as new:
        for file in os.listdir(old):
            _link(file, old, new)
    os.rename(filling, name, src_dir_fd=target[1], dst_dir_fd=target[1])


def _link(file: str, source: int, target: int) -> None:
    """Link a file into another folder, both by their descriptors, or copy it to another disk."""
    try:
        os.link(file, file, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
    except OSError:
        old = os.open(file, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=source)
        with open(old, "rb") as content:
            new = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=target)
            with open(new, "wb") as copy:
                shutil.copyfileobj(content, copy)

"""Parts of a sweep that run apart, on machines that share no disk, and their merger."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from shallows.errors import ScenarioError
from shallows.sweeps.jobs import place_of_run, wrong_run
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

    All shards of the same sweep have to be there, complete. Their runs are linked or copied. The table is
    that of the sweep run in one process. Raises `ScenarioError`.
    """
    shards = [Sweep.load(folder) for folder in folders]
    _check(shards)
    shards.sort(key=_place)
    folder = Path(os.path.realpath(out))
    check_place(folder)
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    with alone(folder):
        for one in shards:
            for row in one.rows:
                if not row["failure"]:
                    _take(row["run"], one.folder, folder)
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
    number, every = shard
    return number, every


def _in_order(shards: list[Sweep]) -> list[dict[str, object]]:
    """The rows of all shards in the order of the sweep, which deals its runs out in turn."""
    every = max(len(one.rows) for one in shards)
    return [one.rows[at] for at in range(every) for one in shards if at < len(one.rows)]


def _take(run: str, source: Path, target: Path) -> None:
    """Link or copy the run with this address into `target`, unless it is there and whole."""
    here, there = place_of_run(run, source / "runs"), place_of_run(run, target / "runs")
    if problem := wrong_run(run, here):
        raise ScenarioError(problem, file=here, expected="a shard whose runs are whole: run it again")
    if there.exists() and wrong_run(run, there) is None:
        return
    filling = there.with_name(f".{there.name}.{os.getpid()}.partial")
    shutil.rmtree(filling, ignore_errors=True)
    shutil.rmtree(there, ignore_errors=True)
    shutil.copytree(here, filling, copy_function=_link)
    os.rename(filling, there)


def _link(source: str, target: str) -> str:
    """Link a file, or copy it to another disk."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target

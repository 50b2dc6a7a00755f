"""Folders that somebody forged, swapped, edited, truncated or copied: no code runs, each is named."""

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from attack import state

READ = [["report", "gift"], ["at", "gift", "20us"], ["why", "gift", "0", "--figure", "w.png"],
        ["export", "gift", "--csv", "csv"], ["report", "gift", "--html", "p.html"]]  # fmt: skip


def attack(place: Path, dice: random.Random, count: int) -> Iterator[str]:
    """Read `count` bad folders with a random command; yield the harm and the command."""
    state.begin(place, state.SCENARIO)
    for name, words in (("good", []), ("other", ["--seed", "2"]), ("code", ["--cc", "./evil.py:Aimd"])):
        status, said = state.run(place, ["run", "small.toml", "--out", name, *words])
        assert status == 0, said
    shutil.rmtree(place / "state")  # it comes from somebody else from here on
    for number in range(count):
        (place / "mark").unlink(missing_ok=True)
        for name in ("gift", "csv"):
            shutil.rmtree(place / name, ignore_errors=True)
        harm = list(HARMS)[number % len(HARMS)]
        HARMS[harm](place, dice)
        words = dice.choice(READ[1:] if harm in ("code", "flip") else READ)
        status, said = state.run(place, words)
        assert not (place / "mark").exists(), f"{harm}: code was executed by {words}"
        assert "Traceback" not in said, f"{harm}, {words}: {said}"
        # A page without paths, and a table that the command does not read, may do without what is damaged.
        assert status != 0 or harm == "flip", f"{harm} was not named by {words}"
        assert status == 0 or "shallows: " in said, said
        yield f"{harm} {'named' if status else 'not read'}"


def _code(place: Path, dice: random.Random) -> None:
    shutil.copytree(place / "code", place / "gift")


def _truncate(place: Path, dice: random.Random) -> None:
    shutil.copytree(place / "good", place / "gift")
    path = dice.choice([*(place / "gift").glob("*.parquet")])
    content = path.read_bytes()
    path.write_bytes(content[: dice.randrange(len(content))])


def _swap(place: Path, dice: random.Random) -> None:
    shutil.copytree(place / "good", place / "gift")
    path = dice.choice([*(place / "other").iterdir()])
    shutil.copy(path, place / "gift" / path.name)


def _edit(place: Path, dice: random.Random) -> None:
    shutil.copytree(place / "good", place / "gift")
    path = place / "gift" / "summary.json"
    summary = json.loads(path.read_text())
    summary["seed"] = dice.randrange(3, 100)
    path.write_text(json.dumps(summary))


def _remove(place: Path, dice: random.Random) -> None:
    shutil.copytree(place / "good", place / "gift")
    dice.choice([*(place / "gift").iterdir()]).unlink()


def _garbage(place: Path, dice: random.Random) -> None:
    shutil.copytree(place / "good", place / "gift")
    dice.choice([*(place / "gift").iterdir()]).write_bytes(dice.randbytes(dice.choice([0, 10, 1000])))


def _flip(place: Path, dice: random.Random) -> None:
    shutil.copytree(place / "good", place / "gift")
    path = dice.choice([*(place / "gift").glob("*.parquet")])
    content = bytearray(path.read_bytes())
    content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    path.write_bytes(content)


def _foreign(place: Path, dice: random.Random) -> None:
    (place / "gift").mkdir()
    (place / "gift" / dice.choice(["scenario.toml", "summary.json", "notes.txt"])).write_text("mine")


HARMS: dict[str, Callable[[Path, random.Random], None]] = {
    "code": _code, "truncate": _truncate, "swap": _swap, "edit": _edit,
    "remove": _remove, "garbage": _garbage, "flip": _flip, "foreign": _foreign,
}  # fmt: skip

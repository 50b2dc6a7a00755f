"""Tables with a changed byte, or rewritten by another program: every command that reads one refuses it."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet

from attack import state

COMMANDS = [["report", "gift", "--html", "page.html"], ["report", "gift"], ["at", "gift", "20us"],
            ["why", "gift", "0", "--figure", "why.png"], ["export", "gift", "--csv", "csv"],
            ["export", "gift", "--fct", "fct.txt"], ["export", "gift", "--perfetto", "t.perfetto"],
            ["draw", "gift", "--out", "network.html"], ["results", "diff", "gift", "good"]]  # fmt: skip
WRITERS = [{"compression": "zstd"}, {"compression": "none", "use_dictionary": False},
           {"compression": "snappy", "version": "1.0"}, {"row_group_size": 7}]  # fmt: skip


def attack(place: Path, dice: random.Random, count: int) -> Iterator[str]:
    """Change `count` tables; yield for each the change and the table."""
    (place / "small.toml").write_text(state.SCENARIO)
    status, said = state.run(place, ["run", "small.toml", "--out", "good"])
    assert status == 0, said
    readers = {path.name: _readers(place, path.name) for path in sorted((place / "good").glob("*.parquet"))}
    assert all(readers.values()), f"no command reads {[name for name, of in readers.items() if not of]}"
    for number in range(count):
        _fresh(place)
        table = place / "gift" / dice.choice(list(readers))
        change = _byte if number % 2 else _rewrite
        change(table, dice)
        for words in readers[table.name]:
            status, said = state.run(place, words)
            assert status == 2, f"{change.__name__} of {table}: {words} ended with {status}: {said}"
            assert table.name in said, said
            assert "Traceback" not in said, said
        yield f"{change.__name__.strip('_')} {table.name}"


def _readers(place: Path, name: str) -> list[list[str]]:
    """The commands that fail without a table."""
    found = []
    for words in COMMANDS:
        _fresh(place)
        (place / "gift" / name).unlink()
        if state.run(place, words)[0]:
            found.append(words)
    return found


def _fresh(place: Path) -> None:
    for name in ("gift", "csv"):
        shutil.rmtree(place / name, ignore_errors=True)
    shutil.copytree(place / "good", place / "gift")


def _byte(table: Path, dice: random.Random) -> None:
    content = bytearray(table.read_bytes())
    content[dice.randrange(len(content))] ^= dice.randrange(1, 256)
    table.write_bytes(content)


def _rewrite(table: Path, dice: random.Random) -> None:
    """The same rows, with all metadata, by the writer of Arrow."""
    rows = pyarrow.parquet.read_table(table)
    kept = {key: text for key, text in pyarrow.parquet.read_metadata(table).metadata.items()
            if key != b"ARROW:schema"}  # fmt: skip
    pyarrow.parquet.write_table(rows.replace_schema_metadata(kept), table, **dice.choice(WRITERS))

"""Reads the text files of a SONiC device that have a row for each port, or for each kind of link.

| file | columns |
|---|---|
| `pg_profile_lookup.ini` | speed (Mbit/s), cable, size, xon, xoff, threshold, xon_offset |
| `port_config.ini` | name, lanes, and others, among them speed, as the comment in its first line says |

The first becomes the table PG_PROFILE_LOOKUP with entries `SPEED|METRES`, the second the table PORT. Source:
cfgmgr/buffermgr.cpp of github.com/sonic-net/sonic-swss, portconfig.py of sonic-buildimage.
"""

import re
from pathlib import Path

from shallows.base import texts
from shallows.errors import ScenarioError

LOOKUP = "PG_PROFILE_LOOKUP"
COLUMNS = ("speed", "cable", "size", "xon", "xoff", "threshold", "xon_offset")
"""Those of `pg_profile_lookup.ini`; the last may be absent."""
_WHOLE, _METRES = re.compile("[0-9]+"), re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")
Text = dict[str, dict[str, dict[str, str]]]
"""Tables as in config_db.json: all values are texts."""


def recognises(path: Path, text: str) -> bool:
    """Whether a file is one of these, by its name or by the names of its columns."""
    return path.suffix == ".ini" or _columns(text)[:2] in (["speed", "cable"], ["name", "lanes"])


def read(path: Path) -> Text:
    """The tables of a file. Raises `ScenarioError` with the line."""
    text = texts.read(path)
    columns = _columns(text)
    if columns[:2] == ["name", "lanes"]:
        return {"PORT": _ports(path, text, columns)}
    return {LOOKUP: _lookup(path, text)}


def _columns(text: str) -> list[str]:
    """The names of columns: the words of the last comment before the first row."""
    names: list[str] = []
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            break
        words = line.replace("#", " ").split()
        names = words if len(words) > 1 else names
    return names


def _rows(path: Path, text: str, columns: str, least: int, most: int) -> list[tuple[int, list[str]]]:
    """The words of each line without comments, with its number."""
    rows: list[tuple[int, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if words and not least <= len(words) <= most:
            raise ScenarioError(f"line {number}", line.strip(), f"columns {columns}", file=path)
        if words:
            rows.append((number, words))
    return rows


def _lookup(path: Path, text: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for number, words in _rows(path, text, ", ".join(COLUMNS), len(COLUMNS) - 1, len(COLUMNS)):
        speed, cable = words[:2]
        metres = cable.removesuffix("m")
        if not _WHOLE.fullmatch(speed) or metres == cable or not _METRES.fullmatch(metres):
            expected = "a speed in Mbit/s and a length such as 40m in its first columns"
            raise ScenarioError(f"line {number}", " ".join(words), expected, file=path)
        key = f"{int(speed)}|{float(metres):g}"
        row: dict[str, str] = dict(zip(COLUMNS[2:], words[2:], strict=False))
        if found.setdefault(key, row) != row:
            raise ScenarioError(f"line {number}", " ".join(words), f"one row for {speed} {cable}", file=path)
    return found


def _ports(path: Path, text: str, columns: list[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for number, words in _rows(path, text, ", ".join(columns), 2, len(columns)):
        row = dict(zip(columns, words, strict=False))
        port = {"speed": row["speed"]} if "speed" in row else {}
        if found.setdefault(row["name"], port) != port:
            raise ScenarioError(f"line {number}", " ".join(words), f"one row for {row['name']}", file=path)
    return found

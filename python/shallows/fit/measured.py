"""Reads tables of measured times: of nccl-tests, of perftest (`ib_write_lat`), and CSV files.

The line before the first row names the columns, behind `#` or not, separated by blanks or commas. One is the
size in bytes (`size`, `#bytes`, `bytes`, `message`), one the time: `time` (us, as nccl-tests has it),
`t_avg[usec]`, `t_typical[usec]`, or `time_us`, `latency_us` and the like with another unit. Of several the
first counts, and the others are named, as are lines after it that are neither rows, comments nor rules.
"""

import re
from pathlib import Path

import numpy as np

from shallows.base import texts
from shallows.core.contract import F64
from shallows.errors import ScenarioError

SIZES = ("size", "bytes", "message", "size_bytes", "message_bytes")
UNITS = {"ns": 1e-3, "us": 1.0, "usec": 1.0, "ms": 1e3, "s": 1e6, "sec": 1e6}
"""Microseconds of each unit."""
_TIME = re.compile(r"(?:t_typical|t_avg|time|latency|t)(?:[_\[(]+(ns|usec|us|ms|sec|s)[\])]?)?")
_ROW = re.compile(r"\s*[0-9]")
_ASIDE = re.compile(r"\s*(#|[-=_*]*\s*$)")
"""A comment, a rule or a blank line."""
MOST_NAMED = 5


def read(path: Path) -> tuple[F64, F64, list[str]]:
    """(sizes in bytes, times in us, sentences on what is left out). Raises `ScenarioError` with the line."""
    try:
        lines = texts.read(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(None, None, f"a readable table ({texts.why(error)})", file=path) from None
    header: list[str] = []
    places: tuple[int, int, float] | None = None
    rows: list[tuple[float, float]] = []
    left: list[str] = []
    others: list[int] = []
    for number, line in enumerate(lines, 1):
        words = line.replace("#", " ", 1).replace(",", " ").split()
        if not _ROW.match(line):
            if _is_header(words):
                if rows and words != header:
                    raise ScenarioError(f"line {number}", line.strip(), "one header in a table", file=path)
                header = words
            elif header and not _ASIDE.match(line):
                others.append(number)
            continue
        if places is None:
            places = _places(path, number, header, left)
        rows.append(_row(path, number, words, places))
    if not rows:
        expected = "rows of a size and a time, with the names of the columns before them"
        raise ScenarioError(None, None, expected, file=path)
    if others:
        more = f" and {len(others) - MOST_NAMED} others" if len(others) > MOST_NAMED else ""
        named = ", ".join(map(str, others[:MOST_NAMED]))
        left.append(f"line{'s' * (len(others) > 1)} {named}{more}: no row of numbers")
    sizes, times = np.array(sorted(rows)).T
    return sizes, times, left


def _is_header(words: list[str]) -> bool:
    return any(word.lower() in SIZES for word in words)


def _places(path: Path, number: int, header: list[str], left: list[str]) -> tuple[int, int, float]:
    """The places of size and time, and the us of its unit."""
    lower = [word.lower() for word in header]
    sizes = [at for at, word in enumerate(lower) if word in SIZES]
    times = [(at, match) for at, word in enumerate(lower) if (match := _TIME.fullmatch(word))]
    if not sizes or not times:
        expected = f"names of columns before it: one of {', '.join(SIZES)}, and time, t_avg[usec] or time_us"
        raise ScenarioError(f"line {number}", None, expected, file=path)
    at, match = times[0]
    others = [word for place, word in enumerate(header) if place not in (sizes[0], at)]
    if others:
        left.append(f"columns {', '.join(dict.fromkeys(others))}")
    return sizes[0], at, UNITS[match[1] or "us"]


def _row(path: Path, number: int, words: list[str], places: tuple[int, int, float]) -> tuple[float, float]:
    size, time, unit = places
    try:
        found = float(words[size]), float(words[time]) * unit
    except (IndexError, ValueError):
        found = 0.0, 0.0
    if not (found[0] >= 1 and found[0] == int(found[0]) and 0 < found[1] < float("inf")):
        expected = "a whole number of bytes from 1, and a time above 0, in the columns that the header names"
        raise ScenarioError(f"line {number}", " ".join(words), expected, file=path)
    return found

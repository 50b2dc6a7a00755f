"""The reader of every text file that a user gives: UTF-8, with or without a byte-order mark."""

import gzip
import json
import os
import re
import sys
import tomllib
import zlib
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from shallows.base import limits

MARK = "\ufeff"
GZ = ".gz"
DEEPEST = 8
SHALLOW = f"tables nested at most {DEEPEST} deep"


def read(path: str | PathLike[str]) -> str:
    """The text of a file, which may be compressed (.gz). Raises `OSError`, or `ValueError` if it is none."""
    return content(path).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def content(path: str | PathLike[str]) -> bytes:
    """The bytes of a file, decompressed if it is .gz. Raises `OSError`, and `ValueError` for a broken .gz.

    A .gz file is not decompressed beyond the size that its end states, by which its memory is estimated.
    """
    if not os.fspath(path).endswith(GZ):
        return Path(path).read_bytes()
    stated = size(path)
    try:
        with gzip.open(path) as file:
            found = file.read(stated + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"a complete .gz file ({error})") from None
    if len(found) != stated:
        raise ValueError("a .gz file of one part, of the size that its end states")
    return found


def size(path: str | PathLike[str]) -> int:
    """The bytes of a file; of a .gz file, those that its end states."""
    path = Path(path)
    if path.suffix != GZ:
        return path.stat().st_size
    with path.open("rb") as file:
        file.seek(-min(4, path.stat().st_size), os.SEEK_END)
        return int.from_bytes(file.read(4), "little")


def toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises `ValueError` with the reason."""
    try:
        return tomllib.loads(text.removeprefix(MARK))
    except RecursionError:
        raise ValueError(SHALLOW) from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # an integer that Python does not convert
        raise ValueError(_long_number(text)) from None


def from_json(text: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The value of a JSON text; `pairs` makes its objects. Raises `ValueError` with the reason."""
    try:
        return json.loads(text.removeprefix(MARK), object_pairs_hook=pairs)
    except RecursionError:
        raise ValueError(SHALLOW) from None
    except json.JSONDecodeError:
        raise
    except ValueError:
        if not _digits(text):  # an error of `pairs`
            raise
        raise ValueError(_long_number(text)) from None


def _long_number(text: str) -> str:
    """The place of a number with more digits than Python converts, and how many it may have."""
    digits = _digits(text)
    line = text.count("\n", 0, digits.start()) + 1 if digits else 1
    return f"whole numbers of at most {limits.INTEGER.most}, unlike the one on line {line}"


def _digits(text: str) -> re.Match[str] | None:
    """The first number with more digits than Python converts."""
    return re.compile(rf"[\d_]{{{sys.get_int_max_str_digits() + 1},}}").search(text)


def why(error: Exception) -> str:
    """Why a file could not be read, in a few words."""
    if isinstance(error, UnicodeDecodeError):
        return f"not text in UTF-8: {error.reason} at byte {error.start}"
    return getattr(error, "strerror", None) or str(error)

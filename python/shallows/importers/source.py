"""The text of an imported file, with the line and column of each word for errors."""

import re
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from os import PathLike
from pathlib import Path
from typing import NoReturn

from shallows import memory
from shallows.base import limits, texts
from shallows.errors import ScenarioError
from shallows.scenario.places import Place

BYTES_PER_BYTE = 120
"""Memory of a byte of a file while it is read, for short words; measured 13 to 112."""
TASK_BYTES = 11_000
"""Memory of a task while its scenario is written and checked; measured 10,400 of 340,000 tasks."""


_NUMBER = re.compile(r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def check_size(path: Path) -> None:
    """Raise `ScenarioError` for a file that would need more memory than is free."""
    size = path.stat().st_size
    try:
        memory.check("its words", BYTES_PER_BYTE * size, f"a smaller file; it has {memory.text(size)}")
    except ScenarioError as error:
        raise error.in_file(path) from None


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a file, with its line and column from 1."""

    text: str
    line: int
    column: int


class Source:
    """A text file by lines. Errors have its path, line and column, and show the line."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        try:
            check_size(self.path)
            self.lines = texts.read(self.path).splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ScenarioError(None, None, f"a readable file ({texts.why(error)})", file=self.path) from None

    def words(self, line: int) -> list[Word]:
        """The words of a line (from 1), which blanks separate."""
        words: list[Word] = []
        text, at = self.lines[line - 1], 0
        for part in text.split():
            at = text.index(part, at)
            words.append(Word(part, line, at + 1))
            at += len(part)
        return words

    def rows(self, comment: str = "#") -> list[list[Word]]:
        """The words of every line that is neither blank nor a comment."""
        rows = (self.words(line) for line in range(1, len(self.lines) + 1))
        return [row for row in rows if row and not row[0].text.startswith(comment)]

    def refuse(self, word: Word | None, key: str | None, expected: str) -> NoReturn:
        """Raise `ScenarioError` for a word, or for the end of the file."""
        if word is None:
            word = Word("", max(len(self.lines), 1), len(self.lines[-1]) + 1 if self.lines else 1)
        text = self.lines[word.line - 1] if self.lines else ""
        raise ScenarioError(
            key,
            word.text if key is not None else None,
            expected,
            file=f"{self.path}:{word.line}:{word.column}",
            place=Place(word.line, word.column, text, max(1, len(word.text))),
        )

    def after(self, row: list[Word]) -> Word:
        """The empty word behind the last of a line, where another one is missing."""
        last = row[-1]
        return Word("", last.line, last.column + len(last.text))

    def whole(self, word: Word, key: str, least: int = 0, most: int = limits.SIZE.most) -> int:
        """A whole number between two limits."""
        if not word.text.isascii() or not word.text.isdigit() or not least <= int(word.text[:40]) <= most:
            self.refuse(word, key, f"a whole number from {least} to {most}")
        return int(word.text)

    def number(self, word: Word, key: str, expected: str) -> Decimal:
        """A decimal number of at least 0. Decimal itself also reads 1_0, NaN and digits of other scripts."""
        if not _NUMBER.fullmatch(word.text):
            self.refuse(word, key, expected)
        try:
            number = Decimal(word.text)
        except DecimalException:
            self.refuse(word, key, expected)
        if not number.is_finite() or number > 10**30:
            self.refuse(word, key, expected)
        return number

    def time(self, word: Word, key: str, unit_ps: int, unit: str) -> int:
        """A number of units of time, in picoseconds."""
        picoseconds = round(self.number(word, key, f"a number of {unit} of at least 0") * unit_ps)
        if picoseconds > limits.TIME.most:
            self.refuse(word, key, f"a time of at most {limits.TIME.most // 10**12} s")
        return picoseconds

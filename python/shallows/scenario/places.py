"""Lines and columns of the keys in a TOML text, for errors that show them.

The text has been read by tomllib, so it is valid. Only the positions are found here.
"""

import re
from dataclasses import dataclass

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_NAME = re.compile(r"""\s*(?:"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'|([A-Za-z0-9_-]+))[ \t]*""")
_TEXT = re.compile(r'"""(?:[^\\]|\\.)*?"""+|\'\'\'.*?\'\'\'+|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL)
WIDTH = 160
"""The most characters of a line that an error repeats."""
_PLAIN = re.compile(r"[^,\]}#\n]+")


@dataclass(frozen=True)
class Place:
    """The place of a value: its line and column, both from 1, the text of that line, and its length there."""

    line: int
    column: int
    text: str
    length: int

    def __str__(self) -> str:
        """The line with its number, and carets below the value; of a long line the part around the value."""
        number = f"{self.line:5}"
        start = max(0, min(self.column - 1 - WIDTH // 4, len(self.text) - WIDTH))
        shown = self.text[start : start + WIDTH]
        before, after = "…" if start else "", "…" if start + WIDTH < len(self.text) else ""
        column = len(before) + self.column - 1 - start
        carets = "^" * max(1, min(self.length, len(before) + len(shown) - column))
        return f"{number} | {before}{shown}{after}\n{' ' * len(number)} | {' ' * column}{carets}"


def find(text: str, key: str) -> Place | None:
    """The place of the value of a dotted key such as "traffic[0].cc.g"; of the nearest table around it if it
    has none.
    """
    places = _Reader(text).places
    while key:
        if key in places:
            return _place(text, *places[key])
        key = re.sub(r"(\.[^.\[\]]*|\[\d+\]|^[^.\[\]]*)$", "", key)
    return None


def of_key(text: str, key: str) -> Place | None:
    """The place of the name of a dotted key, or of the header of a table; None if the text has none."""
    known = _Reader(text).places
    if f"{key}=" in known:
        start, end = known[f"{key}="]
        return _place(text, start, start + len(text[start:end].partition("=")[0].rstrip()))
    return _place(text, *known[key]) if key in known else None


def of_error(text: str, message: str) -> Place | None:
    """The place that an error of tomllib names, such as "(at line 14, column 17)"."""
    found = re.search(r"\(at line (\d+), column (\d+)\)$", message)
    lines = text.split("\n")
    if found:
        line, column = map(int, found.groups())
    else:  # the end of the document
        line = max((number for number, one in enumerate(lines, 1) if one.strip()), default=0)
        column = len(lines[line - 1].rstrip()) + 1 if line else 0
    if not 1 <= line <= len(lines):
        return None
    return Place(line, column, lines[line - 1].rstrip("\r"), 1)


def _place(text: str, start: int, end: int) -> Place:
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line = text[line_start : len(text) if line_end < 0 else line_end].rstrip("\r")
    column = start - line_start
    return Place(text.count("\n", 0, start) + 1, column + 1, line, min(end - start, len(line) - column))


class _Reader:
    """One pass over a text. `places` has the start and the end of each value by its dotted key."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.places: dict[str, tuple[int, int]] = {}
        self.counts: dict[str, int] = {}
        table = ""
        while self._skip_blank() < len(text):
            if text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _skip_blank(self) -> int:
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.at

    def _header(self) -> str:
        start, several = self.at, self.text.startswith("[[", self.at)
        self.at += 2 if several else 1
        *parents, last = self._names()
        table = ""
        for name in parents:
            table = _below(table, name)
            if table in self.counts:  # the last table of an array of tables
                table = f"{table}[{self.counts[table] - 1}]"
        table = _below(table, last)
        if several:
            number = self.counts.setdefault(table, 0)
            self.counts[table] += 1
            table = f"{table}[{number}]"
        self.at = self.text.index("]", self.at) + (2 if several else 1)
        self.places.setdefault(table, (start, self.at))
        return table

    def _names(self) -> list[str]:
        names: list[str] = []
        while found := _NAME.match(self.text, self.at):
            names.append(next(part for part in found.groups() if part is not None))
            self.at = found.end()
            if not self.text.startswith(".", self.at):
                break
            self.at += 1
        return names

    def _pair(self, table: str) -> None:
        start = self.at
        for name in self._names():
            table = _below(table, name)
        self.at = self.text.index("=", self.at) + 1
        while self.text[self.at] in " \t":
            self.at += 1
        self._value(table)
        self.places[f"{table}="] = (start, self.at)  # key and value, for an unknown key

    def _value(self, key: str) -> None:
        start = self.at
        if self.text[start] == "[":
            self._items(key)
        elif self.text[start] == "{":
            self._inline(key)
        elif found := _TEXT.match(self.text, start) or _PLAIN.match(self.text, start):
            self.at = start + len(found[0].rstrip())
        self.places[key] = (start, self.at)

    def _items(self, key: str) -> None:
        self.at += 1
        number = 0
        while self.text[self._skip_blank()] != "]":
            self._value(f"{key}[{number}]")
            number += 1
            if self.text[self._skip_blank()] == ",":
                self.at += 1
        self.at += 1

    def _inline(self, key: str) -> None:
        self.at += 1
        while self.text[self._skip_blank()] != "}":
            self._pair(key)
            if self.text[self._skip_blank()] == ",":
                self.at += 1
        self.at += 1


def _below(table: str, name: str) -> str:
    return f"{table}.{name}" if table else name

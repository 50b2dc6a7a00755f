"""Names are data: the rules for names that users choose, and their escapes for each kind of output.

Node names, names of scenarios and labels come from files that somebody else may have written. `printable`
refuses names that no output can show. The other functions write any text so that a terminal, a page, a figure
or a file system takes it as text and nothing else.
"""

import html as _html
import json
import os
from pathlib import Path

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What the text of a cell begins with that a spreadsheet evaluates."""
LONGEST = 100
"""The most bytes of a name, so that it fits into a file name."""


def printable(name: str) -> str:
    """`name`, if it can be shown; raises `ValueError` with what was expected."""
    if not name.strip() or not name.isprintable() or len(name.encode(errors="replace")) > LONGEST:
        raise ValueError(f"a name of up to {LONGEST} printable characters, without control characters")
    return name


def node(name: str) -> str:
    """`name`, if a node may have it: `->` joins two nodes to a port. Raises `ValueError`."""
    if "->" in printable(name):
        raise ValueError('a name without "->", which joins the two nodes of a port')
    return name


def of_file(path: str | os.PathLike[str]) -> str:
    """The name of a file without its ending, as text, also where the locale is not UTF-8 (`LC_ALL=C`)."""
    return os.fsencode(Path(path).stem).decode("utf-8", "replace")


def folder(name: str) -> str:
    """The name of a folder for a text, in the encoding of this system's names."""
    return os.fsdecode(name.encode("utf-8"))


def terminal(text: str) -> str:
    """`text` with control characters as escapes, such as \\x1b; line feeds and tabs stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else _escape(c) for c in text)


def line(text: str) -> str:
    """`text` on one line: like `terminal`, with line feeds and tabs as escapes too."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def html(text: str) -> str:
    """`text` for HTML, between tags or in a quoted attribute."""
    return _html.escape(line(text) if "\n" not in text else terminal(text))


def script(data: object) -> str:
    """`data` as JSON inside a script element, which no text in it can end or nest."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def figure(text: str) -> str:
    """`text` for matplotlib, whose legends skip labels that begin with `_`.

    Formulas between dollar signs are switched off in the style of the figures (`text.parse_math`).
    """
    return terminal(f" {text}" if text.startswith("_") else text)


def cell(text: str) -> str:
    """`text` for a cell of CSV, which no spreadsheet takes for a formula: with a quote before its sign."""
    return f"'{text}" if text.startswith(FORMULA) else text


def file(name: str) -> str:
    """`name` as the name of one file or folder: distinct names stay distinct, and none leads elsewhere."""
    if name.isprintable() and not set(name) & set("/\\%\0") and not name.startswith("."):
        return name
    kept = (
        c if c.isprintable() and c not in "/\\%" else "".join(f"%{b:02X}" for b in _bytes(c)) for c in name
    )
    text = "".join(kept)
    return f"%2E{text[1:]}" if text.startswith(".") else text


def _bytes(letter: str) -> bytes:
    return letter.encode(errors="surrogatepass")


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape", errors="surrogatepass").decode("ascii")

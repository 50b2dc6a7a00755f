"""Generates the tables of docs/crossing.md from the core: `make generated`."""

import re
from pathlib import Path

from shallows import _core

PAGE = Path(__file__).parent.parent / "docs" / "crossing.md"
ROOTS = ("Request", "Answer", "Run", "Attachment", "Cable")
BLOCK = re.compile(r"(<!-- made by `make generated`: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def page(text):
    """Replace the tables of the page by those of the core."""
    tables, root = {}, None
    for name, fields in _core.contract():
        root = name if name in ROOTS else root
        tables.setdefault(root, []).append((name, fields))
    return BLOCK.sub(lambda found: f"{found[1]}\n{_lines(tables[found[2]])}{found[3]}", text)


def _lines(tables):
    return "".join(line for name, fields in tables for line in _table(name, fields))


def _table(name, fields):
    yield f"| `{name}` | type | meaning |\n|---|---|---|\n"
    for key, kind, optional, about in fields:
        yield f"| `{key}` | {kind}{', optional' if optional else ''} | {about} |\n"
    yield "\n"


def write():
    """Write the page."""
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    write()

"""The frame of a page: one HTML file, readable offline, on a phone and on paper, light and dark."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from rich.text import Text

from shallows.base import names
from shallows.results.files import GENERATOR

if TYPE_CHECKING:
    from rich.table import Column, Table

    from shallows.printing.report import Part


def document(
    title: str, links: Mapping[str, str], parts: Sequence[str], style: str = "", script: str = ""
) -> str:
    """The HTML of a page: `links` (`{id: name}`) lead to its `parts`, HTML.

    `style` is CSS and `script` JavaScript of its own.
    """
    named = "".join(f'<a href="#{key}">{names.html(name)}</a>' for key, name in links.items())
    nav = f"<nav>{named}</nav>" if len(links) > 1 else ""
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            GENERATOR,
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{names.html(title)}</title><style>{beside('page.css')}{style}</style></head><body>",
            nav,
            *parts,
            f"<script>{beside('page.js')}{script}</script>",
            "</body></html>\n",
        ]
    )


@cache
def beside(name: str) -> str:
    """The text of a file of this package, such as `page.css`."""
    return files("shallows.html").joinpath(name).read_text("utf-8")


def section(key: str, title: str, *parts: str) -> str:
    """A section of a page, the target of a link."""
    return f'<section id="{key}"><h2>{names.html(title)}</h2>{"".join(parts)}</section>'


def html(parts: "Iterable[Part]") -> str:
    """The texts and tables of a terminal report, in HTML."""
    return "".join(_lines(part) if isinstance(part, str) else table(part) for part in parts if part != "")


def _lines(text: str) -> str:
    """Lines of a report: a word with a text from column 12 on, or a sentence."""
    rows: list[str] = []
    for line in text.splitlines():
        word, rest = line[:12].rstrip(), line[12:]
        if line[11:12] == " " and " " not in word:
            rows.append(f"<dt>{names.html(word)}</dt><dd>{names.html(rest)}</dd>")
        else:
            rows.append(f'<dt class="whole">{names.html(line)}</dt>')
    return f"<dl>{''.join(rows)}</dl>"


def table(contents: "Table") -> str:
    """A table of rich in HTML; right-justified columns are numbers."""
    head = "".join(
        f"<th{_kind(column)}>{names.html(_plain(column.header))}</th>" for column in contents.columns
    )
    cells = zip(*(column.cells for column in contents.columns), strict=True)
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{_kind(column)}>{names.html(_plain(cell))}</td>"
            for column, cell in zip(contents.columns, row, strict=True)
        )
        + "</tr>"
        for row in cells
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _kind(column: "Column") -> str:
    return ' class="number"' if column.justify == "right" else ""


def _plain(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)

"""The frame of a page: one HTML file for a browser without a network, a phone, or paper; light and dark."""

from functools import cache
from html import escape
from importlib.resources import files

from rich.text import Text


def document(title, links, parts, style=""):
    """The HTML of a page: `links` (`{id: name}`) lead to its `parts`, HTML; `style` is CSS of its own."""
    named = "".join(f'<a href="#{key}">{escape(name)}</a>' for key, name in links.items())
    nav = f"<nav>{named}</nav>" if len(links) > 1 else ""
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title><style>{_beside('page.css')}{style}</style></head><body>",
            nav,
            *parts,
            f"<script>{_beside('page.js')}</script>",
            "</body></html>\n",
        ]
    )


@cache
def _beside(name):
    return files("shallows.pages").joinpath(name).read_text("utf-8")


def section(key, title, *parts):
    """A part of a page that a link leads to."""
    return f'<section id="{key}"><h2>{escape(title)}</h2>{"".join(parts)}</section>'


def html(parts):
    """The texts and tables of a report for a terminal, in HTML: the same words, the same numbers."""
    return "".join(_lines(part) if isinstance(part, str) else table(part) for part in parts if part != "")


def _lines(text):
    """Lines as reports write them: a word and what it says from column 12 on, or a sentence."""
    rows = []
    for line in text.splitlines():
        word, rest = line[:12].rstrip(), line[12:]
        if line[11:12] == " " and " " not in word:
            rows.append(f"<dt>{escape(word)}</dt><dd>{escape(rest)}</dd>")
        else:
            rows.append(f'<dt class="whole">{escape(line)}</dt>')
    return f"<dl>{''.join(rows)}</dl>"


def table(its):
    """A table of rich in HTML; a column to the right is one of numbers."""
    head = "".join(f"<th{_kind(column)}>{escape(_plain(column.header))}</th>" for column in its.columns)
    cells = zip(*(column.cells for column in its.columns), strict=True)
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{_kind(column)}>{escape(_plain(cell))}</td>"
            for column, cell in zip(its.columns, row, strict=True)
        )
        + "</tr>"
        for row in cells
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _kind(column):
    return ' class="number"' if column.justify == "right" else ""


def _plain(cell):
    return cell.plain if isinstance(cell, Text) else str(cell)

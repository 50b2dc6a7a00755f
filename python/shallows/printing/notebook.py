"""Notebook output: the tables of the command line."""

from collections.abc import Iterable
from io import StringIO

from shallows.base import names

PAGE = '<pre style="line-height: 1.2; white-space: pre">{code}</pre>'


def html(parts: Iterable[object]) -> str:
    """Texts and tables of a report, one below the other."""
    from rich.console import Console
    from rich.text import Text

    console = Console(
        record=True,
        file=StringIO(),
        width=110,
        highlight=False,
        markup=False,
        emoji=False,
        force_jupyter=False,
    )
    for part in parts:
        part = names.terminal(part) if isinstance(part, str) else part
        console.print(part, soft_wrap=isinstance(part, str | Text))
    return console.export_html(inline_styles=True, code_format=PAGE)

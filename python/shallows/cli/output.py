"""JSON for other programs: one envelope for the output of every command."""

import json
from typing import Annotated

import typer

from shallows.base import streams

VERSION = 1
"""The version of the form of all kinds; a change that breaks a reader raises it."""

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text: kind, version and data.")]


def text(kind: str, data: object) -> str:
    """The envelope of `data` with its kind, such as "run"."""
    return json.dumps({"kind": kind, "version": VERSION, "data": data}, indent=2, allow_nan=False)


def print_json(kind: str, data: object) -> None:
    """Print `data` with its kind, such as "run"."""
    with streams.unread():
        print(text(kind, data))

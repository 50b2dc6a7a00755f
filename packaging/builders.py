"""Generates python/shallows/scenario/builders.pyi from the models of a scenario: `make generated`."""

import sys
from pathlib import Path
from types import NoneType
from typing import Any, Literal, Union, get_args, get_origin

from shallows.base.table import Table
from shallows.scenario.builders import MODELS, PARTS, default_of, documentation, keys_of
from shallows.scenario.given import Given
from shallows.scenario.queues import Pauses, Trimming
from shallows.topology import KINDS as TOPOLOGIES
from shallows.traffic import KINDS as TRAFFICS
from shallows.units import TypeName

FILE = Path(__file__).resolve().parents[1] / "python" / "shallows" / "scenario" / "builders.pyi"
NAMES = {model: name for name, model in PARTS.items()}
HEAD = """\
# Generated from the models of the scenario by `make generated`: do not edit.

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

from pydantic.fields import FieldInfo

from shallows.scenario.literal import (
    CC,
    Algorithm,
    AnyMarking,
    Columns,
    Ends,
    File,
    FlowCount,
    Marking,
    Builder,
    TableLike,
    Ports,
    Rate,
    Share,
    Size,
    Sizes,
    Time,
)
from shallows.scenario.literal import Graph as GraphLike
from shallows.base.table import Table
"""


FUNCTIONS = """
PARTS: dict[str, type[Table]]
KINDS: dict[type[Table], str]
MODELS: dict[str, type[Table]]

def keys_of(model: type[Table]) -> dict[str, FieldInfo]: ...
def default_of(field: FieldInfo) -> object: ...
def documentation(model: type[Table]) -> str: ...
def to_source(tables: Mapping[str, object]) -> str: ...
"""


def source():
    """The text of the stub."""
    names = ["CC", "Marking", *MODELS]
    lines = [HEAD, "__all__ = [", *(f'    "{name}",' for name in sorted(names)), "]\n", FUNCTIONS]
    for name, model in MODELS.items():
        lines += _part(name, model)
    for title, table in (("Topology", TOPOLOGIES), ("Traffic", TRAFFICS)):
        lines.append(f"\n{title} = {' | '.join(model.__name__ for model in table.values())}")
    return "\n".join([*lines, *_tables()]) + "\n"


def _part(name, model):
    quote = '"' * 3
    lines = ["", f"class {name}(Builder):", *_indented(f"{quote}{documentation(model)}\n{quote}"), ""]
    lines += ["    def __init__(", "        self,", "        *,"]
    for key, field in keys_of(model).items():
        default = "" if field.is_required() else f" = {default_of(field)!r}"
        lines.append(f"        {key}: {_annotation(field)}{default},".replace("'", '"'))
    return [*lines, "    ) -> None: ...", ""]


def _indented(text):
    return [f"    {line}".rstrip() for line in text.splitlines()]


def _tables():
    """The keywords of `Scenario`."""
    lines = ["", "", "class Tables(TypedDict, total=False):", '    """The keywords of `Scenario`."""', ""]
    for key, field in zip(Given.key_names(), Given.model_fields.values(), strict=True):
        given = {
            "topology": "Topology | TableLike | GraphLike",
            "traffic": "Sequence[Traffic | TableLike]",
        }.get(key)
        given = given or _annotation(field)
        lines.append(f"    {key}: {f'Required[{given}]' if field.is_required() else given}")
    return lines


def _annotation(field):
    written = next((mark.type for mark in field.metadata if isinstance(mark, TypeName)), None)
    text = written or _text(field.annotation)
    if not field.is_required() and default_of(field) is None and "None" not in text:
        text += " | None"
    return text


def _text(annotation):
    """The type of a key with this annotation in Python."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if hasattr(annotation, "__metadata__"):
        marks = [mark.type for mark in annotation.__metadata__ if isinstance(mark, TypeName)]
        return marks[0] if marks else _text(inner[0])
    if origin is Literal:
        return f"Literal[{', '.join(repr(value) for value in inner)}]"
    if origin in (list, tuple):
        types = ", ".join(_text(one) for one in inner)
        return f"Sequence[{types}]" if origin is list else f"tuple[{types}]"
    if origin is Union or type(annotation).__name__ == "UnionType":
        return " | ".join(_text(one) for one in inner)
    if annotation is NoneType:
        return "None"
    if isinstance(annotation, type) and issubclass(annotation, Table):
        also = " | bool" if annotation in (Pauses, Trimming) else ""
        return f"{NAMES.get(annotation, annotation.__name__)} | TableLike{also}"
    return "Any" if annotation is Any else annotation.__name__


def written():
    """The text, formatted by ruff."""
    import subprocess

    ruff = [Path(sys.executable).parent / "ruff"]
    text = source()
    for command in (["check", "--quiet", "--fix", "--select", "I,F401,RUF022"], ["format", "--quiet"]):
        done = subprocess.run(
            [*ruff, *command, "--stdin-filename", FILE, "-"], input=text, capture_output=True, text=True
        )
        text = done.stdout
    return text


if __name__ == "__main__":
    FILE.write_text(written())

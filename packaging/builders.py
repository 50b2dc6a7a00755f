"""Generates python/shallows/scenario/builders.py from the models of a scenario: `make generated`."""

import sys
from keyword import iskeyword
from pathlib import Path
from types import NoneType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic_core import PydanticUndefined

from shallows.base.table import Table
from shallows.faults import Fault
from shallows.scenario import HostTable, NetworkTable, RecordTable, TimestampTable
from shallows.scenario.given import Given
from shallows.scenario.queues import Pauses, Pool, PortTable, Shared, TrafficClass, Trimming
from shallows.topology import KINDS as TOPOLOGIES
from shallows.traffic import KINDS as TRAFFICS
from shallows.traffic import Task
from shallows.traffic.costs import CostTable
from shallows.units import TypeName

FILE = Path(__file__).resolve().parents[1] / "python" / "shallows" / "scenario" / "builders.py"
TABLES = {
    "Shared": Shared,
    "Pauses": Pauses,
    "Trimming": Trimming,
    "Timestamps": TimestampTable,
    "Costs": CostTable,
    "Network": NetworkTable,
    "Hosts": HostTable,
    "Record": RecordTable,
    "TrafficClass": TrafficClass,
    "Pool": Pool,
    "PortSettings": PortTable,
    "Fault": Fault,
    "Task": Task,
}
NAMES = {model: name for name, model in TABLES.items()}
HEAD = '''\
"""The tables of a scenario as Python classes: `Dumbbell(hosts=4)`, `LongLived(flows=10)`.

Generated from the models of the scenario by `make generated`: do not edit. A key that is absent has its
default. `Scenario` checks the values, because it knows all of them.
"""

from collections.abc import Sequence
from typing import Any, Literal, Never, Required, TypedDict

from shallows.base.literal import (
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
from shallows.base.literal import Graph as GraphLike
'''


def source():
    """The text of the module."""
    models = {**TABLES, **{model.__name__: model for model in (*TOPOLOGIES.values(), *TRAFFICS.values())}}
    kinds = {model: kind for table in (TOPOLOGIES, TRAFFICS) for kind, model in table.items()}
    names = [*models, "CC", "Marking", "TOPOLOGIES", "TRAFFICS", "TABLES", "Tables"]
    lines = [HEAD, "__all__ = [", *(f'    "{name}",' for name in sorted(names)), "]\n"]
    for name, model in models.items():
        lines += _part(name, model, kinds.get(model))
    for title, table in (("Topology", TOPOLOGIES), ("Traffic", TRAFFICS)):
        lines.append(f"\n{title} = {' | '.join(model.__name__ for model in table.values())}")
    for title, table in (("TOPOLOGIES", TOPOLOGIES), ("TRAFFICS", TRAFFICS)):
        rows = "".join(f'    "{kind}": {model.__name__},\n' for kind, model in table.items())
        lines.append(f"{title}: dict[str, type[Builder]] = {{\n{rows}}}")
    kept = {"network": "Network", "hosts": "Hosts", "cc": "CC", "record": "Record"}
    rows = "".join(f'    "{key}": {name},\n' for key, name in kept.items())
    return "\n".join([*lines, f"TABLES: dict[str, type[Builder]] = {{\n{rows}}}", *_tables()]) + "\n"


def _part(name, model, kind):
    fields = {key: field for key, field in _fields(model).items() if key != "kind" or not kind}
    lines = ["", f"class {name}(Builder):", f'    """{model.__doc__.strip()}', ""]
    lines += [f"    {key}: {_said(field)}" for key, field in fields.items()]
    lines += ['    """', ""]
    if kind:
        lines += [f'    kind = "{kind}"', ""]
    lines += ["    def __init__(", "        self,", "        *,"]
    for key, field in fields.items():
        default = "" if field.is_required() else f" = {_default(field)!r}"
        lines.append(f"        {key}: {_annotation(field)}{default},".replace("'", '"'))
    lines += [
        "        **unknown: Never,",
        "    ) -> None:",
        "        super().__init__(locals(), unknown)",
        "",
    ]
    return lines


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


def _fields(model):
    named = {field.alias or name: field for name, field in model.model_fields.items()}
    named = {f"{name}_" if iskeyword(name) else name: field for name, field in named.items()}
    own = model.__annotations__  # what a kind inherits comes last
    return dict(sorted(named.items(), key=lambda item: (not item[1].is_required(), item[0] not in own)))


def _said(field):
    default = _default(field)
    rest = "required" if field.is_required() else None if default is None else f"default {default}"
    return f"{field.description}; {rest}" if rest else field.description


def _default(field):
    default = None if field.default is PydanticUndefined else field.default
    return tuple(default) if isinstance(default, list) else default


def _annotation(field):
    written = next((mark.type for mark in field.metadata if isinstance(mark, TypeName)), None)
    text = written or _text(field.annotation)
    if not field.is_required() and _default(field) is None and "None" not in text:
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

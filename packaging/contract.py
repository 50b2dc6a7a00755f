"""Generates python/shallows/core/contract.py from the core: `make generated`."""

import re
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "python" / "shallows" / "core" / "contract.py"
HEAD = '''\
"""Types of the core's request and of its answer; docs/crossing.md says what the keys mean.

Generated from crates/sim/src/spec and crates/contract by `make generated`: a change here is lost.
"""

from collections.abc import Callable
from typing import Literal, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

U16, U32, U64 = NDArray[np.uint16], NDArray[np.uint32], NDArray[np.uint64]
F64, Flags = NDArray[np.float64], NDArray[np.bool_]
'''
PYTHON = {
    **dict.fromkeys(("u8", "u16", "u32", "u64"), "int"),
    "bool": "bool",
    "f64": "float",
    "str": "str",
    "[bool]": "Flags",
    "[u16]": "U16",
    "[u32]": "U32",
    "[u64]": "U64",
    "[f64]": "F64",
    "[[u32]]": "U32",
    "[[u64]]": "list[U64]",
}
"""Python's type for each kind of the core that is not made of others."""
BY_HAND = {
    ("Control", "user_algorithm"): "Callable[..., object]",
    ("GoodputRecord", "flows"): "list[U32]",
}
"""A Python class is its number in the core."""
KEYWORDS = {"from", "class", "global"}
WIDTH = 110
NEXT = "\n    | "
"""What separates the types of an alias that is longer."""
CHOICE = re.compile(r'"[\w-]+"( or "[\w-]+")+')
"""A kind that is one of several texts: a `choice!` of the core, whose values a scenario takes from here."""
MIXED = {("Fault", "change")}
"""A key with texts and tables, whose kind has a name too."""


def source(tables):
    """The text of the module; `tables` are those of the core, (name, fields) each."""
    names = [name for name, _ in tables]
    answers = set(names[names.index("Answer") : names.index("Run")])
    ordered = [*_ordered(dict(tables[: names.index("Run")]))]
    choices = {
        key: kind for name, fields in ordered for key, kind, _, _ in fields if _has_alias(name, key, kind)
    }
    text = [HEAD, "".join(_choice(_alias(key), kind) for key, kind in choices.items())]
    for name, fields in ordered:
        pairs = [(key, _annotation(name, key, kind, may, answers)) for key, kind, may, _ in fields]
        text.append(_table(name, pairs))
    return "\n\n".join(text)


def _ordered(tables):
    """The tables, each after those that it refers to."""
    done = {}
    left = list(reversed(tables))
    while left:
        for name in left:
            refers = {
                one for _, kind, _, _ in tables[name] for one in re.findall(r"\w+", kind)
            } & tables.keys()
            if refers <= done.keys():
                break
        done[name] = tables[name]
        left.remove(name)
    return done.items()


def _table(name, pairs):
    if KEYWORDS.intersection(key for key, _ in pairs):
        rows = "".join(f'        "{key}": {annotation},\n' for key, annotation in pairs)
        return f'{name} = TypedDict(\n    "{name}",\n    {{\n{rows}    }},\n)\n'
    return f"class {name}(TypedDict):\n" + "".join(f"    {key}: {annotation}\n" for key, annotation in pairs)


def _annotation(name, key, kind, optional, answers):
    python = BY_HAND.get((name, key)) or (_alias(key) if _has_alias(name, key, kind) else _python(kind))
    if optional:
        python += " | None"
    return f"NotRequired[{python}]" if optional and name not in answers else python


def _alias(key):
    """The name of the values of a key that is one of several texts: `LossDetection` of `loss_detection`."""
    return key.title().replace("_", "")


def _has_alias(name, key, kind):
    return bool(CHOICE.fullmatch(kind)) or (name, key) in MIXED


def _choice(name, kind):
    """The line of an alias, or three where it is too long for one."""
    python = _python(kind)
    line = f"{name} = {python}\n"
    if len(line) <= WIDTH:
        return line
    if " | " in python:
        return f"{name} = (\n    {python.replace(' | ', NEXT)}\n)\n"
    return line.replace("[", "[\n    ", 1).replace("]\n", "\n]\n")


def _python(kind):
    if kind in PYTHON:
        return PYTHON[kind]
    if " or " in kind:
        parts = kind.split(" or ")
        texts = [one for one in parts if one.startswith('"')]
        others = dict.fromkeys(_python(one) for one in parts if one not in texts)
        return " | ".join([*([f"Literal[{', '.join(texts)}]"] if texts else []), *others])
    if kind.startswith("{"):
        _, value = kind[1:-1].split(": ", 1)
        return f"dict[str, {_python(value)}]"
    return f"list[{_python(kind[1:-1])}]" if kind.startswith("[") else kind


def write():
    """Write the module for the core that is built."""
    from shallows import _core

    FILE.write_text(source(_core.contract()), "utf-8")


if __name__ == "__main__":
    write()

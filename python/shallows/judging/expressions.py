"""Arithmetic in the files of families: bounds that depend on a row's parameters or on a baseline's number.

An expression has numbers, names, + - * / **, brackets, comparisons, and the functions of `FUNCTIONS`. It is
data: it can name nothing else, and a text of a scenario has it in braces, `"{2 * rtt}us"`.
"""

import ast
import math
import operator
import re
from collections.abc import Mapping
from typing import Any

from shallows.base.toml import is_list, is_table
from shallows.errors import ScenarioError

_OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: float.__truediv__,
    ast.Pow: float.__pow__,
    ast.USub: operator.neg,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
FUNCTIONS: dict[str, Any] = {"min": min, "max": max, "round": round, "abs": abs}
LONGEST = 200
"""The most characters of an expression."""
LARGEST_POWER = 64
_PLACE = re.compile(r"\{([^{}]*)\}")


def value(text: str | float, names: Mapping[str, float]) -> float:
    """The number of an expression; NaN if a name in it has none, or if it divides by zero.

    Raises `ScenarioError` for anything that is no expression over `names`.
    """
    if not isinstance(text, str):
        return float(text)
    try:
        return float(_number(_parsed(text).body, text, names))
    except (ZeroDivisionError, OverflowError, TypeError):
        return math.nan


def named(text: str | float) -> set[str]:
    """The names in an expression."""
    if not isinstance(text, str):
        return set()
    return {node.id for node in ast.walk(_parsed(text)) if isinstance(node, ast.Name)} - FUNCTIONS.keys()


def filled(tables: Any, names: Mapping[str, float]) -> Any:
    """Plain tables with the expressions in braces of their texts replaced; one alone becomes a number.

    Raises `ScenarioError` for an expression without a finite number.
    """
    if is_table(tables):
        return {key: filled(item, names) for key, item in tables.items()}
    if is_list(tables):
        return [filled(item, names) for item in tables]
    if not isinstance(tables, str):
        return tables
    alone = _PLACE.fullmatch(tables)
    if alone:
        number = _finite(alone[1], names)
        return int(number) if number == int(number) else number
    return _PLACE.sub(lambda place: plain(_finite(place[1], names)), tables)


def _finite(text: str, names: Mapping[str, float]) -> float:
    number = value(text, names)
    if not math.isfinite(number):
        raise ScenarioError("expression", text, f"a finite number, not {number}")
    return number


def plain(number: float) -> str:
    """A number without an exponent, as units want it: "100", "0.25"."""
    return f"{number:.9f}".rstrip("0").rstrip(".")


def _parsed(text: str) -> ast.Expression:
    wrong = len(text) > LONGEST
    try:
        if not wrong:
            return ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    raise ScenarioError(
        "expression", text, f"arithmetic of up to {LONGEST} characters, such as 0.3 * threshold"
    )


def _number(node: ast.AST, text: str, names: Mapping[str, float]) -> Any:
    def inside(one: ast.AST) -> Any:
        return _number(one, text, names)

    match node:
        case ast.Constant(value=bool() | int() | float() as constant):
            return constant
        case ast.Name(id=word) if word in names:
            return names[word]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](inside(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = inside(left), inside(right)
            if isinstance(op, ast.Pow) and abs(b) > LARGEST_POWER:
                raise ScenarioError("expression", text, f"powers up to {LARGEST_POWER}")
            return _OPERATORS[type(op)](float(a), float(b))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](inside(left), inside(right))
        case ast.BoolOp(op=op, values=values):
            found = [bool(inside(one)) for one in values]
            return all(found) if isinstance(op, ast.And) else any(found)
        case ast.Call(func=ast.Name(id=word), args=arguments, keywords=[]) if word in FUNCTIONS:
            return FUNCTIONS[word](*map(inside, arguments))
        case _:
            known = f"the names {', '.join(sorted(names))}" if names else "no name"
            raise ScenarioError("expression", text, f"numbers, + - * / **, min, max, round and {known}")

"""Families of tests, a file each: scenarios with parameters, numbers of their runs, and two-sided checks.

docs/judge.md describes the form of a file. Quantities of parameters have units, and are numbers in bit/s,
seconds and bytes in expressions.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from shallows.algorithms import user_algorithms
from shallows.base import texts
from shallows.base.toml import is_list, is_table
from shallows.errors import ScenarioError
from shallows.judging import expressions, measures
from shallows.units import RATE, SIZE, TIME, did_you_mean

JUDGED = "judged"
"""The algorithm in a scenario of a family that stands for the one that is judged."""
RIVAL = "rival"
"""The algorithm in a scenario of a family that stands for the one beside which a row judges."""
MAIN = "main"
"""The run of a row that its `[scenario]` describes."""
BEST = "best"
"""The name, in the bounds of a check, for the best of the baselines' numbers."""


@dataclass(frozen=True)
class Number:
    """A number that is read from a run of a row: the name of a measure, and its arguments."""

    run: str
    measure: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Check:
    """A number of a row with its rule.

    value, low, high and when are expressions; None is no bound. is_rule: a number outside of the bounds fails
    the row, and is only reported otherwise. better: "smaller" or "larger", which decides the best baseline.
    """

    name: str
    value: str
    low: str | float | None
    high: str | float | None
    better: str
    unit: str
    is_rule: bool
    when: str | None


@dataclass(frozen=True)
class Row:
    """A point of a family: values of its parameters, keys of the scenario that differ, and the algorithm that
    stands for `RIVAL`.
    """

    name: str
    parameters: Mapping[str, float]
    changes: Mapping[str, Any]
    quick: bool
    rival: str = ""


@dataclass(frozen=True)
class Account:
    """How a failure is explained: keys that give the flow that suffers an end, and its number."""

    changes: Mapping[str, Any]
    flow: int | None


@dataclass(frozen=True)
class Family:
    """A family, as its file has it.

    must: RFC 9743 or this judge's own rules make its checks mandatory. ranges: bounds of parameters for
    held-out draws. runs: overrides that make each further run of a row from the main one.
    """

    name: str
    title: str
    shows: str
    criterion: str
    must: bool
    baselines: tuple[str, ...]
    parameters: Mapping[str, float]
    ranges: Mapping[str, tuple[float, float]]
    rows: tuple[Row, ...]
    scenario: Mapping[str, Any]
    runs: Mapping[str, Mapping[str, Any]]
    numbers: Mapping[str, Number]
    checks: tuple[Check, ...]
    account: Account
    dimensions: Mapping[str, str]
    whole: frozenset[str]
    file: str = field(compare=False)

    def shown(self, parameter: str, value: float) -> str:
        """A value of a parameter with its unit."""
        dimension, scale = _DIMENSIONS.get(self.dimensions[parameter], (None, 0))
        return dimension.text(round(value * 10**scale)) if dimension else f"{value:g}"

    def tables(self, row: Row, run: str) -> dict[str, Any]:
        """The scenario of a run of a row, with `JUDGED` in it, and with its overrides under "set"."""
        changes = {**row.changes, **(self.runs[run] if run != MAIN else {})}
        return self.filled({"tables": dict(self.scenario), "set": changes}, row)

    def filled(self, tables: Any, row: Row) -> Any:
        """Plain tables of the file with the parameters of a row, and its rival."""
        filled = expressions.filled(tables, row.parameters)
        return replaced(filled, RIVAL, row.rival) if row.rival else filled

    def checks_of(self, row: Row) -> list[Check]:
        """The checks that apply to a row."""
        return [one for one in self.checks if one.when is None or expressions.value(one.when, row.parameters)]


def replaced(tables: Any, word: str, by: str) -> Any:
    """A copy of plain tables with the text `by` in the places of the text `word`."""
    if is_table(tables):
        return {key: replaced(item, word, by) for key, item in tables.items()}
    if is_list(tables):
        return [replaced(item, word, by) for item in tables]
    return by if tables == word else tables


@cache
def names() -> dict[str, Path]:
    """The files of the families of this package, by their names."""
    folder = Path(str(files("shallows").joinpath("data", "families")))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def _read(path: Path) -> Family:
    try:
        content = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError("--families", str(path), f"a file of a family ({error})") from None
    try:
        return _family(texts.toml(content), str(path))
    except ScenarioError as error:
        raise error.in_file(str(path)) from None
    except ValueError as error:
        raise ScenarioError(str(error), file=str(path), expected="a family as TOML") from None


_DIMENSIONS = {"time": (TIME, 12), "rate": (RATE, 0), "size": (SIZE, 0)}
"""The dimension of a parameter with a unit, and the decimal exponent of its base unit in expressions."""
_KEYS = {
    "name": str,
    "title": str,
    "shows": str,
    "criterion": str,
    "must": bool,
    "baselines": list,
    "parameters": dict,
    "ranges": dict,
    "rows": list,
    "scenario": dict,
    "runs": dict,
    "numbers": dict,
    "checks": list,
    "account": dict,
}
_OPTIONAL = {"ranges", "runs", "account", "parameters"}


def _family(table: Mapping[str, Any], file: str) -> Family:
    _check_keys(table, _KEYS, _OPTIONAL)
    _check_texts(table)
    parameters = {key: _quantity(key, value) for key, value in table.get("parameters", {}).items()}
    rows = tuple(_row(f"rows[{n}]", row, parameters) for n, row in enumerate(table["rows"]))
    runs: dict[str, Any] = table.get("runs", {})
    numbers = {key: _number(f"numbers.{key}", one, {MAIN, *runs}) for key, one in table["numbers"].items()}
    baselines = tuple(table["baselines"])
    known = {*parameters, *numbers}
    checks = tuple(
        _check(f"checks[{n}]", one, known, {*baselines, BEST}) for n, one in enumerate(table["checks"])
    )
    account = table.get("account", {})
    _check_keys(account, {"set": dict, "flow": int}, {"set", "flow"}, "account")
    if not (rows and checks and baselines):
        raise ScenarioError("rows, checks, baselines", None, "one of each or more")
    found = Family(
        **{key: table[key] for key in ("name", "title", "shows", "criterion", "must", "scenario")},
        baselines=baselines,
        parameters=parameters,
        ranges={key: _range(key, pair, parameters) for key, pair in table.get("ranges", {}).items()},
        rows=rows,
        runs=runs,
        numbers=numbers,
        checks=checks,
        account=Account(account.get("set", {}), account.get("flow")),
        dimensions={key: _dimension(value) for key, value in table.get("parameters", {}).items()},
        whole=frozenset(
            key for key, pair in table.get("ranges", {}).items() if all(isinstance(one, int) for one in pair)
        ),
        file=file,
    )
    for row in rows:
        for run in (MAIN, *runs):
            found.tables(row, run)
        found.checks_of(row)
    return found


def _check_texts(value: object) -> None:
    """Refuse code: a family is data, and the algorithms that it names are those of the catalog."""
    if isinstance(value, str) and user_algorithms.is_location(value):
        raise ScenarioError("cc", value, "an algorithm of the catalog: a family names no code")
    if is_table(value):
        value = [*value.values()]
    for item in value if is_list(value) else ():
        _check_texts(item)


def _check_keys(
    table: object, kinds: Mapping[str, type | tuple[type, ...]], optional: set[str], at: str = ""
) -> None:
    """Raise `ScenarioError` unless a table has these keys, each of its type."""
    where = f"{at}." if at else ""
    if not is_table(table):
        raise ScenarioError(at, table, "a table")
    for key, item in table.items():
        if key not in kinds:
            raise ScenarioError(where + key, item, f"one of {', '.join(kinds)}{did_you_mean(key, kinds)}")
        if not isinstance(item, kinds[key]):
            raise ScenarioError(where + key, item, f"another type of value, as in {', '.join(names())}")
    for key in kinds:
        if key not in table and key not in optional:
            raise ScenarioError(where + key, None, "a value: a family needs it")


def _row(at: str, table: Any, parameters: Mapping[str, float]) -> Row:
    kinds: dict[str, Any] = {"name": str, "quick": bool, "set": dict, "rival": str}
    kinds |= dict.fromkeys(parameters, (str, int, float))
    _check_keys(table, kinds, {"quick", "set", "rival", *parameters}, at)
    own = {key: _quantity(f"{at}.{key}", value) for key, value in table.items() if key in parameters}
    values = {**parameters, **own}
    return Row(table["name"], values, table.get("set", {}), table.get("quick", False), table.get("rival", ""))


def _number(at: str, table: Any, runs: set[str]) -> Number:
    if not is_table(table) or not isinstance(table.get("of"), str):
        raise ScenarioError(at, table, f"a table with of, one of {', '.join(measures.MEASURES)}")
    arguments = {key: item for key, item in table.items() if key not in ("of", "run")}
    run = table.get("run", MAIN)
    if run not in runs:
        raise ScenarioError(f"{at}.run", run, f"one of {', '.join(sorted(runs))}")
    measures.check(at, table["of"], arguments)
    return Number(run, table["of"], arguments)


def _check(at: str, table: Any, numbers: set[str], others: set[str]) -> Check:
    bound = (str, int, float)
    kinds = {"name": str, "value": str, "low": bound, "high": bound, "better": str, "unit": str,
             "rule": bool, "when": str}  # fmt: skip
    _check_keys(table, kinds, {"low", "high", "unit", "rule", "when"}, at)
    if table["better"] not in ("smaller", "larger"):
        raise ScenarioError(f"{at}.better", table["better"], '"smaller" or "larger"')
    bounds = numbers | {word.replace("@", "_") for word in others}
    for key, allowed in (("value", numbers), ("low", bounds), ("high", bounds), ("when", numbers)):
        try:
            expressions.value(table.get(key, 0), dict.fromkeys(allowed, 1.0))
        except ScenarioError as error:
            raise ScenarioError(f"{at}.{key}", table[key], error.expected) from None
    low, high = table.get("low"), table.get("high")
    is_rule = table.get("rule", low is not None or high is not None)
    return Check(
        table["name"],
        table["value"],
        low,
        high,
        table["better"],
        table.get("unit", ""),
        is_rule,
        table.get("when"),
    )


def _range(key: str, pair: Any, parameters: Mapping[str, float]) -> tuple[float, float]:
    if key not in parameters or not is_list(pair) or len(pair) != 2:
        raise ScenarioError(f"ranges.{key}", pair, f"two values of one of {', '.join(parameters)}")
    low, high = (_quantity(f"ranges.{key}", one) for one in pair)
    if not 0 < low <= high:
        raise ScenarioError(f"ranges.{key}", pair, "two values above 0, the smaller one first")
    return low, high


def _quantity(key: str, given: object) -> float:
    """A parameter as a number: bit/s, seconds, bytes, or as it stands."""
    if isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given):
        return given
    dimension, scale = _DIMENSIONS.get(_dimension(given), (None, 0))
    if dimension:
        return float(dimension.amount(given).scaleb(-scale))
    raise ScenarioError(key, given, 'a number, or a quantity with its unit, such as "10Gbps"')


def _dimension(given: object) -> str:
    """The name of the dimension of a text with a unit; empty for anything else."""
    for name, (dimension, _) in _DIMENSIONS.items():
        try:
            dimension.amount(given)
        except ValueError:
            continue
        return name
    return ""


def chosen(asked: Sequence[str] | None) -> list[Family]:
    """The families of a list of names and files, in its order; all of this package without a list."""
    unknown = [one for one in asked or () if one not in names() and not one.endswith(".toml")]
    if unknown:
        near = did_you_mean(unknown[0], names())
        expected = f"one or more of {', '.join(names())}, or a file of a family{near}"
        raise ScenarioError("--families", ",".join(unknown), expected)
    found = [_read(names().get(one) or Path(one)) for one in (names() if asked is None else asked)]
    wanted = [one.name for one in found]
    if not wanted or len(set(wanted)) < len(wanted):
        raise ScenarioError("--families", ",".join(wanted), f"each family once, of {', '.join(names())}")
    return found

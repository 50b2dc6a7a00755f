"""The catalog of algorithms for people to read. The catalog itself is compiled into the core
(docs/crossing.md).
"""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, TypeVar

from shallows.core.rows import AlgorithmRow, MarkingRow, Parameter, Row
from shallows.errors import ScenarioError

if TYPE_CHECKING:
    from rich.table import Table

    from shallows.printing.report import Part

R = TypeVar("R", bound=Row)

SCALES = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")),
    "bit/s": ((1e12, "Tbps"), (1e9, "Gbps"), (1e6, "Mbps"), (1e3, "Kbps"), (1.0, "bps")),
    "pkt": ((1.0, "pkt"),),
}
"""Units of parameters in a scenario, largest first."""


def algorithms() -> list[AlgorithmRow]:
    """Every algorithm; a parameter whose default follows the network says what it `follows`."""
    from shallows import _core

    return [_following(row) for row in _core.catalog()]


def algorithm(name: str) -> AlgorithmRow:
    """The row of one algorithm. Raises `ScenarioError` for an unknown name."""
    return _rows(name, {"cc": algorithms()})["cc"]


def entry(name: str) -> dict[str, Row]:
    """Everything with this name, by the key of a scenario: an algorithm (`cc`), a receiver, a marking.

    Raises `ScenarioError` for an unknown name.
    """
    return _rows(name, {"cc": [*algorithms()], **other_catalogs()})


def other_catalogs() -> dict[str, list[Row]]:
    """The other catalogs: rows of receivers and of markings, by the key of a scenario."""
    from shallows import _core

    return {"cc.receiver": _core.receivers(), "network.marking": [*markings()]}


def markings() -> list[MarkingRow]:
    """The rows of markings."""
    from shallows import _core

    return [_following(row) for row in _core.markings()]


def _following(row: R) -> R:
    """The same row; a parameter whose default follows the network says what it `follows`."""
    from shallows.algorithms import defaults

    def marked(parameter: Parameter) -> Parameter:
        found = defaults.follows(row, parameter)
        if not found:
            return parameter
        what, at = found
        return {**parameter, "follows": what, "default_at": at}

    row["parameters"] = [marked(parameter) for parameter in row["parameters"]]
    return row


def default(parameter: Parameter) -> str:
    """The default of a parameter: its value, or what it follows."""
    value = quantity(parameter["default"], parameter["unit"])
    if "follows" not in parameter:
        return value
    at = parameter.get("default_at")
    return f"follows {parameter['follows']}{f': {value} at {at}' if at else ''}"


def _rows(name: str, tables: Mapping[str, Sequence[R]]) -> dict[str, R]:
    found = {key: row for key, rows in tables.items() for row in rows if row["name"] == name}
    if not found:
        from shallows.units import did_you_mean

        names = list(dict.fromkeys(row["name"] for rows in tables.values() for row in rows))
        raise ScenarioError("cc", name, f"one of {', '.join(names)}{did_you_mean(name, names)}")
    return found


def components(row: AlgorithmRow) -> dict[str, str]:
    """The parts of an algorithm in words: sender, receiver, port and transport."""
    kind = {"none": row["port"], "required": f"{row['port']} (required)"}
    marking = kind.get(row["marking"], f"{row['port']} (if {row['marking']} is set)")
    port = ", ".join(filter(None, ("trim" if row["trims"] else "", marking))) or "any"
    return {"sender": row["sender"], "receiver": row["receiver"], "port": port, "transport": row["transport"]}


def quantity(value: float, unit: str) -> str:
    """The value of a parameter as a scenario writes it: `quantity(2e-4, "s")` is "200us"."""
    if unit == "flag":
        return str(bool(value)).lower()
    if unit not in SCALES:
        return f"{value:g}"
    scale, word = next((s for s in SCALES[unit] if abs(value) >= s[0] * (1 - 1e-9)), SCALES[unit][-1])
    return f"{value / scale:.10g}{word}"


def list_table(rows: list[AlgorithmRow]) -> "Table":
    """The whole catalog as a rich table."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("cc", "what it does", "ports", "presets"):
        table.add_column(column, no_wrap=column == "cc")
    for row in rows:
        presets = ", ".join(preset["name"] for preset in row.get("presets", ()))
        table.add_row(row["name"], row["summary"], components(row)["port"], presets)
    return table


def other_tables() -> "list[Part]":
    """Tables of the other catalogs: receivers and markings."""
    from rich.table import Table

    from shallows.algorithms.marking import RECOMMENDED

    tables: list[Part] = []
    for title, rows in other_catalogs().items():
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in (title, "what it does", "parameters"):
            table.add_column(column, no_wrap=column == title)
        for row in rows:
            parameters = (
                f"{p['name']} = {RECOMMENDED if 'follows' in p else quantity(p['default'], p['unit'])}"
                for p in row["parameters"]
            )
            table.add_row(*map(_text, (row["name"], row["summary"], ", ".join(parameters))))
        tables += ["", table]
    return tables


def page(row: AlgorithmRow) -> "list[Part]":
    """The page of an algorithm, as a list of rich renderables."""
    lines = [f"[bold]{row['name']}[/]  {_text(row['summary'])}", ""]
    lines += [f"{part:<9} {_text(what)}" for part, what in components(row).items()]
    lines += [f"source    {_text(row['source'])}", ""]
    keys = ", ".join(row["honours"])
    lines += [*wrap(f"besides the keys that act on all flows it supports {keys}", width=79), ""]
    page: list[Part] = ["\n".join(lines), _parameters(row), ""]
    page += [*_presets(row), *_deviations(row)]
    missing = row["not_modelled"] or ["everything is modelled"]
    return [*page, "\nnot modelled", *(f"  - {_text(what)}" for what in missing)]


def other_page(key: str, row: Row) -> "list[Part]":
    """The page of a receiver or a marking, as a list of rich renderables."""
    title = f"[bold]{key}[/] = [bold]{row['name']}[/]  {_text(row['summary'])}"
    head = "\n".join([title, "", f"source    {_text(row['source'])}", ""])
    return [head, _parameters(row), *_presets(row), *_deviations(row)]


def _deviations(row: Row) -> "list[Part]":
    """The lines of its source that a row reads in its own way, as rich renderables."""
    deviations = row.get("deviations")
    if not deviations:
        return []
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("the source", "here", "why"):
        table.add_column(column, ratio=1)
    for one in deviations:
        table.add_row(*map(_text, (one["line"], one["here"], one["why"])))
    return ["\ndifferences from the source", table]


def _presets(row: Row) -> list[str]:
    units = {p["name"]: p["unit"] for p in row["parameters"]}
    following = any("follows" in p for p in row["parameters"])
    own = "the values above of the paper, on every network" if following else "the defaults"
    lines: list[str] = []
    for preset in row.get("presets", ()):
        values = ", ".join(f"{key} = {quantity(v, units[key])}" for key, v in preset["values"].items())
        text = _text(f"{values or own}  ({preset['source']})")
        lines.append(f"[bold]{row['name']}@{preset['name']}[/]  {text}")
    return lines


def _parameters(row: Row) -> "Part":
    if not row["parameters"]:
        return "no parameters"
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("parameter", "symbol", "default", "from", "to", "meaning", "source"):
        table.add_column(column, no_wrap=column == "parameter")
    for p in row["parameters"]:
        limits = [quantity(bound, p["unit"]) for bound in (p["min"], p["max"])]
        cells = [p["name"], p["symbol"], default(p), *limits, p["meaning"], p["source"]]
        table.add_row(*map(_text, cells))
    return table


def _text(text: str) -> str:
    """Text without rich's markup."""
    from rich.markup import escape

    return escape(text)

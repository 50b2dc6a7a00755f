"""`shallows explain`: what a key, a column or a number means, in the words of the documentation."""

import re
from textwrap import wrap
from typing import TYPE_CHECKING, NotRequired, TypedDict

from shallows.errors import ScenarioError
from shallows.registry import keys, results, rules
from shallows.units import did_you_mean

if TYPE_CHECKING:
    from shallows.printing.report import Part

WIDTH = 100


class Explanation(TypedDict):
    """What a name means. A key has a type, a default and worlds; a column has a unit.

    rule: the default where it follows the network.
    """

    name: str
    meaning: str
    type: NotRequired[str]
    default: NotRequired[str]
    rule: NotRequired[str]
    worlds: NotRequired[str]
    unit: NotRequired[str]


def explain(name: str) -> list[Explanation]:
    """Every key, column and number with this name, whose path ends in it, or in a table with this name.

    Raises `ScenarioError` if there is none.
    """
    found = [_of_key(row) for row in keys.find(name)] + [
        _of_result(full, row) for full, row in results.find(name)
    ]
    if not found:
        known = [path for row in keys.rows() for path in row.paths]
        known += [one for table in results.tables().values() for row in table.rows for one in row.names]
        ends = [path.rpartition(".")[2] for path in known]
        expected = "a key of a scenario, or a column or a number of a result (`shallows cc` has algorithms)"
        raise ScenarioError("NAME", name, expected + did_you_mean(name, [*known, *ends]))
    return found


def _of_key(row: keys.Key) -> Explanation:
    made: Explanation = {
        "name": ", ".join(map(_with_kind, row.paths)),
        "meaning": plain(row.meaning),
        "type": plain(row.unit),
        "default": plain(row.default) or "none",
        "worlds": plain(row.worlds),
    }
    found = [f"{one.of}{': ' * bool(one.of)}{one.rule} ({one.source})" for one in rules.of_key(row.paths[0])]
    if found:
        made["rule"] = f"{plain('; '.join(found))}. C is the rate of a port, R the longest round trip"
    return made


def _with_kind(path: str) -> str:
    """The key as a scenario has it, and the kind of topology or traffic that has it."""
    written = keys.as_written(path)
    return written if written == path else f"{written} ({path.split('.')[1]})"


def _of_result(name: str, row: results.Row) -> Explanation:
    made: Explanation = {"name": name, "meaning": plain(row.meaning)}
    return {**made, "unit": row.unit} if row.unit else made


def plain(markdown: str) -> str:
    """Markdown as a terminal shows it: the words of links, and no signs for code and emphasis."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown)
    return words.replace("`", "").replace("**", "").replace("*required*", "required")


def page(found: list[Explanation]) -> "list[Part]":
    """The explanations as a list of rich renderables."""
    from rich.markup import escape

    parts: list[Part] = []
    for one in found:
        facts = ((key, str(value)) for key, value in one.items() if key not in ("name", "meaning") and value)
        lines = wrap(one["meaning"], WIDTH, initial_indent="  ", subsequent_indent="  ")
        lines += [f"  {key:<8} {text}" for key, text in facts]
        parts += ["\n".join([f"[bold]{escape(one['name'])}[/]", *map(escape, lines)])]
    return parts

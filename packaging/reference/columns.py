"""The page of columns and numbers of a result, from the tables and metrics of the package."""

from shallows.registry.results import PARTS
from shallows.results.metrics import METRICS
from shallows.results.tables import ALL_TABLES

HEAD = """\
# Columns and numbers

From this page you look up a column of a table, or a number of a summary and of a sweep, by its name.
[Results](results.md) explains them in context.
"""


def page():
    """Every column and every number, each below a heading of its own, as Markdown."""
    lines = [HEAD]
    for table, columns in ALL_TABLES.items():
        lines += [f"## {table}.parquet", "", f"Columns of the [table `{table}`](results.md).", ""]
        for name, column in columns.items():
            lines += [f"### `{name}` {{ #{table}.{name} }}", "", f"{_sentence(column.definition)}", ""]
            unit = {"": "none", "1": "1 (a number)"}.get(column.unit, column.unit)
            lines += [f"unit: {unit} · type: {column.type} · table: `{table}`", "{ .facts }", ""]
    lines += ["## Numbers of a summary", ""]
    lines += [
        "Keys of `summary.json`, and metrics of `sweep` and `compare`: `shallows sweep … --metric NAME`.",
        "",
    ]
    lines += ["| name | what it is | part of the summary |", "|---|---|---|"]
    for one in METRICS:
        parts = ", ".join(PARTS[part] for part in one.parts)
        lines += [f'| <a id="summary.{one.key}"></a>`{one.key}` | {one.title} | {parts} |']
    return "\n".join(lines) + "\n"


def _sentence(text):
    return f"{text[0].upper()}{text[1:]}."

"""Writes an imported scenario: a TOML file, and beside it a CSV file for each table of flows."""

import csv
import io
import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import tomli_w

from shallows import memory
from shallows.base import names
from shallows.base.toml import is_table
from shallows.errors import ScenarioError
from shallows.importers import configuring
from shallows.importers.formats import read_all
from shallows.importers.joining import Imported, have_traffic, joined
from shallows.importers.source import TASK_BYTES
from shallows.results import files
from shallows.scenario import Scenario, fitting

PER_LINE = 16
"""Names of hosts on a line of a scenario."""


@dataclass(frozen=True)
class Import:
    """The scenario, the files that were written, and sentences for the user."""

    scenario: Scenario
    paths: list[Path]
    assumed: list[str]
    left_out: list[str]

    def __repr__(self) -> str:
        """Its files and sizes; the scenario can have thousands of flows."""
        flows, hosts = len(self.scenario.flows), self.scenario.graph.hosts
        return f"<Import {', '.join(map(str, self.paths))}: {flows} flows, {hosts} hosts>"


def write(
    paths: Sequence[str | PathLike[str]],
    out: str | PathLike[str],
    *,
    on: str | None = None,
    time_unit: str | None = None,
    cc: str | None = None,
    load: float | None = None,
) -> Import:
    """Import files of other simulators, and write them as the scenario `out` with its tables of flows.

    `on` is a scenario whose network, hosts, algorithm and traffic are used where the files have none;
    `time_unit` the unit of times in files that state none (ps, ns, us, ms, s); `cc` the algorithm; `load` the
    load of flows that arrive with imported sizes. The scenario is checked before anything is written. Raises
    `ScenarioError` with file, line and column.
    """
    hosts = (lambda: _base(on, cc, replaced=True).graph.hosts) if on else None
    parts = read_all([Path(path) for path in paths], time_unit, hosts)
    base = _base(on, cc, have_traffic(parts)) if on else None
    imported = joined(parts, base, cc, load)
    out = Path(out)
    files.check(out, files.SCENARIO)
    flows = {out.with_name(f"{out.stem}.{name}.csv"): columns for name, columns in imported.flows.items()}
    for path, columns in flows.items():
        files.check(path, files.table(list(columns)))
    traffic = imported.tables.pop("traffic", [])
    tasks = sum(len(table.get("tasks", ())) for table in traffic)
    memory.check("its tasks", TASK_BYTES * tasks, "fewer tasks")
    named = [{"kind": "trace", "name": name} for name in imported.flows]
    # The check needs the flows, which are not in files yet.
    inside = [table | {"flows": columns} for table, columns in zip(named, flows.values(), strict=True)]
    tables: Any = {**imported.tables, "traffic": [*inside, *traffic]}
    checked = Scenario.made(tables)
    for part in parts:
        if part.settings:
            for key, value in configuring.of_network(part.settings, checked).items():
                imported.tables["cc"][key] = value
    if not any(part.settings for part in parts) and (base is None or cc):
        _fit(imported, checked)
    traces = [table | {"file": path.name} for table, path in zip(named, flows, strict=True)]
    text = _toml(imported, [*traces, *traffic])
    _check_text(text, {**imported.tables, "traffic": [*traces, *traffic]})
    for path, columns in flows.items():
        files.write_text(path, _csv(columns), files.table(list(columns)))
    files.write_text(out, text, files.SCENARIO)
    return Import(Scenario.load(out), [out, *flows], imported.assumed, imported.left_out)


PLACEHOLDER = [{"kind": "incast", "senders": 1}]
"""Traffic of a base whose own is not used, which it may lack, or which may exceed the limits."""


def _base(on: str, cc: str | None, replaced: bool) -> Scenario:
    """The scenario `on`, with another traffic if the files have some."""
    changes: dict[str, object] = {"cc": cc} if cc else {}
    if replaced:
        changes |= {"traffic": PLACEHOLDER, "warmup": "0s", "cooldown": "0s"}
    return Scenario.load(on, changes)


def _fit(imported: Imported, scenario: Scenario) -> None:
    """Set what the algorithm needs of the network, as a comparison does."""
    for key, value in fitting.changes(scenario, pauses=True).items():
        imported.tables.setdefault("network", {})[key.removeprefix("network.")] = value
        imported.assumed.append(f"{key} = {json.dumps(value)}, which {scenario.algorithms[0].label} needs")


def _csv(columns: dict[str, list[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _check_text(text: str, tables: dict[str, object]) -> None:
    """Raise `ScenarioError` unless a reader of `text` finds these tables: names in files can be any text."""
    try:
        same = tomllib.loads(text) == tables
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError("import", None, f"names that a scenario can hold ({error})") from None
    if not same:
        raise ScenarioError("import", None, "names that a scenario can hold without another meaning")


def _toml(imported: Imported, traffic: list[dict[str, Any]]) -> str:
    """The scenario, with a line for each edge of a graph and with few lines of host names."""
    notes = [f"# Assumed: {names.line(text)}\n" for text in imported.assumed]
    notes += [f"# Not expressed: {names.line(text)}\n" for text in imported.left_out]
    topology = dict(imported.tables["topology"])
    long = ("edges", "hosts", "server_switches") if topology["kind"] == "graph" else ()
    lists = {key: topology[key] for key in long if key in topology}
    topology |= {key: f"@{key}@" for key in lists}
    tasks = {table["name"]: table["tasks"] for table in traffic if "tasks" in table}
    traffic = [table | ({"tasks": f"@{table['name']}@"} if "tasks" in table else {}) for table in traffic]
    text = tomli_w.dumps({**imported.tables, "topology": topology})
    text += "".join(f"\n[[traffic]]\n{tomli_w.dumps(table)}" for table in traffic)
    for key, items in (lists | tasks).items():
        each = PER_LINE if key in ("hosts", "server_switches") else 1
        text = text.replace(f'"@{key}@"', _list(items, each))
    return f"{files.SAVED_BY_IMPORT}\n" + "".join(notes) + text


def _list(items: list[Any], each: int) -> str:
    lines = (items[at : at + each] for at in range(0, len(items), each))
    return "[\n" + "".join(f"    {', '.join(map(_value, line))},\n" for line in lines) + "]"


def _value(value: object) -> str:
    """A value of TOML on one line."""
    if is_table(value):
        return f"{{ {', '.join(f'{key} = {_value(of)}' for key, of in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)  # TOML has no escapes of surrogates

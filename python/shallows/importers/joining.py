"""The parts of imported files as one scenario: its tables, and a table of flows for each file of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from shallows.errors import ScenarioError
from shallows.importers.content import Fabric, Parts, Task, Uplink, Work
from shallows.importers.order import ordered
from shallows.importers.source import Word
from shallows.scenario import Scenario
from shallows.units import SIZE, TIME

DEFAULT = "dcqcn"
"""The algorithm of a scenario without a base and without --cc."""


@dataclass
class Imported:
    """A scenario and sentences about it. `flows` has the columns of its traces by the name of the table."""

    tables: dict[str, Any]
    flows: dict[str, dict[str, list[str]]] = field(default_factory=dict[str, dict[str, list[str]]])
    assumed: list[str] = field(default_factory=list[str])
    left_out: list[str] = field(default_factory=list[str])


def joined(parts: Sequence[Parts], base: Scenario | None, cc: str | None, load: float | None) -> Imported:
    """One scenario of all parts; what they lack is that of `base`. Raises `ScenarioError`."""
    fabric = _only([part.fabric for part in parts if part.fabric])
    if fabric is None and base is None:
        expected = "a file with a topology too, or --on SCENARIO: the network on which these flows run"
        raise ScenarioError("import", "flows alone", expected)
    imported = Imported(
        _base(base),
        assumed=[text for part in parts for text in part.assumed],
        left_out=[text for part in parts for text in part.left_out],
    )
    if cc or base is None:
        imported.tables["cc"] = cc or DEFAULT
    if fabric:
        _lay(imported, fabric)
    _fail(imported, [uplink for part in parts for uplink in part.failed], fabric)
    traffic: list[dict[str, Any]] = imported.tables.setdefault("traffic", [])
    for part in parts:
        if part.work:
            _add(imported, part.work, fabric, fabric.count if fabric else base.network.hosts if base else 0)
        if part.sizes:
            traffic.append(_arrivals(part.sizes, load))
    if not imported.flows and not traffic:
        raise ScenarioError("import", "a topology alone", "a file with flows or sizes too")
    return imported


def _base(base: Scenario | None) -> dict[str, Any]:
    """The tables of the base without its traffic: those that are about the network, hosts and algorithms."""
    kept = base.tables if base else {}
    for key in ("name", "traffic", "warmup", "cooldown"):
        kept.pop(key, None)
    return {"duration": "until-done", **{key: value for key, value in kept.items() if key != "duration"}}


def _only(fabrics: list[Fabric]) -> Fabric | None:
    if len(fabrics) > 1:
        raise ScenarioError("import", f"{len(fabrics)} topologies", "one file with a topology")
    return fabrics[0] if fabrics else None


def _lay(imported: Imported, fabric: Fabric) -> None:
    """Put the scenario on the fabric."""
    tables = imported.tables
    tables["topology"] = fabric.topology
    network = dict(tables.get("network", {}))
    if "buffer" in fabric.network and ({"pfc", "shared"} & set(network)):
        imported.left_out.append(
            "sizes of queues, because ports with PFC or shared memory have none of their own"
        )
    else:
        network |= fabric.network
    if network:
        tables["network"] = network
    if fabric.faults:
        tables["faults"] = [*tables.get("faults", []), *fabric.faults]


def _fail(imported: Imported, failed: Sequence[Uplink], fabric: Fabric | None) -> None:
    for uplink in failed:
        links = fabric.uplinks.get((uplink.tier, uplink.switch), []) if fabric else []
        if uplink.link >= len(links):
            there = f"has {len(links)} links upwards" if links else "is not there, or has no links upwards"
            expected = (
                "a link of a topology that is imported too (.topo)" if not fabric else f"another: it {there}"
            )
            uplink.source.refuse(uplink.word, "line", expected)
        imported.tables.setdefault("faults", []).append({"link": links[uplink.link], "kind": "down"})
        imported.tables.setdefault("network", {})["convergence"] = "1ns"


def _unused(name: str, used: Collection[str]) -> str:
    """A name for a table of traffic that no other has."""
    number, found = 1, name
    while found in used:
        number += 1
        found = f"{name}-{number}"
    return found


def _arrivals(sizes: list[list[float]], load: float | None) -> dict[str, Any]:
    if load is None:
        raise ScenarioError(
            "import", "sizes of flows", "--load SHARE, the load of the hosts' links, such as 0.3"
        )
    return {"kind": "poisson", "sizes": sizes, "load": load}


def _add(imported: Imported, work: Work, fabric: Fabric | None, count: int) -> None:
    """Add the table of traffic of a file: a trace if it can be one, else a list of tasks."""
    if work.hosts and work.hosts > count:
        expected = f"a network of {work.hosts} hosts or more; it has {count}"
        raise ScenarioError("hosts", work.hosts, expected, file=work.source.path)
    tasks = ordered(work)
    of = {task.name: task for task in tasks}
    for task in tasks:
        task.host, task.to = (_host(work, task, host, fabric, count) for host in (task.host, task.to))
        task.everywhere = any(task.host not in (of[name].host, of[name].to) for name in task.after)
    used = [table["name"] for table in imported.tables["traffic"] if "name" in table]
    name = _unused(work.name, [*used, *imported.flows])
    if any(task.to is None or task.needs or task.everywhere for task in tasks):
        rows = [_row(task) for task in tasks]
        imported.tables["traffic"].append({"kind": "tasks", "name": name, "tasks": rows})
    else:
        imported.flows[name] = _columns(tasks)


def _columns(tasks: list[Task]) -> dict[str, list[str]]:
    """The columns of a trace (`shallows.traffic.trace`)."""
    columns = {
        "start_s": [_seconds(task.delay_ps) for task in tasks],
        "src": [str(task.host) for task in tasks],
        "dst": [str(task.to) for task in tasks],
        "bytes": [str(task.bytes) for task in tasks],
    }
    waits = {
        "after": [" ".join(task.after) for task in tasks],
        "behind": [" ".join(task.behind) for task in tasks],
    }
    used = {name: column for name, column in waits.items() if any(column)}
    return {**({"id": [task.name for task in tasks]} if used else {}), **columns, **used}


def _row(task: Task) -> dict[str, Any]:
    """A task as the kind `tasks` has it (`shallows.traffic.tasks`)."""
    message = {"from": task.host, "to": task.to, "size": SIZE.text(task.bytes)}
    computation = {
        "host": task.host,
        "compute": TIME.text(task.duration_ps),
        "processor": task.processor or None,
    }
    rest = {
        "after": task.after,
        "behind": task.behind,
        "needs": task.needs,
        "delay": TIME.text(task.delay_ps) if task.delay_ps else None,
        "global": task.everywhere,
    }
    row = (computation if task.to is None else message) | {key: value for key, value in rest.items() if value}
    return {"name": task.name, **{key: value for key, value in row.items() if value is not None}}


def _seconds(picoseconds: int) -> str:
    return f"{(Decimal(picoseconds) / 10**12).normalize():f}"


def _host(work: Work, task: Task, host: int | None, fabric: Fabric | None, count: int) -> Any:
    """The number of a host in the network; None for none."""
    number = fabric.hosts.get(host) if fabric and fabric.hosts and host is not None else host
    if host is not None and (number is None or number >= count):
        word = Word(str(host), task.word.line, task.word.column) if task.word else None
        work.source.refuse(word, "host", f"a host of the network, which has {count}")
    return number

"""The parts of imported files as one scenario: its tables, and a table of flows for each file of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from shallows.base.garbage import uncollected
from shallows.errors import ScenarioError
from shallows.importers import configuring
from shallows.importers.content import Fabric, Parts, Task, Uplink, Work
from shallows.importers.order import ordered
from shallows.importers.source import Word
from shallows.scenario import Scenario
from shallows.units import NEVER, SIZE, TIME

DEFAULT = "dcqcn"
"""The algorithm of a scenario without a base and without --cc."""
ENDLESS = "1ms"
"""The duration of runs with flows without an end: `end_time` of htsim's programs."""


@dataclass
class Imported:
    """A scenario and sentences about it. `flows` has the columns of its traces by the name of the table."""

    tables: dict[str, Any]
    flows: dict[str, dict[str, list[str]]] = field(default_factory=dict[str, dict[str, list[str]]])
    assumed: list[str] = field(default_factory=list[str])
    left_out: list[str] = field(default_factory=list[str])


@uncollected()
def joined(parts: Sequence[Parts], base: Scenario | None, cc: str | None, load: float | None) -> Imported:
    """One scenario of all parts; what they lack is that of `base`. Raises `ScenarioError`."""
    fabric = _only([part.fabric for part in parts if part.fabric])
    if fabric is None and base is None:
        expected = "a file with a topology too, or --on SCENARIO: the network on which these flows run"
        raise ScenarioError("import", "flows alone", expected)
    imported = Imported(
        _base(base, have_traffic(parts)),
        assumed=[text for part in parts for text in part.assumed],
        left_out=[text for part in parts for text in part.left_out],
    )
    if base and not have_traffic(parts):
        imported.assumed.append("the traffic is that of --on, because the files have no messages")
    if cc:
        imported.tables["cc"] = cc
    if fabric:
        _lay(imported, fabric)
    for part in parts:
        if part.settings:
            configuring.configure(imported.tables, part.settings, fabric, imported, cc=cc)
    if base is None:
        imported.tables.setdefault("cc", DEFAULT)
    _fail(imported, [uplink for part in parts for uplink in part.failed], fabric)
    traffic: list[dict[str, object]] = imported.tables.setdefault("traffic", [])
    for part in parts:
        if part.work and (part.work.tasks or part.work.tables):
            _add(imported, part.work, fabric, base)
        if part.sizes:
            traffic.append(_arrivals(part.sizes, load) | _ends(imported, fabric, base))
    if not imported.flows and not traffic:
        expected = "a file with flows or sizes too, or --on SCENARIO, whose traffic is used then"
        raise ScenarioError("import", "no flows", expected)
    return imported


def have_traffic(parts: Sequence[Parts]) -> bool:
    """Whether files have flows, or sizes of them. Computations alone are no traffic."""
    works = [part.work for part in parts if part.work]
    return any(part.sizes for part in parts) or any(
        work.tables or any(task.to is not None for task in work.tasks) for work in works
    )


def _base(base: Scenario | None, without_traffic: bool) -> dict[str, Any]:
    """The tables of the base: all but its name, or only those about the network, hosts and algorithms."""
    kept = base.tables if base else {}
    kept.pop("name", None)
    if not without_traffic:
        return {"duration": "until-done", **kept}
    for key in ("traffic", "warmup", "cooldown", "duration"):
        kept.pop(key, None)
    return {"duration": "until-done", **kept}


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


def _ends(imported: Imported, fabric: Fabric | None, base: Scenario | None) -> dict[str, Any]:
    """All hosts as both ends of flows, where those of the topology have one receiver."""
    network = base.graph if base and not fabric else None
    if network is None or network.receivers is None or len(set(network.receivers.tolist())) > 1:
        return {}
    imported.assumed.append(
        "flows are between random pairs of hosts, not to the one receiver of the topology"
    )
    return {"from": list(network.host_names), "to": list(network.host_names)}


def _long_lived(work: Work, tasks: list[Task], endless: list[Task]) -> list[dict[str, Any]]:
    """Tables of the flows without an end, one for each time at which some start."""
    names = {task.name for task in endless}
    for task in tasks:
        if (task in endless and (task.after or task.behind)) or names & {*task.after, *task.behind}:
            expected = "flows with an end (size above 0) where one starts another"
            work.source.refuse(task.word, "trigger", expected)
    starts: dict[int, list[Task]] = {}
    for task in endless:
        starts.setdefault(task.delay_ps, []).append(task)
    return [
        {
            "kind": "long-lived",
            "from": [task.host for task in together],
            "to": [task.to for task in together],
            "start": TIME.text(start),
            "jitter": "0s",
        }
        for start, together in starts.items()
    ]


def _let_end(imported: Imported, base: Scenario | None, last_ps: int) -> None:
    """Let a run with flows without an end end as the base, or as htsim's, `ENDLESS` after the last start."""
    if imported.tables["duration"] != "until-done":
        return
    if base and base.duration != NEVER:
        imported.tables["duration"] = TIME.text(base.duration)
        return
    after = f", {ENDLESS} after the last start" if last_ps >= TIME.parse(ENDLESS) else ""
    duration = TIME.text(last_ps + TIME.parse(ENDLESS)) if after else ENDLESS
    imported.tables["duration"] = duration
    imported.assumed.append(
        f"duration = {duration}{after}, the default of htsim's programs: some flows have no end"
    )


def _add(imported: Imported, work: Work, fabric: Fabric | None, base: Scenario | None) -> None:
    """Add the table of traffic of a file: a trace if it can be one, else a list of tasks."""
    count = fabric.count if fabric else base.graph.hosts if base else 0
    if work.hosts and work.hosts > count:
        expected = f"a network of {work.hosts} hosts or more; it has {count}"
        raise ScenarioError("hosts", work.hosts, expected, file=work.source.path)
    for table in work.tables:
        hosts = [_host(work, Task("", rank), rank, fabric, count) for rank in table["hosts"]]
        imported.tables["traffic"].append(table | {"hosts": hosts})
    if not work.tasks:
        return
    tasks = ordered(work)
    of = {task.name: task for task in tasks}
    for task in tasks:
        task.host, task.to = (_host(work, task, host, fabric, count) for host in (task.host, task.to))
        task.everywhere = any(task.host not in (of[name].host, of[name].to) for name in task.after)
    used = [table["name"] for table in imported.tables["traffic"] if "name" in table]
    name = _unused(work.name, [*used, *imported.flows])
    endless = [task for task in tasks if task.to is not None and not task.bytes]
    if endless:
        imported.tables["traffic"] += _long_lived(work, tasks, endless)
        _let_end(imported, base, max(task.delay_ps for task in endless))
        tasks = [task for task in tasks if task.to is None or task.bytes]
    if not tasks:
        return
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

"""Keys of a scenario on the site: each key of the tables in docs/scenario*.md, with unit, source and worlds.

The pages have key, default and meaning. The unit comes from the model of the table, the worlds from what each
world declares, and the source of a default from sources.toml or docs/scenario-defaults.md.
"""

import re
import tomllib
from pathlib import Path
from types import UnionType
from typing import Literal, Union, get_args, get_origin

from shallows.base.table import Table
from shallows.scenario.builders import MODELS, PARTS
from shallows.scenario.given import Given
from shallows.topology import KINDS as TOPOLOGIES
from shallows.traffic import KINDS as TRAFFICS
from shallows.units import TypeName
from shallows.worlds import fluid, kernel, packet, wire

DOCS = Path(__file__).resolve().parents[2] / "docs"
WORLDS = [world.WORLD for world in (packet, fluid, kernel, wire)]
SOURCES = tomllib.loads(Path(__file__).with_name("sources.toml").read_text("utf-8"))
UNITS = {
    "Time": "[time](scenario.md#quantities), `ps` to `s`",
    "Size": "[size](scenario.md#quantities), `B` to `GiB` or `pkt`",
    "Rate": "[rate](scenario.md#quantities), `bps` to `Tbps`",
    "Share": '[share](scenario.md#quantities), `0.4` or `"40%"`',
    "Ends": "hosts",
    "Ports": "names or patterns of ports",
    "FlowCount": "number of flows, or their numbers",
    "AnyMarking": "table or name",
    "Algorithm": "table or name",
    "Sizes": "distribution, file or size",
    "File": "file",
    "Columns": "columns of a table",
    "Sequence[str]": "names of switches",
}
"""The unit, or the form, of a key whose type has this name."""
PLAIN = {int: "whole number", float: "number", bool: "`true` or `false`", str: "text", list: "list"}
TABLES = {
    "scenario.md": {"Top level": ("", Given)},
    "scenario-network.md": {
        "[network]": ("network", PARTS["Network"]),
        "shared": ("network.shared", PARTS["Shared"]),
        "pfc": ("network.pfc", PARTS["Pauses"]),
        "trimming": ("network.trimming", PARTS["Trimming"]),
        "marking": ("network.marking", None),
    },
    "scenario-hosts.md": {
        "[hosts]": ("hosts", PARTS["Hosts"]),
        "costs": ("hosts.costs", PARTS["Costs"]),
        "timestamps": ("hosts.timestamps", PARTS["Timestamps"]),
    },
    "scenario-topology.md": {kind: (f"topology.{kind}", model) for kind, model in TOPOLOGIES.items()},
    "scenario-traffic.md": {
        **{kind: (f"traffic.{kind}", model) for kind, model in TRAFFICS.items()},
        "Keys of all kinds": ("traffic", TRAFFICS["tasks"]),
        "Collectives": ("traffic.collective", TRAFFICS["all-reduce"]),
        "a task": ("traffic.tasks.tasks", PARTS["Task"]),
    },
    "scenario-classes.md": {"classes": ("classes", PARTS["TrafficClass"]), "pools": ("pools", PARTS["Pool"])},
    "scenario-ports.md": {"ports": ("ports", PARTS["PortSettings"])},
    "scenario-faults.md": {"[[faults]]": ("faults", PARTS["Fault"])},
    "scenario-record.md": {"[record]": ("record", PARTS["Record"])},
}
"""{page: {heading, or what follows "key of": (prefix of its keys, model)}}."""
SHARED = {"name", "cc", "priority", "class"}
"""Keys of every kind of traffic, which have a table of their own."""
HEADER = re.compile(r"\| key(?: of (.*?))? \|")


def augmented(page, text):
    """The Markdown of a page of the site: each row of its tables of keys is a heading with its facts."""
    return "\n".join(_lines(page, text))


def documented(page):
    """(id, key, default, meaning, unit, source, worlds) of each key on a page of docs/."""
    for kind, row in _parsed(page, (DOCS / page).read_text("utf-8")):
        if kind == "key":
            yield row


def _lines(page, text):
    for kind, row in _parsed(page, text):
        if kind == "line":
            yield row
        else:
            yield from _entry(*row)


def _parsed(page, text):
    """("line", text) and ("key", facts) of a page, in order."""
    heading, table, title = "", None, ""
    for line in text.splitlines():
        if re.match("#+ ", line):
            heading = line.lstrip("# ").replace("`", "")
        if found := HEADER.match(line):
            about = (found[1] or heading).replace("`", "")
            table = TABLES.get(page, {}).get(about)
            title = line.split("|")[2].strip()
            if table:
                continue
        elif table and line.startswith("|---"):
            continue
        elif table and line.startswith("| "):
            if facts := _facts(table, line, title):
                yield "key", facts
            continue
        elif table:
            table = None
        yield "line", line


def _facts(table, line, title):
    prefix, model = table
    names, default, meaning = (cell.strip() for cell in line.strip().strip("|").split("|"))
    keys = re.findall(r"`([\w-]+)`", names)
    if not keys:
        return None
    paths = [f"{prefix}.{key}".lstrip(".") for key in keys]
    unit = UNITS_BY_HAND.get(paths[0]) or " and ".join(dict.fromkeys(_unit(model, key) for key in keys))
    if title != "default":
        default = f"{default} ({title})" if "·" in default else default
    return (
        paths,
        re.sub("^,", "none,", default) or "none",
        meaning,
        unit,
        _source(paths[0], default),
        _worlds(paths[0]),
    )


UNITS_BY_HAND = {
    "network.marking.cell": "size",
    "network.marking.kind": "text",
    "network.marking.at": 'text: `"enqueue"` or `"dequeue"`',
    "topology.graph.file": "file",
    "topology.graph.edges": "list of node, node, rate and delay",
    "faults.value": "rate, share or probability, as the kind needs",
}


def _entry(paths, default, meaning, unit, source, worlds):
    shown = ", ".join(f"`{_as_written(path)}`" for path in paths)
    also = "".join(f'<a id="{path}"></a>' for path in paths[1:])
    yield from (
        "",
        f"#### {shown} {{ #{paths[0]} .key }}",
        "",
        f"{also}{meaning[:1].upper()}{meaning[1:]}",
        "",
    )
    facts = {"unit": unit, "default": default, "source": source, "worlds": worlds}
    yield from (" · ".join(f"**{name}** {value}" for name, value in facts.items()), "{ .facts }", "")


def _as_written(path):
    """The key in a scenario: a kind is no part of it."""
    table, _, rest = path.partition(".")
    if table in ("topology", "traffic") and "." in rest:
        return f"{table}.{rest.partition('.')[2]}"
    return path


def _unit(model, key):
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    field = fields[key]
    named = next((mark.type for mark in field.metadata if isinstance(mark, TypeName)), None)
    return UNITS[named] if named else _of_type(field.annotation)


def _of_type(annotation):
    origin, inner = get_origin(annotation), get_args(annotation)
    if hasattr(annotation, "__metadata__"):
        named = next((mark.type for mark in annotation.__metadata__ if isinstance(mark, TypeName)), None)
        return UNITS[named] if named else _of_type(inner[0])
    if origin is Literal:
        if all(isinstance(value, str) for value in inner):
            return "text: " + ", ".join(f'`"{value}"`' for value in inner)
        return " or ".join(f"`{str(value).lower()}`" for value in inner)
    if origin in (Union, UnionType):
        parts = [_of_type(one) for one in inner if one is not type(None)]
        return " or ".join(dict.fromkeys(parts)).replace("table or `false`", "table, `true` or `false`")
    if origin in (list, tuple):
        return f"list of {_of_type(inner[0])}s"
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return "table"
    return PLAIN.get(annotation, "any value")


def _worlds(path):
    """The worlds that support a key, with what they limit; limits of a whole topology are on another page."""
    parts = path.split(".")
    own = {"on": "off"}.get(parts[-1], parts[-1])
    if (
        parts[0] == "traffic"
        and own in ("class", "priority", "exchange", "off", "cc", "name")
        and len(parts) < 4
    ):
        key = f"traffic.{own}"
    elif path.startswith("traffic.collective"):
        key = "traffic.all-reduce"
    elif parts[0] in ("classes", "pools", "ports", "faults"):
        key = parts[0]
    else:
        key = ".".join(parts[:2])
    found = []
    for world in WORLDS:
        if key in world.supported_keys:
            limit = world.limits.get(key) or (parts[0] == "record" and world.limits.get(parts[0])) or ""
            found.append(f"{world.name} ({limit})" if limit else world.name)
    return ", ".join(found)


OFF = {"", "none", "never", '`"never"`', '`"off"`', '`"unlimited"`', '`"0s"`', "`0`", "`false`", "`[]`"}


def _source(path, default):
    """Where the default comes from."""
    if path in SOURCES:
        return SOURCES[path]
    if "*required*" in default or default == "required":
        return "required"
    if path in _following() or "follows the network" in default:
        return "[rule](scenario-defaults.md)"
    if default in OFF:
        return "no effect unless set"
    if default.startswith("as "):
        return "another setting"
    other = re.fullmatch(r"(?:twice )?`([a-z_.]+)`.*", default)
    if other and other[1] not in ("true", "false"):
        return "another key"
    return "a choice"


def _following():
    text = (DOCS / "scenario-defaults.md").read_text("utf-8")
    return {f"network.{key}" for key in re.findall(r"(?m)^\| `([\w.]+)`", text)} | set(
        re.findall(r"(?m)^\| `([\w.]+)`", text)
    )


def index():
    """The list of all keys, as Markdown."""
    lines = [
        "# All keys",
        "",
        "From this page you find a key of a scenario by its name, which leads to its unit, default, source,",
        "worlds and meaning.",
        "",
        "| key | default | page |",
        "|---|---|---|",
    ]
    rows = []
    for page in TABLES:
        title = (DOCS / page).read_text("utf-8").splitlines()[0].lstrip("# ")
        for paths, default, *_ in documented(page):
            for path in paths:
                kind = path.split(".")[1] if _as_written(path) != path else ""
                of = f", `{kind}`" if kind else ""
                plain = re.sub(r"\[([^\]]*)\]\(#([^)]*)\)", r"\1", default)
                rows.append(
                    (
                        _as_written(path),
                        f"| [`{_as_written(path)}`]({page}#{paths[0]}){of} | {plain} | {title} |",
                    )
                )
    return "\n".join([*lines, *(row for _, row in sorted(rows))]) + "\n"


def models():
    """{builder: {key: pages that have it}}, for tests."""
    found = {}
    for page, tables in TABLES.items():
        rows = {path for paths, *_ in documented(page) for path in paths}
        for prefix, model in tables.values():
            if model is not None:
                found.setdefault(model, set()).update(
                    path[len(prefix) :].lstrip(".") for path in rows if path.rpartition(".")[0] == prefix
                )
    return found, MODELS

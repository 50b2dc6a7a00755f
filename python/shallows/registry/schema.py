"""The JSON Schema of a scenario file, for editors.

It is generated from the models of the scenario and from the catalog. It knows keys, kinds, units and ranges
of whole numbers; only `Scenario` checks what depends on several keys.
"""

from collections.abc import Iterable
from typing import Any, get_args

from pydantic import BaseModel

from shallows.algorithms import nic, switch
from shallows.algorithms.defaults import port_rules
from shallows.algorithms.marking import RECOMMENDED
from shallows.algorithms.traits import NATIVE
from shallows.core import contract
from shallows.core.rows import Parameter, Row
from shallows.registry import catalog
from shallows.scenario import NetworkTable
from shallows.scenario.given import Given
from shallows.scenario.queues import PortTable, TrafficClass
from shallows.sweeps.file import KEYS
from shallows.topology import KINDS as TOPOLOGIES
from shallows.traffic import KINDS as TRAFFICS
from shallows.units import RATE, SIZE, TIME, TypeName

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
UNITS = {"s": TIME.pattern(), "bit/s": RATE.pattern(), "B": SIZE.pattern(packets=True)}
PACKETS = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?pkt$"
IN_PYTHON = r"^.+\.py:.+$"
"""An algorithm in a file, with the name of its class after a colon."""


def scenario_schema() -> Schema:
    """The schema, as the dict that `shallows schema` prints."""
    schema = Given.model_json_schema()
    parts = {"Algorithm": _algorithm(), "AnyMarking": _marking(), "Receiver": _receiver()}
    for model in (Given, NetworkTable, TrafficClass, PortTable, *TOPOLOGIES.values(), *TRAFFICS.values()):
        properties = schema["$defs"].get(model.__name__, schema)["properties"]
        for name, type_ in _written(model):
            if type_ in parts:
                said = properties[name].get("description", "")
                properties[name] = {"description": said, "$ref": f"#/$defs/{type_}"}
    schema["$defs"]["Pauses"]["properties"] |= _of_switches("pfc")
    schema["$defs"]["Shared"]["properties"] |= _of_switches("shared")
    network = schema["$defs"]["NetworkTable"]["properties"]
    network["buffer"] = _also(network["buffer"], {"const": "shared"})
    for key in ("shared", "pfc", "trimming"):
        network[key] = _also(network[key], {"type": "boolean"})
    classes = schema["$defs"]["TrafficClass"]["properties"]
    for key in ("pfc", "trimming"):
        classes[key] = _also(classes[key], {"type": "boolean"})
    graph = schema["$defs"]["Graph"]
    graph["properties"]["file"] = {
        **TEXT,
        "description": "GraphML or node-link JSON, in place of edges and hosts",
    }
    graph["anyOf"] = [{"required": ["edges", "hosts"]}, {"required": ["file"]}]
    graph["required"] = ["kind"]
    schema["$defs"] |= parts
    schema["properties"]["topology"] = _by_kind(schema["properties"]["topology"])
    schema["properties"]["traffic"]["items"] = _by_kind(schema["properties"]["traffic"]["items"])
    schema["properties"]["sweep"] = _sweep()
    whole, elsewhere = schema.pop("required"), {"required": ["scenario"]}
    schema["anyOf"] = [{"required": whole}, {"properties": {"sweep": elsewhere}, "required": ["sweep"]}]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "A scenario of Shallows",
    }


def _written(model: type[BaseModel]) -> Iterable[tuple[str, str]]:
    """(key, name of the Python type) of the fields with such a type."""
    for name, field in model.model_fields.items():
        for about in field.metadata:
            if isinstance(about, TypeName):
                yield field.alias or name, about.type


def _also(one: Schema, *others: Schema) -> Schema:
    """The schema of `one` or one of `others`."""
    about = {key: one.pop(key) for key in ("description", "default", "title") if key in one}
    return {**about, "anyOf": [*one.pop("anyOf", [one]), *others]}


def _by_kind(one: Schema) -> Schema:
    """The same choice among tables as conditions on their kind, so that a mistake is one error."""
    about = {key: one[key] for key in ("description", "title") if key in one}
    mapping: dict[str, str] = one["discriminator"]["mapping"]
    return {**about, **_chosen("kind", {kind: ([kind], {"$ref": ref}) for kind, ref in mapping.items()})}


def _chosen(key: str, tables: "dict[str, tuple[list[str], Schema]]", also: Schema | None = None) -> Schema:
    """A table that follows the schema of the name in its `key`; `also` is a further schema for that name."""
    names: Schema = {"enum": [name for names, _ in tables.values() for name in names]}
    return {
        "type": "object",
        "properties": {key: {"anyOf": [names, also]} if also else names},
        "required": [key],
        "allOf": [
            {"if": {"properties": {key: {"enum": names}}, "required": [key]}, "then": table}
            for names, table in tables.values()
        ],
    }


def _algorithm() -> Schema:
    """A name, or a table with the parameters of the named algorithm."""
    rows = {row["name"]: row for row in catalog.algorithms()}
    names = {name: _names(row) for name, row in rows.items()}
    every = [label for labels in names.values() for label in labels] + list(NATIVE)
    beside: Schema = {"receiver": {"$ref": "#/$defs/Receiver"}}
    tables = {name: (names[name], _table("name", names[name], row, beside)) for name, row in rows.items()}
    tables[nic.ALGORITHM][1]["properties"] |= _of_nics()
    native = _table("name", list(NATIVE), None, beside)
    tables["native"] = (list(NATIVE), native)
    python: Schema = {"type": "string", "pattern": IN_PYTHON}
    # The parameters of an algorithm in Python are checked only when it is loaded; its receiver is known.
    table = _chosen("name", tables, python)
    table["properties"] |= beside
    return _text_or_table({"anyOf": [{"enum": every}, python]}, table)


def _of_nics() -> Schema:
    """The settings of NICs that are parameters of their algorithm, by their names there."""
    found: Schema = {}
    for one in nic.SETTINGS:
        if one.here:
            range_: Schema = {"minimum": one.least, "maximum": one.most}
            found[one.name] = {"type": "integer", **range_, "description": f"`{one.here}`"}
    return found


def _of_switches(table: str) -> Schema:
    """Keys of a table of `[network]` by their names on switches; SONiC writes numbers as texts."""
    return {
        key: {"type": ["integer", "string"], "description": f"`{rule[0]}`"}
        for key, rule in switch.NAMES[table].items()
    }


def _text_or_table(text: Schema, table: Schema) -> Schema:
    """A text or a table, by the type of the value, so that a mistake is one error."""
    return {"if": {"type": "object"}, "then": table, "else": text}


def _receiver() -> Schema:
    rows = {row["name"]: row for row in catalog.other_catalogs()["cc.receiver"]}
    names = {name: _names(row) for name, row in rows.items()}
    every = [label for labels in names.values() for label in labels]
    tables = {name: (names[name], _table("kind", names[name], row)) for name, row in rows.items()}
    return _text_or_table({"enum": every}, _chosen("kind", tables))


def _names(row: Row) -> list[str]:
    """The name of a row, alone and with each of its presets."""
    return [row["name"], *(f"{row['name']}@{preset['name']}" for preset in row.get("presets", ()))]


def _marking() -> Schema:
    """ "none", or a table of a kind; those that compare the queue with thresholds need not be named."""
    tables: dict[str, tuple[list[str], Schema]] = {}
    unnamed: Schema = {}
    for row in catalog.markings():
        table = _table("kind", [row["name"]], row, {"at": {"enum": [*get_args(contract.At)]}})
        if {rule[0] for rule in switch.NAMES["marking"].values()} <= table["properties"].keys():
            table["properties"] |= _of_switches("marking")
        for key in port_rules(row):
            of_rate = {"type": "object", "additionalProperties": dict(table["properties"][key])}
            table["properties"][key] = _also(table["properties"][key], {"const": RECOMMENDED}, of_rate)
        if row["thresholds"]:
            cell = "bytes of a cell of the switch, which compares whole cells"
            table["properties"]["cell"] = {"description": cell, "type": "string", "pattern": UNITS["B"]}
            unnamed = _unless_own({**table, "required": []}, unnamed)
        tables[row["name"]] = ([row["name"]], table)
    table = _chosen("kind", tables)
    without = {"if": {"not": {"required": ["kind"]}}, "then": unnamed}
    table |= {"required": [], "allOf": [*table["allOf"], without]}
    return _text_or_table({"const": "none"}, table)


def _unless_own(table: Schema, others: Schema) -> Schema:
    """This schema for what has a property that none of the `others` has; `others` for the rest."""
    if not others:
        return table
    known = others.get("else", others)["properties"]
    own = [{"required": [key]} for key in table["properties"] if key not in known]
    return {"if": {"anyOf": own}, "then": table, "else": others}


def _table(key: str, names: list[str], row: Row | None, beside: Schema | None = None) -> Schema:
    """A table that names a row of the catalog in `key`, and sets its parameters; the kernel has no row."""
    parameters = {one["name"]: _parameter(one) for one in row["parameters"]} if row else {}
    return {
        "type": "object",
        "description": row["summary"] if row else "The kernel's own.",
        "properties": {key: {"enum": names}, **parameters, **(beside or {})},
        "required": [key],
        "additionalProperties": False,
    }


def _parameter(row: Parameter) -> Schema:
    about: Schema = {"description": row["meaning"]}
    if row["unit"] == "flag":
        return {**about, "type": "boolean"}
    if row["unit"] in UNITS:
        return {**about, "type": "string", "pattern": UNITS[row["unit"]]}
    number: Schema = {"type": "number", "minimum": row["min"], "maximum": row["max"]}
    if row["unit"] == "pkt":
        return {**about, "anyOf": [number, {"type": "string", "pattern": PACKETS}]}
    return {**about, **number}


def _sweep() -> Schema:
    """The table `[sweep]`."""
    values: Schema = {"anyOf": [TEXT, {"type": "array", "minItems": 1}]}
    swept: Schema = {"type": "object", "additionalProperties": values}
    keys: Schema = {
        "scenario": {**TEXT, "description": "a scenario beside this file, or the name of an example"},
        "cc": {
            "type": "array",
            "items": TEXT,
            "description": "algorithms, all with the same arrivals",
        },
        "over": {**swept, "description": "every combination of these values of keys"},
        "together": {"type": "array", "items": swept, "description": "keys that change together"},
        "seeds": {
            "type": "integer",
            "minimum": 1,
            "description": "number of seeds, counted from the scenario's own",
        },
        "until": {
            "anyOf": [TEXT, {"type": "number"}],
            "description": "add seeds until the interval is this narrow",
        },
        "metric": {**TEXT, "description": "metric of that interval"},
    }
    return {"type": "object", "properties": {key: keys[key] for key in KEYS}, "additionalProperties": False}

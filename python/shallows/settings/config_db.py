"""Reads `config_db.json` of SONiC: the tables that concern queues, buffers and pauses.

Every value in this file is text. `read` checks the fields that Shallows knows and gives them as numbers,
flags and names; it names other fields and other tables. Names, types and ranges: SONiC's YANG models
(sonic-wred-profile, sonic-queue, sonic-buffer-pool, sonic-buffer-profile, sonic-buffer-pg,
sonic-port-qos-map, sonic-pfcwd, sonic-trimming).
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from shallows.algorithms.switch import BYTES, MOST, PER_CENT, POWER, Number
from shallows.base import texts
from shallows.base.toml import is_table
from shallows.errors import ScenarioError
from shallows.settings import port_tables
from shallows.units import did_you_mean

Entry = dict[str, Any]
Tables = dict[str, dict[str, Entry]]
"""Table name -> name of an entry -> field -> value."""
Unknown = dict[str, set[str]]
"""Table name -> its fields that are not known; none where the table is not known."""

COLOURS = ("green", "yellow", "red")
ECN = {
    "ecn_none": (),
    "ecn_green": ("green",),
    "ecn_yellow": ("yellow",),
    "ecn_red": ("red",),
    "ecn_green_yellow": ("green", "yellow"),
    "ecn_green_red": ("green", "red"),
    "ecn_yellow_red": ("yellow", "red"),
    "ecn_all": COLOURS,
}
"""The colours whose packets each mode marks."""


def ecn_fields(colour: str, name: str) -> list[str]:
    """Names of a field for ECN-capable packets alone: `min_threshold`, `max_threshold` or `probability`.

    Releases and vendors differ, as in `green_ect_mark_probability` and `ecn_green_mark_probability`.
    """
    heads = [f"{colour}_ect", f"{colour}_ecn", f"ecn_{colour}", f"ect_{colour}"]
    if name != "probability":
        return [f"{head}_{name}" for head in heads]
    marks = [f"{head}_mark_probability" for head in (*heads, colour)]
    return [*marks, *(f"{head}_drop_probability" for head in heads)]


SHOWN, SHORT = 6, 60
"""Repeated keys that a sentence lists, and the most letters of each."""


@dataclass(frozen=True)
class Config:
    """The known tables of a configuration, and sentences about tables and fields that are not known."""

    tables: Tables
    unknown: tuple[str, ...]


def read(paths: Sequence[Path]) -> Config:
    """The tables of files of one switch. Raises `ScenarioError` with the path of the key that is wrong."""
    tables, unknown, repeated = Tables(), Unknown(), dict[str, None]()
    empty: list[str] = []
    for path in paths:
        content = _content(path, repeated)
        if is_table(content) and not any(content.values()):
            empty.append(f"{path.name}: it has no entry")
        try:
            _merge(tables, _checked(content, unknown))
        except ScenarioError as error:
            raise error.in_file(path) from None
    try:
        config = _config(tables, unknown, list(repeated))
        return Config(config.tables, (*config.unknown, *empty))
    except ScenarioError as error:
        raise error.in_file(" and ".join(map(str, paths))) from None


def from_tables(content: object) -> Config:
    """The same of a JSON object that is at hand."""
    tables, unknown = Tables(), Unknown()
    _merge(tables, _checked(content, unknown))
    return _config(tables, unknown)


def _content(path: Path, repeated: dict[str, None]) -> object:
    """The tables of a file. Keys that an object has twice are added to `repeated`: SONiC takes the last."""

    def last(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            repeated.update(dict.fromkeys(key for key, count in counts.items() if count > 1))
        return found

    try:
        text = texts.read(path)
        if path.suffix != ".json" and port_tables.recognises(path, text):
            return port_tables.read(path)
        return texts.from_json(text, last)
    except (OSError, UnicodeDecodeError) as error:
        expected = f"a readable config_db.json ({texts.why(error)})"
        raise ScenarioError(None, None, expected, file=path) from None
    except ScenarioError as error:
        raise error.in_file(path) from None
    except ValueError as error:
        raise ScenarioError(None, None, f"JSON ({error})", file=path) from None


def _merge(tables: Tables, others: Tables) -> None:
    """Add the entries of another file. Raises `ScenarioError` for a field that both set differently."""
    for name, table in others.items():
        for entry, fields in table.items():
            own = tables.setdefault(name, {}).setdefault(entry, {})
            for field, value in fields.items():
                if own.setdefault(field, value) != value:
                    expected = f"the value of the file before, {own[field]}"
                    raise ScenarioError(f"{name}.{entry}.{field}", value, expected)


def _config(tables: Tables, unknown: Unknown, repeated: Sequence[str] = ()) -> Config:
    for name, table in tables.items():
        for entry, fields in table.items():
            _check_references(tables, f"{name}.{entry}", name, fields)
    sentences = [
        f"{name}: {', '.join(sorted(fields))}: no key of a scenario expresses these fields"
        for name, fields in unknown.items()
        if name in FIELDS
    ]
    others = sorted(set(unknown) - set(FIELDS))
    if others:
        sentences.append(f"{', '.join(others)}: no key of a scenario expresses these tables")
    if repeated:
        shown = ", ".join(key[:SHORT] for key in repeated[:SHOWN])
        more = f" and {len(repeated) - SHOWN} more" if len(repeated) > SHOWN else ""
        sentences.append(f"{shown}{more}: repeated keys, of which SONiC takes the last")
    return Config(tables, tuple(sentences))


def ports_of(table: str, entry: str) -> list[str]:
    """The ports of an entry such as `Ethernet0,Ethernet4|3-4`."""
    names = entry.rpartition("|")[0] if table in NUMBERED else entry
    return names.split("|")[-1].split(",")


def numbers_of(table: str, entry: str) -> range:
    """The queues or priority groups of an entry such as `Ethernet0|3-4`. Raises `ScenarioError`."""
    number = "[0-7]" if table == "BUFFER_PG" else r"\d{1,2}"  # as sonic-buffer-pg.yang has it
    match = re.fullmatch(rf".+\|({number})(?:-({number}))?", entry)
    low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if low > high:
        raise ScenarioError(f"{table}.{entry}", None, 'a key such as "Ethernet0|3" or "Ethernet0|3-4"')
    return range(low, high + 1)


def _from_dump(content: object) -> object:
    """The tables of a dump of Redis, `{"QUEUE|Ethernet0|3": {"type": "hash", "value": {...}}}`."""
    rows = content if is_table(content) else {}
    if not rows or not all(is_table(row) and {"type", "value"} <= row.keys() for row in rows.values()):
        return content
    tables: dict[str, dict[str, object]] = {}
    for name, row in rows.items():
        table, bar, entry = name.partition("|")
        if bar:
            value = row["value"]
            if is_table(value):
                value = {key: one for key, one in value.items() if key != "NULL"}
            tables.setdefault(table, {})[entry] = value
    if not tables:
        expected = "a dump of CONFIG_DB, with keys such as QUEUE|Ethernet0|3; this is of another database"
        raise ScenarioError(next(iter(rows)), None, expected)
    return tables


def _checked(content: object, unknown: Unknown) -> Tables:
    tables: Tables = {}
    for name, table in _items(_from_dump(content), "", "tables such as WRED_PROFILE"):
        if name not in FIELDS:
            unknown[name] = set()
            continue
        tables[name] = {}
        for entry, fields in _items(table, name, "a table of entries"):
            tables[name][entry] = _entry(name, f"{name}.{entry}", fields, unknown)
            if name in NUMBERED:
                numbers_of(name, entry)
    return tables


def _items(table: object, key: str, expected: str) -> list[tuple[str, object]]:
    if not isinstance(table, dict):
        raise ScenarioError(key or None, table, f"{expected}, as a JSON object")
    return list(cast(dict[str, object], table).items())


def _entry(table: str, key: str, fields: object, unknown: Unknown) -> Entry:
    known, found = FIELDS[table], Entry()
    for field, value in _items(fields, key, "fields and their values"):
        parse = known.get(field) or known.get("*")
        if parse is None:
            unknown.setdefault(table, set()).add(field)
            continue
        if table in MAPS.values() and not re.fullmatch(r"\d{1,2}", field):
            raise ScenarioError(f"{key}.{field}", None, "a number, such as 3")
        try:
            found[field] = parse(value)
        except ValueError as error:
            raise ScenarioError(f"{key}.{field}", value, str(error)) from None
    return found


def _check_references(tables: Tables, key: str, table: str, fields: Entry) -> None:
    for field, target in REFERENCES.get(table, {}).items():
        name = fields.get(field)
        if name is None or name == "NULL" or name in tables.get(target, {}):
            continue
        if target in OPTIONAL_TABLES and target not in tables:
            continue
        known = list(tables.get(target, {}))
        listed = f" ({', '.join(known)})" if known else ", of which this file has none"
        raise ScenarioError(
            f"{key}.{field}", name, f"an entry of {target}{listed}{did_you_mean(name, known)}"
        )


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("text")
    return value


def _one_of(*words: str) -> Callable[[object], str]:
    def parse(value: object) -> str:
        if value not in words:
            raise ValueError(f"one of {', '.join(words)}{did_you_mean(value, words)}")
        return cast(str, value)

    return parse


def _flag(value: object) -> bool:
    return _one_of("true", "false")(value) == "true"


def _reference(value: object) -> str:
    """A name. Releases before 202012 write it as `[TABLE|name]`."""
    text = _text(value)
    old = re.fullmatch(r"\[\w+\|([^\]]+)\]", text)
    return old[1] if old else text


def _priorities(value: object) -> tuple[int, ...]:
    if value == "":
        return ()
    parts = value.split(",") if isinstance(value, str) else []
    if not parts or not all(re.fullmatch(r"[0-7]", part) for part in parts):
        raise ValueError('priorities from 0 to 7, separated by commas, such as "3,4"')
    return tuple(sorted({int(part) for part in parts}))


def _metres(value: object) -> float:
    match = re.fullmatch(r"(\d{1,6}(?:\.\d+)?)m", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError('a length in metres, such as "40m"')
    return float(match[1])


WEIGHT = Number(1, 100, "a weight", 15)
_SPEED = Number(1, 10**7, "Mbit/s", 100_000)
_CLASS = Number(0, 15, "a class, queue or group", 3)
_THRESHOLD = Number(-8, MOST, "a threshold in bytes, or a power of two as its exponent", -1)
DETECTION = Number(100, 5_000, "ms", 200)
RESTORATION = Number(100, 60_000, "ms", 200)
_MILLISECONDS = Number(0, MOST, "ms", 200)
MAPS = {
    "dscp_to_tc_map": "DSCP_TO_TC_MAP",
    "tc_to_queue_map": "TC_TO_QUEUE_MAP",
    "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP",
    "pfc_to_queue_map": "MAP_PFC_PRIORITY_TO_QUEUE",
}
"""Fields of PORT_QOS_MAP that name a map, and its table."""

FIELDS: Mapping[str, Mapping[str, Callable[[object], object]]] = {
    "WRED_PROFILE": {
        "ecn": _one_of(*ECN),
        **{f"wred_{colour}_enable": _flag for colour in COLOURS},
        **{f"{colour}_{bound}_threshold": BYTES for colour in COLOURS for bound in ("min", "max")},
        **{f"{colour}_drop_probability": PER_CENT for colour in COLOURS},
        **{
            field: PER_CENT if name == "probability" else BYTES
            for colour in COLOURS
            for name in ("min_threshold", "max_threshold", "probability")
            for field in ecn_fields(colour, name)
        },
    },
    "QUEUE": {"wred_profile": _reference, "scheduler": _reference},
    "SCHEDULER": {"type": _one_of("DWRR", "WRR", "STRICT"), "weight": WEIGHT},
    "BUFFER_POOL": {
        "type": _one_of("ingress", "egress", "both"),
        "mode": _one_of("static", "dynamic"),
        "size": BYTES,
        "xoff": BYTES,
    },
    "BUFFER_PROFILE": {
        "pool": _reference,
        "size": BYTES,
        "dynamic_th": POWER,
        "static_th": BYTES,
        "xon": BYTES,
        "xoff": BYTES,
        "xon_offset": BYTES,
        "packet_discard_action": _one_of("drop", "trim"),
    },
    "BUFFER_PG": {"profile": _reference},
    "BUFFER_QUEUE": {"profile": _reference},
    "PORT_QOS_MAP": {
        "pfc_enable": _priorities,
        "pfcwd_sw_enable": _priorities,
        **dict.fromkeys(MAPS, _reference),
    },
    **{table: {"*": _CLASS} for table in MAPS.values()},
    "PORT": {"speed": _SPEED},
    "CABLE_LENGTH": {"*": _metres},
    "PFC_WD": {
        "action": _one_of("drop", "forward", "alert"),
        "detection_time": DETECTION,
        "restoration_time": RESTORATION,
        "POLL_INTERVAL": _MILLISECONDS,
    },
    "SWITCH_TRIMMING": {"size": BYTES},
    port_tables.LOOKUP: {
        "size": BYTES,
        "xon": BYTES,
        "xoff": BYTES,
        "threshold": _THRESHOLD,
        "xon_offset": BYTES,
    },
}
"""Table -> field -> how its value is read; `*` reads every field."""

REFERENCES = {
    "QUEUE": {"wred_profile": "WRED_PROFILE", "scheduler": "SCHEDULER"},
    "BUFFER_PROFILE": {"pool": "BUFFER_POOL"},
    "BUFFER_PG": {"profile": "BUFFER_PROFILE"},
    "BUFFER_QUEUE": {"profile": "BUFFER_PROFILE"},
    "PORT_QOS_MAP": MAPS,
}
"""Table -> field -> the table whose entry it names."""

NUMBERED = ("QUEUE", "BUFFER_PG", "BUFFER_QUEUE")
"""Tables whose entries are ports and the numbers of their queues or priority groups."""

OPTIONAL_TABLES = ("SCHEDULER", *MAPS.values())
"""Tables that part of a configuration may leave out: without them weights are 1, and numbers are the same."""

"""Finds what a configuration of SONiC says of each queue of a port, or of all ports if they agree."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shallows.errors import ScenarioError
from shallows.settings.config_db import MAPS, NUMBERED, REFERENCES, Entry, Tables, numbers_of, ports_of

MOST_CLASSES = 8
"""Queues that traffic classes can be: a frame has three bits of priority."""
TRAFFIC_CLASSES = 16
"""SONiC's traffic classes, which maps turn into queues and priority groups."""
NAMED = ("WRED_PROFILE", "SCHEDULER", "BUFFER_POOL", "BUFFER_PROFILE", *MAPS.values())
"""Tables whose entries others name."""
ALL_PORTS = "global"
"""The entry of PORT_QOS_MAP for all ports."""
POLLING = "GLOBAL"
"""The entry of PFC_WD with the interval at which a switch looks for long pauses."""


@dataclass
class Queues:
    """The entries of one port, or of all ports, by queue. `used` has each (table, name) that was read."""

    tables: Tables
    port: str | None
    used: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def named(self, table: str, name: str) -> Entry:
        """The entry that another one names."""
        self.used.add((table, name))
        return self.tables[table][name]

    def unused(self) -> Iterable[tuple[str, list[str]]]:
        """By table, the entries that nothing asked for."""
        for table in NAMED:
            names = [name for name in self.tables.get(table, {}) if (table, name) not in self.used]
            if names:
                yield table, names

    def alike(self) -> list[list[str]]:
        """The ports by what the tables of queues say of them, the most common first."""
        said: dict[str, list[object]] = {}
        for table in (*NUMBERED, "PORT_QOS_MAP", "PFC_WD"):
            for entry, values in self.tables.get(table, {}).items():
                numbers = numbers_of(table, entry) if table in NUMBERED else None
                for port in ports_of(table, entry):
                    said.setdefault(port, []).append((table, str(numbers), sorted(map(str, values.items()))))
        for entry in (ALL_PORTS, POLLING):
            said.pop(entry, None)
        groups: dict[str, list[str]] = {}
        for port, settings in said.items():
            groups.setdefault(str(sorted(map(str, settings))), []).append(port)
        return sorted(groups.values(), key=len, reverse=True)

    def of_port(self, table: str, entry: str) -> bool:
        """Whether an entry is about the chosen port, or about any port if none is chosen."""
        return self.port is None or bool({self.port, ALL_PORTS} & set(ports_of(table, entry)))

    def configured(self) -> list[int]:
        """The queues that any table sets."""
        found = set(self.lossless())
        for table, fields in (("QUEUE", ("wred_profile", "scheduler")), ("BUFFER_QUEUE", ("profile",))):
            for entry, values in self.tables.get(table, {}).items():
                if self.of_port(table, entry) and any(values.get(name, "NULL") != "NULL" for name in fields):
                    found |= set(numbers_of(table, entry))
        return sorted(found)

    def name(self, table: str, key: str, numbers: Iterable[int]) -> str | None:
        """The profile that a field names for these queues or groups; None without one."""
        wanted, found = set(numbers), dict[str, str]()
        for entry, values in self.tables.get(table, {}).items():
            if values.get(key, "NULL") == "NULL" or not wanted & set(numbers_of(table, entry)):
                continue
            if self.of_port(table, entry):
                found[f"{table}.{entry}.{key}"] = values[key]
        ports = (
            "of all ports; --port NAME chooses" if self.port is None else f", not two entries of {self.port}"
        )
        return agreed(found, f"one {key.replace('_', ' ')} for a queue {ports}".replace(" ,", ","))

    def users(self, table: str, name: str) -> list[tuple[str, str]]:
        """The (table, entry) of queues and groups of the port that name an entry of `table`."""
        return [
            (by, entry)
            for by in NUMBERED
            for entry, values in self.tables.get(by, {}).items()
            if self.of_port(by, entry)
            and any(target == table and values.get(key) == name for key, target in REFERENCES[by].items())
        ]

    def lossless(self) -> tuple[int, ...]:
        """The queues with PFC."""
        return self._of_priorities("pfc_enable") or self.assumed_lossless()

    def assumed_lossless(self) -> tuple[int, ...]:
        """The groups with headroom, where PORT_QOS_MAP is not at hand, which would turn PFC on."""
        if self.tables.get("PORT_QOS_MAP"):
            return ()
        profiles = self.tables.get("BUFFER_PROFILE", {})
        return tuple(
            sorted(
                {
                    group
                    for entry, values in self.tables.get("BUFFER_PG", {}).items()
                    if self.of_port("BUFFER_PG", entry)
                    and profiles.get(values.get("profile", ""), {}).get("xoff")
                    for group in numbers_of("BUFFER_PG", entry)
                }
            )
        )

    def watchdog(self, queue: int | None) -> Entry:
        """The PFC watchdog of a queue with PFC; empty without one.

        It watches the priorities of pfcwd_sw_enable, or all with PFC in releases that lack this field.
        """
        watched = self._of_priorities("pfcwd_sw_enable")
        if queue not in (self.lossless() if watched is None else watched):
            return {}
        entries = {
            f"PFC_WD.{entry}.{key}": (key, value)
            for entry, fields in self.tables.get("PFC_WD", {}).items()
            if entry != POLLING and self.of_port("PFC_WD", entry)
            for key, value in fields.items()
        }
        found: Entry = {}
        for key in ("action", "detection_time", "restoration_time"):
            values = {place: value for place, (name, value) in entries.items() if name == key}
            value = agreed(values, "the same watchdog at all ports; --port NAME chooses")
            if value is not None:
                found[key] = value
        return found

    def _of_priorities(self, field: str) -> tuple[int, ...] | None:
        """The queues of the priorities in a field of PORT_QOS_MAP; None where no port has it."""
        expected = "the same priorities at all ports; --port NAME chooses"
        priorities: tuple[int, ...] | None = agreed(self._of_ports(field), expected)
        if priorities is None:
            return None
        queue_of = self.map("pfc_to_queue_map")
        return tuple(sorted({queue_of.get(priority, priority) for priority in priorities}))

    def groups(self, queue: int) -> set[int]:
        """The priority groups whose packets leave through a queue."""
        queue_of, group_of = self.map("tc_to_queue_map"), self.map("tc_to_pg_map")
        classes = {of for of in range(TRAFFIC_CLASSES) if queue_of.get(of, of) == queue}
        return {group_of.get(of, of) for of in classes}

    def dscp(self) -> dict[int, int]:
        """The queue of the packets of each DSCP; empty without a map."""
        queue_of = self.map("tc_to_queue_map")
        return {dscp: queue_of.get(of, of) for dscp, of in self.map("dscp_to_tc_map").items()}

    def map(self, field: str) -> dict[int, int]:
        """A map that PORT_QOS_MAP names; empty without one."""
        name = agreed(self._of_ports(field), "the same map at all ports; --port NAME chooses")
        if name is None or name not in self.tables.get(MAPS[field], {}):
            return {}
        return {int(key): value for key, value in self.named(MAPS[field], name).items()}

    def _of_ports(self, field: str) -> dict[str, Any]:
        return {
            f"PORT_QOS_MAP.{entry}.{field}": fields[field]
            for entry, fields in self.tables.get("PORT_QOS_MAP", {}).items()
            if field in fields and self.of_port("PORT_QOS_MAP", entry)
        }


class PortsDifferError(ScenarioError):
    """Two ports, or two entries of one, have different values for the same setting."""


def agreed(found: Mapping[str, object], expected: str) -> Any:
    """The one value of several keys, or None. Raises `PortsDifferError` where they differ."""
    first = next(iter(found.values()), None)
    for key, value in found.items():
        if value != first:
            raise PortsDifferError(key, value, f"{expected}: {next(iter(found))} = {first}")
    return first

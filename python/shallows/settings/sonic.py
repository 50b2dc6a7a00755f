"""Translates SONiC's queue and buffer settings into parts of a scenario.

A scenario has one setting for all switch ports. Where the ports of a configuration differ, `port` chooses.
Queues whose settings differ become `[[classes]]` and `[[pools]]`; `queue` chooses one that stands for all,
in `[network]`.

| SONiC | a class, or `[network]` |
|---|---|
| WRED_PROFILE of the queue | `marking`: `red`, or `step` where both thresholds are equal |
| PORT_QOS_MAP.pfc_enable | `pfc` |
| BUFFER_PROFILE of the group of a lossless queue | `pfc`: headroom, hysteresis, threshold (static_th) |
| its dynamic_th, and size of its BUFFER_POOL | `shared` or a pool: alpha = 2^dynamic_th, size |
| PFC_WD of the port, by pfcwd_sw_enable | `pfc`: watchdog (detection_time), restoration |
| BUFFER_PROFILE of another queue | `buffer` (static_th), or `shared` or a pool (dynamic_th) |
| SCHEDULER | `weight`, and the order of the classes |
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shallows.errors import ScenarioError
from shallows.settings.config_db import (
    COLOURS,
    DETECTION,
    ECN,
    POWER,
    SHOWN,
    Config,
    Entry,
    ecn_fields,
    numbers_of,
    read,
)
from shallows.settings.fragment import Fragment
from shallows.settings.port_tables import LOOKUP
from shallows.settings.sonic_queues import MOST_CLASSES, POLLING, PortsDifferError, Queues, agreed
from shallows.units import RATE, SIZE, TIME

HYSTERESIS = 3_000
"""Bytes below the threshold at which a pause ends where no xon_offset says it: two frames of 1500 B."""
LOSSLESS_POOL = "ingress_lossless_pool"
"""The pool of the profiles that SONiC makes of `pg_profile_lookup.ini`."""
PS_PER_MS = 10**9
PS_PER_METRE = 5_000
"""Propagation in fibre: two thirds of the speed of light in vacuum."""


def fragment(paths: Path | Sequence[Path], port: str | None = None, queue: int | None = None) -> Fragment:
    """The part of a scenario that files of one switch express.

    Raises `ScenarioError` with the path of a key.
    """
    files = [paths] if isinstance(paths, Path) else paths
    config = read(files)
    try:
        return translated(config, port, queue)
    except ScenarioError as error:
        raise error.in_file(" and ".join(map(str, files))) from None


def translated(
    config: Config, port: str | None = None, queue: int | None = None, *, classes: bool = False
) -> Fragment:
    """The same of tables that are at hand; with `classes` as classes even if all queues are alike.

    Without `port`, where ports differ, one of the largest number of ports that are alike stands for all.
    """
    queues = Queues(config.tables, port)
    alike = queues.alike() if port is None else []
    try:
        found = _Translation(config, queues, queue, classes).fragment()
    except PortsDifferError:
        if len(alike) < 2:
            raise
        port = alike[0][0]
        found = _Translation(config, Queues(config.tables, port), queue, classes).fragment()
    if len(alike) < 2:
        return found
    others = [name for group in alike[1:] for name in group]
    shown = ", ".join(others[:SHOWN]) + (f" and {len(others) - SHOWN} more" if len(others) > SHOWN else "")
    how = f"{port} stands for all" if port else f"what one of them or {alike[0][0]} lacks is that of others"
    sentence = f"ports {shown}, which differ: {how}; --port NAME chooses another"
    return replace(found, not_expressed=(sentence, *found.not_expressed))


@dataclass(frozen=True)
class _Queue:
    """Settings of a queue: tables of a class without name and weight, the pool of `shared`, the scheduler."""

    marking: dict[str, object] | None
    memory: dict[str, Any]
    pool: str | None
    scheduler: str | None


@dataclass
class _Translation:
    """One configuration on its way into a scenario: what was found, and what is to be said of it."""

    config: Config
    queues: Queues
    queue: int | None
    classes: bool
    assumed: list[str] = field(default_factory=list[str])
    left: list[str] = field(default_factory=list[str])

    def fragment(self) -> Fragment:
        numbers = self.queues.configured()
        if assumed := self.queues.assumed_lossless():
            self.assumed.append(
                f"PFC is on for priority groups {_listed(assumed)}: their BUFFER_PG names a profile with "
                "xoff, and these files have no PORT_QOS_MAP"
            )
        beyond = [number for number in numbers if number >= MOST_CLASSES]
        if beyond:
            self.left.append(f"queues {_listed(beyond)}: a scenario has at most {MOST_CLASSES} classes")
        chosen = [number for number in numbers if number < MOST_CLASSES] or [None]
        if self.queue is not None:
            others = [str(number) for number in numbers if number != self.queue]
            if others:
                self.left.append(f"queues {', '.join(others)}: --queue {self.queue} stands for all")
            chosen = [self.queue]
        found = {number: self._of_queue(number) for number in chosen}
        first = next(iter(found.values()))
        alike = all(one == first for one in found.values())
        tables = self._network(first) if alike and not self.classes else self._classes(found)
        self._name_links()
        self._name_the_rest(alike)
        if not tables or not any(tables.values()):
            expected = "at least one of WRED_PROFILE, PORT_QOS_MAP.pfc_enable, BUFFER_PG, BUFFER_QUEUE"
            raise ScenarioError(None, None, f"{expected}: nothing here sets queues or buffers")
        return Fragment(tables, tuple(dict.fromkeys(self.assumed)), tuple(dict.fromkeys(self.left)))

    def _of_queue(self, number: int | None) -> _Queue:
        numbers = () if number is None else (number,)
        marking = self._marking(numbers)
        scheduler = self.queues.name("QUEUE", "scheduler", numbers)
        if number in self.queues.lossless():
            memory, pool = self._lossless_buffers(number)
            memory["pfc"] |= self._watchdog(number)
        else:
            memory, pool = self._lossy_buffers(numbers)
        return _Queue(marking, memory, pool, scheduler)

    def _network(self, one: _Queue) -> dict[str, object]:
        marking = {"marking": one.marking} if one.marking else {}
        return {"network": {**marking, **one.memory}}

    def _classes(self, found: dict[int | None, _Queue]) -> dict[str, object]:
        """`[[classes]]` by priority, and the `[[pools]]` that they use."""
        pools: dict[str, dict[str, object]] = {}
        classes: list[dict[str, object]] = []
        for number, weight in self._by_priority(found):
            one = found[number]
            memory = dict(one.memory)
            shared = memory.pop("shared", None)
            table: dict[str, object] = {"name": f"queue-{number}"}
            if weight is not None:
                table["weight"] = weight
            table |= {"marking": one.marking or "none", **memory}
            if shared and one.pool:
                table["pool"] = one.pool
                self._pool(pools, one.pool, shared)
            elif not memory:
                self.assumed.append(
                    f"queue {number} has the network's buffer: no BUFFER_QUEUE names a profile"
                )
            classes.append(table)
        return {"classes": classes, "pools": list(pools.values())} if pools else {"classes": classes}

    def _pool(self, pools: dict[str, dict[str, object]], name: str, shared: dict[str, object]) -> None:
        pool = pools.setdefault(name, {"name": name, **shared})
        if pool["alpha"] != shared["alpha"]:
            self.left.append(
                f"BUFFER_POOL.{name}: another alpha of {shared['alpha']:g}: a pool has one, {pool['alpha']:g}"
            )

    def _by_priority(self, found: dict[int | None, _Queue]) -> list[tuple[int, int | None]]:
        """Queues with their weights: those of strict priority, of higher numbers first, before the others."""
        strict, shared = list[tuple[int, int | None]](), list[tuple[int, int | None]]()
        for number, one in sorted(found.items(), reverse=True, key=lambda pair: pair[0] or 0):
            assert number is not None
            tables = self.queues.tables
            known = one.scheduler is not None and one.scheduler in tables.get("SCHEDULER", {})
            fields = self.queues.named("SCHEDULER", one.scheduler) if known and one.scheduler else {}
            if fields.get("type") == "STRICT":
                strict.append((number, None))
                continue
            if not known:
                self.assumed.append(f"queue {number} has a weight of 1: it has no SCHEDULER")
            if fields.get("type") == "WRR":
                self.left.append(
                    f"SCHEDULER.{one.scheduler}.type = WRR: weights here count bytes, not packets"
                )
            shared.append((number, fields.get("weight", 1)))
        return strict + shared

    def _marking(self, numbers: tuple[int, ...]) -> dict[str, object] | None:
        profile = self._profile_name(numbers)
        if profile is None:
            return None
        key, fields = f"WRED_PROFILE.{profile}", self.queues.named("WRED_PROFILE", profile)
        marked = ECN[fields.get("ecn", "ecn_none")]
        dropped = [colour for colour in COLOURS if fields.get(f"wred_{colour}_enable")]
        if not marked and not dropped:
            self.left.append(f"{key}.ecn = ecn_none: its queues do not mark")
            return None
        acting = marked or dropped
        for colour in dropped if marked else ():
            if colour not in marked:
                self.left.append(f"{key}.wred_{colour}_enable: WRED drops {colour} packets early")
        if marked:
            fields = self._of_ecn(key, fields)
        kmin, kmax, percent = _thresholds(key, fields, acting[0])
        others = [colour for colour in acting[1:] if _differs(fields, colour, acting[0])]
        if others:
            self.left.append(
                f"{key}: thresholds of {' and '.join(others)} packets; {acting[0]} stands for all"
            )
        self.assumed.append("ports mark by the queue that a packet leaves behind, without averaging")
        ecn = {} if marked else {"ecn": False}
        if marked and marked[0] not in dropped:
            ecn = {"nodrop": True}
        if kmin == kmax or percent == 0:
            return {"kind": "step", "threshold": SIZE.text(kmax), "at": "dequeue", **ecn}
        red = {"kmin": SIZE.text(kmin), "kmax": SIZE.text(kmax), "pmax": percent / 100}
        return {"kind": "red", **red, "at": "dequeue", **ecn}

    def _of_ecn(self, key: str, fields: Entry) -> Entry:
        """The fields with thresholds of their own for ECN-capable packets in place of those of all."""
        found = dict(fields)
        for colour in COLOURS:
            for name in ("min_threshold", "max_threshold", "probability"):
                own = [other for other in ecn_fields(colour, name) if other in fields]
                common = f"{colour}_drop_probability" if name == "probability" else f"{colour}_{name}"
                if own and common in fields:
                    self.left.append(f"{key}.{common}: of packets without ECN; {own[0]} marks")
                if len({fields[other] for other in own}) > 1:
                    self.left.append(f"{key}.{', '.join(own[1:])}: {own[0]} counts")
                if own:
                    found[common] = fields[own[0]]
        return found

    def _profile_name(self, numbers: tuple[int, ...]) -> str | None:
        """The WRED profile of a queue, or the only one if no queue names a profile."""
        tables = self.queues.tables
        profiles = tables.get("WRED_PROFILE", {})
        named = any("wred_profile" in fields for fields in tables.get("QUEUE", {}).values())
        if not named and self.queue is None and len(profiles) == 1:
            name = next(iter(profiles))
            self.assumed.append(f"all queues use WRED_PROFILE.{name}, which no entry of QUEUE names")
            return name
        return self.queues.name("QUEUE", "wred_profile", numbers)

    def _lossless_buffers(self, queue: int | None) -> tuple[dict[str, Any], str | None]:
        name = self.queues.name(
            "BUFFER_PG", "profile", self.queues.groups(queue) if queue is not None else ()
        )
        found = self._looked_up() if name is None else None
        if name is not None:
            found = f"BUFFER_PROFILE.{name}", self.queues.named("BUFFER_PROFILE", name)
        if found is None:
            self.assumed.append("headroom is what each link needs: no BUFFER_PG names a profile")
            self._assume_threshold("no BUFFER_PG names a profile")
            return {"pfc": {"headroom": "auto"}}, None
        key, profile = found
        pfc: dict[str, object] = {}
        if "xoff" in profile:
            pfc["headroom"] = SIZE.text(profile["xoff"])
        else:
            self.assumed.append(f"headroom is what each link needs: {key} has no xoff")
        if profile.get("size"):
            self.left.append(f"{key}.size: {SIZE.text(profile['size'])} reserved for each priority group")
        shared = self._shared(key, profile)
        if not shared and (name is not None or "static_th" in profile):
            pfc["threshold"] = SIZE.text(_positive(key, profile, "static_th"))
        elif not shared:
            self._assume_threshold(f"{key} has none whose meaning is known")
        if "xon_offset" in profile:
            pfc["hysteresis"] = SIZE.text(max(1, profile["xon_offset"]))
            if not profile["xon_offset"]:
                self.left.append(f"{key}.xon_offset = 0: a pause ends 1 B below its threshold")
        elif "static_th" in profile and profile.get("xon", 0) < profile["static_th"]:
            pfc["hysteresis"] = SIZE.text(profile["static_th"] - profile.get("xon", 0))
        else:
            pfc["hysteresis"] = SIZE.text(HYSTERESIS)
            self.assumed.append(
                f"a pause ends {SIZE.text(HYSTERESIS)} below its threshold: {key} has no xon_offset"
            )
        if profile.get("xon") and (shared or "xon_offset" in profile):
            self.left.append(f"{key}.xon: a pause also ends below {SIZE.text(profile['xon'])}")
        return {"pfc": pfc, **shared}, profile.get("pool")

    def _assume_threshold(self, why: str) -> None:
        self.assumed.append(
            "the pause threshold is the scenario's, by default 100 KB or 2.5 KB per Gbps, not the switch's: "
            f"{why}"
        )

    def _watchdog(self, queue: int | None) -> dict[str, str]:
        """The keys of a PFC watchdog, which here drops the data of the class."""
        fields = self.queues.watchdog(queue)
        action = fields.get("action", "drop")
        if action != "drop":
            self.left.append(f"PFC_WD.action = {action}: the watchdog of a scenario drops")
            return {}
        names = {"detection_time": "watchdog", "restoration_time": "restoration"}
        found = {key: TIME.text(fields[name] * PS_PER_MS) for name, key in names.items() if name in fields}
        if found and "watchdog" not in found:
            raise ScenarioError("PFC_WD.detection_time", None, f"{DETECTION.expected}; it is missing")
        if found and "restoration" not in found:
            self.assumed.append("restoration is as long as detection_time: PFC_WD has no restoration_time")
        return found

    def _looked_up(self) -> tuple[str, Entry] | None:
        """The row of `pg_profile_lookup.ini` for the speed and the cable of the port, as a profile."""
        tables = self.queues.tables
        rows = tables.get(LOOKUP)
        if not rows:
            return None
        lengths = {
            port: metres for of in tables.get("CABLE_LENGTH", {}).values() for port, metres in of.items()
        }
        ports = {port: of["speed"] for port, of in tables.get("PORT", {}).items() if "speed" in of}
        wanted = {
            f"PORT.{port}, CABLE_LENGTH": f"{speed}|{lengths[port]:g}"
            for port, speed in ports.items()
            if self._is(port) and port in lengths
        }
        place = agreed(wanted, "the same speed and cable at all ports; --port NAME chooses")
        if place is None and len(rows) == 1:
            place = next(iter(rows))
        if place not in rows:
            why = f"no row for {place}" if place else "PORT.speed and CABLE_LENGTH of the port choose a row"
            self.left.append(f"{LOOKUP}: {why}")
            return None
        pool = next((name for name in tables.get("BUFFER_POOL", {}) if name == LOSSLESS_POOL), None)
        profile = {key: value for key, value in rows[place].items() if key != "threshold"}
        mode = tables["BUFFER_POOL"][pool].get("mode") if pool else None
        threshold = rows[place].get("threshold")
        in_bytes = threshold is not None and threshold > POWER.most
        if in_bytes:
            profile["static_th"] = threshold
            if mode == "dynamic":
                self.assumed.append(
                    f"{LOOKUP}.{place}.threshold = {threshold} is in bytes, though the mode of "
                    f"BUFFER_POOL.{pool} is dynamic: as an exponent it would exceed {POWER.most}"
                )
        elif threshold is not None and mode:
            profile["dynamic_th" if mode == "dynamic" else "static_th"] = threshold
        elif "threshold" in rows[place]:
            self.left.append(f"{LOOKUP}.threshold: its meaning depends on BUFFER_POOL.{LOSSLESS_POOL}.mode")
        return f"{LOOKUP}.{place}", profile | ({"pool": pool} if pool else {})

    def _lossy_buffers(self, numbers: tuple[int, ...]) -> tuple[dict[str, Any], str | None]:
        name = self.queues.name("BUFFER_QUEUE", "profile", numbers)
        if name is None:
            return {}, None
        key, profile = f"BUFFER_PROFILE.{name}", self.queues.named("BUFFER_PROFILE", name)
        if profile.get("packet_discard_action") == "trim":
            self.left.append(f"{key}.packet_discard_action = trim: write network.trimming, without shared")
        if profile.get("size"):
            self.left.append(f"{key}.size: {SIZE.text(profile['size'])} reserved for each queue")
        shared = self._shared(key, profile)
        if shared:
            return shared, profile.get("pool")
        return {"buffer": SIZE.text(_positive(key, profile, "static_th"))}, None

    def _shared(self, key: str, profile: Entry) -> dict[str, object]:
        """`shared` of a profile with a dynamic threshold; nothing of one with a static threshold."""
        if "dynamic_th" in profile and "static_th" in profile:
            expected = "either dynamic_th or static_th, not both"
            raise ScenarioError(f"{key}.dynamic_th", profile["dynamic_th"], expected)
        if "dynamic_th" not in profile:
            return {}
        pool = profile.get("pool")
        if pool is None:
            raise ScenarioError(f"{key}.pool", None, "the name of its BUFFER_POOL; it is missing")
        fields = self.queues.named("BUFFER_POOL", pool)
        if "size" in fields:
            size = {"size": SIZE.text(_positive(f"BUFFER_POOL.{pool}", fields, "size"))}
        else:
            size = {}
            self.assumed.append(
                f"BUFFER_POOL.{pool} has the default size: it has none in SONiC's dynamic buffer model"
            )
        if fields.get("xoff"):
            self.assumed.append(
                f"headroom of {SIZE.text(fields['xoff'])} that ports share (BUFFER_POOL.{pool}.xoff) is "
                "large enough for all of them: here each link has its own"
            )
        return {"shared": {**size, "alpha": 2.0 ** profile["dynamic_th"]}}

    def _name_links(self) -> None:
        """Rates and lengths belong to the topology, which only the user's scenario knows."""
        tables = self.queues.tables
        ports = tables.get("PORT", {})
        speeds = {fields["speed"] for port, fields in ports.items() if "speed" in fields and self._is(port)}
        if speeds:
            texts = ", ".join(RATE.text(speed * 10**6) for speed in sorted(speeds))
            self.left.append(f"PORT.speed: give the topology links of {texts}")
        cables = tables.get("CABLE_LENGTH", {}).values()
        lengths = {metres for cable in cables for port, metres in cable.items() if self._is(port)} - {0.0}
        if lengths:
            delays = ", ".join(
                f"{TIME.text(round(metres * PS_PER_METRE))} ({metres:g} m)" for metres in sorted(lengths)
            )
            self.left.append(f"CABLE_LENGTH: give the topology links of {delays}, at 5 ns per metre")

    def _is(self, port: str) -> bool:
        return self.queues.port in (None, port)

    def _name_the_rest(self, alike: bool) -> None:
        by_queue: dict[int, list[int]] = {}
        for dscp, number in self.queues.dscp().items():
            by_queue.setdefault(number, []).append(dscp)
        for number, dscps in sorted(by_queue.items()) if not alike or self.classes else ():
            self.left.append(
                f"DSCP_TO_TC_MAP: packets of DSCP {_listed(sorted(dscps))} belong to queue-{number}: "
                "write it as class of their traffic"
            )
        for table, names in self.queues.unused():
            by_reason: dict[str, list[str]] = {}
            for name in names:
                by_reason.setdefault(self._why_unused(table, name), []).append(name)
            self.left += [f"{table}: {', '.join(of)}: {reason}" for reason, of in by_reason.items()]
        tables = self.queues.tables
        watchdogs = tables.get("PFC_WD", {})
        watched = any(fields.get("pfcwd_sw_enable") for fields in tables.get("PORT_QOS_MAP", {}).values())
        if watched and not set(watchdogs) - {POLLING}:
            self.left.append("PORT_QOS_MAP.pfcwd_sw_enable: no port has times in PFC_WD")
        if POLLING in watchdogs:
            self.left.append(f"PFC_WD.{POLLING}: a watchdog acts at its time, without polling")
        if tables.get("SWITCH_TRIMMING"):
            self.left.append("SWITCH_TRIMMING: the size of trimmed packets: 64 B here")
        self.left += self.config.unknown

    def _why_unused(self, table: str, name: str) -> str:
        """Why no queue has the settings of an entry."""
        lossless = self.queues.lossless()
        for by, entry in self.queues.users(table, name):
            lossy = [number for number in numbers_of(by, entry) if number not in lossless]
            if by == "BUFFER_QUEUE" and not lossy:
                return f"{by}.{entry} names it: the limit of a lossless queue is that of its input"
            if by == "BUFFER_PG" and lossy and "xoff" in self.queues.tables[table][name]:
                reason = f"pfc_enable of PORT_QOS_MAP does not have {_listed(lossy)}"
                return f"{by}.{entry} names it, but PFC is off: {reason}"
            if by == "BUFFER_PG" and lossy:
                return f"{by}.{entry} names it: a lossy queue has no limit at its input"
        return "none of these queues uses it"


def _listed(numbers: Sequence[int]) -> str:
    """Numbers in ascending order as ranges: "0-2, 8"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _thresholds(key: str, fields: Entry, colour: str) -> tuple[int, int, int]:
    """kmin and kmax in bytes and pmax in per cent of one colour."""
    for bound in ("min", "max"):
        if f"{colour}_{bound}_threshold" not in fields:
            name, mode = f"{key}.{colour}_{bound}_threshold", fields.get("ecn", "ecn_none")
            expected = f"a threshold in bytes, because WRED acts on {colour} packets (ecn = {mode})"
            raise ScenarioError(name, None, expected)
    kmin, kmax = (fields[f"{colour}_{bound}_threshold"] for bound in ("min", "max"))
    if kmax < kmin:
        expected = f"at least {colour}_min_threshold, {kmin}"
        raise ScenarioError(f"{key}.{colour}_max_threshold", kmax, expected)
    if kmax == 0:
        raise ScenarioError(
            f"{key}.{colour}_max_threshold", kmax, "more than 0: every packet would be marked"
        )
    return kmin, kmax, fields.get(f"{colour}_drop_probability", 100)


def _differs(fields: Entry, colour: str, reference: str) -> bool:
    names = ("min_threshold", "max_threshold", "drop_probability")
    return any(fields.get(f"{colour}_{name}") != fields.get(f"{reference}_{name}") for name in names)


def _positive(key: str, fields: Entry, name: str) -> int:
    value = fields.get(name)
    if not value or value < 0:
        raise ScenarioError(
            f"{key}.{name}", value, "bytes, a number above 0" + ("; it is missing" * (value is None))
        )
    return value

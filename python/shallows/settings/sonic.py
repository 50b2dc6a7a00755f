"""Translates SONiC's queue and buffer settings into `[network]` of a scenario.

A scenario has one setting for all switch ports. Where the ports of a configuration differ, `port` or
`queue` chooses.

| SONiC | `[network]` |
|---|---|
| WRED_PROFILE of the lossless queues | `marking`: `red`, or `step` where both thresholds are equal |
| PORT_QOS_MAP.pfc_enable | `pfc` |
| BUFFER_PROFILE of the lossless priority groups | `pfc`: headroom, hysteresis, threshold (static_th) |
| its dynamic_th, and size of its BUFFER_POOL | `shared`: alpha = 2^dynamic_th, size |
| without pfc_enable, BUFFER_PROFILE of the queues | `buffer` (static_th), or `shared` (dynamic_th) |
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shallows.errors import ScenarioError
from shallows.settings.config_db import COLOURS, ECN, Entry, Tables, numbers_of, ports_of, read
from shallows.settings.fragment import Fragment
from shallows.units import RATE, SIZE, TIME

HYSTERESIS = 3_000
"""Bytes below the threshold at which a pause ends where no xon_offset says it: two frames of 1500 B."""
PS_PER_METRE = 5_000
"""Propagation in fibre: two thirds of the speed of light in vacuum."""


def fragment(path: Path, port: str | None = None, queue: int | None = None) -> Fragment:
    """`[network]` as the config_db.json at `path` sets it. Raises `ScenarioError` with the path of a key."""
    try:
        return _Translation(read(path), port, queue).fragment()
    except ScenarioError as error:
        raise error.in_file(path) from None


@dataclass
class _Translation:
    """One configuration on its way into a scenario: what was found, and what is to be said of it."""

    tables: Tables
    port: str | None
    queue: int | None
    assumed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def fragment(self) -> Fragment:
        network: dict[str, Any] = {}
        lossless = self._lossless()
        marking = self._marking(lossless)
        if marking:
            network["marking"] = marking
        network |= self._lossless_buffers(lossless) if lossless else self._lossy_buffers()
        self._name_links()
        self._name_the_rest()
        if not network:
            expected = "at least one of WRED_PROFILE, PORT_QOS_MAP.pfc_enable, BUFFER_PG, BUFFER_QUEUE"
            raise ScenarioError(None, None, f"{expected}: nothing here sets queues or buffers")
        return Fragment({"network": network}, tuple(self.assumed), tuple(self.left))

    def _of_port(self, table: str, entry: str) -> bool:
        """Whether an entry is about the chosen port, and not about a port that others stand for."""
        return self.port is None or self.port in ports_of(table, entry)

    def _lossless(self) -> tuple[int, ...]:
        """The priorities with PFC; the same as their queues and priority groups unless maps say otherwise."""
        enabled = {
            f"PORT_QOS_MAP.{entry}.pfc_enable": fields["pfc_enable"]
            for entry, fields in self.tables.get("PORT_QOS_MAP", {}).items()
            if "pfc_enable" in fields and self._of_port("PORT_QOS_MAP", entry)
        }
        return self._one(enabled, "the same priorities at all ports") or ()

    def _marking(self, lossless: tuple[int, ...]) -> dict[str, Any] | None:
        profile = self._profile_name(lossless)
        if profile is None:
            return None
        key, fields = f"WRED_PROFILE.{profile}", self.tables["WRED_PROFILE"][profile]
        marked = ECN[fields.get("ecn", "ecn_none")]
        for colour in COLOURS:
            if fields.get(f"wred_{colour}_enable") and colour not in marked:
                self.left.append(f"{key}.wred_{colour}_enable: WRED drops {colour} packets early")
        if not marked:
            self.left.append(f"{key}.ecn = ecn_none: its queues do not mark")
            return None
        chosen = {_thresholds(key, fields, colour) for colour in marked[:1]}.pop()
        others = [colour for colour in marked[1:] if _differs(fields, colour, marked[0])]
        if others:
            self.left.append(
                f"{key}: thresholds of {' and '.join(others)} packets; {marked[0]} stands for all"
            )
        kmin, kmax, percent = chosen
        self.assumed.append("ports mark by the queue that a packet leaves behind, without averaging")
        if kmin == kmax:
            return {"kind": "step", "threshold": SIZE.text(kmin), "at": "dequeue"}
        red = {"kmin": SIZE.text(kmin), "kmax": SIZE.text(kmax), "pmax": percent / 100}
        return {"kind": "red", **red, "at": "dequeue"}

    def _profile_name(self, lossless: tuple[int, ...]) -> str | None:
        """The WRED profile of the chosen queue, or of the lossless queues, or of all."""
        used: dict[str, str] = {}
        for entry, fields in self.tables.get("QUEUE", {}).items():
            numbers = numbers_of("QUEUE", entry)
            wanted = (self.queue,) if self.queue is not None else lossless
            if not self._of_port("QUEUE", entry) or (wanted and not set(wanted) & set(numbers)):
                continue
            if "wred_profile" in fields:
                used[f"QUEUE.{entry}.wred_profile"] = fields["wred_profile"]
        profiles = self.tables.get("WRED_PROFILE", {})
        if not used and self.queue is None and len(profiles) == 1:
            name = next(iter(profiles))
            self.assumed.append(f"all queues use WRED_PROFILE.{name}, which no entry of QUEUE names")
            return name
        return self._one(used, "one WRED profile; --queue N or --port NAME chooses")

    def _lossless_buffers(self, lossless: tuple[int, ...]) -> dict[str, Any]:
        key, profile = self._buffer_profile("BUFFER_PG", lossless)
        if profile is None:
            self.assumed.append("headroom is what each link needs: no BUFFER_PG names a profile")
            return {"pfc": {"headroom": "auto"}}
        pfc: dict[str, Any] = {}
        if "xoff" in profile:
            pfc["headroom"] = SIZE.text(profile["xoff"])
        else:
            self.assumed.append(f"headroom is what each link needs: {key} has no xoff")
        if profile.get("size"):
            self.left.append(f"{key}.size: {SIZE.text(profile['size'])} reserved for each priority group")
        network = self._shared(key, profile)
        if not network:
            pfc["threshold"] = SIZE.text(_positive(key, profile, "static_th"))
        if "xon_offset" in profile:
            pfc["hysteresis"] = SIZE.text(max(1, profile["xon_offset"]))
        elif "static_th" in profile and profile.get("xon", 0) < profile["static_th"]:
            pfc["hysteresis"] = SIZE.text(profile["static_th"] - profile.get("xon", 0))
        else:
            pfc["hysteresis"] = SIZE.text(HYSTERESIS)
            self.assumed.append(
                f"a pause ends {SIZE.text(HYSTERESIS)} below its threshold: {key} has no xon_offset"
            )
        if network and profile.get("xon"):
            self.left.append(f"{key}.xon: a pause also ends below {SIZE.text(profile['xon'])}")
        return {"pfc": pfc, **network}

    def _lossy_buffers(self) -> dict[str, Any]:
        queues = (self.queue,) if self.queue is not None else ()
        key, profile = self._buffer_profile("BUFFER_QUEUE", queues)
        if profile is None:
            return {}
        if profile.get("packet_discard_action") == "trim":
            self.left.append(f"{key}.packet_discard_action = trim: write network.trimming, without shared")
        network = self._shared(key, profile)
        return network or {"buffer": SIZE.text(_positive(key, profile, "static_th"))}

    def _shared(self, key: str, profile: Entry) -> dict[str, Any]:
        """`network.shared` of a profile with a dynamic threshold; nothing of one with a static threshold."""
        if "dynamic_th" in profile and "static_th" in profile:
            expected = "either dynamic_th or static_th, not both"
            raise ScenarioError(f"{key}.dynamic_th", profile["dynamic_th"], expected)
        if "dynamic_th" not in profile:
            return {}
        pool = profile.get("pool")
        if pool is None:
            raise ScenarioError(f"{key}.pool", None, "the name of its BUFFER_POOL; it is missing")
        fields = self.tables["BUFFER_POOL"][pool]
        size = _positive(f"BUFFER_POOL.{pool}", fields, "size")
        if fields.get("xoff"):
            self.assumed.append(
                f"headroom of {SIZE.text(fields['xoff'])} that ports share (BUFFER_POOL.{pool}.xoff) is "
                "large enough for all of them: here each link has its own"
            )
        return {"shared": {"size": SIZE.text(size), "alpha": 2.0 ** profile["dynamic_th"]}}

    def _buffer_profile(self, table: str, numbers: tuple[int, ...]) -> tuple[str, Entry | None]:
        used: dict[str, str] = {}
        for entry, fields in self.tables.get(table, {}).items():
            matches = not numbers or set(numbers) & set(numbers_of(table, entry))
            if matches and self._of_port(table, entry) and fields.get("profile", "NULL") != "NULL":
                used[f"{table}.{entry}.profile"] = fields["profile"]
        name = self._one(used, "one buffer profile; --port NAME chooses")
        return (f"BUFFER_PROFILE.{name}", self.tables["BUFFER_PROFILE"][name]) if name else ("", None)

    def _one(self, found: dict[str, Any], expected: str) -> Any:
        """The one value of several keys, or None. Raises `ScenarioError` where they differ."""
        first = next(iter(found.values()), None)
        for key, value in found.items():
            if value != first:
                raise ScenarioError(key, value, f"{expected}: {next(iter(found))} = {first}")
        return first

    def _name_links(self) -> None:
        """Rates and lengths belong to the topology, which only the user's scenario knows."""
        ports = self.tables.get("PORT", {})
        speeds = {fields["speed"] for port, fields in ports.items() if "speed" in fields and self._is(port)}
        if speeds:
            texts = ", ".join(RATE.text(speed * 10**6) for speed in sorted(speeds))
            self.left.append(f"PORT.speed: give the topology links of {texts}")
        cables = self.tables.get("CABLE_LENGTH", {}).values()
        lengths = {metres for cable in cables for port, metres in cable.items() if self._is(port)} - {0.0}
        if lengths:
            delays = ", ".join(
                f"{TIME.text(round(metres * PS_PER_METRE))} ({metres:g} m)" for metres in sorted(lengths)
            )
            self.left.append(f"CABLE_LENGTH: give the topology links of {delays}, at 5 ns per metre")

    def _is(self, port: str) -> bool:
        return self.port in (None, port)

    def _name_the_rest(self) -> None:
        rest = {
            "SCHEDULER": "weights of queues: a port here has one class of data",
            "PFC_WD": "the PFC watchdog: a run reports deadlocks instead",
            "SWITCH_TRIMMING": "the size of trimmed packets: 64 B here",
        }
        self.left += [f"{table}: {text}" for table, text in rest.items() if self.tables.get(table)]


def _thresholds(key: str, fields: Entry, colour: str) -> tuple[int, int, int]:
    """kmin and kmax in bytes and pmax in per cent of one colour."""
    for bound in ("min", "max"):
        if f"{colour}_{bound}_threshold" not in fields:
            name, mode = f"{key}.{colour}_{bound}_threshold", fields["ecn"]
            raise ScenarioError(
                name, None, f"a threshold in bytes, because ecn = {mode} marks {colour} packets"
            )
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
    if not value:
        raise ScenarioError(
            f"{key}.{name}", value, "bytes, a number above 0" + ("; it is missing" * (value is None))
        )
    return value

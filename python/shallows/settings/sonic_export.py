"""Translates `[network]` and `[[classes]]` of a scenario into entries of SONiC's config_db.json."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from shallows.errors import ScenarioError
from shallows.scenario.headroom import of_any_link
from shallows.settings import config_db, sonic
from shallows.settings.config_db import (
    BYTES,
    COLOURS,
    DETECTION,
    MAPS,
    PER_CENT,
    POWER,
    RESTORATION,
    WEIGHT,
    Number,
)
from shallows.settings.fragment import Fragment
from shallows.settings.tiers import of_tier
from shallows.settings.writing import Held, Notes, rounded
from shallows.units import NEVER, SIZE, TIME

if TYPE_CHECKING:
    from shallows.algorithms.marking import Marking
    from shallows.scenario import Scenario
    from shallows.scenario.ports import Memory, Queue
    from shallows.scenario.queues import Pauses

NAME, POOL, PROFILE = "SHALLOWS", "shallows_pool", "shallows_profile"
HELD = {
    here: Held(setting, number.expected)
    for here, setting, number in (
        ("threshold", "static_th or green_min_threshold", BYTES),
        ("kmin", "green_min_threshold", BYTES),
        ("kmax", "green_max_threshold", BYTES),
        ("pmax", "green_drop_probability", PER_CENT),
        ("headroom", "xoff", BYTES),
        ("hysteresis", "xon_offset", BYTES),
        ("watchdog", "detection_time", DETECTION),
        ("restoration", "restoration_time", RESTORATION),
        ("buffer", "static_th", BYTES),
        ("size", "size of BUFFER_POOL", BYTES),
        ("alpha", "dynamic_th", POWER),
    )
}
"""By the last part of a key of a scenario, the field that holds it and the values that this can have."""
AVERAGING = {
    "extended": "above kmax a switch marks every packet",
    "gentle": "above kmax a switch marks every packet",
    "uniform": "the distances between marks are the switch's",
    "weight": "the weight of averages is the switch's",
}
"""Parameters of `red` that no field holds, and what a switch does."""


@dataclass(frozen=True, kw_only=True)
class Entries(Notes):
    """Entries to merge into a config_db.json, every value a text, and sentences about what differs."""

    tables: Mapping[str, Mapping[str, Mapping[str, str]]]


def entries(
    scenario: "Scenario",
    ports: Sequence[str] = ("Ethernet0",),
    queues: Sequence[int] = (3,),
    dscp: Sequence[int] = (),
    tier: str | None = None,
    response_ps: int = 0,
) -> Entries:
    """The entries that set `[network]` and `[[classes]]` of `scenario` at these ports and queues.

    queues: also the priorities with PFC and their groups. With classes there is one for each, in their order,
    and one DSCP or none. tier: ports of the scenario whose `[[ports]]` count, such as "spine*->*".
    response_ps: the time in which a NIC acts on a pause, for headroom that the scenario leaves open. Raises
    `ScenarioError` for a key that has to be changed first.
    """
    if tier is not None:
        scenario = of_tier(scenario, tier)
    given = scenario.classes
    if not given:
        queues = sorted(set(queues))
    elif len(set(queues)) != len(queues) or len(queues) != len(given):
        example = ",".join(map(str, range(len(given) - 1, -1, -1)))
        expected = f"a queue of its own for each class, in the order {_names(scenario)}, such as {example}"
        raise ScenarioError("--queues", _text(queues), expected)
    if dscp and (len(set(dscp)) != len(dscp) or len(dscp) != len(given)):
        order = f"in the order {_names(scenario)}" if given else "which this scenario does not have"
        raise ScenarioError("--dscp", _text(dscp), f"a DSCP of its own for each class, {order}")
    export = _Export(scenario, tuple(ports), tuple(queues), tuple(dscp), response_ps)
    written = export.entries()
    if not written.tables:
        return written
    stated = sonic.translated(config_db.from_tables(written.tables), ports[0], classes=bool(given))
    return replace(written, rounded=rounded(scenario, export.renamed(stated), HELD, written))


def _names(scenario: "Scenario") -> str:
    return ", ".join(one.name for one in scenario.classes)


def _text(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


@dataclass(frozen=True)
class _Names:
    """Where a part of the scenario goes: its queues, and the names of its profiles and of its pool."""

    queues: tuple[int, ...]
    wred: str = NAME
    profile: str = PROFILE
    pool: str = POOL


@dataclass
class _Export:
    """One scenario on its way into a configuration."""

    scenario: "Scenario"
    ports: tuple[str, ...]
    queues: tuple[int, ...]
    dscp: tuple[int, ...]
    response_ps: int
    tables: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict[str, dict[str, dict[str, str]]])
    chosen: dict[str, str] = field(default_factory=dict[str, str])
    left: dict[str, str] = field(default_factory=dict[str, str])
    paused: list[int] = field(default_factory=list[int])
    watched: list[int] = field(default_factory=list[int])

    def entries(self) -> Entries:
        network = self.scenario.network
        if self.scenario.classes:
            self._classes()
        else:
            self._network()
        if network.balancing != "flow":
            text = f"network.balancing = {network.balancing}: switches of SONiC hash flows"
            self.left["network.balancing"] = text
        if self.scenario.ports:
            self.left["ports"] = "[[ports]]: --tier writes the settings of such ports"
        if any(table.priority for table in self.scenario.traffic):
            self.left["traffic.priority"] = "traffic.priority: write two [[classes]] instead"
        for used in self.scenario.algorithms:
            if used.credits or used.pacer:
                self.left["cc"] = f"cc = {used.label}: its own queues at ports"
        return Entries(
            tables=self.tables, rounded={}, equivalent={}, chosen=self.chosen, not_expressed=self.left
        )

    def renamed(self, stated: Fragment) -> Fragment:
        """What reading gives, with the scenario's names of classes and pools."""
        if "classes" not in stated.tables:
            return stated
        names = {
            f"queue-{queue}": one.name for one, queue in zip(self.scenario.classes, self.queues, strict=True)
        }
        pools = {f"{POOL}_{at}": one.name for at, one in enumerate(self.scenario.pools)}

        def table(one: Mapping[str, object], known: Mapping[str, str]) -> dict[str, object]:
            pool = {"pool": pools[str(one["pool"])]} if "pool" in one else {}
            return {**one, "name": known[str(one["name"])], **pool}

        tables = {
            "classes": [table(one, names) for one in stated.tables["classes"]],
            "pools": [table(one, pools) for one in stated.tables.get("pools", ())],
        }
        return replace(stated, tables=tables)

    def _network(self) -> None:
        self._queue(self.scenario.queues[0], _Names(self.queues))

    def _queue(self, queue: "Queue", names: _Names) -> None:
        """The marking, memory and pauses of a class."""
        if queue.marks:
            self._marking(f"{queue.key}.marking", queue.marks, names)
        if queue.pauses:
            self._lossless(queue, queue.pauses, names)
        elif queue.memory:
            self._lossy_shared(queue.memory, names)
        elif queue.trimming:
            key = f"{queue.key}.trimming"
            self.left[key] = f"{key}: set SWITCH_TRIMMING and packet_discard_action = trim by hand"
        else:
            self._lossy(f"{queue.key}.buffer", queue.buffer, names)

    def _classes(self) -> None:
        """Each class at its queue. Pools are numbered as in the scenario, profiles as their queues."""
        self._check_order()
        for one, weight, number in zip(self.scenario.queues, self._weights(), self.queues, strict=True):
            pool = f"{POOL}_of_{number}" if one.pool is None else f"{POOL}_{one.pool}"
            names = _Names((number,), f"{NAME}_{number}", f"{PROFILE}_{number}", pool)
            self._queue(one, names)
            fields = {"type": "STRICT"} if weight is None else {"type": "DWRR", "weight": str(weight)}
            self.tables.setdefault("SCHEDULER", {})[names.wred] = fields
            self._at_queues("QUEUE", "scheduler", names.wred, names)
        self._maps()

    def _check_order(self) -> None:
        """Raise `ScenarioError` where SONiC would serve the classes in another order."""
        strict = [number for number, one in enumerate(self.scenario.classes) if one.weight is None]
        for number in strict[len(strict) - 1 :]:
            if number >= len(strict):
                expected = "a weight: SONiC serves STRICT queues before those with weights"
                raise ScenarioError(f"classes[{number}].weight", None, expected)
        queues = [self.queues[number] for number in strict]
        if queues != sorted(queues, reverse=True):
            expected = "descending queues for classes without a weight: SONiC serves higher queues first"
            raise ScenarioError("--queues", _text(self.queues), expected)

    def _weights(self) -> list[int | None]:
        """The weights as they are, or in lowest terms. Raises `ScenarioError` for those out of range."""
        given = [one.weight for one in self.scenario.classes]
        if max((weight or 0 for weight in given), default=0) <= WEIGHT.most:
            return given
        turns = [queue.turn for queue in self.scenario.queues]
        lowest = [None if turn is None else turn // self.scenario.mtu for turn in turns]
        for number, weight in enumerate(lowest):
            if weight and weight > WEIGHT.most:
                expected = (
                    f"at most {WEIGHT.most} times the smallest unit of the group: weight of SCHEDULER is "
                )
                raise ScenarioError(f"classes[{number}].weight", given[number], expected + WEIGHT.expected)
        return lowest

    def _maps(self) -> None:
        """Traffic class, queue, group and priority have the same number."""
        same = {str(number): str(number) for number in range(8)}
        fields = {name: NAME for name in MAPS if name != "dscp_to_tc_map"}
        for name in fields:
            self.tables[MAPS[name]] = {NAME: same}
        if self.dscp:
            pairs = zip(self.dscp, self.queues, strict=True)
            self.tables[MAPS["dscp_to_tc_map"]] = {NAME: {str(dscp): str(queue) for dscp, queue in pairs}}
            fields["dscp_to_tc_map"] = NAME
        else:
            self.left["traffic.class"] = (
                f"traffic.class: map the packets of {_names(self.scenario)} to classes {_text(self.queues)} "
                "with DSCP_TO_TC_MAP, which --dscp writes"
            )
        for port in self.ports:
            self.tables.setdefault("PORT_QOS_MAP", {}).setdefault(port, {}).update(fields)

    def _marking(self, key: str, marking: "Marking", names: _Names) -> None:
        if marking.kind not in ("red", "step"):
            self.left[key] = f"{key}.kind = {marking.kind}: WRED is red, or step"
            return
        if marking.at != "dequeue":
            self.left[f"{key}.at"] = f"{key}.at = {marking.at}: the switch decides where it marks"
        if marking.cells:
            cell = SIZE.text(marking.cells.size)
            self.left[f"{key}.cell"] = f"{key}.cell = {cell}: the memory of a switch has its own cells"
        given = self._of_all_ports(key, marking)
        if marking.kind == "step":
            kmin = kmax = round(given["threshold"])
            percent = 100
        else:
            kmin, kmax = round(given["kmin"]), round(given["kmax"])
            percent = max(1, round(100 * given["pmax"]))  # 0 would be a step at kmax
            defaults = {"weight": 1.0}
            for name, text in AVERAGING.items():
                if given[name] != defaults.get(name, 0.0):
                    self.left[f"{key}.{name}"] = f"{key}.{name} = {given[name]:g}: {text}"
        drops = "false" if given["nodrop"] else "true"
        fields = {"ecn": "ecn_all" if given["ecn"] else "ecn_none"}
        for colour in COLOURS:
            fields |= {
                f"wred_{colour}_enable": drops,
                f"{colour}_min_threshold": str(kmin),
                f"{colour}_max_threshold": str(kmax),
                f"{colour}_drop_probability": str(percent),
            }
        self.tables.setdefault("WRED_PROFILE", {})[names.wred] = fields
        self._at_queues("QUEUE", "wred_profile", names.wred, names)

    def _of_all_ports(self, of: str, marking: "Marking") -> dict[str, float]:
        """The parameters, which are the same for all ports of a switch in this format."""
        network = self.scenario.graph
        points, _ = marking.at_rates(network.rate_bps[~network.is_nic])
        if len(points) > 1:
            key = next(key for key, value in marking.parameters.items() if isinstance(value, dict))
            listed = " and ".join(SIZE.text(round(point["parameters"][key])) for point in points)
            expected = f"one value for all ports: this scenario's ports have {listed}"
            raise ScenarioError(f"{of}.{key}", None, expected)
        return points[0]["parameters"]

    def _lossless(self, queue: "Queue", pfc: "Pauses", names: _Names) -> None:
        """Pauses of a queue, which take their threshold from its memory if there is one."""
        key, memory, xoff = queue.key, queue.memory, pfc.headroom
        if xoff == NEVER:
            xoff = of_any_link(self.scenario.graph, self.scenario.mtu, self.response_ps)
            self.chosen[f"{key}.pfc.headroom"] = (
                f'{key}.pfc.headroom = "auto": {SIZE.text(xoff)}, the largest need of a link, '
                f"{self._response()}"
            )
        elif self.response_ps:
            expected = f'network.pfc.headroom = "auto"; {key}.pfc.headroom is {SIZE.text(xoff)}'
            raise ScenarioError("--nic-response", TIME.text(self.response_ps), expected)
        profile = {"size": "0", "xon": "0", "xoff": str(xoff), "xon_offset": str(pfc.hysteresis)}
        if memory:
            self._pool("ingress", "dynamic", memory.size, names)
            profile["dynamic_th"] = str(_power(memory.alpha))
        else:
            _, threshold = queue.pauses_begin()
            self._pool("ingress", "static", threshold * len(self.ports) * len(names.queues), names)
            profile["static_th"] = str(threshold)
        self._profile("BUFFER_PG", profile, names)
        self.paused += names.queues
        for port in self.ports:
            fields = self.tables.setdefault("PORT_QOS_MAP", {}).setdefault(port, {})
            fields["pfc_enable"] = _text(sorted(self.paused))
        if pfc.watchdog:
            self._watchdog(f"{key}.pfc", pfc.watchdog, pfc.restoration or pfc.watchdog, names)

    def _response(self) -> str:
        """Whether headroom contains the time in which a NIC acts on a pause."""
        if self.response_ps:
            return f"with {TIME.text(self.response_ps)} until a NIC acts on a pause"
        return "without the time until a NIC acts on a pause: add it with --nic-response 3us"

    def _watchdog(self, key: str, detection: int, restoration: int, names: _Names) -> None:
        """The PFC watchdog: its times are those of the port, and each priority is watched or not."""
        fields = {
            "action": "drop",
            "detection_time": _milliseconds(detection, DETECTION),
            "restoration_time": _milliseconds(restoration, RESTORATION),
        }
        self.watched += names.queues
        for port in self.ports:
            if self.tables.setdefault("PFC_WD", {}).setdefault(port, fields) != fields:
                expected = "the times of the classes before it: a port has one PFC_WD"
                raise ScenarioError(f"{key}.watchdog", TIME.text(detection), expected)
            self.tables["PORT_QOS_MAP"][port]["pfcwd_sw_enable"] = _text(sorted(self.watched))

    def _lossy_shared(self, memory: "Memory", names: _Names) -> None:
        self._pool("egress", "dynamic", memory.size, names)
        self._profile("BUFFER_QUEUE", {"size": "0", "dynamic_th": str(_power(memory.alpha))}, names)

    def _lossy(self, key: str, size: int, names: _Names) -> None:
        if size == NEVER:
            self.left[key] = f"{key} = unlimited: the limits that the switch has stay"
            return
        self._pool("egress", "static", size * len(self.ports) * len(names.queues), names)
        self._profile("BUFFER_QUEUE", {"size": "0", "static_th": str(size)}, names)

    def _pool(self, side: str, mode: str, size: int, names: _Names) -> None:
        """Add a pool; one for groups of pausable priorities and for queues is of both sides."""
        pools = self.tables.setdefault("BUFFER_POOL", {})
        if names.pool in pools and pools[names.pool]["type"] != side:
            side = "both"
        pools[names.pool] = {"type": side, "mode": mode, "size": str(size)}

    def _profile(self, table: str, fields: dict[str, str], names: _Names) -> None:
        self.tables.setdefault("BUFFER_PROFILE", {})[names.profile] = {"pool": names.pool, **fields}
        self._at_queues(table, "profile", names.profile, names)

    def _at_queues(self, table: str, key: str, name: str, names: _Names) -> None:
        found = self.tables.setdefault(table, {})
        for port in self.ports:
            for queue in names.queues:
                found.setdefault(f"{port}|{queue}", {})[key] = name


def _power(alpha: float) -> int:
    return min(POWER.most, max(POWER.least, round(math.log2(alpha))))


def _milliseconds(time_ps: int, held: Number) -> str:
    return str(min(held.most, max(held.least, round(time_ps / sonic.PS_PER_MS))))

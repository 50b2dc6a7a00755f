"""Translates `[network]` and `[[classes]]` of a scenario into entries of SONiC's config_db.json."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shallows.errors import ScenarioError
from shallows.settings.config_db import COLOURS
from shallows.settings.headroom import headroom
from shallows.units import NEVER, RATE, SIZE

if TYPE_CHECKING:
    from shallows.marking import Marking
    from shallows.scenario import Scenario
    from shallows.switch import Pauses, Shared

WRED, POOL, PROFILE = "SHALLOWS", "shallows_pool", "shallows_profile"
LEAST_TH, MOST_TH = -8, 7
"""Powers of two that a dynamic threshold may have."""


@dataclass(frozen=True)
class Entries:
    """Entries to merge into a config_db.json, every value a text, and sentences about what differs.

    rounded: values that SONiC can only write approximately. not_expressed: keys of the scenario without a
    counterpart.
    """

    tables: dict[str, dict[str, dict[str, str]]]
    rounded: tuple[str, ...] = ()
    not_expressed: tuple[str, ...] = ()


def entries(
    scenario: "Scenario", ports: Sequence[str] = ("Ethernet0",), queues: Sequence[int] = (3,)
) -> Entries:
    """The entries that set `[network]` and `[[classes]]` of `scenario` at these ports and queues.

    queues: also the priorities with PFC and their groups. With classes there is one for each, in their order.
    Raises `ScenarioError` for a key that has to be changed first.
    """
    given = scenario.classes
    if not given:
        return _Export(scenario, tuple(ports), tuple(sorted(set(queues)))).entries()
    if len(set(queues)) != len(queues) or len(queues) != len(given):
        names = ", ".join(one.name for one in given)
        example = ",".join(map(str, range(len(given) - 1, -1, -1)))
        expected = f"a queue of its own for each class, in the order {names}, such as {example}"
        raise ScenarioError("--queues", ",".join(map(str, queues)), expected)
    return _Export(scenario, tuple(ports), tuple(queues)).entries()


@dataclass(frozen=True)
class _Names:
    """Where a part of the scenario goes: its queues, and the names of its profiles and of its pool."""

    queues: tuple[int, ...]
    wred: str = WRED
    profile: str = PROFILE
    pool: str = POOL


@dataclass
class _Export:
    """One scenario on its way into a configuration."""

    scenario: "Scenario"
    ports: tuple[str, ...]
    queues: tuple[int, ...]
    tables: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    rounded: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    paused: list[int] = field(default_factory=list)

    def entries(self) -> Entries:
        network, names = self.scenario.network_options, _Names(self.queues)
        if self.scenario.classes:
            self._classes()
        else:
            if network.marking != "none":
                self._marking("network.marking", network.marking, names)
            if network.pfc:
                self._lossless("network", network.pfc, network.shared or None, "network.shared", names)
            elif network.shared:
                self._lossy_shared("network.shared", network.shared, names)
            elif self.scenario.trimming:
                self.left.append(
                    "network.trimming: set SWITCH_TRIMMING and packet_discard_action = trim by hand"
                )
            elif network.buffer != NEVER:
                self._lossy(network.buffer, names)
        if network.balancing != "flow":
            self.left.append(f"network.balancing = {network.balancing}: switches of SONiC hash flows")
        return Entries(self.tables, tuple(self.rounded), tuple(self.left))

    def _classes(self) -> None:
        """Each class at its queue. Pools are numbered as in the scenario, profiles as their queues."""
        places = {pool.name: at for at, pool in enumerate(self.scenario.pools)}
        for number, (one, queue) in enumerate(zip(self.scenario.classes, self.queues, strict=True)):
            key, at = f"classes[{number}]", places[one.pool] if one.pool else None
            pool = f"{POOL}_of_{queue}" if at is None else f"{POOL}_{at}"
            names = _Names((queue,), f"{WRED}_{queue}", f"{PROFILE}_{queue}", pool)
            memory = None if at is None else self.scenario.pools[at]
            if one.marking != "none":
                self._marking(f"{key}.marking", one.marking, names)
            if one.pfc:
                self._lossless(key, one.pfc, memory, f"pools[{at}]", names)
            elif memory:
                self._lossy_shared(f"pools[{at}]", memory, names)
            elif one.buffer != NEVER:
                self._lossy(one.buffer, names)
        maps = "DSCP_TO_TC_MAP, TC_TO_QUEUE_MAP, TC_TO_PRIORITY_GROUP_MAP and MAP_PFC_PRIORITY_TO_QUEUE"
        self.left.append(f"traffic.class: map packets, groups and pauses to these queues with {maps}")
        self.left.append("priority and weight of classes: set SCHEDULER by hand, STRICT or DWRR")

    def _marking(self, key: str, marking: "Marking", names: _Names) -> None:
        if marking.kind not in ("red", "step"):
            self.left.append(f"{key}.kind = {marking.kind}: WRED is red, or step")
            return
        if marking.at != "dequeue":
            self.left.append(f"{key}.at = {marking.at}: the switch decides where it marks")
        parameters = self._of_all_ports(key, marking)
        if marking.kind == "step":
            kmin = kmax = round(parameters["threshold"])
            percent = 100
        else:
            kmin, kmax, percent = self._red(key, parameters)
        fields = {"ecn": "ecn_all"}
        for colour in COLOURS:
            fields |= {
                f"wred_{colour}_enable": "true",
                f"{colour}_min_threshold": str(kmin),
                f"{colour}_max_threshold": str(kmax),
                f"{colour}_drop_probability": str(percent),
            }
        self.tables.setdefault("WRED_PROFILE", {})[names.wred] = fields
        self._at_queues("QUEUE", "wred_profile", names.wred, names)

    def _of_all_ports(self, of: str, marking: "Marking") -> dict[str, float]:
        """The parameters, which are the same for all ports of a switch in this format."""
        network = self.scenario.network
        points, _ = marking.at_rates(network.rate_bps[~network.is_nic])
        if len(points) > 1:
            key = next(key for key, value in marking.parameters.items() if isinstance(value, dict))
            listed = " and ".join(SIZE.text(round(point["parameters"][key])) for point in points)
            expected = f"one value for all ports: this scenario's ports have {listed}"
            raise ScenarioError(f"{of}.{key}", None, expected)
        return points[0]["parameters"]

    def _red(self, of: str, parameters: dict[str, Any]) -> tuple[int, int, int]:
        if parameters["extended"]:
            self.left.append(f"{of}.extended: above kmax a switch marks every packet")
        exact = 100 * parameters["pmax"]
        percent = min(100, max(1, round(exact)))
        if not math.isclose(percent, exact, rel_tol=1e-9):
            self.rounded.append(f"{of}.pmax = {parameters['pmax']:g}: {percent} %, in whole per cent from 1")
        kmin, kmax = (self._bytes(f"{of}.{key}", parameters[key]) for key in ("kmin", "kmax"))
        return kmin, kmax, percent

    def _bytes(self, key: str, value: float) -> int:
        if value != round(value):
            self.rounded.append(f"{key} = {value:g}B: {round(value)} B")
        return round(value)

    def _lossless(
        self, key: str, pfc: "Pauses", memory: "Shared | None", memory_key: str, names: _Names
    ) -> None:
        """Pauses of `key`.pfc, which take their threshold from `memory`, at `memory_key`, if there is one."""
        xoff = pfc.headroom
        if xoff == NEVER:
            links = self._switch_links()
            xoff, rate = max((headroom(rate, delay, self.scenario.mtu), rate) for rate, delay in links)
            self.rounded.append(
                f'{key}.pfc.headroom = "auto": {SIZE.text(xoff)}, the need of a link of {RATE.text(rate)}'
            )
        profile = {"size": "0", "xon": "0", "xoff": str(xoff), "xon_offset": str(pfc.hysteresis)}
        if memory:
            self._pool("ingress", "dynamic", memory.size, names)
            profile["dynamic_th"] = str(self._power(memory_key, memory.alpha))
        else:
            self._pool("ingress", "static", pfc.threshold * len(self.ports) * len(names.queues), names)
            profile["static_th"] = str(pfc.threshold)
        self._profile("BUFFER_PG", profile, names)
        self.paused += names.queues
        priorities = ",".join(map(str, sorted(self.paused)))
        self.tables["PORT_QOS_MAP"] = {port: {"pfc_enable": priorities} for port in self.ports}

    def _lossy_shared(self, key: str, memory: "Shared", names: _Names) -> None:
        self._pool("egress", "dynamic", memory.size, names)
        fields = {"size": "0", "dynamic_th": str(self._power(key, memory.alpha))}
        self._profile("BUFFER_QUEUE", fields, names)

    def _lossy(self, size: int, names: _Names) -> None:
        self._pool("egress", "static", size * len(self.ports) * len(names.queues), names)
        self._profile("BUFFER_QUEUE", {"size": "0", "static_th": str(size)}, names)

    def _switch_links(self) -> list[tuple[int, int]]:
        """Rate in bit/s and delay in ps of the links that lead to a switch."""
        network = self.scenario.network
        to_switch = network.link_to >= network.hosts
        return list(
            zip(network.rate_bps[to_switch].tolist(), network.delay_ps[to_switch].tolist(), strict=True)
        )

    def _power(self, key: str, alpha: float) -> int:
        power = min(MOST_TH, max(LEAST_TH, round(math.log2(alpha))))
        text = f"{key}.alpha = {alpha:g}: {2.0**power:g}, a power of two (dynamic_th {power})"
        if 2.0**power != alpha and text not in self.rounded:
            self.rounded.append(text)
        return power

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
        found |= {f"{port}|{queue}": {key: name} for port in self.ports for queue in names.queues}

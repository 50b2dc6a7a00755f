"""Translates `[network]` of a scenario into entries of SONiC's config_db.json."""

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
    """The entries that set `[network]` of `scenario` at these ports and queues.

    `queues` are also the priorities with PFC. Raises `ScenarioError` for a key that has to be changed first.
    """
    return _Export(scenario, tuple(ports), tuple(queues)).entries()


@dataclass
class _Export:
    """One scenario on its way into a configuration."""

    scenario: "Scenario"
    ports: tuple[str, ...]
    queues: tuple[int, ...]
    tables: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    rounded: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def entries(self) -> Entries:
        network = self.scenario.network_options
        if network.marking != "none":
            self._marking(network.marking)
        if network.pfc:
            self._lossless()
        elif network.shared:
            self._pool("egress", "dynamic", network.shared.size)
            self._profile("BUFFER_QUEUE", {"size": "0", "dynamic_th": str(self._power(network.shared.alpha))})
        elif self.scenario.trimming:
            self.left.append("network.trimming: set SWITCH_TRIMMING and packet_discard_action = trim by hand")
        elif network.buffer != NEVER:
            self._pool("egress", "static", network.buffer * len(self.ports) * len(self.queues))
            self._profile("BUFFER_QUEUE", {"size": "0", "static_th": str(network.buffer)})
        if network.balancing != "flow":
            self.left.append(f"network.balancing = {network.balancing}: switches of SONiC hash flows")
        return Entries(self.tables, tuple(self.rounded), tuple(self.left))

    def _marking(self, marking: "Marking") -> None:
        if marking.kind not in ("red", "step"):
            self.left.append(f"network.marking.kind = {marking.kind}: WRED is red, or step")
            return
        if marking.at != "dequeue":
            self.left.append(f"network.marking.at = {marking.at}: the switch decides where it marks")
        parameters = self._of_all_ports(marking)
        if marking.kind == "step":
            kmin = kmax = round(parameters["threshold"])
            percent = 100
        else:
            kmin, kmax, percent = self._red(parameters)
        fields = {"ecn": "ecn_all"}
        for colour in COLOURS:
            fields |= {
                f"wred_{colour}_enable": "true",
                f"{colour}_min_threshold": str(kmin),
                f"{colour}_max_threshold": str(kmax),
                f"{colour}_drop_probability": str(percent),
            }
        self.tables["WRED_PROFILE"] = {WRED: fields}
        self._at_queues("QUEUE", "wred_profile", WRED)

    def _of_all_ports(self, marking: "Marking") -> dict[str, float]:
        """The parameters, which are the same for all ports of a switch in this format."""
        network = self.scenario.network
        points, _ = marking.at_rates(network.rate_bps[~network.is_nic])
        if len(points) > 1:
            key = next(key for key, value in marking.parameters.items() if isinstance(value, dict))
            listed = " and ".join(SIZE.text(round(point["parameters"][key])) for point in points)
            expected = f"one value for all ports: this scenario's ports have {listed}"
            raise ScenarioError(f"network.marking.{key}", None, expected)
        return points[0]["parameters"]

    def _red(self, parameters: dict[str, Any]) -> tuple[int, int, int]:
        if parameters["extended"]:
            self.left.append("network.marking.extended: above kmax a switch marks every packet")
        exact = 100 * parameters["pmax"]
        percent = min(100, max(1, round(exact)))
        if not math.isclose(percent, exact, rel_tol=1e-9):
            self.rounded.append(
                f"network.marking.pmax = {parameters['pmax']:g}: {percent} %, in whole per cent from 1"
            )
        kmin, kmax = (self._bytes(f"network.marking.{key}", parameters[key]) for key in ("kmin", "kmax"))
        return kmin, kmax, percent

    def _bytes(self, key: str, value: float) -> int:
        if value != round(value):
            self.rounded.append(f"{key} = {value:g}B: {round(value)} B")
        return round(value)

    def _lossless(self) -> None:
        network, pfc = self.scenario.network_options, self.scenario.network_options.pfc
        assert pfc
        xoff = pfc.headroom
        if xoff == NEVER:
            links = self._switch_links()
            xoff, rate = max((headroom(rate, delay, self.scenario.mtu), rate) for rate, delay in links)
            self.rounded.append(
                f'network.pfc.headroom = "auto": {SIZE.text(xoff)}, the need of a link of {RATE.text(rate)}'
            )
        profile = {"size": "0", "xon": "0", "xoff": str(xoff), "xon_offset": str(pfc.hysteresis)}
        if network.shared:
            self._pool("ingress", "dynamic", network.shared.size)
            profile["dynamic_th"] = str(self._power(network.shared.alpha))
        else:
            self._pool("ingress", "static", pfc.threshold * len(self.ports) * len(self.queues))
            profile["static_th"] = str(pfc.threshold)
        self._profile("BUFFER_PG", profile)
        priorities = ",".join(map(str, self.queues))
        self.tables["PORT_QOS_MAP"] = {port: {"pfc_enable": priorities} for port in self.ports}

    def _switch_links(self) -> list[tuple[int, int]]:
        """Rate in bit/s and delay in ps of the links that lead to a switch."""
        network = self.scenario.network
        to_switch = network.link_to >= network.hosts
        return list(
            zip(network.rate_bps[to_switch].tolist(), network.delay_ps[to_switch].tolist(), strict=True)
        )

    def _power(self, alpha: float) -> int:
        power = min(MOST_TH, max(LEAST_TH, round(math.log2(alpha))))
        if 2.0**power != alpha:
            self.rounded.append(
                f"network.shared.alpha = {alpha:g}: {2.0**power:g}, a power of two (dynamic_th {power})"
            )
        return power

    def _pool(self, side: str, mode: str, size: int) -> None:
        self.tables["BUFFER_POOL"] = {POOL: {"type": side, "mode": mode, "size": str(size)}}

    def _profile(self, table: str, fields: dict[str, str]) -> None:
        self.tables["BUFFER_PROFILE"] = {PROFILE: {"pool": POOL, **fields}}
        self._at_queues(table, "profile", PROFILE)

    def _at_queues(self, table: str, key: str, name: str) -> None:
        self.tables[table] = {f"{port}|{queue}": {key: name} for port in self.ports for queue in self.queues}

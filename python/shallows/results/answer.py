"""The answer of a world as the summary and the tables of a run."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shallows.base.version import version
from shallows.core.contract import F64, U64, Flags
from shallows.core.contract import Answer as CoreAnswer
from shallows.results import (
    address,
    batches,
    classes,
    collectives,
    inputs,
    job_causes,
    messages,
    recovery,
    settling,
    tasks,
)
from shallows.results import summary as sums
from shallows.results.recovery import DEAD_PATH, STARVED
from shallows.results.tables import ALL_TABLES, Block, Names
from shallows.scenario import faults, port_request
from shallows.traffic import NO_FLOW
from shallows.units import NEVER

if TYPE_CHECKING:
    from shallows.results.contents import Unsettled
    from shallows.scenario import Scenario
    from shallows.scenario.faults.goodput import Record
    from shallows.topology import Network
    from shallows.traffic import Flows

PORT_COUNTS = ("sent", "marked", "dropped", "dropped_in_warmup", "trimmed", "lost", "pauses")


class Answer:
    """Converter from the answer of a world to summary and tables."""

    def __init__(
        self,
        scenario: "Scenario",
        network: "Network",
        flows: "Flows",
        answer: CoreAnswer,
        record: "Record | None" = None,
    ) -> None:
        self.record = record
        self.scenario, self.network, self.answer = scenario, network, answer
        self.mtu = float(scenario.mtu)
        self.ended_ps = answer["ended_ps"]
        self.warmup_ps = min(scenario.warmup_ps, self.ended_ps)
        self.measured_ps = self.ended_ps - self.warmup_ps
        # In real time the ports are read when the processor is free, at a recorded time.
        self.ports_measured_ps = answer["measured_ps"]
        self.loads, self.answers = flows.loads, flows.answers
        self.start_ps = answer["flows"]["start_ps"]
        self.flow_columns = self._flows(flows)
        self.cooldown_ps = scenario.cooldown_ps
        self.counted = self._counted(self.flow_columns)
        self.port_columns = self._ports()

    def _flows(self, flows: "Flows") -> dict[str, Any]:
        answer, hosts = self.answer, self.network.host_names
        finish = answer["flows"]["finish_ps"]
        finished, limited = finish != NEVER, flows.bytes > 0
        begun = _where(self.start_ps != NEVER, self.start_ps.astype(float))
        # Integers are subtracted, because late in a long run a float does not resolve picoseconds.
        fct_ps = _where(finished, _since(finish, self.start_ps))
        ideal = answer["flows"]["ideal_ps"]
        ideal_ps = _where(limited & (ideal > 0), ideal.astype(float))
        srtt_max_ps = answer["flows"]["srtt_max_ps"]
        return {
            "flow": np.arange(len(finish), dtype=np.uint32),
            "traffic": flows.group,
            "cc": Names(flows.cc, flows.cc_names),
            "src": Names(flows.src, hosts),
            "dst": Names(flows.dst, hosts),
            "bytes": _where(limited, flows.bytes.astype(float)),
            "start_us": begun / 1e6,
            "fct_us": fct_ps / 1e6,
            "exchange_us": self._exchanges(flows, finished) / 1e6,
            "ideal_us": ideal_ps / 1e6,
            "slowdown": fct_ps / ideal_ps,
            "goodput_gbps": self._goodput(flows, fct_ps, limited),
            "retransmits": answer["flows"]["retransmits"],
            "timeouts": answer["flows"]["timeouts"],
            "timeout_wait_us": answer["flows"]["timeout_wait_ps"] / 1e6,
            "credits": answer["flows"]["credits"],
            "credits_wasted": answer["flows"]["credits_wasted"],
            "srtt_mean_us": _where(srtt_max_ps > 0, answer["flows"]["srtt_mean_ps"] / 1e6),
            "srtt_max_us": _where(srtt_max_ps > 0, srtt_max_ps / 1e6),
            "reordering_pkt": answer["flows"]["reordering"],
        }

    def _exchanges(self, flows: "Flows", finished: Flags) -> F64:
        """Picoseconds from the start of a request to the end of its response."""
        answered = (flows.answers != NO_FLOW) & finished
        request = np.where(answered, flows.answers, 0)
        return _where(answered, _since(self.answer["flows"]["finish_ps"], self.start_ps[request]))

    def _counted(self, flows: Mapping[str, Any]) -> sums.Counted:
        """The flows whose completion times count."""
        ends_us = None if self.cooldown_ps is None else self.cooldown_ps / 1e6
        return sums.Counted.of(flows, self.warmup_ps / 1e6, ends_us, self.ended_ps / 1e6)

    def _counted_exchanges(self) -> sums.Counted:
        """The responses whose exchanges count. One that has not begun counts where its request does."""
        columns, answers = self.flow_columns, self.answers
        answering = answers != NO_FLOW
        asked_us: F64 = columns["start_us"][np.where(answering, answers, 0)]
        began_us: F64 = np.where(np.isnan(columns["start_us"]), asked_us, columns["start_us"])
        counted = self._counted({**columns, "start_us": began_us}).among(answering)
        finished, waited_us = np.isfinite(columns["exchange_us"]), self.ended_ps / 1e6 - asked_us
        exchange_us: F64 = np.where(finished, columns["exchange_us"], waited_us)
        return sums.Counted(counted.done, counted.unfinished, {"exchange_us": exchange_us})

    def _goodput(self, flows: "Flows", fct_ps: F64, limited: Flags) -> F64:
        """Gbit/s of every flow over its lifetime; without an end, over the time after the warm-up."""
        first = np.where(limited, self.start_ps, np.maximum(self.start_ps, self.warmup_ps)).astype(float)
        last = np.minimum(flows.stop_ps, self.ended_ps)
        ran_ps = np.where(np.isfinite(fct_ps), fct_ps, last - first)
        answer = self.answer["flows"]
        # Bytes in flight at a flow's stop arrive after its lifetime.
        payload = np.where(limited, answer["delivered_bytes"], answer["goodput_by_stop_bytes"])
        return payload * 8e3 / _where(ran_ps > 0, ran_ps)

    def _ports(self) -> dict[str, Any]:
        answer, names = self.answer["ports"], self.network.port_names
        columns: dict[str, object] = {
            "port": Names(np.arange(len(names)), names),
            "utilization": answer["busy_ps"] / max(self.ports_measured_ps, 1),
            "queue_mean_pkt": answer["queue_mean_bytes"] / self.mtu,
            "queue_p50_pkt": answer["queue_p50_bytes"] / self.mtu,
            "queue_p99_pkt": answer["queue_p99_bytes"] / self.mtu,
            "queue_max_pkt": answer["queue_max_bytes"] / self.mtu,
            "delay_mean_us": answer["delay_mean_ps"] / 1e6,
            "backlog_p99_us": answer["delay_p99_ps"] / 1e6,
            "paused_us": answer["paused_ps"] / 1e6,
        }
        every: dict[str, object] = {**answer, **columns}  # the core has the counts by the same names
        columns = {key: every[key] for key in ALL_TABLES["ports"]}
        return columns if self.measured_ps else _unmeasured(columns)

    def summary(self, wall_s: float) -> dict[str, object]:
        """The dict of `summary.json`."""
        answer, flows = self.answer, self.flow_columns
        return {
            **self._origin(),
            "duration_s": self.ended_ps / 1e12,
            "warmup_s": self.warmup_ps / 1e12,
            "cooldown_at_s": None if self.cooldown_ps is None else self.cooldown_ps / 1e12,
            **self._drain(),
            **self._interruption(),
            "wall_s": wall_s,
            "threads": answer["threads"] or {"count": None, "domains": None, "gain": None},
            "events": answer["events"],
            "packet_hops": answer["packet_hops"],
            "packet_hops_per_s": answer["packet_hops"] / wall_s if wall_s > 0 else None,
            "bottleneck": sums.bottleneck(self.port_columns, self._candidates()),
            "network": self._network(),
            "flows": sums.flow_statistics(
                flows,
                counted=self.counted,
                measured_s=self.measured_ps / 1e12,
                goodput_bytes=answer["flows"]["goodput_bytes"],
                not_begun=int(np.sum(self.start_ps >= self.ended_ps)),
            ),
            "flows_by_size": sums.flows_by_size(flows, self.counted),
            "traffic": self._traffic(),
            "load": self._load(),
            "faults": self._faults(),
            "collectives": job_causes.named(self, collectives.of_run(self.scenario, self.network, answer)),
            "unsettled": self.unsettled,
            "tasks": job_causes.named(self, tasks.of_run(self.scenario, self.network, answer)),
            "random": None,  # this and the warnings are added by the runner
            "warnings": [],
            "books": self._books(),
        }

    def _traffic(self) -> list[dict[str, object]]:
        """A row for each traffic table, with the results of its flows."""
        flows, rows = self.flow_columns, list[dict[str, object]]()
        exchanges = self._counted_exchanges()
        for number, table in enumerate(self.scenario.traffic):
            selected = flows["traffic"] == number
            statistics = sums.traffic_statistics(
                flows,
                selected=selected,
                counted=self.counted,
                exchanges=exchanges,
                measured_s=self.measured_ps / 1e12,
                goodput_bytes=self.answer["flows"]["goodput_bytes"],
            )
            names = sorted({flows["cc"].names[code] for code in flows["cc"].codes[selected]})
            its_names = {
                "name": self.scenario.flows.names[number],
                "kind": table.kind,
                "cc": ", ".join(names),
            }
            rows.append({"traffic": number} | its_names | statistics)
        return rows

    def _faults(self) -> list[dict[str, object]]:
        """A row for each fault, with recovery time, inflation and stranded flows."""
        if not self.record:
            return []
        return recovery.of_run(
            self.scenario, self.network, self.record, self.answer, self.flow_columns, self.counted
        )

    def _drain(self) -> dict[str, float | None]:
        """Seconds from the start of the last flow to the end, and their share of the measured time.

        None unless the run ends with its flows: not at a set time, nor because paths are dead.
        """
        began = self.start_ps[self.start_ps <= self.ended_ps]
        if self.scenario.duration_ps is not None or not len(began) or self.dead_paths:
            return {"drain_s": None, "drain_share": None}
        drain_ps = self.ended_ps - max(int(began.max()), self.warmup_ps)
        share = drain_ps / self.measured_ps if self.measured_ps else None
        return {"drain_s": drain_ps / 1e12, "drain_share": share}

    def _network(self) -> dict[str, object]:
        """Counts of all ports, paused time, and the ports of a deadlock, in order."""
        names, links = self.network.port_names, self.answer["deadlock"]["links"].tolist()
        counts = {key: int(self.answer["ports"][key].sum()) for key in PORT_COUNTS}
        if not self.measured_ps:
            lost = counts["dropped"] + counts["dropped_in_warmup"]
            counts = {**dict.fromkeys(counts, 0), "dropped_in_warmup": lost}
        return {
            **counts,
            "paused_us": float(self.answer["ports"]["paused_ps"].sum()) / 1e6,
            "deadlock": [names[link] for link in links],
        }

    def _origin(self) -> dict[str, object]:
        return {
            "name": self.scenario.name,
            "seed": self.scenario.seed,
            "version": version(),
            "fingerprint": self.answer["fingerprint"],
            "cc": self._algorithms(),
            **({"code": code} if (code := address.code(self.scenario)) else {}),
            **({"inputs": found} if (found := inputs.of(self.scenario)) else {}),
        }

    def _books(self) -> dict[str, object]:
        books = self.answer["books"]
        delivered = self.answer["flows"]["delivered_bytes"]
        problems = sums.flow_problems(self.flow_columns, delivered, self.one_way) + sums.capacity_problems(
            self.port_columns, self.flow_columns, delivered, self._last_link_bps(), self.ended_ps / 1e6
        )
        reported = [problem for problem in self._said if not DEAD_PATH.search(problem)]
        closed = (books["closed"] or len(reported) < len(self._said)) and not reported
        return {"closed": closed and not problems, "problems": [*reported, *problems]}

    @property
    def _said(self) -> list[str]:
        """Problems that the simulator found at the end of the run, with the names of ports."""
        problems = (problem + self._loser(problem) for problem in self.answer["books"]["problems"])
        return [_with_names(problem, self.network.port_names) for problem in problems]

    def _loser(self, problem: str) -> str:
        """A clause about the port on the path of a flow without progress that lost most packets."""
        match = STARVED.search(problem)
        if not match:
            return ""
        from shallows import _core
        from shallows.scenario.request import request

        flow = int(match[1])
        ((forward, back),) = _core.paths(request(self.scenario), np.array([flow], np.uint32))
        lost = self.in_whole_run["dropped"] + self.in_whole_run["lost"]
        worst = max([*forward, *back], key=lambda link: int(lost[link]))
        packets = "1 packet" if lost[worst] == 1 else f"{lost[worst]} packets"
        return f"; link {worst}, on the path of flow {flow}, lost {packets}" if lost[worst] else ""

    @cached_property
    def in_whole_run(self) -> dict[str, U64]:
        """[L] packets that each port dropped, trimmed and lost, with those of the warm-up."""
        ports = self.answer["ports"]
        return {
            "dropped": ports["dropped"] + ports["dropped_in_warmup"],
            "trimmed": ports["trimmed"] + ports["trimmed_in_warmup"],
            "lost": ports["lost"] + ports["lost_in_warmup"],
        }

    @property
    def dead_paths(self) -> list[str]:
        """The flows that waited for links that were down when the run ended, a sentence each."""
        return [problem for problem in self._said if DEAD_PATH.search(problem)]

    @cached_property
    def unsettled(self) -> "list[Unsettled]":
        """Tables of flows without an end whose rates had not settled."""
        return settling.of_answer(self)

    @property
    def one_way(self) -> bool:
        """True if every packet of a flow takes the path of the flow's ideal time."""
        return self.scenario.network.balancing == "flow" and not faults.reroutes(self.scenario)

    def _last_link_bps(self) -> F64:
        """The rate at which links bring data to each flow's receiver; in a network of one port, its rate.

        A flow that may take any port of its receiver has all of them, inside a server and outside.
        """
        network = self.network
        hosts, last = len(network.host_names), network.link_to < len(network.host_names)
        rates = np.zeros(hosts)
        np.add.at(rates, network.link_to[last], network.rate_bps[last])
        rates[rates == 0] = float(np.max(network.rate_bps))
        return rates[self.flow_columns["dst"].codes]

    def _load(self) -> list[dict[str, object]]:
        """Stated and realised load of the traffic tables with a load."""
        return [
            {"traffic": i, "stated": load.stated, "realised": load.realised, "of": load.of}
            for i, load in enumerate(self.loads)
            if load
        ]

    def _candidates(self) -> NDArray[np.integer]:
        """The ports among which the bottleneck is chosen: those of `record.ports`, else all."""
        network, ports = self.network, self.scenario.record.ports
        return network.recorded_ports if isinstance(ports, list) else np.arange(len(network.port_names))

    def _algorithms(self) -> list[str]:
        """The algorithms with at least one flow, in the order of the scenario."""
        codes, names = self.flow_columns["cc"]
        return list(dict.fromkeys(names[code] for code in np.flatnonzero(np.bincount(codes))))

    def _interruption(self) -> dict[str, object]:
        if not self.answer["interrupted"]:
            return {}
        return {"interrupted": True, "interrupted_at_s": self.ended_ps / 1e12}

    def blocks(self) -> dict[str, Callable[[], Iterable[Block]]]:
        """The functions that yield the tables of `Run`. Large tables come in blocks, scaled when needed."""
        return {
            "flows": self._flow_block,
            "computations": self._computation_block,
            "queues": self._queue_blocks,
            "probes": self._probes,
            "ports": self._port_block,
            "queue_histograms": self._histogram_blocks,
            **({"classes": self._class_blocks} if self._has_classes else {}),
            **({"messages": self._message_blocks} if messages.has_some(self.scenario.flows) else {}),
            **({"goodput": self._goodput_blocks} if self.record else {}),
        }

    @property
    def _has_classes(self) -> bool:
        return bool(self.scenario.classes) or port_request.has_two_queues(self.scenario)

    # Methods, not lambdas, because a run may be pickled and sent to another process.
    def _flow_block(self) -> Iterable[Block]:
        return iter([self.flow_columns])

    def _computation_block(self) -> Iterable[Block]:
        computations, answer = self.scenario.flows.computations, self.answer["computations"]
        columns = answer["start_ps"], answer["finish_ps"]
        start, finish = (_where(times != NEVER, times.astype(float)) for times in columns)
        return iter(
            [
                {
                    "computation": np.arange(len(computations), dtype=np.uint32),
                    "traffic": computations.table,
                    "step": computations.step,
                    "host": Names(computations.host, self.network.host_names),
                    "processor": computations.processor,
                    "duration_us": computations.duration_ps / 1e6,
                    "start_us": start / 1e6,
                    "finish_us": finish / 1e6,
                }
            ]
        )

    def _port_block(self) -> Iterable[Block]:
        return iter([self.port_columns])

    def _class_blocks(self) -> Iterable[Block]:
        return iter([classes.columns(self.answer["classes"], self.scenario, self.network)])

    def _message_blocks(self) -> Iterable[Block]:
        return messages.blocks(self.scenario.flows, self.network, self.answer, self.start_ps)

    def _goodput_blocks(self) -> Iterable[Block]:
        return recovery.blocks(self.answer)

    def _queue_blocks(self) -> Iterable[Block]:
        return batches.merged(self._queues())

    def _histogram_blocks(self) -> Iterable[Block]:
        return batches.merged(self._histograms())

    def _queues(self) -> Iterator[Block]:
        time_ps, names = self.answer["queues"]["time_ps"], self.network.port_names
        if not len(time_ps):  # queues were not recorded, so the ports have no rows
            return
        for port, queue in zip(self.network.recorded_ports, self.answer["queues"]["bytes"], strict=True):
            for rows in batches.pieces(len(time_ps)):
                yield {
                    "time_us": time_ps[rows] / 1e6,
                    "port": Names(np.full(len(time_ps[rows]), port), names),
                    "queue_pkt": queue[rows] / self.mtu,
                    "queue_bytes": queue[rows],
                }

    def _probes(self) -> Iterator[Block]:
        answer = self.answer
        for rows in batches.pieces(len(answer["probes"]["value"])):
            value = answer["probes"]["value"][rows]
            yield {
                "time_us": answer["probes"]["time_ps"][rows] / 1e6,
                "flow": answer["probes"]["flow"][rows],
                "name": Names(answer["probes"]["name"][rows], answer["probe_names"]),
                "value": np.where(np.isinf(value), np.nan, value),  # a threshold that is not set
            }

    def _histograms(self) -> Iterator[Block]:
        names = self.network.port_names
        if not self.measured_ps:
            return
        for port, histogram in zip(self.network.recorded_ports, self.answer["queue_histograms"], strict=True):
            edges, time_ps = histogram["edges_bytes"], histogram["time_ps"]
            visited = np.flatnonzero(time_ps)
            yield {
                "port": Names(np.full(len(visited), port), names),
                "from_pkt": edges[visited] / self.mtu,
                "below_pkt": edges[visited + 1] / self.mtu,
                "time_us": time_ps[visited] / 1e6,
            }


def _with_names(problem: str, ports: list[str]) -> str:
    """A sentence of the packet world with names instead of numbers of ports and links."""
    return re.sub(r"\b(port|link) (\d+)\b", lambda found: f"{found[1]} {ports[int(found[2])]}", problem)


def _unmeasured(columns: dict[str, Any]) -> dict[str, Any]:
    """Columns of ports without a measurement: the run ended before its warm-up."""

    def unknown(values: NDArray[Any]) -> NDArray[Any]:
        return np.full(len(values), np.nan) if values.dtype.kind == "f" else np.zeros_like(values)

    return {
        name: values if isinstance(values, Names) else unknown(values) for name, values in columns.items()
    }


def _since(later: U64, earlier: U64) -> F64:
    """Picoseconds from one time to another, as floats; meaningless if one of them is `NEVER`."""
    return (later.astype(np.uint64) - earlier.astype(np.uint64)).view(np.int64).astype(float)


def _where(known: Flags, values: F64) -> F64:
    """`values` where `known`, NaN elsewhere."""
    return np.where(known, values, np.nan)

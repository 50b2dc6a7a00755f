"""A trajectory of the fluid world as the answer that every world gives."""

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shallows.core import answer as core_answer
from shallows.core import contract
from shallows.units import NEVER
from shallows.worlds.fluid_models import PROBES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.core.contract import F64
    from shallows.fluid.trajectory import Trajectory
    from shallows.scenario import Scenario
    from shallows.worlds.fluid_path import Path

HISTOGRAM_BINS = 400
LOST_SHARE = 1e-3
"""The largest gap, as a share of arrivals, that integration errors explain."""


class FluidAnswer:
    """A trajectory as the answer of a world (docs/crossing.md)."""

    def __init__(
        self, scenario: "Scenario", path: "Path", fluid: "Trajectory", class_of: "NDArray[np.intp]"
    ) -> None:
        self.scenario, self.path, self.fluid, self.class_of = scenario, path, fluid, class_of
        self.time_s, self.queue = fluid.time_s, fluid.queue_bytes
        self.ended_s = float(self.time_s[-1]) if fluid.interrupted else scenario.duration * 1e-12
        self.counted = self.time_s >= min(scenario.warmup * 1e-12, self.time_s[-1])
        self.measured_s = self.ended_s - min(scenario.warmup * 1e-12, self.ended_s)
        self.capacity = float(path.rate_bps)

    @cached_property
    def arriving(self) -> "F64":
        """[T] bit/s into the port."""
        return self.fluid.model.arriving_bps(self.queue, self.fluid.total_bps)

    @cached_property
    def leaving(self) -> "F64":
        """[T] bit/s out of the port: the capacity while there is a queue."""
        return np.where(self.queue > 0, self.capacity, np.minimum(self.arriving, self.capacity))

    @cached_property
    def dropping(self) -> "F64":
        """[T] bit/s dropped by a full buffer."""
        full = self.queue >= self.fluid.model.buffer
        return np.where(full, np.maximum(self.arriving - self.capacity, 0.0), 0.0)

    @cached_property
    def payload_bps(self) -> "F64":
        """[F, T] payload of each class at its receivers: its share of the departures, without headers."""
        sent = self.fluid.total_bps
        share = np.divide(self.leaving, sent, out=np.zeros_like(self.queue), where=sent > 0)
        return self.fluid.rates_bps * share * (self.scenario.frame.payload / self.scenario.mtu)

    def columns(self) -> contract.Answer:
        """The answer; a fluid has no packets, no credits, no classes and no pauses."""
        mean = self.payload_bps[:, self.counted].mean(axis=1)[self.class_of] / 8
        whole = self.payload_bps.mean(axis=1)[self.class_of] / 8
        flows = core_answer.zeros(contract.FlowColumns, len(self.class_of))
        goodput = np.rint(mean * self.measured_s).astype(np.uint64)
        probes, names = self._probes()
        return {
            "fingerprint": self._fingerprint(),
            "events": round(self.ended_s / self.fluid.step_s),
            "packet_hops": 0,
            "ended_ps": round(self.ended_s * 1e12),
            "measured_ps": round(self.measured_s * 1e12),
            "interrupted": self.fluid.interrupted,
            "flows": {
                **flows,
                "start_ps": self.scenario.flows.start_ps,
                "finish_ps": flows["finish_ps"] + np.uint64(NEVER),
                "delivered_bytes": np.rint(whole * self.ended_s).astype(np.uint64),
                "goodput_bytes": goodput,
                "goodput_by_stop_bytes": goodput,
            },
            "computations": core_answer.zeros(contract.ComputationColumns, 0),
            "ports": self._port(),
            "classes": core_answer.zeros(contract.ClassColumns, 0),
            "deadlock": {"links": np.empty(0, np.uint32), "time_ps": 0},
            "queues": self._queue(),
            "queue_histograms": [self._histogram()],
            "probes": probes,
            "probe_names": names,
            "books": self._books(),
            "goodput": None,
            "random": None,
            "threads": None,
            "lateness": None,
            "datagrams": None,
        }

    def _fingerprint(self) -> str:
        seen = self.queue.tobytes() + np.ascontiguousarray(self.fluid.rates_bps).tobytes()
        return hashlib.blake2b(seen, digest_size=8).hexdigest()

    def _bytes(self, bps: "F64") -> float:
        """The bytes that a rate [T] carried after the warm-up."""
        return float(bps[self.counted].mean()) * self.measured_s / 8

    def _packets(self, bps: "F64") -> "NDArray[np.uint64]":
        """The packets that a rate [T] carried after the warm-up: [1]."""
        return np.array([round(self._bytes(bps) / self.scenario.mtu)], np.uint64)

    def _port(self) -> contract.PortColumns:
        queue, frame = self.queue[self.counted], self.scenario.mtu
        median, nearly_all = np.quantile(queue, (0.50, 0.99))
        ps_per_byte = 8e12 / self.capacity
        arriving = self.arriving[self.counted]
        seen = np.average(queue, weights=arriving) if arriving.any() else 0.0
        p = self.fluid.internals.get("p", np.zeros(1))
        marking = np.zeros_like(self.queue) if p.shape != self.queue.shape else p * self.leaving
        busy_s = 8 * self._bytes(self.leaving) / self.capacity
        return {
            **core_answer.zeros(contract.PortColumns, 1),
            "sent": self._packets(self.leaving),
            "sent_bytes": np.array([round(self._bytes(self.leaving))], np.uint64),
            "marked": self._packets(marking),
            "dropped": self._packets(self.dropping),
            "busy_ps": np.array([round(busy_s * 1e12)], np.uint64),
            "queue_mean_bytes": np.array([queue.mean()]),
            "queue_p50_bytes": np.array([median]),
            "queue_p99_bytes": np.array([nearly_all]),
            "queue_max_bytes": np.array([queue.max()]),
            "delay_mean_ps": np.array([(seen + frame) * ps_per_byte]),
            "delay_p99_ps": np.array([(nearly_all + frame) * ps_per_byte]),
        }

    def _sampled(self, interval_ps: int) -> "NDArray[np.int64]":
        """Indices in the trajectory nearest to the sampling times; none if the interval is 0."""
        if not interval_ps:
            return np.empty(0, np.int64)
        times = np.arange(0, self.ended_s + 1e-15, interval_ps * 1e-12)
        return np.unique(np.clip(np.searchsorted(self.time_s, times), 0, len(self.time_s) - 1))

    def _times_ps(self, places: "NDArray[np.int64]") -> "NDArray[np.uint64]":
        return np.rint(self.time_s[places] * 1e12).astype(np.uint64)

    def _queue(self) -> contract.Queues:
        places = self._sampled(self.scenario.record.queues)
        queue = np.rint(self.queue[places]).astype(np.uint32)
        return {"time_ps": self._times_ps(places), "bytes": queue[np.newaxis]}

    def _histogram(self) -> contract.Histogram:
        """Bins of equal width; an empty queue has a bin of its own."""
        queue = self.queue[self.counted]
        most = max(float(queue.max()), 1.0) * (1 + 1e-9)
        edges = np.linspace(0.0, most, HISTOGRAM_BINS + 1)
        counts, _ = np.histogram(queue, edges)
        time_ps = counts * (self.measured_s * 1e12 / max(len(queue), 1))
        return {"edges_bytes": edges, "time_ps": np.rint(time_ps).astype(np.uint64)}

    def _probes(self) -> tuple[contract.Probes, list[str]]:
        """(samples of the active flows, names of the probes)."""
        places = self._sampled(self.scenario.record.probes)
        series = self._series()
        present = self.fluid.rates_bps[:, places] > 0
        columns: list[contract.Probes] = []
        for flow in self.scenario.probed_flows:
            one = self.class_of[flow]
            chosen = places[present[one]]
            for code, values in enumerate(series.values()):
                columns.append(
                    {
                        "time_ps": self._times_ps(chosen),
                        "flow": np.full(len(chosen), flow, np.uint32),
                        "name": np.full(len(chosen), code, np.uint16),
                        "value": values[one][chosen],
                    }
                )
        joined: contract.Probes = {
            "time_ps": np.concatenate([one["time_ps"] for one in columns]),
            "flow": np.concatenate([one["flow"] for one in columns]),
            "name": np.concatenate([one["name"] for one in columns]),
            "value": np.concatenate([one["value"] for one in columns]),
        }
        return joined, list(series)

    def _series(self) -> "dict[str, F64]":
        """Name of a probe -> [F, T]."""
        rtt_us = (self.path.base_rtt_s + 8 * self.queue / self.capacity) * 1e6
        series = {
            "rate_gbps": self.payload_bps / 1e9,
            "rtt_us": np.broadcast_to(rtt_us, self.fluid.rates_bps.shape),
        }
        for column, (name, scale) in PROBES.items():
            values = self.fluid.internals.get(column)
            if values is not None and values.ndim == 2:
                series[name] = values * scale
        return series

    def _unresolved(self) -> float:
        """The bits that sampling cannot resolve: those of a step, whenever the queue empties or fills."""
        edges = np.diff(self.queue > 0), np.diff(self.queue >= self.fluid.model.buffer)
        changes = 1 + sum(int(np.count_nonzero(edge)) for edge in edges)
        step_s = float(np.max(np.diff(self.time_s), initial=0.0))
        return changes * step_s * max(self.capacity, float(self.arriving.max()))

    def _books(self) -> contract.Books:
        """Arrivals must equal departures, drops and the queue."""
        span_s, bits = self.ended_s, 8 * (self.queue[-1] - self.queue[0])
        came, went, lost = (
            float(rate.mean()) * span_s for rate in (self.arriving, self.leaving, self.dropping)
        )
        gap = abs(came - went - lost - bits)
        problems: list[str] = []
        if gap > LOST_SHARE * came + self._unresolved():
            problems = [f"{gap / 8:.0f} bytes of the fluid are neither sent, nor dropped, nor queued"]
        return {"closed": not problems, "problems": problems}

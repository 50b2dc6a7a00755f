"""Settings in packets at the ends of the ranges: long-lived flows alone at one port."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.results.metrics import known
from shallows.settings.disagreements import FAR, model_alone
from shallows.settings.trials import DRIFT, GOODPUT, RECORDED, drift, swept
from shallows.units import RATE, TIME

if TYPE_CHECKING:
    from shallows.fluid.model import Model
    from shallows.results.run import RunData
    from shallows.scenario import Scenario

SETTLES, SHORTEST_S, LONGEST_S = 2, 0.02, 0.3
"""The warm-up: this multiple of the time that the fluid model needs near its rest, because flows start far
from it, within these bounds. The measured time is as long."""
BUSY = 0.999
"""A port that is busy for less than this share of the time is empty at times."""


@dataclass(frozen=True)
class Corner:
    """The queue of `flows` long-lived flows over a round trip, in both worlds.

    expected_bytes: of the fluid model, NaN without a fixed point. queue_bytes, utilization: means in packets.
    stops: pauses and drops together. reason: what packets have that the fluid model leaves out.
    """

    flows: int
    rtt_s: float
    expected_bytes: float
    queue_bytes: float
    utilization: float
    stops: int
    reason: str

    @property
    def where(self) -> str:
        """Such as "2 flows, 100 us"."""
        return f"{self.flows} flows, {self.rtt_s * 1e6:.3g} us"

    @property
    def difference(self) -> float:
        """Of packets from the fluid model, as a share."""
        return self.queue_bytes / self.expected_bytes - 1

    @property
    def disagreement(self) -> str:
        """A sentence if the queues differ by more than 20 %, or the model has none; else an empty text."""
        if abs(self.difference) <= FAR:
            return ""
        stops = f", with {self.stops} pauses or drops" if self.stops else ""
        expects = f"expects a queue of {self.expected_bytes / 1e3:.1f} KB"
        if np.isnan(self.expected_bytes):
            expects = "has no fixed point"
        return (
            f"{self.where}, long-lived: the fluid model {expects}, packets have {self.queue_bytes / 1e3:.1f} "
            f"KB{self.reason}{stops}"
        )


def worse(ones: Sequence[Corner], others: Sequence[Corner]) -> str:
    """Where `ones` carry less, or pause or drop more, than `others` at the same places; empty if nowhere."""
    for one, other in zip(ones, others, strict=True):
        if one.utilization < GOODPUT * other.utilization:
            return f"{one.where}: busy for {one.utilization:.0%}, not {other.utilization:.0%}"
        if one.stops > other.stops:
            return f"{one.where}: {one.stops} pauses or drops, not {other.stops}"
    return ""


@dataclass(frozen=True)
class Places:
    """Numbers of long-lived flows and round trips at which settings are compared in packets.

    cc: the table of the scenario's algorithm. settles_s: how long the fluid model needs to settle. folder: of
    the runs.
    """

    scenario: "Scenario"
    cc: str
    rate_bps: float
    settles_s: float
    places: Sequence[tuple[int, float]]
    folder: Path
    progress: bool = False

    def corners(self, name: str, settings: Mapping[str, object]) -> tuple[Corner, ...]:
        """A `Corner` of each of the places with `settings`, whose runs are saved under `name`."""
        keys = ("topology.hosts", "traffic.0.flows", "topology.rtt")
        points = [(flows, flows, TIME.text(4 * round(rtt * 1e12 / 4))) for flows, rtt in self.places]
        base = alone(self.scenario.changed(settings), self.cc, self.rate_bps, self.settles_s)
        done = swept(base, {keys: points}, 1, self.folder / name, self.progress)
        return tuple(_corner(run, *place) for run, place in zip(done, self.places, strict=True))


def alone(scenario: "Scenario", cc: str, rate_bps: float, settles_s: float) -> "Scenario":
    """Long-lived flows with the table `cc` at one port of `rate_bps`; hosts and switches as in `scenario`."""
    from shallows.scenario.origin import Origin

    tables = tomllib.loads(scenario.to_toml())
    algorithm: Any = tables
    for step in cc.split("."):
        algorithm = algorithm[int(step) if isinstance(algorithm, list) else step]
    settles_ms = 1e3 * min(max(SETTLES * settles_s, SHORTEST_S), LONGEST_S)
    flows = {
        "name": f"{scenario.name}-alone",
        "seed": scenario.seed,
        "duration": f"{2 * settles_ms:.0f}ms",
        "warmup": f"{settles_ms:.0f}ms",
        "topology": {"kind": "dumbbell", "hosts": 2, "rate": RATE.text(round(rate_bps))},
        "traffic": [{"kind": "long-lived", "flows": 2}],
        "record": {"queues": RECORDED},
        "network": tables["network"],
        "hosts": tables["hosts"],
        "cc": algorithm,
    }
    return scenario.made(flows, Origin(scenario.file))


def _corner(run: "RunData", flows: int, rtt_s: float) -> Corner:
    summary, model, mtu = run.summary, model_alone(run.scenario), run.scenario.mtu
    port, network = summary["bottleneck"], summary["network"]
    assert model is not None, "all flows of a dumbbell share one port"
    expected = model.fixed_point().queue_bytes
    return Corner(
        flows, rtt_s, np.nan if expected is None else expected, known(summary, "queue_mean_pkt") * mtu,
        known(summary, "utilization"), network["pauses"] + network["dropped"],
        _reason(model, port, mtu, drift(run)),
    )  # fmt: skip


def _reason(model: "Model", port: Mapping[str, Any], mtu: int, change: float) -> str:
    """Why packets may have another queue than `model`, from what they show."""
    kmax = getattr(model, "kmax", np.inf)
    if port["queue_p99_pkt"] * mtu >= kmax and getattr(model, "ramp", "") == "cliff":
        return f", and queues of up to {port['queue_max_pkt'] * mtu / 1e3:.1f} KB: at kmax marking jumps to 1"
    if change > DRIFT:
        return f", and they have not settled: the queue still changes by {change:.0%}"
    if port["utilization"] < BUSY:
        return f", which random marks empty at times: the port is busy for {port['utilization']:.1%}"
    return ""

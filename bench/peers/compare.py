"""Runs the cases of cases.toml in both simulators, and judges the ratios."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

import ns3
import numpy as np

import shallows as sh

CASES = tomllib.loads((Path(__file__).parent / "cases.toml").read_text())
FRAME = 1500
SHORT = 100_000  # bytes of payload; shorter flows are the short ones, as in the papers of the workloads


@dataclass
class Outcome:
    """Results of one simulator: arrays by flow, and the bottleneck."""

    size: np.ndarray
    fct_s: np.ndarray
    ideal_s: np.ndarray
    goodput_bps: np.ndarray
    utilization: float
    queue_mean_pkt: float
    queue_max_pkt: float
    sent: float
    dropped: float
    marked: float


QUANTITIES = {
    "fct_min_ms": lambda seen: 1e3 * np.min(seen.fct_s),
    "fct_mean_ms": lambda seen: 1e3 * np.mean(seen.fct_s),
    "fct_max_ms": lambda seen: 1e3 * np.max(seen.fct_s),
    "short_fct_mean_us": lambda seen: 1e6 * np.mean(seen.fct_s[seen.size < SHORT]),
    "short_fct_p99_us": lambda seen: 1e6 * np.quantile(seen.fct_s[seen.size < SHORT], 0.99),
    "long_fct_mean_ms": lambda seen: 1e3 * np.mean(seen.fct_s[seen.size >= SHORT]),
    "slowdown_p50": lambda seen: np.quantile(seen.fct_s / seen.ideal_s, 0.5),
    "slowdown_p99": lambda seen: np.quantile(seen.fct_s / seen.ideal_s, 0.99),
    "goodput_first_mbps": lambda seen: seen.goodput_bps[0] / 1e6,
    "goodput_last_mbps": lambda seen: seen.goodput_bps[-1] / 1e6,
    "share_last": lambda seen: seen.goodput_bps[-1] / np.sum(seen.goodput_bps),
    "jain": lambda seen: np.sum(seen.goodput_bps) ** 2 / len(seen.goodput_bps) / np.sum(seen.goodput_bps**2),
    "utilization": lambda seen: seen.utilization,
    "queue_mean_pkt": lambda seen: seen.queue_mean_pkt,
    "queue_max_pkt": lambda seen: seen.queue_max_pkt,
    "dropped": lambda seen: seen.dropped,
    "marked_share": lambda seen: seen.marked / seen.sent,
}


@dataclass
class Row:
    """One quantity of one case."""

    case: str
    quantity: str
    ours: float
    ns3: float
    tolerance: float
    range: list | None
    why: str

    @property
    def ratio(self):
        return self.ours / self.ns3 if self.ns3 else (1.0 if self.ours == self.ns3 else np.inf)

    @property
    def verdict(self):
        """agrees: within the tolerance; explained: outside, within the range of a known reason; open: no
        reason is known."""
        if abs(self.ratio - 1) <= self.tolerance:
            return "agrees"
        in_range = self.range and self.range[0] <= self.ratio <= self.range[1]
        if not in_range:
            return "DIFFERS"
        return "open" if self.why.startswith("Open") else "explained"


def scenario(name, seed=1):
    """The scenario of a case with the variant of this seed, if there are variants, and frames of ns-3."""
    tables = dict(CASES[name]["scenario"])
    tables["network"] = {"header": f"{ns3.HEADER}B", **tables.get("network", {})}
    asked = sh.Scenario(name=name, seed=seed, **tables)
    if variants := CASES[name].get("variants"):
        for key, value in variants[seed - 1].items():
            asked = asked.set(key, value)
    return asked


def rows(name):
    """Run one case in both: a row for each compared quantity."""
    case = CASES[name]
    seen = [both(name, seed) for seed in range(1, 1 + case.get("seeds", 1))]
    found = []
    for quantity, entry in case["compare"].items():
        values = np.mean([_values(quantity, *outcomes) for outcomes in seen], axis=0)
        limits = entry["tolerance"], entry.get("range"), entry.get("why", "")
        found.append(Row(name, quantity, *map(float, values), *limits))
    return found


def replaced(kept, measured):
    """Rows in the order of cases.toml: the measured ones, and those on file for the other cases."""
    anew = {row["case"] for row in measured}
    every = [*measured, *(row for row in kept if row["case"] not in anew)]
    return [row for name in CASES for row in every if row["case"] == name]


def both(name, seed):
    """The results of both simulators for a case."""
    asked = scenario(name, seed)
    run = sh.run(asked)
    return in_shallows(asked, run), in_ns3(asked, run)


def _values(quantity, ours, theirs):
    if quantity == "fct_of_a_flow":
        return np.median(ours.fct_s / theirs.fct_s), 1.0
    return QUANTITIES[quantity](ours), QUANTITIES[quantity](theirs)


def in_shallows(asked, run):
    port = run.ports.loc[_bottleneck(asked)]
    return Outcome(
        size=run.flows.bytes.to_numpy(float),
        fct_s=run.flows.fct_us.to_numpy(float) / 1e6,
        ideal_s=run.flows.ideal_us.to_numpy(float) / 1e6,
        goodput_bps=run.flows.goodput_gbps.to_numpy(float) * 1e9,
        utilization=port.utilization,
        queue_mean_pkt=port.queue_mean_pkt,
        queue_max_pkt=port.queue_max_pkt,
        sent=port.sent,
        dropped=port.dropped,
        marked=port.marked,
    )


def in_ns3(asked, run):
    seen = ns3.run(asked, _bottleneck(asked), CASES[asked.name].get("ns3"))
    return Outcome(
        size=run.flows.bytes.to_numpy(float),
        fct_s=(seen.finish - seen.start) / 1e12,
        ideal_s=run.flows.ideal_us.to_numpy(float) / 1e6,
        goodput_bps=seen.goodput * 8 / seen.measured_s,
        utilization=seen.utilization,
        queue_mean_pkt=seen.queue_mean / FRAME,
        queue_max_pkt=seen.queue_max / FRAME + 1,
        sent=seen.sent,
        dropped=seen.dropped,
        marked=seen.marked,
    )


def _bottleneck(asked):
    """The slowest port that every flow crosses."""
    network = asked.graph
    ways = [set(there) for there, _ in ns3.paths(asked)]
    return min(set.intersection(*ways) or ways[0], key=lambda at: (network.rate_bps[at], -at))

"""Finds the costs of hosts with which a scenario takes the measured times.

A run without costs gives the time t(s) of each size, and of one byte for each message the time L that no size
shortens. Measured times are T(s) = L + n c + (t(s) - L) / e, where n is the number of messages that follow
each other. The cost c of each and the share e of the rate follow from least squares of the relative errors,
with intervals of 95 %.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shallows.core.contract import F64
from shallows.errors import ScenarioError
from shallows.traffic import Collective
from shallows.units import RATE, SIZE, TIME

if TYPE_CHECKING:
    from shallows.runs import Run
    from shallows.scenario import Scenario

WIDE = 0.2
"""An interval wider than this share of its value, on either side, determines nothing."""
LEAST = 3
"""Sizes that two unknowns and an error need."""


@dataclass(frozen=True)
class Value:
    """A fitted value with the ends of its interval of 95 %."""

    value: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval is narrow enough to mean something."""
        return self.high - self.low <= 2 * WIDE * abs(self.value)


@dataclass(frozen=True)
class Fit:
    """Costs that were found. Times are in us; `share` is that of the rate, `cost` that of each message.

    free, fixed: the time of each size without costs, and its part L. held_out: the largest relative error at
    every second size when the others alone are fitted; None for fewer than six. scenario: with the costs.
    """

    sizes: F64
    measured: F64
    predicted: F64
    free: F64
    fixed: float
    messages: int
    cost: Value
    share: Value
    held_out: float | None
    scenario: "Scenario"
    notes: list[str]


def fit(scenario: "Scenario", sizes: F64, times: F64) -> Fit:
    """Fit the costs of the first traffic table of `scenario`, whose size is set to each of `sizes`.

    Raises `ScenarioError` for too few sizes, or for a table without a size.
    """
    if len(set(sizes.tolist())) < LEAST:
        raise ScenarioError("sizes", len(set(sizes.tolist())), f"{LEAST} different sizes or more")
    known = {size: _timed(scenario, size) for size in sorted(set(sizes.tolist()))}
    free = np.array([known[size][0] for size in sizes.tolist()])
    messages = known[sizes.max()][1]
    fixed = _timed(scenario, _smallest(scenario))[0]
    cost, share = _solved(free, fixed, messages, times)
    predicted = _model(free, fixed, messages, cost.value, share.value)
    held_out = None
    if len(set(sizes.tolist())) >= 2 * LEAST:
        place = np.searchsorted(np.unique(sizes), sizes)
        mine = place % 2 == 0
        some, of = _solved(free[mine], fixed, messages, times[mine])
        other = _model(free[~mine], fixed, messages, some.value, of.value)
        held_out = float(np.max(np.abs(other / times[~mine] - 1)))
    notes = _notes(cost, share)
    return Fit(
        sizes, times, predicted, free, fixed, messages, cost, share, held_out,
        _with_costs(scenario, cost, share), notes,
    )  # fmt: skip


def _model(free: F64, fixed: float, messages: int, cost: float, share: float) -> F64:
    return fixed + messages * cost + (free - fixed) / share


def _solved(free: F64, fixed: float, messages: int, times: F64) -> tuple[Value, Value]:
    """Cost of a message and share of the rate, by least squares of relative errors."""
    design = np.column_stack([np.full_like(free, messages), free - fixed]) / times[:, None]
    target = (times - fixed) / times
    solution, *_ = np.linalg.lstsq(design, target, rcond=None)
    residual = target - design @ solution
    freedom = max(len(times) - 2, 1)
    variance = float(residual @ residual) / freedom
    spread = np.sqrt(np.abs(np.diag(np.linalg.pinv(design.T @ design))) * variance) * _student(freedom)
    cost, slope = (float(value) for value in solution)
    slope = max(slope, 1e-9)
    low, high = slope - spread[1], slope + spread[1]
    share = Value(1 / slope, 1 / high, 1 / low if low > 0 else math.inf)
    return Value(cost, cost - float(spread[0]), cost + float(spread[0])), share


def _student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t, by the expansion of Cornish and Fisher, within 1 % from 3 on."""
    z, n = 1.959964, freedom
    if n < 3:
        return {1: 12.706, 2: 4.303}[n]
    first = (z**3 + z) / (4 * n)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
    return z + first + second + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)


def _smallest(scenario: "Scenario") -> float:
    """The smallest size: a byte in each message."""
    table = scenario.traffic[0]
    return (
        float(table.ranks(scenario.graph).shape[1] * table.channels) if isinstance(table, Collective) else 1.0
    )


def _timed(scenario: "Scenario", size: float) -> tuple[float, int]:
    """The time in us that the first table takes for a size, and the messages that follow each other."""
    from shallows.worlds.runner import run

    changed: dict[str, object] = {"traffic.0.size": SIZE.text(round(size)), "hosts.costs": []}
    if "size" not in type(scenario.traffic[0]).model_fields:
        expected = "a kind with a size, such as all-reduce or incast, whose times were measured"
        raise ScenarioError("traffic[0].kind", scenario.traffic[0].kind, expected)
    finished: Run = run(scenario.changed(changed))
    rows = [row for row in finished.summary["collectives"] if row["traffic"] == 0]
    if rows:
        took, steps = rows[0]["completion_us"], len(rows[0]["steps_us"] or ())
    else:
        took, steps = float(finished.flows["fct_us"][finished.flows["traffic"] == 0].max()), 1
    if took is None or math.isnan(took):
        raise ScenarioError(
            "duration", TIME.text(scenario.duration), f"enough time for {SIZE.text(round(size))}"
        )
    return float(took), steps


def _with_costs(scenario: "Scenario", cost: Value, share: Value) -> "Scenario":
    """The scenario with the costs that are clear."""
    table: dict[str, object] = {}
    if cost.is_clear and cost.value > 0:
        key = "step" if isinstance(scenario.traffic[0], Collective) else "message"
        table[key] = TIME.text(round(float(f"{cost.value:.4g}") * 1e6))
    if share.is_clear and share.value < 1:
        rate = share.value * float(scenario.graph.host_rate_bps.max())
        table["pcie"] = RATE.text(round(float(f"{rate:.4g}")))
    return scenario.changed({"hosts.costs": [table]}) if table else scenario


def _notes(cost: Value, share: Value) -> list[str]:
    notes = [
        "message, queue_pair, step and completion each delay the messages of one table: the times of one "
        "pattern cannot tell them apart"
    ]
    if not cost.is_clear:
        notes.append("the cost of a message cannot be told: its interval exceeds 20 %; measure smaller sizes")
    if not share.is_clear:
        notes.append("the effective rate cannot be told: its interval exceeds 20 %; measure larger sizes")
    if share.is_clear and share.low > 1:
        notes.append("the hardware is faster than the scenario's links: check topology.rate, mtu and header")
    return notes

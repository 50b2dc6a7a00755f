"""Finds the costs of hosts with which a scenario takes the measured times.

A run without costs gives the time t(s) of each size, and of one byte for each message the time L that no size
shortens. Measured times are T(s) = L + n(s) c + (t(s) - L) / e, where n is the number of messages that follow
each other. The cost c of each and the share e of the rate follow from least squares of the relative errors,
with intervals of 95 %. Messages of a test of bandwidth overlap, so that L is no part of their times.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shallows.core.contract import F64
from shallows.errors import ScenarioError
from shallows.fit.measured import TESTS, Measured
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

    traffic: the number of the traffic table. free, fixed: the time of each size without costs, and its part
    L. messages: n of each size. held_out: the largest relative error at every second size when the others
    alone are fitted; None for fewer than six. table: the measurements.
    """

    traffic: int
    kind: str
    table: Measured
    predicted: F64
    free: F64
    fixed: float
    messages: F64
    cost: Value
    share: Value
    held_out: float | None
    notes: list[str]

    @property
    def sizes(self) -> F64:
        """The measured sizes in bytes."""
        return self.table.sizes

    @property
    def measured(self) -> F64:
        """The measured times in us."""
        return self.table.times


def matched(
    scenario: "Scenario", tables: Sequence[Measured], chosen: str | None = None
) -> dict[int, Measured]:
    """The table of each number of traffic that one measures; `chosen` is the test, or the place from 1 on.

    Raises `ScenarioError` for a table of another collective, and for several tables of which none is chosen.
    """
    if chosen is not None:
        mine = [
            table
            for place, table in enumerate(tables, 1)
            if chosen in (str(place), table.test) or (table.test and chosen == TESTS.get(table.test))
        ]
        if len(mine) != 1:
            raise ScenarioError("table", chosen, f"one of {_listed(tables)}")
        tables = mine
    found: dict[int, Measured] = {}
    strange: list[Measured] = []
    for table in tables:
        traffic = next((at for at in range(len(scenario.traffic)) if _is_of(scenario, at, table)), None)
        if traffic is None:
            strange.append(table)
        elif traffic in found:
            expected = f"one table for traffic[{traffic}]: write --table with one of {_listed(tables)}"
            raise ScenarioError("tables", len(tables), expected)
        else:
            found[traffic] = table
    if len(tables) > 1 and strange:
        expected = f"tables of the scenario's traffic: write --table with one of {_listed(tables)}"
        raise ScenarioError("tables", len(tables), expected)
    if strange:
        kinds = ", ".join(dict.fromkeys(table.kind for table in scenario.traffic))
        expected = f"a table of {kinds}, the scenario's traffic{_seen(strange[0])}"
        raise ScenarioError("table", strange[0].name, expected)
    return found


def _is_of(scenario: "Scenario", at: int, table: Measured) -> bool:
    traffic = scenario.traffic[at]
    return table.measures(traffic.kind, isinstance(traffic, Collective))


def _seen(table: Measured) -> str:
    """What the columns of a table without a name say of its test."""
    return "" if table.test or not table.likely else f": by its columns it is of {' or '.join(table.likely)}"


def _listed(tables: Sequence[Measured]) -> str:
    return ", ".join(f"{place}: {table.name}" for place, table in enumerate(tables, 1))


def fit(scenario: "Scenario", table: Measured, traffic: int = 0) -> Fit:
    """Fit the costs of a table of traffic, which runs alone with its size set to each of those measured.

    Raises `ScenarioError` for too few sizes, or for traffic without a size.
    """
    sizes, times = table.sizes, table.times
    if len(set(sizes.tolist())) < LEAST:
        raise ScenarioError("sizes", len(set(sizes.tolist())), f"{LEAST} different sizes or more")
    alone = scenario.changed({"traffic": [scenario.tables["traffic"][traffic]], "hosts.costs": []})
    known = {size: _timed(alone, size) for size in sorted(set(sizes.tolist()))}
    free, messages = np.array([known[size] for size in sizes.tolist()], float).T
    fixed = _timed(alone, _smallest(alone))[0]
    # Overlapping messages take no time of the path: add it, so that one model has both.
    took = times + fixed if table.throughput else times
    cost, share = _solved(free, fixed, messages, took)
    predicted = _model(free, fixed, messages, cost.value, share.value)
    held_out = None
    if len(known) >= 2 * LEAST:
        place = np.searchsorted(np.unique(sizes), sizes)
        mine = place % 2 == 0
        some, of = _solved(free[mine], fixed, messages[mine], took[mine])
        other = _model(free[~mine], fixed, messages[~mine], some.value, of.value)
        held_out = float(np.max(np.abs(other / took[~mine] - 1)))
    kind = scenario.traffic[traffic].kind
    notes = _notes(cost, share, table)
    predicted -= fixed if table.throughput else 0
    return Fit(traffic, kind, table, predicted, free, fixed, messages, cost, share, held_out, notes)


def _model(free: F64, fixed: float, messages: F64, cost: float, share: float) -> F64:
    return fixed + messages * cost + (free - fixed) / share


def _solved(free: F64, fixed: float, messages: F64, times: F64) -> tuple[Value, Value]:
    """Cost of a message and share of the rate, by least squares of relative errors."""
    design = np.column_stack([messages, free - fixed]) / times[:, None]
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
    from shallows.runner import run

    if "size" not in type(scenario.traffic[0]).model_fields:
        expected = "a kind with a size, such as all-reduce or incast, whose times were measured"
        raise ScenarioError("traffic[0].kind", scenario.traffic[0].kind, expected)
    finished: Run = run(scenario.changed({"traffic.0.size": SIZE.text(round(size))}))
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


def with_costs(scenario: "Scenario", found: Sequence[Fit]) -> "Scenario":
    """The scenario with the costs that are clear: the steps of each collective, and one rate of hosts."""
    tables: list[dict[str, object]] = []
    shares = [one.share.value for one in found if one.share.is_clear]
    if shares and max(shares) < 1:
        rate = max(shares) * float(scenario.graph.host_rate_bps.max())
        tables.append({"pcie": RATE.text(round(float(f"{rate:.4g}")))})
    for one in found:
        if not one.cost.is_clear or one.cost.value <= 0 or one.table.throughput:
            continue
        text = TIME.text(round(float(f"{one.cost.value:.4g}") * 1e6))
        if not isinstance(scenario.traffic[one.traffic], Collective):
            tables.append({"message": text})
        elif len(found) > 1:
            tables.append({"step": text, "collectives": [one.kind]})
        else:
            tables.append({"step": text})
    return scenario.changed({"hosts.costs": _joined(tables)}) if tables else scenario


def _joined(tables: list[dict[str, object]]) -> list[dict[str, object]]:
    """One table where none is of certain collectives."""
    if any("collectives" in table for table in tables):
        return tables
    return [{key: value for table in tables for key, value in table.items()}]


def _notes(cost: Value, share: Value, table: Measured) -> list[str]:
    notes = [
        "message, queue_pair, step and completion each delay the messages of one table: the times of one "
        "pattern cannot tell them apart"
    ]
    if table.throughput:
        notes = ["the messages of a test of bandwidth overlap: they tell the effective rate alone, no cost"]
    elif not cost.is_clear:
        notes.append("the cost of a message cannot be told: its interval exceeds 20 %; measure smaller sizes")
    if not share.is_clear:
        notes.append("the effective rate cannot be told: its interval exceeds 20 %; measure larger sizes")
    if share.is_clear and share.low > 1:
        notes.append("the hardware is faster than the scenario's links: check topology.rate, mtu and header")
    return notes

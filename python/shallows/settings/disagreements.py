"""Disagreements of the fluid world and the packet world about the same settings."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shallows.errors import ScenarioError
from shallows.settings.explain import fluid_model

if TYPE_CHECKING:
    from shallows.fluid.model import Model
    from shallows.scenario import Scenario
    from shallows.settings.advise import Candidate
    from shallows.settings.trials import Metric

FAR = 0.2
"""Queues that differ by more than this share disagree."""
NEAR_DEG = 0.5
"""Margins that differ by less are equal."""


def disagreements(
    scenario: "Scenario", ranked: Sequence["Candidate"], own: "Candidate", metric: "Metric"
) -> list[str]:
    """Sentences about the order of settings, their queues, and queues that had no time to settle."""
    return [*_order(ranked, own), *_queues(scenario, ranked[0], metric)]


def _order(ranked: Sequence["Candidate"], own: "Candidate") -> list[str]:
    best, found = ranked[0], list[str]()
    steadiest = max(ranked, key=lambda one: np.nan_to_num(one.worst.degrees, nan=-np.inf))
    if steadiest.worst.degrees > best.worst.degrees + NEAR_DEG or np.isnan(best.worst.degrees):
        found.append(
            f"the fluid model prefers {steadiest.name} ({_degrees(steadiest)}) to {best.name} "
            f"({_degrees(best)}); packets decide"
        )
    if best is own and not own.worst.degrees > 0:
        found.append(
            "in packets the scenario's own settings are the best, but in the fluid model their queue does "
            f"not settle with {own.worst.where}: look at longer runs with such flows"
        )
    return found


def _degrees(one: "Candidate") -> str:
    return "no fixed point" if np.isnan(one.worst.degrees) else f"{one.worst.degrees:.1f} degrees"


def _queues(scenario: "Scenario", best: "Candidate", metric: "Metric") -> list[str]:
    """Whether the queue of long-lived flows is that of the fluid model."""
    if metric.ends:
        return []
    found: list[str] = []
    model = model_alone(scenario.changed(best.settings))
    expected = model.fixed_point().queue_bytes if model else None
    packets = best.measured.metric.mean * 1e3
    if expected and abs(packets / expected - 1) > FAR:
        found.append(
            f"setting {best.name}: the fluid model expects a queue of {expected / 1e3:.1f} KB, packets have "
            f"{packets / 1e3:.1f} KB"
        )
    if not np.isfinite(best.settles_s):
        found.append(f"setting {best.name}: in the fluid model the queue does not settle")
    elif best.settles_s * 1e12 > scenario.warmup_ps:
        found.append(
            f"setting {best.name}: the fluid model needs up to {best.settles_s * 1e3:.3g} ms to settle, and "
            f"the runs measure from {scenario.warmup_ps / 1e9:.3g} ms on: give a longer warmup and duration"
        )
    return found


def model_alone(scenario: "Scenario") -> "Model | None":
    """The fluid model of all flows of `scenario` if they share one port and one algorithm; else None."""
    from shallows.worlds.fluid_path import shared_path

    try:
        path = shared_path(scenario)
    except ScenarioError:
        return None
    model = fluid_model(scenario, path.rate_bps, round(path.base_rtt_s * 1e12))
    if model is None or len(scenario.algorithms) > 1:
        return None
    return replace(model, flows=len(scenario.flows))

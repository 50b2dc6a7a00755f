"""Warnings of a finished run: the numbers are right, but the scenario hardly asks what its author meant.

`Scenario.warnings` holds those that are known before a run. The runner adds these to the summary.
"""

from typing import TYPE_CHECKING

from shallows.warnings import in_step, links, losses, measurement, shares, slow, starved

if TYPE_CHECKING:
    from shallows.results.answer import Answer


def of_run(answer: "Answer") -> list[str]:
    """The warnings of a run: those of its scenario, then those of its results."""
    checks = (
        measurement.nothing_measured,
        measurement.dead_paths,
        measurement.not_begun,
        measurement.unsettled,
        measurement.coarse,
        measurement.not_recorded,
        losses.short_rto_max,
        losses.spurious_timeouts,
        losses.many_losses,
        losses.long_timeouts,
        losses.dropped_in_spite_of_pauses,
        losses.dropped_unmarked,
        links.idle_links,
        shares.unequal_shares,
        starved.starved,
        starved.starved_by_priority,
        in_step.in_step,
        shares.base_with_queue,
        slow.slow_beside_free_links,
        links.several_paths,
        links.slow_links,
    )
    return [*answer.scenario.warnings, *(warning for check in checks for warning in check(answer))]

"""Costs of hosts and the effective rate, from measured times of messages (`shallows fit`)."""

from shallows.fit.search import Fit, fit, matched, with_costs

__all__ = ["Fit", "fit", "matched", "with_costs"]

"""The progress of a run, as every world reports it."""

from collections.abc import Callable

OnProgress = Callable[[int, int, int], None]
"""Callback of a running world: simulated picoseconds, packet-hops, finished flows."""

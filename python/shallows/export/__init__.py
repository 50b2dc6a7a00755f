"""Timelines of a run for other tools: Perfetto, Wireshark, tables (docs/timelines.md)."""

from shallows.export.taps import Taps, of_run

__all__ = ["Taps", "of_run"]

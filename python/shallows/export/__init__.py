"""Timelines of a run for other tools: Perfetto, Wireshark, tables (docs/timelines.md)."""

from shallows.export.taps import Taps

__all__ = ["Taps"]

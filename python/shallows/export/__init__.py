"""Timelines of a run for tools people have: Perfetto, Wireshark, tables (docs/timelines.md)."""

from shallows.export.taps import Taps

__all__ = ["Taps"]

"""Why was this flow slow? The exact critical path of flows of a run (docs/why.md)."""

from shallows.why.causes import CAUSES
from shallows.why.path import Path, Piece
from shallows.why.paths import Paths
from shallows.why.record import Record
from shallows.why.counterfactual import Without

__all__ = ["CAUSES", "Path", "Paths", "Piece", "Record", "Without"]

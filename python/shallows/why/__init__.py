"""Why was this flow slow? The exact critical path of flows of a run (docs/why.md)."""

from shallows.why.causes import CAUSES
from shallows.why.counterfactual import Counterfactual
from shallows.why.path import Path, Piece
from shallows.why.paths import Paths
from shallows.why.record import Record

__all__ = ["CAUSES", "Counterfactual", "Path", "Paths", "Piece", "Record"]

"""The formats of files that `shallows import` reads, and how it recognises them."""

from collections.abc import Callable, Sequence
from pathlib import Path

from shallows.importers import chakra, cm, columns, goal, hpcc, topo
from shallows.importers.content import Parts
from shallows.importers.source import Source

ENDS: dict[str, Callable[[Path, str | None], Parts]] = {
    ".cm": cm.read,
    ".topo": lambda path, unit: topo.read(path),
    ".goal": lambda path, unit: goal.read(path),
    ".csv": columns.read,
    ".parquet": columns.read,
}
"""The readers of files by the end of the name."""
TRACES = (".et", ".json")
"""Ends of the names of Chakra's execution traces, one file a rank, and of their groups of ranks."""
KNOWN = (
    "a name that ends in .cm, .topo, .goal, .et, .json, .csv or .parquet, or the text of a topology "
    "(NODES SWITCHES LINKS), of flows (their number) or of sizes (BYTES PERCENT) of the HPCC simulator"
)


def read_all(paths: Sequence[Path], time_unit: str | None) -> list[Parts]:
    """The parts of all files. Chakra's traces are one part together. Raises `ScenarioError`."""
    traces = [path for path in paths if path.suffix.lower() in TRACES]
    parts = [_read(path, time_unit) for path in paths if path not in traces]
    return [*parts, *([chakra.read(traces)] if traces else [])]


def _read(path: Path, time_unit: str | None) -> Parts:
    reader = ENDS.get(path.suffix.lower())
    return reader(path, time_unit) if reader else _by_content(path)


def _by_content(path: Path) -> Parts:
    """A file of the HPCC simulator, by the number of words in its first lines."""
    source = Source(path)
    rows = source.rows()
    counts = [len(row) for row in rows[:2]]
    if rows and rows[0][0].text == "num_ranks":
        return goal.read(path)
    if counts[:1] == [1] and len(counts) > 1:
        return hpcc.read_flows(path)
    if counts == [2, 2]:
        return hpcc.read_sizes(path)
    if counts and counts[0] in (3, 4, 6, 7) and rows[0][0].text.isdigit():
        return hpcc.read_topology(path)
    source.refuse(rows[0][0] if rows else None, None, KNOWN)

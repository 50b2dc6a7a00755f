"""The formats of files that `shallows import` reads, and how it recognises them."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from shallows.base.garbage import uncollected
from shallows.importers import chakra, cm, columns, goal, hpcc, hpcc_config, simai, topo
from shallows.importers.content import Parts, Reference
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
    "(NODES SWITCHES LINKS), of flows (their number), of sizes (BYTES PERCENT) or of a configuration "
    "(KEY VALUE) of the HPCC simulator, or of a workload of SimAI (HYBRID_TRANSFORMER… or MICRO)"
)


@uncollected()
def read_all(
    paths: Sequence[Path], time_unit: str | None, hosts: Callable[[], int] | None = None
) -> list[Parts]:
    """The parts of all files. Chakra's traces are one part together.

    `hosts` counts those of a network that no file has. Raises `ScenarioError`.
    """
    traces = [path for path in paths if path.suffix.lower() in TRACES]
    others = [path for path in paths if path not in traces]
    texts = [path for path in others if path.suffix.lower() not in ENDS]
    configs = [path for path in texts if hpcc_config.recognises(path)]
    workloads = [path for path in texts if simai.recognises(path)]
    parts = [hpcc_config.read(path) for path in configs]
    traced = {name for part in parts if part.settings for name in part.settings.traced}
    parts += [
        hpcc.read_traced(path) if path.name in traced else _read(path, time_unit)
        for path in others
        if path not in configs and path not in workloads
    ]
    parts += [chakra.read(traces)] if traces else []
    counts = [part.fabric.count for part in parts if part.fabric]
    parts += [simai.read(path, (lambda: counts[0]) if counts else hosts) for path in workloads]
    named = [reference for part in parts for reference in part.references]
    return [*parts, *(_read(path, time_unit) for path in map(partial(_missing, parts), named) if path)]


def _missing(parts: Sequence[Parts], reference: Reference) -> Path | None:
    """The file that a configuration names, None if another file has that part.

    Its path is relative to the folder in which the simulator runs, one of those above the configuration.
    """
    if reference.what == "topology":
        there = any(part.fabric for part in parts)
    else:
        there = any(part.work or part.sizes for part in parts)
    if there:
        return None
    named, own = Path(reference.word.text), reference.source.path
    folders = [Path(), *own.resolve().parents]
    for path in (*(folder / named for folder in folders), own.with_name(named.name)):
        if path.is_file():
            return path
    expected = (
        f"this file of the {reference.what} beside the configuration, or as another FILE of the command"
    )
    reference.source.refuse(reference.word, reference.key, expected)


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
    if counts == [1, 2] and rows[0][0].text[0].isdigit():
        return hpcc.read_sizes(path)
    if counts[:1] == [1] and rows[0][0].text[0].isdigit():
        return hpcc.read_flows(path)
    if counts == [2, 2] and rows[0][0].text[0].isdigit():
        return hpcc.read_sizes(path)
    if counts and counts[0] in (3, 4, 6, 7) and rows[0][0].text.isdigit():
        return hpcc.read_topology(path)
    source.refuse(rows[0][0] if rows else None, None, KNOWN)

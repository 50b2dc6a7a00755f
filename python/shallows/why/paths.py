"""Critical paths of several flows together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from shallows.why import choice, path, record, walk

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from shallows.core.progress import OnProgress
    from shallows.results.run import RunData
    from shallows.why.counterfactual import Counterfactual


class Paths(Mapping[int, path.Path]):
    """The `Path` of each flow by number, with their `Record`."""

    def __init__(self, its_record: record.Record) -> None:
        self.record = its_record
        self._paths = walk.of_record(its_record)

    def __repr__(self) -> str:
        return f"<Paths of flows {', '.join(map(str, self))}>"

    def __getitem__(self, flow: int) -> path.Path:
        return self._paths[flow]

    def __iter__(self) -> Iterator[int]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def by_cause(self) -> dict[str, int]:
        """Picoseconds of all flows by cause, the largest first."""
        return path.together(self.values(), path.Path.by_cause)

    def by_flow(self) -> dict[int, int]:
        """Picoseconds of all flows behind each other flow, the largest first."""
        return path.together(self.values(), path.Path.by_flow)

    def by_port(self, *causes: str) -> dict[int, int]:
        """Picoseconds by port, for these causes or for all, the largest first."""
        return path.together(self.values(), lambda one: one.by_port(*causes))

    def counterfactuals(self, on_progress: "OnProgress | None" = None) -> "dict[int, Counterfactual]":
        """The cost of other flows for each flow: `{flow: Counterfactual}`, from two runs per flow."""
        from shallows.why import counterfactual

        scenario = self.record.scenario
        return {flow: counterfactual.of_path(one, scenario, on_progress) for flow, one in self.items()}

    def table(self) -> "DataFrame":
        """Every piece of every path as a pandas table, for other groupings."""
        import pandas

        names = self.record.names
        rows = [
            (one.flow, *piece[:3], None if piece.port is None else names[piece.port], *piece[4:])
            for one in self.values()
            for piece in one.pieces
        ]
        columns = ["of_flow", "begin_ps", "end_ps", "cause", "port", "flow", "kind", "seq", "base"]
        return pandas.DataFrame(rows, columns=columns).astype({"flow": "Int64"})

    def html(self, file: str | PathLike[str], costs: "Sequence[Counterfactual]" = ()) -> Path:
        """Write a self-contained page of these paths to `file`; return its path.

        `costs` are values of `counterfactuals()` to include.
        """
        from shallows.why import page as report

        return report.write(file, report.of_paths(self, costs))

    def figure(self, size: float = 7.2) -> "Figure":
        """A matplotlib `Figure`, `size` inches wide: the waterfall of one flow, or the causes of many."""
        from shallows.why import figure

        if len(self) == 1:
            return figure.waterfall(next(iter(self.values())), size)
        return figure.tail(self, size)


def of_run(
    run: "RunData",
    flows: Iterable[int] | None = None,
    *,
    on_progress: "OnProgress | None" = None,
    **chosen_by: Unpack[choice.Choice],
) -> "Paths":
    """The `Paths` of these flows of `run`, or of those that `choice.flows` selects.

    Of a selection only as many as fit into memory: `record.left_out` has the rest.
    """
    chosen = choice.flows(run, **chosen_by) if flows is None else list(dict.fromkeys(flows))
    return Paths(record.of_run(run, chosen, on_progress, as_many_as_fit=flows is None))

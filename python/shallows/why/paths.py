"""The paths of several flows together: what made the tail?"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from shallows.why import choice, path, record

if TYPE_CHECKING:
    from shallows.results.run import Run
    from shallows.runner import OnProgress


class Paths(Mapping):
    """`Path` by number of the flow, with the `Record` that they were followed in."""

    def __init__(self, its_record):
        self.record = its_record
        self._paths = path.of_record(its_record)

    def __getitem__(self, flow):
        return self._paths[flow]

    def __iter__(self):
        return iter(self._paths)

    def __len__(self):
        return len(self._paths)

    def by_cause(self):
        """Picoseconds of all flows by cause, the greatest first."""
        return self._sums(lambda one: one.by_cause())

    def by_flow(self):
        """Picoseconds waited behind each other flow, by any of these, the greatest first."""
        return self._sums(lambda one: one.by_flow())

    def by_port(self, *causes):
        """Picoseconds by port, of these causes only if there are any, the greatest first."""
        return self._sums(lambda one: one.by_port(*causes))

    def _sums(self, of):
        sums = {}
        for one in self.values():
            for key, length in of(one).items():
                sums[key] = sums.get(key, 0) + length
        return dict(sorted(sums.items(), key=lambda pair: -pair[1]))

    def without(self, on_progress=None):
        """What the others cost each flow: `{flow: Without}`, from two runs a flow without them."""
        from shallows.why import without

        scenario = self.record.scenario
        return {flow: without.of_path(one, scenario, on_progress) for flow, one in self.items()}

    def table(self):
        """Every piece of every path as a pandas table: what a person would group otherwise."""
        import pandas

        names = self.record.names
        rows = [
            (one.flow, *piece[:3], None if piece.port is None else names[piece.port], *piece[4:])
            for one in self.values()
            for piece in one.pieces
        ]
        columns = ["of_flow", "begin_ps", "end_ps", "cause", "port", "flow", "kind", "seq", "base"]
        return pandas.DataFrame(rows, columns=columns).astype({"flow": "Int64"})

    def html(self, file, costs=()):
        """Write a page of these paths to `file`, one that needs nothing else; return its path.

        `costs` are the values of `without()`, if it shall tell of them.
        """
        from shallows.pages import report

        return report.write(file, report.of_paths(self, costs))

    def figure(self):
        """A matplotlib `Figure`: the waterfall of one flow, or the causes of many."""
        from shallows.why import figure

        if len(self) == 1:
            return figure.waterfall(next(iter(self.values())), self.record)
        return figure.tail(self)


def of_run(
    run: "Run", flows: Iterable[int] | None = None, *, on_progress: "OnProgress | None" = None, **choose: Any
) -> "Paths":
    """The `Paths` of these flows of `run`, or of those that `choice.flows` finds."""
    chosen = choice.flows(run, **choose) if flows is None else list(dict.fromkeys(flows))
    return Paths(record.of_run(run, chosen, on_progress))

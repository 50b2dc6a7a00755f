"""What a row of the table of claims says, before anything runs.

A row names a figure, says in one sentence what it shows, and lists checks on numbers that its function
will measure. Three kinds of check:

    near     the paper's number, with the tolerance that its class allows
    within   a range that the paper states, or that a closed form gives
    below    an order: this number is smaller than that one, by a factor

`within` and `below` may be the figure's shape (`shape=True`, always so for `below`): where all of these pass
and some number does not, the row holds in shape.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, NamedTuple

from shallows.papers.reach import Axis, Reach

if TYPE_CHECKING:
    from shallows.papers.lab import Lab

READ = {
    "text": "printed in the text",
    "figure": "read off a curve",
    "data": "from the plotted data of an author",
    "derived": "from a closed form",
}

CLASSES = {
    "T1": "closed form, or deterministic: 1 to 2 %",
    "T2": "steady state of a packet simulation: 10 to 15 %",
    "T3": "extremes, percentiles, correlations, ratios of a single run of another simulator: 25 to 30 %, and the order",
    "T4": "hardware, a testbed or an emulated kernel: the order, and the order of magnitude",
}
"""Where the paper prints a factor, the class is its tolerance; where it shows an order alone, the order is the check."""


@dataclass(frozen=True)
class Check:
    """`metric` lies from `low` to `high`; with `other`, both are multiples of that metric."""

    metric: str
    low: float = -inf
    high: float = inf
    reported: float | str | None = None
    unit: str = ""
    read: str = "text"
    shape: bool = False
    other: str | None = None
    held_out: bool = False

    def passes(self, means: Mapping[str, float]) -> bool:
        """Whether it holds for `means`, metric -> mean over the seeds."""
        scale = means[self.other] if self.other else 1.0
        low, high = (end * scale if isfinite(end) else end for end in (self.low, self.high))
        return bool(low <= means[self.metric] <= high)

    @property
    def said(self) -> str:
        """The paper's number or words; "" where it shows an order alone."""
        if self.reported is None:
            return ""
        return f"{self.reported:.4g}" if isinstance(self.reported, float) else str(self.reported)

    @property
    def expected(self) -> str:
        """The range in words: "71.9 to 97.3", "0.95 or more", "at most 0.5 times DCTCP"."""
        low, high = self.low, self.high
        of = f" times {self.other}" if self.other else ""
        if self.other and (low, high) == (-inf, 1.0):
            return f"below {self.other}"
        if low == high:
            return f"{low:.4g}{of}"
        if low == -inf:
            return f"at most {high:.4g}{of}"
        if high == inf:
            return f"{low:.4g}{of} or more"
        return f"{low:.4g} to {high:.4g}{of}"


def near(
    metric: str,
    reported: float,
    *,
    rel: float | None = None,
    by: float | None = None,
    unit: str = "",
    read: str = "text",
    held_out: bool = False,
) -> Check:
    """The reported number, to a share of it (`rel`) or by an amount (`by`), both ways."""
    room = abs(reported) * (rel or 0.0) if by is None else by
    return Check(metric, reported - room, reported + room, reported, unit, read, held_out=held_out)


def within(
    metric: str,
    low: float = -inf,
    high: float = inf,
    *,
    reported: float | str | None = None,
    unit: str = "",
    read: str = "text",
    shape: bool = False,
    held_out: bool = False,
) -> Check:
    """A range; `reported` is the paper's own words or number, if it gives one."""
    return Check(metric, low, high, reported, unit, read, shape, held_out=held_out)


def below(
    metric: str,
    other: str,
    factor: float = 1.0,
    *,
    reported: float | str | None = None,
    held_out: bool = False,
) -> Check:
    """`metric` is below `other`: part of the figure's shape.

    factor: 1, the order alone, unless the paper prints how many times; then that, with the tolerance of the class.
    """
    return Check(metric, high=factor, reported=reported, shape=True, other=other, held_out=held_out)


class Plot(NamedTuple):
    """The figure in the paper's form. kind: "line", "points", "steps", "cdf", "bars" or "scatter"."""

    x: str
    y: str
    kind: str = "line"
    x_log: bool = False
    y_log: bool = False
    names: tuple[str, ...] = ()
    """What stands below the bars."""
    guides: tuple[str, ...] = ()
    """Curves that are lines to compare with, such as that of fairness."""
    y_from: float | None = None
    """Where the paper's axis begins, if it says so."""


@dataclass(frozen=True)
class Row:
    """One row of the table. `measure(lab)` runs it for one seed; None where `cannot` says why it is not run."""

    id: str
    figure: str
    claim: str
    tolerance: str
    checks: tuple[Check, ...]
    measure: "Measure | None"
    scenarios: tuple[str, ...] = ()
    differs: str = ""
    why: str = ""
    cannot: str = ""
    seeds: tuple[int, int] = (3, 5)
    plot: Plot | None = None


Measured = Row | Reach
Measure = Callable[["Lab"], None]


class Paper:
    """A paper and its rows, in the order in which the module states them. short: what the report's links call it."""

    def __init__(self, key: str, short: str, title: str, source: str) -> None:
        self.key, self.short, self.title, self.source = key, short, title, source
        self.rows: list[Row] = []
        self.reaches: list[Reach] = []

    def row(
        self,
        id_: str,
        figure: str,
        claim: str,
        *,
        tolerance: str,
        checks: Sequence[Check],
        scenarios: Sequence[str] = (),
        differs: str = "",
        why: str = "",
        seeds: tuple[int, int] = (3, 5),
        plot: Plot | None = None,
    ) -> Callable[[Measure], Measure]:
        """Enters the function below it as a row.

        tolerance: a class of `CLASSES` and, after a colon, what is particular. scenarios: files that it may run;
        none: closed form or fluid. differs: what is known to differ from the paper. why: for a claim that does not
        hold, the evidence. seeds: how many in quick and in full mode.
        """

        def enter(measure: Measure) -> Measure:
            row = Row(
                id_, figure, claim, tolerance, tuple(checks), measure,
                scenarios=tuple(scenarios), differs=differs, why=why, seeds=seeds, plot=plot,
            )  # fmt: skip
            self.rows.append(row)
            return measure

        return enter

    def reach(
        self,
        id_: str,
        headline: str,
        *,
        expected: str,
        axes: tuple[Axis, ...],
        checks: Sequence[Check],
        scenarios: Sequence[str],
        differs: str = "",
    ) -> Callable[[Measure], Measure]:
        """Enters the function below it as the reach of this paper's headline.

        expected: what was thought before it ran. axes and checks: see `reach.Reach`.
        """

        def enter(measure: Measure) -> Measure:
            reach = Reach(id_, headline, expected, axes, tuple(checks), measure, tuple(scenarios), differs)
            self.reaches.append(reach)
            return measure

        return enter

    def cannot(self, id_: str, figure: str, claim: str, why: str) -> None:
        """Enters a row that cannot be tested here, and says why."""
        self.rows.append(Row(id_, figure, claim, "T4", (), None, cannot=why))

"""Figures, claims and bands: what is compared with a paper, stated as data before anything runs.

A `Figure` is one setting of one paper and the function that measures it. All claims of a figure share that
setting, the variants of the algorithms in it, and its runs. A `Claim` is a statement of the paper with bands on
the figure's metrics, and a `Mutation` that makes one of the bands fail. `verdict.judge` decides; nothing else does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from validation.reach import Axis, Reach

if TYPE_CHECKING:
    from validation.lab import Lab

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
    "T4": "hardware, a testbed or an emulated kernel: a factor of 2 to 3, and the order",
}
"""Classes of tolerance, from experiments of the same kind; a claim names its class before it runs."""

DOMAINS = {
    "amount": (0.0, inf),
    "signed": (-inf, inf),
    "share": (0.0, 1.0),
    "percent": (0.0, 100.0),
    "correlation": (-1.0, 1.0),
}
"""All values that a metric can take. A band that contains its metric's whole domain cannot fail."""


class ClaimError(ValueError):
    """A claim that could not fail, or that lacks what a verdict needs."""


@dataclass(frozen=True)
class Band:
    """`metric` lies from `low` to `high`; with `other`, in multiples of that metric.

    order: the band is the form of the figure (which of two is larger, a range), not a number that the paper prints.
    source: where the numbers of the band come from, if not the claim's own source. domain: a key of `DOMAINS`.
    """

    metric: str
    low: float
    high: float
    reported: float | str | None = None
    unit: str = ""
    read: str = "text"
    order: bool = False
    other: str | None = None
    domain: str = "amount"
    source: str = ""

    def __post_init__(self) -> None:
        if not (isfinite(self.low) and isfinite(self.high) and self.low <= self.high):
            raise ClaimError(
                f"{self.metric}: the band {self.low} to {self.high} is not two-sided; write two finite ends"
            )
        least, most = self.limits
        if self.low <= least and self.high >= most:
            raise ClaimError(
                f"{self.metric}: {self.low} to {self.high} holds every possible {self.domain}; write a narrower band"
            )
        if self.other == self.metric:
            raise ClaimError(f"{self.metric} is compared with itself; name another metric")

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of the metric's domain; a ratio of two metrics is an amount."""
        return DOMAINS["amount" if self.other else self.domain]

    def sides(self, sample: Mapping[str, float]) -> tuple[float, float]:
        """How far a sample lies above the band's lower end and below its upper end."""
        scale = sample[self.other] if self.other else 1.0
        value = sample[self.metric]
        return value - self.low * scale, self.high * scale - value

    @property
    def check(self) -> bool:
        """Whether its edges are ours alone: no number, words or order of the paper, and no source. It decides no verdict."""
        return self.reported is None and not (self.order or self.source)

    @property
    def said(self) -> str:
        """The paper's number or words; "" where the paper shows an order alone."""
        if self.reported is None:
            return ""
        return f"{self.reported:.4g}" if isinstance(self.reported, float) else str(self.reported)

    @property
    def expected(self) -> str:
        """The band in words: "71.9 to 97.3", "below DCTCP"."""
        of = f" times {self.other}" if self.other else ""
        if self.other and (self.low, self.high) == (0.0, 1.0):
            return f"below {self.other}"
        if self.low == self.high:
            return f"{self.low:.4g}{of}"
        return f"{self.low:.4g} to {self.high:.4g}{of}"


def near(
    metric: str, reported: float, *, rel: float | None = None, by: float | None = None, **more: Any
) -> Band:
    """The reported number, within a share of it (`rel`) or an amount (`by`) on both sides."""
    if not (rel or by):
        raise ClaimError(f"{metric}: a tolerance is missing; write rel or by")
    width = abs(reported) * rel if rel else by or 0.0
    return Band(metric, reported - width, reported + width, reported, **more)


def within(metric: str, low: float, high: float, **more: Any) -> Band:
    """A range on both sides; `reported` is the paper's own words or number."""
    return Band(metric, low, high, **more)


def below(metric: str, other: str, factor: float = 1.0, *, reported: float | str | None = None) -> Band:
    """An order: `metric` is below `other`, or below a `factor` of it that the paper prints."""
    return Band(metric, 0.0, factor, reported, order=True, other=other)


@dataclass(frozen=True)
class Mutation:
    """A change of one line of an algorithm, or of one number of the setting, under which the band `breaks` must fail.

    The keys of `change` are those of `Lab`: "dx.headroom" (a parameter wherever the algorithm runs), "dx-10:topology.rtt"
    (a key of a scenario), "cc:dx@ns-2" (another algorithm in its place), "input:NAME" (a number that `Lab.input` names).
    """

    change: Mapping[str, Any]
    breaks: str


class Plot(NamedTuple):
    """A figure, or a panel of one, in the paper's form. kind: "line", "stack", "points", "steps", "cdf", "bars" or "scatter"."""

    x: str
    y: str
    kind: str = "line"
    x_log: bool = False
    y_log: bool = False
    names: tuple[str, ...] = ()
    """Labels of the bars."""
    guides: tuple[str, ...] = ()
    """Curves that are reference lines, such as the line of fairness."""
    y_from: float | None = None
    """Lower end of the vertical axis."""
    y_to: float | None = None
    """Its upper end."""
    panel: str = ""
    """Title of a panel. Its curves are those whose labels begin with "TITLE: "."""
    printed: Mapping[str, Sequence[tuple[float, float]]] = {}
    """The paper's points: label -> (x, y). Drawn as hollow marks, in the colour of the curve with the same label."""


@dataclass(frozen=True)
class Claim:
    """A statement of a paper about one of its figures.

    source: where the paper states it. quote: the paper's sentence. check: the paper does not make this statement of what is
    measured here; it is judged like a claim and counted apart. limits: what keeps the test from being the paper's own, such as a
    result that is an input here; such a claim is "in shape" at best. undecided: metric -> the values of disjoint sets of seeds that lie on
    both sides of an edge of its band. differs: what else is known to differ. why: the evidence, if it does not hold.
    """

    id: str
    figure: "Figure"
    text: str
    source: str
    tolerance: str
    bands: tuple[Band, ...]
    mutation: Mutation | None
    quote: str = ""
    check: bool = False
    differs: str = ""
    limits: str = ""
    undecided: Mapping[str, str] = field(default_factory=dict[str, str])
    why: str = ""
    cannot: str = ""

    def __post_init__(self) -> None:
        if self.cannot:
            return
        if self.tolerance.split(":")[0] not in CLASSES:
            raise ClaimError(
                f"{self.id}: tolerance {self.tolerance!r} names no class of {', '.join(CLASSES)}"
            )
        if not self.source or not self.bands or self.mutation is None:
            raise ClaimError(f"{self.id} needs a source, a band and a mutation")
        if self.mutation.breaks not in {band.metric for band in self.bands}:
            raise ClaimError(f"{self.id}: its mutation breaks {self.mutation.breaks!r}, which no band has")
        if all(band.check for band in self.bands) and not self.check:
            raise ClaimError(f"{self.id}: no band has a number, words or an order of the paper, or a source")
        if unknown := set(self.undecided) - {band.metric for band in self.bands}:
            raise ClaimError(f"{self.id}: undecided names {', '.join(sorted(unknown))}, which no band has")


Measure = Callable[["Lab"], None]
LEAST_SEEDS = 20
"""Seeds of a figure in full mode."""


@dataclass(eq=False)
class Figure:
    """A setting and what is measured in it. `measure(lab)` runs it for one seed.

    runs: scenario -> the port that is measured, or "" where flows alone are. seeds: how many in quick mode. setting: what the
    paper prints of it, and which variant of each algorithm is used. nightly: too dear for `--witness`, which takes it from the file.
    """

    paper: "Paper"
    name: str
    title: str
    setting: str
    measure: Measure | None
    runs: Mapping[str, str]
    seeds: int
    plots: tuple[Plot, ...] = ()
    nightly: bool = False
    claims: list[Claim] = field(default_factory=list[Claim])

    @property
    def id(self) -> str:
        """Such as "dx-fig-13a": names files."""
        words = self.name.lower().replace("§", "section-").replace(".", "-").replace(",", "").split()
        return "-".join([self.paper.key, *words]).replace("--", "-").strip("-")

    def count(self, quick: bool) -> int:
        """How many seeds; in full mode at least 20, except of equations, which draw nothing."""
        return self.seeds if quick or (self.seeds == 1 and not self.runs) else max(self.seeds, LEAST_SEEDS)

    def claim(
        self, id_: str, text: str, *, source: str = "", tolerance: str, bands: Sequence[Band], mutation: Mutation,
        quote: str = "", check: bool = False, differs: str = "", limits: str = "", undecided: Mapping[str, str] | None = None, why: str = "",
    ) -> None:  # fmt: skip
        """Adds a claim about this figure; source: the figure's name if absent."""
        one = Claim(
            id_, self, text, source or self.name, tolerance, tuple(bands), mutation,
            quote=quote, check=check, differs=differs, limits=limits, undecided=undecided or {}, why=why,
        )  # fmt: skip
        self.claims.append(one)


Measured = Figure | Reach


class Paper:
    """A paper with its figures. short: its name in links."""

    def __init__(self, key: str, short: str, title: str, source: str) -> None:
        self.key, self.short, self.title, self.source = key, short, title, source
        self.figures: list[Figure] = []
        self.reaches: list[Reach] = []

    @property
    def claims(self) -> list[Claim]:
        """All claims, by number."""
        every = [claim for figure in self.figures for claim in figure.claims]
        return sorted(every, key=lambda claim: int(claim.id.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")))

    def figure(
        self, name: str, title: str, *, setting: str, runs: Mapping[str, str] | None = None,
        seeds: int = 3, plot: Plot | Sequence[Plot] = (), nightly: bool = False,
    ) -> Callable[[Measure], Figure]:  # fmt: skip
        """Makes a `Figure` of the function below it. No runs: closed forms or equations. plot: its form, or those of its panels."""
        plots = (plot,) if isinstance(plot, Plot) else tuple(plot)

        def enter(measure: Measure) -> Figure:
            self.figures.append(
                Figure(self, name, title, setting, measure, runs or {}, seeds, plots, nightly)
            )
            return self.figures[-1]

        return enter

    def reach(
        self, id_: str, headline: str, *, expected: str, axes: tuple[Axis, ...], bands: Sequence[Band],
        runs: Mapping[str, str], differs: str = "",
    ) -> Callable[[Measure], Measure]:  # fmt: skip
        """Adds the function below it as the reach of this paper's headline; see `reach.Reach`."""

        def enter(measure: Measure) -> Measure:
            self.reaches.append(Reach(id_, headline, expected, axes, tuple(bands), measure, runs, differs))
            return measure

        return enter

    def cannot(self, id_: str, figure: str, text: str, why: str, *, check: bool = False) -> None:
        """Adds a claim that cannot be tested, with the reason."""
        empty = Figure(self, figure, text, "", None, {}, 0)
        empty.claims.append(Claim(id_, empty, text, figure, "T4", (), None, check=check, cannot=why))
        self.figures.append(empty)

"""`python -m validation list | run | report | settings | hosts | draw`: five papers, claim by claim."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

import shallows as sh

if TYPE_CHECKING:
    from validation.claim import Claim, Measured
    from validation.reach import Extent
    from validation.store import Sample
    from validation.survey import Outcome
    from validation.verdict import Finding
    from validation.witness import OnFile


class Commands(TyperGroup):
    """The commands. A wrong id, change or file is one message on stderr, with status 2."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (sh.ScenarioError, OSError) as error:
            raise typer.BadParameter(str(error)) from None


app = typer.Typer(
    cls=Commands,
    help="Five papers, claim by claim.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
)

STORE = Path("results", "papers")
Quick = Annotated[bool, typer.Option("--quick", help="Fewer seeds and flows; marked in every output.")]
SeedSet = Annotated[
    int, typer.Option(min=0, help="Another set of seeds, disjoint from all others; 0 is that on file.")
]
Threads = Annotated[int | None, typer.Option(min=1, help="Measurements at a time; all cores if absent.")]
Folder = Annotated[Path, typer.Option("--store", metavar="DIR", help="Where measurements are kept.")]
Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID", help="Claims (DX7), figures (dx-fig-8) or papers (dx); all if absent."),
]


@app.command("list")
def list_(
    ids: Ids = None, json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """List claims with verdict, our interval, the paper's value and the commit, as last recorded."""
    from validation import recorded
    from validation.survey import claims

    content = recorded.load()
    lines = [_line(claim, content) for claim in claims(ids)]
    if json_:
        print(json.dumps(lines, indent=2))
        return
    _table(lines)
    print(recorded.origins(content) if content else "nothing recorded")


def _line(claim: "Claim", content: dict[str, Any]) -> dict[str, str]:
    from validation import recorded

    entry = content.get("claims", {}).get(claim.id)
    band = claim.bands[0] if claim.bands else None
    return {
        "id": claim.id,
        "source": claim.source,
        "verdict": entry["verdict"] if entry else "not recorded",
        "measured": band.metric if band else "",
        "here": recorded.interval(entry, band.metric) if band and entry else "",
        "paper": (band.said or band.expected) if band else "",
        "commit": entry["commit"] if entry else "",
    }


def _table(lines: Sequence[Mapping[str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="")
    for name in ("id", "source", "verdict", "measured", "here", "paper", "commit"):
        table.add_column(name, overflow="fold")
    for line in lines:
        table.add_row(*line.values())
    Console(highlight=False, width=None if sys.stdout.isatty() else 160).print(table)


@app.command()
def run(
    ids: Ids = None,
    quick: Quick = False,
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--perturb",
            metavar="KEY=VALUE",
            help="Change a parameter (dx.headroom) or a key of a scenario (dx-10:topology.rtt).",
        ),
    ] = None,
    seed_set: SeedSet = 0,
    threads: Threads = None,
    store: Folder = STORE,
    witness_: Annotated[
        bool,
        typer.Option(
            "--witness",
            help="Take a figure's other seeds from the file where its first one gives the same as there. With --quick.",
        ),
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure claims, and print their bands."""
    from validation import witness
    from validation.reach import Extent

    if witness_ and (seed_set or change or not quick):
        raise sh.ScenarioError("--witness", "true", "--quick beside it, and no --seed-set or --perturb")
    on_file = witness.load() if witness_ else None
    changes = _changes(change)
    every = _survey(ids, store, quick, threads, seed_set, change=changes, on_file=on_file, to_record=witness_)
    if json_:
        from validation.recorded import of_claim

        found = [finding for finding, _ in every if not isinstance(finding, Extent)]
        print(json.dumps({finding.claim.id: of_claim(finding) for finding in found}, indent=2))
        return
    for finding, _ in every:
        if isinstance(finding, Extent):
            _print_reach(finding)
        else:
            _print(finding)


def _changes(texts: Sequence[str] | None) -> dict[str, str]:
    """{key: value} of KEY=VALUE texts."""
    pairs = [text.partition("=") for text in texts or []]
    for key, _, value in pairs:
        if not (key and value):
            raise sh.ScenarioError("--perturb", key + value, "KEY=VALUE, such as dx.headroom=50us")
    return {key.strip(): value.strip() for key, _, value in pairs}


def _print(finding: "Finding") -> None:
    claim = finding.claim
    print(f"{claim.id}, {claim.source}: {finding.verdict}. {claim.text}")
    for band, ok in finding.checked:
        said = f", the paper {band.said}" if band.said else ""
        here, expected = finding.estimates[band.metric].text, finding.expected(band)
        print(f"  {'yes' if ok else 'NO '} {band.metric}: {here}, expected {expected}{said}")


def _print_reach(found: "Extent") -> None:
    print(f"{found.row.id}: {found.row.headline} {found.summary}")
    for axis, points in found.axes.items():
        for point in points:
            numbers = ", ".join(f"{name} {one.text}" for name, one in point.estimates.items())
            print(f"  {'NO ' if point.missed else 'yes'} {axis.at(point.value)}: {numbers}")


def _survey(
    ids: Sequence[str] | None, store: Path, quick: bool, threads: int | None, seed_set: int = 0, **more: Any
) -> "list[Outcome]":
    from shallows.sweeps.progress import Progress
    from validation.store import Store
    from validation.survey import claims, reaches, survey

    chosen = [*claims(ids), *reaches(ids)]
    kept = Store(store)
    with Progress(unit="measurements") as bar:
        return survey(chosen, kept, quick=quick, threads=threads, seed_set=seed_set, bar=bar, **more)


@app.command()
def report(
    ids: Ids = None,
    quick: Quick = False,
    seed_set: SeedSet = 0,
    threads: Threads = None,
    store: Folder = STORE,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page.")] = Path("results", "papers.html"),
    record: Annotated[
        bool, typer.Option("--record", help="Record the findings, and update the documentation.")
    ] = False,
    witness_: Annotated[
        bool,
        typer.Option(
            "--witness",
            help="Measure one seed of each figure but the nightly ones, and all of those where it gives another sample than on file; with --record, other values. With --quick.",
        ),
    ] = False,
) -> None:
    """Measure what is missing, write one self-contained HTML page, and print the claims that fail.

    The status is 1 if a verdict or the side of a band differs from the one on file.
    """
    from validation import PAPERS, recorded, witness
    from validation.page import page
    from validation.reach import Extent
    from validation.verdict import FAILS

    if record and seed_set:
        raise sh.ScenarioError(
            "--seed-set", str(seed_set), "0 with --record: the file has that set's findings"
        )
    if witness_ and (seed_set or not quick):
        raise sh.ScenarioError("--witness", "true", "--quick beside it, and no --seed-set")
    on_file = witness.load() if witness_ else None
    every = _survey(ids, store, quick, threads, seed_set, on_file=on_file, to_record=record)
    results = {one.claim.id: (one, samples) for one, samples in every if not isinstance(one, Extent)}
    extents = [(one, samples) for one, samples in every if isinstance(one, Extent)]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page(PAPERS, results, sh.__version__, quick, extents), "utf-8")
    if record:
        from validation.documentation import picture

        _record([finding for finding, _ in every], sh.__version__, quick)
        picture(results)
        if quick:
            rows = [row.id for paper in PAPERS for row in (*paper.figures, *paper.reaches)]
            found = {row.id: samples for row, samples in _by_row(every)}
            witness.save({**witness.load(), **witness.entries(found)}, rows)
    findings = [finding for finding, _ in results.values()]
    verdicts = [finding.verdict for finding in findings]
    for finding in findings:
        if finding.verdict == FAILS:
            _print(finding)
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    print(f"{counts}: {out}")
    if witness_ and not record:
        _print_witnesses(on_file or {}, every)
    changed = recorded.changed(recorded.load(), findings)
    for finding, before in changed:
        print(f"{finding.claim.id}: {finding.verdict}, on file: {before}")
        if finding.verdict != FAILS:
            _print(finding)
    if changed:
        raise typer.Exit(1)


def _print_witnesses(on_file: "OnFile", every: "Sequence[Outcome]") -> None:
    from validation import witness

    rows = _by_row(every)
    taken = [row.id for row, _ in rows if witness.kept(on_file, row)]
    tried = {row.id: samples for row, samples in rows if row.id not in taken}
    if moved := witness.moved(on_file, tried):
        print(f"first seeds unlike those on file, so that all seeds were measured: {', '.join(moved)}")
    if taken:
        print(f"measured by nightly checks alone: {', '.join(taken)}")


def _by_row(every: "Sequence[Outcome]") -> "list[tuple[Measured, list[Sample]]]":
    """The figures and reaches, each once, with their samples."""
    from validation.reach import Extent

    rows = ((one.row if isinstance(one, Extent) else one.claim.figure, samples) for one, samples in every)
    return list({row.id: (row, samples) for row, samples in rows if samples}.values())


def _record(found: "Sequence[Finding | Extent]", commit: str, quick: bool) -> None:
    from validation import recorded
    from validation.documentation import write

    content, kept = recorded.record(recorded.load(), found, commit, quick)
    recorded.save(content)
    write(content)
    if kept:
        print(f"{', '.join(kept)}: left on file as full mode found it")


@app.command()
def mutations(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Tables of mutations.toml; all if absent.")
    ] = None,
    draw_: Annotated[int, typer.Option("--draw", min=0, help="How many to draw, where none is named.")] = 0,
    seed: Annotated[
        int | None, typer.Option(help="What draws them; a new one, which is printed, if absent.")
    ] = None,
    parts: Annotated[
        str, typer.Option("--only", metavar="PART", help='"tests" or "claims"; both if absent.')
    ] = "",
    threads: Threads = None,
) -> None:
    """Change an equation at a time, run its tests, measure the claims about it, and write docs/mutations.md.

    The status is 1 if no test fails, or if fewer claims notice a change than the list says.
    """
    from secrets import randbelow

    from validation.mutations import PAGE, Outcome, choose, run, write

    if parts not in ("", "tests", "claims"):
        raise sh.ScenarioError("--only", parts, "tests or claims")
    seed = randbelow(10**6) if seed is None else seed
    outcomes: list[Outcome] = []
    chosen = choose(names, draw_, seed)
    if draw_ and not names:
        print(f"seed {seed}: {', '.join(one.name for one in chosen)}", flush=True)
    for outcome in run(chosen, threads, measures=parts != "tests", tests=parts != "claims"):
        if not parts:
            write([outcome])
        outcomes.append(outcome)
        print(outcome.row, end="", flush=True)
    seen, tested = sum(bool(one.notice) for one in outcomes), sum(one.tested is True for one in outcomes)
    print(f"{seen} of {len(chosen)} mutations noticed by claims, {tested} by tests: {PAGE}")
    if not all(one.as_listed for one in outcomes if not parts) or any(
        one.tested is False for one in outcomes
    ):
        raise typer.Exit(1)


@app.command()
def settings(
    ids: Ids = None,
    draw_: Annotated[int, typer.Option("--draw", min=0, help="How many to draw; all if 0.")] = 0,
    seed: Annotated[
        int | None, typer.Option(help="What draws them; a new one, which is printed, if absent.")
    ] = None,
) -> None:
    """Print settings of figures, and for each number the sentence of the paper, or why it has this value."""
    from secrets import randbelow

    from validation.settings import draw, explained, load
    from validation.survey import claims, figures

    chosen = [figure for figure in figures(claims(ids)) if figure.setting]
    if draw_:
        seed = randbelow(10**6) if seed is None else seed
        print(f"seed {seed}")
        chosen = draw(chosen, draw_, seed)
    known = load()
    for figure in chosen:
        print(f"\n{figure.paper.short}, {figure.name}: {figure.setting}")
        for number, row in explained(figure, known).items():
            print(f"  {number}: {row.source if row else 'no row of settings.toml'}")


@app.command()
def hosts(
    record: Annotated[
        bool, typer.Option("--record", help="Keep the numbers, and update the documentation.")
    ] = False,
) -> None:
    """Measure this machine as a host, beside what the papers print of theirs. Takes some 15 s."""
    from validation.hosts import measure, table
    from validation.hosts import record as keep

    found = measure()
    print(table(found), end="")
    if record:
        keep(found)


@app.command()
def draw(
    ids: Ids = None,
    quick: Quick = False,
    threads: Threads = None,
    store: Folder = STORE,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the figures.")] = Path(
        "results", "figures"
    ),
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="png, svg or pdf.")] = "png",
) -> None:
    """Draw the papers' figures from our runs of one seed, with the printed points as hollow marks."""
    from shallows.sweeps.progress import Progress
    from validation.drawn import FORMATS, save
    from validation.store import Store
    from validation.survey import claims, figures, firsts

    if form not in FORMATS:
        raise sh.ScenarioError("--format", form, "png, svg or pdf")
    chosen = [figure for figure in figures(claims(ids)) if figure.plots]
    with Progress(unit="figures") as bar:
        samples = firsts(chosen, Store(store), quick=quick, threads=threads, bar=bar)
    paths = save(((figure, [samples[figure.id]]) for figure in chosen), out, form)
    print(f"{len(paths)} figures: {out}")

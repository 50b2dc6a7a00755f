"""The tables of claims in docs/, and the pages of figures, made from the findings on file.

A table stands between `<!-- papers: NAME -->` and `<!-- end -->`; text outside is left alone.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from validation import recorded, settings, statements
from validation.verdict import VERDICTS

if TYPE_CHECKING:
    from validation.claim import Band, Claim, Figure, Paper
    from validation.recorded import Content
    from validation.survey import Results

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures" / "papers"
KEYS = ("dx", "expresspass", "poster", "ecn-or-delay", "inigo")
PAGES = ("docs/papers.md", *(f"docs/papers/{key}.md" for key in (*KEYS, "settings")))
PICTURE = ROOT / "docs" / "figures" / "papers.png"
PICTURED = {
    "DX1": "DX, Fig. 1: what marks tell of the queue",
    "DX3": "DX, Fig. 2: what the round trip tells",
    "PO1": "the poster, Fig. 1: windows of one packet",
}
_MARKED = re.compile(r"(<!-- papers: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def write(content: "Content") -> None:
    """Updates the tables of the pages."""
    for page in PAGES:
        path = ROOT / page
        if path.exists():
            path.write_text(rendered(path.read_text("utf-8"), content), "utf-8")


def picture(results: "Results") -> None:
    """Draws the figure of docs/evidence.md from {claim id: (`Finding`, samples)}, if its claims are among them."""
    if not set(PICTURED) <= set(results):
        return
    from shallows.plot import Drawing
    from validation.figures import draw_on

    figure = Drawing((10.5, 3.2))
    with figure.styled():
        for axes, (id_, title) in zip(figure.subplots(1, len(PICTURED)), PICTURED.items(), strict=True):
            finding, samples = results[id_]
            draw_on(axes, finding.claim.figure.plots[0], samples[0]["series"])
            axes.set_title(title)
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None})


def rendered(text: str, content: "Content") -> str:
    """A page's text with its tables made anew."""
    return _MARKED.sub(lambda found: found[1] + _table(found[2], content) + found[3], text)


def _table(name: str, content: "Content") -> str:
    from validation import PAPERS

    if name == "summary":
        return _summary(PAPERS, content)
    if name == "reach":
        return _reach(PAPERS, content)
    if name == "statements":
        return statements.table(content)
    if name == "settings":
        return settings.table(PAPERS)
    if name == "failures":
        return _failures(PAPERS, content)
    return _figures(next(paper for paper in PAPERS if paper.key == name), content)


def _summary(papers: "Sequence[Paper]", content: "Content") -> str:
    lines = ["| paper | claims | " + " | ".join(VERDICTS) + " |", "|---|---|" + "---|" * len(VERDICTS)]
    total = dict.fromkeys(VERDICTS, 0)
    for paper in papers:
        counts = _counts([claim for claim in paper.claims if not claim.check], content)
        total = {verdict: total[verdict] + n for verdict, n in zip(VERDICTS, counts, strict=True)}
        lines.append(_row(paper.title, counts))
    lines.append(f"| all | {sum(total.values())} | " + " | ".join(str(n) for n in total.values()) + " |")
    checks = _counts([claim for paper in papers for claim in paper.claims if claim.check], content)
    lines.append(_row("checks, which are in no paper", checks))
    entries = [content["claims"][claim.id] for paper in papers for claim in paper.claims]
    drawn = sum(len(entry["passed"]) for entry in entries if entry["seeds"] > 1)
    unsure = sum(len(entry.get("open", {})) for entry in entries)
    named = sum(len(claim.undecided) for paper in papers for claim in paper.claims)
    counts = f"Of {drawn} bands that are judged over seeds {unsure} are open and {named} undecided."
    return "\n".join(lines) + f"\n\n{counts} Claims measured: {recorded.origins(content)}.\n"


def _counts(claims: "Sequence[Claim]", content: "Content") -> list[int]:
    found = [content["claims"][claim.id]["verdict"] for claim in claims]
    return [found.count(verdict) for verdict in VERDICTS]


def _row(title: str, counts: Sequence[int]) -> str:
    return f"| {title} | {sum(counts)} | " + " | ".join(str(n or "") for n in counts) + " |"


def _reach(papers: "Sequence[Paper]", content: "Content") -> str:
    lines = ["| headline | its reach |", "|---|---|"]
    for reach in (reach for paper in papers for reach in paper.reaches):
        lines.append(f"| {reach.headline} | {content['reaches'][reach.id]['summary']} |")
    return "\n".join(lines) + "\n"


def _failures(papers: "Sequence[Paper]", content: "Content") -> str:
    """The claims that do not hold, and why."""
    lines = ["| claim | statement | reason |", "|---|---|---|"]
    for claim in (claim for paper in papers for claim in paper.claims):
        if content["claims"][claim.id]["verdict"] == VERDICTS[2] and not claim.check:
            lines.append(f"| {claim.id}, {claim.source} | {claim.text} | {claim.why} |")
    return "\n".join(lines) + "\n"


def _figures(paper: "Paper", content: "Content") -> str:
    """Each figure of a paper: picture, setting, and a table of its claims."""
    return "\n".join(_figure(figure, content) for figure in paper.figures)


def _figure(figure: "Figure", content: "Content") -> str:
    parts = [f"## {figure.name}: {figure.title}\n"]
    if figure.plots:
        parts.append(f"![{figure.title}](../figures/papers/{figure.id}.png)\n")
    if figure.setting:
        ports = ", ".join(f"`{port}`" for port in sorted({port for port in figure.runs.values() if port}))
        parts.append(f"Setting: {figure.setting}" + f" Measured port: {ports}." * bool(ports) + "\n")
    for kind, checks in (("claim", False), ("check, which is in no paper", True)):
        those = [claim for claim in figure.claims if claim.check == checks]
        lines = [f"| | {kind} | here, and the paper | verdict |", "|---|---|---|---|"] if those else []
        lines += [_claim(claim, content["claims"][claim.id]) for claim in those]
        parts += [*lines, ""] if lines else []
    notes = [f"{one.id}. {text}" for one in figure.claims for text in _notes(one, content["claims"][one.id])]
    return "\n".join(parts + [f"{note}\n" for note in notes])


def _notes(claim: "Claim", entry: Mapping[str, Any]) -> list[str]:
    unsure = recorded.open_bands(entry.get("open", {}), entry["seeds"])
    quote = f'The paper: "{claim.quote}"' if claim.quote else ""
    return [
        text
        for text in (
            quote,
            claim.limits,
            *claim.undecided.values(),
            unsure,
            claim.differs,
            claim.why,
            claim.cannot,
        )
        if text
    ]


def _claim(claim: "Claim", entry: Mapping[str, Any]) -> str:
    numbers = "; ".join(filter(None, (_numbers(band, entry) for band in _worth(claim, entry))))
    return f"| {claim.id} | {claim.text} | {numbers} | {entry['verdict']} |"


def _worth(claim: "Claim", entry: Mapping[str, Any]) -> "list[Band]":
    """The bands to show: those that fail, then the first with a number of the paper; three at most."""
    failed = [band for band, ok in zip(claim.bands, entry["passed"], strict=True) if not ok]
    others = [band for band in claim.bands if band.reported is not None and band not in failed]
    return [*failed, *(others or [band for band in claim.bands if band not in failed])][:3]


def _numbers(band: "Band", entry: Mapping[str, Any]) -> str:
    said = f" ({band.said})" if band.said else ""
    expected = f" (expected {band.expected}{', a check' if band.check else ''})"
    unit = f" {band.unit}" if band.unit else ""
    return f"{band.metric} {recorded.interval(entry, band.metric)}{unit}{said or expected}"

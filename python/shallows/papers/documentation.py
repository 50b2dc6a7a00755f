"""The tables of claims in README.md and docs/*.md, made from the findings on file, and the README's figure of them.

A table stands between `<!-- papers: NAME -->` and `<!-- end -->`; what is outside is left alone.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.papers import recorded
from shallows.papers.verdict import VERDICTS

if TYPE_CHECKING:
    from shallows.papers.claim import Check, Paper, Row
    from shallows.papers.recorded import Content
    from shallows.papers.survey import Results

ROOT = Path(__file__).parents[3]
PAGES = ("README.md", "docs/papers.md", "docs/windows.md", "docs/rates.md", "docs/credits.md")
PICTURE = ROOT / "docs" / "figures" / "papers.png"
PICTURED = {
    "DX1": "DX, Fig. 1: what marks tell of the queue",
    "DX3": "DX, Fig. 2: what the round trip tells",
    "PO1": "the poster, Fig. 1: windows of one packet",
}
_MARKED = re.compile(r"(<!-- papers: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_TICK = dict(zip(VERDICTS, ("✓", "in shape", "no", "cannot be tested"), strict=True))


def write(content: "Content") -> None:
    """Puts the tables of `content` into the pages."""
    for page in PAGES:
        path = ROOT / page
        if path.exists():
            path.write_text(rendered(path.read_text("utf-8"), content), "utf-8")


def picture(results: "Results") -> None:
    """Draws the README's figure from {id: (`Finding`, samples)}, where its rows were measured."""
    if not set(PICTURED) <= set(results):
        return
    from matplotlib.figure import Figure

    from shallows.papers.figures import draw_on

    figure = Figure(figsize=(10.5, 3.2), layout="constrained")
    for axes, (id_, title) in zip(figure.subplots(1, len(PICTURED)), PICTURED.items(), strict=True):
        finding, samples = results[id_]
        draw_on(axes, finding.row, samples)
        axes.set_title(title, fontsize=9)
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None})


def rendered(text: str, content: "Content") -> str:
    """A page's text with its tables made anew."""
    return _MARKED.sub(lambda found: found[1] + _table(found[2], content) + found[3], text)


def _table(name: str, content: "Content") -> str:
    from shallows.papers import PAPERS

    if name == "summary":
        return _summary(PAPERS, content)
    if name == "reach":
        return _reach(PAPERS, content)
    return _claims(next(paper for paper in PAPERS if paper.key == name), content)


def _summary(papers: "Sequence[Paper]", content: "Content") -> str:
    lines = ["| paper | claims | " + " | ".join(VERDICTS) + " |", "|---|---|" + "---|" * len(VERDICTS)]
    total = dict.fromkeys(VERDICTS, 0)
    for paper in papers:
        found = [content["rows"][row.id]["verdict"] for row in paper.rows]
        counts = [found.count(verdict) for verdict in VERDICTS]
        total = {verdict: total[verdict] + n for verdict, n in zip(VERDICTS, counts, strict=True)}
        lines.append(f"| {paper.title} | {len(found)} | " + " | ".join(str(n or "") for n in counts) + " |")
    lines.append(f"| all | {sum(total.values())} | " + " | ".join(str(n) for n in total.values()) + " |")
    return "\n".join(lines) + f"\n\nRows measured: {recorded.origins(content)}.\n"


def _reach(papers: "Sequence[Paper]", content: "Content") -> str:
    lines = ["| headline | its reach |", "|---|---|"]
    for reach in (reach for paper in papers for reach in paper.reaches):
        lines.append(f"| {reach.headline} | {content['reaches'][reach.id]['summary']} |")
    return "\n".join(lines) + "\n"


def _claims(paper: "Paper", content: "Content") -> str:
    lines = ["| | figure | claim | here, and the paper | |", "|---|---|---|---|---|"]
    for row in paper.rows:
        entry = content["rows"][row.id]
        numbers = "; ".join(filter(None, (_numbers(check, entry) for check in _worth(row, entry))))
        lines.append(f"| {row.id} | {row.figure} | {row.claim} | {numbers} | {_TICK[entry['verdict']]} |")
    return "\n".join(lines) + "\n"


def _worth(row: "Row", entry: Mapping[str, Any]) -> "list[Check]":
    """The checks to show: those that fail, then the first that have a number of the paper, three at most."""
    failed = [check for check, ok in zip(row.checks, entry["passed"], strict=True) if not ok]
    others = [check for check in row.checks if check.reported is not None and check not in failed]
    return [*failed, *others][:3]


def _numbers(check: "Check", entry: Mapping[str, Any]) -> str:
    said = f" ({check.said})" if check.said else ""
    unit = f" {check.unit}" if check.unit else ""
    return f"{check.metric} {recorded.interval(entry, check.metric)}{unit}{said or f' (expected {check.expected})'}"

"""The report: one HTML file with everything in it, for a browser without a network, a phone, or paper."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from shallows.pages.chart import chart
from shallows.pages.document import document
from shallows.papers.claim import CLASSES, READ
from shallows.papers.figures import draw, draw_reach
from shallows.papers.verdict import CANNOT, FAILS, HOLDS, SHAPE, VERDICTS

if TYPE_CHECKING:
    from shallows.papers.claim import Check, Paper, Row
    from shallows.papers.reach import Extent
    from shallows.papers.survey import Results, Sample
    from shallows.papers.verdict import Finding

_TAG = {HOLDS: "holds", SHAPE: "shape", FAILS: "fails", CANNOT: "cannot"}

_STYLE = """
table { width: 100%; } td:first-child, td:last-child { min-width: 0 !important; } .number { text-align: left; }
.chart { max-width: 36rem; } .chart.across { max-width: none; }
.tag { display: inline-block; border-radius: .25rem; padding: 0 .45rem; font-size: .8rem; white-space: nowrap; }
.holds { background: #dcefe3; color: #1d5c38; } .shape { background: #fbf0cf; color: #6b5200; }
.fails { background: #f8ddd7; color: #8a2c17; } .cannot { background: #e6eaec; color: #44525a; }
"""


def page(
    papers: "Sequence[Paper]",
    results: "Results",
    commit: str,
    quick: bool,
    extents: "Sequence[tuple[Extent, Sequence[Sample]]]" = (),
) -> str:
    """The HTML of `results`, {id: (`Finding`, samples)}, of rows of `papers`, and of `extents`, (`Extent`, samples)."""
    shown = [paper for paper in papers if any(row.id in results for row in paper.rows)]
    links = {
        "summary": "Summary",
        **{paper.key: paper.short for paper in shown},
        **({"reach": "How far it reaches"} if extents else {}),
        "not": "What does not hold",
    }
    parts = [
        _summary(shown, results, commit, quick),
        *(_paper(paper, results) for paper in shown),
        _reaches(extents) if extents else "",
        _not(shown, results),
    ]
    return document("Shallows and five papers", links, parts, _STYLE)


def _tag(verdict: str) -> str:
    return f'<span class="tag {_TAG[verdict]}">{verdict}</span>'


def _summary(papers: "Sequence[Paper]", results: "Results", commit: str, quick: bool) -> str:
    head = "".join(f"<th>{verdict}</th>" for verdict in VERDICTS)
    lines: list[str] = []
    for paper in papers:
        found = [results[row.id][0].verdict for row in paper.rows if row.id in results]
        cells = "".join(f"<td class=number>{found.count(verdict) or ''}</td>" for verdict in VERDICTS)
        lines.append(f'<tr><td><a href="#{paper.key}">{escape(paper.title)}</a></td>{cells}</tr>')
    every = [finding.verdict for finding, _ in results.values()]
    total = "".join(f"<th>{every.count(verdict)}</th>" for verdict in VERDICTS)
    mode = "Quick mode: fewer seeds and flows than in full mode." if quick else "Full mode."
    classes = "".join(f"<li>{name}: {escape(text)}</li>" for name, text in CLASSES.items())
    return f"""<section id="summary"><h1>Shallows and five papers</h1>
<p>Every figure and number that these papers report, run in their own setting. Each claim was written down before it ran, with its
tolerance; the numbers alone decide the verdict. <strong>{mode}</strong> Commit {escape(commit)}.</p>
<div class="wide"><table><tr><th>paper</th>{head}</tr>{"".join(lines)}<tr><th>all</th>{total}</tr></table></div>
<p class="soft">A claim <em>holds</em> if every check passes; it <em>holds in shape</em> if every order and range of the figure does and some number
does not. A mean of several seeds has its 95 % interval. Classes of tolerance:</p><ul class="soft">{classes}</ul></section>"""


def _paper(paper: "Paper", results: "Results") -> str:
    rows = [row for row in paper.rows if row.id in results]
    table = "".join(
        f'<tr><td><a href="#{row.id}">{row.id}</a></td><td>{escape(row.figure)}</td><td>{escape(row.claim)}</td>'
        f"<td>{_tag(results[row.id][0].verdict)}</td></tr>"
        for row in rows
    )
    articles = "\n".join(_article(row, *results[row.id]) for row in rows)
    return f"""<section id="{paper.key}"><h2>{escape(paper.title)}</h2><p class="soft">{escape(paper.source)}</p>
<div class="wide"><table><tr><th>id</th><th>figure</th><th>claim</th><th>verdict</th></tr>{table}</table></div></section>
{articles}"""


def _article(row: "Row", finding: "Finding", samples: "Sequence[Sample]") -> str:
    head = f"{row.id}, {escape(row.figure)} {_tag(finding.verdict)}"
    parts = [f'<article id="{row.id}"><h3>{head}</h3><p>{escape(row.claim)}</p>']
    if row.cannot:
        return "".join([*parts, f"<p>{escape(row.cannot)}</p></article>"])
    figure = draw(row, samples)
    if figure:
        parts.append(f"<figure>{chart(figure, row.id, row.claim)}</figure>")
    parts.append(_checks(finding))
    parts.append(f'<p class="soft">Tolerance: {escape(row.tolerance)}. {_seeds(samples)}</p>')
    if row.differs:
        parts.append(f"<p><strong>Differs.</strong> {escape(row.differs)}</p>")
    if row.why:
        parts.append(f"<p><strong>Why.</strong> {escape(row.why)}</p>")
    return "".join([*parts, _runs(samples), "</article>"])


def _runs(samples: "Sequence[Sample]") -> str:
    if not samples[0]["ran"]:
        return ""
    shown = "\n".join(dict.fromkeys(samples[0]["ran"]))
    return f"<details><summary>Runs of seed 1</summary><pre>{escape(shown)}</pre></details>"


def _seeds(samples: "Sequence[Sample]") -> str:
    return f"{len(samples)} seeds." if len(samples) > 1 else "One run."


def _checks(finding: "Finding") -> str:
    lines = "".join(_check(finding, check, ok) for check, ok in finding.checked)
    head = "".join(f"<th>{name}</th>" for name in ("measured", "here", "the paper", "expected", ""))
    return f'<div class="wide"><table><tr>{head}</tr>{lines}</table></div>'


def _check(finding: "Finding", check: "Check", ok: bool) -> str:
    name = check.metric + f", {check.unit}" * bool(check.unit) + " (held out)" * check.held_out
    said = escape(check.said)
    if said and check.read != "text":
        said += f' <span class="soft">{READ[check.read]}</span>'
    return (
        f"<tr><td>{escape(name)}</td><td class=number>{finding.estimates[check.metric].text}</td><td>{said}</td>"
        f"<td>{escape(finding.expected(check))}</td><td>{'✓' if ok else '✗'}</td></tr>"
    )


def _reaches(extents: "Sequence[tuple[Extent, Sequence[Sample]]]") -> str:
    articles = "\n".join(_reach(found, samples) for found, samples in extents)
    return f"""<section id="reach"><h2>How far the headlines reach</h2><p>One condition at a time is moved away from the paper's own, which
is shaded. A filled mark is a point where the check holds, a hollow one where it does not; dashed is the bound. What was expected was
written before the runs.</p></section>
{articles}"""


def _reach(found: "Extent", samples: "Sequence[Sample]") -> str:
    reach = found.row
    bounds = "; ".join(f"{check.metric}: {check.expected}" for check in reach.checks)
    parts = [f'<article id="{reach.id}"><h3>{escape(reach.headline)}</h3>']
    picture = chart(draw_reach(found), reach.id, reach.headline, kind="across")
    parts.append(f"<p><strong>{escape(found.summary)}</strong></p><figure>{picture}</figure>")
    parts.append(f"<p><strong>Expected.</strong> {escape(reach.expected)}</p>")
    parts.append(f'<p class="soft">Checks: {escape(bounds)}. {escape(reach.differs)} {_seeds(samples)}</p>')
    return "".join([*parts, _runs(samples), "</article>"])


def _not(papers: "Sequence[Paper]", results: "Results") -> str:
    findings = (results[row.id][0] for paper in papers for row in paper.rows if row.id in results)
    articles = "".join(_missed(finding) for finding in findings if finding.verdict != HOLDS)
    return f'<section id="not"><h2>What does not hold, and why</h2>{articles}</section>'


def _missed(finding: "Finding") -> str:
    row = finding.row
    numbers = "".join(
        f"<li>{escape(check.metric)}: {finding.estimates[check.metric].text}, expected {escape(check.expected)}</li>"
        for check, ok in finding.checked
        if not ok
    )
    head = f'<a href="#{row.id}">{row.id}, {escape(row.figure)}</a> {_tag(finding.verdict)}'
    because = escape(row.why or row.cannot or row.differs)
    return (
        f'<article id="not-{row.id}"><h3>{head}</h3>'
        f"<p>{escape(row.claim)}</p><ul>{numbers}</ul><p>{because}</p></article>"
    )

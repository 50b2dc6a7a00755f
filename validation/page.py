"""The report: one self-contained HTML file, for a browser without a network, a phone, or paper."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from shallows.pages.chart import chart
from shallows.pages.document import document
from validation.claim import CLASSES, READ
from validation.figures import draw, draw_reach
from validation.recorded import open_bands
from validation.verdict import CANNOT, FAILS, HOLDS, SHAPE, VERDICTS

if TYPE_CHECKING:
    from validation.claim import Band, Claim, Figure, Paper
    from validation.reach import Extent
    from validation.store import Sample
    from validation.survey import Results
    from validation.verdict import Finding

_TAG = {HOLDS: "holds", SHAPE: "shape", FAILS: "fails", CANNOT: "cannot"}

_STYLE = """
section, article { scroll-margin-top: 5rem; } table { width: 100%; } .chart { max-width: 36rem; } .chart.across { max-width: none; }
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
    """The HTML of `results`, {claim id: (`Finding`, samples)}, and of `extents`, (`Extent`, samples).

    Quick mode, which checks verdicts, draws no figure: all of them take 10 s.
    """
    shown = [paper for paper in papers if any(claim.id in results for claim in paper.claims)]
    links = {
        "summary": "Summary",
        **{paper.key: paper.short for paper in shown},
        **({"reach": "How far it reaches"} if extents else {}),
        "not": "What does not hold",
    }
    parts = [
        _summary(shown, results, commit, quick),
        *(_paper(paper, results, quick) for paper in shown),
        _reaches(extents, quick) if extents else "",
        _not(shown, results),
    ]
    return document("Shallows and five papers", links, parts, _STYLE)


def _tag(verdict: str) -> str:
    return f'<span class="tag {_TAG[verdict]}">{verdict}</span>'


def _summary(papers: "Sequence[Paper]", results: "Results", commit: str, quick: bool) -> str:
    head = "".join(f"<th>{verdict}</th>" for verdict in VERDICTS)
    lines: list[str] = []
    for paper in papers:
        found = [
            results[claim.id][0].verdict for claim in paper.claims if claim.id in results and not claim.check
        ]
        cells = "".join(f"<td class=number>{found.count(verdict) or ''}</td>" for verdict in VERDICTS)
        lines.append(f'<tr><td><a href="#{paper.key}">{escape(paper.title)}</a></td>{cells}</tr>')
    every = [finding.verdict for finding, _ in results.values() if not finding.claim.check]
    checks = sum(finding.claim.check for finding, _ in results.values())
    total = "".join(f"<th>{every.count(verdict)}</th>" for verdict in VERDICTS)
    mode = "Quick mode: fewer seeds and flows than in full mode, no figures." if quick else "Full mode."
    classes = "".join(f"<li>{name}: {escape(text)}</li>" for name, text in CLASSES.items())
    return f"""<section id="summary"><h1>Shallows and five papers</h1>
<p>The figures and numbers that five papers report, measured in the papers' settings. Each claim and its bands were stated before the
runs, and one function decides the verdict. <strong>{mode}</strong> Commit {escape(commit)}.</p>
<div class="wide"><table><tr><th>paper</th>{head}</tr>{"".join(lines)}<tr><th>all</th>{total}</tr></table></div>
<p class="soft">A claim <em>holds</em> if the whole 95 % interval of every metric lies inside its band, in the paper's setting. It is <em>in shape</em> if
every order passes but a number or the setting does not. Besides, {checks} checks on statements that are in no paper are not counted. Classes of tolerance:</p><ul class="soft">{classes}</ul></section>"""


def _paper(paper: "Paper", results: "Results", quick: bool) -> str:
    claims = [claim for claim in paper.claims if claim.id in results]
    table = "".join(
        f'<tr><td><a href="#{one.id}">{one.id}</a></td><td>{escape(one.source)}</td><td>{escape(one.text)}</td>'
        f"<td>{_tag(results[one.id][0].verdict)}</td></tr>"
        for one in claims
    )
    figures = [figure for figure in paper.figures if any(one.id in results for one in figure.claims)]
    articles = "\n".join(_figure(figure, results, quick) for figure in figures)
    return f"""<section id="{paper.key}"><h2>{escape(paper.title)}</h2><p class="soft">{escape(paper.source)}</p>
<div class="wide"><table><tr><th>id</th><th>source</th><th>claim</th><th>verdict</th></tr>{table}</table></div></section>
{articles}"""


def _figure(figure: "Figure", results: "Results", quick: bool) -> str:
    found = [results[claim.id] for claim in figure.claims if claim.id in results]
    samples = found[0][1]
    parts = [f'<article id="{figure.id}"><h3>{escape(figure.name)}: {escape(figure.title)}</h3>']
    if figure.setting:
        parts.append(f"<p>{escape(figure.setting)}</p>")
    if ports := sorted({port for port in figure.runs.values() if port}):
        parts.append(f'<p class="soft">Measured port: {escape(", ".join(ports))}. {_seeds(samples)}</p>')
    picture = None if quick else draw(figure, samples)
    if picture:
        parts.append(f"<figure>{chart(picture, figure.id, figure.title)}</figure>")
    parts += [_claim(finding) for finding, _ in found]
    return "".join([*parts, _runs(samples), "</article>"])


def _claim(finding: "Finding") -> str:
    claim = finding.claim
    parts = [
        f'<section id="{claim.id}"><h4>{claim.id} {_tag(finding.verdict)}</h4><p>{escape(claim.text)}</p>'
    ]
    if claim.cannot:
        return "".join([*parts, f"<p>{escape(claim.cannot)}</p></section>"])
    parts.append(_bands(finding))
    parts.append(f'<p class="soft">Tolerance: {escape(claim.tolerance)}. {_mutation(claim)}</p>')
    if claim.quote:
        parts.append(f"<blockquote>{escape(claim.quote)}</blockquote>")
    notes = {
        "Limits": claim.limits,
        "Seeds": _unsure(finding),
        "Differs": claim.differs,
        "Why": claim.why,
    }
    parts += [f"<p><strong>{word}.</strong> {escape(text)}</p>" for word, text in notes.items() if text]
    return "".join([*parts, "</section>"])


def _unsure(finding: "Finding") -> str:
    seeds = max((len(one.values) for one in finding.estimates.values()), default=0)
    return " ".join(filter(None, (*finding.claim.undecided.values(), open_bands(finding.open, seeds))))


def _mutation(claim: "Claim") -> str:
    if claim.mutation is None:
        return ""
    change = ", ".join(f"{key} = {value}" for key, value in claim.mutation.change.items())
    return f"Fails with {escape(change)}: {escape(claim.mutation.breaks)}."


def _runs(samples: "Sequence[Sample]") -> str:
    if not samples or not samples[0]["ran"]:
        return ""
    shown = "\n".join(dict.fromkeys(samples[0]["ran"]))
    return f"<details><summary>Runs of the first seed</summary><pre>{escape(shown)}</pre></details>"


def _seeds(samples: "Sequence[Sample]") -> str:
    return f"{len(samples)} seeds." if len(samples) > 1 else "One run."


def _bands(finding: "Finding") -> str:
    lines = "".join(_band(finding, band, ok) for band, ok in finding.checked)
    head = "".join(f"<th>{name}</th>" for name in ("measured", "here", "the paper", "band", ""))
    return f'<div class="wide"><table><tr>{head}</tr>{lines}</table></div>'


def _band(finding: "Finding", band: "Band", ok: bool) -> str:
    name = band.metric + f", {band.unit}" * bool(band.unit)
    said = escape(band.said)
    where = (
        band.source or ("" if band.read == "text" else READ[band.read]) or ("a check" if band.check else "")
    )
    if where:
        said += f' <span class="soft">{escape(where)}</span>'
    return (
        f"<tr><td>{escape(name)}</td><td class=number>{finding.estimates[band.metric].text}</td><td>{said}</td>"
        f"<td>{escape(finding.expected(band))}</td><td>{'✓' if ok else '✗'}</td></tr>"
    )


def _reaches(extents: "Sequence[tuple[Extent, Sequence[Sample]]]", quick: bool) -> str:
    articles = "\n".join(_reach(found, samples, quick) for found, samples in extents)
    return f"""<section id="reach"><h2>How far the headlines reach</h2><p>One condition at a time is varied. The paper's own value is shaded. A
filled mark is a point where the band holds, a hollow one where it does not; dashed lines are the band. The expectation was written
before the runs.</p></section>
{articles}"""


def _reach(found: "Extent", samples: "Sequence[Sample]", quick: bool) -> str:
    reach = found.row
    bounds = "; ".join(f"{band.metric}: {band.expected}" for band in reach.bands)
    parts = [f'<article id="{reach.id}"><h3>{escape(reach.headline)}</h3>']
    parts.append(f"<p><strong>{escape(found.summary)}</strong></p>")
    if not quick:
        parts.append(f"<figure>{chart(draw_reach(found), reach.id, reach.headline, kind='across')}</figure>")
    parts.append(f"<p><strong>Expected.</strong> {escape(reach.expected)}</p>")
    parts.append(f'<p class="soft">Bands: {escape(bounds)}. {escape(reach.differs)} {_seeds(samples)}</p>')
    return "".join([*parts, _runs(samples), "</article>"])


def _not(papers: "Sequence[Paper]", results: "Results") -> str:
    findings = (results[claim.id][0] for paper in papers for claim in paper.claims if claim.id in results)
    articles = "".join(_missed(finding) for finding in findings if finding.verdict != HOLDS)
    return f'<section id="not"><h2>What does not hold, and why</h2>{articles}</section>'


def _missed(finding: "Finding") -> str:
    claim = finding.claim
    numbers = "".join(
        f"<li>{escape(band.metric)}: {finding.estimates[band.metric].text}, expected {escape(band.expected)}</li>"
        for band, ok in finding.checked
        if not ok
    )
    head = f'<a href="#{claim.id}">{claim.id}, {escape(claim.source)}</a> {_tag(finding.verdict)}'
    because = escape(claim.why or claim.cannot or claim.limits or _unsure(finding) or claim.differs)
    return (
        f'<article id="not-{claim.id}"><h3>{head}</h3>'
        f"<p>{escape(claim.text)}</p><ul>{numbers}</ul><p>{because}</p></article>"
    )

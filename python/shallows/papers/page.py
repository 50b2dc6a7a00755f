"""The report: one HTML file with everything in it, for a browser without a network, a phone, or paper."""

from html import escape

from shallows.papers.claim import CLASSES, READ
from shallows.papers.figures import draw
from shallows.papers.verdict import CANNOT, FAILS, HOLDS, SHAPE, VERDICTS

_TAG = {HOLDS: "holds", SHAPE: "shape", FAILS: "fails", CANNOT: "cannot"}

_STYLE = """
:root { --ink: #1b2226; --soft: #5c6b73; --line: #d9dfe2; --back: #ffffff; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back); margin: 0 auto; max-width: 62rem;
  padding: 0 1rem 4rem; }
html { scroll-padding-top: 3.5rem; }
h1 { font-size: 1.6rem; margin: 1.5rem 0 .3rem; } h2 { font-size: 1.3rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1.05rem; margin: 0 0 .3rem; } p { margin: .4rem 0; }
nav { position: sticky; top: 0; background: var(--back); border-bottom: 1px solid var(--line); padding: .5rem 0; overflow-x: auto;
  white-space: nowrap; }
nav a { margin-right: 1rem; } a { color: #0b5fa5; text-decoration: none; } a:hover { text-decoration: underline; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; } th, td { text-align: left; vertical-align: top;
  padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); } th { color: var(--soft); font-weight: 600; }
td.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } .soft { color: var(--soft); font-size: .9rem; }
.tag { display: inline-block; border-radius: .25rem; padding: 0 .45rem; font-size: .8rem; white-space: nowrap; }
.holds { background: #dcefe3; color: #1d5c38; } .shape { background: #fbf0cf; color: #6b5200; }
.fails { background: #f8ddd7; color: #8a2c17; } .cannot { background: #e6eaec; color: #44525a; }
article { border-top: 1px solid var(--line); padding: 1.2rem 0; scroll-margin-top: 3rem; }
section { scroll-margin-top: 3rem; } svg { max-width: 100%; height: auto; } figure { margin: .5rem 0; }
pre { background: #f4f6f7; padding: .6rem; overflow-x: auto; font-size: .8rem; } summary { cursor: pointer; color: var(--soft); }
@media (max-width: 40rem) { body { font-size: 15px; } th, td { padding-right: .4rem; } }
@media print { nav { position: static; } article { break-inside: avoid; } details > * { display: block; } }
"""


def page(papers, results, commit, quick):
    """The HTML of `results`, {id: (`Finding`, samples)}, of rows of `papers`."""
    shown = [paper for paper in papers if any(row.id in results for row in paper.rows)]
    links = [f'<a href="#{paper.key}">{escape(_short(paper))}</a>' for paper in shown]
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Shallows and five papers</title><style>{_STYLE}</style></head><body>",
        '<nav><a href="#summary">Summary</a>'
        + "".join(links)
        + '<a href="#not">What does not hold</a></nav>',
        _summary(shown, results, commit, quick),
        *(_paper(paper, results) for paper in shown),
        _not(shown, results),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _short(paper):
    return {
        "dx": "DX",
        "expresspass": "ExpressPass",
        "poster": "Poster",
        "ecn-or-delay": "ECN or Delay",
        "inigo": "Inigo",
    }[paper.key]


def _tag(verdict):
    return f'<span class="tag {_TAG[verdict]}">{verdict}</span>'


def _summary(papers, results, commit, quick):
    head = "".join(f"<th>{verdict}</th>" for verdict in VERDICTS)
    lines = []
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


def _paper(paper, results):
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


def _article(row, finding, samples):
    parts = [
        f'<article id="{row.id}"><h3>{row.id}, {escape(row.figure)} {_tag(finding.verdict)}</h3><p>{escape(row.claim)}</p>'
    ]
    if row.cannot:
        return "".join([*parts, f"<p>{escape(row.cannot)}</p></article>"])
    picture = draw(row, samples)
    if picture:
        parts.append(f"<figure>{picture}</figure>")
    parts.append(_checks(row, finding))
    parts.append(f'<p class="soft">Tolerance: {escape(row.tolerance)}.')
    parts.append(f" {_seeds(samples)}</p>")
    if row.differs:
        parts.append(f"<p><strong>Differs.</strong> {escape(row.differs)}</p>")
    if row.why:
        parts.append(f"<p><strong>Why.</strong> {escape(row.why)}</p>")
    if samples[0]["ran"]:
        shown = "\n".join(dict.fromkeys(samples[0]["ran"]))
        parts.append(f"<details><summary>Runs of seed 1</summary><pre>{escape(shown)}</pre></details>")
    return "".join([*parts, "</article>"])


def _seeds(samples):
    return f"{len(samples)} seeds." if len(samples) > 1 else "One run."


def _checks(row, finding):
    lines = []
    for check, ok in zip(row.checks, finding.passed, strict=True):
        found = finding.estimates[check.metric].text
        beside = f" ({finding.estimates[check.other].text})" if check.other else ""
        said = "" if check.reported is None else str(_plain(check.reported))
        source = f' <span class="soft">{READ[check.read]}</span>' if said and check.read != "text" else ""
        name = (
            check.metric
            + (f", {check.unit}" if check.unit else "")
            + (" (held out)" if check.held_out else "")
        )
        lines.append(
            f"<tr><td>{escape(name)}</td><td class=number>{found}</td><td>{escape(said)}{source}</td>"
            f"<td>{escape(check.expected + beside)}</td><td>{'✓' if ok else '✗'}</td></tr>"
        )
    return (
        '<div class="wide"><table><tr><th>measured</th><th>here</th><th>the paper</th><th>expected</th><th></th></tr>'
        + "".join(lines)
        + "</table></div>"
    )


def _plain(reported):
    return f"{reported:.4g}" if isinstance(reported, float) else reported


def _not(papers, results):
    lines = []
    for paper in papers:
        for row in paper.rows:
            if row.id not in results or results[row.id][0].verdict in (HOLDS,):
                continue
            finding = results[row.id][0]
            missed = (
                [c for c, ok in zip(row.checks, finding.passed, strict=True) if not ok]
                if finding.passed
                else []
            )
            numbers = "".join(
                f"<li>{escape(c.metric)}: {finding.estimates[c.metric].text}, expected {escape(c.expected)}</li>"
                for c in missed
            )
            because = escape(row.why or row.cannot or row.differs)
            lines.append(
                f'<article id="not-{row.id}"><h3><a href="#{row.id}">{row.id}, {escape(row.figure)}</a> {_tag(finding.verdict)}</h3>'
                f"<p>{escape(row.claim)}</p><ul>{numbers}</ul><p>{because}</p></article>"
            )
    return f'<section id="not"><h2>What does not hold, and why</h2>{"".join(lines)}</section>'

"""The page of a judgement: one HTML file, which needs no network."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shallows.base import names
from shallows.html.document import document, html, section
from shallows.judging import report
from shallows.printing.report import plain_table

if TYPE_CHECKING:
    from shallows.judging.family import Family
    from shallows.judging.judgement import Failure, Judgement
    from shallows.judging.verdict import Judged
    from shallows.printing.report import Part

NOTES = [
    "A row passes if every number is within its bounds with every seed, fails if one is outside with every "
    "seed, and is open if seeds disagree. A number without a rule is reported and fails nothing. A baseline "
    "without numbers does not fit the row.",
    "± is Student's 95 % interval of the mean over seeds; differences are paired, seed by seed. One seed has "
    "none.",
]


def of(found: "Judgement") -> str:
    """The HTML of the page of a judgement."""
    title = f"{found.plan.subject.label}, judged"
    families = list({one.family.name: one.family for one in found.rows}.values())
    sections = {
        "verdicts": ("Verdicts", html(["\n".join(report.header(found)), report.matrix(found.rows), *NOTES])),
        **{one.name: (f"{one.name}: {one.title}", _family(one, found.rows)) for one in families},
    }
    if found.worst:
        sections["worst"] = ("The worst row", html(report.of_worst(found.worst)))
    if found.failures:
        sections["failures"] = ("Failures", "".join(map(_failure, found.failures)))
    sections["criteria"] = (
        "Criteria of RFC 9743",
        html([_criteria(families, found.rows), report.NOT_MEASURED]),
    )
    links = {key: name for key, (name, _) in sections.items()}
    bodies = [section(key, name, body) for key, (name, body) in sections.items()]
    return document(title, links, [f"<h1>{names.html(title)}</h1>", *bodies])


def _family(family: "Family", rows: "Sequence[Judged]") -> str:
    """Every check of every row of a family."""
    columns = ["number", "value", "allowed", "verdict", "baselines", "less the baselines'"]
    table = plain_table("row", columns, left=["number", "verdict", "baselines", "less the baselines'"])
    for one in (row for row in rows if row.family is family):
        if not one.checks:
            table.add_row(one.row.name, one.note, "", "", one.verdict, "", "")
        for check in one.checks:
            shown = [check.check.name, report.value(check), report.allowed(check), check.verdict]
            table.add_row(one.row.name, *shown, report.baselines(check), report.differences(check))
    parts: list[Part] = [family.shows, table]
    return html(parts)


def _failure(one: "Failure") -> str:
    """The scenario of a failure, and the account of the flow that suffers."""
    title = f"{one.row.family.name} {one.row.row.name}"
    note = f"<p>{names.html(one.row.note)}</p>" if one.row.note else ""
    scenario = (
        f"<details><summary>{names.html(one.file)}</summary><pre>{names.html(one.scenario)}</pre></details>"
    )
    account = f"<pre>{names.html(one.account)}</pre>"
    return f"<article><h3>{names.html(title)}</h3>{note}{account}{scenario}</article>"


def _criteria(families: "Sequence[Family]", rows: "Sequence[Judged]") -> "Part":
    table = plain_table(
        "family", ["criterion", "strength", "verdicts"], left=["criterion", "strength", "verdicts"]
    )
    for family in families:
        verdicts = [one.verdict for one in rows if one.family is family]
        counts = ", ".join(f"{verdicts.count(word)} {word}" for word in dict.fromkeys(verdicts))
        table.add_row(family.name, family.criterion, "MUST" if family.must else "reported", counts)
    return table

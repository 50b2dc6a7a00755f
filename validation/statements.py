"""The main statements of each paper: of its abstract, introduction and conclusion, each with the claims that judge it or the reason why none does.

The list is statements.toml. It measures nothing.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from validation.recorded import Content

LIST = Path(__file__).with_name("statements.toml")


@dataclass(frozen=True)
class Statement:
    """A statement. paper: the key of the paper. place: where the paper makes it. quote: its words. why: the reason, without claims."""

    paper: str
    place: str
    quote: str
    claims: tuple[str, ...] = ()
    why: str = ""


def load() -> list[Statement]:
    """The statements, paper by paper, in the paper's order."""
    tables = tomllib.loads(LIST.read_text("utf-8"))
    return [
        Statement(paper, one["place"], one["quote"], tuple(one.get("claims", ())), one.get("why", ""))
        for paper, rows in tables.items()
        for one in rows
    ]


def table(content: "Content") -> str:
    """All statements with the verdicts of their claims, those with a claim that does not hold first."""
    from validation import PAPERS
    from validation.verdict import FAILS

    short = {paper.key: paper.short for paper in PAPERS}

    def verdicts(one: Statement) -> list[str]:
        return [content["claims"][id_]["verdict"] for id_ in one.claims]

    lines = ["| paper, place | statement | claims |", "|---|---|---|"]
    for one in sorted(load(), key=lambda one: FAILS not in verdicts(one)):
        judged = ", ".join(f"{id_} {said}" for id_, said in zip(one.claims, verdicts(one), strict=True))
        lines.append(f'| {short[one.paper]}, {one.place} | "{one.quote}" | {judged or one.why} |')
    return "\n".join(lines) + "\n"

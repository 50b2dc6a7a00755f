"""The numbers of each setting, each with the sentence of the paper that prints it, or with the reason of a choice and its range.

The list is settings.toml. It measures nothing.
"""

import random
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from validation.claim import Figure, Paper

LIST = Path(__file__).with_name("settings.toml")
_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?(?:/\d+)?"
_SERIES = rf"{_NUMBER}(?:(?:, | to | and | or | \+ ){_NUMBER})*"
_UNIT = r"(?:Gbps|Mbps|us|ms|s|packets|packets a port|KB|MB|B|%|flows|hosts|servers|switches|senders)"
_WORD = r"(?:two|three|four|five|six|seven|eight|nine|ten|twenty|forty)"
_COUNTED = r"(?:flows|senders|hosts|seconds|packets|pings|runs a seed)"
PATTERN = re.compile(
    rf"(?<![\w.@-]){_SERIES} {_UNIT}(?!\w)|\b[KgR] = {_NUMBER}(?: and {_NUMBER})?|\b{_WORD} {_COUNTED}\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Number:
    """A number of settings. figures: the names of those that have it; all that do, if empty. Either place and quote, or choice."""

    paper: str
    number: str
    figures: tuple[str, ...] = ()
    place: str = ""
    quote: str = ""
    choice: str = ""

    def of(self, figure: "Figure", number: str) -> bool:
        """Whether it is this number of this figure's setting."""
        return (
            figure.paper.key == self.paper
            and number == self.number
            and (not self.figures or figure.name in self.figures)
        )

    @property
    def source(self) -> str:
        """The sentence and its place, or the reason of the choice."""
        return f'{self.place}: "{self.quote}"' if self.quote else f"not printed: {self.choice}"


def load() -> list[Number]:
    """The numbers, paper by paper."""
    tables = tomllib.loads(LIST.read_text("utf-8"))
    return [
        Number(paper, **(one | {"figures": tuple(one.get("figures", ()))}))
        for paper, rows in tables.items()
        for one in rows
    ]


def numbers(figure: "Figure") -> list[str]:
    """The numbers with their units in a figure's setting, in its order."""
    return list(dict.fromkeys(_lower_first(found.group()) for found in PATTERN.finditer(figure.setting)))


def explained(figure: "Figure", known: Iterable[Number]) -> dict[str, Number | None]:
    """Each number of a figure's setting with its row of the list, None where it has none. Rows that name figures come first."""
    rows = sorted(known, key=lambda row: not row.figures)
    return {number: next((row for row in rows if row.of(figure, number)), None) for number in numbers(figure)}


def draw(chosen: Sequence["Figure"], count: int, seed: int) -> list["Figure"]:
    """`count` of the figures, which the seed draws, in their order."""
    drawn = random.Random(seed).sample(range(len(chosen)), min(count, len(chosen)))
    return [chosen[i] for i in sorted(drawn)]


def table(papers: "Sequence[Paper]") -> str:
    """The numbers of each paper, with the figures that have them."""
    known = load()
    parts: list[str] = []
    for paper in papers:
        figures: dict[Number, list[str]] = {}
        for figure in paper.figures:
            for row in explained(figure, known).values():
                if row is not None:
                    figures.setdefault(row, []).append(figure.name)
        lines = [
            f"## {paper.title}\n",
            "| number | figures | where the paper prints it, or why it is chosen |",
            "|---|---|---|",
        ]
        lines += [f"| {row.number} | {'; '.join(names)} | {row.source} |" for row, names in figures.items()]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _lower_first(text: str) -> str:
    """A number in words as within a sentence; "K = 65" stays."""
    return text[0].lower() + text[1:] if text[1].isalpha() else text

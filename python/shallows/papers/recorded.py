"""Findings on file: what the last survey of each row found, at which commit, and in which mode.

`shallows papers report --record` writes the file; of some rows only, the others stay. `shallows papers list`, the
documentation and the README read it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shallows.papers import verdict
from shallows.papers.reach import Extent
from shallows.papers.verdict import Finding

Content = dict[str, Any]
"""What the file holds: of each row its verdict and means, and how far each headline reaches."""
FILE = Path(__file__).with_name("recorded.json")


def record(
    content: Content, found: Iterable[Finding | Extent], commit: str, quick: bool
) -> tuple[Content, list[str]]:
    """`content` of the file with what `found` says, and the ids that it leaves as they are.

    found: `Finding`s and `Extent`s. In quick mode they leave what full mode has found: it had more seeds and flows.
    """
    origin = {"commit": commit, "mode": "quick" if quick else "full"}
    kept: list[str] = []
    content = {part: dict(content.get(part, {})) for part in ("rows", "reaches")}
    for one in found:
        part, entry = ("reaches", _reach(one)) if isinstance(one, Extent) else ("rows", _row(one))
        if quick and content[part].get(one.row.id, origin)["mode"] == "full":
            kept.append(one.row.id)
        else:
            content[part][one.row.id] = origin | entry
    return content, kept


def _row(found: Finding) -> dict[str, Any]:
    return {
        "verdict": found.verdict,
        "passed": list(found.passed),
        "means": {name: [_short(one.mean), _short(one.half)] for name, one in found.estimates.items()},
        "seeds": len(next(iter(found.estimates.values())).values) if found.estimates else 0,
    }


def _reach(found: Extent) -> dict[str, Any]:
    """The sentence, and the mean of every check at every point."""
    return {
        "summary": found.summary,
        "points": {
            axis.at(point.value): {name: _short(one.mean) for name, one in point.estimates.items()}
            for axis, points in found.axes.items()
            for point in points
        },
    }


def load() -> Content:
    """The findings on file, {} where there are none."""
    return json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}


def save(content: Content) -> None:
    """Puts `record`'s content on file."""
    FILE.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", "utf-8")


def origins(content: Content) -> str:
    """Such as "75 in quick mode at commit 1e5e74a, 1 in full mode at commit d4ef2d2", the most rows first."""
    found = Counter((entry["mode"], entry["commit"]) for entry in content["rows"].values())
    sources = (f"{n} in {mode} mode at commit {commit}" for (mode, commit), n in found.most_common())
    return ", ".join(sources)


def interval(entry: Mapping[str, Any], metric: str) -> str:
    """Such as "84.3 ± 0.2", or "" of what was not measured."""
    return verdict.interval(*entry["means"][metric]) if metric in entry["means"] else ""


def _short(value: float) -> float:
    return float(f"{value:.5g}")

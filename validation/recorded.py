"""Findings on file: of each claim its verdict and estimates, with the commit and the mode that gave them.

`python -m validation report --record` writes the file; claims that were not measured stay as they are. `python -m validation list`
and the documentation read it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from validation import verdict
from validation.reach import Extent
from validation.verdict import Finding

Content = dict[str, Any]
"""claims: id -> verdict and estimates. reaches: id -> summary and points."""
FILE = Path(__file__).with_name("recorded.json")


def record(
    content: Content, found: Iterable[Finding | Extent], commit: str, quick: bool
) -> tuple[Content, list[str]]:
    """`content` of the file updated by `found`, and the ids that it leaves as they are.

    found: `Finding`s and `Extent`s. Quick mode does not replace findings of full mode, which has more seeds and flows.
    """
    origin = {"commit": commit, "mode": "quick" if quick else "full"}
    kept: list[str] = []
    content = {part: dict(content.get(part, {})) for part in ("claims", "reaches")}
    for one in found:
        part, entry = ("reaches", _reach(one)) if isinstance(one, Extent) else ("claims", of_claim(one))
        if quick and content[part].get(_id(one), origin)["mode"] == "full":
            kept.append(_id(one))
        else:
            content[part][_id(one)] = origin | entry
    return content, kept


def changed(content: Content, found: Iterable[Finding]) -> list[tuple[Finding, str]]:
    """The findings whose verdict, or the side of a band, is not the one on file, each with what was on file.

    The side of a band that seeds leave undecided, or that is open on file, may change.
    """
    on_file: Content = content.get("claims", {})
    return [(one, was) for one in found if (was := _was(one, on_file.get(one.claim.id)))]


def _was(one: Finding, entry: Mapping[str, Any] | None) -> str:
    """What the file has that differs, "" where it is the same."""
    if entry is None:
        return "nothing"
    verdict_now = one.verdict
    if len(entry["passed"]) != len(one.passed):
        parts = [f"{len(entry['passed'])} bands"]
    else:
        sides = list(zip(one.claim.bands, entry["passed"], one.passed, strict=True))
        unsure = entry.get("open", {})
        parts = [
            f"{band.metric} {'inside' if before else 'outside'} its band"
            for band, before, now in sides
            if before != now and band.metric not in one.claim.undecided and band.metric not in unsure
        ]
        if one.passed:
            as_on_file = [before if band.metric in unsure else now for band, before, now in sides]
            verdict_now = verdict.summary(one.claim, as_on_file, one.touching, unsure)
    if entry["verdict"] != verdict_now:
        parts.insert(0, entry["verdict"])
    return f"{', '.join(parts)}, in {entry['mode']} mode at commit {entry['commit']}" if parts else ""


def _id(found: Finding | Extent) -> str:
    return found.row.id if isinstance(found, Extent) else found.claim.id


def of_claim(found: Finding) -> dict[str, Any]:
    """What the file has of a claim."""
    return {
        "verdict": found.verdict,
        "passed": list(found.passed),
        "means": {name: [_short(one.mean), _short(one.half)] for name, one in found.estimates.items()},
        "seeds": len(next(iter(found.estimates.values())).values) if found.estimates else 0,
        **(
            {"open": {metric: round(chance, 2) for metric, chance in found.open.items()}}
            if found.open
            else {}
        ),
    }


def _reach(found: Extent) -> dict[str, Any]:
    """The summary, and the mean of every metric at every point."""
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
    """Writes the file."""
    FILE.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", "utf-8")


def origins(content: Content) -> str:
    """Such as "75 in quick mode at commit 1e5e74a, 1 in full mode at commit d4ef2d2", most first."""
    found = Counter((entry["mode"], entry["commit"]) for entry in content["claims"].values())
    sources = (f"{n} in {mode} mode at commit {commit}" for (mode, commit), n in found.most_common())
    return ", ".join(sources)


def open_bands(chances: Mapping[str, float], seeds: int) -> str:
    """A sentence about open bands: metric -> the probability of the other side. "" without any."""
    texts = (f"{metric} ({100 * chance:.0f} %)" for metric, chance in chances.items())
    those = ", ".join(texts)
    return (
        f"Open, with the probability that {seeds} other seeds lie on the other side of the band: {those}."
        if those
        else ""
    )


def interval(entry: Mapping[str, Any], metric: str) -> str:
    """Such as "84.3 ± 0.2", or "" if the metric was not measured."""
    return verdict.interval(*entry["means"][metric]) if metric in entry["means"] else ""


def _short(value: float) -> float:
    return float(f"{value:.5g}")

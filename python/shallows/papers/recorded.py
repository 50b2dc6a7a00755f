"""Findings on file: what the last survey of each row found, at which commit, and in which mode.

`shallows papers report --record` writes the file; of some rows only, the others stay. `shallows papers list`, the
documentation and the README read it.
"""

import json
from collections import Counter
from pathlib import Path

from shallows.papers import verdict

FILE = Path(__file__).with_name("recorded.json")


def record(findings, commit, quick, before=None):
    """The content of the file after `before`, with what `findings` say."""
    rows = {
        found.row.id: {
            "commit": commit,
            "mode": "quick" if quick else "full",
            "verdict": found.verdict,
            "passed": list(found.passed),
            "means": {name: [_short(one.mean), _short(one.half)] for name, one in found.estimates.items()},
            "seeds": len(next(iter(found.estimates.values())).values) if found.estimates else 0,
        }
        for found in findings
    }
    return {**(before or {}), "rows": {**(before or {}).get("rows", {}), **rows}}


def record_reaches(extents, commit, quick, before):
    """The same with what `extents` say: the sentence, and the mean of every check at every point."""
    reaches = {
        found.row.id: {
            "commit": commit,
            "mode": "quick" if quick else "full",
            "summary": found.summary,
            "points": {
                axis.at(point.value): {name: _short(one.mean) for name, one in point.estimates.items()}
                for axis, points in found.axes.items()
                for point in points
            },
        }
        for found in extents
    }
    return {**before, "reaches": {**before.get("reaches", {}), **reaches}}


def load():
    """The findings on file, {} where there are none."""
    return json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}


def save(content):
    """Puts `record`'s answer on file."""
    FILE.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", "utf-8")


def origins(content):
    """Such as "75 in quick mode at commit 1e5e74a, 1 in full mode at commit d4ef2d2", the most rows first."""
    found = Counter((entry["mode"], entry["commit"]) for entry in content["rows"].values())
    sources = (f"{n} in {mode} mode at commit {commit}" for (mode, commit), n in found.most_common())
    return ", ".join(sources)


def interval(entry, metric):
    """Such as "84.3 ± 0.2", or "" of what was not measured."""
    mean, half = entry["means"].get(metric, (None, 0))
    if mean is None:
        return ""
    return verdict.interval(mean, half)


def _short(value):
    return float(f"{value:.5g}")

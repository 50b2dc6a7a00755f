"""Findings on file: what the last full survey found, which commit, and with what.

`shallows papers report --record` writes the file; `shallows papers list`, the documentation and the README read it.
"""

import json
from pathlib import Path

from shallows.papers.verdict import CANNOT

FILE = Path(__file__).with_name("recorded.json")


def record(findings, commit, quick):
    """What `findings` say, as the content of the file."""
    rows = {
        found.row.id: {
            "verdict": found.verdict,
            "passed": list(found.passed),
            "means": {name: [_short(one.mean), _short(one.half)] for name, one in found.estimates.items()},
            "seeds": len(next(iter(found.estimates.values())).values) if found.estimates else 0,
        }
        for found in findings
    }
    return {"commit": commit, "mode": "quick" if quick else "full", "rows": rows}


def load():
    """The findings on file, {} where there are none."""
    return json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}


def save(content):
    """Puts `record`'s answer on file."""
    FILE.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", "utf-8")


def interval(entry, metric):
    """Such as "84.3 ± 0.2", or "" of what was not measured."""
    mean, half = entry["means"].get(metric, (None, 0))
    if mean is None:
        return ""
    return f"{_text(mean)} ± {half:.2g}" if half else _text(mean)


def counts(content):
    """verdict -> how many rows have it."""
    found = [entry["verdict"] for entry in content["rows"].values()]
    return {verdict: found.count(verdict) for verdict in dict.fromkeys([*sorted(set(found)), CANNOT])}


def _text(value):
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _short(value):
    return float(f"{value:.5g}")

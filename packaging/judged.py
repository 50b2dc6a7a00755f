"""Judges the algorithms that send over windows, and writes docs/judged.md.

    python packaging/judged.py             judges all, and writes the page: `make judged`
    python packaging/judged.py NAME ...    judges these, and writes the page of all that results/judged holds
    python packaging/judged.py --page      writes the page alone
    python packaging/judged.py --seeds 1   takes other seeds than 1, 2 and 3
    python packaging/judged.py --minutes 5 begins no family of an algorithm whose runs have taken 5 minutes

The families of an algorithm are judged from the cheapest on, by the packet-hops of the algorithms that
results/judged holds. Runs are stored in results/judged/runs under the version of the code: the same command
continues where an interrupted one ended.
"""

import argparse
import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shallows.algorithms.algorithm import catalog
from shallows.judging import family, plan, processes, subject, verdict
from shallows.judging.family import Family, Row
from shallows.judging.judgement import Judgement
from shallows.judging.verdict import Judged
from shallows.judging.worker import Order
from shallows.results import statistics
from shallows.sweeps.executors import usable_cores
from shallows.sweeps.report import plus_minus

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "judged.md"
FOLDER = ROOT / "results" / "judged"
COMPARED = {"bbr3": "BBRv3", "prague": "Prague", "cubic@linux": "CUBIC", "reno": "Reno"}
"""The algorithms whose numbers the page shows, with their names there."""
OVER_WINDOWS = ("tcp", "unordered")
"""The transports of the algorithms that are judged. Those over RoCE have rates, or the laws of Swift and HPCC
once more; the others send at rates, for credits or when pulled.
"""
UNJUDGED = "not judged"
HEAD = """\
# Algorithms, judged

From this page you see what [the judge](judge.md) says of the algorithms of the catalog that send over
windows, and every number of BBRv3, TCP Prague, CUBIC and Reno. `make judged` runs all of it and writes this
page. `shallows judge bbr3` judges one algorithm with three seeds, and writes the scenario of each failure.

"""

REMARKS = """\
What explains most of the rows that fail:

- Ports of the D families have buffers of 2000 or 5000 packets, and mark for algorithms that need it: DCTCP,
  Prague. BBRv3, CUBIC and Reno without ECN meet a deep queue there. They are not made for it.
- The D families end before BBRv3's first ProbeRTT, after 5 s: a flow that joins takes the queue for its least
  round trip, and gets several times the share of the others. BBRv3 prefers long round trips (D4, W3), where
  Reno and CUBIC prefer short ones.
- BBRv3's ProbeRTT halves the window each 5 s for 200 ms and a round trip, which costs a tenth of a link of
  600 ms (W1).
- Losses are found as RFC 6675 says, by three later packets, so that a retransmission that is lost waits for a
  timeout. With `hosts.loss_detection = "rack"` BBRv3 alone at 1 Gb/s and 20 ms uses 0.98 of the link, and at
  1 % of losses 0.84 of it.
- Prague is the preset of udp_prague: it starts at 100 kb/s and grows by a packet in 25 ms or a round trip,
  whichever is longer, so that it has not filled fast or long paths when the measurement begins (W1, W8), and
  lags in the data centre. CoDel, PI and a step mark its packets where they drop those of CUBIC. It answers
  marks by less, and starves CUBIC there (W8), as RFC 9331 warns.
- A second flow of CUBIC that starts after 30 s has 0.7 of the first within 90 s: its share comes late (W3).
"""
"""Causes that tests of single rows have shown; the numbers are those of the tables."""

Data = Mapping[str, Any]


def algorithms() -> list[str]:
    """The algorithms whose senders have windows and react, CUBIC as the baselines of the families have it."""
    rows = [row for row in catalog() if row["transport"] in OVER_WINDOWS and not row["traits"]["is_driven"]]
    found = [row["name"] for row in rows if row["name"] != "fixed"]
    return ["cubic@linux" if name == "cubic" else name for name in found]


def judge(name: str, families: Sequence[Family], seeds: Sequence[int], threads: int, limit_s: float) -> None:
    """Judges an algorithm, and stores its numbers.

    Baselines run for the rows that apply to it alone. They serve all algorithms, and the limit does not count
    them.
    """
    folder = FOLDER / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    judged: list[Family] = []
    rows: list[Judged] = []
    spent_s = 0.0
    for one in families:
        if spent_s > limit_s:
            break
        asked = plan.of(subject.of(name), [one], seeds=seeds)
        orders = {row.name: _own(asked, one, row) for row in one.rows}
        began_s = time.monotonic()
        own = [order for of_row in orders.values() for order in of_row]
        outcomes = processes.all_of(own, folder, threads)
        spent_s += time.monotonic() - began_s
        applies = [row for row in one.rows if all("numbers" in outcomes[run.run] for run in orders[row.name])]
        beside = replace(asked, rows=tuple((one, row) for row in applies))
        rows += asked.judged(outcomes | processes.all_of(beside.orders, folder, threads))
        judged.append(one)
    found = Judgement(plan.of(subject.of(name), judged, seeds=seeds), tuple(rows), (), None, False, FOLDER)
    place(name).write_text(json.dumps(found.data()) + "\n", "utf-8")
    print(f"{found}, {len(judged)} families, {spent_s:.0f} s of its own runs", flush=True)


def _own(asked: plan.Plan, one: Family, row: Row) -> list[Order]:
    """The runs of a row with the judged algorithm."""
    runs = (asked.runs(one, row, asked.subject.name, seed) for seed in asked.seeds)
    return [order for of_seed in runs for order in of_seed.values()]


def cheapest_first(families: Sequence[Family], found: Mapping[str, Data]) -> list[Family]:
    """The families by the most packet-hops that an algorithm needed; as they come if none was judged."""

    def cost(one: Family) -> int:
        return max((data["packet_hops"].get(one.name, 0) for data in found.values()), default=0)

    return sorted(families, key=cost)


def place(name: str) -> Path:
    """The file of the numbers of an algorithm."""
    return FOLDER / f"{name}.json"


def stored() -> dict[str, Data]:
    """The numbers of the algorithms that were judged, by name."""
    return {name: json.loads(place(name).read_text("utf-8")) for name in algorithms() if place(name).exists()}


def page(found: Mapping[str, Data], families: Sequence[Family]) -> str:
    """The page of the numbers of some algorithms."""
    parts = [*_origins(found), "## All algorithms\n", *_overview(found, families)]
    compared = {name: found[name] for name in COMPARED if name in found}
    parts += [f"\n## {', '.join(COMPARED[name] for name in compared)}\n", READING, REMARKS]
    for one in families:
        parts += [f"\n### {one.name}: {one.title}\n", f"{one.shows}\n", *_rows(one, compared)]
    return HEAD + "\n".join(parts) + "\n"


def _origins(found: Mapping[str, Data]) -> Iterable[str]:
    """A line for each version and its seeds, with the algorithms that were judged so."""
    names: dict[tuple[str, str], list[str]] = {}
    for name, one in found.items():
        names.setdefault((one["version"], ", ".join(map(str, one["seeds"]))), []).append(f"`{name}`")
    for (version, seeds), its in names.items():
        yield f"- Version {version}, seed{'s' if ',' in seeds else ''} {seeds}: {', '.join(its)}."
    yield ""


def _overview(found: Mapping[str, Data], families: Sequence[Family]) -> Iterable[str]:
    yield (
        "Rows that pass, of those that have a rule and apply; a family that has none does not fit the "
        "algorithm. The score is the mean of the families' [grades](judge.md#the-score).\n"
    )
    names = [one.name for one in families]
    if missing := [text for name in algorithms() if (text := _missing(name, found, names))]:
        yield (
            f"Not judged: {'; '.join(missing)}. The families of an algorithm are judged from the cheapest "
            "on, until its time is over (`packaging/judged.py --minutes`). It has no score without all.\n"
        )
    yield f"| algorithm | {' | '.join(names)} | score |"
    yield f"|---|{'---|' * (len(names) + 1)}"
    for name, data in found.items():
        cells = [_passed([row for row in data["rows"] if row["family"] == one]) for one in names]
        score = "" if _missing(name, found, names) else f"{data['score']:.3f}"
        yield f"| `{name}` | {' | '.join(cells)} | {score} |"


def _missing(name: str, found: Mapping[str, Data], families: Sequence[str]) -> str:
    """An algorithm and the families that it was not judged by; empty if there are none."""
    if name not in found:
        return f"`{name}`"
    judged = {row["family"] for row in found[name]["rows"]}
    missing = [one for one in families if one not in judged]
    return f"`{name}` by {', '.join(missing)}" if missing else ""


def _passed(rows: Sequence[Data]) -> str:
    if not rows:
        return ""
    judged = [
        row["verdict"] for row in rows if row["verdict"] not in (verdict.REPORTED, verdict.NOT_APPLICABLE)
    ]
    is_open = f", {judged.count(verdict.OPEN)} open" if verdict.OPEN in judged else ""
    return f"{judged.count(verdict.PASS)} of {len(judged)}{is_open}" if judged else "-"


READING = """\
Each number is the mean of the seeds, ± Student's 95 % interval if there are several. Numbers that break their
rule are **bold**, and those that some seeds break are *slanted*. The bounds are those of the first seed: some
follow from the baselines, or from the network that an algorithm needs.
"""


def _rows(one: Family, compared: Mapping[str, Data]) -> Iterable[str]:
    yield f"| row | number | allowed | {' | '.join(COMPARED[name] for name in compared)} |"
    yield f"|---|---|---|{'---|' * len(compared)}"
    for row in one.rows:
        of = {name: _of(data, one, row.name) for name, data in compared.items()}
        for number in dict.fromkeys(check["name"] for data in of.values() for check in data["checks"]):
            checks = [_check(data, number) for data in of.values()]
            bounds = next((text for text in map(_allowed, checks) if text), "")
            yield f"| {row.name} | {_number(checks, number)} | {bounds} | {' | '.join(map(_cell, checks))} |"
        for name, data in of.items():
            if not data["checks"]:
                note = f"{COMPARED[name]}: {data['verdict']}, {data['note']}"
                yield f"| {row.name} | {note} | |{' |' * len(compared)}"


def _of(data: Data, one: Family, row: str) -> Data:
    unjudged: Data = {"checks": [], "verdict": UNJUDGED, "note": "its time was over"}
    rows = (found for found in data["rows"] if (found["family"], found["row"]) == (one.name, row))
    return next(rows, unjudged)


def _check(data: Data, number: str) -> Data | None:
    return next((check for check in data["checks"] if check["name"] == number), None)


def _number(checks: Sequence[Data | None], name: str) -> str:
    unit = next(check["unit"] for check in checks if check)
    return f"{name} ({unit})" if unit else name


def _allowed(check: Data | None) -> str:
    if check is None or check["verdict"] == verdict.REPORTED:
        return ""
    low, high = check["low"], check["high"]
    if low is None or high is None:
        return "" if low is high else f"from {low:.4g}" if high is None else f"up to {high:.4g}"
    return f"{low:.4g} to {high:.4g}"


def _cell(check: Data | None) -> str:
    if check is None:
        return ""
    values = check["values"]
    if None in values:
        text = ", ".join("none" if value is None else f"{value:.4g}" for value in dict.fromkeys(values))
    else:
        one = statistics.mean(values)
        text = plus_minus(one.mean, one.low, one.high)
        if one.low == one.high or len({f"{value:.4g}" for value in values}) == 1:
            text = f"{one.mean:.4g}"
    mark = {verdict.FAIL: "**", verdict.OPEN: "*"}.get(check["verdict"], "")
    return f"{mark}{text}{mark}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--seeds", type=int, nargs="+", default=plan.SEEDS)
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--minutes", type=float, default=math.inf)
    given = parser.parse_args()
    families = family.chosen(None)
    for name in [] if given.page else given.names or algorithms():
        order = cheapest_first(families, stored())
        judge(name, order, given.seeds, given.threads, 60 * given.minutes)
    PAGE.write_text(page(stored(), families), "utf-8")


if __name__ == "__main__":
    main()

"""Compares Shallows with ns-3 on the same work: speed and results.

    python bench/peers [CASE ...]      (`make peers`: all cases and the speeds; PEERS="CASE ..." some)

`cases` names all of them, `speeds` the speeds. The rows of the measured cases go into results.json, and from
there into docs/peers.md. Speeds are kept only if the machine has little other load, because ns-3 suffers more
from it. The cases, tolerances and reasons for known differences are in cases.toml. Exit status 1 if a ratio
lies outside its range. Without ns-3 nothing is compared, and the command says so.
"""

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import compare
import ns3
import page
import speed

ALL, SPEEDS = "cases", "speeds"


def main(names):
    try:
        ns3.program()
    except ns3.MissingError as missing:
        print(f"not compared: {missing}")
        return 0
    if unknown := set(names) - {ALL, SPEEDS, *compare.CASES}:
        sys.exit(
            f"no case {', '.join(sorted(unknown))}: expected {ALL}, {SPEEDS} or {', '.join(compare.CASES)}"
        )
    named = [name for name in compare.CASES if not names or ALL in names or name in names]
    rows = run_cases(named)
    results = json.loads(page.RESULTS.read_text())
    results["rows"] = compare.replaced(results["rows"], rows)
    if not names or SPEEDS in names:
        results |= measured_speed() or {}
    page.RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    page.write(results)
    outside = [row for row in rows if row["verdict"] == "DIFFERS"]
    for row in outside:
        print(f"{row['case']}: {row['quantity']} differs by more than cases.toml says")
    return 1 if outside else 0


def measured_speed():
    """Print the speeds; return them with the machine, or None if other load would distort the ratio."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    pairs = [speed.pairs(work) for work in speed.WORK]
    print("\n" + page.speed_table(pairs))
    if load > cores + 1:
        print(f"speeds not kept: load average {load:.1f} on {cores} cores, expected at most {cores + 1}")
        return None
    return {"machine": page.machine(), "speed": list(map(asdict, pairs))}


def run_cases(names):
    """All rows of the cases, printed as they finish; the longest case starts first."""
    if not names:
        return []
    order = sorted(names, key=lambda name: name != "replay")
    print(f"{'case':<24}{'quantity':<20}{'ours':>11}{'ns-3':>11}{'ratio':>9}{'allowed':>9}  verdict")
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        found = dict(zip(order, pool.map(_case, order), strict=True))
    return [row for name in names for row in found[name]]


def _case(name):
    started = time.monotonic()
    rows = compare.rows(name)
    lines = [
        f"{row.case:<24}{row.quantity:<20}{row.ours:11.5g}{row.ns3:11.5g}{row.ratio:9.4f}"
        f"{row.tolerance:9.2g}  {row.verdict}"
        for row in rows
    ]
    print("\n".join(lines) + f"  ({time.monotonic() - started:.0f} s)", flush=True)
    return [{**asdict(row), "ratio": row.ratio, "verdict": row.verdict} for row in rows]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

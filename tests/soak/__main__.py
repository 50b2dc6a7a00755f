"""`python -m soak --seconds 60`: as many random scenarios as the time allows, from a seed that it prints.

Every scenario runs in a process that may die; one that takes more processor time than `--patience` is killed,
or ten times as long if it waits. Findings are written to `--out`, each with its scenario; the exit status is
1 if there are any.
"""

import argparse
import os
import re
import secrets
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from soak.worker import GRAMMARS, Worker


def main():
    options = _options()
    seed = options.seed if options.seed is not None else secrets.randbelow(10**9)
    print(f"seed {seed}", flush=True)
    findings, counts, began = {}, Counter(), time.monotonic()
    workers = [Worker() for _ in range(options.jobs)]
    numbers = iter(range(options.first, options.first + options.count))
    busy = {}
    with suppress(KeyboardInterrupt):
        _soak(options, seed, workers, numbers, busy, (findings, counts))
    _report(findings, counts, options, seed, time.monotonic() - began)
    sys.exit(bool(findings))


def _soak(options, seed, workers, numbers, busy, results):
    """Until there is nothing left to do, the time is up, or Ctrl-C."""
    (findings, counts), began = results, time.monotonic()
    while True:
        for worker in workers:
            done = worker.outcome()
            if done is not None:
                _note(findings, counts, seed, busy.pop(worker), done)
                if sum(counts.values()) % 500 == 0:
                    print(f"\r{sum(counts.values())} {dict(counts)}", end="", file=sys.stderr)
            over = options.seconds and time.monotonic() - began > options.seconds
            if worker not in busy and not over and (number := next(numbers, None)) is not None:
                busy[worker] = number
                worker.give(options.grammar, seed, number, options.patience)
        if not busy:
            break
        time.sleep(0.001)


def _options():
    parser = argparse.ArgumentParser(prog="soak")
    parser.add_argument("--grammar", choices=GRAMMARS, default="scenarios", help="where scenarios come from")
    parser.add_argument("--seed", type=int, help="of all scenarios; a new one if absent")
    parser.add_argument("--first", type=int, default=0, help="number of the first scenario")
    parser.add_argument("--count", type=int, default=10**9, help="how many at most")
    parser.add_argument("--seconds", type=float, help="how long at most")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument(
        "--patience", type=float, default=60.0, help="seconds of processor time after which a scenario hangs"
    )
    parser.add_argument("--out", type=Path, default=Path("results/soak"))
    return parser.parse_args()


def _note(findings, counts, seed, number, done):
    kind, world, outcome, wrong = done
    counts[f"{kind} {outcome}"] += 1
    if wrong:
        counts["findings"] += 1
        alike = findings.setdefault(re.sub(r"[-\d.]+", "#", wrong)[:120], [])
        if not alike:
            print(f"\n{seed}/{number}: {wrong[:300]}", flush=True)
        alike.append((number, world, wrong))


def _report(findings, counts, options, seed, seconds):
    grammar, out = GRAMMARS[options.grammar], options.out
    print(f"{sum(counts.values()) - counts['findings']} scenarios in {seconds:.0f} s: {dict(counts)}")
    for cases in sorted(findings.values(), key=len, reverse=True):
        number, world, wrong = cases[0]
        out.mkdir(parents=True, exist_ok=True)
        path = out / f"{options.grammar}-{seed}-{number}.toml"
        path.write_text(
            f"# {world} world, {grammar.how(seed, number)}\n{grammar.text(seed, number)[2]}",
            encoding="utf-8",
            errors="replace",
        )
        print(f"{len(cases)} x {wrong[:300]}\n    {path}")


if __name__ == "__main__":
    main()

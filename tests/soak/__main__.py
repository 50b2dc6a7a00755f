"""`python -m soak --seconds 60`: as many random scenarios as the time allows, from a seed that it prints.

Every scenario runs in a process that may die; one that takes more processor time than `--patience` is killed,
or ten times as long if it waits. Findings are written to `--out`, each with its scenario. The exit status is
1 if there are any, and 124 if the time ended, or Ctrl-C came, before the scenarios of `--count` were tried.
"""

import argparse
import json
import os
import re
import secrets
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from soak.worker import GRAMMARS, Worker

ENDLESS = 10**9
UNFINISHED = 124
"""The exit status of a soak without findings that has scenarios left."""


def main():
    options = _options()
    state = State(options)
    seed, findings, counts = state.seed, state.findings, state.counts
    print(f"seed {seed}, from number {options.first}", flush=True)
    began = time.monotonic()
    workers = [Worker() for _ in range(options.jobs)]
    numbers = iter(range(options.first, options.count))
    busy = {}
    with suppress(KeyboardInterrupt):
        _soak(options, state, workers, numbers, busy)
    first = min([next(numbers, options.count), *busy.values()])
    state.save(first)
    _report(findings, counts, options, seed, time.monotonic() - began)
    if findings:
        sys.exit(1)
    if options.count < ENDLESS and first < options.count:
        print(f"ended at number {first} of {options.count}")
        sys.exit(UNFINISHED)


class State:
    """Seed, counts and findings so far; with `--state FILE` a soak that was ended continues from the file."""

    def __init__(self, options):
        self.file, kept = options.state, {}
        if self.file and self.file.exists():
            kept = json.loads(self.file.read_text("utf-8"))
            options.first = kept["next"]
        drawn = options.seed if options.seed is not None else secrets.randbelow(10**9)
        self.seed, self.counts = kept.get("seed", drawn), Counter(kept.get("counts", {}))
        self.findings = {kind: [tuple(one) for one in its] for kind, its in kept.get("findings", {}).items()}
        self.last = options.count

    def save(self, first):
        """Write the file, with the first number that is unfinished; remove that of a whole soak."""
        if self.file is None:
            return
        if first >= self.last:
            self.file.unlink(missing_ok=True)
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        kept = {"seed": self.seed, "next": first, "counts": self.counts, "findings": self.findings}
        filling = self.file.with_suffix(".partial")
        filling.write_text(json.dumps(kept), "utf-8")
        filling.replace(self.file)


def _soak(options, state, workers, numbers, busy):
    """Until there is nothing left to do, the time is up, or Ctrl-C."""
    findings, counts, seed, began = state.findings, state.counts, state.seed, time.monotonic()
    following = 0
    while True:
        for worker in workers:
            done = worker.outcome()
            if done is not None:
                _note(findings, counts, seed, busy.pop(worker), done)
                if sum(counts.values()) % 20 == 0:
                    state.save(min([following, *busy.values()]))
                if sum(counts.values()) % 500 == 0:
                    print(f"\r{sum(counts.values())} {dict(counts)}", end="", file=sys.stderr)
            over = options.seconds is not None and time.monotonic() - began > options.seconds
            if worker not in busy and not over and (number := next(numbers, None)) is not None:
                busy[worker], following = number, number + 1
                worker.give(options.grammar, seed, number, options.patience, options.why)
        if not busy:
            break
        time.sleep(0.001)


def _options():
    parser = argparse.ArgumentParser(prog="soak")
    parser.add_argument("--grammar", choices=GRAMMARS, default="scenarios", help="where scenarios come from")
    parser.add_argument("--seed", type=int, help="of all scenarios; a new one if absent")
    parser.add_argument("--first", type=int, default=0, help="number of the first scenario")
    parser.add_argument("--count", type=int, default=ENDLESS, help="the number at which to end")
    parser.add_argument("--why", action="store_true", help="also ask why of every flow that finished")
    parser.add_argument("--state", type=Path, help="a file from which an ended soak continues")
    parser.add_argument("--seconds", type=float, help="how long at most")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument(
        "--patience",
        type=float,
        default=100.0,
        help="seconds of processor time after which a scenario hangs: its first run may take 10",
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

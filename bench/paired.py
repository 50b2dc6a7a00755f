"""Compares the speed of this tree with a commit: runs of both in alternating rounds.

    python bench/paired.py COMMIT [--case NAME ...] [--rounds N] [--threads N ...] [--fail-below RATIO]
    python bench/paired.py                    (`make bench`: this tree alone)

The commit is checked out below target/paired and built as this tree is: minutes the first time. Each run is a
process of its own. Times are processor time on one thread and wall time on several, without the start of
Python and, for long runs, without set-up. A ratio above 1 says that this tree is faster. The spread is the
smallest and the largest ratio of a round. bench/README.md says when to trust it.
"""

import argparse
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from statistics import median

from measure import ROOT, BenchError, build, cases, measure

FOLDER = ROOT / "target" / "paired"


def main(words=None):
    asked = arguments().parse_args(words)
    selected = cases(asked.case)
    jobs = [
        (name, threads)
        for name, case in selected.items()
        for threads in case.get("threads", [1])
        if threads in (asked.threads or [threads])
    ]
    if not jobs:
        raise BenchError(
            f"no case is measured on {asked.threads} threads; scenarios.toml lists the threads of each"
        )
    with trees(asked.commit) as (this, other):
        print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {asked.rounds} rounds")
        print(heading(other is not None), flush=True)
        least = [compare(job, selected[job[0]], this, other, asked) for job in jobs]
    return 1 if asked.fail_below and min(least) < asked.fail_below else 0


def arguments():
    parser = argparse.ArgumentParser(
        prog="bench/paired.py", description="Compares the speed of this tree with a commit."
    )
    parser.add_argument(
        "commit", nargs="?", help="what to compare with; without it this tree is measured alone"
    )
    parser.add_argument(
        "--case", action="append", default=[], metavar="NAME", help="a table of scenarios.toml"
    )
    parser.add_argument("--rounds", type=positive, default=6, help="runs of each tree (default: 6)")
    parser.add_argument("--threads", type=positive, nargs="+", help="measure these numbers of threads only")
    parser.add_argument(
        "--fail-below", type=float, metavar="RATIO", help="exit status 1 if a ratio of medians is below this"
    )
    return parser


def positive(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, not {text!r}")
    return int(text)


@contextmanager
def trees(commit):
    """`((core, sources) of this tree, the same of the commit or None)`, built."""
    other = None
    if commit is not None:
        sha = resolve(commit)
        checkout = FOLDER / sha
        git("worktree", "prune")
        if not checkout.exists():
            git("worktree", "add", "--detach", "--quiet", checkout, sha)
        other = (built(FOLDER / f"{sha}.so", checkout), checkout)
    this = FOLDER / "this.so"
    this.unlink(missing_ok=True)
    try:
        yield (built(this, ROOT), ROOT), other
    finally:
        if other:
            git("worktree", "remove", "--force", other[1])


def built(core, tree):
    """Keep the core of `tree` in the file `core`, and build it unless it is there."""
    if not core.exists():
        print(f"building {tree}", flush=True)
        core.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(build(tree), core.with_suffix(".part"))
        core.with_suffix(".part").rename(core)
    return core


def resolve(commit):
    try:
        return git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}").strip()
    except BenchError:
        raise BenchError(
            f"{commit!r} is no commit of this repository; write a branch, a tag or a hash"
        ) from None


def git(*words):
    done = subprocess.run(["git", *map(str, words)], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchError(f"git {' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def compare(job, case, this, other, asked):
    """Measure one case in alternating rounds, print its line, and return the ratio of medians."""
    name, threads = job
    runs = {}
    for number in range(asked.rounds):
        pair = [tree for tree in (this, other) if tree]
        for tree in reversed(pair) if number % 2 else pair:
            runs.setdefault(tree, []).append(measure(*tree, case, threads))
    times = {tree: [run.ns_per_hop(threads) for run in measured] for tree, measured in runs.items()}
    prints = {tree: {run.fingerprint for run in measured} for tree, measured in runs.items()}
    if any(len(found) > 1 for found in prints.values()):
        raise BenchError(f"{name}: runs of the same tree have different fingerprints")
    same = len(set().union(*prints.values())) == 1
    memory = max(run.memory_mb for run in runs[this])
    ratios = compared(times[this], times.get(other))
    print(line(name, threads, times[this], times.get(other), ratios, memory, same), flush=True)
    return ratios[0] if ratios else float("inf")


def compared(this, other):
    """(ratio of medians, ratio of minima, smallest and largest ratio of a round); None without another."""
    if other is None:
        return None
    rounds = [theirs / ours for ours, theirs in zip(this, other, strict=True)]
    return median(other) / median(this), min(other) / min(this), min(rounds), max(rounds)


def heading(is_pair):
    own = f"{'case':<14}{'threads':>8}{'ns/hop':>9}{'least':>8}{'M hops/s':>10}{'MB':>7}"
    return f"{own}{'other':>9}{'medians':>9}{'minima':>8}{'spread':>14}" if is_pair else own


def line(name, threads, this, other, ratios, memory, same):
    """One row under `heading`."""
    middle = median(this)
    own = f"{name:<14}{threads:8}{middle:9.1f}{min(this):8.1f}{1e3 / middle:10.1f}{memory:7.0f}"
    if ratios is None:
        return own
    medians, minima, smallest, largest = ratios
    spread = f"{smallest:.3f}-{largest:.3f}"
    note = "" if same else "  RESULTS DIFFER: the fingerprints are not equal"
    return f"{own}{median(other):9.1f}{medians:9.3f}{minima:8.3f}{spread:>14}{note}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        sys.exit(str(error))

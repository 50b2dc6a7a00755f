"""Draws the figures of paper.md beside it, from our own runs, and prints the numbers that its text quotes.

python paper/figures.py
"""

from pathlib import Path

import shallows as sh

HERE = Path(__file__).parent
SCENARIOS = HERE.parent / "scenarios"


def main() -> None:
    both = sh.compare(SCENARIOS / "websearch-tree.toml", cc=["dctcp", "dx@ns-2-multi-hop"])
    both.check_books()
    names = {"dctcp": "DCTCP", "dx@ns-2-multi-hop": "DX"}
    both.figure(names=names, caption=False).savefig(HERE / "websearch-tree.png", dpi=200)
    for label, run in both.runs.items():
        flows = run.flows
        short = flows.loc[flows["bytes"] < 10_000, "fct_us"].quantile(0.99)
        long = flows.loc[flows["bytes"] >= 10_000_000, "fct_us"].mean()
        print(
            f"{label}: p99 of flows below 10 KB {short:.0f} us, mean of 10 MB and more {long / 1000:.1f} ms"
        )
        print(f"{label}: {run.summary['fingerprint']}, {run.summary['version']}")

    run = both.runs["dctcp"]
    slowest = run.why(slowest=1)
    slowest.figure().savefig(HERE / "why-slow.png", dpi=200)
    causes = slowest.by_cause()
    total = sum(causes.values())
    shares = {cause: f"{100 * time / total:.1f} %" for cause, time in causes.items()}
    print(f"flow {next(iter(slowest))}: {total / 1e6:.0f} us, {shares}")


if __name__ == "__main__":
    main()

"""`python -m matrix`: every algorithm on every topology at every rate: plain, with classes, and sprayed.

Each combination is run for a few packets. Refusals are listed by algorithm and kind of network. One that is
not in `EXPECTED`, a crash, or books that do not close is a finding, and the exit status is 1.
"""

import argparse
import os
import re
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import shallows as sh
from shallows.algorithm import catalog
from shallows.errors import BooksError, ScenarioError
from shallows.topology import KINDS

ALGORITHMS = [row["name"] for row in catalog() if row["name"] != "fixed"]
"""All but the constant rate, which has no default."""
TRANSPORTS = {row["name"]: row["transport"] for row in catalog()}
RATES = ("1Gbps", "10Gbps", "25Gbps", "100Gbps", "400Gbps", "800Gbps", "1600Gbps")
SPRAYING = ("packet", "queue", "round-robin", "flowlet", "oblivious", "bitmap", "reps", "plb")
MODES = ("plain", "classes", "pfc", "shared", *SPRAYING)
SMALL = {
    "leaf-spine": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "three-tier": {"cores": 2, "aggregations": 2, "tors": 2, "hosts_per_tor": 2},
    "rail-optimised": {"servers": 3, "gpus": 2, "spines": 2},
    "dragonfly+": {"groups": 2, "leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "dumbbell": {"hosts": 3},
    "star": {"hosts": 3},
}
EXPECTED = (
    ("expresspass", SPRAYING, 'network.balancing.*"flow": credits and the data they request need one path'),
    ("hpcc", SPRAYING, 'network.balancing.*"flow": records are compared between packets'),
    ("hpcc-roce", SPRAYING, 'network.balancing.*"flow": records are compared between packets'),
    ("hpcc", ("classes",), "the records of a port describe its only queue"),
    ("hpcc-roce", ("classes",), "the records of a port describe its only queue"),
    ("rcp", ("classes",), "the rates of a port describe its only queue"),
    ("ndp", ("classes",), "an algorithm without trimming, whose queues classes do not have"),
    ("rccc", ("classes",), "an algorithm without trimming, whose queues classes do not have"),
    ("expresspass", ("classes",), "an algorithm without credits, whose queues classes do not have"),
)
"""(algorithm, networks, sentence) of each refusal that the documentation states."""


def topology(kind, rate):
    """A small network of a kind, all of whose links have this rate where its keys allow it."""
    if kind == "graph":
        edges = [[f"h{i}", "s0", rate, "2us"] for i in range(3)]
        return {"kind": kind, "hosts": ["h0", "h1", "h2"], "edges": edges}
    if kind == "multi-bottleneck":
        return {"kind": kind, "hosts": [2, 2, 2], "rate": rate, "edge_rate": rate, "rtt": "20us"}
    table = {"kind": kind, "rate": rate, **SMALL.get(kind, {})}
    return table | ({"rtt": "20us"} if "rtt" in KINDS[kind].model_fields else {})


def scenario(kind, cc, rate, mode):
    """Two transfers of 30 packets to one host, on defaults but for the mode."""
    traffic = {"kind": "incast", "senders": 2, "size": "30pkt", "to": 0}
    tables = {"duration": "until-done", "topology": topology(kind, rate), "cc": cc, "traffic": [traffic]}
    if mode == "classes":
        lossless = {"name": "rdma"} | ({"pfc": True} if TRANSPORTS[cc] == "roce" else {})
        tables["classes"] = [lossless, {"name": "other"}]
        tables["traffic"] = [traffic | {"class": "rdma"}, traffic | {"class": "other", "senders": 1}]
    elif mode in ("pfc", "shared"):
        tables["network"] = {mode: True}
    elif mode in SPRAYING:
        tables["network"] = {"balancing": mode}
    return sh.Scenario(**tables)


def outcome(kind, cc, rate, mode):
    """None if it ran; otherwise what happened instead."""
    try:
        run = sh.run(scenario(kind, cc, rate, mode))
    except ScenarioError as error:
        return f"refused: {error}"
    except BooksError as error:
        return f"books: {error}"
    except Exception as error:
        return f"crash: {type(error).__name__}: {error}"
    flows = run.summary["flows"]
    if flows["finished"] < flows["offered"]:
        return f"unfinished: {flows['offered'] - flows['finished']} flows"
    return None


def is_expected(cc, mode, said):
    """Whether the documentation states this refusal."""
    return any(cc == of and mode in modes and re.search(text, said) for of, modes, text in EXPECTED)


def _row(combination):
    return combination, outcome(*combination)


def main():
    parser = argparse.ArgumentParser(prog="matrix")
    parser.add_argument("--rates", nargs="+", default=RATES)
    parser.add_argument("--modes", nargs="+", default=MODES, choices=MODES)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    every = list(product(KINDS, ALGORITHMS, options.rates, options.modes))
    found, ran = defaultdict(list), 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for combination, said in pool.map(_row, every, chunksize=20):
            ran += said is None
            if said:
                kind, cc, rate, mode = combination
                found[cc, re.sub(r"[-\d.]+", "#", said)[:200], is_expected(cc, mode, said)].append(
                    (kind, rate, mode, said)
                )
    print(f"{len(every)} combinations, {ran} ran")
    for (cc, _, expected), rows in found.items():
        modes = ", ".join(dict.fromkeys(mode for _, _, mode, _ in rows))
        title = "expected  " if expected else "UNEXPECTED"
        print(f"{title} {len(rows):5} x {cc}, {modes}: {rows[0][:3]} {rows[0][3][:300]}")
    sys.exit(any(not expected for _, _, expected in found))


if __name__ == "__main__":
    main()

"""`python -m matrix`: every algorithm on every topology at every rate, with every feature of ports and paths.

Each combination is run for a few packets. It works, is refused with a reason of `EXPECTED`, or its output
names what the network does to the algorithm. Anything else (a crash, books that do not close, timeouts
without a word) is a finding, and the exit status is 1.
"""

import argparse
import os
import re
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import shallows as sh
from shallows.algorithms.algorithm import catalog
from shallows.errors import BooksError, ScenarioError
from shallows.topology import KINDS

ALGORITHMS = [row["name"] for row in catalog() if row["name"] != "fixed"]
"""All but the constant rate, which has no default."""
LOSS_BASED = ("reno", "cubic", "cdg")
TRANSPORTS = {row["name"]: row["transport"] for row in catalog()}
RATES = ("1Gbps", "10Gbps", "25Gbps", "100Gbps", "400Gbps", "800Gbps", "1600Gbps")
SPRAYING = ("packet", "queue", "round-robin", "flowlet", "oblivious", "bitmap", "reps", "plb")
"""Choices for any algorithm; `mrc` has its own."""
STEP = {"marking": {"kind": "step", "threshold": "5pkt"}}
RAMP = {"marking": {"kind": "red", "kmin": "3pkt", "kmax": "8pkt", "pmax": 1}}
TRIMS = {"trimming": True}
PORTS = {
    "pfc": {"pfc": True},
    "shared": {"shared": True},
    "step": STEP,
    "step at dequeue": {"marking": STEP["marking"] | {"at": "dequeue"}},
    "ramp": RAMP,
    "pi": {"marking": {"kind": "pi"}},
    "codel": {"marking": {"kind": "codel"}},
    "dualpi2": {"marking": {"kind": "dualpi2"}},
    "phantom": {"marking": {"kind": "phantom"}},
    "drops": {"marking": STEP["marking"] | {"ecn": False}},
    "no drops": {"marking": STEP["marking"] | {"nodrop": True}},
    "pfc, step": {"pfc": True} | STEP,
    "shared, step": {"shared": True} | STEP,
    "trims": TRIMS,
    "trims, step": TRIMS | STEP,
    "trims, ramp": TRIMS | RAMP,
    "trims, pi": TRIMS | {"marking": {"kind": "pi"}},
    "trims, codel": TRIMS | {"marking": {"kind": "codel"}},
    "trims, drops": TRIMS | {"marking": STEP["marking"] | {"ecn": False}},
    "bitmap, step": {"balancing": "bitmap"} | STEP,
    "reps, trims, step": {"balancing": "reps"} | TRIMS | STEP,
    "packet, trims": {"balancing": "packet"} | TRIMS,
    "no marks": {"marking": "none"},
}
"""`[network]` of each feature of ports, and of the pairs that meet at one port."""
FAULTS = {
    "loss": [{"link": "*->*", "kind": "loss", "value": 0.02}],
    "down": [{"link": "*->*", "kind": "down", "at": "5us", "until": "50us"}],
}
CLASSES = ("classes", "pools", "trims beside pfc")
MODES = ("plain", *CLASSES, *PORTS, *FAULTS, *SPRAYING)
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
    ("powertcp", SPRAYING, 'network.balancing.*"flow": records are compared between packets'),
)
"""(algorithm, networks, sentence) of each refusal that the documentation states."""
REASONS = (
    ".*, which .* needs",
    "needs marks",
    "balancing.*: (credits|records)",
    "marking by dualpi2 has two queues of its own",
)
"""Sentences of refusals by which a port feature and an algorithm exclude each other."""


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
    if mode in CLASSES:
        lossless = {"name": "rdma"} | ({"pfc": True} if TRANSPORTS[cc] == "roce" else {})
        tables["classes"] = [lossless, {"name": "other"}]
        tables["traffic"] = [traffic | {"class": "rdma"}, traffic | {"class": "other", "senders": 1}]
    if mode == "trims beside pfc":
        tables["classes"] = [{"name": "rdma", "pfc": True}, {"name": "other", "trimming": True}]
    if mode == "pools":
        tables["classes"] = [one | {"pool": one["name"]} for one in tables["classes"]]
        tables["pools"] = [{"name": "rdma"}, {"name": "other"}]
    tables["network"] = PORTS.get(mode, {"balancing": mode} if mode in SPRAYING else {})
    tables["faults"] = FAULTS.get(mode, [])
    return sh.Scenario(**tables)


def outcome(kind, cc, rate, mode):
    """None if it ran as its output says; otherwise what happened instead."""
    try:
        run = sh.run(scenario(kind, cc, rate, mode))
    except ScenarioError as error:
        return f"refused: {error}"
    except BooksError as error:
        return f"books: {error}"
    except Exception as error:
        return f"crash: {type(error).__name__}: {error}"
    flows, warnings = run.summary["flows"], run.summary["warnings"]
    if flows["finished"] < flows["offered"]:
        return f"unfinished: {flows['offered'] - flows['finished']} flows"
    # Links that lose packets are a row of the output, and a TCP that reacts to losses expects them.
    if flows["timeouts"] and not warnings and mode not in FAULTS and cc not in LOSS_BASED:
        return f"unnamed: {flows['timeouts']} timeouts without a warning"
    return None


def is_expected(cc, mode, said):
    """Whether the documentation states this refusal."""
    stated = (text for of, modes, text in EXPECTED if cc == of and mode in modes)
    return any(re.search(text, said) for text in (*stated, *REASONS) if said.startswith("refused"))


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

"""The critical path of a flow: its pieces sum to its completion time exactly, and say what is so."""

import random

import numpy as np
import pytest

import shallows as sh
from shallows import catalog
from shallows.errors import BooksError, ScenarioError
from shallows.why import path, record

ALGORITHMS = catalog.algorithms()
FLOWS = 10_000
TOPOLOGIES = [
    {"kind": "dumbbell", "hosts": 4, "rtt": "40us"},
    {"kind": "dumbbell", "hosts": 3, "rate": "1Gbps", "edge_rate": "10Gbps", "rtt": "200us"},
    {"kind": "star", "hosts": 6, "rtt": "20us"},
    {"kind": "parking-lot", "hops": 2, "hosts": 2, "rtt": "40us"},
    {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 3},
    {"kind": "fat-tree", "k": 4},
    {"kind": "three-tier", "cores": 2, "aggregations": 2, "tors": 2, "hosts_per_tor": 2},
]
POISSON = {"kind": "poisson", "sizes": "websearch", "load_of": "bottleneck"}
TRAFFIC = [
    {**POISSON, "below": "300KB", "load": 0.5, "flows": 150},
    {**POISSON, "below": "100KB", "load": 0.3, "flows": 100},
    {"kind": "request-response", "pairs": 3, "exchanges": 20},
    {"kind": "shuffle", "size": "20KB"},
    {"kind": "incast", "senders": 3, "size": "60KB", "jitter": "5us"},
    {"kind": "long-lived", "flows": 2},
]
HOSTS = {"nic": ("fair", "fifo"), "initial_window": ("1pkt", "10pkt", "40pkt"), "acks_every": (1, 2, 4)}


def some_scenario(row, number):
    """A random lawful scenario for an algorithm: losses, pauses or priorities, one way or many."""
    draw = random.Random(f"{row['name']} {number}")
    network = {"buffer": draw.choice(["6pkt", "30pkt", "250pkt"])}
    if row["marking"] == "required" and row["port"] == "step":
        network["marking"] = {"kind": "step", "threshold": "5pkt"}
    traffic = [dict(table) for table in draw.sample(TRAFFIC, 2)]
    if row["name"] != "expresspass":
        network["balancing"] = draw.choice(["flow", "flow", "packet", "queue"])
    kind = draw.choice(["plain", "pfc", "shared", "priority"])
    if kind == "pfc":
        network["pfc"] = {"threshold": draw.choice(["5KB", "20KB"])}
    elif kind == "shared":
        network["shared"] = {"size": "100KB", "alpha": 1}
    elif kind == "priority":
        traffic[0]["priority"] = 1
    heard = {"nic", *(key.removeprefix("hosts.") for key in row["honours"])}
    hosts = {
        key: draw.choice(values) for key, values in HOSTS.items() if key in heard and draw.random() < 0.5
    }
    tables = {"topology": draw.choice(TOPOLOGIES), "traffic": traffic, "hosts": hosts, "network": network}
    return sh.Scenario(duration="40ms", seed=number, cc=row["name"], **tables)


@pytest.mark.parametrize("row", ALGORITHMS, ids=[row["name"] for row in ALGORITHMS])
def test_the_pieces_sum_to_the_completion_time(row):
    """10,000 flows over all algorithms: pieces touch, their sum and that of the ideal path are exact."""
    followed, number = 0, 0
    while followed * len(ALGORITHMS) < FLOWS:
        number += 1
        try:
            run = sh.run(some_scenario(row, number))
        except ScenarioError:
            continue
        except BooksError as error:
            # Sprayed over several ways a flow may beat its ideal time, which is that of one.
            run = error.run
        finished = np.flatnonzero(np.isfinite(run.flows.fct_us))
        for flow, its in path.of_record(record.of_run(run, finished)).items():
            fct_us, ideal_us = run.flows.fct_us[flow], run.flows.ideal_us[flow]
            assert sum(piece.length_ps for piece in its.pieces) == round(fct_us * 1e6)
            assert all(
                one.end_ps == next_.begin_ps for one, next_ in zip(its.pieces, its.pieces[1:], strict=False)
            )
            assert its.ideal_ps == round(ideal_us * 1e6)
        followed += len(finished)

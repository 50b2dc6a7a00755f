"""A run that pages of networks are tested with: a queue that grows by hand-worked numbers, and a failure."""

import json
import re

import shallows as sh

ODD = "c<&\"'>"
EDGES = [["a", "s", "10Gbps", "1us"], ["s", "b", "1Gbps", "1us"], [ODD, "s", "10Gbps", "1us"]]
FLOW = [[100e-6, "a", "b", 200 * 1460]]
FAULT = {"link": f"{ODD}<->s", "kind": "down", "at": "500us", "until": "900us"}
SAMPLED = {"ports": "all", "queues": "1.007us"}
SHORT = {"duration": "300us", "record": SAMPLED}


def scenario(**tables):
    """200 frames from 10 Gbit/s into 1 Gbit/s, from 100 us on: one leaves a in 1.2 us and s in 12 us."""
    given = {
        "name": "slope",
        "duration": "3ms",
        "topology": {"kind": "graph", "edges": EDGES, "hosts": ["a", "b", ODD]},
        "traffic": [{"kind": "trace", "flows": FLOW}],
        "cc": {"name": "fixed", "window": "1000pkt"},
        "network": {"buffer": "unlimited"},
        "faults": [FAULT],
        "record": SAMPLED,
    }
    return sh.Scenario(**{**given, **tables})


def paused():
    """Pauses: t holds 30 KB, so that s has a queue, sends at a tenth of its rate, and is paused otherwise."""
    edges = [["a", "s", "10Gbps", "1us"], ["s", "t", "10Gbps", "1us"], ["t", "b", "1Gbps", "1us"]]
    return scenario(
        topology={"kind": "graph", "edges": edges, "hosts": ["a", "b"]},
        faults=[],
        network={"pfc": {"threshold": "30KB"}},
        traffic=[{"kind": "trace", "flows": [[100e-6, "a", "b", 3000 * 1460]]}],
        cc={"name": "fixed", "window": "9000pkt"},
    )


def data(page):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', page)[1])


def recorded(run, port, begin_us, end_us):
    """(percent of samples with a queue, longest queue in bytes) of a port in a span, from the table."""
    queues = run.queues
    its = queues[(queues.port == port) & (queues.time_us >= begin_us - 1e-9)]
    its = its[its.time_us < end_us - 1e-9]
    return round(100 * float((its.queue_bytes > 0).mean())), int(its.queue_bytes.max())

"""Random fabrics that lose packets, flap or lose a plane: flows of RACK and IRN complete, and books close."""

import random

import pytest

from shallows.runner import run
from shallows.scenario import Scenario

RACK, IRN = {"loss_detection": "rack"}, {"retransmission": "selective"}
ALGORITHMS = (
    *((cc, RACK) for cc in ("dctcp", "cubic", "dx", "hpcc", "powertcp")),
    *((cc, IRN) for cc in ("dcqcn", "timely", "patched-timely")),
)
RECORDS = ("hpcc", "powertcp")
"""Algorithms that compare records between packets of one path."""
LINK = "leaf0<->spine0"


def lossy(draw):
    return [{"link": "*<->*", "kind": "loss", "value": 1e-4, "at": "0s"}]


def flapping(draw):
    """A cable that goes down and up every millisecond."""
    return [
        {"link": LINK, "kind": ("down", "up")[n % 2], "at": f"{draw.randint(1, 900) + 1000 * n}us"}
        for n in range(6)
    ]


def plane_down(draw):
    return [{"link": "p1.*<->*", "kind": "down", "at": f"{draw.randint(50, 500)}us"}]


def scenario(seed, harm):
    draw = random.Random(seed)
    cc, hosts = draw.choice(ALGORITHMS)
    planes = 2 if harm is plane_down else 1
    return Scenario(
        seed=seed,
        topology={
            "kind": "leaf-spine",
            "leaves": 2,
            "spines": draw.choice((2, 4)),
            "hosts_per_leaf": 4,
            "planes": planes,
            "rate": draw.choice(("10Gbps", "100Gbps", "400Gbps")),
        },
        network={
            "balancing": draw.choice(("flow",) if cc in RECORDS else ("flow", "packet", "queue")),
            "convergence": "50us",
        },
        hosts=hosts,
        cc=cc,
        traffic=[
            {"kind": "shuffle", "size": f"{draw.randint(1, 300)}KB"},
            {"kind": "incast", "size": f"{draw.randint(1, 300)}KB", "senders": 3, "start": "100us"},
        ],
        faults=harm(draw),
        duration="until-done",
    )


def check(seed, harm):
    """All flows complete with closed books, and alike on 1, 2 and 3 threads."""
    made = scenario(seed, harm)
    prints = set()
    for threads in (1, 2, 3):
        ran = run(made, threads=threads)
        assert ran.summary["books"]["closed"]
        assert ran.flows.fct_us.notna().all(), made
        prints.add(ran.summary["fingerprint"])
    assert len(prints) == 1


@pytest.mark.parametrize("harm", [lossy, flapping, plane_down])
@pytest.mark.parametrize("seed", range(4))
def test_every_flow_completes(seed, harm):
    check(seed, harm)


@pytest.mark.nightly
@pytest.mark.parametrize("harm", [lossy, flapping, plane_down])
@pytest.mark.parametrize("seed", range(100, 200))
def test_every_flow_of_many_scenarios_completes(seed, harm):
    check(seed, harm)

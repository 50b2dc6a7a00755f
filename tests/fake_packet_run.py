"""An answer of the packet world small enough to work out by hand: seven flows, 300 us, warm-up 100 us."""

from types import SimpleNamespace

import numpy as np

from shallows.core import answer as core_answer
from shallows.core import contract
from shallows.results.answer import Answer
from shallows.runs import Run
from shallows.traffic import Predecessors
from shallows.traffic.computations import Computations, Waits
from shallows.units import NEVER, Frame

US = 10**6  # picoseconds


def column(values, kind=np.uint64):
    return np.array(values, kind)


def scenario(ports="bottleneck"):
    return SimpleNamespace(
        record=SimpleNamespace(ports=ports),
        name="by-hand",
        seed=7,
        mtu=1500,
        warmup_ps=100 * US,
        cooldown_ps=None,
        hosts=SimpleNamespace(rto_min=10**9, rto_initial=10**9, rto_max=10**12),
        network=SimpleNamespace(balancing="flow", convergence=NEVER, pfc=None, shared=None, marking="none"),
        marking=None,
        faults=[],
        classes=[],
        ports=[],
        pools=[],
        queues=[],
        trims=False,
        warnings=[],
        flows=flows(),
        duration_ps=300 * US,
        frame=Frame(1500, 1460),
        cc=SimpleNamespace(transport="tcp"),
        algorithms=[SimpleNamespace(transport="tcp")] * 2,
        traffic=[
            SimpleNamespace(kind="trace", cc=None, priority=0),
            SimpleNamespace(kind="long-lived", cc=None, priority=0, stop=NEVER, off=None, pauses=False),
        ],
        to_toml=lambda: 'name = "by-hand"\nseed = 7\n',
    )


def network():
    return SimpleNamespace(
        host_names=["h0", "h1"],
        hosts=2,
        port_names=["h0->s0", "s0->h1"],
        recorded_ports=column([1], np.uint32),
        link_from=column([0, 2], np.uint32),
        link_to=column([2, 1], np.uint32),
        rate_bps=column([10**11, 10**11]),
        delay_ps=column([US, US]),
        is_nic=column([True, False], bool),
    )


def one_computation():
    """At host 0, on its processor 2."""
    u32 = [column([value], np.uint32) for value in (0, 2, 0, 0)]
    pairs = Predecessors.of_pairs([], [])
    return Computations(u32[0], column([7]) * US, column([0]), *u32[1:], pairs, pairs, Waits.default(1))


def flows():
    """Three flows that end (the third within the warm-up), one that is cut off, three without an end."""
    return SimpleNamespace(
        src=column([0] * 7, np.uint32),
        dst=column([1] * 7, np.uint32),
        bytes=column([9_000, 90_000, 90_000, 90_000, 0, 0, 0]),
        start_ps=column([100, 110, 0, 200, 0, 0, 0]) * US,
        stop_ps=column([NEVER] * 7),
        cc=column([0, 0, 0, 0, 1, 1, 1], np.uint32),
        group=column([0, 0, 0, 0, 1, 1, 1], np.uint32),
        after=Predecessors.of_pairs([], []),
        behind=Predecessors.of_pairs([], []),
        waiting=np.zeros(7, bool),
        messages=[None, None],
        answers=column([2**32 - 1] * 7, np.uint32),
        priority=column([0] * 7, np.uint8),
        cc_names=["dctcp", "dx"],
        names=["trace", "long-lived"],
        ccs=[
            SimpleNamespace(
                user_class=None,
                name=name,
                transport="tcp",
                supported_keys=frozenset(),
                queues=[],
                trims=False,
                least_threshold=None,
            )
            for name in ("dctcp", "dx")
        ],
        loads=[None],
        computations=one_computation(),
    )


def answer(**changed):
    """The answer, with whole entries or single columns (flows__finish_ps) replaced."""
    entries = {
        "fingerprint": "00000000000000ab",
        "events": 2000,
        "packet_hops": 1000,
        "ended_ps": 300 * US,
        "measured_ps": 200 * US,
        "interrupted": False,
        "flows": {
            **core_answer.zeros(contract.FlowColumns, 7),
            "start_ps": flows().start_ps,
            "finish_ps": column([120 * US, 210 * US, 50 * US, NEVER, NEVER, NEVER, NEVER]),
            "ideal_ps": column([10, 80, 40, 80, 0, 0, 0]) * US,
            "delivered_bytes": column([9_000, 90_000, 90_000, 30_000, 40_000, 80_000, 120_000]),
            "goodput_bytes": column([9_000, 90_000, 0, 30_000, 25_000, 50_000, 75_000]),
            "goodput_by_stop_bytes": column([9_000, 90_000, 0, 30_000, 25_000, 50_000, 75_000]),
            "retransmits": column([0, 2, 0, 1, 0, 0, 0], np.uint64),
            "timeouts": column([0, 1, 0, 0, 0, 0, 0], np.uint64),
        },
        "computations": {"start_ps": column([30]) * US, "finish_ps": column([37]) * US},
        "ports": {
            **core_answer.zeros(contract.PortColumns, 2),
            "sent": column([100, 200]),
            "sent_bytes": column([150_000, 300_000]),
            "marked": column([0, 40]),
            "dropped": column([0, 3]),
            "dropped_in_warmup": column([0, 1]),
            "trimmed": column([0, 5]),
            "pauses": column([0, 2]),
            "paused_ps": column([0, 3_000_000]),
            "busy_ps": column([50, 180]) * US,
            "queue_mean_bytes": column([1500, 4500], float),
            "queue_p50_bytes": column([0, 3000], float),
            "queue_p99_bytes": column([3000, 9000], float),
            "queue_max_bytes": column([4500, 12000], float),
            "delay_mean_ps": column([2, 6], float) * US,
            "delay_p99_ps": column([4, 12], float) * US,
        },
        "queues": {
            "time_ps": column([0, 100, 200, 300]) * US,
            "bytes": column([[0, 3000, 6000, 1500]], np.uint32),
        },
        "queue_histograms": [
            {"edges_bytes": column([0, 1500, 3000, 4500], float), "time_ps": column([50, 0, 150]) * US}
        ],
        "probe_names": ["window_pkt", "alpha"],
        "probes": {
            "time_ps": column([10, 10, 20]) * US,
            "flow": column([0, 0, 1], np.uint32),
            "name": column([0, 1, 0], np.uint16),
            "value": column([10, 0.5, 12], float),
        },
        "classes": core_answer.zeros(contract.ClassColumns, 0),
        "threads": {"count": 1, "domains": 1, "gain": None},
        "random": None,
        "lateness": None,
        "deadlock": {"time_ps": 0, "links": np.array([], np.uint32)},
        "books": {"closed": True, "problems": []},
    }
    for key, value in changed.items():
        table, _, name = key.partition("__")
        entries[table] = {**entries[table], name: value} if name else value
    return entries


def made(scenario, network, flows, answer, wall_s):
    """The run of these parts."""
    return Run.from_answer(Answer(scenario, network, flows, answer), wall_s)


def run(**changed):
    """The `Run` of `answer(**changed)`, which took half a second."""
    return made(scenario(), network(), flows(), answer(**changed), 0.5)

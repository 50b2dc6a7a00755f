"""The kernel world: real Linux TCP between network namespaces, over an emulated network, in real time.

The algorithms are those of `bpf/`, and the kernel's own reno, cubic and bbr. A machine that is busy with
other things is late; a run that was too late is repeated, and the record of the one that counts is in the
summary.
"""

import threading
import time

import numpy as np

from shallows import live
from shallows.errors import ScenarioError
from shallows.units import NEVER, RATE, TIME
from shallows.worlds import packet

ALGORITHMS = ("dctcp", "dx", "inigo", "reno", "cubic", "bbr")
ATTEMPTS = 5
MOST_RATE = 10**9
MOST_HOSTS, MOST_FLOWS = 64, 128
TICK_S = 1e-3

_alone = threading.Lock()


def check(scenario):
    """Raise `ScenarioError` for what a kernel on one machine cannot be asked."""
    for used in scenario.flows.ccs:
        if used.name not in ALGORITHMS:
            expected = f"an algorithm of the kernel world: {', '.join(ALGORITHMS)}"
            raise ScenarioError("cc.name", used.label, expected)
        check_receiver(used.receiver)
    for i, table in enumerate(scenario.traffic):
        if table.priority:
            raise ScenarioError(f"traffic[{i}].priority", table.priority, "0: its ports have one class")
    wiring = scenario.wiring
    slowest = int(wiring.rate_bps[~wiring.is_nic].min())
    if slowest > MOST_RATE:
        expected = f"at most {RATE.text(MOST_RATE)} at the bottleneck, which one processor can emulate"
        raise ScenarioError("topology.rate", RATE.text(slowest), expected)
    for key, count, most in (
        ("topology", wiring.hosts, MOST_HOSTS),
        ("traffic", len(scenario.flows), MOST_FLOWS),
    ):
        if count > most:
            raise ScenarioError(key, count, f"at most {most} in the kernel world")
    if scenario.duration == NEVER:
        expected = 'a time, such as "2s": the kernel world runs in real time'
        raise ScenarioError("duration", "until-done", expected)


def check_receiver(receiver):
    """Raise `ScenarioError` for what a kernel's receiver cannot do."""
    if receiver is None:
        return
    if receiver.parameters["resolution"] != TICK_S:
        told = TIME.text(round(receiver.parameters["resolution"] * 1e12))
        expected = f"{TIME.text(round(TICK_S * 1e12))}, the tick of a Linux sender's timestamps"
        raise ScenarioError("cc.receiver.resolution", told, expected)
    if receiver.parameters["tsecr"]:
        raise ScenarioError("cc.receiver.tsecr", True, "false: a kernel's receiver has a clock of its own")


def run(scenario, on_progress=None):
    """Run `scenario` on this machine's kernel and return its `Run`.

    A run in which the machine was late is repeated, up to `ATTEMPTS` times in all; where none is good enough
    the last one is returned with books that do not close. One run goes on at a time.
    """
    from shallows.run import Run

    check(scenario)
    request = packet.request(scenario)
    started = time.perf_counter()
    rejected = []
    with _alone:
        for attempt in range(ATTEMPTS):
            # On a machine with a processor to spare ordinary scheduling is better, on a busy one the other.
            answer = live.ask({**request, "real_time": attempt % 2 == 1})
            if on_progress:
                on_progress(answer["ended_ps"], answer["packet_hops"], _finished(answer))
            reason = answer["lateness"]["reason"]
            if reason is None or answer["interrupted"]:
                break
            rejected.append(reason)
        else:
            answer["books"]["closed"] = False
            answer["books"]["problems"] += [f"too late in {ATTEMPTS} attempts: {reason}"]
    wall_s = time.perf_counter() - started
    columns = _columns(answer)
    result = Run.from_answer(scenario, scenario.wiring, scenario.flows, columns, wall_s, world="kernel")
    result.summary["lateness"] = {**answer["lateness"], "rejected": rejected}
    return result


def _finished(answer):
    return sum(finish != NEVER for finish in answer["flows"]["finish_ps"])


_TYPES = {
    "queue_mean_bytes": float,
    "queue_p50_bytes": float,
    "queue_p99_bytes": float,
    "queue_max_bytes": float,
    "delay_mean_ps": float,
    "delay_p99_ps": float,
    "edges_bytes": float,
    "value": float,
    "retransmits": np.uint32,
    "timeouts": np.uint32,
    "flow": np.uint32,
    "name": np.uint16,
}


def _columns(answer):
    """The answer with numpy arrays where the packet world's has them."""

    def arrays(table):
        return {key: np.array(column, _TYPES.get(key, np.uint64)) for key, column in table.items()}

    queues = answer["queues"]
    return {
        **answer,
        "fingerprint": None,
        "flows": arrays(answer["flows"]),
        "ports": arrays(answer["ports"]),
        "probes": arrays(answer["probes"]),
        "queues": {
            "time_ps": np.array(queues["time_ps"], np.uint64),
            "bytes": [np.array(column, np.uint32) for column in queues["bytes"]],
        },
        "deadlock": {"links": np.zeros(0, np.uint32), "time_ps": 0},
        "queue_histograms": [arrays(histogram) for histogram in answer["queue_histograms"]],
    }

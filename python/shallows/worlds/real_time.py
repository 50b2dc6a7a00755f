"""Runs in real time: late runs are rejected and repeated, and of several accepted ones the median counts."""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from shallows.units import NEVER
from shallows.worlds.spread import spread

if TYPE_CHECKING:
    from shallows.core.contract import Answer
    from shallows.results.run import Run
    from shallows.scenario import Scenario

Ask = Callable[[int], "Answer"]
"""Runs once; the argument counts the attempts, from 0."""

_alone = threading.Lock()


def median_run(scenario: "Scenario", ask: Ask, world: str, *, repeats: int, attempts: int) -> "Run":
    """The median of `repeats` accepted runs by the mean queue at the bottleneck, with their spread.

    A run in which the machine was late is rejected and repeated, up to `attempts` times; if none is accepted,
    the last one is returned with books that do not close. Runs are not concurrent.
    """
    from shallows.results.answer import Answer as Results
    from shallows.results.run import Run

    started = time.perf_counter()
    accepted: list[Answer] = []
    rejected: list[str] = []
    with _alone:
        while len(accepted) < repeats:
            answer = _accepted(ask, attempts, rejected)
            if answer["books"]["closed"] or not accepted:
                accepted.append(answer)
            if answer["interrupted"] or not answer["books"]["closed"]:
                break
    wall_s = (time.perf_counter() - started) / len(accepted)
    runs = [
        Run.from_answer(Results(scenario, scenario.graph, scenario.flows, answer), wall_s, world)
        for answer in accepted
    ]
    # A run that ended before its warm-up has measured nothing.
    middle = sorted(range(len(runs)), key=lambda i: runs[i].summary["bottleneck"]["queue_mean_pkt"] or 0)
    middle = middle[(len(runs) - 1) // 2]
    result = runs[middle]
    late = accepted[middle]["lateness"]
    assert late is not None, "a world in real time measures how late its packets are"
    result.summary["lateness"] = {**late, "rejected": rejected}
    result.summary["spread"] = spread([run.summary for run in runs])
    return result


def finished(answer: "Answer") -> int:
    """The number of flows that have finished."""
    return int((answer["flows"]["finish_ps"] != NEVER).sum())


def _accepted(ask: Ask, attempts: int, rejected: list[str]) -> "Answer":
    """The answer of the accepted run, or of the last; reasons of rejections are added to `rejected`."""
    answer: Answer | None = None
    reason: str | None = None
    for attempt in range(attempts):
        answer = ask(attempt)
        reason = (answer["lateness"] or {}).get("reason")
        if reason is None or answer["interrupted"]:
            return answer
        rejected.append(reason)
    assert answer is not None
    answer["books"]["closed"] = False
    advice = "use a less busy machine, a lower rate, fewer flows or a longer rtt"
    answer["books"]["problems"] += [f"too late in {attempts} attempts: {reason}; {advice}"]
    return answer

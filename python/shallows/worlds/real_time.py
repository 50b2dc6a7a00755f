"""Runs in real time: late runs are rejected and repeated, and of several accepted ones the median counts."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shallows.units import NEVER
from shallows.worlds.spread import spread

if TYPE_CHECKING:
    from shallows.core.contract import Answer
    from shallows.results.run import RunData
    from shallows.scenario import Scenario

Ask = Callable[[int], "Answer"]
"""Runs once; the argument counts the attempts, from 0. `interrupted`: a signal came meanwhile."""


def median_run(scenario: "Scenario", ask: Ask, world: str, *, repeats: int, attempts: int) -> "RunData":
    """The median of `repeats` accepted runs by the mean queue at the bottleneck, with their spread.

    A run in which the machine was late is rejected and repeated, up to `attempts` times; if none is accepted,
    the last one is returned with books that do not close. The caller holds the lock of the machine.

    A signal ends the series: the runs that are finished count, and the interrupted one only if there is no
    other. Then `interrupted` of the summary is true, and `spread` names the run that was interrupted. Raises
    `KeyboardInterrupt` if there is nothing to return.
    """
    from shallows.results.answer import Answer as Results
    from shallows.results.run import RunData

    started = time.perf_counter()
    series = _Series(scenario.duration, attempts)
    while len(series.finished) < repeats and not series.is_over:
        series.repeat(ask)
    answers = series.finished or ([series.cut] if series.cut and not series.signal else [])
    if not answers:
        raise series.signal or KeyboardInterrupt
    wall_s = (time.perf_counter() - started) / len(answers)
    runs = [
        RunData.from_answer(Results(scenario, scenario.graph, scenario.flows, answer), wall_s, world)
        for answer in answers
    ]
    # A run that ended before its warm-up has measured nothing.
    middle = sorted(range(len(runs)), key=lambda i: runs[i].summary["bottleneck"]["queue_mean_pkt"] or 0)
    middle = middle[(len(runs) - 1) // 2]
    result = runs[middle]
    late = answers[middle]["lateness"]
    assert late is not None, "a world in real time measures how late its packets are"
    result.summary["lateness"] = {**late, "rejected": series.rejected}
    result.summary["spread"] = spread([run.summary for run in runs])
    if series.interrupted:
        result.summary["interrupted"] = True
        result.summary["spread"] |= series.interruption(repeats)
    return result


def finished(answer: "Answer") -> int:
    """The number of flows that have finished."""
    return int((answer["flows"]["finish_ps"] != NEVER).sum())


@dataclass
class _Series:
    """The runs of a scenario so far.

    cut: the run that a signal ended early. interrupted: whether a signal came, also between runs. signal: the
    exception of a signal after which a run has no answer, or none that counts.
    """

    duration_ps: int
    attempts: int
    finished: "list[Answer]" = field(default_factory=list)
    cut: "Answer | None" = None
    rejected: list[str] = field(default_factory=list)
    interrupted: bool = False
    signal: KeyboardInterrupt | None = None
    is_over: bool = False

    def repeat(self, ask: Ask) -> None:
        """Run until a run is accepted, the machine was late in all attempts, or a signal comes."""
        answer: Answer | None = None
        reason: str | None = None
        for attempt in range(self.attempts):
            try:
                answer = ask(attempt)
            except KeyboardInterrupt as signal:
                self.interrupted, self.is_over, self.signal = True, True, signal
                return
            reason = (answer["lateness"] or {}).get("reason")
            if answer["interrupted"]:
                self._end(answer, reason)
                return
            if reason is None:
                self.is_over = not answer["books"]["closed"]
                if not self.is_over or not self.finished:
                    self.finished.append(answer)
                return
            self.rejected.append(reason)
        self.is_over = True
        if answer and not self.finished:
            answer["books"]["closed"] = False
            advice = "use a less busy machine, a lower rate, fewer flows or a longer rtt"
            answer["books"]["problems"] += [f"too late in {self.attempts} attempts: {reason}; {advice}"]
            self.finished.append(answer)

    def interruption(self, repeats: int) -> dict[str, object]:
        """For `spread`: the number of the run that a signal ended (None after the last), and when."""
        done = len(self.finished)
        at_s = self.cut["ended_ps"] / 1e12 if self.cut else None
        ended = {"run": done + 1 if done < repeats else None, "at_s": at_s}
        return {"runs": done, "wanted": repeats, "interrupted": ended}

    def _end(self, answer: "Answer", reason: str | None) -> None:
        """The end by a signal. A run that it came too late to shorten is finished, if it is accepted."""
        self.interrupted = self.is_over = True
        if answer["ended_ps"] >= self.duration_ps and reason is None:
            answer["interrupted"] = False
            self.finished.append(answer)
        else:
            answer["interrupted"] = True
            self.cut = answer
            if reason is not None:
                self.signal = KeyboardInterrupt(f"a run that was too late to be kept ({reason})")

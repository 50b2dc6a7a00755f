"""The largest cause of the time that a collective or task takes beyond its ideal, from the counts of a run.

Each estimate needs no second run. `shallows why --task` records the run again and divides the time exactly.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shallows.results.summary import bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.core.contract import F64
    from shallows.results.answer import Answer

LEAST = 0.05
"""Share of the completion time beyond the ideal from which on a cause is named."""
MOST_FLOWS = 50_000
"""Flows whose paths are looked at."""


class Cause(NamedTuple):
    """Microseconds that a cause explains, and the port where it acts."""

    cause: str
    cause_us: float
    cause_port: str | None = None


NONE: dict[str, object] = {"cause": None, "cause_us": None, "cause_port": None}


def named(answer: "Answer", rows: list[dict[str, Any]]) -> list[dict[str, object]]:
    """The rows of collectives or tasks, with the largest cause of each."""
    paths = _paths(answer) if any(_beyond_us(row) for row in rows) else None
    return [row | _largest(answer, row, paths) for row in rows]


def _beyond_us(row: dict[str, Any]) -> float:
    """The time beyond the ideal, or beyond it until the end of the run; 0 if a cause needs no name."""
    took_us = row["completion_us"] or bounds(row).get("completion_us") or 0.0
    beyond_us = took_us - (row["ideal_us"] or took_us)
    return beyond_us if beyond_us > LEAST * took_us else 0.0


def _largest(
    answer: "Answer", row: dict[str, Any], paths: "list[NDArray[np.intp]] | None"
) -> dict[str, object]:
    beyond_us = _beyond_us(row)
    if not beyond_us:
        return NONE
    its = _members(answer, row)
    causes = [_timeouts(answer, its), *(_links(answer, row, its, paths) if paths else ())]
    largest = max(causes, key=lambda cause: cause.cause_us)
    rest_us = beyond_us - largest.cause_us
    return (largest if largest.cause_us >= rest_us else Cause("senders", rest_us))._asdict()


def _members(answer: "Answer", row: dict[str, Any]) -> "NDArray[np.intp]":
    """The flows of a task, or of a group of a collective."""
    flows = answer.scenario.flows
    its = np.flatnonzero(flows.group == row["traffic"])
    messages = flows.messages[int(row["traffic"])]
    return its[messages.group == row["group"]] if "group" in row and messages is not None else its


def _paths(answer: "Answer") -> "list[NDArray[np.intp]] | None":
    """The links of each flow; None if flows have several paths, or are many."""
    from shallows.warnings.paths import paths_of

    if not answer.one_way or not answer.network.is_nic.any() or len(answer.scenario.flows) > MOST_FLOWS:
        return None
    return [np.asarray(forth, np.intp) for forth, _ in paths_of(answer.scenario)]


def _timeouts(answer: "Answer", its: "NDArray[np.intp]") -> Cause:
    """The least time that one flow waited for its timeouts."""
    from shallows.warnings.losses import least_timeouts

    waited_us = answer.flow_columns["timeouts"][its] * least_timeouts(answer)[its] / 1e6
    return Cause("timeouts", float(waited_us.max(initial=0.0)))


def _links(
    answer: "Answer", row: dict[str, Any], its: "NDArray[np.intp]", paths: "list[NDArray[np.intp]]"
) -> list[Cause]:
    """What a link needs for the job's frames beyond the ideal, for those of others meanwhile, and its pauses.

    The ideal shares paths equally. Frames of others count by the part of their time in that of the job.
    """
    columns, network = answer.flow_columns, answer.network
    start, end = (columns["start_us"], columns["start_us"] + answer.counted.least["fct_us"])
    first, last = float(np.nanmin(start[its])), float(np.nanmax(end[its]))
    with np.errstate(invalid="ignore", divide="ignore"):
        inside = np.nan_to_num((np.minimum(end, last) - np.maximum(start, first)) / (end - start)).clip(0, 1)
    inside[its] = 1.0
    mine = np.zeros(len(start), bool)
    mine[its] = True
    sent = (
        answer.answer["flows"]["delivered_bytes"]
        * inside
        * answer.scenario.mtu
        / answer.scenario.frame.payload
    )
    link, flow = np.concatenate(paths), np.repeat(np.arange(len(paths)), [len(path) for path in paths])

    def needed_us(of: "NDArray[np.bool_]") -> "F64":
        on = of[flow]
        sums = np.bincount(link[on], sent[flow[on]], len(network.rate_bps))
        return np.asarray(8e6 * sums / network.rate_bps)

    own, others = needed_us(mine), needed_us(~mine)
    crossed = own > 0
    uneven, both = np.maximum(own - row["ideal_us"], 0), np.where(crossed, own + others - row["ideal_us"], 0)
    shared = np.maximum(both, 0) - uneven.max()
    paused = np.where(crossed, answer.port_columns["paused_us"], 0.0)
    return [
        Cause(cause, max(float(of.max()), 0.0), network.port_names[int(of.argmax())])
        for cause, of in (("uneven paths", uneven), ("other traffic", shared), ("pauses", paused))
    ]

"""Warnings about what a run measured."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.scenario.paths import about
from shallows.units import MOST_ROWS, TIME

if TYPE_CHECKING:
    from shallows.results.answer import Answer

FRAMES = 100
"""With fewer frames in the measured time goodput is coarse: a packet counts whole when it arrives."""


def nothing_measured(answer: "Answer") -> list[str]:
    if answer.measured_ps:
        return []
    ended, warmup = (TIME.words(int(time)) for time in (answer.ended_ps, answer.scenario.warmup_ps))
    return [f"the run ended at {ended}, before its warm-up of {warmup} was over: nothing was measured"]


def dead_paths(answer: "Answer") -> list[str]:
    """The run ended because only flows over links that are down were left."""
    ended = TIME.words(int(answer.ended_ps))
    return [f"the run ended at {ended}, because {problem}" for problem in answer.dead_paths]


def not_begun(answer: "Answer") -> list[str]:
    """Flows without an end that were to start after the end of the run."""
    flows = answer.scenario.flows
    endless = (flows.bytes == 0) & ~flows.waiting
    late = int(np.sum(endless & (flows.start_ps > answer.ended_ps)))
    if not late:
        return []
    ended, count = TIME.words(int(answer.ended_ps)), int(np.sum(endless))
    return [
        f"{late} of {count} flows without an end had not begun when the run ended at {ended}, and count as "
        "cut off"
    ]


def unsettled(answer: "Answer") -> list[str]:
    """Flows without an end that still took more of links with room when the run ended."""
    return [
        f"flows of traffic[{row['traffic']}] have not settled: in the second half of the run they rose from "
        f"{row['from_gbps']:.3g} to {row['to_gbps']:.3g} Gbit/s, and used no link to more than "
        f"{row['utilization']:.0%}; at this pace they need about {about(row['needed_s'] * 1e12)}; write a "
        "longer warmup and duration"
        for row in answer.unsettled
    ]


def coarse(answer: "Answer") -> list[str]:
    """The measured time of flows without an end is shorter than `FRAMES` frames of a host's link."""
    if not answer.measured_ps or not np.isnan(answer.flow_columns["bytes"]).any():
        return []
    host_links = answer.network.rate_bps[answer.network.is_nic]
    if not len(host_links):  # a fluid has no frames
        return []
    frames = int(answer.measured_ps) * int(host_links.min()) // (8 * 10**12 * answer.scenario.mtu)
    if frames >= FRAMES:
        return []
    span = TIME.words(int(answer.measured_ps))
    return [
        f"only {span} were measured, in which a host link carries {frames} frames: a packet counts whole "
        "when it arrives, so goodput is coarse and may exceed the rate of the link"
    ]


def not_recorded(answer: "Answer") -> list[str]:
    """Samples of a run without a set duration stop at a limit of rows."""
    queues, probes = answer.answer["queues"], answer.answer["probes"]
    warnings: list[str] = []
    for key, times, series in (
        ("queues", queues["time_ps"], len(queues["bytes"])),
        ("probes", probes["time_ps"], 1),
    ):
        if len(times) * series >= MOST_ROWS:
            until = TIME.words(int(times[-1]))
            warnings.append(f"record.{key} stopped at {until}, with {MOST_ROWS} rows; the run continued")
    return warnings

"""Fig. 1 and 2: what marks and what round trips tell of the queue."""

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from validation.claim import Mutation, Plot, below, near, within
from validation.dx.paper import DX, FRAME_US, LINK
from validation.runs import BOTTLENECK, F64, probe

if TYPE_CHECKING:
    from shallows import Run
    from validation.lab import Lab

BACK_US = 177
"""From the port to the sender by way of the receiver, without queueing, in the dumbbell of 200 us."""
FEEDBACK = Plot("queue (packets)", "feedback (%)", "scatter")


def forty(lab: "Lab", duration: str = "140ms", probes: str = "10us") -> "Run":
    """Forty flows of DCTCP, sampled more finely than acknowledgements arrive."""
    return lab.run(
        "dctcp-40", LINK, cc={"name": "dctcp@ns-2"}, duration=duration, warmup="60ms",
        record__probes=probes, record__queues="1us",
    )  # fmt: skip


def windows(lab: "Lab", run: "Run") -> F64:
    """Of every window of every flow after the warm-up: (marked share, alpha after it, mean queue while it passed the port).

    A window ends where alpha changes; the share of marks follows from old and new alpha.
    """
    rows: list[tuple[float, float, float]] = []
    mean = running_mean(lab, run)
    for _, its in probe(run, "alpha", 60e3).groupby("flow"):
        value, time = its.value.to_numpy(), its.time_us.to_numpy()
        moved = np.flatnonzero(np.diff(value)) + 1
        for a, b in pairwise(moved):
            share = 16 * (value[b] - value[a] * 15 / 16)
            rows.append((share, value[b], mean(time[a] - BACK_US - 45, time[b] - BACK_US - 45)))
    return np.array(rows).T


def running_mean(lab: "Lab", run: "Run") -> Callable[[float, float], float]:
    """A function (from_us, to_us) -> the mean queue in packets between them."""
    samples = lab.queue(run)
    time, total = samples.time_us.to_numpy(), np.concatenate([[0], np.cumsum(samples.queue_pkt)])

    def mean(start_us: float, stop_us: float) -> float:
        i, j = np.searchsorted(time, [start_us, stop_us])
        return (total[j] - total[i]) / max(j - i, 1)

    return mean


def correlation(a: F64, b: F64) -> float:
    """Pearson's coefficient."""
    return float(np.corrcoef(a, b)[0, 1])


def rmse(a: F64, b: F64) -> float:
    """Root of the mean square difference."""
    return np.sqrt(np.mean((a - b) ** 2))


@DX.figure(
    "Fig. 1",
    "Marks and the queue",
    setting="Dumbbell, 10 Gbps, 200 us, 40 flows of dctcp@ns-2 with g = 1/16, K = 35, buffer of 100 packets.",
    runs={"dctcp-40": BOTTLENECK},
    seeds=8,
    plot=FEEDBACK,
)
def fig1(lab: "Lab") -> None:
    run = forty(lab)
    share, alpha, queue = windows(lab, run)
    lab.say("correlation of marks", correlation(share, queue))
    lab.say("RMSE of marks", rmse(100 * share, queue))
    lab.say("windows with feedback 0", 100 * (share < 0.01).mean())
    lab.say("windows with feedback 100", 100 * (share > 0.99).mean())
    lab.say("most frequent window", np.floor(probe(run, "window_pkt", 60e3).value).mode()[0])
    lab.say("least queue of a window", queue.min())
    lab.say("largest queue of a window", queue.max())
    lab.say("correlation of the average", correlation(alpha, queue))
    lab.say("RMSE of the average", rmse(100 * alpha, queue))
    lab.say("least alpha", alpha.min())
    lab.say("largest alpha", alpha.max())
    lab.curve("marked share", queue, 100 * share)
    lab.curve("moving average", queue, 100 * alpha)


fig1.claim(
    "DX1",
    "The share of marked packets tells little of the queue: about half of all feedback is 0 or 100 %.",
    source="Fig. 1, §II-A",
    tolerance="T3: correlation 0.1, RMSE 5, shares 30 %, ranges 8 packets; the most frequent window exact",
    bands=[
        near("correlation of marks", 0.6924, by=0.1, domain="correlation"),
        near("RMSE of marks", 33.79, by=5, unit="%"),
        near("windows with feedback 0", 16.0, rel=0.3, unit="%"),
        near("windows with feedback 100", 33.0, rel=0.3, unit="%"),
        near("most frequent window", 5.0, by=0.5, unit="packets"),
        near("least queue of a window", 9.0, by=8, unit="packets"),
        near("largest queue of a window", 69.0, by=8, unit="packets"),
    ],
    mutation=Mutation({"dctcp-40:network.marking.threshold": "20pkt"}, "largest queue of a window"),
    differs="The mean queue of a window is taken while its packets pass the port. The share of marks follows from alpha.",
)

fig1.claim(
    "DX2",
    "DCTCP's moving average tells even less.",
    source="Fig. 1, §II-A",
    tolerance="T3: correlation 0.15, RMSE 5 and ranges 8 packets as for DX1, extremes of alpha 25 %",
    bands=[
        near("correlation of the average", 0.1790, by=0.15, domain="correlation"),
        near("RMSE of the average", 24.63, by=5, unit="%"),
        near("least alpha", 0.475, rel=0.25),
        near("largest alpha", 0.755, rel=0.25),
        within("least queue of a window", 0, 15, reported=7.0, unit="packets"),
        near("largest queue of a window", 70.0, by=8, unit="packets"),
        below("correlation of the average", "correlation of marks", 1.3 * 0.1790 / 0.6924, reported="0.18 and 0.69"),
    ],
    mutation=Mutation({"dctcp-40:traffic.0.flows": 20, "dctcp-40:topology.hosts": 20}, "least alpha"),
    differs="The paper does not print g.",
)  # fmt: skip


@DX.figure(
    "Fig. 2",
    "The round trip and the queue",
    setting="As Fig. 1; DCTCP keeps the control, and round trips are read beside it.",
    runs={"dctcp-40": BOTTLENECK},
    seeds=8,
    plot=FEEDBACK,
)
def fig2(lab: "Lab") -> None:
    run = forty(lab, "75ms", "3us")
    samples = lab.queue(run)
    time, queue = samples.time_us.to_numpy(), samples.queue_pkt.to_numpy()
    base = run.probes[run.probes.name == "rtt_us"].value.min()
    every: list[F64] = []
    queued: list[F64] = []
    for _, its in probe(run, "rtt_us", 60e3).groupby("flow"):
        value, at = its.value.to_numpy(), its.time_us.to_numpy()
        new = np.flatnonzero(np.diff(value)) + 1
        waited = (value[new] - base) / FRAME_US
        # The probe sees an acknowledgement up to 3 us late, 1.5 us on average.
        seen = queue[np.searchsorted(time, at[new] - 1.5 - BACK_US - FRAME_US * waited)]
        whole = len(new) // 5 * 5
        every.append(waited[:whole].reshape(-1, 5).mean(axis=1))
        queued.append(seen[:whole].reshape(-1, 5).mean(axis=1))
    measured, met = np.concatenate(every), np.concatenate(queued)
    lab.say("correlation", correlation(measured, met))
    lab.say("RMSE", rmse(measured, met))
    lab.curve("latency", met, measured)


fig2.claim(
    "DX3",
    "The round trip tells the queue: correlation 0.9998, RMSE 1.05.",
    source="Fig. 2, §II-A",
    tolerance="T3: correlation 0.01, RMSE a factor of 2",
    bands=[
        within("correlation", 0.99, 0.99999, reported=0.9998, domain="correlation"),
        within("RMSE", 1.05 / 2, 1.05 * 2, reported=1.05, unit="%"),
    ],
    mutation=Mutation({"dctcp-40:hosts.timestamps": {"kind": "software"}}, "RMSE"),
    differs="The queue is that which the packets of a window met.",
    undecided={"RMSE": "The RMSE is 0.577 ± 0.032 % with one set of eight seeds and 0.564 ± 0.051 % with another; the band begins at 0.525 %."},
)  # fmt: skip

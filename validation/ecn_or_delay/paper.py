"""The paper, and the quantities that several of its figures read."""

from typing import TYPE_CHECKING, Any

from shallows.fluid import Model
from shallows.fluid.trajectory import Flows, Trajectory
from validation.claim import Paper
from validation.runs import F64

if TYPE_CHECKING:
    from pandas import Series

    from shallows import Run
    from validation.lab import Lab

ECN_OR_DELAY = Paper(
    "ecn-or-delay",
    "ECN or Delay",
    "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY",
    "Zhu, Ghobadi, Misra and Padhye, CoNEXT 2016",
)

GENTLE: dict[str, Any] = {"kmax": 2e6, "pmax": 0.1}
"""The marking ramp with which Fig. 4 and 17 were computed, by the authors' scripts; the text has 200 KB and 1 %."""
GBPS = 1e9
DCQCN = "dcqcn@ecn-or-delay"
LINK_40G = "Dumbbell, 40 Gbps, frames of 1000 B; dcqcn@ecn-or-delay; the marking ramp rises on beyond Kmax, as in the paper's figures."
LINK_10G = "Dumbbell, 10 Gbps, 4 us, frames of 1000 B."


def at_rest(model: Model) -> tuple[float, float]:
    """The marking probability and the queue in KB at a model's fixed point."""
    found = model.fixed_point()
    if found.p is None or found.queue_bytes is None:
        raise ValueError(found.explanation or "no fixed point")
    return found.p, found.queue_bytes / 1e3


def queue_kb(lab: "Lab", run: "Run") -> float:
    """The mean queue of the figure's port."""
    return lab.port(run)["queue_mean_pkt"] * run.scenario.mtu / 1e3


def samples_kb(lab: "Lab", run: "Run") -> "Series":
    """Samples of the figure's queue after the warm-up."""
    return lab.queue(run, run.summary["warmup_s"] * 1e6).queue_bytes / 1e3


def rates(run: "Run") -> F64:
    """Goodput of each flow in Gbps."""
    return run.flows.goodput_gbps.to_numpy()


def ratio(run: "Run") -> float:
    """The largest rate over the smallest."""
    return rates(run).max() / rates(run).min()


def split(first: float, second: float) -> list[Flows]:
    """Two classes of one flow that start at these Gbps."""
    return [Flows(rate_bps=first * GBPS), Flows(rate_bps=second * GBPS)]


def late_kb(run: Trajectory, start_s: float) -> F64:
    """The queue from `start_s` on."""
    return run.queue_bytes[run.between(start_s)] / 1e3

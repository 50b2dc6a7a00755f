"""Traffic: one model a kind, whose `draw()` gives the flows of one `[[traffic]]` table.

To add a kind, write a model with a literal `kind` and `draw()`, and enter it in `KINDS`.
"""

from typing import Annotated

from shallows.base.table import Key
from shallows.traffic.collectives import AllGather, AllReduce, AllToAll, Broadcast, Collective, ReduceScatter
from shallows.traffic.flows import NO_FLOW, Application, Drawn, Draws, Flows, Load, draw
from shallows.traffic.kind import AlgorithmChoice, Kind
from shallows.traffic.kinds import Incast, LongLived, RequestResponse, Shuffle, Staircase
from shallows.traffic.poisson import Poisson
from shallows.traffic.predecessors import Predecessors
from shallows.traffic.tasks import Task, Tasks
from shallows.traffic.trace import Driven, Trace
from shallows.traffic.training import Training

__all__ = [
    "KINDS",
    "NO_FLOW",
    "AlgorithmChoice",
    "Application",
    "Collective",
    "Drawn",
    "Draws",
    "Driven",
    "Flows",
    "Kind",
    "Load",
    "Predecessors",
    "Task",
    "Tasks",
    "Traffic",
    "Training",
    "draw",
]

KINDS = {
    "long-lived": LongLived,
    "staircase": Staircase,
    "incast": Incast,
    "shuffle": Shuffle,
    "all-reduce": AllReduce,
    "reduce-scatter": ReduceScatter,
    "all-gather": AllGather,
    "broadcast": Broadcast,
    "all-to-all": AllToAll,
    "request-response": RequestResponse,
    "poisson": Poisson,
    "tasks": Tasks,
    "training": Training,
    "trace": Trace,
    "driven": Driven,
}

Traffic = Annotated[
    LongLived
    | Staircase
    | Incast
    | Shuffle
    | AllReduce
    | ReduceScatter
    | AllGather
    | Broadcast
    | AllToAll
    | RequestResponse
    | Poisson
    | Tasks
    | Training
    | Trace
    | Driven,
    Key(discriminator="kind"),
]

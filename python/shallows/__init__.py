"""Shallows: a laboratory for datacenter congestion control.

    import shallows as sh

    run = sh.run("scenarios/dctcp-40.toml", seed=2)
    run.summary["bottleneck"]["queue_mean_pkt"]
    run.flows                                   # a pandas table; also .queues, .probes, .ports
    run.save("results/dctcp-40")
    run.figure().savefig("dctcp-40.pdf")

    scenario = sh.Scenario(
        duration="100ms",
        topology=sh.Dumbbell(hosts=4, rate="10Gbps"),
        cc="dctcp",
        traffic=[sh.Poisson(sizes="websearch", load=0.4, load_of="bottleneck")],
    )
    sh.compare(scenario, ccs=["dctcp", "dx"])
    sh.sweep(scenario, cc=["dctcp", "dx"], over={"traffic.0.load": [0.2, 0.4, 0.8]}, seeds=10)

Running
    run          one scenario, from a file or a `Scenario`, with overrides
    compare      the same scenario under several algorithms: one table, one figure
    sweep        hundreds of runs: algorithms, swept keys and seeds, with intervals over seeds
    register     a name for an algorithm written in Python, for use as `cc`

Writing a scenario
    Scenario     network, hosts, algorithm and traffic: typed, validated, with units; TOML in and out
    topologies   Dumbbell, Star, ParkingLot, MultiBottleneck, LeafSpine, FatTree, ThreeTier, RailOptimised,
                 DragonflyPlus, Graph
    traffic      LongLived, Staircase, Incast, Shuffle, AllReduce, ReduceScatter, AllGather, Broadcast,
                 AllToAll, RequestResponse, Poisson, Trace
    tables       Network, Shared, Pauses, Trimming, Marking, Hosts, Timestamps, Record; CC with parameters
    units        quantities as numbers: `10 * sh.units.Gbps`; a text says the same, "10Gbps"

Looking at results
    Run          summary, tables and figure of one run; saved to and loaded from a folder
    Comparison   what `compare` returns
    Sweep        what `sweep` returns: a table with a row a run, means and intervals, figures
    plot         one function a kind of figure, drawing on the Axes it is given

Going wrong
    ScenarioError   the scenario, an option or a file is wrong
    BooksError      packets or flows are unaccounted for: the run cannot be trusted

`__version__` is release and commit of the code that runs. What the columns and the keys of a result mean
is in docs/results.md, and in the metadata of every Parquet file.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shallows import plot, units
    from shallows.algorithms.user_algorithms import register
    from shallows.errors import BooksError, ScenarioError
    from shallows.runs import Run
    from shallows.scenario import Scenario
    from shallows.scenario.builders import (
        CC,
        AllGather,
        AllReduce,
        AllToAll,
        Broadcast,
        DragonflyPlus,
        Dumbbell,
        FatTree,
        Graph,
        Hosts,
        Incast,
        LeafSpine,
        LongLived,
        Marking,
        MultiBottleneck,
        Network,
        ParkingLot,
        Pauses,
        Poisson,
        RailOptimised,
        Record,
        ReduceScatter,
        RequestResponse,
        Shared,
        Shuffle,
        Staircase,
        Star,
        ThreeTier,
        Timestamps,
        Trace,
        Trimming,
    )
    from shallows.sweeps.comparison import Comparison, compare
    from shallows.sweeps.result import Sweep
    from shallows.sweeps.running import sweep
    from shallows.worlds.runner import run

    __version__: str

__all__ = [
    "CC",
    "AllGather",
    "AllReduce",
    "AllToAll",
    "BooksError",
    "Broadcast",
    "Comparison",
    "DragonflyPlus",
    "Dumbbell",
    "FatTree",
    "Graph",
    "Hosts",
    "Incast",
    "LeafSpine",
    "LongLived",
    "Marking",
    "MultiBottleneck",
    "Network",
    "ParkingLot",
    "Pauses",
    "Poisson",
    "RailOptimised",
    "Record",
    "ReduceScatter",
    "RequestResponse",
    "Run",
    "Scenario",
    "ScenarioError",
    "Shared",
    "Shuffle",
    "Staircase",
    "Star",
    "Sweep",
    "ThreeTier",
    "Timestamps",
    "Trace",
    "Trimming",
    "compare",
    "plot",
    "register",
    "run",
    "sweep",
    "units",
]

_MODULES = {
    "BooksError": "shallows.errors",
    "Comparison": "shallows.sweeps.comparison",
    "Run": "shallows.runs",
    "Scenario": "shallows.scenario",
    "ScenarioError": "shallows.errors",
    "Sweep": "shallows.sweeps.result",
    "compare": "shallows.sweeps.comparison",
    "register": "shallows.algorithms.user_algorithms",
    "run": "shallows.worlds.runner",
    "sweep": "shallows.sweeps.running",
}
"""The module of each public name. Names that are missing here are builders of tables of a scenario."""

if not TYPE_CHECKING:  # without this, type checkers would accept any name

    def __getattr__(name):
        """Import a name when it is first used: some modules load slowly or are compiled."""
        if name == "__version__":
            return import_module("shallows.base.version").version()
        if name not in __all__:
            raise AttributeError(f"module 'shallows' has no attribute {name!r}")
        if name in ("plot", "units"):
            return import_module(f"shallows.{name}")
        return getattr(import_module(_MODULES.get(name, "shallows.scenario.builders")), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

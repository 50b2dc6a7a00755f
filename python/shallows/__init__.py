"""Shallows: a laboratory for datacenter congestion control.

    import shallows as sh

    run = sh.run("scenarios/dctcp-40.toml", seed=2)
    run.summary["bottleneck"]["queue_mean_pkt"]
    run.flows                                   # a pandas table; also .queues, .probes, .ports
    run.save("results/dctcp-40")
    run.figure().savefig("dctcp-40.pdf")

    sh.compare("scenarios/dctcp-40.toml", ccs=["dctcp", "dx"])
    sh.sweep("scenarios/dctcp-40.toml", cc=["dctcp", "dx"], over={"traffic.0.flows": [10, 20, 40]}, seeds=10)

Running
    run          one scenario, from a file or a `Scenario`, with overrides
    compare      the same scenario under several algorithms: one table, one figure
    sweep        hundreds of runs: algorithms, swept keys and seeds, with intervals over seeds
    Scenario     network, hosts, algorithm and traffic: typed, validated, with units; TOML in and out
    register     a name for an algorithm written in Python, for use as `cc`

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

# These two submodules share their name with a function, so they come first and the functions take the names.
from shallows.compare import Comparison, compare
from shallows.errors import BooksError, ScenarioError
from shallows.results import Run
from shallows.run import run

__all__ = [
    "BooksError",
    "Comparison",
    "Run",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "compare",
    "plot",
    "register",
    "run",
    "sweep",
]


def __getattr__(name):
    """Load what is heavy, or compiled, when it is first used."""
    if name == "Scenario":
        return import_module("shallows.scenario").Scenario
    if name == "register":
        return import_module("shallows.algorithm").register
    if name in ("Sweep", "sweep"):
        return getattr(import_module("shallows.sweeps"), name)
    if name == "plot":
        return import_module("shallows.plot")
    if name == "__version__":
        return import_module("shallows.version").version()
    raise AttributeError(f"module 'shallows' has no attribute {name!r}")


def __dir__():
    return [*__all__, "__version__"]

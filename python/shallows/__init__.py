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
    sh.compare(scenario, cc=["dctcp", "dx"])
    sh.sweep(scenario, cc=["dctcp", "dx"], over={"traffic.0.load": [0.2, 0.4, 0.8]}, seeds=10)

Running
    run          one scenario, from a file or a `Scenario`, with overrides
    compare      the same scenario under several algorithms: one table, one figure
    sweep        hundreds of runs: algorithms, swept keys and seeds, with intervals over seeds
    judge        an algorithm under families of tests with rules, beside baselines: one page
    open         a network that the calling program drives: it sends messages and advances the time
    transfers    when messages end in a network, without a program that drives it
    register     a name for an algorithm written in Python, for use as `cc`

Writing a scenario
    Scenario     network, hosts, algorithm and traffic: typed, validated, with units; TOML in and out
    tables       a class for each table of a scenario file, such as `Dumbbell`, `Poisson`, `TrafficClass` and
                 `Fault`; `help(sh.Poisson)` lists its keys
    units        quantities as numbers: `10 * sh.units.Gbps`; a text says the same, "10Gbps"

Looking at results
    Run          summary, tables and figure of one run; saved to and loaded from a folder
    Comparison   what `compare` returns
    Sweep        what `sweep` returns: a table with a row a run, means and intervals, figures
    plot         one function a kind of figure, drawing on the Axes it is given

Further modules
    why          why a flow was slow, and the state of a run at a time
    fluid        models of congestion control as equations: margins, trajectories
    settings     settings of switches and NICs: read, explained, recommended, written
    importers    files of other simulators as scenarios
    export       timelines of a run for Perfetto and Wireshark

Going wrong
    ScenarioError   the scenario, an option or a file is wrong
    BooksError      packets or flows are unaccounted for: the run cannot be trusted

`__version__` is release and commit of the code that runs. What the columns and the keys of a result mean
is in docs/results.md, and in the metadata of every Parquet file.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = [
    "BooksError",
    "Comparison",
    "OpenNetwork",
    "Run",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "compare",
    "judge",
    "open",
    "plot",
    "register",
    "run",
    "sweep",
    "transfers",
    "units",
]

if TYPE_CHECKING:
    import shallows.scenario.builders as builders
    from shallows import export as export
    from shallows import fluid as fluid
    from shallows import importers as importers
    from shallows import plot, units
    from shallows import settings as settings
    from shallows import why as why
    from shallows.algorithms.user_algorithms import register
    from shallows.driven import OpenNetwork as OpenNetwork
    from shallows.driven import open as open
    from shallows.driven import transfers as transfers
    from shallows.errors import BooksError, ScenarioError
    from shallows.judging import judge as judge
    from shallows.runner import run
    from shallows.runs import Run
    from shallows.scenario import Scenario
    from shallows.scenario.builders import *  # noqa: F403
    from shallows.sweeps.comparison import Comparison, compare
    from shallows.sweeps.result import Sweep
    from shallows.sweeps.running import sweep

    __all__ += builders.__all__
    __version__: str

_MODULES = {
    "BooksError": "shallows.errors",
    "Comparison": "shallows.sweeps.comparison",
    "Run": "shallows.runs",
    "Scenario": "shallows.scenario",
    "ScenarioError": "shallows.errors",
    "Sweep": "shallows.sweeps.result",
    "compare": "shallows.sweeps.comparison",
    "OpenNetwork": "shallows.driven",
    "judge": "shallows.judging",
    "open": "shallows.driven",
    "register": "shallows.algorithms.user_algorithms",
    "run": "shallows.runner",
    "sweep": "shallows.sweeps.running",
    "transfers": "shallows.driven",
}
"""The module of each public name; the tables of a scenario are those of `shallows.scenario.builders`."""
_PUBLIC_MODULES = ("export", "fluid", "importers", "plot", "settings", "units", "why")

if not TYPE_CHECKING:  # without this, type checkers would accept any name
    _OWN = tuple(__all__)
    del __all__  # until it is asked for: the tables are made from the models, which load slowly

    def __getattr__(name):
        """Import a name when it is first used: some modules load slowly or are compiled."""
        if name == "__version__":
            return import_module("shallows.base.version").version()
        if name in _PUBLIC_MODULES:
            return import_module(f"shallows.{name}")
        if name in _MODULES:
            return getattr(import_module(_MODULES[name]), name)
        if name == "__all__" or name[:1].isupper():  # a submodule is looked up here before it is loaded
            builders = import_module("shallows.scenario.builders")
            if name == "__all__":
                return sorted([*_OWN, *builders.__all__])
            if name in builders.__all__:
                return getattr(builders, name)
        raise AttributeError(f"module 'shallows' has no attribute {name!r}")

    def __dir__():
        return sorted({*__getattr__("__all__"), *_PUBLIC_MODULES, "__version__"})

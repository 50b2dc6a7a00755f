"""From a scenario to its run, in one of the worlds."""

from importlib import import_module

from shallows import extras
from shallows.errors import ScenarioError
from shallows.results import store

WORLDS = ("packet", "fluid", "kernel")


def run(
    scenario,
    *,
    seed=None,
    world="packet",
    repeats=None,
    out=None,
    progress=False,
    overrides=None,
    **settings,
):
    """Run `scenario`, a `Scenario` or the path of a TOML file, and return its `Run`.

    `overrides` replace single keys of the scenario: `run("x.toml", overrides={"traffic.0.flows": 10})`. As
    keywords they are written with two underscores for a dot: `run("x.toml", cc__name="dx")`. With `out`
    the run is saved to that folder; with `progress` stderr shows how far it is. Ctrl-C ends the run early
    and returns what there is; `Run.interrupted` tells. The kernel world, in which no two runs are alike,
    runs it `repeats` times (3) and returns the run in the middle; `summary["spread"]` tells how far they
    are apart.

    Raises `ScenarioError` for a wrong scenario, `BooksError` (after saving; the run is its `run`) where
    packets or flows are unaccounted for, `shallows._core.Bug` for a broken invariant.
    """
    from shallows.progress import Progress

    overrides = {**(overrides or {}), **settings}
    scenario = prepare(scenario, seed=seed, overrides=overrides, world=world)
    if out is not None:
        store.check_replaceable(out, scenario.file)
    with Progress(shown=progress) as bar:
        result = in_world(world, repeats)(scenario, bar.of(scenario))
    if out is not None:
        result.save(out)
    return result.check_books()


def prepare(scenario, *, seed=None, overrides=None, world="packet"):
    """The `Scenario` that `scenario` (one, or the path of its file) becomes with `overrides` applied.

    Raises `ScenarioError` where it is wrong, or is nothing that `world` can express.
    """
    from shallows.scenario import Scenario

    overrides = {key.replace("__", "."): value for key, value in (overrides or {}).items()}
    if seed is not None:
        overrides["seed"] = seed
    if not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario, overrides)
    elif overrides:
        scenario = scenario.replace(overrides)
    if hasattr(_module(world), "check"):
        try:
            _module(world).check(scenario)
        except ScenarioError as error:
            raise error.in_file(scenario.file) from None
    return scenario


def in_world(world, repeats=None):
    """The function `(scenario, on_progress) -> Run` of a world; the kernel world's runs it `repeats` times.

    A bug that it meets carries a note with scenario, seed and version, to be reported.
    """
    simulate = _module(world).run
    if repeats is not None and world != "kernel":
        raise ScenarioError("repeats", repeats, "none in a world that gives the same every time")
    times = {} if repeats is None else {"repeats": repeats}

    def noted(scenario, on_progress):
        try:
            return simulate(scenario, on_progress, **times)
        except RuntimeError as bug:
            from shallows import __version__

            bug.add_note(f"scenario {scenario.name}, seed {scenario.seed}, version {__version__}")
            bug.add_note("Please report it with these lines and this scenario:\n" + scenario.to_toml())
            raise

    return noted


def _module(world):
    if world not in WORLDS:
        raise ScenarioError("world", world, "one of " + ", ".join(WORLDS))
    if world == "fluid":
        extras.need("fluid", 'world = "fluid"')
    return import_module(f"shallows.worlds.{world}")

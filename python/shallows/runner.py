"""Running a scenario in one of the worlds."""

from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import signature
from os import PathLike
from typing import TYPE_CHECKING, Any, Never, get_args

from shallows import warnings
from shallows.base import extras
from shallows.base.version import version
from shallows.core.progress import OnProgress
from shallows.errors import NamedOverrides, ScenarioError
from shallows.results import run as data
from shallows.results import store
from shallows.runs import Run
from shallows.scenario import randomness
from shallows.scenario.supported_keys import REAL_TIME
from shallows.scenario.supported_keys import WorldName as World

if TYPE_CHECKING:
    from shallows.scenario import Scenario
    from shallows.scenario.literal import Algorithm

    Given = Scenario | Mapping[str, object] | str | PathLike[str]

WORLDS: tuple[World, ...] = get_args(World)
MOST_THREADS = 1000
"""The most threads that a run may be given."""


def run(
    scenario: "Given",
    *,
    cc: "Algorithm | None" = None,
    seed: int | None = None,
    world: World = "packet",
    repeats: int | None = None,
    threads: int | None = None,
    out: str | PathLike[str] | None = None,
    progress: bool = False,
    overrides: Mapping[str, object] | None = None,
    **unknown: Never,
) -> Run:
    """Run `scenario` and return its `Run`.

    It is a `Scenario`, a dict of its tables, the path of a TOML file or the name of an example. `cc` replaces
    its algorithm: a name such as "dctcp", a class, or a table with parameters (`CC`). `overrides` replace
    single keys of the scenario: `run("x.toml", overrides={"traffic.0.flows": 10})`. With `out` the run is
    saved to that folder; with `progress` stderr shows its progress. Ctrl-C ends the run early and returns
    what was done (`Run.interrupted`). Worlds in real time are not deterministic: they run `repeats` times (3)
    and return the median run; `summary["spread"]` has the differences. The packet world uses up to `threads`
    threads if they speed up the run; results do not depend on it.

    Raises `ScenarioError` for a wrong scenario, `BooksError` (after saving; the run is its `run`) if packets
    or flows are unaccounted for, `shallows._core.Bug` for a broken invariant.
    """
    from shallows.printing.progress import Progress

    refuse_unknown(unknown, run)
    prepared = prepare(scenario, seed=seed, overrides=changes(cc, overrides), world=world)
    if out is not None:
        store.check_replaceable(out, prepared.file)
    with Progress(shown=progress) as bar:
        result = in_world(world, repeats, threads)(prepared, bar.of(prepared))
    if out is not None:
        result.save(out)
    return result.check_books()


def refuse_unknown(unknown: Mapping[str, object], function: Callable[..., object]) -> None:
    """Raise `ScenarioError` for a keyword that a function of a scenario does not have."""
    from shallows.scenario import Scenario
    from shallows.units import did_you_mean

    # The first is the scenario, the last the unknown ones.
    known = [*signature(function).parameters][1:-1]
    for word, value in unknown.items():
        key = word.replace("__", ".")
        near = did_you_mean(word, known)
        if key.partition(".")[0] in Scenario.key_names() and not near:
            expected = f'overrides={{"{key}": …}}: keys of the scenario belong there'
        else:
            expected = f"one of the keywords {', '.join(known)}{near}"
        raise ScenarioError(word, value, expected)


def changes(cc: "Algorithm | None", overrides: Mapping[str, object] | None) -> NamedOverrides:
    """The overrides of a calling program: an algorithm, and single keys."""
    from shallows.scenario.overrides import by_user

    return by_user(NamedOverrides({} if cc is None else with_cc(cc), "cc") | named(overrides))


def with_cc(cc: "Algorithm") -> dict[str, object]:
    """The override for an algorithm: a name or a class keeps the rest of the table, a table replaces it."""
    from shallows.scenario.literal import literal

    given = literal(cc)
    return {"cc.name": given} if isinstance(given, str) else {"cc": given}


def named(overrides: Mapping[str, object] | None) -> NamedOverrides:
    """`overrides` with their source. Raises `ScenarioError` unless they are a dict."""
    if overrides is not None and not hasattr(overrides, "items"):
        raise ScenarioError("overrides", overrides, 'a dict of keys, such as {"traffic.0.flows": 10}')
    return NamedOverrides(overrides)


def given(scenario: "Given", changes: Mapping[str, object]) -> "Scenario":
    """The `Scenario` of a `Scenario`, a dict of its tables, the path of a file or the name of an example."""
    from shallows.scenario import Scenario

    if isinstance(scenario, Mapping):
        return Scenario.from_tables(scenario, changes)
    if isinstance(scenario, Scenario):
        return scenario.changed(changes) if changes else scenario
    if not hasattr(scenario, "__fspath__") and not isinstance(scenario, str):
        expected = "a Scenario, a dict of its tables, the path of a TOML file or the name of an example"
        raise ScenarioError("scenario", scenario, expected)
    return Scenario.load(scenario, changes)


def prepare(
    scenario: "Given",
    *,
    seed: int | None = None,
    overrides: Mapping[str, object] | None = None,
    world: str = "packet",
    driven: bool = False,
) -> "Scenario":
    """The `Scenario` of `scenario` (see `run`) with `overrides` applied.

    Raises `ScenarioError` if it is wrong, `world` cannot express it, or it has no flow and is not `driven`.
    """
    changes = named(overrides)
    if seed is not None:
        changes = changes | NamedOverrides({"seed": seed}, "seed")
    prepared = given(scenario, changes)
    if not driven and not len(prepared.flows):
        expected = "one message or more: shallows.open runs this scenario, and the calling program sends them"
        raise prepared.origin.locate(ScenarioError("traffic", "no message", expected))
    module = _module(world)
    if hasattr(module, "check"):
        try:
            module.check(prepared)
        except ScenarioError as error:
            raise prepared.origin.locate(error) from None
    return prepared


def in_world(
    world: str, repeats: int | None = None, threads: int | None = 1
) -> "Callable[[Scenario, OnProgress | None], Run]":
    """The function `(scenario, on_progress) -> Run` of a world, which also adds warnings to the summary.

    A world in real time runs `repeats` times; the packet world uses up to `threads` threads. A bug gets a
    note with scenario, seed and version, to be reported.
    """
    simulate: Callable[..., data.RunData] = _module(world).run
    if repeats is not None and world not in REAL_TIME:
        raise ScenarioError("repeats", repeats, "no repeats: this world is deterministic")
    if threads is not None and threads not in range(1, MOST_THREADS + 1):
        raise ScenarioError("threads", threads, f"a number from 1 to {MOST_THREADS}, or no such option")
    if (threads or 1) > 1 and world != "packet":
        raise ScenarioError("threads", threads, "no threads: only the packet world has them")
    how: dict[str, int | None] = {} if repeats is None else {"repeats": repeats}
    if world == "packet":
        how["threads"] = threads

    def noted(scenario: "Scenario", on_progress: OnProgress | None) -> Run:
        try:
            run = simulate(scenario, on_progress, **how)
        except RuntimeError as bug:
            if type(bug).__name__ != "Bug":  # raised by an algorithm of the user
                raise
            bug.add_note(f"scenario {scenario.name}, seed {scenario.seed}, version {version()}")
            bug.add_note("Please report it with these lines and this scenario:\n" + scenario.to_toml())
            raise
        return described(run, scenario, world)

    return noted


def described(result: data.RunData, scenario: "Scenario", world: str = "packet") -> Run:
    """A run of a world as a public `Run`, with its warnings and its sources of random numbers."""
    run = Run.of(result)
    if run.answer is not None:
        run.summary["warnings"] = [*_warnings(run), *_module(world).WORLD.notes(scenario)]
        run.summary["random"] = randomness.settings(scenario, run.answer.answer["random"], world)
    return run


def _warnings(run: Run) -> list[str]:
    """The warnings of a run. An error of one does not lose the run: it becomes a warning."""
    assert run.answer is not None
    try:
        return warnings.of_run(run.answer)
    except Exception as error:
        return [f"a bug in Shallows: the warnings are missing ({type(error).__name__}: {error})"]


def _module(world: str) -> Any:
    if world not in WORLDS:
        raise ScenarioError("world", world, "one of " + ", ".join(WORLDS))
    if world == "fluid":
        extras.need("fluid", 'world = "fluid"')
    return import_module(f"shallows.worlds.{world}")

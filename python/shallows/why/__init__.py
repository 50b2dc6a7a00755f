"""Why was this flow slow? The exact critical path of flows and tasks of a run, and its state at a time.

`of_run(run, 812)` is the path of a flow, `at(run, "3.2ms")` a snapshot. Both run the scenario again, and
check that the second run was the same (docs/why.md, docs/timelines.md).
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Unpack, overload

from shallows.why import choice, paths, snapshot
from shallows.why import task as tasks
from shallows.why.causes import CAUSES
from shallows.why.counterfactual import Counterfactual
from shallows.why.path import Path, Piece
from shallows.why.paths import Paths
from shallows.why.record import Record
from shallows.why.snapshot import Snapshot
from shallows.why.task import TaskPath

if TYPE_CHECKING:
    from shallows.core.progress import OnProgress
    from shallows.results.run import RunData

__all__ = [
    "CAUSES",
    "Counterfactual",
    "Path",
    "Paths",
    "Piece",
    "Record",
    "Snapshot",
    "TaskPath",
    "at",
    "of_run",
]


class Options(choice.Choice, total=False):
    """The options of `of_run` for several flows."""

    on_progress: "OnProgress | None"


@overload
def of_run(run: "RunData", flow: int, *, task: None = None, **options: Unpack[Options]) -> Path: ...
@overload
def of_run(
    run: "RunData", flow: Iterable[int] | None = None, *, task: None = None, **options: Unpack[Options]
) -> Paths: ...
@overload
def of_run(run: "RunData", flow: None = None, *, task: str, **options: Unpack[Options]) -> TaskPath: ...
@overload
def of_run(
    run: "RunData",
    flow: int | Iterable[int] | None = None,
    *,
    task: str | None = None,
    **options: Unpack[Options],
) -> Path | Paths | TaskPath: ...
def of_run(
    run: "RunData",
    flow: int | Iterable[int] | None = None,
    *,
    task: str | None = None,
    **options: Unpack[Options],
) -> Path | Paths | TaskPath:
    """Causes of each picosecond of the time of a flow: its `Path`.

    The scenario runs again for this. For several flows, `of_run(run, [812, 900])`, `of_run(run, slowest=10)`
    or `of_run(run, size="< 10 KB", p99=True)`, it returns the `Paths`: a mapping from flow numbers.
    `of_run(run, task="NAME")` is the `TaskPath` of a collective, through all messages on the way.
    """
    if task is not None:
        return tasks.of_run(run, task, options.get("on_progress"))
    if isinstance(flow, int):
        return paths.of_run(run, [flow])[flow]
    return paths.of_run(run, flow, **options)


def at(run: "RunData", time: str) -> Snapshot:
    """Every queue, window, rate and pause of a run at `time`, such as "3.2ms".

    The state includes everything that happens at or before the time. The scenario runs again for this.
    Raises `ScenarioError` for a time outside of the run, and if the second run was not the same.
    """
    return snapshot.of_run(run, time)

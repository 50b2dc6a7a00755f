"""The engine of many runs: stored results are taken, the other jobs go to an executor.

Sweeps, comparisons, the trials of an adviser and the figures of papers are jobs of this engine. The `Work` of
a kind of jobs says what one does and where its result is stored.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Protocol, TypeVar


class Task(Protocol):
    """A job. `run` is its address: unique among the jobs, and the name under which its result is stored."""

    @property
    def run(self) -> str: ...


J = TypeVar("J", bound=Task)
R = TypeVar("R")
J_contra = TypeVar("J_contra", bound=Task, contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Work(Protocol[J_contra, R_co]):
    """What jobs of one kind do. It and the jobs are pickled where processes or machines perform them."""

    def find(self, job: J_contra, /) -> R_co | None:
        """The stored result of a job, None if it has to be performed."""
        ...

    def perform(self, job: J_contra, /) -> R_co:
        """Perform a job, store its result, and return it."""
        ...

    def lost(self, job: J_contra, error: BaseException, /) -> R_co:
        """The result of a job that `perform` did not return from, or raise `error`."""
        ...


class LostProcessError(Exception):
    """A process that ended in the middle of a job, twice."""


class Watcher(Protocol):
    """An observer of the progress of jobs."""

    def begin(self, total: int, done: int) -> None:
        """`total` jobs begin, of which `done` have stored results."""
        ...

    def row(self, row: object) -> None:
        """One more job has this result."""
        ...


Performed = Generator[tuple[J, R]]
"""Jobs with their results, as they finish. Closing it stops the jobs in progress."""


def results(
    jobs: Sequence[J],
    work: Work[J, R],
    executor: Callable[[list[J], Work[J, R]], Performed[J, R]],
    bar: Watcher | None = None,
) -> Performed[J, R]:
    """All jobs with their results: first the stored ones, then those that `executor` performs."""
    found = [(job, work.find(job)) for job in jobs]
    stored = [(job, result) for job, result in found if result is not None]
    if bar:
        bar.begin(len(found), len(stored))
    yield from stored
    if len(stored) == len(found):
        return
    with closing(executor([job for job, result in found if result is None], work)) as coming:
        for job, result in coming:
            if bar:
                bar.row(result)
            yield job, result

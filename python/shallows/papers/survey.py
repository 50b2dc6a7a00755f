"""Measures rows over their seeds, several at a time, and judges them."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING, Any

from shallows.errors import ScenarioError
from shallows.papers.claim import Measured
from shallows.papers.lab import Lab
from shallows.papers.reach import Extent, Reach, extent
from shallows.papers.verdict import Finding, judge
from shallows.units import did_you_mean

if TYPE_CHECKING:
    from shallows.papers.store import Store


Sample = dict[str, Any]
"""What one seed of a row gives: values, series and the commands that show the same."""
Outcome = tuple[Finding | Extent, list[Sample]]
Results = Mapping[str, tuple[Finding, list[Sample]]]
"""What came out of rows, by their ids."""


def rows(ids: Sequence[str] | None = None, reaches: bool = False) -> list[Measured]:
    """The rows with these ids, or of these papers; all without. reaches: and those of the headlines' reach."""
    from shallows.papers import PAPERS

    of: dict[str, list[Measured]] = {
        paper.key: [*paper.rows, *(paper.reaches if reaches else [])] for paper in PAPERS
    }
    every = [row for paper in of.values() for row in paper]
    if not ids:
        return every
    known: dict[str, list[Measured]] = {row.id: [row] for row in every} | of
    for one in ids:
        if one not in known:
            expected = f"a row or a paper of `shallows papers list`{did_you_mean(one, known)}"
            raise ScenarioError("papers", one, expected)
    return [row for one in ids for row in known[one]]


def seeds(row: Measured, quick: bool) -> range:
    """The seeds that a row is measured with."""
    return range(1, row.seeds[0 if quick else 1] + 1)


def measure(row: Measured, seed: int, quick: bool, perturb: Mapping[str, str] | None = None) -> Sample:
    """What one seed of a row gives: values, series and the commands that show the same."""
    lab = Lab(row, seed, quick, perturb)
    if row.measure is None:
        raise ValueError(f"{row.id} cannot be measured: {row.cannot}")
    row.measure(lab)
    return {"values": lab.values, "series": lab.series, "ran": lab.ran}


def survey(
    chosen: Sequence[Measured],
    store: "Store",
    *,
    quick: bool,
    threads: int | None = None,
    perturb: Mapping[str, str] | None = None,
    on_done: Callable[[Measured, int], None] | None = None,
) -> Iterator[Outcome]:
    """Yields (`Finding`, samples) of each row, an `Extent` of a reach, in the order in which they are done.

    What `store` has is not measured again. on_done(row, seed): called after each measurement.
    """
    samples: dict[str, dict[int, Sample]] = {}
    jobs: list[tuple[Measured, int]] = []
    for row in chosen:
        samples[row.id] = {}
        for seed in () if row.cannot else seeds(row, quick):
            kept = store.get(row, seed, quick, perturb)
            if kept is None:
                jobs.append((row, seed))
            else:
                samples[row.id][seed] = kept
    waiting = {row.id: row for row in chosen}
    for row in chosen:
        if _whole(row, samples, quick):
            yield _judged(waiting.pop(row.id), samples)
    if not jobs:
        return
    # Python between the runs is worth a process each; a fork would carry the threads of the libraries along.
    with ProcessPoolExecutor(
        threads or os.cpu_count(), get_context("spawn"), _end_with, (os.getpid(),)
    ) as pool:
        futures = {pool.submit(_measured, row.id, seed, quick, perturb): (row, seed) for row, seed in jobs}
        try:
            for future in as_completed(futures):
                row, seed = futures[future]
                samples[row.id][seed] = future.result()
                store.put(row, seed, quick, perturb, samples[row.id][seed])
                if on_done is not None:
                    on_done(row, seed)
                if _whole(row, samples, quick):
                    yield _judged(waiting.pop(row.id), samples)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _end_with(parent: int) -> None:
    """Ends this process soon after `parent` has ended, killed or not: a measurement may take minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            sleep(1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _measured(id_: str, seed: int, quick: bool, perturb: Mapping[str, str] | None) -> Sample:
    return measure(rows([id_], reaches=True)[0], seed, quick, perturb)


def _whole(row: Measured, samples: Mapping[str, Mapping[int, Sample]], quick: bool) -> bool:
    return bool(row.cannot) or len(samples[row.id]) == len(seeds(row, quick))


def _judged(row: Measured, samples: Mapping[str, Mapping[int, Sample]]) -> Outcome:
    of_seeds = [samples[row.id][seed] for seed in sorted(samples[row.id])]
    values = [sample["values"] for sample in of_seeds]
    return extent(row, values) if isinstance(row, Reach) else judge(row, values), of_seeds

"""Measures figures over their seeds, several at a time, and judges their claims."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from difflib import get_close_matches
from multiprocessing import get_context
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING, Any

import shallows as sh
from validation.claim import Claim, Figure, Measured
from validation.lab import Lab
from validation.reach import Extent, Reach, extent
from validation.verdict import Finding, judge

if TYPE_CHECKING:
    from validation.store import Store


Sample = dict[str, Any]
"""One seed of a figure: values, series and the commands that give the same runs."""
Outcome = tuple[Finding | Extent, list[Sample]]
Results = Mapping[str, tuple[Finding, list[Sample]]]
"""Claim id -> (`Finding`, the samples of its figure)."""


def claims(ids: Sequence[str] | None = None) -> list[Claim]:
    """The claims with these ids, or of these figures or papers; all without. A reach selects none."""
    from validation import PAPERS

    known: dict[str, list[Claim]] = {}
    for paper in PAPERS:
        known[paper.key] = paper.claims
        known |= {claim.id: [claim] for claim in paper.claims}
        known |= {figure.id: figure.claims for figure in paper.figures}
        known |= {reach.id: [] for reach in paper.reaches}
    if not ids:
        return [claim for paper in PAPERS for claim in paper.claims]
    for one in ids:
        if one not in known:
            near = "".join(f"; did you mean {found!r}?" for found in get_close_matches(one, known, 1))
            raise sh.ScenarioError("ID", one, f"an id of `python -m validation list`{near}")
    return [claim for one in ids for claim in known[one]]


def reaches(ids: Sequence[str] | None = None) -> list[Reach]:
    """The reaches with these ids, or of these papers; all without."""
    from validation import PAPERS

    return [
        reach for paper in PAPERS for reach in paper.reaches if not ids or reach.id in ids or paper.key in ids
    ]


def figures(chosen: Sequence[Claim]) -> list[Figure]:
    """The figures that have to be measured for these claims."""
    return list({claim.figure.id: claim.figure for claim in chosen if not claim.cannot}.values())


def measured(id_: str) -> Measured:
    """The figure or reach with this id."""
    from validation import PAPERS

    every: list[Measured] = [one for paper in PAPERS for one in (*paper.figures, *paper.reaches)]
    return next(one for one in every if one.id == id_)


def seeds(row: Measured, quick: bool) -> range:
    """The seeds that a figure is measured with."""
    return range(1, row.seeds[0 if quick else 1] + 1)


def measure(row: Measured, seed: int, quick: bool, change: Mapping[str, Any] | None = None) -> Sample:
    """One seed of a figure. used: the keys of `change` that had an effect."""
    lab = Lab(row, seed, quick, change)
    if row.measure is None:
        raise ValueError(f"{row.id} cannot be measured")
    row.measure(lab)
    return {"values": lab.values, "series": lab.series, "ran": lab.ran, "used": sorted(lab.used)}


def survey(
    chosen: Sequence[Claim | Reach],
    store: "Store",
    *,
    quick: bool,
    threads: int | None = None,
    change: Mapping[str, Any] | None = None,
    on_done: Callable[[Measured, int], None] | None = None,
) -> Iterator[Outcome]:
    """Yields (`Finding`, samples) of each claim and (`Extent`, samples) of each reach, as their figures complete.

    Samples in `store` are not measured again. on_done(figure, seed): called after each measurement.
    """
    every: list[Measured] = [
        *figures([one for one in chosen if isinstance(one, Claim)]),
        *(one for one in chosen if isinstance(one, Reach)),
    ]
    samples: dict[str, dict[int, Sample]] = {row.id: {} for row in every}
    jobs: list[tuple[Measured, int]] = []
    for row in every:
        for seed in seeds(row, quick):
            kept = store.get(row, seed, quick, change)
            if kept is None:
                jobs.append((row, seed))
            else:
                samples[row.id][seed] = kept
    yield from ((judge(one, []), []) for one in chosen if isinstance(one, Claim) and one.cannot)
    for row in every:
        if len(samples[row.id]) == len(seeds(row, quick)):
            yield from _outcomes(row, chosen, samples[row.id])
    if not jobs:
        return
    # Each measurement has a process of its own: most of its time is Python. A fork would copy the threads of libraries.
    with ProcessPoolExecutor(
        threads or os.cpu_count(), get_context("spawn"), _end_with, (os.getpid(),)
    ) as pool:
        futures = {pool.submit(_measured, row.id, seed, quick, change): (row, seed) for row, seed in jobs}
        try:
            for future in as_completed(futures):
                row, seed = futures[future]
                samples[row.id][seed] = future.result()
                store.put(row, seed, quick, change, samples[row.id][seed])
                if on_done is not None:
                    on_done(row, seed)
                if len(samples[row.id]) == len(seeds(row, quick)):
                    yield from _outcomes(row, chosen, samples[row.id])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _outcomes(
    row: Measured, chosen: Sequence[Claim | Reach], samples: Mapping[int, Sample]
) -> Iterator[Outcome]:
    of_seeds = [samples[seed] for seed in sorted(samples)]
    values = [sample["values"] for sample in of_seeds]
    if isinstance(row, Reach):
        yield extent(row, values), of_seeds
        return
    for claim in row.claims:
        if claim in chosen:
            yield judge(claim, values), of_seeds


def _end_with(parent: int) -> None:
    """Ends this process within a second of the end of `parent`, which may have been killed."""

    def watch() -> None:
        while os.getppid() == parent:
            sleep(1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _measured(id_: str, seed: int, quick: bool, change: Mapping[str, Any] | None) -> Sample:
    return measure(measured(id_), seed, quick, change)

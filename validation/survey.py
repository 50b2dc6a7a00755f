"""Measures figures over their seeds, several at a time, and judges their claims."""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from difflib import get_close_matches
from multiprocessing import get_context, parent_process
from threading import Thread
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


def seeds(row: Measured, quick: bool, seed_set: int = 0) -> list[int]:
    """The seeds that a figure is measured with, drawn from its name. Different sets have no seed in common."""
    return [_seed(row.id, seed_set, i) for i in range(row.count(quick))]


def _seed(name: str, seed_set: int, i: int) -> int:
    """A number of 40 bits, in which two of a figure's few hundred seeds are equal with a probability below 1e-7."""
    return int.from_bytes(hashlib.sha256(f"{name}/{seed_set}/{i}".encode()).digest()[:5])


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
    seed_set: int = 0,
    on_done: Callable[[int, int, str], None] | None = None,
) -> list[Outcome]:
    """The `Finding` of each claim and the `Extent` of each reach, with the samples of its figure.

    Samples in `store` are not measured again. seed_set: which of the disjoint sets of seeds. on_done(done, of, name): called
    after each measurement.
    """
    rows: list[Measured] = [
        *figures([one for one in chosen if isinstance(one, Claim)]),
        *(one for one in chosen if isinstance(one, Reach)),
    ]
    jobs = [(row, seed) for row in rows for seed in seeds(row, quick, seed_set)]
    stored = {(row.id, seed): store.get(row, seed, quick, change) for row, seed in jobs}
    found = {key: sample for key, sample in stored.items() if sample is not None}
    missing = [(row, seed) for row, seed in jobs if (row.id, seed) not in found]
    # Each measurement has a process: most of its time is Python. A fork would copy the threads of libraries.
    with ProcessPoolExecutor(threads or os.cpu_count(), get_context("spawn"), _end_with_parent) as pool:
        futures = {pool.submit(_measured, row.id, seed, quick, change): (row, seed) for row, seed in missing}
        try:
            for done, future in enumerate(as_completed(futures), 1):
                row, seed = futures[future]
                found[row.id, seed] = future.result()
                store.put(row, seed, quick, change, found[row.id, seed])
                if on_done is not None:
                    on_done(done, len(missing), f"{row.id}, seed {seed}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [_outcome(one, found) for one in chosen]


def _outcome(one: Claim | Reach, found: Mapping[tuple[str, int], Sample]) -> Outcome:
    row = one.figure if isinstance(one, Claim) else one
    samples = [found[key] for key in sorted(found) if key[0] == row.id]
    values = [sample["values"] for sample in samples]
    return (extent(one, values) if isinstance(one, Reach) else judge(one, values)), samples


def _end_with_parent() -> None:
    """Ends this process with its parent, which may have been killed."""
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _measured(id_: str, seed: int, quick: bool, change: Mapping[str, Any] | None) -> Sample:
    return measure(measured(id_), seed, quick, change)

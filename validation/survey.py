"""Measures figures over their seeds, several at a time, and judges their claims."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any

import shallows as sh
from shallows.sweeps import engine, executors
from validation import witness
from validation.claim import Claim, Figure, Measured
from validation.reach import Extent, Reach, extent
from validation.store import Measurement, Sample, Store
from validation.verdict import Finding, judge
from validation.witness import OnFile

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


def seeds(row: Measured, quick: bool, seed_set: int = 0) -> list[int]:
    """The seeds that a figure is measured with, drawn from its name. Different sets have no seed in common."""
    return [_seed(row.id, seed_set, i) for i in range(row.count(quick))]


def _seed(name: str, seed_set: int, i: int) -> int:
    """A number of 40 bits, in which two of a figure's few hundred seeds are equal with a probability below 1e-7."""
    return int.from_bytes(hashlib.sha256(f"{name}/{seed_set}/{i}".encode()).digest()[:5])


def survey(
    chosen: Sequence[Claim | Reach],
    store: Store,
    *,
    quick: bool,
    threads: int | None = None,
    change: Mapping[str, Any] | None = None,
    seed_set: int = 0,
    bar: engine.Watcher | None = None,
    on_file: OnFile | None = None,
    to_record: bool = False,
) -> list[Outcome]:
    """The `Finding` of each claim and the `Extent` of each reach, with the samples of its figure in the order of its seeds.

    Samples in `store` are not measured again. seed_set: which of the disjoint sets of seeds. on_file: the samples of quick mode on file,
    which stand for those of a nightly figure, and of one whose first seed gives the same as there. to_record: nightly figures are
    measured, and the same values suffice.
    """
    rows: list[Measured] = [
        *figures([one for one in chosen if isinstance(one, Claim)]),
        *(one for one in chosen if isinstance(one, Reach)),
    ]
    wanted = {
        row.id: [Measurement.of(row, seed, quick, change) for seed in seeds(row, quick, seed_set)]
        for row in rows
    }

    def measured(jobs: Iterable[Measurement]) -> dict[tuple[str, int], Sample]:
        return _measured(jobs, store, threads, bar)

    samples: dict[str, list[Sample]] = {}
    if on_file is not None:
        if not to_record:
            samples = {row.id: kept for row in rows if (kept := witness.kept(on_file, row))}
        tried = (jobs[0] for id_, jobs in wanted.items() if id_ not in samples)
        for (id_, _), first in measured(tried).items():
            others = witness.others(on_file, id_, len(wanted[id_]), first, values_alone=to_record)
            if others is not None:
                samples[id_] = [first, *others]
    rest = {id_: jobs for id_, jobs in wanted.items() if id_ not in samples}
    found = measured(job for jobs in rest.values() for job in jobs)
    samples |= {id_: [found[id_, job.seed] for job in jobs] for id_, jobs in rest.items()}
    return [_outcome(one, samples) for one in chosen]


def firsts(
    rows: Iterable[Figure],
    store: Store,
    *,
    quick: bool,
    threads: int | None = None,
    bar: engine.Watcher | None = None,
) -> dict[str, Sample]:
    """The samples of the first seeds of figures, by their ids."""
    jobs = [Measurement.of(row, seeds(row, quick)[0], quick) for row in rows]
    return {id_: sample for (id_, _), sample in _measured(jobs, store, threads, bar).items()}


def _measured(
    jobs: Iterable[Measurement], store: Store, threads: int | None, bar: engine.Watcher | None
) -> dict[tuple[str, int], Sample]:
    # Each measurement has a process: most of its time is Python.
    executor = partial(executors.local, workers=threads)
    return {(job.id, job.seed): sample for job, sample in engine.results([*jobs], store, executor, bar)}


def _outcome(one: Claim | Reach, found: Mapping[str, list[Sample]]) -> Outcome:
    row = one.figure if isinstance(one, Claim) else one
    samples = found.get(row.id, [])
    values = [sample["values"] for sample in samples]
    return (extent(one, values) if isinstance(one, Reach) else judge(one, values)), samples

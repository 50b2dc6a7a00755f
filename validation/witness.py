"""The witness of a figure: its first seed. Where it gives what is on file, the other seeds need not be measured.

`python -m validation report --quick --record` writes the file, with the values of all seeds and a digest of what the first one gave:
values, curves and commands. A landing measures the witnesses, and every seed of a figure whose witness gave something else; of nightly
figures it measures nothing. Nightly checks measure all seeds of all figures.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from validation.claim import Measured
    from validation.store import Sample

FILE = Path(__file__).with_name("samples.json")
DIGITS = 7
"""Significant digits of values on file: more than any edge of a band has, fewer than machines may differ in."""
OnFile = Mapping[str, Mapping[str, Any]]
"""Id of a figure -> digest: of the sample of its first seed; values: those of each seed, {metric: value}."""


def load() -> OnFile:
    """What is on file, {} where there is nothing."""
    return json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}


def save(on_file: OnFile, known: Iterable[str]) -> None:
    """Write the file, with what it is to have of the figures that are known."""
    lines = (f'"{id_}": {json.dumps(on_file[id_], sort_keys=True)}' for id_ in sorted({*on_file} & {*known}))
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def entries(measured: Mapping[str, Sequence["Sample"]]) -> OnFile:
    """What the file is to have of figures, whose samples are in the order of their seeds."""
    return {
        id_: {
            "digest": digest(samples[0]),
            "values": [_rounded(one) for one in samples],
        }
        for id_, samples in measured.items()
    }


def moved(on_file: OnFile, measured: Mapping[str, Sequence["Sample"]]) -> list[str]:
    """The figures whose first seed gave another sample than on file, or that the file does not have."""
    return [
        id_ for id_, samples in measured.items() if others(on_file, id_, len(samples), samples[0]) is None
    ]


def digest(sample: "Sample") -> str:
    """A digest of a sample, equal where its numbers agree to `DIGITS`."""
    content = json.dumps([_rounded(sample), sample["series"], sample["ran"]], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def others(
    on_file: OnFile, id_: str, seeds: int, first: "Sample", values_alone: bool = False
) -> list["Sample"] | None:
    """The samples of all seeds but the first, without curves; None where the file does not have them, or another first one.

    values_alone: curves and commands of the first one may differ, as they do after a change of what a figure shows.
    """
    its = on_file.get(id_)
    if its is None or len(its["values"]) != seeds:
        return None
    same = its["values"][0] == _rounded(first) if values_alone else its["digest"] == digest(first)
    if not same:
        return None
    return _samples(its)[1:]


def kept(on_file: OnFile, row: "Measured") -> list["Sample"] | None:
    """The samples of a nightly figure, without curves; None of another, and where the file does not have them."""
    its = on_file.get(row.id)
    return _samples(its) if row.nightly and its and len(its["values"]) == row.count(True) else None


def _samples(its: Mapping[str, Any]) -> list["Sample"]:
    return [{"values": values, "series": {}, "ran": [], "used": []} for values in its["values"]]


def _rounded(sample: "Sample") -> dict[str, float]:
    return {name: _short(value) for name, value in sample["values"].items()}


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")

"""Keys whose value is a distribution of sizes, or one size."""

import re
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator

from shallows.base.toml import is_list, is_table
from shallows.core.contract import U64
from shallows.traffic import workloads
from shallows.traffic.flows import Draws, full
from shallows.traffic.kind import Columns, file_of, rows_of
from shallows.traffic.workloads import Sizes
from shallows.units import SIZE, Frame, TypeName

if TYPE_CHECKING:
    from pydantic import ValidationInfo

_SUFFIX = re.compile(r"\.[A-Za-z]\w*$")


def _sizes(value: object, info: "ValidationInfo") -> object:
    if isinstance(value, str) and _is_path(value):
        value = file_of(value, info)
    if is_table(value):
        value = rows_of(value, ("size_bytes", "cum_prob"))
    context: dict[str, Frame] = info.context or {}
    distribution(value, context["frame"])
    return value


def distribution(sizes: object, frame: Frame) -> Sizes:
    """The `Sizes` of a name, a CSV file, (bytes, share) pairs or a size with its unit.

    Raises `ValueError` with what was expected.
    """
    if is_list(sizes):
        return workloads.of_points("sizes", enumerate(sizes, start=1))
    if isinstance(sizes, str) and _is_path(sizes):
        return workloads.read(sizes)
    if isinstance(sizes, str) and not sizes[:1].isdigit():
        return workloads.bundled(sizes)
    return workloads.fixed(SIZE.parse(sizes, frame.payload, least=1))


def drawn_sizes(sizes: object, frame: Frame, draws: Draws, purpose: str, count: int) -> U64:
    """`count` sizes in bytes (u64) of a `distribution`; nothing is drawn where all are the same."""
    found = distribution(sizes, frame)
    if found.sizes[0] == found.sizes[-1]:
        return full(count, round(float(found.sizes[0])))
    return found.sample(draws.uniform(purpose, count))


def _is_path(sizes: str) -> bool:
    return "/" in sizes or _SUFFIX.search(sizes) is not None


_Points = list[tuple[float, float]]
if TYPE_CHECKING:
    SizesName = str | list[list[float]]
else:
    SizesName = Annotated[
        object, TypeName("Sizes"), BeforeValidator(_sizes, json_schema_input_type=str | _Points | Columns)
    ]

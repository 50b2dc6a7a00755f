"""Windows and rates that a program has set for senders of a driven run, as columns of its log."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from pydantic import BeforeValidator

from shallows.base import limits
from shallows.base.toml import is_table
from shallows.traffic.kind import Columns, rows_of
from shallows.units import TypeName

if TYPE_CHECKING:
    from shallows.core.contract import SenderSettings

COLUMNS = ("at_s", "flow", "window_bytes", "rate_bps")
_LATEST_S = limits.TIME.most // 10**12


class SenderSetting(NamedTuple):
    """A window and a rate that a flow has from a time on; a rate of 0 leaves the window alone."""

    at_ps: int
    flow: int
    window_bytes: int
    rate_bps: int

    def row(self) -> list[object]:
        """Its values in the log."""
        return [f"{self.at_ps // 10**12}.{self.at_ps % 10**12:012d}", *self[1:]]


def _read(value: object) -> Columns:
    """Columns of `COLUMNS`, checked. Raises `ValueError`."""
    if not is_table(value):
        raise ValueError(f"columns {', '.join(COLUMNS)}")
    return in_columns([_setting(row) for row in rows_of(value, COLUMNS)])


def _setting(row: list[object]) -> SenderSetting:
    try:
        seconds = Decimal(str(row[0]))
        if not 0 <= seconds <= _LATEST_S:
            raise ValueError
    except (ArithmeticError, ValueError):
        raise ValueError(f"at_s: seconds from 0 to {_LATEST_S}, such as 0.0015, not {row[0]}") from None
    for name, one in zip(COLUMNS[1:], row[1:], strict=True):
        most = 2**32 - 1 if name == "flow" else limits.SIZE.most
        if isinstance(one, bool) or not isinstance(one, int) or not 0 <= one <= most:
            raise ValueError(f"{name}: a whole number from 0 to {most}, not {one}")
    flow, window, rate = (int(str(one)) for one in row[1:])
    return SenderSetting(round(seconds * 10**12), flow, window, rate)


if TYPE_CHECKING:
    SettingColumns = Columns | None
else:
    SettingColumns = Annotated[
        object, TypeName("Columns"), BeforeValidator(_read, json_schema_input_type=Columns)
    ]


def in_columns(settings: Iterable[SenderSetting]) -> Columns:
    """The columns of settings in a table of traffic."""
    rows = [one.row() for one in settings]
    return {name: [row[at] for row in rows] for at, name in enumerate(COLUMNS)}


def to_core(all_columns: Iterable[Mapping[str, list[object]]]) -> "SenderSettings":
    """The settings of all tables in a request, in order of time."""
    rows = [_setting(list(row)) for one in all_columns for row in zip(*one.values(), strict=True)]
    rows.sort(key=lambda one: one.at_ps)
    at_ps, window, rate = (
        np.array([getattr(one, key) for one in rows], np.uint64)
        for key in ("at_ps", "window_bytes", "rate_bps")
    )
    flow = np.array([one.flow for one in rows], np.uint32)
    return {"flow": flow, "time_ps": at_ps, "window_bytes": window, "rate_bps": rate}

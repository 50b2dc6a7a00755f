"""What every table of a scenario is: keys with exact integers inside, that refuse what they do not know.

A key that Python people see shows its unit: `repr` writes what the scenario file would say.
"""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """A table of a scenario; the models of `topology`, `traffic`, `switch` and `scenario` are such."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, defer_build=True)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Its keys as texts with units."""
        return self.model_dump(by_alias=True, exclude_none=True).items()

"""What every table of a scenario is: keys with exact integers inside, that refuse what they do not know.

A key that Python people see shows its unit: `repr` writes what the scenario file would say.
"""

from collections.abc import Callable, Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

Key: Callable[..., Any] = Field
"""A key of a table: pydantic's `Field`, whose default may be a text that the type of the key reads."""


class Table(BaseModel):
    """A table of a scenario; the models of `topology`, `traffic`, `switch` and `scenario` are such."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, defer_build=True)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Its keys as texts with units."""
        return self.model_dump(by_alias=True, exclude_none=True).items()

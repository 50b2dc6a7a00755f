"""What every table of a scenario is: keys with exact integers inside, that refuse what they do not know.

A key that Python people see shows its unit: `repr` writes what the scenario file would say.
"""

from collections.abc import Callable, Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

Key: Callable[..., Any] = Field
"""A key of a table: pydantic's `Field`, whose default may be a text that the type of the key reads."""


class Table(BaseModel):
    """A table of a scenario; the models of `topology`, `traffic`, `switch` and `scenario` are such."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, defer_build=True)

    @classmethod
    def key_names(cls) -> list[str]:
        """Its keys as a scenario file writes them, in order."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @classmethod
    def key_field(cls, key: str) -> FieldInfo | None:
        """The field of a key, by the name that a scenario file uses; None where there is no such key."""
        fields = cls.model_fields
        return fields.get(key) or next((field for field in fields.values() if field.alias == key), None)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Its keys as texts with units."""
        return self.model_dump(by_alias=True, exclude_none=True).items()

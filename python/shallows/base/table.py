"""Base of the tables of a scenario: models with exact integers that refuse unknown keys."""

import re
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

Key: Callable[..., Any] = Field
"""A key of a table: pydantic's `Field`, whose default may be a text that the type reads."""


_UNIT = re.compile("_(ps|bytes|bps)$")


class Table(BaseModel, frozen=True):
    """A table of a scenario."""

    model_config = ConfigDict(extra="forbid", validate_default=True, defer_build=True)

    @classmethod
    def key_names(cls) -> list[str]:
        """The names of its keys in a scenario file, in order."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @classmethod
    def made_of(cls, table: "Table") -> Self:
        """The values of `table`, of a base class, as this class. They are not checked again."""
        return cls.model_construct(table.model_fields_set, **vars(table))

    @classmethod
    def key_field(cls, key: str) -> FieldInfo | None:
        """The field of a key, by its name in a scenario file; None if there is no such key."""
        fields = cls.model_fields
        return fields.get(key) or next((field for field in fields.values() if field.alias == key), None)

    def filled_in(self, derived: Mapping[str, int]) -> Self:
        """This table with the defaults that depend on the network, by key: `{"network.buffer": 375000}`."""
        return self

    def to_core(self, of: type, but: Container[str] = ()) -> dict[str, object]:
        """The keys of `of`, a table of the core's request, from this table's keys of the same names.

        A key of the request ends in its unit, as `stack_ps` does for `stack`. `but` are keys that the caller
        makes.
        """
        return {key: getattr(self, name) for key, name in self.names_in_core(of, but).items()}

    @classmethod
    def names_in_core(cls, of: type, but: Container[str] = ()) -> dict[str, str]:
        """The name of each key of `of` without its unit."""
        return {key: _UNIT.sub("", key) for key in of.__annotations__ if key not in but}

    def __dir__(self) -> Iterable[str]:
        """Its own attributes, for completion: not the methods of pydantic and of all tables."""
        return sorted(set(super().__dir__()) - {name for name in dir(Table) if not name.startswith("__")})

    def __repr_args__(self) -> Iterable[tuple[str | None, object]]:
        """Its keys as texts with units."""
        return self.model_dump(by_alias=True, exclude_none=True).items()

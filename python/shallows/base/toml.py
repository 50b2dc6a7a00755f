"""Types of the values of a TOML file."""

from typing import Any, TypeGuard


def is_table(value: object) -> TypeGuard[dict[str, Any]]:
    """True for a table of TOML."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """True for a list of TOML."""
    return isinstance(value, list)

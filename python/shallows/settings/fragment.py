"""The result of reading settings: part of a scenario, and what the reader has to know about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tomli_w


@dataclass(frozen=True)
class Fragment:
    """Part of a scenario.

    tables: as a scenario file has them, such as `{"network": {"pfc": {"headroom": "300KB"}}}`.
    assumed: sentences about what the settings leave open, and what was taken instead.
    not_expressed: sentences about settings that no key of a scenario expresses.
    """

    tables: Mapping[str, Any]
    assumed: tuple[str, ...] = ()
    not_expressed: tuple[str, ...] = ()

    def to_toml(self) -> str:
        """TOML text that can be pasted into a scenario file, with the sentences as comments."""
        notes = [f"# Assumed: {text}\n" for text in self.assumed]
        notes += [f"# Not expressed: {text}\n" for text in self.not_expressed]
        return "".join(notes) + tomli_w.dumps(self.tables)

    def joined(self, other: "Fragment") -> "Fragment":
        """Both fragments as one. Their tables have no key in common: one is of switches, one of NICs."""
        return Fragment(
            {**self.tables, **other.tables},
            self.assumed + other.assumed,
            self.not_expressed + other.not_expressed,
        )

"""The origin of the keys of a scenario: a file with its text, or overrides of single keys."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from shallows.errors import NamedOverrides, ScenarioError, UnknownKeyError
from shallows.scenario import places


@dataclass(frozen=True)
class Origin:
    """The file and the text of a scenario, None if it has none, and the source of each overridden key."""

    file: str | None = None
    text: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict[str, str])

    def overridden(self, overrides: Mapping[str, object]) -> "Origin":
        """The same with further overrides."""
        further = {_indexed(key): source for key, source in NamedOverrides(overrides).sources.items()}
        return Origin(self.file, self.text, {**self.sources, **further})

    def locate(self, error: ScenarioError) -> ScenarioError:
        """The same error with the option of an overridden key, or with file and line of another one."""
        return ScenarioError.together([self._located(one) for one in error.every])

    def _located(self, error: ScenarioError) -> ScenarioError:
        key = _indexed(error.key or "")
        if isinstance(error, UnknownKeyError) and error.file in (None, self.file):
            return self._of_unknown_key(error, key)
        source = next((source for over, source in self.sources.items() if _concerns(key, over)), None)
        if source and error.file in (None, self.file):
            return error.from_source(source)
        error = error.in_file(self.file)
        if self.text is None or not key or error.file != self.file or error.place:
            return error
        place = places.find(self.text, key)
        return error.at(place) if place else error

    def _of_unknown_key(self, error: ScenarioError, key: str) -> ScenarioError:
        """The same error with the place of the key in the file, or with the option that has set it."""
        place = places.of_key(self.text, key) if self.text is not None else None
        if place:
            return error.in_file(self.file).at(place)
        over = next((over for over in self.sources if _concerns(key, over) or _concerns(over, key)), None)
        if over is None:
            return error.in_file(self.file)
        named = over if len(over) > len(key) else key
        value = error.value if named == key else None
        return UnknownKeyError(named, value, error.expected, file=self.sources[over])


def _indexed(key: str) -> str:
    """A dotted key with places of lists in brackets: traffic.0.load is traffic[0].load."""
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", key)


def _concerns(key: str, over: str) -> bool:
    """True if an error about `key` is about the overridden key: the same, a part of it, or its name."""
    return key == over or key.startswith((f"{over}.", f"{over}[")) or (over == "cc.name" and key == "cc")

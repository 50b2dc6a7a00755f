"""Errors, by their cause.

`ScenarioError`: the user's scenario, option or file is wrong. `BooksError`: packets or flows of a run are
unaccounted for, so its numbers cannot be trusted. `shallows._core.Bug` (a `RuntimeError`): a broken invariant
inside the packet world.
"""

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, TypedDict, Unpack, cast

from shallows.base import names

File = str | PathLike[str] | None
LONGEST = 300
"""The most characters of a wrong value that an error repeats."""


class _Where(TypedDict, total=False):
    """The parts of an error that say where the mistake is."""

    key: str | None
    file: File
    place: object
    others: "Iterable[ScenarioError]"


class ScenarioError(ValueError):
    """A scenario, an option or an input file is wrong.

    The message reads `scenarios/x.toml: traffic[0].load = 1.7: expected a share above 0 and at most 1`,
    without the parts that are not known, then the line of the file if `place` is known. `others` are further
    mistakes of the same scenario; each has its own line.
    """

    def __init__(
        self,
        key: str | None = None,
        value: object = None,
        expected: str = "",
        *,
        file: File = None,
        place: object = None,
        others: "Iterable[ScenarioError]" = (),
    ) -> None:
        self.file, self.key, self.value, self.expected, self.place = file, key, value, expected, place
        self.others = tuple(others)
        super().__init__(str(self))

    @classmethod
    def together(cls, errors: "Iterable[ScenarioError]") -> "ScenarioError":
        """The first of these errors, and the rest as its `others`. A key is reported once."""
        by_key: dict[str | None, ScenarioError] = {}
        for error in errors:
            for one in error.every:
                by_key.setdefault(one.key, one)
        first, *others = by_key.values()
        return first._changed(others=others)

    @property
    def every(self) -> "list[ScenarioError]":
        """This error and the others, each alone."""
        return [self._changed(others=()), *self.others]

    def __str__(self) -> str:
        return "\n".join([self._alone(), *map(str, self.others)])

    def _alone(self) -> str:
        wrong = self.key
        if self.key is not None and self.value is not None:
            wrong = f"{self.key} = {_shown(self.value)}"
        expected = f"expected {self.expected}" if self.expected else None
        line = ": ".join(names.line(str(part)) for part in (self.file, wrong, expected) if part)
        return f"{line}\n{self.place}" if self.place else line

    def _render_traceback_(self) -> list[str]:
        """The message alone in a notebook, without a traceback through Shallows."""
        return [f"{type(self).__name__}: {self}"]

    def _changed(self, **changes: Unpack[_Where]) -> "ScenarioError":
        where: _Where = {"key": self.key, "file": self.file, "place": self.place, "others": self.others}
        where.update(changes)
        return type(self)(value=self.value, expected=self.expected, **where)

    def in_file(self, file: File) -> "ScenarioError":
        """The same error with the file in which it was found, unless it names one already."""
        others = [error.in_file(file) for error in self.others]
        return self._changed(file=self.file or file, others=others)

    def at(self, place: object) -> "ScenarioError":
        """The same error, without the others, with the line of its file."""
        return self._changed(place=place, others=())

    def from_source(self, source: str) -> "ScenarioError":
        """The same error, without the others, with an option in place of the file."""
        return self._changed(file=source, others=())

    def under(self, key: str) -> "ScenarioError":
        """The same error with keys that begin at `key`."""
        below = f"{key}.{self.key}" if self.key else key
        return self._changed(key=below, others=[error.under(key) for error in self.others])

    def __reduce__(self) -> tuple[object, ...]:
        place = str(self.place) if self.place else None
        return _rebuild, (self.file, self.key, self.value, self.expected, place, self.others)


class UnknownKeyError(ScenarioError):
    """A key that its table does not have."""


def _shown(value: object) -> str:
    """A wrong value as a message repeats it."""
    try:
        text = _toml(value)
    except ValueError:  # Python does not write integers of thousands of digits
        return "a number of thousands of digits"
    except RecursionError:
        return "a value with too many levels"
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def _toml(value: object) -> str:
    """A value as a scenario has it."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        items = cast("dict[object, object]", value).items()
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in items) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, cast("list[object]", value))) + "]"
    return str(value)


def _rebuild(
    file: File,
    key: str | None,
    value: object,
    expected: str,
    place: str | None = None,
    others: tuple[ScenarioError, ...] = (),
) -> ScenarioError:
    return ScenarioError(key, value, expected, file=file, place=place, others=others)


def collect(checks: "Iterable[Callable[[], object]]") -> None:
    """Call every check, and raise the `ScenarioError`s of all together."""
    errors: list[ScenarioError] = []
    for check in checks:
        try:
            check()
        except ScenarioError as error:
            errors.append(error)
    if errors:
        raise ScenarioError.together(errors)


class NamedOverrides(dict[str, object]):
    """Keys that replace those of a file, {dotted key: value}, with the option that each comes from."""

    def __init__(self, values: Mapping[str, object] | None = None, source: str = "overrides") -> None:
        super().__init__(values or {})
        known: dict[str, str] = getattr(values, "sources", {})
        self.sources = {key: known.get(key, source) for key in self}

    def __or__(self, other: Any) -> "NamedOverrides":
        """Both; the keys of `other` win."""
        both = NamedOverrides({**self, **other})
        both.sources = self.sources | NamedOverrides(other).sources
        return both


class BooksError(Exception):
    """A run's books do not close. `problems` is a list of sentences, `run` the saved `Run`."""

    def __init__(self, problems: Iterable[str], run: object = None) -> None:
        self.problems, self.run = list(problems), run
        super().__init__("the books do not close: " + "; ".join(self.problems))

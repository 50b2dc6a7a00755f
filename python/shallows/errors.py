"""Errors, by their cause.

`ScenarioError`: the user's scenario, option or file is wrong. `BooksError`: packets or flows of a run are
unaccounted for, so its numbers cannot be trusted. `shallows._core.Bug` (a `RuntimeError`): a broken invariant
inside the packet world.
"""

from collections.abc import Iterable
from os import PathLike
from typing import Any

from shallows import names

File = str | PathLike[str] | None
LONGEST = 300
"""The most characters of a wrong value that an error repeats."""


class ScenarioError(ValueError):
    """A scenario, an option or an input file is wrong.

    The message reads `scenarios/x.toml: traffic[0].load = 1.7: expected a share above 0 and at most 1`,
    without the parts that are not known.
    """

    def __init__(
        self,
        key: str | None = None,
        value: object = None,
        expected: str = "",
        *,
        file: File = None,
    ) -> None:
        self.file, self.key, self.value, self.expected = file, key, value, expected
        super().__init__(str(self))

    def __str__(self) -> str:
        wrong = self.key
        if self.key is not None and self.value is not None:
            wrong = f"{self.key} = {_shown(self.value)}"
        expected = f"expected {self.expected}" if self.expected else None
        return ": ".join(names.line(str(part)) for part in (self.file, wrong, expected) if part)

    def _render_traceback_(self) -> list[str]:
        """One line in a notebook, without a traceback through Shallows."""
        return [f"{type(self).__name__}: {self}"]

    def in_file(self, file: File) -> "ScenarioError":
        """The same error with the file in which it was found, unless it names one already."""
        return ScenarioError(self.key, self.value, self.expected, file=self.file or file)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.file, self.key, self.value, self.expected)


def _shown(value: object) -> str:
    """A wrong value as a message repeats it."""
    try:
        text = f'"{value}"' if isinstance(value, str) else str(value)
    except ValueError:  # Python does not write integers of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def _rebuild(file: File, key: str | None, value: object, expected: str) -> ScenarioError:
    return ScenarioError(key, value, expected, file=file)


class BooksError(Exception):
    """A run's books do not close. `problems` is a list of sentences, `run` the saved `Run`."""

    def __init__(self, problems: Iterable[str], run: Any = None) -> None:
        self.problems, self.run = list(problems), run
        super().__init__("the books do not close: " + "; ".join(self.problems))

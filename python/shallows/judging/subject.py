"""The algorithm that is judged: a name of the catalog, a preset, or a class in a file."""

from dataclasses import dataclass
from pathlib import Path

from shallows.algorithms import trust, user_algorithms
from shallows.algorithms.algorithm import NATIVE, choose
from shallows.errors import ScenarioError
from shallows.units import Frame

FRAME = Frame(1500, 1460)


@dataclass(frozen=True)
class Subject:
    """An algorithm. `digest` is that of the code of a class; None for an algorithm of the catalog.

    name: in scenarios. label: in tables.
    """

    name: str
    label: str
    digest: str | None = None

    @property
    def is_class(self) -> bool:
        return self.digest is not None


def of(algorithm: str | type) -> Subject:
    """The `Subject` of a name, a location or a class that the user gave. Its file is not executed here.

    Raises `ScenarioError`.
    """
    given = user_algorithms.location_or_name(algorithm)
    if isinstance(given, type):
        expected = "a class in a file, from which other processes can load it"
        raise ScenarioError("algorithm", given.__name__, expected)
    if user_algorithms.is_location(given):
        return _of_file(given)
    try:
        chosen = choose(given, FRAME)
    except ScenarioError as error:
        expected = f"a file and a class, such as ./mine.py:Mine, or {error.expected}"
        raise ScenarioError("algorithm", given, expected) from None
    if given in NATIVE:
        raise ScenarioError("algorithm", given, "an algorithm of the packet world: Linux alone has this one")
    return Subject(given, chosen.label)


def _of_file(location: str) -> Subject:
    named = trust.named(location)
    path, _, word = named.rpartition(":")
    file = Path(path)
    if not (file.is_file() and word):
        raise ScenarioError("algorithm", location, "an existing file and a class in it, ./mine.py:Mine")
    trust.record(file)  # the user named it; it is executed in other processes, which write nothing
    return Subject(str(named), word, trust.digest(file))

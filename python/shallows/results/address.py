"""The address of a run: a digest of everything that decides its result.

That is the scenario with every default, the contents of the files that it names, the world, the classes of
algorithms in Python, and the version of the code with its commit. Runs with the same address have the same
result, except in the kernel world, which runs in real time and gives a new address each time.
"""

import hashlib
import inspect
import os
import re
import secrets
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from shallows.algorithms import trust
from shallows.base.version import version

if TYPE_CHECKING:
    from shallows.scenario import Scenario

LENGTH = 16


class Address(str):
    """An address: 16 hexadecimal digits and nothing else, so that it can be part of the name of a folder."""

    __slots__ = ()

    def __new__(cls, text: object) -> "Address":
        """Raises `ValueError` for any other text."""
        if not isinstance(text, str) or not re.fullmatch(f"[0-9a-f]{{{LENGTH}}}", text):
            raise ValueError(f"an address of {LENGTH} hexadecimal digits")
        return super().__new__(cls, text)

    def __reduce__(self) -> tuple[object, ...]:
        return Address, (str(self),)


def address(scenario: "Scenario", world: str = "packet", seed: int | None = None) -> Address:
    """The address of `scenario` (a `Scenario`) in `world`: 16 hexadecimal digits.

    With `seed`, it is the address of the same scenario with that seed, computed without drawing its flows. If
    the version of the code is unknown, or the source of an algorithm cannot be read, every call returns a new
    address.
    """
    digest, text = hashlib.sha256(), scenario.to_toml()
    if seed is not None:
        text = re.sub(r"^seed = \d+$", f"seed = {seed}", text, count=1, flags=re.M)
    for part in (version(), world, text, *_written(scenario), *_files(text)):
        digest.update(part.encode() + b"\0")
    if version().endswith("+unknown"):
        digest.update(secrets.token_bytes(16))
    return Address(digest.hexdigest()[:LENGTH])


def code(scenario: "Scenario") -> dict[str, str]:
    """Digests of the files of algorithms in Python, with all that they loaded, by the labels of these."""
    classes = {used.label: used.user_class for used in scenario.flows.ccs if used.user_class}
    files = {label: _file(algorithm) for label, algorithm in classes.items()}
    return {label: trust.digest(Path(file)) for label, file in files.items() if file}


def _file(algorithm: type) -> str | None:
    return getattr(sys.modules.get(algorithm.__module__), "__file__", None)


def _written(scenario: "Scenario") -> Iterator[str]:
    """`code`, and the source of classes that are in no file."""
    yield from code(scenario).values()
    for used in scenario.flows.ccs:
        if used.user_class and not _file(used.user_class):
            try:
                yield inspect.getsource(used.user_class)
            except (OSError, TypeError):
                yield secrets.token_hex(16)


def _files(text: str) -> Iterator[str]:
    """Digests of the files that a scenario names by absolute paths."""
    texts = set(_texts(tomllib.loads(text))) if '"/' in text else ()
    for path in sorted(texts):
        if os.path.isabs(path) and os.path.isfile(path):
            with open(path, "rb") as file:
                yield hashlib.file_digest(file, "sha256").hexdigest()


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts(list(cast(dict[str, object], value).values()))
    elif isinstance(value, list | tuple):
        for item in cast(Sequence[object], value):
            yield from _texts(item)

"""Reads files of settings, whichever their format."""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from shallows.errors import ScenarioError
from shallows.settings import mlx5, sonic
from shallows.settings.fragment import Fragment


def read_all(paths: Sequence[Path], port: str | None = None, queue: int | None = None) -> Fragment:
    """One fragment of all files: JSON is SONiC's config_db.json, other text is settings of a NIC.

    port, queue: which of a switch stand for all. Raises `ScenarioError`.
    """
    fragments = [_read(path, port, queue) for path in paths]
    names = [next(iter(fragment.tables)) for fragment in fragments]
    for path, name in zip(paths, names, strict=True):
        if names.count(name) > 1:
            expected = f"one file that sets [{name}], not {names.count(name)}"
            raise ScenarioError(None, None, expected, file=path)
    return reduce(Fragment.joined, fragments)


def _read(path: Path, port: str | None, queue: int | None) -> Fragment:
    try:
        is_json = path.read_bytes().lstrip()[:1] in (b"{", b"[")
    except OSError as error:
        raise ScenarioError(
            None, None, f"a readable file of settings ({error.strerror})", file=path
        ) from None
    return sonic.fragment(path, port, queue) if is_json or path.suffix == ".json" else mlx5.fragment(path)

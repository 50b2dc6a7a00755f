"""Reads files of settings, whichever their format."""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from shallows.errors import ScenarioError
from shallows.settings import mlx5, sonic
from shallows.settings.fragment import Fragment


def read_all(paths: Sequence[Path], port: str | None = None, queue: int | None = None) -> Fragment:
    """One fragment of all files: those in JSON are of one switch with SONiC, other text is of a NIC.

    port, queue: which of the switch stand for all. Raises `ScenarioError`.
    """
    of_switch = [path for path in paths if _is_json(path)]
    of_nic = [path for path in paths if path not in of_switch]
    if len(of_nic) > 1:
        expected = f"one file that sets [cc], not {len(of_nic)}"
        raise ScenarioError(None, None, expected, file=of_nic[0])
    fragments = [sonic.fragment(of_switch, port, queue)] if of_switch else []
    return reduce(Fragment.joined, [*fragments, *map(mlx5.fragment, of_nic)])


def _is_json(path: Path) -> bool:
    try:
        begins = path.read_bytes().lstrip()[:1]
    except OSError as error:
        raise ScenarioError(
            None, None, f"a readable file of settings ({error.strerror})", file=path
        ) from None
    return path.suffix == ".json" or begins in (b"{", b"[")

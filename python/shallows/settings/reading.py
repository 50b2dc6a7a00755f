"""Reads files of settings, whichever their format."""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from shallows.errors import ScenarioError
from shallows.settings import mlx5, port_tables, sonic
from shallows.settings.fragment import Fragment

HEAD = 4096
"""Bytes of a file by which it is recognised."""


def read_all(paths: Sequence[Path], port: str | None = None, queue: int | None = None) -> Fragment:
    """One fragment of all files: JSON and tables of ports are of one SONiC switch, other text is of a NIC.

    port, queue: which of the switch stand for all. Raises `ScenarioError`.
    """
    of_switch = [path for path in paths if _is_of_switch(path)]
    of_nic = [path for path in paths if path not in of_switch]
    if len(of_nic) > 1:
        expected = f"one file that sets [cc], not {len(of_nic)}"
        raise ScenarioError(None, None, expected, file=of_nic[0])
    fragments = [sonic.fragment(of_switch, port, queue)] if of_switch else []
    return reduce(Fragment.joined, [*fragments, *(mlx5.fragment(path, port) for path in of_nic)])


def _is_of_switch(path: Path) -> bool:
    try:
        head = path.read_bytes()[:HEAD].decode("utf-8-sig", errors="replace")
    except OSError as error:
        raise ScenarioError(
            None, None, f"a readable file of settings ({error.strerror})", file=path
        ) from None
    return path.suffix == ".json" or head.lstrip()[:1] in ("{", "[") or port_tables.recognises(path, head)

"""Rows of whole numbers, of which the older ones are in a file."""

import os
import tempfile
from array import array
from collections.abc import Iterable
from itertools import chain
from typing import BinaryIO, NamedTuple

import numpy as np

from shallows.core.contract import U64

AT_ONCE = 1 << 16
"""Rows that are written to the file together: 2.5 MB of messages."""
_BYTES = 8


class _Place(NamedTuple):
    """Rows in a file: where they begin in bytes, and how many they are."""

    file: BinaryIO
    begin: int
    count: int


class Rows:
    """A list of rows of `width` whole numbers below 2**64.

    The newest rows are in memory, the others in a file without a name, so that memory does not grow with
    them. An interrupt leaves no part of a row. Copies share the file; a process that was forked begins one of
    its own.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._own: tuple[int, BinaryIO] | None = None
        # Replaced as a whole, so that an interrupt finds either state.
        self._state: tuple[tuple[_Place, ...], array[int]] = ((), array("Q"))

    def __len__(self) -> int:
        places, newest = self._state
        return sum(place.count for place in places) + len(newest) // self._width

    def copied(self) -> "Rows":
        """The same rows, to which others can be added."""
        made = Rows(self._width)
        made._own = self._own
        made._state = (self._state[0], self._state[1][:])
        return made

    def add(self, rows: Iterable[tuple[int, ...]]) -> None:
        """Add rows."""
        self._state[1].extend(array("Q", chain.from_iterable(rows)))

    def store(self) -> None:
        """Write the newest rows to the file if they are many."""
        places, newest = self._state
        count = len(newest) // self._width
        if count < AT_ONCE:
            return
        if self._own is None or self._own[0] != os.getpid():
            self._own = os.getpid(), tempfile.TemporaryFile(prefix="shallows-")  # noqa: SIM115
        file = self._own[1]
        begin = file.seek(0, os.SEEK_END)
        file.write(newest.tobytes())
        file.flush()
        self._state = ((*places, _Place(file, begin, count)), array("Q"))

    def cut(self, count: int) -> None:
        """Keep the first rows alone; the others are among the newest."""
        stored = sum(place.count for place in self._state[0])
        del self._state[1][(count - stored) * self._width :]

    def __getitem__(self, at: int) -> tuple[int, ...]:
        """A row."""
        places, newest = self._state
        for place in places:
            if at < place.count:
                return tuple(self._read(place, at, 1).tolist())
            at -= place.count
        return tuple(newest[at * self._width : (at + 1) * self._width])

    def columns(self) -> list[U64]:
        """The columns of all rows."""
        places, newest = self._state
        parts = [self._read(place, 0, place.count) for place in places]
        rows = np.concatenate([*parts, np.array(newest, np.uint64)]).reshape(-1, self._width)
        return [*rows.T]

    def _read(self, place: _Place, first: int, count: int) -> U64:
        size = self._width * _BYTES
        place.file.seek(place.begin + first * size)
        return np.frombuffer(place.file.read(count * size), np.uint64)

"""A reader of protocol buffers on the wire: fields by number, without a schema.

Source: protobuf.dev/programming-guides/encoding.
"""

from collections.abc import Iterator
from struct import unpack_from

Value = int | bytes
"""A number (varint, or the bits of a fixed field), or the bytes of a text, list or message."""
VARINT, EIGHT, BYTES, FOUR = 0, 1, 2, 5


class BrokenError(ValueError):
    """A message that ends early or has an unknown kind of field, with the offset in bytes."""

    def __init__(self, at: int) -> None:
        super().__init__(f"protocol buffers, each after its length; byte {at} is not part of one")


def messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The offset and bytes of each message of a file; each follows its length. Raises `BrokenError`."""
    at = 0
    while at < len(data):
        begin = at
        size, at = varint(data, at)
        if at + size > len(data):
            raise BrokenError(begin)
        yield at, data[at : at + size]
        at += size


def fields(data: bytes, offset: int = 0) -> Iterator[tuple[int, Value]]:
    """The (number, value) of each field; `offset` is added to the place in errors. Raises `BrokenError`."""
    at = 0
    while at < len(data):
        begin = at
        key, at = varint(data, at)
        kind, size = key & 7, 0
        if kind == VARINT:
            value, at = varint(data, at)
            yield key >> 3, value
            continue
        if kind == BYTES:
            size, at = varint(data, at)
        elif kind in (EIGHT, FOUR):
            size = 8 if kind == EIGHT else 4
        else:
            raise BrokenError(offset + begin)
        if at + size > len(data):
            raise BrokenError(offset + begin)
        part, at = data[at : at + size], at + size
        yield key >> 3, part if kind == BYTES else unpack_from("<Q" if kind == EIGHT else "<I", part)[0]


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at a place, and the place behind it. Raises `BrokenError`."""
    value = 0
    for place in range(at, min(at + 10, len(data))):
        value |= (data[place] & 127) << 7 * (place - at)
        if data[place] < 128:
            return value, place + 1
    raise BrokenError(at)


def numbers(value: Value) -> list[int]:
    """The numbers of a repeated field: one, or several that are packed."""
    if isinstance(value, int):
        return [value]
    found, at = list[int](), 0
    while at < len(value):
        number, at = varint(value, at)
        found.append(number)
    return found

"""Quantities as people write them ("10Gbps", "200us", "35pkt") and as exact integers.

A time is an integer of picoseconds, a size of bytes, a rate of bits per second. Nothing here passes
through a binary fraction: what a scenario says is what the packet world gets. KB is 1000 bytes, KiB
1024. The lower half are the field types the scenario's tables are made of.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, PlainSerializer

NEVER = 2**64 - 1
"""A time that does not come, and a buffer without a limit."""
MOST_ROWS = 20_000_000
"""Samples of queues, and of senders, that a run keeps."""

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?)\s*([^\d\s].*?)?\s*")


class Frame(NamedTuple):
    """A full packet: `wire` bytes on the link, of which `payload` bytes are the user's."""

    wire: int
    payload: int

    @property
    def header(self):
        return self.wire - self.payload


@dataclass(frozen=True)
class Dimension:
    """What can be measured: its units, as multiples of the base unit, and how an error describes it."""

    what: str
    units: dict
    zero: str
    example: str

    def amount(self, text, frame=None):
        """The exact amount in base units, as a `Decimal`; `frame` is what one "pkt" is.

        Raises `ValueError` with what was expected.
        """
        units = self._units(frame)
        match = _NUMBER.fullmatch(text) if isinstance(text, str) else None
        if match is None or match[2] not in units:
            raise ValueError(self._expected(units) + self._hint(match, units))
        return Decimal(match[1]) * units[match[2]]

    def parse(self, text, frame=None, least=0):
        """The amount as an integer of base units, at least `least`."""
        amount = self.amount(text, frame)
        if amount < least:
            raise ValueError(f"{self.what} {'above 0' if least else 'of 0 or more'}")
        if amount >= NEVER:
            raise ValueError(f"{self.what} below {self.text(10**19)}")
        if amount != int(amount):
            raise ValueError(f"{self.what} of whole {next(iter(self.units))}")
        return int(amount)

    def text(self, amount, frame=None):
        """The shortest text that says exactly `amount`; packets come first where they come out even."""
        if amount == 0:
            return f"0{self.zero}"
        if frame and amount % frame == 0:
            return f"{amount // frame}pkt"
        texts = [
            f"{_plain(Decimal(amount) / unit)}{name}"
            for name, unit in self.units.items()
            if abs(amount) >= unit and Decimal(amount) / unit * unit == amount
        ]
        return min(texts, key=len)

    def _units(self, frame):
        return {**self.units, "pkt": frame} if frame and self is SIZE else self.units

    def _expected(self, units):
        return f'{self.what} with its unit ({", ".join(units)}), such as "{self.example}"'

    def _hint(self, match, units):
        unit = match[2] if match else None
        same = [name for name in units if unit and name.lower() == unit.lower()]
        return f'; did you mean "{match[1]}{same[0]}"?' if same else ""


def _plain(number):
    return f"{number.normalize():f}"


TIME = Dimension(
    "a time",
    {"ps": 1, "ns": 10**3, "us": 10**6, "µs": 10**6, "ms": 10**9, "s": 10**12},
    "s",
    "200us",
)
SIZE = Dimension(
    "a size",
    {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
    "B",
    "250KB",
)
RATE = Dimension(
    "a rate",
    {"bps": 1, "Kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12},
    "bps",
    "10Gbps",
)


def share(value):
    """A share above 0 and at most 1, from a number (0.4) or a text ("40%"), as a float."""
    expected = 'a share above 0 and at most 1, such as 0.4 or "40%"'
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    if match and match[2] == "%":
        value = float(Decimal(match[1]) / 100)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise ValueError(expected)
    return float(value)


def name(value):
    """What a folder of results can be called, the same text."""
    expected = (
        "a name, not a path: up to 100 letters, digits, spaces and signs, no / or \\, no dot at its start"
    )
    if not isinstance(value, str) or not value.strip() or len(value.encode()) > 100 or value[0] == ".":
        raise ValueError(expected)
    if any(c in "/\\" or not c.isprintable() for c in value):
        raise ValueError(expected)
    return value


def did_you_mean(word, known):
    """The hint `; did you mean "…"?`, or nothing where no known word is near."""
    near = get_close_matches(str(word), [str(k) for k in known], n=1, cutoff=0.6)
    return f'; did you mean "{near[0]}"?' if near else ""


def _quantity(dimension, least=0, part=None, words=None, optional=False):
    """A field type: text in, integer inside, text out. `words` are texts that stand for integers.

    `part` says what one "pkt" counts: the `wire` or the `payload` bytes of a full packet.
    """
    words = words or {}

    def frame(info):
        return getattr(info.context["frame"], part) if part and info.context else None

    def read(value, info):
        if value is None and optional:
            return None
        if isinstance(value, str) and value in words:
            return words[value]
        try:
            return dimension.parse(value, frame(info), least)
        except ValueError as error:
            also = "".join(f', or "{word}"' for word in words)
            raise ValueError(f"{error}{also}") from None

    def write(value, info):
        named = [word for word, amount in words.items() if amount == value]
        return named[0] if named else dimension.text(value, frame(info))

    return Annotated[int | None if optional else int, BeforeValidator(read), PlainSerializer(write)]


def _whole(least, most, optional=False):
    def read(value):
        if value is None and optional:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"a whole number from {least} to {most}")
        return value

    return Annotated[int | None if optional else int, BeforeValidator(read)]


Time = _quantity(TIME)
Interval = _quantity(TIME, least=1)
OptionalTime = _quantity(TIME, optional=True)
OptionalInterval = _quantity(TIME, least=1, optional=True)
Stop = _quantity(TIME, least=1, words={"never": NEVER})
Sampling = _quantity(TIME, least=1, words={"off": 0})
Duration = _quantity(TIME, least=1, words={"until-done": NEVER})
Rate = _quantity(RATE, least=1)
HeaderSize = _quantity(SIZE)
WireSize = _quantity(SIZE, least=1, part="wire")
Buffer = _quantity(SIZE, least=1, part="wire", words={"unlimited": NEVER})
Headroom = _quantity(SIZE, part="wire", words={"auto": NEVER})
Payload = _quantity(SIZE, least=1, part="payload")
PayloadLimit = _quantity(SIZE, least=1, part="payload", words={"unlimited": NEVER})
Name = Annotated[str, BeforeValidator(name)]
Share = Annotated[float, BeforeValidator(share)]
Count = _whole(1, 10_000_000)
OptionalCount = _whole(1, 10_000_000, optional=True)
Few = _whole(1, 255)
Several = _whole(2, 10_000_000)
Seed = _whole(0, NEVER)

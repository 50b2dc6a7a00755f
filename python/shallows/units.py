"""Quantities as people write them ("10Gbps", "200us", "35pkt") and as exact integers.

A time is an integer of picoseconds, a size of bytes, a rate of bits per second. No binary fractions are
involved: the packet world gets exactly what the scenario says. KB is 1000 bytes, KiB 1024. In Python a
quantity may also be `10 * Gbps`. The second half of the file has the field types of the scenario's tables.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, Self, TypeVar

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler, SerializationInfo, ValidationInfo
from pydantic_core import CoreSchema, core_schema

from shallows.base import limits

if TYPE_CHECKING:
    from shallows.core.contract import U64

    Bytes = TypeVar("Bytes", int, U64)

NEVER = 2**64 - 1
"""A time that never comes, and a buffer without a limit."""
ACK_BYTES = 64
"""An acknowledgement on the wire, the minimum Ethernet frame."""
MOST_ROWS = limits.ROWS.most
"""The most samples of queues, and of senders, that a run keeps."""

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?)\s*([^\d\s].*?)?\s*")


class Frame(NamedTuple):
    """A full packet: `wire` bytes on the link, of which `payload` bytes are the user's."""

    wire: int
    payload: int

    @property
    def header(self) -> int:
        """Bytes of a full packet without the payload."""
        return self.wire - self.payload

    def on_wire(self, payload: "Bytes") -> "Bytes":
        """Bytes on the link of flows of so many bytes, a number or an array."""
        return payload + self.header * ((payload + self.payload - 1) // self.payload)


@dataclass(frozen=True)
class Dimension:
    """A physical dimension: its units, as multiples of the base unit; its name in errors; its limit."""

    what: str
    units: dict[str, int]
    zero: str
    example: str
    most: int

    def amount(self, text: object, frame: int | None = None) -> Decimal:
        """The exact amount in base units, as a `Decimal`; `frame` is the size of a "pkt".

        Raises `ValueError` with what was expected.
        """
        units = self._units(frame)
        match = _NUMBER.fullmatch(text) if isinstance(text, str) else None
        if match is None or match[2] not in units:
            raise ValueError(self._expected(units) + self._hint(match, units))
        number, unit = match.groups()
        return Decimal(number) * units[unit]

    def parse(self, text: object, frame: int | None = None, least: int = 0) -> int:
        """The amount as an integer of base units, at least `least`."""
        amount = self.amount(text, frame)
        if amount < least:
            bound = f"of at least {self.text(least)}" if least > 1 else "above 0" if least else "of 0 or more"
            raise ValueError(f"{self.what} {bound}")
        if amount > self.most:
            raise ValueError(f"{self.what} of at most {self.text(self.most)}")
        if amount != int(amount):
            raise ValueError(f"{self.what} of whole {next(iter(self.units))}")
        return int(amount)

    def text(self, amount: int, frame: int | None = None) -> str:
        """The shortest text for exactly `amount`; packets are preferred if they are whole."""
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

    def about(self, amount: float) -> str:
        """A text for about `amount`: three digits, in the largest unit that leaves a number of at least 1."""
        names = [name for name, unit in self.units.items() if unit <= abs(amount)] or [next(iter(self.units))]
        decimal = [name for name in names if name.isascii() and "i" not in name]
        number = Decimal(f"{Decimal(amount) / self.units[decimal[-1]]:.3g}")
        further = [*self.units][[*self.units].index(decimal[-1]) + 1 :]
        larger = next((name for name in further if name.isascii() and "i" not in name), None)
        if larger and abs(number) * self.units[decimal[-1]] >= self.units[larger]:  # 999.6 rounds to 1000
            return self.about(float(number) * self.units[decimal[-1]])
        return f"{_plain(number)}{decimal[-1]}"

    def words(self, amount: float) -> str:
        """`about` for a sentence: "4.25 us"."""
        match = _NUMBER.fullmatch(self.about(amount))
        return " ".join(match.groups()) if match else self.about(amount)

    def pattern(self, *words: str, packets: bool = False) -> str:
        """A regular expression for its texts, and for `words`; with `packets` also for "35pkt"."""
        units = "|".join([*self.units, *(["pkt"] if packets else [])])
        number = r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?\s*"
        return f"^({'|'.join([*words, f'{number}({units})'])})$"

    def _units(self, frame: int | None) -> dict[str, int]:
        return {**self.units, "pkt": frame} if frame and self is SIZE else self.units

    def _expected(self, units: Iterable[str]) -> str:
        return f'{self.what} with its unit ({", ".join(units)}), such as "{self.example}"'

    def _hint(self, match: re.Match[str] | None, units: Iterable[str]) -> str:
        number, unit = match.groups() if match else (None, None)
        same = [name for name in units if unit and name.lower() == unit.lower()]
        return f'; did you mean "{number}{same[0]}"?' if same else ""


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"


@dataclass(frozen=True, slots=True)
class _Quantity:
    """A number with its unit, exact: `10 * Gbps`, `0.5 * us`. Its text is what a scenario file says."""

    number: Decimal
    unit: str

    def __mul__(self, factor: "int | float | Decimal") -> Self:
        return type(self)(self.number * Decimal(str(factor)), self.unit)

    __rmul__ = __mul__
    __array_ufunc__ = None  # numpy scalars defer multiplication to this class

    def __str__(self) -> str:
        return f"{_plain(self.number)}{self.unit}"

    __repr__ = __str__


class TimeQuantity(_Quantity):
    """A time, such as `200 * us`."""

    __slots__ = ()


class SizeQuantity(_Quantity):
    """A size, such as `250 * pkt`."""

    __slots__ = ()


class RateQuantity(_Quantity):
    """A rate, such as `10 * Gbps`."""

    __slots__ = ()


_ONE = Decimal(1)
ps, ns, us, ms, s = (TimeQuantity(_ONE, unit) for unit in ("ps", "ns", "us", "ms", "s"))
B, KB, MB, GB, KiB, MiB, GiB, pkt = (
    SizeQuantity(_ONE, unit) for unit in ("B", "KB", "MB", "GB", "KiB", "MiB", "GiB", "pkt")
)
bps, Kbps, Mbps, Gbps, Tbps = (RateQuantity(_ONE, unit) for unit in ("bps", "Kbps", "Mbps", "Gbps", "Tbps"))


TIME = Dimension(
    "a time",
    {"ps": 1, "ns": 10**3, "us": 10**6, "µs": 10**6, "ms": 10**9, "s": 10**12},
    "s",
    "200us",
    limits.TIME.most,
)
SIZE = Dimension(
    "a size",
    {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
    "B",
    "250KB",
    limits.SIZE.most,
)
RATE = Dimension(
    "a rate",
    {"bps": 1, "Kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12},
    "bps",
    "10Gbps",
    limits.RATE.most,
)


A_SHARE = 'a share above 0 and at most 1, such as 0.4 or "40%"'


def share(value: object) -> float:
    """A share above 0 and at most 1, from a number (0.4) or a text ("40%"), as a float."""
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    if match and match[2] == "%":
        value = float(Decimal(match[1]) / 100)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise ValueError(A_SHARE)
    return float(value)


def _optional_share(value: object) -> float | None:
    return None if value is None else share(value)


def name(value: object) -> str:
    """The text, if it is valid as the name of a folder of results."""
    expected = (
        "a name, not a path: up to 100 letters, digits, spaces and signs, no / or \\, no dot at its start"
    )
    if not isinstance(value, str) or not value.strip() or len(value.encode()) > 100 or value[0] == ".":
        raise ValueError(expected)
    if any(c in "/\\" or not c.isprintable() for c in value):
        raise ValueError(expected)
    return value


def _optional_name(value: object) -> str | None:
    return None if value is None else name(value)


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """The hint `; did you mean "…"?`; empty if no known word is similar.

    If that is the end of the word, other words may be meant that have this end: "host_rate" is like "rate"
    and "edge_rate".
    """
    from difflib import get_close_matches

    words = [str(one) for one in known]
    near = get_close_matches(str(word), words, n=1, cutoff=0.6)
    if near and str(word).endswith(f"_{near[0]}"):
        near += [one for one in words if one.endswith(f"_{near[0]}")]
    meant = " or ".join(f'"{one}"' for one in near)
    return f"; did you mean {meant}?" if near else ""


@dataclass(frozen=True)
class TypeName:
    """The Python type of a key, by its name in `shallows.scenario.literal`: metadata of a field type."""

    type: str


def packet(info: SerializationInfo | ValidationInfo) -> int | None:
    """Bytes of a full frame while a scenario is read or written; None for a table alone."""
    return info.context["frame"].wire if info.context else None


@dataclass(frozen=True)
class _Key(TypeName):
    """Metadata of a field type: text in, integer inside, text out. `words` are texts for certain integers.

    `part` says what one "pkt" counts: the `wire` or the `payload` bytes of a full packet.
    """

    dimension: Dimension
    least: int = 0
    part: Literal["wire", "payload"] | None = None
    words: tuple[tuple[str, int], ...] = ()
    optional: bool = False

    def read(self, value: object, info: ValidationInfo) -> int | None:
        """The integer of a text."""
        if value is None and self.optional:
            return None
        for word, amount in self.words:
            if value == word:
                return amount
        try:
            return self.dimension.parse(value, self._frame(info), self.least)
        except ValueError as error:
            also = "".join(f', or "{word}"' for word, _ in self.words)
            raise ValueError(f"{error}{also}") from None

    def write(self, value: int | None, info: SerializationInfo) -> str | None:
        """The text of an integer."""
        if value is None:
            return None
        word = next((word for word, amount in self.words if amount == value), None)
        return word or self.dimension.text(value, self._frame(info))

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        writing = core_schema.plain_serializer_function_ser_schema(self.write, info_arg=True)
        words = [word for word, _ in self.words]
        text = core_schema.str_schema(pattern=self.dimension.pattern(*words, packets=self.part is not None))
        return core_schema.with_info_before_validator_function(
            self.read,
            core_schema.nullable_schema(handler(source)) if self.optional else handler(source),
            serialization=writing,
            json_schema_input_schema=text,
        )

    def _frame(self, info: SerializationInfo | ValidationInfo) -> int | None:
        return getattr(info.context["frame"], self.part) if self.part and info.context else None


def count(value: object) -> int:
    """A number of things, at least one. Raises `ValueError`."""
    return _whole_number(value, 1, limits.COUNT.most)


def _whole_number(value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"a whole number from {least} to {most}")
    return value


def _whole(least: int, most: int, optional: bool = False) -> BeforeValidator:
    def read(value: object) -> int | None:
        if value is None and optional:
            return None
        return _whole_number(value, least, most)

    return BeforeValidator(read, json_schema_input_type=Annotated[int, Field(ge=least, le=most)])


Time = Annotated[int, _Key("Time", TIME)]
Interval = Annotated[int, _Key("Time", TIME, least=1)]
OptionalTime = Annotated[int | None, _Key("Time", TIME, optional=True)]
OptionalInterval = Annotated[int | None, _Key("Time", TIME, least=1, optional=True)]
Stop = Annotated[int, _Key("Time", TIME, least=1, words=(("never", NEVER),))]
Sampling = Annotated[int, _Key("Time", TIME, least=1, words=(("off", 0),))]
Duration = Annotated[int, _Key("Time", TIME, least=1, words=(("until-done", NEVER),))]
Rate = Annotated[int, _Key("Rate", RATE, least=1)]
OptionalRate = Annotated[int | None, _Key("Rate", RATE, least=1, optional=True)]
HeaderSize = Annotated[int, _Key("Size", SIZE)]
WireSize = Annotated[int, _Key("Size", SIZE, least=1, part="wire")]
Buffer = Annotated[int, _Key("Size", SIZE, least=1, part="wire", words=(("unlimited", NEVER),))]
OptionalBuffer = Annotated[
    int | None, _Key("Size", SIZE, least=1, part="wire", words=(("unlimited", NEVER),), optional=True)
]
OptionalWireSize = Annotated[int | None, _Key("Size", SIZE, least=1, part="wire", optional=True)]
Headroom = Annotated[int, _Key("Size", SIZE, part="wire", words=(("auto", NEVER),))]
Payload = Annotated[int, _Key("Size", SIZE, least=1, part="payload")]
OptionalPayload = Annotated[int | None, _Key("Size", SIZE, least=1, part="payload", optional=True)]
PayloadLimit = Annotated[int, _Key("Size", SIZE, least=1, part="payload", words=(("unlimited", NEVER),))]
Name = Annotated[str, BeforeValidator(name)]
OptionalName = Annotated[str | None, BeforeValidator(_optional_name)]
Share = Annotated[float, TypeName("Share"), BeforeValidator(share, json_schema_input_type=float | str)]
OptionalShare = Annotated[
    float | None,
    TypeName("Share"),
    BeforeValidator(_optional_share, json_schema_input_type=float | str),
]
Count = Annotated[int, _whole(1, limits.COUNT.most)]
OptionalCount = Annotated[int | None, _whole(1, limits.COUNT.most, optional=True)]
SmallCount = Annotated[int, _whole(1, limits.ACKS_EVERY.most)]
OptionalSmallCount = Annotated[int | None, _whole(1, limits.ACKS_EVERY.most, optional=True)]
TwoOrMore = Annotated[int, _whole(2, limits.COUNT.most)]
Seed = Annotated[int, _whole(0, NEVER)]

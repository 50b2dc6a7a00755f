"""Tables of queues: `[[classes]]`, `[[pools]]`, `[[ports]]`, and the keys that they share with `[network]`.

`QueueKeys` declares each key of a queue once. `scenario/ports.py` turns the tables into one list of queues.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar, cast

from pydantic import (
    BeforeValidator,
    Discriminator,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    Tag,
    WithJsonSchema,
    field_serializer,
    field_validator,
    model_validator,
)

from shallows.algorithms import marking
from shallows.algorithms import switch as names
from shallows.algorithms.marking import Marking
from shallows.base.table import Key, Table
from shallows.base.toml import is_list, is_table
from shallows.core import contract
from shallows.errors import ScenarioError
from shallows.units import (
    NEVER,
    SIZE,
    TIME,
    Count,
    Headroom,
    Name,
    OptionalBuffer,
    OptionalCount,
    OptionalInterval,
    OptionalName,
    OptionalWireSize,
    Rate,
    TypeName,
    WireSize,
    packet,
)

if TYPE_CHECKING:
    from pydantic import ValidationInfo

    from shallows.units import Frame


def marking_of(value: object, info: "ValidationInfo") -> object:
    """The `Marking` of a table, "none" or None. Raises `ValueError`."""
    if value is None or value == "none":
        return value
    if is_table(value):
        context: dict[str, Frame] = info.context or {}
        return marking.choose(value, context["frame"])
    raise ValueError('"none", or a table such as { kind = "step", threshold = "35pkt", at = "enqueue" }')


def marking_text(value: object, info: "ValidationInfo") -> object:
    """The table of a `Marking`, or its other value."""
    return value.table(packet(info)) if isinstance(value, Marking) else value


if TYPE_CHECKING:
    AnyMarking = Marking | Literal["none"] | None
else:
    AnyMarking = Annotated[
        object, TypeName("AnyMarking"), BeforeValidator(marking_of), PlainSerializer(marking_text)
    ]


def _which(value: object) -> str:
    return "off" if value is False else "table"


_Part = TypeVar("_Part", bound=Table)
if TYPE_CHECKING:
    OrFalse = _Part | Literal[False] | None
else:
    OrFalse = (
        Annotated[
            Annotated[_Part, Tag("table")] | Annotated[Literal[False], Tag("off")], Discriminator(_which)
        ]
        | None
    )
"""A table, or false, which differs from an absent key: no default takes its place."""


class Shared(Table, frozen=True):
    """`[network.shared]`: one memory for all ports of a switch, with a dynamic threshold."""

    size: OptionalWireSize = Key(
        None,
        description="memory of each switch, without headroom; by default 12MB, or 0.3MB per Gbps",
    )
    alpha: float = Key(
        1.0, strict=True, description="a port (with `pfc`: a link) may hold this many times the free memory"
    )

    @model_validator(mode="before")
    @classmethod
    def _names_of_switches(cls, table: object) -> object:
        return names.translated("shared", table) if is_table(table) else table

    @field_validator("alpha", mode="before")
    @classmethod
    def _above_zero(cls, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1024:
            raise ValueError("a number above 0 and at most 1024, such as 1")
        return float(value)


class Pauses(Table, frozen=True):
    """`[network.pfc]`: a switch pauses links that bring too much data."""

    threshold: OptionalWireSize = Key(
        None,
        description="data from one link above which it is paused; by default 100KB, or 2.5KB per Gbps",
    )
    hysteresis: WireSize = Key("2pkt", description="the link resumes this far below the threshold")
    headroom: Headroom = Key(
        "auto", description='room for data that still arrives; "auto": as much as the link can need'
    )
    watchdog: OptionalInterval = Key(
        None, description="time after which a switch drops the data of an endless pause; by default never"
    )
    restoration: OptionalInterval = Key(
        None,
        description="time from the end of such a pause until the port sends again; by default as watchdog",
    )

    @model_validator(mode="before")
    @classmethod
    def _names_of_switches(cls, table: object) -> object:
        return names.translated("pfc", table) if is_table(table) else table

    def in_core(self) -> contract.Pause:
        """The pauses in a request to the core; with shared memory its dynamic threshold decides."""
        headroom = None if self.headroom == NEVER else self.headroom
        return {
            "threshold_bytes": self.threshold or 0,
            "hysteresis_bytes": self.hysteresis,
            "headroom_bytes": headroom,
            "watchdog_ps": self.watchdog,
            "restoration_ps": self.restoration,
        }

    @model_validator(mode="after")
    def _watched(self) -> Self:
        if self.restoration and not self.watchdog:
            expected = "no such key without watchdog, the time after which data is dropped"
            raise ScenarioError("restoration", TIME.text(self.restoration), expected)
        return self


class Trimming(Table, frozen=True):
    """`[network.trimming]`: switch ports trim packets to their headers instead of dropping them (NDP)."""

    queue: OptionalCount = Key(
        None,
        description="data packets that a port holds; by default 8, or twice the largest marking threshold",
    )
    threshold: OptionalWireSize = Key(
        None, description="bytes of data that a port holds, in place of `queue`"
    )
    headers: WireSize = Key("16pkt", description="queue of headers, answers and pulls")
    ratio: Count = Key(10, description="headers sent per waiting data packet")

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if self.queue and self.threshold:
            expected = "no such key beside queue: both are the data that a port holds"
            raise ScenarioError("threshold", SIZE.text(self.threshold), expected)
        return self

    def holds(self, mtu: int) -> int:
        """Bytes of full frames of data that a port holds."""
        return self.threshold or (self.queue or 0) * mtu

    def merged(self, other: "Trimming") -> "Trimming":
        """This table with the keys that `other` sets."""
        given = {key: getattr(other, key) for key in other.model_fields_set}
        limit: dict[str, object] = (
            {"queue": None, "threshold": None} if {"queue", "threshold"} & set(given) else {}
        )
        return self.model_copy(update={**limit, **given})


class Policer(Table, frozen=True):
    """`[network.policer]`: switch ports drop what comes faster than a token bucket fills."""

    rate: Rate = Key(description="rate at which the bucket fills")
    burst: WireSize = Key(description="its size: what passes at once, at least a full frame")


def _tables_of_defaults(table: Mapping[str, object], *keys: str) -> dict[str, object]:
    """Replace true for these keys by tables of defaults."""
    defaults: dict[str, object] = {key: {} for key in keys if table.get(key) is True}
    return {**table, **defaults}


MEMORY = {"buffer", "shared", "pfc"}
"""Keys of `[network]` that say what a port may hold."""


class QueueKeys(Table, frozen=True):
    """Keys of a queue: `[network]` has those of all, a class its own, `[[ports]]` those of some ports.

    A key that is not set is as in the table before it. A key that the core's `Class` has by the same name,
    with a unit, reaches the core without further code.
    """

    marking: AnyMarking = Key(
        None,
        description='how the queue marks: "none", or a table of a kind and its keys; '
        "by default as the algorithms need",
    )
    trimming: OrFalse[Trimming] = Key(
        None,
        description="whether ports trim packets to headers instead of dropping them; by default as cc needs",
    )
    buffer: OptionalBuffer = Key(
        None,
        description="of the queue at a switch port; "
        "by default 375KB, or more for a longer path or a larger threshold",
    )

    policer: OrFalse[Policer] = Key(
        None, description="rate and burst above which switch ports drop packets; by default there is none"
    )

    DEFAULTS: ClassVar[str] = ""
    """What a key that another table declares is by default in this one, in words."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """State the defaults of this table in the descriptions of keys that another declares."""
        super().__pydantic_init_subclass__(**kwargs)
        for key, field in cls.model_fields.items() if cls.DEFAULTS else ():
            if key not in cls.__annotations__:
                what = (field.description or "").partition("; by default ")[0]
                field.description = f"{what}; by default {cls.DEFAULTS.format(key=key)}"

    def changed(self, table: "QueueKeys") -> Self:
        """This table with the keys of a queue that `table`, of `[[ports]]`, sets."""
        given = {key: value for key in QueueKeys.model_fields if (value := getattr(table, key)) is not None}
        if table.trimming:
            given["trimming"] = self.trimming and self.trimming.merged(table.trimming)
        return self.model_copy(update=given)

    def with_defaults_of(self, table: "QueueKeys") -> Self:
        """This table with the keys of the core that it does not set as `table` has them."""
        absent = {key for key in self.core_keys() if getattr(self, key) is None}
        return self.model_copy(update={key: getattr(table, key) for key in absent}) if absent else self

    @classmethod
    def core_keys(cls) -> list[str]:
        """The keys that the core has by the same names."""
        return list(cls.names_in_core(contract.Class, but=_OF_PORTS).values())

    def to_class(self) -> "contract.Class":
        """The keys that are the core's by their names, of those that are set."""
        named = self.to_core(contract.Class, but=_OF_PORTS)
        if isinstance(self.policer, Policer):
            named["policer"] = self.policer.to_core(contract.Policer)
        return cast("contract.Class", {key: value for key, value in named.items() if value})


_OF_PORTS = frozenset(("limit", "shaper", "trims", "turn", "quantum_bytes", "marking"))
"""Keys of the core's `Class` that `scenario/port_request.py` makes of several keys, or of the port."""


class QueueTable(QueueKeys, frozen=True):
    """Keys of a table that describes queues in full: `[network]`, or a class."""

    pfc: OrFalse[Pauses] = Key(None, description="whether switches pause links that bring too much data")

    def without_limit(self, memory: str | None, whose: str, key: str) -> Self:
        """This table without a limit of its own if it has a memory, a key that is set, or pauses.

        whose: the start of a sentence, "a port has no buffer". key: what stands before the name of a key.
        Raises `ScenarioError` if it sets a limit.
        """
        other = memory or ("pfc" if self.pfc else None)
        if other is None:
            return self
        if self.buffer is not None and self.buffer != NEVER:
            why = f"{key}{other} is set, so that {whose} of its own"
            raise ScenarioError("buffer", SIZE.text(self.buffer), f"no such key: {why}")
        if memory and self.pfc and self.pfc.threshold:
            where = f"{key}{memory}" if key.endswith(".") else f"a {memory}"
            expected = f"no such key: with {where} the threshold follows from its alpha and the free memory"
            raise ScenarioError("pfc.threshold", SIZE.text(self.pfc.threshold), expected)
        return self.model_copy(update={"buffer": NEVER})


class TrafficClass(QueueTable, frozen=True):
    """A table of `[[classes]]`: a traffic class, with a queue of its own at every port."""

    DEFAULTS = "as network.{key}"

    name: Name = Key(description="the name that `traffic.class` refers to")
    weight: OptionalCount = Key(
        None,
        description="share of what the classes before it leave; by default strict priority",
    )
    pool: OptionalName = Key(None, description="the pool that holds its packets; by default it shares none")

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, table: object) -> object:
        return _tables_of_defaults(table, "pfc", "trimming") if is_table(table) else table

    @model_validator(mode="after")
    def _lossless(self) -> Self:
        """With a pool or pauses the queue has no limit of its own."""
        found = self.without_limit("pool" if self.pool else None, "its queue has no limit", "its ")
        other = "pool" if self.pool else "pfc" if self.pfc else None
        if other and self.trimming:
            expected = f"false: its {other} is set, so that its queue is never full"
            raise ScenarioError("trimming", None, expected)
        return found


class Pool(Shared, frozen=True):
    """A table of `[[pools]]`: memory of each switch that the ports share for some classes."""

    name: Name = Key(description="the name that `classes.pool` refers to")


_NAMES = {
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
}
_NAMES_EXPECTED = 'the name of a port such as "s0->s1", a pattern such as "spine*->*", or a list of these'


if TYPE_CHECKING:
    PortNames = str | list[str]
else:
    PortNames = Annotated[object, TypeName("Ports"), WithJsonSchema(_NAMES)]


class PortTable(QueueKeys, frozen=True):
    """A table of `[[ports]]`: other settings of some ports of switches, such as those of a tier."""

    DEFAULTS = "as elsewhere"

    names: PortNames = Key(
        description='the ports, by name or pattern: "spine*->*", "*->h*" or ["s0->s1", "s1->s0"]'
    )
    traffic_class: OptionalName = Key(
        None, alias="class", description="the class whose queues it changes; by default those of all"
    )
    trimming: Trimming | None = Key(
        None, description="at which length these queues trim; keys that are not set are as elsewhere"
    )

    @field_validator("names", mode="before")
    @classmethod
    def _patterns(cls, value: object) -> object:
        patterns = [value] if isinstance(value, str) else value
        if not is_list(patterns) or not patterns or not all(isinstance(one, str) for one in patterns):
            raise ValueError(_NAMES_EXPECTED)
        return value

    @field_serializer("trimming", mode="wrap")
    def _as_set(
        self, trimming: Trimming | None, dump: SerializerFunctionWrapHandler
    ) -> dict[str, object] | None:
        """The keys that are set, because the others are as elsewhere."""
        if trimming is None:
            return None
        table: dict[str, object] = dump(trimming)
        return {key: value for key, value in table.items() if key in trimming.model_fields_set}

    @property
    def patterns(self) -> list[str]:
        """The names and patterns as a list."""
        return [self.names] if isinstance(self.names, str) else self.names

    @model_validator(mode="after")
    def _changes_something(self) -> "PortTable":
        if all(getattr(self, key) is None for key in QueueKeys.model_fields):
            *most, last = QueueKeys.model_fields
            expected = f"one of {', '.join(most)} and {last}: this table changes nothing"
            raise ScenarioError("marking", None, expected)
        return self


def filled_in(table: Mapping[str, object]) -> dict[str, object]:
    """`[network]` with tables of defaults for `buffer = "shared"` and for true."""
    table = _tables_of_defaults(table, "shared", "pfc", "trimming")
    if table.get("buffer") == "shared":
        if table.get("shared") is False:
            raise ScenarioError("shared", False, 'a table, or no such key: buffer = "shared"')
        if table.get("shared") is None:
            table["shared"] = {}
        table["buffer"] = "unlimited"
    return table

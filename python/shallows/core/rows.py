"""Rows of the tables that are compiled into the core: algorithms, receivers, markings (docs/crossing.md)."""

from typing import NotRequired, TypedDict


class Parameter(TypedDict):
    """A parameter in SI base units; all numbers are finite.

    follows, default_at: what the default follows, and the network on which it is `default`, where it does.
    """

    name: str
    symbol: str
    unit: str
    default: float
    min: float
    max: float
    meaning: str
    source: str
    follows: NotRequired[str]
    default_at: NotRequired[str | None]


class Preset(TypedDict):
    """Values of some parameters, named by the paper or implementation that has them."""

    name: str
    values: dict[str, float]
    source: str


class Deviation(TypedDict):
    """A line of the source that the code reads in its own way."""

    line: str
    here: str
    why: str


class Row(TypedDict):
    """What all rows have; markings have no presets and no deviations."""

    name: str
    summary: str
    source: str
    parameters: list[Parameter]
    presets: NotRequired[list[Preset]]
    deviations: NotRequired[list[Deviation]]


class MarkingRow(Row):
    """A kind of marking: the queue that it observes by default, and the feedback to senders."""

    at: str
    tells: str


class AlgorithmRow(Row):
    """An algorithm with the parts that it needs."""

    sender: str
    receiver: str
    port: str
    marking: str
    transport: str
    trims: bool
    honours: list[str]
    draws: bool
    not_modelled: list[str]

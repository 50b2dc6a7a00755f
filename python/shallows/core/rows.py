"""Rows of the tables in the core: algorithms, receivers, markings, choices of paths (docs/crossing.md)."""

from typing import NotRequired, TypedDict

from shallows.core.contract import At


class Parameter(TypedDict):
    """A parameter in SI base units; all numbers are finite.

    rule: the name of the rule by which the default follows the network, if it does. follows, default_at: in
    words what it follows, and the network on which it is `default`. needs: the flag without which it acts on
    nothing, if there is one.
    """

    name: str
    symbol: str
    unit: str
    default: float
    min: float
    max: float
    meaning: str
    source: str
    rule: NotRequired[str | None]
    needs: NotRequired[str | None]
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
    """A kind of marking: the queue that it observes by default, and the feedback to senders.

    draws: whether chance decides. judges_heads: whether it decides about packets as they leave.
    has_two_queues: whether ports have one for packets of L4S beside that of all others. thresholds: its
    parameters that are lengths of the real queue, the first that where marking begins. adjustable: its
    parameters that a port may change during a run.
    """

    at: At
    tells: str
    draws: bool
    judges_heads: bool
    has_two_queues: bool
    thresholds: list[str]
    adjustable: list[str]


class BalancingRow(TypedDict):
    """A value of `network.balancing`.

    sprays: whether packets of a flow take several paths at the same time. is_by_chance: whether the path of
    each packet is chosen without a look at queues. takes_entropies: whether `network.entropies` acts.
    has_flowlets: whether `network.flowlet_gap` acts.
    """

    name: str
    sprays: bool
    is_by_chance: bool
    takes_entropies: bool
    has_flowlets: bool


class Traits(TypedDict):
    """What an algorithm is to those who run and explain it (crates/cc/src/traits.rs).

    reads_switches: whether packets bring it rates or records of ports. least_rtt: whether its base round trip
    is the smallest that a flow measured, and the flag that makes it otherwise. step: the parameter that sets
    how fast a flow takes free bandwidth, and the source of its default. corrected_by: the algorithm to use
    instead, if its flows have no shares to which they return. probes: the flag by which it probes its path,
    and the time between two probes.
    """

    reacts_to_delay: bool
    reacts_to_queues_alone: bool
    reads_switches: bool
    chooses_paths: bool
    least_rtt: tuple[bool, str | None]
    returns_by_timer: bool
    has_target_queue: bool
    corrected_by: str | None
    least_threshold: tuple[int, str] | None
    step: tuple[str, str] | None
    ect1: bool
    is_driven: bool
    probes: tuple[str, str] | None
    reference_bps: int | None


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
    traits: Traits
    not_modelled: list[str]

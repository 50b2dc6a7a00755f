"""The flows of a scenario as columns, of one table and of all tables together.

A table draws its randomness from streams keyed by the scenario's seed, the number of the table and the
purpose. Two algorithms therefore get the same arrivals, and another table does not change this one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain, count, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shallows import memory
from shallows.algorithms.algorithm import Algorithm
from shallows.base.limits import FLOWS
from shallows.core.contract import F64, U32, U64, Flags
from shallows.errors import ScenarioError
from shallows.traffic.computations import Computations, Waits, places
from shallows.traffic.offered import Offered, Uniform
from shallows.traffic.paths import Paths
from shallows.traffic.predecessors import Predecessors
from shallows.units import NEVER, SIZE, Frame

if TYPE_CHECKING:
    from shallows.topology import Network
    from shallows.traffic.kind import Kind
    from shallows.traffic.schedules import QueuePairs

NO_FLOW = 2**32 - 1
"""The value for no flow in columns of flow numbers."""
_PURPOSES = ("pairs", "sources", "targets", "sizes", "arrivals", "jitter")


def full(count: int, value: int) -> U64:
    """A column with one value."""
    return np.full(count, value, np.uint64)


class Draws:
    """The random streams of one traffic table, the same with every version of numpy.

    `used` is true once a number has been drawn.
    """

    def __init__(self, seed: int, table: int) -> None:
        self.seed, self.table, self.used = seed, table, False

    def uniform(self, purpose: str, count: int) -> F64:
        """`count` numbers in [0, 1)."""
        self.used = True
        key = np.array([self.seed, self.table * len(_PURPOSES) + _PURPOSES.index(purpose)], np.uint64)
        bits: U64 = np.random.Philox(key=key).random_raw(count) >> np.uint64(11)
        return bits.astype(np.float64) * 2.0**-53

    def order(self, purpose: str, count: int) -> NDArray[np.intp]:
        """The numbers below `count` in random order."""
        if count < 2:
            return np.arange(count)
        return np.argsort(self.uniform(purpose, count), kind="stable")


@dataclass(frozen=True)
class Load:
    """The load of a Poisson table: bytes on the wire, with headers, over `capacity_bps`.

    `stated` and `realised` are shares, without acks. `realised` is the load of the drawn flows from the start
    of the run to the last arrival.
    """

    stated: float
    realised: float
    of: str
    capacity_bps: int
    mean_bytes: float


@dataclass(frozen=True)
class Application:
    """When a flow has data to send, as columns, one entry per flow.

    `first_bytes` are written when the flow begins, in whole packets; writing resumes at `resume_ps`. From
    then on, or from its beginning if that is 0, it writes for `on_ps` and pauses for `off_ps`; 0 is never.
    Or it writes a full packet each `every_ps`; 0 is without a limit.
    """

    first_bytes: U64
    resume_ps: U64
    on_ps: U64
    off_ps: U64
    every_ps: U64


@dataclass(frozen=True)
class Messages:
    """Columns of the flows of a collective: the number of the group, and the step of its schedule.

    `queue_pairs` is None if each message has a path of its own.
    """

    group: U32
    step: U32
    queue_pairs: "QueuePairs | None" = None


@dataclass(frozen=True)
class Drawn:
    """The flows of one table, as columns: hosts, payload bytes (0 is unlimited), picoseconds.

    A flow starts `start_ps` after the last of its predecessors in `after` has ended and the last of those in
    `behind` has sent its data, or as `wait` says. `answers` has the request that each flow answers, or
    `NO_FLOW`. All have indices in the same table; those of `computations` follow the flows. `application` is
    None if flows never pause. `offered` are the mean rates of open-loop traffic; None if its flows adapt or
    are a single batch. `messages` is None unless the flows are messages of a task. `number` orders the
    messages of a driven run; it is None for other flows.
    """

    src: U32
    dst: U32
    bytes: U64
    start_ps: U64
    stop_ps: U64
    load: Load | None = None
    after: Predecessors | None = None
    behind: Predecessors | None = None
    answers: NDArray[np.integer] | None = None
    application: Application | None = None
    offered: Offered | Uniform | None = None
    messages: Messages | None = None
    computations: Computations | None = None
    wait: Waits | None = None
    number: U64 | None = None


@dataclass(frozen=True)
class Flows:
    """All flows of a scenario, table after table, and then the messages of a driven run in their order.

    Columns, one entry per flow: `src`, `dst`, `cc`, `group`, `priority`, `answers` (u32), `bytes`,
    `start_ps`, `stop_ps` (u64). `start_ps` of a `waiting` flow counts from the time when the last of its
    predecessors in `after` has ended and the last of those in `behind` has sent its data, or as `wait` says
    (None: for all). Tasks are these flows, then `computations`. `bytes` 0 is unlimited, `stop_ps` may be
    `NEVER`. `cc` indexes `ccs` (the algorithms) and `cc_names`, `group` is the number of the traffic table.
    `names`, `loads`, `offered` and `messages` have the name, load, mean rates, and groups and steps of each
    table, or None; `drawn` is true for tables that drew random numbers. `application` is None if no flow ever
    pauses. `paths` has the flows of queue pairs, and those with a route.
    """

    src: U32
    dst: U32
    bytes: U64
    start_ps: U64
    stop_ps: U64
    cc: U32
    group: U32
    priority: U32
    after: Predecessors
    behind: Predecessors
    answers: U32
    ccs: list[Algorithm]
    cc_names: list[str]
    names: list[str]
    loads: list[Load | None]
    application: Application | None = None
    offered: list[Offered | Uniform | None] = field(default_factory=list[Offered | Uniform | None])
    messages: list[Messages | None] = field(default_factory=list[Messages | None])
    drawn: list[bool] = field(default_factory=list[bool])
    paths: Paths = field(default_factory=Paths)
    computations: Computations = field(default_factory=Computations.none)
    wait: Waits | None = None

    def __len__(self) -> int:
        return len(self.src)

    @property
    def waiting(self) -> Flags:
        """For each flow, whether it waits for another before it starts."""
        return self.after.waiting(len(self)) | self.behind.waiting(len(self))

    def first_start_ps(self, table: int) -> int:
        """When the first flow or computation of a traffic table starts."""
        computed = self.computations
        starts = [
            self.start_ps[(self.group == table) & ~self.waiting],
            computed.start_ps[(computed.table == table) & ~computed.waiting],
        ]
        return int(np.concatenate(starts).min(initial=NEVER))


def _check_count(table: "Kind", key: str, count: int) -> None:
    """Raise `ScenarioError` for a table of more flows than a run may have, before they are drawn."""
    if count > FLOWS.most:
        value = getattr(table, key)
        shown = SIZE.text(value) if key in ("chunk", "size") else value
        instead = "fewer flows, hosts or ranks" if key != "chunk" else "a larger chunk"
        raise ScenarioError(key, shown, f"{instead}: at most {FLOWS.most} flows, not {count}")


def draw(
    tables: Sequence["Kind"], network: "Network", seed: int, frame: Frame, default: Algorithm | None
) -> "Flows":
    """The flows of all traffic tables; `default` is the algorithm of tables that name none.

    Raises `ScenarioError` whose key starts at the table, such as traffic[0].to.
    """
    _check_memory(tables, network)
    drawn: list[Drawn] = []
    paths: list[Paths] = []
    ccs: list[Algorithm] = []
    cc: list[int] = []
    islands, draws = network.islands(), [Draws(seed, i) for i in range(len(tables))]
    for i, table in enumerate(tables):
        try:
            drawn.append(table.draw(network, draws[i], frame))
            _check_reachable(network, islands, drawn[-1])
            paths += _paths(table, network, drawn)
        except ScenarioError as error:
            raise error.under(f"traffic[{i}]") from None
        algorithm = table.cc or default
        assert algorithm is not None, "a scenario has one for every table"
        if algorithm not in ccs:
            ccs.append(algorithm)
        cc.append(ccs.index(algorithm))
    counts = [len(part.src) for part in drawn]
    columns = {
        key: np.concatenate([getattr(part, key) for part in drawn])
        for key in ("src", "dst", "bytes", "start_ps", "stop_ps")
    }
    order = _order(drawn)
    first = np.cumsum([0, *counts])
    placed = places(counts, [len(part.computations or ()) for part in drawn])
    waits = [part.wait or Waits.default(count) for part, count in zip(drawn, counts, strict=True)]
    answers = [_placed(part.answers, len(part.src), at) for part, at in zip(drawn, first, strict=False)]
    return Flows(
        **{key: column[order] for key, column in columns.items()},
        after=Predecessors.stacked(
            at.pairs(part.after, at.first_flow) for part, at in zip(drawn, placed, strict=True)
        ),
        behind=Predecessors.stacked(
            at.pairs(part.behind, at.first_flow) for part, at in zip(drawn, placed, strict=True)
        ),
        computations=Computations.joined([part.computations for part in drawn], placed),
        wait=Waits.joined(waits) if any(part.wait for part in drawn) else None,
        answers=np.concatenate(answers).astype(np.uint32),
        cc=np.repeat(np.array(cc, np.uint32), counts)[order],
        group=np.repeat(np.arange(len(tables), dtype=np.uint32), counts)[order],
        priority=np.repeat(np.array([table.priority for table in tables], np.uint32), counts)[order],
        ccs=ccs,
        cc_names=_labels(ccs),
        names=names(tables),
        loads=[part.load for part in drawn],
        offered=[part.offered for part in drawn],
        messages=[part.messages for part in drawn],
        drawn=[part.used for part in draws],
        application=_applications([part.application for part in drawn], counts),
        paths=Paths.stacked(paths),
    )


def _order(drawn: Sequence[Drawn]) -> NDArray[np.intp]:
    """The order of the flows of all tables: as listed, the messages of a driven run by their numbers.

    Raises `ScenarioError` if other tables follow these, or two messages have one number.
    """
    listed = sum(len(part.src) for part in drawn if part.number is None)
    numbers = [part.number for part in drawn if part.number is not None]
    for i, (part, following) in enumerate(pairwise(drawn)):
        if part.number is not None and following.number is None:
            raise ScenarioError(f"traffic[{i}].kind", "driven", "tables of this kind behind all others")
    number = np.concatenate(numbers) if numbers else full(0, 0)
    order = np.argsort(number, kind="stable")
    for place in np.flatnonzero(np.diff(number[order].astype(np.int64)) == 0)[:1]:
        twice = f"a number of its own for each message; {number[order[place]]} is there twice"
        raise ScenarioError("traffic.number", None, twice)
    return np.concatenate([np.arange(listed), listed + order])


def _paths(table: "Kind", network: "Network", drawn: Sequence[Drawn]) -> Iterable[Paths]:
    """The paths of the last of `drawn`, where they do not follow from the numbers of its flows."""
    *before, part = drawn
    first = sum(len(other.src) for other in before)
    if part.messages and part.messages.queue_pairs:
        yield Paths.of_queue_pairs(part.messages.queue_pairs, first)
    if table.route:
        yield Paths.of_route(network, table.route, part.src, part.dst, first)


def _check_memory(tables: Sequence["Kind"], network: "Network") -> None:
    """Raise `ScenarioError` if the flows of all tables cannot be drawn; it names the table with most."""
    needs: list[float] = []
    for i, table in enumerate(tables):
        try:
            _check_count(table, *table.flow_count(network))
            needs.append(table.draw_bytes(network))
        except ScenarioError as error:
            raise error.under(f"traffic[{i}]") from None
    most = needs.index(max(needs))
    key, (_, count) = f"traffic[{most}]", tables[most].flow_count(network)
    what = f"{count:,} flows" if count > 1 else "its flows"
    memory.check(what, sum(needs), f"fewer flows in {key}", key)


def _applications(applications: Sequence[Application | None], counts: Sequence[int]) -> Application | None:
    """The `Application` of all tables; None if no table has one."""
    if not any(applications):
        return None
    keys = [field.name for field in fields(Application)]
    eager = [Application(*[full(count, 0) for _ in keys]) for count in counts]
    every = [one or other for one, other in zip(applications, eager, strict=True)]
    return Application(*[np.concatenate([getattr(one, key) for one in every]) for key in keys])


def _placed(within: NDArray[np.integer] | None, count: int, first: int) -> NDArray[np.integer]:
    """Flow numbers from indices within a table whose first flow is number `first`."""
    if within is None:
        return np.full(count, NO_FLOW)
    return np.where(within == NO_FLOW, NO_FLOW, within + first)


def _check_reachable(network: "Network", islands: NDArray[np.integer], drawn: Drawn) -> None:
    apart = np.flatnonzero(islands[drawn.src] != islands[drawn.dst])
    if len(apart):
        a, b = (network.host_names[end[apart[0]]] for end in (drawn.src, drawn.dst))
        raise ScenarioError("to", b, f"a host that {a} has a path to")


def _labels(ccs: Sequence[Algorithm]) -> list[str]:
    """Names for results: the algorithm's own, numbered if it occurs with several settings."""
    labels: list[str] = []
    for algorithm in ccs:
        again = sum(other.label == algorithm.label for other in ccs[: len(labels)])
        labels.append(algorithm.label if not again else f"{algorithm.label}-{again + 1}")
    return labels


def names(tables: Sequence["Kind"]) -> list[str]:
    """The names of traffic tables: their own, or the kind, with the least free number if it is taken.

    Raises `ScenarioError` if two tables have the same name.
    """
    found = [table.name or "" for table in tables]
    for i, name in enumerate(found):
        if name and found.index(name) < i:
            taken = f"another name: traffic[{found.index(name)}] has this one"
            raise ScenarioError(f"traffic[{i}].name", name, taken)
    for i, table in enumerate(tables):
        numbered = (f"{table.kind}-{again}" for again in count(2))
        found[i] = found[i] or next(name for name in chain([table.kind], numbered) if name not in found)
    return found

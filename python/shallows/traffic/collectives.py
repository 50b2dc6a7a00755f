"""Collectives: groups of hosts that exchange data by a schedule of messages, as NCCL and MPI do."""

from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from pydantic import model_validator

from shallows.base.table import Key
from shallows.core.contract import F64, U32, U64
from shallows.errors import ScenarioError
from shallows.traffic import schedules
from shallows.traffic.flows import Drawn, Draws, Messages, full
from shallows.traffic.kind import DRAWN_BYTES, WAIT_BYTES, Ends, Kind, distinct, hosts_of
from shallows.traffic.kinds import spread
from shallows.traffic.predecessors import Predecessors
from shallows.traffic.schedules import QueuePairs, Schedule
from shallows.units import (
    NEVER,
    Frame,
    OptionalCount,
    OptionalPayload,
    OptionalSmallCount,
    Payload,
    SmallCount,
    Time,
)

if TYPE_CHECKING:
    from shallows.topology import Network


CHUNK = 512_000
"""Bytes of a chunk, about NCCL's default: a buffer of 4 MiB in eight steps."""
STEP_DELAY = "time that a rank takes before each message"


class Collective(Kind, frozen=True):
    """A collective of all `hosts`, or of each group of `group_size` of them, which run at the same time."""

    hosts: Ends = Key("topology", description="the ranks, in order; by default all hosts")
    group_size: OptionalCount = Key(
        None, description="ranks of each group; by default all hosts are one group"
    )
    size: Payload = Key("1MB", description="bytes of the buffer as nccl-tests counts them")
    channels: SmallCount = Key(
        1, description="parts of the buffer that are sent at the same time, each by flows of its own"
    )
    queue_pairs: OptionalSmallCount = Key(
        None,
        description="queue pairs of a connection, each with its path; by default each message has its own",
    )
    split: bool = Key(
        False,
        strict=True,
        description="`true`: each message is divided among the queue pairs, a flow over each",
    )
    step_delay: Time = Key("0s", description=f"{STEP_DELAY}, such as NCCL's fixed cost of a step")
    start: Time = Key("0s", description="earliest start")
    jitter: Time = Key("0s", description="ranks start at random times within this time")

    @model_validator(mode="after")
    def _over(self) -> Self:
        if self.split and self.queue_pairs is None:
            raise ScenarioError("queue_pairs", None, "a number such as 4 beside split = true")
        return self

    @property
    def parts(self) -> int:
        """The flows of each message."""
        return (self.queue_pairs or 1) if self.split else 1

    def bus_factor(self, ranks: int) -> float:
        """busbw over algbw, as nccl-tests defines them: the share of its buffer that a rank must send."""
        return (ranks - 1) / ranks

    def schedule(self, ranks: int, size: int, draws: Draws) -> Schedule:
        """The messages of one channel, `size` bytes in all. Raises `ScenarioError`."""
        raise NotImplementedError

    def orders(self, network: "Network", groups: U32) -> list[U32]:
        """The order of the ranks of a group in each channel. Raises `ScenarioError`."""
        return [np.arange(groups.shape[1], dtype=np.uint32)] * self.channels

    def ranks(self, network: "Network") -> U32:
        """The hosts of each group, one row a group."""
        given = hosts_of(network, "hosts", self.hosts)
        hosts = np.arange(network.hosts, dtype=np.uint32) if given is None else given
        if len(hosts) < 2 or len(distinct(hosts)) < len(hosts):
            raise ScenarioError("hosts", self.hosts, "two hosts or more, each once")
        size = self.group_size or len(hosts)
        if size < 2 or len(hosts) % size:
            raise ScenarioError("group_size", size, f"2 or more, and a divisor of the {len(hosts)} hosts")
        return hosts.reshape(-1, size)

    def flow_count(self, network: "Network") -> tuple[str, int]:
        """Those of all channels and groups."""
        groups, ranks = self.ranks(network).shape
        key, messages = self.message_count(ranks)
        return "queue_pairs" if self.parts > 1 else key, groups * messages * self.parts

    def message_count(self, ranks: int) -> tuple[str, int]:
        """The messages of all channels of one group, at most, and the key that makes them many."""
        steps = ranks - 1 if getattr(self, "algorithm", "ring") == "ring" else ranks.bit_length()
        twice = 2 if self.bus_factor(ranks) > 1 else 1
        return "kind", twice * ranks * steps * self.channels

    def in_chunks(self, ranks: int, chunk: int | None) -> tuple[str, int]:
        """Like `message_count`, for messages of one chunk each."""
        chunks = self.size // (chunk or CHUNK) + 2 * self.channels
        return "chunk" if chunk else "size", (2 if self.bus_factor(ranks) > 1 else 1) * chunks * ranks

    def waits(self, ranks: int) -> int:
        """The most waits of a message for others, and more where messages are made one by one."""
        return {"ring": 2, "tree": 8}.get(getattr(self, "algorithm", "ring"), ranks.bit_length())

    def draw_bytes(self, network: "Network") -> float:
        """Of messages and of their waits."""
        waits = self.waits(self.ranks(network).shape[1]) * self.parts
        return (DRAWN_BYTES + WAIT_BYTES * waits) * self.flow_count(network)[1]

    def draw(self, network: "Network", draws: Draws, frame: Frame) -> Drawn:
        """Group by group, the flows of all channels of its ranks, in the order of steps."""
        groups = self.ranks(network)
        ranks = groups.shape[1]
        channels = schedules.divided(self.size, self.channels).tolist()
        parts = [self.schedule(ranks, size, draws) for size in channels]
        if self.queue_pairs:
            parts = [part.over_queue_pairs(self.queue_pairs, divided=self.split) for part in parts]
        orders = self.orders(network, groups)
        one = Schedule.joined([part.reordered(order) for part, order in zip(parts, orders, strict=True)])
        if not len(one) or not one.bytes.all():
            each = f"each of its {len(one)} messages" if len(one) else "one message of each channel"
            raise ScenarioError("size", self.size, f"at least a byte in {each}")
        count = len(groups) * len(one)
        instance = np.repeat(np.arange(len(groups), dtype=np.uint32), len(one))
        begin = np.uint64(self.start) + spread(draws, groups.size, self.jitter).reshape(groups.shape)
        waits = one.after.waiting(len(one)) | one.behind.waiting(len(one))
        start_ps = np.where(waits, np.uint64(0), begin[:, one.source]) + np.uint64(self.step_delay)
        return Drawn(
            groups[:, one.source].ravel(),
            groups[:, one.target].ravel(),
            np.tile(one.bytes, len(groups)),
            start_ps.ravel(),
            full(count, NEVER),
            after=Predecessors.joined((one.after, len(one) * group) for group in range(len(groups))),
            behind=Predecessors.joined((one.behind, len(one) * group) for group in range(len(groups))),
            messages=Messages(
                instance,
                np.tile(one.step, len(groups)),
                QueuePairs.joined([one.queue_pairs] * len(groups)),
            ),
        )


class OverRails(Collective, frozen=True):
    """A collective whose rings can use every rail of servers of GPUs, as those of NCCL do."""

    rails: bool = Key(
        False,
        strict=True,
        description="each channel is a ring with a rail of its own, as NCCL's",
    )

    def orders(self, network: "Network", groups: U32) -> list[U32]:
        """With `rails`, channel c begins at GPU c of every server, and is backwards in every second one."""
        if not self.rails:
            return super().orders(network, groups)
        algorithm = getattr(self, "algorithm", "ring")
        if algorithm != "ring":
            raise ScenarioError("rails", True, f'algorithm = "ring", not {algorithm}')
        gpus = _gpus_of_server(network, groups)
        at = np.arange(groups.shape[1], dtype=np.uint32).reshape(-1, gpus)
        orders: list[U32] = []
        for channel in range(self.channels):
            turned = np.roll(at, -(channel % gpus), axis=1)
            turned[1::2] = turned[1::2, ::-1]
            orders.append(turned.ravel())
        return orders


def _gpus_of_server(network: "Network", groups: U32) -> int:
    """The ranks of each server, one after another in every group. Raises `ScenarioError`."""
    inside = network.in_server & network.is_nic
    servers = np.full(network.hosts, -1, np.int64)
    servers[network.link_from[inside]] = network.link_to[inside]
    of_rank = servers[groups]
    same = (of_rank[:, 1:] == of_rank[:, :-1]).all(axis=0)
    gpus = int(np.argmin(same)) + 1 if len(same) and not same.all() else groups.shape[1]
    blocks = of_rank.reshape(len(groups), -1, gpus) if groups.shape[1] % gpus == 0 else None
    again = any(len(set(row)) * gpus < groups.shape[1] for row in of_rank.tolist())
    if (of_rank < 0).any() or again or blocks is None or (blocks != blocks[:, :, :1]).any():
        raise ScenarioError("rails", True, "hosts in servers, as many of each, server by server")
    return gpus


def _power_of_two(algorithm: str, ranks: int) -> None:
    if ranks & (ranks - 1):
        expected = f'"ring", or a power of two of ranks in each group, not {ranks}'
        raise ScenarioError("algorithm", algorithm, expected)


class AllReduce(OverRails, frozen=True):
    """Every rank gets the sum of the buffers of all."""

    kind: Literal["all-reduce"]
    algorithm: Literal["ring", "tree", "halving-doubling"] = Key(
        "ring", description="a ring, two binary trees as in NCCL, or recursive halving and doubling"
    )
    chunk: OptionalPayload = Key(
        None, description="with `tree`: bytes that are sent and forwarded together; by default 512KB"
    )

    @model_validator(mode="after")
    def _used(self) -> Self:
        if self.chunk is not None and self.algorithm != "tree":
            raise ScenarioError("chunk", self.chunk, "no such key: only the tree has chunks")
        return self

    def bus_factor(self, ranks: int) -> float:
        """Twice that of a reduce-scatter."""
        return 2 * (ranks - 1) / ranks

    def message_count(self, ranks: int) -> tuple[str, int]:
        """A tree forwards chunk by chunk."""
        return self.in_chunks(ranks, self.chunk) if self.algorithm == "tree" else super().message_count(ranks)

    def schedule(self, ranks: int, size: int, draws: Draws) -> Schedule:
        """A ring of 2 (n - 1) steps, two trees, or 2 log2 n exchanges."""
        if self.algorithm == "ring":
            return schedules.ring(ranks, size, 2 * (ranks - 1))
        if self.algorithm == "tree":
            return schedules.two_trees(ranks, _chunks(size, self.chunk or CHUNK, least=2))
        _power_of_two(self.algorithm, ranks)
        return schedules.halving_doubling(ranks, size)


class ReduceScatter(OverRails, frozen=True):
    """Every rank gets the sum of one part of the buffers of all."""

    kind: Literal["reduce-scatter"]
    algorithm: Literal["ring", "halving"] = Key("ring", description="a ring, or recursive halving")

    def schedule(self, ranks: int, size: int, draws: Draws) -> Schedule:
        """A ring of n - 1 steps, or log2 n exchanges."""
        if self.algorithm == "ring":
            return schedules.ring(ranks, size, ranks - 1)
        _power_of_two(self.algorithm, ranks)
        return schedules.halving(ranks, size)


class AllGather(OverRails, frozen=True):
    """Every rank gets the parts of all."""

    kind: Literal["all-gather"]
    algorithm: Literal["ring", "doubling"] = Key("ring", description="a ring, or recursive doubling")

    def schedule(self, ranks: int, size: int, draws: Draws) -> Schedule:
        """A ring of n - 1 steps, or log2 n exchanges."""
        if self.algorithm == "ring":
            return schedules.ring(ranks, size, ranks - 1)
        _power_of_two(self.algorithm, ranks)
        return schedules.doubling(ranks, size)


class Broadcast(Collective, frozen=True):
    """Every rank gets the buffer of the first, chunk by chunk along a chain."""

    kind: Literal["broadcast"]
    chunk: Payload = Key("512KB", description="bytes that are sent and forwarded together")

    def bus_factor(self, ranks: int) -> float:
        """One: the whole buffer crosses every link of the chain."""
        return 1.0

    def message_count(self, ranks: int) -> tuple[str, int]:
        """One of each hop and chunk."""
        return self.in_chunks(ranks, self.chunk)

    def waits(self, ranks: int) -> int:
        """As in a tree."""
        return 8

    def schedule(self, ranks: int, size: int, draws: Draws) -> Schedule:
        """A chain of n - 1 hops."""
        return schedules.chain(ranks, _chunks(size, self.chunk))


class AllToAll(Collective, frozen=True):
    """Every rank sends a part of its buffer to every other, equal parts unless `gini` is set."""

    kind: Literal["all-to-all"]
    order: Literal["rotated", "pairwise", "at-once"] = Key(
        "rotated",
        description="together, rank r first to r + 1; in phases; or together, all first to 0",
    )
    gini: float = Key(
        0.0,
        strict=True,
        ge=0,
        lt=1,
        description="Gini coefficient of the bytes that ranks receive",
    )

    def schedule(self, ranks: int, size: int, draws: Draws) -> Schedule:
        """n (n - 1) messages."""
        weights = skewed(ranks, self.gini)
        if self.gini:
            weights = weights[draws.order("sizes", ranks)]
        sizes = np.tile((size * weights / weights.sum()).astype(np.uint64), (ranks, 1))
        if self.order == "pairwise":
            return schedules.pairwise(ranks, sizes)
        return schedules.all_at_once(ranks, sizes, rotated=self.order == "rotated")


def _chunks(size: int, chunk: int, least: int = 1) -> U64:
    return schedules.divided(size, max(-(-size // chunk), least))


def gini(values: F64) -> float:
    """The Gini coefficient: half of the mean difference of two values over their mean, 0 if all are equal."""
    ordered, n = np.sort(values), len(values)
    return float((2 * np.arange(1, n + 1) - n - 1) @ ordered / (n * ordered.sum()))


def skewed(count: int, target: float) -> F64:
    """Weights in descending order with a Gini coefficient of `target`: powers of the rank (Zipf's law).

    Raises `ScenarioError` if so few values cannot be so unequal.
    """
    rank = np.arange(1, count + 1, dtype=float)
    low, high = 0.0, 64.0
    if gini(rank**-high) < target:
        raise ScenarioError("gini", target, f"at most {gini(rank**-high):.3g}, with {count} ranks")
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gini(rank**-middle) < target else (low, middle)
    return rank**-high if target else np.ones(count)

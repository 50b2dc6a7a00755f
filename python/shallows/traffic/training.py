"""One iteration of training from the shape of a model: data, tensor, pipeline and expert parallelism."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from shallows.base import limits
from shallows.base.table import Key
from shallows.errors import ScenarioError
from shallows.traffic import schedules
from shallows.traffic.collectives import STEP_DELAY, skewed
from shallows.traffic.flows import Drawn, Draws
from shallows.traffic.iteration import Iteration, Shape
from shallows.traffic.kind import DRAWN_BYTES, WAIT_BYTES, Ends, Kind, distinct, hosts_of
from shallows.traffic.schedules import Schedule
from shallows.units import SIZE, TIME, Count, Frame, OptionalCount, OptionalTime, Payload, Time

if TYPE_CHECKING:
    from shallows.topology import Network

CHUNK = 512_000
"""Bytes of a chunk of a tree, as of `all-reduce`."""
MOST_BUCKETS = 100_000
"""The most buckets of an iteration. Each is a collective of its own: to draw so many takes half a minute."""
MOST_PASSES = 1_000_000
"""The most computations of an iteration, of a layer and micro-batch forward or backward."""


class Training(Kind, frozen=True):
    """One iteration of training: forward and backward passes, and the collectives between ranks."""

    kind: Literal["training"]
    hosts: Ends = Key("topology", description="the ranks: tensor first, then data, then pipeline parallel")
    dp: OptionalCount = Key(None, description="data-parallel ranks; by default all hosts are ranks")
    tp: Count = Key(1, description="tensor-parallel ranks, which reduce activations twice a layer and pass")
    pp: Count = Key(1, description="stages of the pipeline")
    ep: Count = Key(1, description="expert-parallel ranks, neighbours among those of `dp`")
    layers: Count = Key(4, description="layers, divided among the stages")
    gradients: Payload = Key("50MB", description="bytes of the gradients of a layer at a rank")
    bucket: Payload = Key("25MB", description="gradients that are reduced together")
    forward: Time = Key("1ms", description="forward computation of a layer and micro-batch")
    backward: OptionalTime = Key(None, description="the same, backward; by default twice as long")
    overlap: bool = Key(
        True, strict=True, description="reduce a bucket as soon as it is complete, not at the end"
    )
    micro_batches: Count = Key(1, description="micro-batches of the iteration")
    schedule: Literal["1f1b", "gpipe"] = Key(
        "1f1b", description="one forward, one backward in turn; or all forward first"
    )
    activations: Payload = Key(
        "16MB", description="bytes of the activations of a micro-batch between two layers"
    )
    dispatch: Payload = Key(
        "16MB", description="bytes that a rank sends to experts, and that come back, a layer and micro-batch"
    )
    gini: float = Key(
        0.0, strict=True, ge=0, lt=1, description="Gini coefficient of the bytes that experts receive"
    )
    algorithm: Literal["ring", "tree", "halving-doubling"] = Key(
        "ring", description="the all-reduce of gradients"
    )
    step_delay: Time = Key("0s", description=STEP_DELAY)
    start: Time = Key("0s", description="start of the iteration")
    spread: float = Key(
        0.0, strict=True, ge=0, le=10, description="each rank computes up to this share longer, at random"
    )

    def shape(self, network: "Network") -> Shape:
        """The ranks by pipeline stage, data and tensor parallelism. Raises `ScenarioError`."""
        given = hosts_of(network, "hosts", self.hosts)
        hosts = np.arange(network.hosts, dtype=np.uint32) if given is None else given
        if len(distinct(hosts)) < len(hosts):
            raise ScenarioError("hosts", self.hosts, "each host once")
        of_one = self.tp * self.pp
        dp = self.dp or max(len(hosts) // of_one, 1)
        ranks = dp * of_one
        if ranks < 2 or ranks > len(hosts) or (self.dp is None and ranks != len(hosts)):
            expected = f"dp * tp * pp = {len(hosts)}, the number of hosts, or fewer, and at least 2"
            raise ScenarioError("dp", dp, expected)
        if dp % self.ep:
            raise ScenarioError("ep", self.ep, f"a divisor of dp = {dp}")
        if self.layers % self.pp:
            raise ScenarioError("pp", self.pp, f"a divisor of the {self.layers} layers")
        return Shape(hosts[:ranks].reshape(self.pp, dp, self.tp))

    def flow_count(self, network: "Network") -> tuple[str, int]:
        """The messages of all collectives, at most."""
        shape = self.shape(network)
        buckets = -(-self.layers // self.pp * self.gradients // self.bucket) + 1
        steps = 2 * shape.dp if self.algorithm == "ring" else 2 * shape.dp.bit_length() + 2
        if self.algorithm == "tree":
            steps = 4 * (self.bucket // CHUNK + 2)
        data = buckets * steps * shape.ranks if shape.dp > 1 else 0
        passes = 2 * self.micro_batches * self.layers // self.pp * shape.ranks
        tensor = 2 * passes * 2 * (self.tp - 1)
        expert = 2 * passes * (self.ep - 1)
        return "bucket", data + tensor + expert + 2 * self.micro_batches * shape.ranks

    def draw_bytes(self, network: "Network") -> float:
        """Of messages with two waits each."""
        return (DRAWN_BYTES + 2 * WAIT_BYTES) * self.flow_count(network)[1]

    def draw(self, network: "Network", draws: Draws, frame: Frame) -> Drawn:
        """The tasks of all passes in the order of the pipeline, then the buckets."""
        shape = self.shape(network)
        slower = (
            1 + self.spread * draws.uniform("jitter", shape.ranks) if self.spread else np.ones(shape.ranks)
        )
        iteration = Iteration(shape, slower, self.start, self.step_delay)
        backward = 2 * self.forward if self.backward is None else self.backward
        self._check(shape, max(self.forward, backward) * float(slower.max()))
        tensor = schedules.ring(self.tp, self.activations, 2 * (self.tp - 1)) if self.tp > 1 else None
        experts = (self._to_experts(draws), self.ep) if self.ep > 1 else None
        layers = self.layers // self.pp
        done: dict[int, list[np.ndarray]] = {}
        for stage, micro, forward in passes(self.pp, self.micro_batches, self.schedule):
            length = self.forward if forward else backward
            number = 2 * micro + (not forward)
            iteration.receive(stage, micro, forward)
            ends = [iteration.layer(stage, length, number, tensor, experts) for _ in range(layers)]
            if not forward and micro == self.micro_batches - 1:
                done[stage] = ends
            iteration.send(stage, micro, forward, self.activations, number)
        if shape.dp > 1:
            self._reduce(iteration, done)
        return iteration.graph.drawn()

    def _check(self, shape: Shape, longest_ps: float) -> None:
        """Raise `ScenarioError` for computations too long or too many, for too many buckets, or no byte."""
        if longest_ps > limits.TIME.most:
            key = "forward" if self.backward is None else "backward"
            expected = f"computations of at most {limits.TIME.most // 10**12} s, backward and with the spread"
            raise ScenarioError(key, TIME.text(getattr(self, key)), expected)
        if 2 * self.layers * self.micro_batches > MOST_PASSES:
            expected = f"layers * micro_batches of at most {MOST_PASSES // 2}"
            raise ScenarioError("layers", self.layers, expected)
        reduced = self.gradients * self.layers // self.pp
        least_bucket = -(-reduced // max(MOST_BUCKETS // self.pp, 1))
        if shape.dp > 1 and self.bucket < least_bucket:
            expected = f"at least {SIZE.text(least_bucket)}, for at most {MOST_BUCKETS} in an iteration"
            raise ScenarioError("bucket", SIZE.text(self.bucket), expected)
        least = {"gradients": (reduced, shape.dp), "activations": (self.activations, self.tp)}
        for key, (size, ranks) in least.items():
            if ranks > 1 and size < ranks:
                expected = f"at least a byte for each of the {ranks} ranks that reduce them"
                raise ScenarioError(key, getattr(self, key), expected)

    def _reduce(self, iteration: Iteration, done: dict[int, list[np.ndarray]]) -> None:
        """All-reduce the gradients of every stage, bucket by bucket from the last layer on."""
        all_reduce = cache(self._all_reduce)  # All buckets but the last have one size.
        for stage, layers in done.items():
            total = len(layers) * self.gradients
            for number, begin in enumerate(range(0, total, self.bucket)):
                end = min(begin + self.bucket, total)
                last = layers[-(-end // self.gradients) - 1] if self.overlap else layers[-1]
                # A smaller rest is padded to a byte a rank, so that no message is empty.
                schedule = all_reduce(iteration.shape.dp, max(end - begin, iteration.shape.dp))
                iteration.reduce(stage, schedule, last, 2 * self.micro_batches + number)

    def _all_reduce(self, ranks: int, size: int) -> Schedule:
        if self.algorithm == "ring":
            return schedules.ring(ranks, size, 2 * (ranks - 1))
        if self.algorithm == "tree":
            return schedules.two_trees(ranks, schedules.divided(size, max(-(-size // CHUNK), 2)))
        if ranks & (ranks - 1):
            expected = f'"ring", or a power of two of data-parallel ranks, not {ranks}'
            raise ScenarioError("algorithm", self.algorithm, expected)
        return schedules.halving_doubling(ranks, size)

    def _to_experts(self, draws: Draws) -> Schedule:
        weights = skewed(self.ep, self.gini)[draws.order("sizes", self.ep)]
        sizes = np.tile((self.dispatch * weights / weights.sum()).astype(np.uint64), (self.ep, 1))
        schedule = schedules.all_at_once(self.ep, sizes, rotated=True)
        if not len(schedule):
            raise ScenarioError("dispatch", self.dispatch, "at least a byte for one of the experts")
        return schedule

    def step_names(self, count: int) -> list[str]:
        """The names of the steps of results: passes of micro-batches, then buckets."""
        both = [f"{way} {micro}" for micro in range(self.micro_batches) for way in ("forward", "backward")]
        return [*both, *(f"bucket {number}" for number in range(count - len(both)))]


def passes(stages: int, micro_batches: int, schedule: str) -> list[tuple[int, int, bool]]:
    """(stage, micro-batch, whether forward) of all passes, each after those that it needs.

    With "1f1b" a stage that has s stages after it makes s + 1 forward passes before its first backward one.
    """
    orders = [_order(stages - stage, micro_batches, schedule) for stage in range(stages)]
    found: dict[tuple[int, int, bool], None] = {}
    at = [0] * stages
    while len(found) < 2 * stages * micro_batches:
        for stage, order in enumerate(orders):
            while at[stage] < len(order):
                micro, forward = order[at[stage]]
                other = stage - 1 if forward else stage + 1
                if 0 <= other < stages and (other, micro, forward) not in found:
                    break
                found[stage, micro, forward] = None
                at[stage] += 1
    return list(found)


def _order(ahead: int, micro_batches: int, schedule: str) -> Sequence[tuple[int, bool]]:
    """The passes of one stage in order; `ahead` stages, with itself, may be busy with forward passes."""
    first = micro_batches if schedule == "gpipe" else min(ahead, micro_batches)
    order = [(micro, True) for micro in range(first)]
    for micro in range(micro_batches):
        order.append((micro, False))
        if first + micro < micro_batches:
            order.append((first + micro, True))
    return order

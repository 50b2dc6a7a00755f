"""Messages of collectives over queue pairs: the flows of each message as one row."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shallows.results.tables import Block, Names
from shallows.units import NEVER

if TYPE_CHECKING:
    from shallows.core.contract import U64, Answer
    from shallows.topology import Network
    from shallows.traffic import Flows
    from shallows.traffic.flows import Messages


def has_some(flows: "Flows") -> bool:
    """Whether some table sends messages over queue pairs."""
    return any(messages and messages.queue_pairs for messages in flows.messages)


def blocks(flows: "Flows", network: "Network", answer: "Answer", start_ps: "U64") -> Iterator[Block]:
    """The rows of each table; `start_ps` says when hosts asked for the flows."""
    for table, messages in enumerate(flows.messages):
        if messages and messages.queue_pairs:
            first = int(np.searchsorted(flows.group, table))
            yield _block(flows, network, (table, first, messages), (start_ps, answer["flows"]["finish_ps"]))


def _block(
    flows: "Flows", network: "Network", of: "tuple[int, int, Messages]", times: "tuple[U64, U64]"
) -> Block:
    table, at, messages = of
    pairs = messages.queue_pairs
    assert pairs is not None, "of a table with queue pairs"
    # The parts of a message follow each other.
    first = np.flatnonzero(np.diff(pairs.message.astype(np.int64), prepend=-1))
    mine = slice(at, at + len(pairs.message))
    start_ps, finish_ps = (column[mine] for column in times)
    finished = np.minimum.reduceat(finish_ps != NEVER, first)
    end_ps, begin_ps = np.maximum.reduceat(finish_ps, first), np.minimum.reduceat(start_ps, first)
    parts = np.diff(first, append=len(pairs.message))
    last = np.flatnonzero(finish_ps == np.repeat(end_ps, parts))
    slowest = last[np.searchsorted(last, first)]
    return {
        "traffic": np.full(len(first), table, np.uint32),
        "group": messages.group[first],
        "step": messages.step[first],
        "src": Names(flows.src[mine][first], network.host_names),
        "dst": Names(flows.dst[mine][first], network.host_names),
        "bytes": np.add.reduceat(flows.bytes[mine], first),
        "first_flow": (first + at).astype(np.uint32),
        "parts": parts.astype(np.uint32),
        "queue_pair": _where(finished, pairs.number[slowest].astype(float)),
        "start_us": _where(begin_ps != NEVER, begin_ps / 1e6),
        "fct_us": _where(finished, (end_ps - begin_ps) / 1e6),
        "spread_us": _where(finished, (end_ps - np.minimum.reduceat(finish_ps, first)) / 1e6),
    }


def _where(known: NDArray[np.bool_], values: NDArray[Any]) -> NDArray[np.float64]:
    return np.where(known, values, np.nan)

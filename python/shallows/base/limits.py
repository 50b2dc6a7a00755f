"""The limits of times, rates, counts and sizes: one table, which the checks use and docs/limits.md shows.

Times are in picoseconds, rates in bits per second, sizes in bytes. The core checks the same limits again
(`crates/sim/src/spec/check.rs`).
"""

from typing import NamedTuple


class Limit(NamedTuple):
    """The least and the most of a quantity, what it applies to, and the reason."""

    what: str
    least: int
    most: int
    unit: str
    why: str


TIME = Limit(
    "every time, and the end of a run",
    0,
    10**18,
    "ps",
    "1,000,000 s are 11.6 days: sums of several times stay below 2^64 ps",
)
DELAY = Limit("propagation delay of a link", 0, 2 * 10**12, "ps", "the event queue holds 4.4 s ahead")
HOLD = Limit("time for which a link holds or delays frames", 1, 10**12, "ps", DELAY.why)
RATE = Limit("every rate", 0, 10**13, "bps", "64 B take 51 ps at 10 Tbps; times are whole picoseconds")
LINK_RATE = Limit("rate of a link", 10**6, 10**13, "bps", "65,535 B take 0.5 s at 1 Mbps")
SIZE = Limit("every size", 0, 10**15, "B", "1 PB takes 93 days at 1 Gbps")
FRAME = Limit("network.mtu", 2, 65_535, "B", "frame lengths have 16 bits")
MESSAGE = Limit(
    "packets of a flow with an end", 1, 2**31 - 1, "packets", "differences of sequence numbers have 32 bits"
)
STREAM = Limit(
    "packets of a flow without an end, and credits for it",
    0,
    4 * 10**9,
    "packets",
    "sequence numbers have 32 bits; packets in flight need the rest",
)
COUNT = Limit("every count", 1, 10_000_000, "", "")
ACKS_EVERY = Limit("hosts.acks_every", 1, 255, "packets", "an acknowledgement counts its samples in 8 bits")
INTEGER = Limit("every whole number", -(2**63), 2**64 - 1, "", "64 bits")
ENTITIES = Limit(
    "links + ports of hosts + links again if any has classes",
    1,
    2**24,
    "",
    "an event names its place in 24 bits",
)
FEW_ENTITIES = 2**20
"""The most of these of which an event needs 20 bits, so that the event queue holds 4.4 s ahead."""
FAR_DELAY = Limit(
    "the same with more than 1,048,576 links, ports of hosts, and links again if any has classes",
    0,
    130 * 10**9,
    "ps",
    "the event queue then holds 0.27 s ahead; frames, tokens and watchdogs of PFC must not take longer",
)
FLOWS = Limit("flows of a run", 1, 20_000_000, "", "a flow takes some 300 B")
ROWS = Limit("recorded samples, of queues and of senders", 0, 20_000_000, "rows", "1 GB of memory")

LIMITS = (
    TIME, DELAY, HOLD, FAR_DELAY, RATE, LINK_RATE, SIZE, FRAME, MESSAGE, STREAM, COUNT, ACKS_EVERY, INTEGER,
    ENTITIES, FLOWS, ROWS,
)  # fmt: skip
"""All limits, in the order of the documentation."""

"""How fast and how evenly a host in user space works on this machine, beside what the papers print of theirs.

A thread paces credits over loopback, and a second one answers each with a full frame, as an ExpressPass host
does, or passes it on, as a switch does. The kernel and the program stamp each step.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shallows.worlds import machine

Times = NDArray[np.float64]
Stamps = dict[str, Times]
STAMPS = ("due", "sent", "departed", "arrived", "read", "answered", "returned", "taken")
"""Times of a credit; `departed`, `arrived` and `returned` are the kernel's."""
TAKEN_AWAY_NS = 20_000
"""A gap of a busy thread that is this long was taken by the machine."""
LOOK_S = 2.0
BUSY = 0.1
"""A machine that takes more than this share of the time, or delays more credits, has other work."""


@dataclass(frozen=True)
class Row:
    """A quantity: its name, count, and quantiles in microseconds.

    `below_700_ns` is the share of values up to .7 us, a number of ExpressPass's Fig. 14b. `printed` is what
    a paper prints about its own hosts.
    """

    name: str
    count: int
    median_us: float
    p99_us: float
    p9999_us: float
    deviation_us: float
    below_700_ns: float
    printed: str = ""


def row(name: str, values_ns: Times, printed: str = "") -> Row:
    """Quantiles and standard deviation of `values_ns`."""
    median, p99, p9999 = np.quantile(values_ns, [0.5, 0.99, 0.9999]) / 1e3
    deviation, below = float(np.std(values_ns)) / 1e3, float(np.mean(values_ns <= 700))
    return Row(name, len(values_ns), float(median), float(p99), float(p9999), deviation, below, printed)


@dataclass(frozen=True)
class Host:
    """What was measured.

    taken_away: share of the time that the machine took from a busy thread. late: share of credits that left
    late by an interval or more.
    """

    rows: list[Row]
    taken_away: float
    late: float

    @property
    def is_busy(self) -> bool:
        """Whether the rows say more about other work on the machine than about its hosts."""
        return max(self.taken_away, self.late) > BUSY


def measure(count: int = 25_000, interval_ns: int = 120_000) -> Host:
    """Rows of this machine, from `count` credits each, one every `interval_ns`.

    Takes three times as long, and 2 s. Raises `OSError` if the kernel has no sockets or stamps.
    """
    with machine.alone():
        return _measured(count, interval_ns)


def _measured(count: int, interval_ns: int) -> Host:
    polling = stamps(count, interval_ns, polls=True, answers=True)
    sleeping = stamps(count, interval_ns, polls=False, answers=True)
    switch = stamps(count, interval_ns, polls=True, answers=False)
    machine, taken_away = machine_row()
    late = max(float(np.mean(one["sent"] - one["due"] >= interval_ns)) for one in (polling, sleeping, switch))
    return Host([*_rows(interval_ns, polling, sleeping, switch), machine], taken_away, late)


def _rows(interval_ns: int, polling: Stamps, sleeping: Stamps, switch: Stamps) -> list[Row]:
    paced, passed = gaps(switch, "departed", "returned")
    expresspass = "ExpressPass, Fig. 14a: median 0.38 us, 99.99 % 6.2 us"
    return [
        row("credit to data, polling", polling["answered"] - polling["arrived"], expresspass),
        row("credit to data, sleeping", sleeping["answered"] - sleeping["arrived"], expresspass),
        row("gap of credits less the interval, paced", np.abs(paced - interval_ns)),
        row("change of a gap by a switch", np.abs(passed - paced), "ExpressPass, Fig. 14b: at most 0.7 us"),
        row(
            "one way, stamped by programs, sleeping", sleeping["read"] - sleeping["sent"],
            "DX, Fig. 10: deviation 80.7 us in the driver, of round trips",
        ),
        row("one way, stamped by programs, polling", polling["read"] - polling["sent"]),
        row(
            "one way, stamped by kernels", sleeping["arrived"] - sleeping["departed"],
            "DX, Fig. 10: deviation 1.98 us calibrated, 0.53 us in hardware",
        ),
    ]  # fmt: skip


def stamps(count: int, interval_ns: int, *, polls: bool, answers: bool) -> Stamps:
    """Times of each credit that came back with all its stamps, in ns, by name.

    `number` is its place among all.
    """
    from shallows import _core

    rows = np.array(_core.host_stamps(count, interval_ns, polls, answers), dtype=np.float64)
    whole = (rows[:, STAMPS.index("departed") :] > 0).all(axis=1)
    named = dict(zip(STAMPS, rows[whole].T, strict=True))
    return named | {"number": np.flatnonzero(whole).astype(np.float64)}


def gaps(times: Stamps, *names: str) -> list[Times]:
    """Gaps between neighbours of which none is missing, by each of the stamps."""
    neighbours = np.diff(times["number"]) == 1
    return [np.diff(times[name])[neighbours] for name in names]


def machine_row() -> tuple[Row, float]:
    """Gaps of a thread that only reads the clock, and their share of the time."""
    from shallows import _core

    taken = np.array(_core.longest_gaps(LOOK_S, TAKEN_AWAY_NS), dtype=np.float64)
    name = f"gaps of a busy thread above 20 us: {len(taken) / LOOK_S:.0f} a second"
    return row(name, taken if len(taken) else np.zeros(1)), float(taken.sum() / (LOOK_S * 1e9))


def table(host: Host) -> str:
    """The rows as lines."""
    lines = [f"{'us':48} {'median':>9} {'99 %':>9} {'99.99 %':>9} {'deviation':>9}"]
    for one in host.rows:
        numbers = f"{one.median_us:9.2f} {one.p99_us:9.1f} {one.p9999_us:9.1f} {one.deviation_us:9.2f}"
        lines.append(f"{one.name:48} {numbers}" + (f"  {one.printed}" if one.printed else ""))
    taken_away, late = 100 * host.taken_away, 100 * host.late
    share = f"The machine took {taken_away:.1f} % of the time, and {late:.1f} % of the credits left late"
    lines.append(f"{share}{': OTHER WORK, NOT THE HOST, DECIDES THESE NUMBERS' if host.is_busy else '.'}")
    return "\n".join(lines)

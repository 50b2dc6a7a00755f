"""The samples of a run's ports as the moments of a page: utilization, queues, failed links."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shallows.errors import ScenarioError
from shallows.pages import pauses
from shallows.results import mismatch
from shallows.results.tables import Names
from shallows.scenario.faults import ASPECTS, changes
from shallows.units import MOST_ROWS, NEVER, TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.core.contract import F64, U64, Flags
    from shallows.results.run import RunData
    from shallows.scenario import Scenario
    from shallows.scenario.faults.changes import LinkChange
    from shallows.topology import Network

MOST_MOMENTS = 240
"""The most moments of a page: 20 s at 12 moments per second."""
MOST_VALUES = 1_200_000
"""The most values of utilization in a page: those of 5,000 ports in all moments. A value takes up to 3 B."""
SAMPLES, FEWEST_MOMENTS = 10, 60
"""Samples that a moment has at least, where at least so many moments remain."""
ADVISED_SAMPLES = 5000
"""Samples of each port that an error advises: 20 for each moment."""
ADVISED_PS = 1_007_000
"""The interval that an error advises where nothing says how long a run will be."""
ODD = 1.007
"""The factor of advised intervals. Round ones may keep the phase of senders that repeat in round times."""


class Fault(NamedTuple):
    """What a fault makes of a link from one time to another, in microseconds: "down", or other words."""

    link: int
    from_us: float
    until_us: float
    what: str


@dataclass(frozen=True)
class Moments:
    """The moments of a run: P ports, M moments.

    links: the numbers of the recorded links, [P]. edges_us: when each moment begins, and the end of the last
    one, [M + 1]. samples: how many samples each moment has, [M]. utilization: the share of these samples at
    which the port was sending, [P, M]. paused: the share at which a pause kept it from sending, [P, M]; None
    without pauses, and if nothing says when they were. queue_bytes: the largest queue in them, [P, M].
    faults: what faults make of links, and when. error: the largest difference between the utilization that
    the samples of a port give and its exact one, both after the warm-up; None if nothing can be compared.
    """

    links: "NDArray[np.intp]"
    edges_us: "F64"
    samples: "NDArray[np.intp]"
    utilization: "F64"
    paused: "F64 | None"
    queue_bytes: "NDArray[np.uint32]"
    faults: list[Fault]
    error: float | None

    @property
    def busiest(self) -> int:
        """The moment with the longest queues in total; of several the one with the highest utilization."""
        queues = self.queue_bytes.sum(axis=0, dtype=np.float64)
        return int(np.lexsort((self.utilization.sum(axis=0), queues))[-1])

    @property
    def down(self) -> list[Fault]:
        """The times when links are down."""
        return [fault for fault in self.faults if fault.what == "down"]

    def failed(self, moment: int) -> set[int]:
        """The links that are down at any time of a moment."""
        begin, end = self.edges_us[moment], self.edges_us[moment + 1]
        return {one.link for one in self.down if one.from_us < end and one.until_us > begin}


def of_run(run: "RunData", network: "Network") -> Moments:
    """The `Moments` of a run. Raises `ScenarioError` with the keys to write if it sampled no port."""
    mismatch.refuse(run)
    queues = run.columns("queues")
    ports, bytes_ = queues["port"], np.asarray(queues["queue_bytes"])
    if not isinstance(ports, Names) or not len(bytes_):
        raise _unrecorded(run)
    number = {name: link for link, name in enumerate(network.port_names)}
    links = np.array([number[name] for name in ports.names], np.intp)
    # The rows of a port are together, and all ports have the same times.
    bytes_ = bytes_.reshape(len(links), -1)
    times_us = np.asarray(queues["time_us"], float)[: bytes_.shape[1]]
    changed = faults(run, network)
    sending = _sending(bytes_, times_us, links, changed)
    paused = pauses.at_samples(run, links, times_us) if pauses.has_some(run) else None
    if paused is not None:
        sending &= ~paused
    starts = _starts(len(times_us), len(links))
    samples = np.diff(np.append(starts, len(times_us)))
    step = times_us[1] - times_us[0] if len(times_us) > 1 else 0.0
    return Moments(
        links,
        np.append(times_us[starts], times_us[-1] + step),
        samples,
        _means(sending, starts),
        None if paused is None else _means(paused, starts),
        np.maximum.reduceat(bytes_, starts, axis=1),
        changed,
        _error(run, network, links, sending[:, times_us >= run.summary["warmup_s"] * 1e6]),
    )


def _starts(samples: int, ports: int) -> "NDArray[np.intp]":
    """The first sample of each moment: as many moments as a page may have, of several samples if possible."""
    most = max(1, min(MOST_MOMENTS, MOST_VALUES // ports))
    many = max(-(-samples // most), min(SAMPLES, samples // FEWEST_MOMENTS), 1)
    return np.arange(0, samples, many)


def _means(flags: "Flags", starts: "NDArray[np.intp]") -> "F64":
    """The share of the samples of each moment with a flag, [P, M]."""
    samples = np.diff(np.append(starts, flags.shape[1]))
    return np.add.reduceat(flags, starts, axis=1, dtype=np.float64) / samples


def _sending(queue: "U64", times_us: "F64", links: "NDArray[np.intp]", changed: list[Fault]) -> "Flags":
    """Whether each port was sending at each sample, [P, T]: the frame in transmission is in its queue.

    A sample is taken before the events of its time, so a failure that begins then is not in it.
    """
    sending = queue > 0
    place = {link: row for row, link in enumerate(links.tolist())}
    for link, since, until, what in changed:
        if what == "down" and link in place:
            sending[place[link], (times_us > since) & (times_us <= until)] = False
    return sending


def faults(run: "RunData", network: "Network") -> list[Fault]:
    """Each change of a link and its time in a run, in order of the beginnings; see `Fault`."""
    if not run.scenario.faults:
        return []
    ended_ps = round(run.summary["duration_s"] * 1e12)
    now: dict[tuple[int, str], tuple[int, str]] = {}
    found: list[Fault] = []
    for change in changes(run.scenario, network):
        if change.at >= ended_ps:
            break
        key = change.link, ASPECTS[run.scenario.faults[change.fault].kind]
        own_bps = int(network.rate_bps[change.link])
        what = "" if change.works else _what(change.change, own_bps)
        if key in now and now[key][1] != what:
            found.append(_fault(key[0], *now.pop(key), change.at))
        if what:
            now.setdefault(key, (change.at, what))
    found += [_fault(link, *since, ended_ps) for (link, _), since in now.items()]
    return sorted(found, key=lambda one: (one.from_us, one.link))


def _fault(link: int, from_ps: int, what: str, until_ps: int) -> Fault:
    return Fault(link, from_ps / 1e6, until_ps / 1e6, what)


def _what(change: "LinkChange", own_bps: int) -> str:
    """A change of a link of this rate that does not work as before, as in a request to the core, in words."""
    if isinstance(change, str):
        return "down" if change == "down" else "drained"
    ((key, value),) = change.items()
    if not isinstance(value, int | float):
        return ""
    if key == "rate_bps":
        return f"slowed to {rate(value)}" if value < own_bps else f"raised to {rate(value)}"
    if key == "delay_ps":
        return f"a delay of {TIME.text(round(value))}"
    if key == "hold_ps":
        return f"frames together each {TIME.text(round(value))}"
    if key == "late_by_ps":
        return ""
    if key == "late":
        return f"{100 * value:g} % of packets later"
    return f"loses {100 * value:g} % of packets" if key == "loss" else f"bit errors, {value:g} of all bits"


def rate(bps: float) -> str:
    """A rate in the largest unit that it reaches."""
    for unit, size in (("Tbit/s", 1e12), ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bps >= size:
            return f"{bps / size:.6g} {unit}"
    return f"{bps:.6g} bit/s"


def _error(run: "RunData", network: "Network", links: "NDArray[np.intp]", sending: "Flags") -> float | None:
    """How far the samples after the warm-up are from the exact utilization, at the worst port.

    Ports whose rate changes are left out: their exact utilization refers to their own rate.
    """
    columns = run.columns("ports")
    exact, ports = np.asarray(columns["utilization"], float), columns["port"]
    if not sending.shape[1] or not isinstance(ports, Names):
        return None
    by_name = dict(zip(ports.texts().tolist(), exact.tolist(), strict=True))
    slowed = {
        link
        for fault in run.scenario.faults
        if ASPECTS[fault.kind] == "rate"
        for link in fault.links(network)
    }
    kept = [row for row, link in enumerate(links.tolist()) if link not in slowed]
    true = np.array([by_name[network.port_names[link]] for link in links[kept]])
    known = np.isfinite(true)  # a run that was interrupted in its warm-up has no exact values
    apart = np.abs(sending[kept].mean(axis=1) - true)[known]
    return float(apart.max()) if len(apart) else None


def _unrecorded(run: "RunData") -> ScenarioError:
    """The error for a run without samples of its ports, with what to write."""
    sampling = _sampling(run.scenario)
    if run.folder is None:
        sets = ", ".join(f'"{key}": "{value}"' for key, value in sampling.items())
        write = f"sh.run(scenario, overrides={{{sets}}})"
    else:
        write = how_to_run(run.scenario, run.folder / "scenario.toml", f"{run.folder}-sampled", run)
    lines = " and ".join(f'{key} = "{value}"' for key, value in sampling.items())
    expected = f"a result whose scenario has {lines}; write: {write}"
    return ScenarioError("no samples of ports", file=run.folder, expected=expected)


def how_to_run(scenario: "Scenario", file: Path, out: str, run: "RunData | None" = None) -> str:
    """The command that runs a scenario's file, in the world of `run`, and samples all ports often enough."""
    world = ["--world", run.summary["world"]] if run and run.summary["world"] != "packet" else []
    sets = [word for key, value in _sampling(scenario).items() for word in ("--set", f"{key}={value}")]
    return shlex.join(["shallows", "run", str(file), *world, *sets, "--out", out])


def _sampling(scenario: "Scenario") -> dict[str, str]:
    """The keys that sample all ports of a scenario often enough."""
    interval = ADVISED_PS
    if scenario.duration != NEVER:
        rows = scenario.duration * len(scenario.graph.port_names) / MOST_ROWS
        interval = _round_up(max(scenario.duration / ADVISED_SAMPLES, rows))
    return {"record.ports": "all", "record.queues": TIME.text(interval)}


def _round_up(interval_ps: float) -> int:
    """The next of 1, 2, 5, 10, … ps, times `ODD`."""
    decade = 10 ** max(3, int(np.floor(np.log10(max(interval_ps, 1)))))
    step = next(step for step in (1, 2, 5, 10) if step * decade >= interval_ps)
    return round(step * decade * ODD)

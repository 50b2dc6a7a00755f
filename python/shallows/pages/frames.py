"""The samples of a run's ports as the frames of a moving picture: utilization, queues, failed links."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.errors import ScenarioError
from shallows.faults import ASPECTS, changes
from shallows.results.tables import Names
from shallows.units import MOST_ROWS, NEVER, TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shallows.contract import F64, Flags
    from shallows.results.run import Run
    from shallows.scenario import Scenario
    from shallows.topology import Network

MOST_FRAMES = 240
"""The most frames of a picture: 20 s at 12 frames per second."""
MOST_VALUES = 1_200_000
"""The most values of utilization in a page: those of 5,000 ports in all frames. A value takes up to 3 B."""
SAMPLES, FEWEST_FRAMES = 10, 60
"""Samples that a frame has at least, where at least so many frames remain."""
ADVISED_SAMPLES = 5000
"""Samples of each port that an error advises: 20 for each frame."""
ADVISED_PS = 1_007_000
"""The interval that an error advises where nothing says how long a run will be."""
ODD = 1.007
"""The factor of advised intervals. Round ones may keep the phase of senders that repeat in round times."""


@dataclass(frozen=True)
class Frames:
    """The frames of a run: P ports, F frames.

    links: the numbers of the recorded links, [P]. edges_us: when each frame begins, and the end of the last
    one, [F + 1]. samples: how many samples each frame has, [F]. utilization: the share of these samples at
    which the port was sending, [P, F]. queue_bytes: the largest queue in them, [P, F]. down: (link, from, to)
    of each failure, in microseconds. error: the largest difference between the utilization that the samples
    of a port give and its exact one, both after the warm-up; None if nothing can be compared.
    """

    links: "NDArray[np.intp]"
    edges_us: "F64"
    samples: "NDArray[np.intp]"
    utilization: "F64"
    queue_bytes: "NDArray[np.uint32]"
    down: list[tuple[int, float, float]]
    error: float | None

    @property
    def busiest(self) -> int:
        """The frame with the longest queues in total; of several the one with the highest utilization."""
        queues = self.queue_bytes.sum(axis=0, dtype=np.float64)
        return int(np.lexsort((self.utilization.sum(axis=0), queues))[-1])

    def failed(self, frame: int) -> set[int]:
        """The links that are down at any time of a frame."""
        begin, end = self.edges_us[frame], self.edges_us[frame + 1]
        return {link for link, since, until in self.down if since < end and until > begin}


def of_run(run: "Run", network: "Network") -> Frames:
    """The `Frames` of a run. Raises `ScenarioError` with the keys to write if it sampled no port."""
    queues = run.columns("queues")
    ports, bytes_ = queues["port"], np.asarray(queues["queue_bytes"])
    if not isinstance(ports, Names) or not len(bytes_):
        raise _unrecorded(run)
    number = {name: link for link, name in enumerate(network.port_names)}
    links = np.array([number[name] for name in ports.names], np.intp)
    # The rows of a port are together, and all ports have the same times.
    bytes_ = bytes_.reshape(len(links), -1)
    times_us = np.asarray(queues["time_us"], float)[: bytes_.shape[1]]
    down = failures(run, network)
    sending = _sending(bytes_, times_us, links, down)
    starts = _starts(len(times_us), len(links))
    samples = np.diff(np.append(starts, len(times_us)))
    step = times_us[1] - times_us[0] if len(times_us) > 1 else 0.0
    return Frames(
        links,
        np.append(times_us[starts], times_us[-1] + step),
        samples,
        np.add.reduceat(sending, starts, axis=1, dtype=np.float64) / samples,
        np.maximum.reduceat(bytes_, starts, axis=1),
        down,
        _error(run, network, links, sending[:, times_us >= run.summary["warmup_s"] * 1e6]),
    )


def _starts(samples: int, ports: int) -> "NDArray[np.intp]":
    """The first sample of each frame: as many frames as a page may have, of several samples if possible."""
    most = max(1, min(MOST_FRAMES, MOST_VALUES // ports))
    many = max(-(-samples // most), min(SAMPLES, samples // FEWEST_FRAMES), 1)
    return np.arange(0, samples, many)


def _sending(
    queue: "NDArray[Any]", times_us: "F64", links: "NDArray[np.intp]", down: list[tuple[int, float, float]]
) -> "Flags":
    """Whether each port was sending at each sample, [P, T]: the frame in transmission is in its queue.

    A sample is taken before the events of its time, so a failure that begins then is not in it.
    """
    sending = queue > 0
    place = {link: row for row, link in enumerate(links.tolist())}
    for link, since, until in down:
        if link in place:
            sending[place[link], (times_us > since) & (times_us <= until)] = False
    return sending


def failures(run: "Run", network: "Network") -> list[tuple[int, float, float]]:
    """(link, from, to) of each time that a link was down in a run, in microseconds, in order of the ends."""
    ended, since = run.summary["duration_s"] * 1e6, dict[int, float]()
    found: list[tuple[int, float, float]] = []
    for change in changes(run.scenario, network) if run.scenario.faults else ():
        at = change.at / 1e6
        if change.change == "down" and at < ended:
            since.setdefault(change.link, at)
        elif change.change == "up" and change.link in since:
            found.append((change.link, since.pop(change.link), min(at, ended)))
    return [*found, *((link, at, ended) for link, at in since.items())]


def _error(run: "Run", network: "Network", links: "NDArray[np.intp]", sending: "Flags") -> float | None:
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
    return float(np.abs(sending[kept].mean(axis=1) - true).max(initial=0.0))


def _unrecorded(run: "Run") -> ScenarioError:
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


def how_to_run(scenario: "Scenario", file: Path, out: str, run: "Run | None" = None) -> str:
    """The command that runs a scenario's file, in the world of `run`, and samples all ports often enough."""
    world = ["--world", run.summary["world"]] if run and run.summary["world"] != "packet" else []
    sets = [word for key, value in _sampling(scenario).items() for word in ("--set", f"{key}={value}")]
    return shlex.join(["shallows", "run", str(file), *world, *sets, "--out", out])


def _sampling(scenario: "Scenario") -> dict[str, str]:
    """The keys that sample all ports of a scenario often enough."""
    interval = ADVISED_PS
    if scenario.duration != NEVER:
        rows = scenario.duration * len(scenario.network.port_names) / MOST_ROWS
        interval = _round_up(max(scenario.duration / ADVISED_SAMPLES, rows))
    return {"record.ports": "all", "record.queues": TIME.text(interval)}


def _round_up(interval_ps: float) -> int:
    """The next of 1, 2, 5, 10, … ps, times `ODD`."""
    decade = 10 ** max(3, int(np.floor(np.log10(max(interval_ps, 1)))))
    step = next(step for step in (1, 2, 5, 10) if step * decade >= interval_ps)
    return round(step * decade * ODD)

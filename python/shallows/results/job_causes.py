"""The largest cause of the time that a collective or task takes beyond its ideal, from the counts of a run.

The path of the job goes back from its last end over the messages that waited for each other, whose times are
in the results. Each message takes the addends that its host knows beforehand (`traffic.addends`), its ideal
time, and more. `_Excess` estimates what took this excess: each estimate needs no second run, and may count a
time that another one counts too. `shallows why --task` records the run again and divides the time exactly.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shallows.results import task_members
from shallows.results.least import Ports
from shallows.results.summary import bounds
from shallows.scenario import addends
from shallows.units import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from shallows.core.contract import F64
    from shallows.results.answer import Answer
    from shallows.results.task_members import Task

    Numbers = NDArray[np.intp]

LEAST = 0.05
"""Share of the completion time beyond the ideal from which on a cause is named."""
MOST_MESSAGES, MOST_FLOWS = 64, 50_000
"""Messages of a path that are looked at, those with most excess, and flows that may have met them."""
OWN = "own messages"
"""Waits behind messages of the same job at ports of hosts: its schedule asks for them, or they are late."""
AT_LINKS = ("slow link", "failed link", "other traffic", "uneven paths", OWN, "pauses")
"""Causes at a link of the path of a message."""
SHARED = (OWN, "uneven paths")
"""Causes by which messages of a job wait for each other."""


class Cause(NamedTuple):
    """Microseconds that a cause explains, and the port or host where it acts."""

    cause: str
    cause_us: float
    cause_port: str | None = None


class Part(NamedTuple):
    """A message on the path of a job, or a part of it: until it was received, or had been sent."""

    flow: int
    begin_ps: int
    end_ps: int


NONE: dict[str, object] = {"cause": None, "cause_us": None, "cause_port": None}


def named(answer: "Answer", rows: list[dict[str, Any]]) -> list[dict[str, object]]:
    """The rows of collectives or tasks, with the largest cause of each."""
    slow = {place: _Excess.of(answer, row) for place, row in enumerate(rows) if _beyond_us(row)}
    traffic = _Traffic(answer, list(slow.values())) if slow else None
    return [
        row | (_largest(row, slow[place], traffic) if traffic and place in slow else NONE)
        for place, row in enumerate(rows)
    ]


def _beyond_us(row: dict[str, Any]) -> float:
    """The time beyond the ideal, or beyond it until the end of the run; 0 if a cause needs no name."""
    took_us = row["completion_us"] or bounds(row).get("completion_us") or 0.0
    beyond_us = took_us - (row["ideal_us"] or took_us)
    return beyond_us if beyond_us > LEAST * took_us else 0.0


def _largest(row: dict[str, Any], excess: "_Excess", traffic: "_Traffic") -> dict[str, object]:
    before = [_late_rank(excess), *_of_addends(excess)]
    known_us = sum(cause.cause_us for cause in before) + row["ideal_us"]
    # Messages that share links wait for each other in the ideal too.
    shared_us = excess.total_us - (excess.took_us - known_us)
    causes = [*before, *(_beyond(cause, shared_us) for cause in excess.causes(traffic))]
    if row["ideal_is_bound"] and max(causes, key=_us).cause == OWN:
        return NONE
    largest = max((cause for cause in causes if cause.cause != OWN), key=_us)
    cause_us = float(min(largest.cause_us, _beyond_us(row)))
    return largest._replace(cause_us=cause_us)._asdict() if cause_us > LEAST * excess.took_us else NONE


def _beyond(cause: Cause, shared_us: float) -> Cause:
    """The same cause without the time by which messages that share links wait in the ideal too."""
    if cause.cause not in SHARED:
        return cause
    return cause._replace(cause_us=cause.cause_us - max(shared_us, 0.0))


def _us(cause: Cause) -> float:
    return cause.cause_us


def _job(answer: "Answer", row: dict[str, Any]) -> "Task":
    """The flows and computations of a task, or of a group of a collective, and their times.

    What has not ended lasts until the end of the run, and what has not begun ends before everything.
    """
    flows, columns = answer.scenario.flows, answer.answer["flows"]
    computed = answer.answer["computations"]
    start, finish = (
        np.concatenate([columns[of], computed[of]]).astype(np.int64) for of in ("start_ps", "finish_ps")
    )
    unsigned = np.concatenate([columns["start_ps"], computed["start_ps"]])
    begun = unsigned <= answer.ended_ps
    finish = np.where(finish.view(np.uint64) == NEVER, answer.ended_ps, finish)
    start, finish = np.where(begun, start, np.iinfo(np.int64).max), np.where(begun, finish, -1)
    name = flows.names[int(row["traffic"])]
    table, groups = task_members.groups(flows, name)
    group = int(row.get("group", 0))
    computations = task_members.computations(flows, table) if "group" not in row else range(0)
    delay_ps = task_members.first_delay_ps(answer.scenario, table)
    return task_members.Task(name, table, group, groups[group], computations, start, finish, delay_ps)


def _path(answer: "Answer", job: "Task") -> tuple[list[Part], int]:
    """The messages on the path of a job, the last one first, and when its first task was ready to start."""
    flows, parts = answer.scenario.flows, list[Part]()
    number, end_ps = job.last, int(job.finish_ps[job.last])
    while True:
        begin_ps = int(job.start_ps[number])
        if number < len(flows):
            parts.append(Part(number, begin_ps, end_ps))
        before = task_members.waited_for(flows, job, number)
        edges = [edge for edge in before if job.start_ps[edge.flow] < begin_ps]
        if not edges:
            return parts, begin_ps - (job.first_delay_ps if number < len(flows) else 0)
        # Of several the results do not say which was the last: of those that were sent, the last that began.
        edge = max(edges, key=lambda edge: (edge.until == "acknowledged", int(job.start_ps[edge.flow])))
        number, end_ps = edge.flow, min(edge.end_ps, begin_ps)


def _late_rank(excess: "_Excess") -> Cause:
    """The first task of the path begins later than that of another rank."""
    from shallows.traffic import Collective

    answer, parts = excess.answer, excess.parts
    flows = answer.scenario.flows
    if not parts or not isinstance(answer.scenario.traffic[excess.job.table], Collective):
        return Cause("late rank", 0.0)
    host = answer.network.host_names[int(flows.src[parts[-1].flow])]
    return Cause("late rank", (excess.ready_ps - excess.job.begin_ps) / 1e6, host)


def _of_addends(excess: "_Excess") -> list[Cause]:
    """What hosts add to messages beyond the ideal."""
    every = addends.in_fct(excess.answer.scenario)
    return [Cause(ADDENDS[cause], float(of[excess.flows].sum()) / 1e6) for cause, of in every.items()]


ADDENDS = {"cost": "host costs"}
"""Causes of jobs by those of `traffic.addends`."""


@dataclass
class _Excess:
    """The time of messages on the path of a job beyond their addends and ideal times, in picoseconds.

    Only those with most excess are looked at, and stand for the others.
    """

    answer: "Answer"
    job: "Task"
    parts: list[Part]
    ready_ps: int
    """When the first task of the path was ready to start."""

    @classmethod
    def of(cls, answer: "Answer", row: dict[str, Any]) -> "_Excess":
        """The excess on the path of the collective or task of a row."""
        job = _job(answer, row)
        return cls(answer, job, *_path(answer, job))

    @property
    def took_us(self) -> float:
        """The time of the job, until the end of the run if it is unfinished."""
        return (int(self.job.finish_ps[self.job.last]) - self.job.begin_ps) / 1e6

    @cached_property
    def flows(self) -> "Numbers":
        """The number of the flow of each part."""
        return np.array([part.flow for part in self.parts], np.intp)

    @cached_property
    def excess_ps(self) -> "F64":
        """Of each part; until a message was sent it took at least the time to send all but its last frame."""
        flows, scenario = self.flows, self.answer.scenario
        took = np.array([part.end_ps - part.begin_ps for part in self.parts], float)
        least = self.answer.answer["flows"]["ideal_ps"][flows].astype(float)
        whole = np.array([part.end_ps >= self.job.finish_ps[part.flow] for part in self.parts], bool)
        if not whole.all():
            ports = Ports.of_senders(scenario)
            least = np.where(whole, least, (ports.sending_ps - ports.last_frame_ps)[flows])
        waited = sum(of[flows].astype(float) for of in addends.in_fct(scenario).values())
        return np.maximum(took - waited - least, 0.0)

    @property
    def total_us(self) -> float:
        """The excess of all parts."""
        return float(self.excess_ps.sum()) / 1e6

    @cached_property
    def chosen(self) -> "Numbers":
        """The parts with most excess, as many as were there with at most `MOST_FLOWS` flows."""
        chosen = np.argsort(-self.excess_ps, kind="stable")[:MOST_MESSAGES]
        chosen = chosen[self.excess_ps[chosen] > 0]
        while len(chosen) > 1 and len(self._met(chosen)) > MOST_FLOWS:
            chosen = chosen[: len(chosen) // 2]
        return chosen

    @property
    def met(self) -> "Numbers":
        """The flows that were there at the time of some of the chosen parts."""
        return self._met(self.chosen)

    def _met(self, chosen: "Numbers") -> "Numbers":
        if not len(chosen):
            return chosen
        places: list[int] = chosen.tolist()
        parts = sorted((self.parts[at] for at in places), key=lambda part: part.begin_ps)
        begin, end = np.array([part.begin_ps for part in parts]), np.array([part.end_ps for part in parts])
        latest, count = np.maximum.accumulate(end), len(self.answer.scenario.flows)
        # Some span that begins before the end of a flow must end after its start.
        last = np.searchsorted(begin, self.job.finish_ps[:count]) - 1
        return np.flatnonzero((last >= 0) & (latest[last] > self.job.start_ps[:count]))

    def causes(self, traffic: "_Traffic") -> list[Cause]:
        """The causes of the excess, each at the port where it acts most."""
        sums: dict[tuple[str, int | None], float] = {}
        places: list[int] = self.chosen.tolist()
        for at in places:
            for cause, ps, link in traffic.divided(self.job, self.parts[at], float(self.excess_ps[at])):
                sums[cause, link] = sums.get((cause, link), 0.0) + ps
        looked_at = float(self.excess_ps[self.chosen].sum())
        scale = self.total_us / looked_at if looked_at else 0.0
        found: list[Cause] = []
        for cause in dict.fromkeys(cause for cause, _ in sums):
            at_link = {link: ps for (one, link), ps in sums.items() if one == cause}
            link = max(at_link, key=lambda link: at_link[link])
            port = None if link is None else self.answer.network.port_names[link]
            found.append(Cause(cause, sum(at_link.values()) * scale, port))
        return found


class _Traffic:
    """What used the links of messages, or kept them from sending, while messages were there."""

    def __init__(self, answer: "Answer", slow: list[_Excess]) -> None:
        self._answer = answer
        met = np.unique(np.concatenate([excess.met for excess in slow])).astype(np.intp)
        paths = _paths(answer, met)
        self._paths = dict(zip(met.tolist(), paths, strict=True))
        link = np.array([link for path in paths for link in path], np.intp)
        order = np.argsort(link, kind="stable")
        self._flow = np.repeat(met, [len(path) for path in paths])[order]
        self._first = np.searchsorted(link[order], np.arange(len(answer.network.rate_bps) + 1))
        delivered, frame = answer.answer["flows"]["delivered_bytes"].astype(float), answer.scenario.frame
        headers = -(-delivered // frame.payload) * (answer.scenario.mtu - frame.payload)
        self._bits = 8.0 * (delivered + headers)
        self._faults = _faults(answer)

    def divided(self, job: "Task", part: Part, excess_ps: float) -> "Iterator[tuple[str, float, int | None]]":
        """Cause, picoseconds and link of what took the excess of a part: the link where it took most."""
        links, flow = self._paths[part.flow], part.flow
        timeout = min(1e6 * float(self._answer.flow_columns["timeout_wait_us"][flow]), excess_ps)
        explained, shared = timeout, 0.0
        for cause, each in self._on(job, links, part).items():
            place = int(np.argmax(each))
            took = min(float(each[place]), excess_ps)
            yield cause, took, links[place]
            # Frames that wait for those of their job at one link need not wait again at the next one.
            shared = max(shared, took) if cause in SHARED else shared
            explained += 0.0 if cause in SHARED else took
        rest = max(excess_ps - explained - shared, 0.0)
        if timeout or self._answer.flow_columns["retransmits"][flow]:
            # Repairs also cut the window or rate, and wait for their answers.
            yield "timeouts" if timeout else "losses", timeout + rest, None
            return
        waits = self._waits_ps(links)
        queued = min(float(waits.max(initial=0.0)), rest)
        if links:
            yield "queues", queued, links[int(np.argmax(waits))]
        yield "rate limits", rest - queued, None

    def _on(self, job: "Task", links: list[int], part: Part) -> dict[str, "F64"]:
        """Picoseconds by cause that each link needed for other frames, or did not work as it should."""
        if not links:
            return {}
        network = self._answer.network
        hosts = network.hosts
        found = {cause: np.zeros(len(links)) for cause in AT_LINKS}
        for place, link in enumerate(links):
            rate = float(network.rate_bps[link])
            mine, others = self._bits_beside(job, link, part)
            slow, down_ps = self._fault(link, part)
            needed = float(self._bits[part.flow]) + mine
            found["slow link"][place] = needed * 1e12 * (1 / slow - 1) / rate
            found["failed link"][place] = down_ps
            found["other traffic"][place] = others * 1e12 / rate
            at_host = network.link_from[link] < hosts or network.link_to[link] < hosts
            found[OWN if at_host else "uneven paths"][place] = mine * 1e12 / rate
            found["pauses"][place] = self._paused_ps(link, part)
        # A link that a fault slows down also pauses the links before it.
        faulty = np.flatnonzero(found["slow link"] + found["failed link"])
        if len(faulty):
            before = slice(0, int(faulty[-1]))
            cause = "slow link" if found["slow link"][faulty[-1]] else "failed link"
            found[cause][faulty[-1]] += found["pauses"][before].max(initial=0.0)
            found["pauses"][before] = 0.0
        return found

    def _bits_beside(self, job: "Task", link: int, part: Part) -> tuple[float, float]:
        """Bits of the job and of others on a link during a part, by the share of the time of flows in it."""
        flows = self._flow[self._first[link] : self._first[link + 1]]
        flows = flows[flows != part.flow]
        start, finish = job.start_ps[flows].astype(float), job.finish_ps[flows].astype(float)
        inside = np.minimum(finish, part.end_ps) - np.maximum(start, part.begin_ps)
        bits = self._bits[flows] * (inside / np.maximum(finish - start, 1.0)).clip(0, 1)
        mine = (flows >= job.flows.start) & (flows < job.flows.stop)
        return float(bits[mine].sum()), float(bits[~mine].sum())

    def _fault(self, link: int, part: Part) -> tuple[float, float]:
        """The share of its rate that a link had on average during a part, and how long it was down."""
        length = max(part.end_ps - part.begin_ps, 1)
        lost, down = 0.0, 0.0
        for begin, end, share in self._faults.get(link, ()):
            inside = max(min(end, part.end_ps) - max(begin, part.begin_ps), 0)
            lost += inside / length * (1 - share) if share else 0.0
            down += 0.0 if share else inside
        return max(1 - lost, 1e-6), down

    def _paused_ps(self, link: int, part: Part) -> float:
        """The time of a part in which a link was paused, if its pauses are spread over the run."""
        share = (part.end_ps - part.begin_ps) / max(self._answer.measured_ps, 1)
        return float(self._answer.answer["ports"]["paused_ps"][link]) * min(share, 1.0)

    def _waits_ps(self, links: list[int]) -> "F64":
        """The mean wait of a frame in the queue of each link beyond its own transmission."""
        network = self._answer.network
        delay = np.nan_to_num(self._answer.port_columns["delay_mean_us"][links]) * 1e6
        return np.maximum(delay - 8e12 * self._answer.scenario.mtu / network.rate_bps[links], 0.0)


def _paths(answer: "Answer", flows: "Numbers") -> list[list[int]]:
    """The links of these flows, before any failure; none where packets may take several paths."""
    from shallows.scenario.paths import paths_of

    if answer.scenario.network.balancing != "flow" or not answer.network.is_nic.any():
        return [[] for _ in flows]
    return [forth for forth, _ in paths_of(answer.scenario, flows.astype(np.uint32))]


def _faults(answer: "Answer") -> dict[int, list[tuple[int, int, float]]]:
    """By link the spans in which faults slowed it down, with the share of its rate.

    It is 0 while the link was down, and flows still used it: until switches take other paths.
    """
    from shallows.scenario.faults import ASPECTS, Change, changes

    spans: dict[int, list[tuple[int, int, float]]] = {}
    since: dict[tuple[int, str], tuple[int, float]] = {}

    def end(link: int, what: str, at: int) -> None:
        if begun := since.pop((link, what), None):
            until = at if begun[1] else min(at, begun[0] + answer.scenario.network.convergence)
            spans.setdefault(link, []).append((begun[0], until, begun[1]))

    def share(one: "Change") -> float | None:
        if one.change == "down":
            return 0.0
        rate = one.change.get("rate_bps") if isinstance(one.change, dict) else None
        own_bps = float(answer.network.rate_bps[one.link])
        return min(1.0, rate / own_bps) if isinstance(rate, int | float) else None

    for one in changes(answer.scenario, answer.network):
        what = ASPECTS[answer.scenario.faults[one.fault].kind]
        left = share(one)
        if one.works or left is not None:
            end(one.link, what, one.at)
        if not one.works and left is not None:
            since[one.link, what] = one.at, left
    for link, what in list(since):
        end(link, what, int(answer.ended_ps))
    return spans

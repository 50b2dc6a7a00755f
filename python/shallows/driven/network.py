"""An open network: a run that the calling program drives."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import index
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, SupportsIndex, cast

import numpy as np

from shallows import runner
from shallows.base import limits
from shallows.base.toml import is_list
from shallows.driven import settable
from shallows.driven.log import Log
from shallows.driven.message import Message
from shallows.driven.settable import Tables
from shallows.errors import NamedOverrides, ScenarioError
from shallows.results import tables
from shallows.scenario import host_costs, needs
from shallows.scenario.literal import literal
from shallows.scenario.request import request
from shallows.traffic import Driven
from shallows.units import (
    NEVER,
    RATE,
    SIZE,
    TIME,
    RateQuantity,
    SizeQuantity,
    TimeQuantity,
    did_you_mean,
)

if TYPE_CHECKING:
    import pandas

    from shallows import _core
    from shallows.algorithms.algorithm import Algorithm as UsedAlgorithm
    from shallows.runner import Given
    from shallows.runs import Run
    from shallows.scenario import Scenario
    from shallows.scenario.literal import Algorithm

Time = str | TimeQuantity
Size = str | SizeQuantity | int
Host = int | str
OnDone = Callable[[Message], object]


def open(
    scenario: "Given",
    *,
    changes: Sequence[str] = (),
    cc: "Algorithm | None" = None,
    seed: int | None = None,
    overrides: Mapping[str, object] | None = None,
    threads: int = 1,
) -> "OpenNetwork":
    """Open the network of `scenario` at time zero, with the traffic that the scenario has.

    `changes` are the ports whose links `OpenNetwork.fault` may change, by name or pattern, such as "s0->*"
    (`network.changing`). The other arguments are those of `shallows.run`. Messages belong to a traffic table
    of the kind `driven`, which has their algorithm and class; a scenario without such a table gets one. Long
    steps without a stop at completions run on up to `threads` threads; results do not depend on it.

    Raises `ScenarioError` for a wrong scenario, and for costs of hosts, which the program adds itself.
    """
    by_caller = runner.changes(cc, overrides)
    if changes:
        by_caller = by_caller | NamedOverrides({"network.changing": list(changes)}, "changes")
    prepared = runner.prepare(scenario, seed=seed, overrides=by_caller, driven=True)
    if not any(isinstance(table, Driven) for table in prepared.traffic):
        prepared = prepared.changed({"traffic": [*prepared.tables["traffic"], {"kind": "driven"}]})
    check_driven(prepared)
    if isinstance(threads, bool) or threads not in range(1, runner.MOST_THREADS + 1):
        raise ScenarioError("threads", threads, f"a number from 1 to {runner.MOST_THREADS}")
    return OpenNetwork(prepared, threads)


def check_driven(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for a scenario that cannot be driven."""
    _check_costs(scenario)
    _check_empty(scenario)


def _check_costs(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for costs of hosts that delay messages."""
    costs = host_costs.by_host(scenario) if scenario.hosts.costs else {}
    found = [key for key, of_hosts in costs.items() if key != "pcie" and of_hosts.any()]
    if found or any(table.collectives for table in scenario.hosts.costs):
        expected = "no costs of messages in a network that is driven: send each message when it is ready"
        raise ScenarioError("hosts.costs", ", ".join(found), expected)


def _check_empty(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for a scenario that already has messages of a driven run."""
    for number, table in enumerate(scenario.traffic):
        if isinstance(table, Driven) and (scenario.flows.group == number).any():
            expected = "no messages: this is the log of a run. `shallows run` repeats it"
            raise ScenarioError(f"traffic[{number}].flows", None, expected)


def transfers(
    scenario: "Given",
    messages: "Iterable[Sequence[Any]]",
    *,
    cc: "Algorithm | None" = None,
    seed: int | None = None,
    overrides: Mapping[str, object] | None = None,
) -> list[float | None]:
    """When some messages (time, src, dst, size, after) end in the network of `scenario`.

    See `OpenNetwork.transfers`; the other arguments are those of `open`.
    """
    with open(scenario, cc=cc, seed=seed, overrides=overrides) as network:
        return network.transfers(messages)


class OpenNetwork:
    """A network in which the calling program sends messages and advances the time.

    `clock_ps` is a time before which everything has happened, and nothing at or after it. All methods are for
    the thread that opened the network. After an error, Ctrl-C or an exception of a callback it goes on as if
    the call had not been, or had ended at the clock.
    """

    def __init__(self, scenario: "Scenario", threads: int = 1) -> None:
        from shallows import _core

        needs.check_run(scenario)
        self._asked = request(scenario)
        self._core = _core.OpenRun(self._asked, threads)
        self._log = Log(scenario)
        self._first = len(scenario.flows)
        self._tables = Tables.of(scenario)
        self._messages: dict[int, Message] = {}
        self._reported: deque[tuple[int, int, bool]] = deque()
        self._undelivered: dict[int, Message] = {}
        self._callbacks = 0
        self._thread = threading.get_ident()
        self._state: Literal["open", "closing", "closed"] = "open"
        self._ends_ps: int | None = None
        self._started = time.perf_counter()

    @property
    def scenario(self) -> "Scenario":
        """The scenario that was opened."""
        return self._log.scenario

    @property
    def log(self) -> "Scenario":
        """The scenario of everything that was sent so far, which repeats this run up to the clock."""
        return self._log.as_scenario()

    def save_log(self, file: str | PathLike[str]) -> Path:
        """Write `log` to a file, so that `shallows run FILE` repeats the run; return its path."""
        from shallows.results import files

        text = f"{files.SAVED_BY_DRIVEN}\n{self.log.to_toml()}"
        return files.write_text(file, text, files.SCENARIO)

    @property
    def clock_ps(self) -> int:
        """Picoseconds since the start of the run, before which everything has happened."""
        return self._state_of_core()[0]

    @property
    def clock_us(self) -> float:
        """The clock in microseconds."""
        return self.clock_ps / 1e6

    @property
    def ended(self) -> bool:
        """True if the run has ended: at its duration, or by a problem that its results name."""
        return self._state_of_core()[1]

    @property
    def unfinished(self) -> int:
        """The number of flows with an end that are not done, also of those that start later."""
        return self._state_of_core()[2]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the run without results. Closing a closed network has no effect."""
        if self._state != "closed":
            self._check_thread()
            self._forget()

    def send(
        self,
        src: Host,
        dst: Host,
        size: Size,
        *,
        start: Time | None = None,
        on_done: OnDone | None = None,
        traffic: str | None = None,
        cc: "Algorithm | None" = None,
    ) -> Message:
        """Send a message from host `src` to host `dst`, by name or number, and return it.

        `size` is its payload: "4MB", or bytes as a number. It starts at the clock, or at the time `start`. It
        belongs to the driven table with the name `traffic`, or the algorithm `cc`; by default to the first.
        `on_done(message)` is called once the receiver has every byte, with the clock just behind that.

        Raises `ScenarioError` for an unknown host, a host to itself, a wrong size, or a time in the past.
        """
        table = self._table(traffic, cc)
        return self._sent(table, [self._row(src, dst, size, start)], on_done)[0]

    def send_all(
        self,
        messages: "Iterable[tuple[Host, Host, Size]]",
        *,
        start: Time | None = None,
        on_done: OnDone | None = None,
        traffic: str | None = None,
        cc: "Algorithm | None" = None,
    ) -> list[Message]:
        """Send several messages (src, dst, size) in this order, all or, after an error, none; see `send`."""
        table = self._table(traffic, cc)
        return self._sent(table, [self._row(*message, start) for message in messages], on_done)

    def advance(
        self,
        duration: Time | None = None,
        *,
        until: "Time | Message | Literal['completion'] | None" = None,
        limit: Time | None = None,
    ) -> list[Message]:
        """Advance the clock by `duration`, such as "1ms", or until something; return what is done then.

        `until` is a time, such as "5ms" since the start of the run; a message; or "completion", that of any
        flow. A clock that advances to a time t stands before everything that happens at t. One that stops at
        a completion stands 1 ps behind it. With a message or "completion" it stops at the time `limit` at
        the latest.

        Raises `ScenarioError` for a time in the past, for a message of another network, if nothing is on its
        way that can complete, and if the run has ended.
        """
        clock_ps = self._check_running()
        if (duration is None) == (until is None):
            raise ScenarioError("until", until and str(until), "either a duration or until")
        to_ps = self._target(duration, until, limit, clock_ps)
        waited = until if isinstance(until, Message) else None
        if waited is not None and waited.network is not self:
            raise ScenarioError(
                "until", str(waited), "a message of this network, not of another or of a copy"
            )
        if waited is not None and waited.done:
            return self._delivered()
        once = until == "completion"
        if (once or waited) and not self._state_of_core()[2]:
            raise ScenarioError("until", str(until), "a message under way: every flow with an end is done")
        done = self._delivered()
        while True:
            stops = once or waited is not None or self._callbacks > 0
            try:
                stopped = self._core.advance(to_ps, stops)
            except BaseException:
                self._recover()
                raise
            self._collect()
            done += self._delivered()
            if not stopped or once or (waited is not None and waited.done):
                break
        if waited is not None and not waited.done and limit is None:
            raise ScenarioError(
                "until", str(waited), f"a message that completes before the run ends, {self._end()}"
            )
        return done

    def fault(
        self, kind: str, *, link: str | None = None, node: str | None = None, value: object = None
    ) -> None:
        """Change links at the clock, as a fault of the scenario with these keys does at that time.

        A fault lasts until another one: "up" ends "down", the link's own rate "slow", and a loss of 0 a loss.
        Raises `ScenarioError` for a link that was not named when the network was opened.
        """
        clock_ps = self._check_running()
        keys = {"kind": kind, "link": link, "node": node, "value": literal(value)}
        table = {key: one for key, one in keys.items() if one is not None} | {"at": TIME.text(clock_ps)}
        number, tables = len(self.scenario.faults), self.scenario.tables
        changed = self.scenario.changed({"faults": [*tables.get("faults", []), table]})
        fault, names = changed.faults[number], changed.graph.port_names
        if fault.kind == "flap":
            raise ScenarioError("kind", "flap", "down, and up later: the program repeats them")
        may_change = set(settable.links(self.scenario))
        for at in fault.links(changed.graph):
            if fault.is_of_links and at not in may_change:
                known = ", ".join(names[one] for one in sorted(may_change)) or "there are none"
                expected = f"a port that was named at the opening (shallows.open(changes=[…])): {known}"
                raise ScenarioError("link" if link else "node", names[at], expected)
        self._become(changed, "kind", kind)

    def set(self, key: str, value: object) -> None:
        """Set a parameter from the clock on.

        `network.marking.threshold`, or another parameter of the marking, is that of all ports of switches;
        `classes.NAME.weight` is the weight of a class at all ports. `cc.g`, or another parameter of the
        algorithm, holds for messages that are sent from now on, of all driven tables without an algorithm of
        their own; `traffic.NAME.cc.g` is that of the driven table with this name. Raises `ScenarioError` for
        another key, and for a value that would change anything else.
        """
        clock_ps = self._check_running()
        known = settable.keys(self.scenario)
        if key not in known:
            expected = f"one of {', '.join(known)}{did_you_mean(key, known)}"
            raise ScenarioError(key, str(value), expected)
        of_ports = settable.of_ports(self.scenario)
        if key in of_ports:
            kind, name = of_ports[key]
            before = settable.set_before(self.scenario, kind, clock_ps)
            try:
                return self.fault(kind, link=settable.ALL_PORTS, value={**before, name: value})
            except ScenarioError as error:
                raise ScenarioError(key, str(value), error.expected) from None
        tables, replaced = settable.with_parameter(self.scenario, self._tables, key, literal(value))
        self._become(self.scenario.changed({"traffic": tables}), key, value)
        self._tables = self._tables.replaced(self.scenario, replaced)
        return None

    def set_sender(
        self,
        message: Message | int,
        *,
        window: Size | None = None,
        rate: "str | RateQuantity | None" = None,
    ) -> None:
        """Set the window and the rate of a flow of the algorithm `external` from the clock on.

        `message` is one, or the number of a flow of the scenario. `window` is the payload in flight, such as
        "20pkt" or bytes; `rate`, such as "2Gbps", that at which packets leave, headers included, and "0bps"
        none. What is left out stays as it is. A message that starts later has them from its start on, and one
        that has ended ignores them. Raises `ScenarioError` for a flow of another algorithm.
        """
        self._check_running()
        flow = message.number if isinstance(message, Message) else message
        if isinstance(message, Message) and message.network is not self:
            raise ScenarioError("message", str(message), "a message of this network, not of another")
        before = self._sender(flow)
        size = before[0] if window is None else self._bytes(window, "window", self.scenario.frame.payload)
        speed = before[1] if rate is None else _bps(rate)
        try:
            # No step of Python lies between the call of the core and the growth of the log.
            batches = map(self._core.set_senders, ([(flow, size, speed)],))
            self._log.settings.extend(chain.from_iterable(batches))
        except ValueError as error:
            raise ScenarioError("rate", rate and str(rate), str(error)) from None

    def _sender(self, flow: object) -> tuple[int, int]:
        """The window in bytes and the rate in bit/s of a flow. Raises `ScenarioError`."""
        count = self._first + len(self._log)
        if isinstance(flow, bool) or not isinstance(flow, int) or not 0 <= flow < count:
            raise ScenarioError("message", str(flow), f"a message, or the number of one of {count} flows")
        set_before = (one for one in reversed(self._log.settings) if one[1] == flow)
        for _, _, window, rate in set_before:
            return window, rate
        used = self._algorithm(flow)
        if not used.traits["is_driven"]:
            expected = f"a flow whose window a program sets, not of {used.label}"
            raise ScenarioError("message", str(flow), expected)
        window, rate = used.parameters["window"], used.parameters["rate"]
        return round(window * self.scenario.frame.payload), round(rate)

    def _algorithm(self, flow: int) -> "UsedAlgorithm":
        """The algorithm of a flow."""
        flows = self.scenario.flows
        if flow < self._first:
            return flows.ccs[int(flows.cc[flow])]
        return self._tables.algorithm(self.scenario, self._log.table(flow - self._first))

    def _become(self, scenario: "Scenario", key: str, value: object) -> None:
        """Go on in another scenario. Raises `ScenarioError` if more than faults and algorithms differ."""
        asked = request(scenario)
        settable.check_same(self._asked, asked, key, value)
        self._core.extend(asked)
        before = list(self._asked["faults"])
        for one in asked["faults"]:
            if one in before:
                before.remove(one)
            else:
                self._core.change([one["link"]], one["change"])
        self._log.scenario, self._asked = scenario, asked

    def message(self, number: int) -> Message:
        """The message or other flow of this number, if it has an end and its sender does not know it yet.

        Raises `ScenarioError` if there is none. A copy of a network has its own messages by these numbers.
        """
        if number not in self._messages and not 0 <= number < self._first:
            raise ScenarioError("message", number, "the number of a message that is on its way")
        return self._message(number)

    def _message(self, number: int) -> Message:
        """The message of a number; a new one for another flow of the scenario."""
        if number not in self._messages:
            self._messages[number] = self._made(number, None)
        return self._messages[number]

    def _made(self, number: int, on_done: OnDone | None) -> Message:
        """A new message for the flow of this number."""
        flows, names = self.scenario.flows, self.scenario.graph.host_names
        if number < self._first:
            columns = (flows.src, flows.dst, flows.bytes, flows.start_ps)
            src, dst, size, start_ps = (int(column[number]) for column in columns)
        else:
            src, dst, size, start_ps = self._log.row(number - self._first)
        return Message(self, number, (names[src], names[dst]), size, start_ps, on_done)

    @property
    def queues(self) -> "pandas.DataFrame":
        """The recorded ports (`record.ports`) at the clock: port, queue_bytes (pandas)."""
        links = self.scenario.graph.recorded_ports
        return tables.frame(self._of_links(np.asarray(links), ("queue_bytes",)))

    @property
    def links(self) -> "pandas.DataFrame":
        """All ports at the clock (pandas): queue_bytes, and packets delivered, lost and dropped so far."""
        links = np.arange(len(self.scenario.graph.port_names))
        return tables.frame(self._of_links(links, ("queue_bytes", "delivered", "lost", "dropped")))

    @property
    def flows(self) -> "pandas.DataFrame":
        """All flows so far (pandas): hosts, bytes, start_us, fct_us, delivered_bytes, retransmits, timeouts.

        A flow that has not started or not completed has NaN there; one without an end has 0 bytes.
        """
        self._check_open()
        columns = self._core.flows()
        of, names = self.scenario.flows, self.scenario.graph.host_names
        sent = self._log.columns()
        src, dst, size = (
            np.concatenate([base.astype(np.uint64), sent[key]])
            for base, key in ((of.src, "src"), (of.dst, "dst"), (of.bytes, "bytes"))
        )
        start, finish = (
            np.where(columns[key] == NEVER, np.nan, columns[key]) for key in ("start_ps", "finish_ps")
        )
        return tables.frame(
            {
                "flow": np.arange(len(src), dtype=np.uint32),
                "src": tables.Names(src.astype(np.int64), names),
                "dst": tables.Names(dst.astype(np.int64), names),
                "bytes": size,
                "start_us": start / 1e6,
                "fct_us": (finish - start) / 1e6,
                **{key: columns[key] for key in ("delivered_bytes", "retransmits", "timeouts")},
            }
        )

    def observe(self) -> "pandas.DataFrame":
        """What flows have done since the last call of `observe` (pandas), a row for each that was on its way.

        Columns: flow, delivered_bytes, sent_packets (those sent again included), acked_bytes, marked_bytes
        (of the acknowledged ones), acks, srtt_us (mean over these acks; NaN without any), retransmits,
        timeouts, finished.
        """
        self._check_open()
        columns = self._core.observe()
        srtt = columns.pop("srtt_ps").astype(float)
        return tables.frame({**columns, "srtt_us": np.where(srtt > 0, srtt, np.nan) / 1e6})

    def fork(self) -> "OpenNetwork":
        """A copy of the network, which goes on by itself: snapshot and restore.

        Its messages are `copy.message(number)`. Raises `ScenarioError` for an algorithm in Python, whose
        state cannot be copied.
        """
        copy = OpenNetwork.__new__(OpenNetwork)
        vars(copy).update(vars(self), _core=self._copied_core(), _log=self._log.copied())
        copy._messages = {number: one.copied(copy) for number, one in self._messages.items()}
        copy._undelivered = {number: one.copied(copy) for number, one in self._undelivered.items()}
        copy._reported = deque(self._reported)
        return copy

    def transfers(
        self,
        messages: "Iterable[Sequence[Any]]",
        *,
        traffic: str | None = None,
        cc: "Algorithm | None" = None,
    ) -> list[float | None]:
        """When some messages would end if they were sent from now on: microseconds since the start.

        Each is (time, src, dst, size) or (time, src, dst, size, after). It starts at this time from the clock
        on, such as "10us"; with `after`, the index of an earlier message or a list of these, at this time
        from their last end on, but 1 ps later at least. None is for a message that does not end within the
        run. The network stays as it is: this works on a copy. `traffic` and `cc` are those of `send`.
        """
        clock_ps = self._check_running()
        rows = [self._transfer(number, message) for number, message in enumerate(messages)]
        return _ends(
            self._copied_core(),
            rows,
            (clock_ps, self._most()),
            self._tables.in_core(self._table(traffic, cc)),
        )

    def _transfer(
        self, number: int, message: "Sequence[Any]"
    ) -> "tuple[tuple[int, int, int], int, list[int]]":
        """(source, target, bytes), the time in ps, and the messages that it waits for."""
        try:
            after_ps, src, dst, size, *after = message
            if len(after) > 1:
                raise ValueError
        except (TypeError, ValueError):
            expected = "(time, src, dst, size), or with after as the fifth"
            raise ScenarioError(f"messages[{number}]", str(message), expected) from None
        row = self._row(src, dst, size, None)[:3]
        given: object = after[0] if after else []
        earlier = [*given] if is_list(given) else [given]
        waits: list[int] = []
        for one in earlier:
            if isinstance(one, int) and not isinstance(one, bool) and 0 <= one < number:
                waits.append(one)
            else:
                raise ScenarioError(f"messages[{number}].after", str(one), "the indices of earlier messages")
        return row, _ps(f"messages[{number}].time", after_ps), waits

    def run(self) -> "Run":
        """Close the network, run what is left, and return the `Run`.

        The run ends as its scenario says. One that ends with its flows, all of which are done, ends at the
        clock. No callback is called any more. Raises `BooksError` if packets or flows are unaccounted for,
        and `ScenarioError` if there is no flow. After Ctrl-C, `run` can be called again.
        """
        from shallows.worlds import packet

        self._check_open()
        if self._state == "open":
            self._log.as_scenario()  # raises if there is no flow
            self._close()
        try:
            answer = self._core.finish()
        except BaseException:
            self._recover()
            raise
        scenario = self._log.as_scenario(self._ends_ps)
        for number, finish_ps in enumerate(answer["flows"]["finish_ps"].tolist()):
            if number in self._messages and finish_ps != NEVER:
                self._messages[number].finish(finish_ps)
        self._forget()
        data = packet.of_answer(scenario, answer, time.perf_counter() - self._started)
        return runner.described(data, scenario).check_books()

    def _copied_core(self) -> "_core.OpenRun":
        """A copy of the run. Raises `ScenarioError` for an algorithm in Python."""
        self._check_open()
        for used in self.scenario.flows.ccs:
            if used.user_class:
                expected = "an algorithm of the catalog: the state of one in Python cannot be copied"
                raise ScenarioError("cc.name", used.label, expected)
        return self._core.fork()

    def _close(self) -> None:
        """Let no further message join. Where every flow is done, the run ends at the clock."""
        clock_ps, ended, unfinished = self._state_of_core()
        at_clock = self.scenario.duration == NEVER and not unfinished and not ended
        if at_clock:
            self._ends_ps = max(clock_ps, self.scenario.warmup + 1)
            self._core.advance(self._ends_ps, False)
        self._core.close(at_clock)
        self._state = "closing"

    def _forget(self) -> None:
        """Leave the core, whose memory becomes free."""
        self._state = "closed"
        del self._core

    def _check_thread(self) -> None:
        if threading.get_ident() != self._thread:
            raise ScenarioError("network", "used in another thread", "calls in the thread that opened it")

    def _check_open(self) -> None:
        """Raise `ScenarioError` for a closed network, or for a call of another thread."""
        self._check_thread()
        if self._state == "closed":
            raise ScenarioError("network", "closed", "calls before close() and run()")

    def _check_running(self) -> int:
        """The clock. Raises `ScenarioError` if no further message may join."""
        self._check_open()
        clock_ps, ended, _ = self._core.state()
        if self._state == "closing":
            raise ScenarioError("network", "closed", "run(), which was interrupted, and nothing else")
        if ended:
            raise ScenarioError("network", "ended", f"run() for the results: the run has ended {self._end()}")
        return clock_ps

    def _end(self) -> str:
        """A clause that says when the run ended."""
        duration = self.scenario.duration
        return "by a problem" if duration == NEVER else f"at its duration, {TIME.text(duration)}"

    def _state_of_core(self) -> tuple[int, bool, int]:
        self._check_open()
        return self._core.state()

    def _table(self, traffic: str | None, cc: "Algorithm | None") -> int:
        """The number of the driven table with this name, or this algorithm. Raises `ScenarioError`."""
        return self._tables.find(self.scenario, traffic, cc)

    def _row(self, src: Host, dst: Host, size: Size, start: Time | None) -> tuple[int, int, int, int | None]:
        """Source, target, bytes and start in ps; None for the clock. Raises `ScenarioError`."""
        ends: list[int] = []
        for key, host in (("src", src), ("dst", dst)):
            try:
                ends.append(self.scenario.graph.host(host))
            except ValueError as error:
                raise ScenarioError(key, host, str(error)) from None
        if ends[0] == ends[1]:
            raise ScenarioError("dst", dst, "another host than src: a message to itself needs no network")
        return ends[0], ends[1], self._bytes(size), None if start is None else _ps("start", start)

    def _bytes(self, size: object, key: str = "size", packet: int | None = None) -> int:
        frame = self.scenario.frame
        most = min(limits.SIZE.most, limits.MESSAGE.most * frame.payload)
        try:
            if isinstance(size, str | SizeQuantity):
                amount = SIZE.parse(str(size), packet or frame.wire)
            else:
                amount = 0 if isinstance(size, bool) else index(cast("SupportsIndex", size))
        except ValueError as error:
            raise ScenarioError(key, str(size), str(error)) from None
        except TypeError:
            amount = 0
        if not 1 <= amount <= most:
            expected = f'a size from 1 B to {SIZE.text(most)}, such as "4MB", or bytes as a whole number'
            raise ScenarioError(key, str(size), expected)
        return amount

    def _sent(
        self, table: int, rows: "Sequence[tuple[int, int, int, int | None]]", on_done: OnDone | None
    ) -> list[Message]:
        clock_ps = self._check_running()
        ready = [(src, dst, size, clock_ps if start is None else start) for src, dst, size, start in rows]
        for *_, start_ps in ready:
            if start_ps < clock_ps:
                raise ScenarioError(
                    "start", TIME.text(start_ps), f"the clock, {TIME.text(clock_ps)}, or later"
                )
        if not ready:
            return []
        how = self._tables.in_core(table)
        before, made = len(self._log), list[Message]()
        try:
            self._log.add(table, ready)
            numbers = range(self._first + before, self._first + before + len(ready))
            made = [self._made(number, on_done) for number in numbers]
            first = self._core.send([(*row, *how) for row in ready])
            assert first == numbers.start, "the log has the messages of the core"
            self._register(made)
        except BaseException as error:
            # After an interrupt the core may have the messages or not.
            count = len(self._core.flows()["start_ps"]) - self._first
            self._log.cut(count)
            if count > before:
                self._register(made)
            if isinstance(error, ValueError):
                raise ScenarioError("message", None, str(error)) from None
            raise
        self._log.store()
        return made

    def _register(self, made: "Sequence[Message]") -> None:
        """Take note of messages that the core has."""
        self._messages.update((message.number, message) for message in made)
        self._callbacks += sum(message.on_done is not None for message in made)

    def _target(self, duration: Time | None, until: object, limit: Time | None, clock_ps: int) -> int:
        """The time in ps at which the clock stops at the latest. Raises `ScenarioError`."""
        most = self._most()
        if duration is not None:
            to_ps, key = clock_ps + _ps("duration", duration), "duration"
        elif isinstance(until, Message) or until == "completion":
            to_ps, key = most if limit is None else _ps("limit", limit), "limit"
        else:
            to_ps, key = _ps("until", until), "until"
        if to_ps < clock_ps:
            expected = f"the clock, {TIME.text(clock_ps)}, or later"
            raise ScenarioError(key, TIME.text(to_ps), expected)
        if to_ps > limits.TIME.most:
            expected = f"at most {TIME.text(limits.TIME.most)} since the start, the longest simulated time"
            raise ScenarioError(key, TIME.text(to_ps), expected)
        return to_ps

    def _recover(self) -> None:
        """Note what was done before an interrupt. After an exception of an algorithm the run is lost."""
        try:
            self._collect()
        except RuntimeError:
            self._forget()

    def _most(self) -> int:
        """The latest time in ps that the run can reach."""
        return min(self.scenario.duration, limits.TIME.most)

    def _collect(self) -> None:
        """Note the completions that the core reports. An interrupt loses none, and notes none twice."""
        # No step of Python lies between the call of the core and the growth of the list.
        self._reported.extend(chain.from_iterable(map(type(self._core).completions, (self._core,))))
        self._note()

    def _note(self) -> None:
        """Note what the core has reported; an interrupt leaves the report that was being noted."""
        while self._reported:
            at_ps, number, at_sender = self._reported[0]
            message = self._message(number)
            if at_sender:
                message.known = True
                self._messages.pop(number)
            elif not message.done:
                self._undelivered[number] = message
                message.finish(at_ps)
            self._reported.popleft()

    def _delivered(self) -> list[Message]:
        """Report messages that are done: call their callbacks and return them. An exception loses none."""
        self._note()  # a report that an interrupt left would be delivered, noted and delivered again
        done: list[Message] = []
        while self._undelivered:
            number, message = next(iter(self._undelivered.items()))
            del self._undelivered[number]
            done.append(message)
            if message.on_done:
                self._callbacks -= 1
                message.on_done(message)
        return done

    def _of_links(self, links: "np.ndarray[Any, Any]", keys: Sequence[str]) -> "tables.Block":
        self._check_open()
        columns = self._core.links(links.astype(int).tolist())
        names = tables.Names(links.astype(np.int64), self.scenario.graph.port_names)
        return {"port": names, **{key: columns[key] for key in keys}}


def _ends(
    core: "_core.OpenRun",
    rows: "Sequence[tuple[tuple[int, int, int], int, list[int]]]",
    span: tuple[int, int],
    how: tuple[int, int],
) -> list[float | None]:
    """The ends in microseconds of messages in a run that has their clock and its end as `span`."""
    ends: list[float | None] = [None] * len(rows)
    left = {number: set(after) for number, (_, _, after) in enumerate(rows) if after}
    numbers: dict[int, int] = {}

    def send(ready: "Sequence[int]", now_ps: int, clock_ps: int) -> None:
        sent = [(*rows[one][0], max(now_ps + rows[one][1], clock_ps), *how) for one in ready]
        if sent:
            numbers.update(enumerate(ready, start=core.send(sent)))

    by_number: dict[int, int] = {}
    send([number for number, (_, _, after) in enumerate(rows) if not after], span[0], span[0])
    while len(by_number) < len(numbers) and core.advance(span[1], True):
        for at_ps, number, at_sender in core.completions():
            if at_sender or number not in numbers:
                continue
            done = by_number[number] = numbers[number]
            ends[done] = at_ps / 1e6
            for after in left.values():
                after.discard(done)
            ready = [one for one, after in left.items() if not after]
            send(ready, at_ps, core.state()[0])
            for one in ready:
                del left[one]
    return ends


def _bps(rate: object) -> int:
    """A rate in bit/s; 0 is none. Raises `ScenarioError`."""
    try:
        return RATE.parse(str(rate) if isinstance(rate, RateQuantity) else rate)
    except ValueError as error:
        raise ScenarioError("rate", str(rate), str(error)) from None


def _ps(key: str, time: object) -> int:
    """A time in picoseconds. Raises `ScenarioError`."""
    try:
        return TIME.parse(str(time) if isinstance(time, TimeQuantity) else time)
    except ValueError as error:
        raise ScenarioError(key, time if isinstance(time, str) else str(time), str(error)) from None

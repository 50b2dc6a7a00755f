"""Tasks listed one by one: messages, and computations of hosts, that wait for each other."""

from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import model_validator

from shallows.base.table import Key, Table
from shallows.errors import ScenarioError
from shallows.traffic.flows import Drawn, Draws
from shallows.traffic.kind import DRAWN_BYTES, WAIT_BYTES, Ends, Kind, hosts_of
from shallows.traffic.task_graph import Names, TaskGraph
from shallows.units import (
    Frame,
    OptionalCount,
    OptionalName,
    OptionalPayload,
    OptionalTime,
    Time,
    did_you_mean,
)

if TYPE_CHECKING:
    from shallows.topology import Network


class Task(Table, frozen=True):
    """A message (`from`, `to`, `size`) or a computation (`host`, `compute`)."""

    name: OptionalName = Key(None, description="its name, for other tasks; by default its number, from 0")
    source: Ends | None = Key(None, alias="from", description="message: the host that sends")
    to: Ends | None = Key(None, description="message: the host that receives")
    size: OptionalPayload = Key(None, description="message: payload bytes")
    host: Ends | None = Key(None, description="computation: the host")
    compute: OptionalTime = Key(None, description="computation: how long a processor of the host is busy")
    processor: int = Key(0, ge=0, le=2**32 - 1, description="computation: the processor, one task at a time")
    after: list[str] = Key([], description="names of tasks that must have ended at the host")
    behind: list[str] = Key(
        [], description="names of messages of the host, all of whose data must have left it"
    )
    needs: OptionalCount = Key(None, description="how many of these are enough; by default all")
    delay: Time = Key("0s", description="time from the end of the wait to the start")
    everywhere: bool = Key(
        False,
        strict=True,
        alias="global",
        description="may wait for what ends at other hosts, in a run on one thread",
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        message = [self.source, self.to, self.size]
        computation = [self.host, self.compute]
        whole = all(one is not None for one in message) and not any(one is not None for one in computation)
        other = all(one is not None for one in computation) and not any(one is not None for one in message)
        if not whole and not other:
            raise ValueError("a message (from, to, size) or a computation (host, compute)")
        return self

    def add_to(self, graph: TaskGraph, network: "Network", number: int) -> None:
        """Add it to `graph`; `number` is its place in the list. Raises `ScenarioError` relative to it."""
        wait: dict[str, Any] = {"needs": self.needs or 0, "everywhere": self.everywhere}
        if self.compute is not None:
            host = _one_host(network, "host", self.host)
            graph.computations(
                host, self.compute, processor=self.processor, delay_ps=self.delay, step=number, **wait
            )
            return
        source, target = _one_host(network, "from", self.source), _one_host(network, "to", self.to)
        if source == target:
            raise ScenarioError("to", network.host_names[target], "another host than `from`")
        graph.messages(source, target, self.size or 0, delay_ps=self.delay, step=number, **wait)

    def let_wait(self, graph: TaskGraph, number: int, numbers: dict[str, int]) -> None:
        """Enter its predecessors, by the `numbers` of all names. Raises `ScenarioError` likewise."""
        for key, others in (("after", self.after), ("behind", self.behind)):
            for other in others:
                if other not in numbers:
                    expected = f"the name of a task of this table{did_you_mean(other, numbers)}"
                    raise ScenarioError(key, other, expected)
                getattr(graph, key)(number, numbers[other])


class Tasks(Kind, frozen=True):
    """Messages and computations, each of which starts when its predecessors have ended at its host."""

    kind: Literal["tasks"]
    tasks: list[Task] = Key(min_length=1, description="tables, a message or a computation each")

    def flow_count(self, network: "Network") -> tuple[str, int]:
        """The number of messages."""
        return "tasks", sum(task.size is not None for task in self.tasks)

    def draw_bytes(self, network: "Network") -> float:
        """Of all tasks and their waits."""
        waits = sum(len(task.after) + len(task.behind) for task in self.tasks)
        return DRAWN_BYTES * len(self.tasks) + WAIT_BYTES * waits

    def step_names(self, count: int) -> list[str]:
        """The names of the steps of results: those of the tasks."""
        return [task.name or str(number) for number, task in enumerate(self.tasks[:count])]

    def draw(self, network: "Network", draws: Draws, frame: Frame) -> Drawn:
        """Messages, then computations, each in the order of the list."""
        names = [task.name or str(number) for number, task in enumerate(self.tasks)]
        numbers = self._numbers(names)
        graph = TaskGraph()
        for number, task in enumerate(self.tasks):
            try:
                task.add_to(graph, network, number)
                task.let_wait(graph, number, numbers)
            except ScenarioError as error:
                raise error.under(f"tasks[{number}]") from None
        return graph.drawn(Names("tasks", names.__getitem__, network.host_names.__getitem__))

    def _numbers(self, names: list[str]) -> dict[str, int]:
        numbers: dict[str, int] = {}
        for number, name in enumerate(names):
            if numbers.setdefault(name, number) < number:
                expected = f"another name: tasks[{numbers[name]}] has this one"
                raise ScenarioError(f"tasks[{number}].name", name, expected)
        return numbers


def _one_host(network: "Network", key: str, value: object) -> int:
    hosts = hosts_of(network, key, value)
    if hosts is None or len(hosts) != 1:
        raise ScenarioError(key, value, "one host")
    return int(hosts[0])

"""A message that a program has sent."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shallows.driven.network import OpenNetwork


class Message:
    """A message of an open network, or another flow of its scenario.

    `number` is that of the flow in results, `src` and `dst` are host names, `bytes` is the payload. A message
    is `done` when the receiver has every byte, and `known` when its sender knows that.
    """

    __slots__ = ("_finish_ps", "_start_ps", "bytes", "dst", "known", "network", "number", "on_done", "src")

    def __init__(
        self,
        network: "OpenNetwork",
        number: int,
        ends: tuple[str, str],
        size: int,
        start_ps: int,
        on_done: "Callable[[Message], object] | None" = None,
    ) -> None:
        self.network, self.number, self.bytes = network, number, size
        self.src, self.dst = ends
        self.on_done = on_done
        self.known = False
        self._start_ps = start_ps
        self._finish_ps: int | None = None

    @property
    def done(self) -> bool:
        """True if the receiver has every byte."""
        return self._finish_ps is not None

    @property
    def start_us(self) -> float:
        """When it starts, in microseconds since the start of the run."""
        return self._start_ps / 1e6

    @property
    def fct_us(self) -> float | None:
        """Microseconds from its start until the receiver has every byte; None until then."""
        return None if self._finish_ps is None else (self._finish_ps - self._start_ps) / 1e6

    def finish(self, finish_ps: int) -> None:
        """Note that the receiver has every byte: for `OpenNetwork`."""
        self._finish_ps = finish_ps

    def copied(self, network: "OpenNetwork") -> "Message":
        """The same message in a copy of its network."""
        copy = Message(network, self.number, (self.src, self.dst), self.bytes, self._start_ps, self.on_done)
        copy.known, copy._finish_ps = self.known, self._finish_ps
        return copy

    def __repr__(self) -> str:
        state = f"done after {self.fct_us:.3f} us" if self.done else f"sent at {self.start_us:.3f} us"
        return f"<Message {self.number}, {self.src} to {self.dst}, {self.bytes} B, {state}>"

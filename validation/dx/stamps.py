"""A sender near line rate that keeps the timestamps of its packets, for §III's shares of short gaps."""

from typing import Any, ClassVar

SHARE = 0.95
"""Of the link: "sends traffic at near line rate of 9.5 Gbps" (§III)."""


class NearLineRate:
    """Sends at 9.5 Gbps of 10. seen: the exact sending time and the one-way delay by timestamps, in seconds, of each packet."""

    seen: ClassVar[list[tuple[float, float]]] = []

    def __init__(self, initial_window: float, line_rate: float) -> None:
        self.pace = SHARE * line_rate * 1460 / 1500

    def on_ack(self, now: float, ack: Any) -> None:
        """Keeps what the acknowledgement tells of its packet."""
        self.seen.append((ack.sent_at, ack.one_way_delay))

    def on_loss(self, now: float, loss: Any) -> None:
        """Nothing is lost between two hosts."""

    def decision(self) -> tuple[float, float, None]:
        """No limit but the pace."""
        return 1e6, self.pace, None

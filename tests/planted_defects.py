"""A sound congestion control in Python, and eight defects that are planted in it, for the judge to find.

The parent is Reno with DCTCP's reaction to marks (Alizadeh et al., SIGCOMM 2010): alpha is the share of
marked packets of a window, with the weight 1/16, and a window with marks is cut by alpha / 2.
"""


class Sound:
    ecn = True
    least = 1.0
    step = 1.0
    """Packets by which a window without marks grows."""

    def __init__(self, initial_window, line_rate):
        self.window, self.threshold = initial_window, float("inf")
        self.alpha = 1.0
        self.acked = self.marked = 0.0
        self.had_loss = False

    def on_ack(self, now, ack):
        self.acked += ack.acked
        self.marked += ack.marked
        if self.acked >= self.window:
            self.end_of_window()
        if ack.window_limited and not ack.recovering:
            self.grow(now, ack)

    def end_of_window(self):
        share = self.marked / self.acked
        self.alpha += (share - self.alpha) / 16
        if self.marked:
            self.cut()
        self.acked = self.marked = 0.0

    def cut(self):
        self.window = self.threshold = max(self.window * (1 - self.alpha / 2), self.least)

    def grow(self, now, ack):
        if self.window < self.threshold and not ack.marked:
            self.window += ack.acked
        else:
            self.window += self.step * self.gain(ack) * ack.acked / self.window

    def gain(self, ack):
        return 1.0

    def on_loss(self, now, loss):
        self.had_loss = True
        self.window = self.threshold = max(loss.in_flight / 2, 2.0, self.least)
        if loss.timeout:
            self.window = max(1.0, self.least)

    def decision(self):
        return max(self.window, self.least)


class WideFloor(Sound):
    """A window never below 64 packets."""

    least = 64.0


class NoBackOff(Sound):
    """Sends its window again after every timeout, at a timer that does not back off."""

    def on_loss(self, now, loss):
        if loss.timeout:
            self.window = max(self.window, 10.0)
            self.timeouts = getattr(self, "timeouts", 0) + 1
        else:
            super().on_loss(now, loss)


class ByAge(Sound):
    """Grows with the age of the flow, in milliseconds."""

    born = None

    def grow(self, now, ack):
        self.born = now if self.born is None else self.born
        self.step = 1 + 20 * (now - self.born)
        super().grow(now, ack)


class DeafAfterLoss(Sound):
    """Ignores marks once it had a loss."""

    def cut(self):
        if not self.had_loss:
            super().cut()


class SquaredRtt(Sound):
    """A gain that falls with the square of the round trip, above 200 us."""

    def gain(self, ack):
        return min(1.0, (200e-6 / ack.rtt) ** 2)


class Aggressive(Sound):
    """Steps of eight packets, and cuts of a tenth."""

    step = 8.0

    def on_loss(self, now, loss):
        self.window = self.threshold = max(0.9 * loss.in_flight, 2.0)


class Floorless(Sound):
    """Paces by a rate that follows its window and forgets its floor: it shrinks at every timeout."""

    factor = 1.0
    rtt = 1e-3

    def __init__(self, initial_window, line_rate):
        super().__init__(initial_window, line_rate)
        self.line_rate = line_rate

    def on_ack(self, now, ack):
        self.rtt = ack.rtt
        super().on_ack(now, ack)

    def on_loss(self, now, loss):
        if loss.timeout:
            self.factor /= 8
        super().on_loss(now, loss)

    def decision(self):
        rate = self.factor * 1.25 * self.window * 12000 / self.rtt
        return self.window, max(min(rate, self.line_rate), 1000.0), None


class FixedGain(Sound):
    """A gain per acknowledgement that ignores the round trip: a growth per second, not per round trip."""

    def __init__(self, initial_window, line_rate):
        super().__init__(initial_window, line_rate)
        self.threshold = initial_window

    def gain(self, ack):
        return min(1.0, 100e-6 / ack.rtt)


PLANTED = {
    "WideFloor": "D2",
    "NoBackOff": "D7",
    "ByAge": "D3",
    "DeafAfterLoss": "D7",
    "SquaredRtt": "D4",
    "Aggressive": "W4",
    "Floorless": "D7",
    "FixedGain": "W1",
}
"""The family that finds each defect."""

"""The least that an algorithm in Python has: a window that nothing changes."""


class Least:
    """`window` packets in flight, always."""

    window = 1.0

    def __init__(self, initial_window, line_rate):
        pass

    def on_ack(self, now, ack):
        pass

    def on_loss(self, now, loss):
        pass

    def decision(self):
        return self.window

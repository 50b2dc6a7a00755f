"""The program from which OpenEvolve starts: a window that marks cut by their share, and losses by half."""


# EVOLVE-BLOCK-START
class Mine:
    ecn = True

    def __init__(self, initial_window, line_rate):
        self.window, self.threshold = initial_window, float("inf")
        self.alpha = 1.0
        self.acked = self.marked = 0.0

    def on_ack(self, now, ack):
        self.acked += ack.acked
        self.marked += ack.marked
        if self.acked >= self.window:
            self.alpha += (self.marked / self.acked - self.alpha) / 16
            if self.marked:
                self.window = self.threshold = max(self.window * (1 - self.alpha / 2), 1.0)
            self.acked = self.marked = 0.0
        if ack.window_limited and not ack.recovering:
            slow_start = self.window < self.threshold and not ack.marked
            self.window += ack.acked if slow_start else ack.acked / self.window

    def on_loss(self, now, loss):
        self.window = self.threshold = max(loss.in_flight / 2, 2.0)
        if loss.timeout:
            self.window = 1.0

    def decision(self):
        return self.window


# EVOLVE-BLOCK-END

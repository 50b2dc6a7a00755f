# A class in Python runs over a transport with a window, and its methods take the arguments of the reference.

$ cat > mine.py <<END
class Least:
    def __init__(self, initial_window, line_rate):
        self.window = initial_window

    def on_ack(self, now, ack):
        pass

    def on_loss(self, now, loss):
        pass

    def decision(self):
        return self.window

class OverUdp(Least):
    transport = "udp"

class WithoutMarks(Least):
    transport = "unordered"

class Departs(Least):
    def on_sent(self, now):
        pass
END
$ shallows run dctcp-40 --cc ./mine.py:OverUdp
$ shallows run dctcp-40 --cc ./mine.py:WithoutMarks
$ shallows run dctcp-40 --cc ./mine.py:Departs

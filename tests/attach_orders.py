"""Attaches, renames and moves a device, kills commands and takes them off, in random orders.

`attach_orders.py ORDERS [SEED]`. Everything happens to a veth pair in namespaces of its own and to an empty
control group. After each order the device's settings must be what they were, or `detach` must have failed
and said what is left. Needs root and shallows-live.
"""

import json
import os
import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from shallows.worlds import live

PLACE = Path("/run/shallows-live")
PROGRAM = live.program()
SEGMENTS = (65535, 77, 12)
SETTLE_S = 0.002


class Namespace:
    """A network namespace that lives as long as a process of its own."""

    def __init__(self):
        self.holder = subprocess.Popen(
            ["unshare", "--net", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.holder.stdin.write(b"\n")
        self.holder.stdin.flush()
        self.holder.stdout.read(1)
        self.pid = self.holder.pid

    def run(self, *words, text=None, kill_after_s=None):
        """Status and everything said; None as the status of a command that was killed."""
        command = ["nsenter", f"--net=/proc/{self.pid}/ns/net", *map(str, words)]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if kill_after_s is not None:
            with suppress(BrokenPipeError):
                process.stdin.write(text or "")
                process.stdin.close()
            time.sleep(kill_after_s)
            process.kill()
            process.wait()
            process.stdout.close()
            return None, ""
        said, _ = process.communicate(text)
        return process.returncode, said

    def close(self):
        self.holder.stdin.close()
        self.holder.wait()


class Order:
    """One random order: a device, two namespaces, and what is done to them."""

    def __init__(self, seed, group):
        self.random, self.group, self.log = random.Random(seed), group, []
        self.here, self.there = Namespace(), Namespace()
        self.name, self.names = "sh0", 0
        self.former = self.random.choice(SEGMENTS)
        self.must(self.here.run("ip", "link", "add", "sh0", "type", "veth", "peer", "name", "peer0"))
        self.must(self.here.run("ip", "link", "set", "sh0", "gso_max_segs", self.former))

    def must(self, outcome):
        assert outcome[0] == 0, (outcome, self.log)

    def attach(self, kill_after_s=None):
        what = self.random.choice(["dx", "dx", "dx", "inigo", "receiver"])
        parameters = {"resolution": 1e-3}
        receiver = {"kind": "inigo", "parameters": parameters} if what == "receiver" else None
        control = None if what == "receiver" else {"name": what, "parameters": {}}
        request = {
            "control": control,
            "receiver": receiver,
            "interface": self.name,
            "control_group": self.group,
        }
        return self.here.run(PROGRAM, "attach", text=json.dumps(request), kill_after_s=kill_after_s)

    def rename(self):
        self.names += 1
        name = f"sh{self.names}"
        self.must(self.here.run("ip", "link", "set", self.name, "down"))
        self.must(self.here.run("ip", "link", "set", self.name, "name", name))
        self.name = name

    def move(self):
        self.must(self.here.run("ip", "link", "set", self.name, "netns", self.there.pid))
        self.here, self.there = self.there, self.here

    def detach(self, kill_after_s=None):
        return self.random.choice([self.here, self.there]).run(PROGRAM, "detach", kill_after_s=kill_after_s)

    def step(self):
        word = self.random.choice(
            ["attach", "attach", "killed attach", "rename", "move", "detach", "killed detach", "status"]
        )
        soon = self.random.uniform(0, 0.12)
        done = {
            "attach": self.attach,
            "killed attach": lambda: self.attach(soon),
            "rename": self.rename,
            "move": self.move,
            "detach": self.detach,
            "killed detach": lambda: self.detach(soon / 4),
            "status": lambda: self.there.run(PROGRAM, "status"),
        }[word]()
        self.log.append((word, done, self.segments()))
        if word == "detach":
            self.must(done)
            assert self.segments() == self.former, self.log
            assert not PLACE.exists(), self.log

    def segments(self):
        status, said = self.here.run("ip", "-d", "link", "show", self.name)
        assert status == 0, (said, self.log)
        words = said.split()
        return int(words[words.index("gso_max_segs") + 1])

    def settle(self):
        """Take off what is in force: the device is as it was, and nothing is left."""
        if self.random.random() < 0.2:
            # A namespace that no process is in any more: its device is gone, or hidden.
            self.here.close()
            self.there = Namespace()
            status, said = self.there.run(PROGRAM, "detach")
            assert status == 0 or "gso_max_segs of" in said, (said, self.log)
            if status:
                status, said = self.there.run(PROGRAM, "detach", "--force")
            self.log.append(("closed", status, said))
        else:
            status, said = self.detach()
            assert status == 0, (said, self.log)
            assert self.segments() == self.former, (self.segments(), self.former, self.log)
            self.here.close()
        assert not PLACE.exists(), self.log
        self.there.close()


def main(orders, seed):
    root = next(path for path in map(Path, ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"]) if path.exists())
    group = root / f"shallows-orders-{os.getpid()}"
    group.mkdir()
    steps = 0
    try:
        for number in range(orders):
            order = Order(seed + number, str(group))
            for _ in range(order.random.randint(1, 8)):
                order.step()
                steps += 1
            order.settle()
    finally:
        group.rmdir()
    print(f"{orders} orders, {steps} steps, from seed {seed}")


main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**6))

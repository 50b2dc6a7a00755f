"""Compares estimates of run time with measured processor time on random scenarios.

    python bench/estimates.py [--seed N] [--count N] [--only NUMBER ...]

The scenarios are drawn from the seed, over all kinds of traffic, topologies and algorithms; the first four of
every forty are all-to-alls of 256 hosts and permutations of 1,024. Each runs on one thread in a process of
its own, after its estimate. The time is the processor time of the run and of saving its tables, which other
processes change less than the wall time. An estimate is right if time over estimate is between 0.5 and 2.
"""

import argparse
import itertools
import json
import math
import random
import subprocess
import sys
import tempfile
import time

import numpy as np

BIGGEST = ("all-to-all", "all-to-all", "permutation", "permutation")
TRAFFIC = (
    "long-lived", "staircase", "incast", "shuffle", "poisson", "request-response", "trace", "permutation",
    "all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all",
)  # fmt: skip
PACKETS, PACKETS_OF_BIGGEST = (1e5, 1.5e6), (3e5, 1.5e6)
"""The range of the data packets that a scenario should send."""
MOST_S = 300
"""Seconds of processor time after which a run is stopped."""


class Draw:
    """A random scenario of a seed and number."""

    def __init__(self, seed, number):
        self.random = random.Random(f"{seed}/{number}")
        self.one, self.whole = self.random.choice, self.random.randint
        big = number % 40 < len(BIGGEST)
        self.kind = BIGGEST[number % 40] if big else TRAFFIC[number % len(TRAFFIC)]
        packets = PACKETS_OF_BIGGEST if big else PACKETS
        self.packets = math.exp(self.random.uniform(*map(math.log, packets)))
        self.big = big

    def scenario(self):
        """The first one that is not refused."""
        from shallows.errors import ScenarioError
        from shallows.runner import prepare

        while True:
            try:
                return prepare(self.drawn())
            except ScenarioError:
                continue

    def drawn(self):
        from shallows import Scenario, catalog
        from shallows.topology import KINDS

        cc = self.one([row["name"] for row in catalog.algorithms()] + [Halving])
        topology = self.topology()
        self.hosts = KINDS[topology["kind"]](**topology).build().hosts
        mtu = self.one((1500, 1500, 4096, 9000))
        self.bytes = self.packets * mtu
        network = {"mtu": f"{mtu}B", "balancing": self.one(("flow", "flow", "packet"))}
        if cc in ("dcqcn", "timely", "hpcc"):
            network["pfc"] = True
        if cc in ("ndp", "rccc"):
            network |= {"trimming": True, "balancing": "packet"}
        traffic = self.traffic()
        endless = traffic["kind"] in ("long-lived", "staircase")
        duration = self.endless_s(topology) if endless else "until-done"
        if traffic["kind"] == "staircase":
            traffic["interval"] = f"{duration / (2 * traffic['flows']) * 1e12:.0f}ps"
        if endless:
            duration = f"{duration * 1e12:.0f}ps"
        return Scenario(
            cc=cc, topology=topology, network=network, traffic=[traffic], duration=duration, warmup="0s"
        )

    def topology(self):
        rate = self.one((1, 10, 25, 100, 400))
        self.rate = rate * 1e9
        table = {"rate": f"{rate}Gbps"}
        if self.big:
            return table | (
                self.one((
                    {"kind": "fat-tree", "k": 16},
                    {"kind": "leaf-spine", "leaves": 32, "spines": 16, "hosts_per_leaf": 32},
                ))
                if self.kind == "permutation"
                else self.one((
                    {"kind": "leaf-spine", "leaves": 16, "spines": 16, "hosts_per_leaf": 16},
                    {"kind": "star", "hosts": 256, "rtt": "10us"},
                    {"kind": "rail-optimised", "servers": 32, "gpus": 8},
                ))
            )  # fmt: skip
        return table | self.one((
            {"kind": "dumbbell", "hosts": self.whole(2, 40), "rtt": self.one(("20us", "200us"))},
            {"kind": "star", "hosts": self.whole(4, 64), "rtt": self.one(("20us", "200us"))},
            {"kind": "parking-lot", "hops": self.whole(2, 6), "hosts": self.whole(1, 4)},
            {"kind": "multi-bottleneck", "edge_rate": table["rate"]},
            {"kind": "leaf-spine", "leaves": self.whole(2, 8), "hosts_per_leaf": self.whole(2, 16)},
            {"kind": "fat-tree", "k": self.one((4, 6, 8))},
            {"kind": "three-tier"},
            {"kind": "rail-optimised", "servers": self.whole(2, 8), "gpus": self.one((4, 8))},
            {"kind": "dragonfly+", "hosts_per_leaf": self.whole(2, 6)},
        ))  # fmt: skip

    def endless_s(self, topology):
        """A duration in which all hosts together can send the packets, or one link can."""
        narrow = topology["kind"] in ("dumbbell", "parking-lot", "multi-bottleneck", "star")
        senders = 1 if narrow else self.hosts
        return max(8 * self.bytes / (senders * self.rate), 500e-6)

    def traffic(self):
        kind, hosts = self.kind, self.hosts
        each = lambda flows: f"{max(self.bytes / flows, 100):.0f}B"  # noqa: E731
        if kind == "permutation":
            order = self.random.sample(range(hosts), hosts)
            size = max(int(self.bytes / hosts), 100)
            rows = [[0, src, dst, size] for src, dst in itertools.pairwise(order)]
            return {"kind": "trace", "flows": rows}
        if kind == "trace":
            flows, span = self.whole(50, 2000), 8 * self.bytes / (hosts * self.rate)
            rows = [self.row(flows, span) for _ in range(flows)]
            return {"kind": "trace", "flows": rows}
        if kind == "long-lived":
            return {"kind": kind, "flows": self.one((self.whole(1, 8), hosts, 10 * hosts))}
        if kind == "staircase":
            return {"kind": kind, "flows": self.whole(2, 8)}
        if kind == "incast":
            times = self.whole(1, 20)
            return {"kind": kind, "size": each(times * hosts), "times": times, "period": "1ms"}
        if kind == "shuffle":
            return {"kind": kind, "size": each(hosts * (hosts - 1))}
        if kind == "poisson":
            sizes = self.one(("websearch", "datamining", "hadoop", "20KB"))
            mean = {"websearch": 1.7e6, "datamining": 7e6, "hadoop": 1e5, "20KB": 2e4}[sizes]
            flows = min(max(int(self.bytes / mean), 20), 20_000)
            return {"kind": kind, "sizes": sizes, "flows": flows, "load": self.one((0.1, 0.3, 0.6))}
        if kind == "request-response":
            exchanges = self.whole(5, 50)
            return {"kind": kind, "exchanges": exchanges, "response": each(exchanges * hosts / 2)}
        return self.collective(kind, hosts)

    def collective(self, kind, hosts):
        size = {"all-reduce": 2 * hosts, "broadcast": hosts, "all-to-all": hosts}.get(kind, hosts)
        table = {"kind": kind, "size": f"{max(self.bytes / size, 1000 * hosts):.0f}B"}
        if kind == "all-reduce":
            table["algorithm"] = self.one(("ring", "tree"))
        elif kind == "all-to-all":
            table["order"] = self.one(("rotated", "pairwise", "at-once"))
        return table

    def row(self, flows, span):
        src, dst = self.random.sample(range(self.hosts), 2)
        size = max(int(self.random.expovariate(flows / self.bytes)), 1)
        return [self.random.uniform(0, span), src, dst, size]


class Halving:
    """An algorithm in Python."""

    def __init__(self, initial_window, line_rate):
        self.window, self.most = initial_window, 4 * initial_window

    def on_ack(self, now, ack):
        if ack.window_limited:
            self.window = min(self.window + ack.acked / self.window, self.most)

    def on_loss(self, now, loss):
        self.window = max(self.window / 2, 1)

    def decision(self):
        return self.window


def one(seed, number):
    """Estimate and run a scenario; print both as JSON."""
    import resource

    import shallows as sh
    from shallows.sweeps import estimate

    resource.setrlimit(resource.RLIMIT_CPU, (MOST_S, MOST_S))
    draw = Draw(seed, number)
    scenario = draw.scenario()
    with tempfile.TemporaryDirectory() as folder:  # imports what is not part of an estimate
        sh.run("pingpong", threads=1, out=f"{folder}/run")
    began = time.process_time()
    expected = estimate.of_scenario(scenario)
    estimated = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        run = sh.run(scenario, threads=1, out=f"{folder}/run")
    took = time.process_time() - estimated
    answer = {
        "cpu_s": took,
        "expected_s": expected.cpu_s,
        "estimating_s": estimated - began,
        "hops": run.summary["packet_hops"],
        "expected_hops": expected.hops,
        "flows": len(scenario.flows),
        "ports": len(scenario.network.link_from),
        "what": f"{draw.kind} {scenario.cc.label} {scenario.topology.kind}",
    }
    print(json.dumps(answer))


def main(words=None):
    parser = argparse.ArgumentParser(prog="bench/estimates.py", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER")
    parser.add_argument("--here", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args(words)
    if asked.here is not None:
        return one(asked.seed, asked.here)
    ratios = []
    print(" no   CPU s estimate s estimating s  ratio ratio of hops ns/hop M hops  flows  ports  scenario")
    for number in asked.only or range(asked.count):
        call = [sys.executable, __file__, "--seed", str(asked.seed), "--here", str(number)]
        done = subprocess.run(call, capture_output=True, text=True)
        if done.returncode:
            print(f"{number:4}  status {done.returncode}: {done.stderr[-300:].strip()}", flush=True)
            continue
        got = json.loads(done.stdout.splitlines()[-1])
        ratios.append(got["cpu_s"] / got["expected_s"])
        hops, expected_hops = max(got["hops"], 1), max(got["expected_hops"], 1)
        print(
            f"{number:3} {got['cpu_s']:7.2f} {got['expected_s']:10.2f} {got['estimating_s']:12.2f} "
            f"{ratios[-1]:6.2f} {hops / expected_hops:13.2f} {got['cpu_s'] * 1e9 / hops:6.0f} "
            f"{hops / 1e6:6.1f} {got['flows']:6} {got['ports']:6}  {got['what']}",
            flush=True,
        )
    inside = sum(0.5 <= ratio <= 2 for ratio in ratios)
    print(f"{inside} of {len(ratios)} within a factor of two")
    print("time over estimate: ", end="")
    for name, share in {"least": 0, "p10": 10, "median": 50, "p90": 90, "most": 100}.items():
        print(f"{name} {np.percentile(ratios, share):.2f}", end="  ")
    print()


if __name__ == "__main__":
    sys.exit(main())

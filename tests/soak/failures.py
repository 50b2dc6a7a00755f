"""A third grammar: networks that fail, with flows that all have an end, on every transport.

Every link loses packets at random, or links flap every millisecond, or a plane, a switch or a cable fails. A
flow must finish or be named with the reason, and 1, 2 and 3 threads must agree.
"""

import random

import tomli_w

from shallows.registry import catalog

ALGORITHMS = [row for row in catalog.algorithms() if row["name"] not in ("fixed", "external")]
ONE_WAY = ("credit",)
RATES = ("1Gbps", "10Gbps", "25Gbps", "100Gbps", "400Gbps")
EVERY = {"link": "*<->*", "kind": "loss", "value": 1e-4}


def text(seed, number):
    """(which failure, its world, TOML)."""
    draw = Draw(random.Random(f"failures {seed}/{number}"))
    kind, tables = draw.scenario()
    return kind, "packet", tomli_w.dumps(tables)


def lawful(seed, number, packets):
    """(its world, its tables). They are small: the number of packets does not matter."""
    return "packet", Draw(random.Random(f"failures {seed}/{number}")).scenario()[1]


def how(seed, number):
    """What else is asked of a run: the same on two and three threads, and a reason for each flow."""
    return {"oracles": ("named", "threads")}


class Draw:
    """A random network that fails."""

    def __init__(self, random_):
        self.random, self.one = random_, random_.choice
        self.maybe = lambda share: random_.random() < share

    def scenario(self):
        """(which failure, the tables)."""
        row = self.one(ALGORITHMS)
        kind = self.one(("loss", "flap", "plane", "cable", "mixed"))
        topology = self.topology(planes=kind in ("plane", "mixed"))
        self.least = topology.get("leaves", 2) * topology.get("hosts_per_leaf", 2)
        tables = {
            "seed": self.random.randrange(2**32),
            "duration": "until-done",
            "topology": topology,
            "cc": row["name"],
            "traffic": [self.traffic() for _ in range(self.one((1, 1, 2)))],
            "network": self.network(row),
            "hosts": self.hosts(row),
            "faults": self.faults(kind, topology),
        }
        return kind, {key: value for key, value in tables.items() if value}

    def topology(self, planes):
        rate, delay = self.one(RATES), self.one(("100ns", "1us", "5us"))
        leaf_spine = {
            "kind": "leaf-spine",
            "leaves": self.random.randint(2, 3),
            "spines": self.random.randint(1, 3),
            "hosts_per_leaf": self.random.randint(1, 3),
            "rate": rate,
            "link_delay": delay,
            "planes": self.one((2, 2, 3)) if planes else 1,
            "links_per_pair": self.one((1, 1, 2)),
        }
        if planes:
            return leaf_spine
        others = (
            {"kind": "fat-tree", "k": 4, "rate": rate, "link_delay": delay},
            {"kind": "dragonfly+", "groups": 2, "leaves": 2, "spines": 2, "hosts_per_leaf": 1, "rate": rate},
            {"kind": "rail-optimised", "servers": 2, "gpus": 2, "spines": 2, "rate": rate},
            {
                "kind": "three-tier",
                "cores": 2,
                "aggregations": 2,
                "tors": 2,
                "hosts_per_tor": 2,
                "rate": rate,
            },
        )
        return self.one((leaf_spine, leaf_spine, leaf_spine, *others))

    def traffic(self):
        size = f"{self.random.randint(1, 300_000)}B"
        start = f"{self.random.randint(0, 2000)}us"
        kind = self.random.random()
        if kind < 0.4:
            collective = self.one(("all-reduce", "all-gather", "all-to-all", "reduce-scatter"))
            return {"kind": collective, "size": size, "start": start}
        if kind < 0.6:
            return {
                "kind": "incast",
                "senders": self.random.randint(1, self.least - 1),
                "size": size,
                "to": 0,
                "start": start,
            }
        if kind < 0.8:
            return {"kind": "shuffle", "size": size, "start": start}
        return {"kind": "poisson", "load": 0.3, "flows": self.random.randint(1, 20), "sizes": "20KB"}

    def network(self, row):
        table = {"convergence": self.one(("never", "10us", "300us", "2ms"))}
        sprays = row["transport"] != "credit" and row["name"] not in ("hpcc", "hpcc-roce", "powertcp")
        if sprays and self.maybe(0.4):
            kinds = ("packet", "queue", "round-robin", "flowlet", "oblivious", "bitmap", "reps", "plb")
            table["balancing"] = self.one(kinds)
        if row["transport"] == "roce" and self.maybe(0.5):
            table["pfc"] = True
        return table

    def hosts(self, row):
        """Timers short enough for a run to end soon."""
        least = self.one(("100us", "1ms"))
        if row["transport"] == "credit":
            return {}
        table = {"rto_initial": "2ms", "rto_max": self.one(("4ms", "20ms"))}
        if row["transport"] in ("tcp", "rated"):
            table["rto_min"] = least
        if row["transport"] == "roce" and self.maybe(0.5):
            table["retransmission"] = "selective"
        if row["transport"] == "tcp" and self.maybe(0.3):
            table["loss_detection"] = "rack"
        return table

    def faults(self, kind, topology):
        flap = {
            "kind": "flap",
            "period": "1ms",
            "duty": self.one((0.01, 0.1, 0.5, 0.9)),
            "at": f"{self.random.randint(0, 1000)}us",
            "until": f"{self.random.randint(1001, 12_000)}us",
        }
        # All links, those of a node, or one cable: the names of the hosts are the same everywhere.
        where = self.one(({"link": "*<->*"}, {"node": "h0"}, {"link": "h1<->*"}, {"node": "h*"}))
        lasts = {} if self.maybe(0.3) else {"until": f"{self.random.randint(2001, 8000)}us"}
        begins = f"{self.random.randint(0, 2000)}us"
        plane = {"link": "p1.*<->*", "kind": self.one(("down", "down", "silent-drop")), "at": begins} | lasts
        other = {"node": self.one(("h0", "h*")), "kind": self.one(("down", "drain", "silent-drop", "slow"))}
        if other["kind"] == "slow":
            other["value"] = self.one((0.1, 0.5))
        bits = {"link": "*<->*", "kind": "bit-errors", "value": self.one((1e-9, 1e-8, 1e-7))}
        return {
            "loss": lambda: [self.one((EVERY, EVERY, bits))],
            "flap": lambda: [where | flap],
            "plane": lambda: [plane],
            "cable": lambda: [other | {"at": begins} | lasts],
            "mixed": lambda: [EVERY, where | flap],
        }[kind]()

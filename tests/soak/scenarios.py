"""A random scenario of a given seed and number, as TOML: the same on every machine.

Most are lawful, a quarter are lawful ones with something bent, the rest is what a hostile user would write.
Work is bounded: about `PACKETS` packets, so that a run takes a second or less.
"""

import copy
import math
import random
from pathlib import Path
from typing import get_args

import tomli_w

from shallows.registry import catalog
from shallows.scenario.tables import NetworkTable, balancings
from shallows.topology import KINDS as TOPOLOGIES
from shallows.traffic import KINDS as TRAFFICS
from shallows.traffic.costs import KindOfCollective
from soak import oracles
from soak.traffics import ENDLESS, Traffics

OTHER_PARAMETERS = {
    "step": {"threshold": "30KB"},
    "red": {"kmin": "10pkt", "kmax": "90pkt", "pmax": 0.5},
    "pi": {"q_ref": "30KB", "k1": 1e-3, "interval": "50us"},
    "codel": {"target": "50us", "interval": "1ms"},
    "dualpi2": {"target": "50us", "update": "100us", "coupling": 4, "c_share": 60},
    "phantom": {"gamma": 0.8, "threshold": "30KB"},
    "rcp": {"gamma": 0.5, "alpha": 1},
}
"""Parameters of ports that change during a run, by kind of marking."""
PACKETS = 60_000
LAWFUL, BENT = 0.65, 0.25
BALANCINGS = get_args(NetworkTable.model_fields["balancing"].annotation)
RATES = (1e6, 13e6, 1e8, 1e9, 1e10, 2.5e10, 1e11, 4e11)
WORDS = (
    "", "0", "-1", "nan", "1e999", "9" * 40, "never", "unlimited", "h0", "s0->s1",
    "😀", "a\tb", "../..", "C:\\", "true", "0s", "1ps", "-5us", "1e9s", "3.3333us",
    "18446744073709551616B", "0pkt", "1pkt", "65535B", "10gbps", "∞",
)  # fmt: skip
FORBIDDEN = f"{Path(__file__).parent / 'forbidden.py'}:Mine"
"""Python code that no user has trusted."""
VALUES = (
    0,
    -1,
    1,
    2,
    3.5,
    1e308,
    -1e-308,
    float("nan"),
    float("inf"),
    2**63 - 1,
    True,
    [],
    {},
    [[]],
    [1, "a"],
)
CATALOG = catalog.algorithms()
OF_TRANSPORTS = {key for row in CATALOG for key in row["honours"]}
"""Keys that act on flows of some algorithms only."""
RECEIVERS, MARKINGS = catalog.other_catalogs()["cc.receiver"], catalog.other_catalogs()["network.marking"]


def lawful(seed, number, packets=PACKETS):
    """(its world, its tables): a scenario with nothing bent."""
    return _lawful(Draw(random.Random(f"{seed}/{number}"), packets))


def _lawful(draw):
    tables, world = draw.tables(), "fluid" if draw.random.random() < 0.1 else "packet"
    return world, draw.fluid(tables) if world == "fluid" else tables


def text(seed, number):
    """(what it is meant to be, its world, TOML)."""
    random_ = random.Random(f"{seed}/{number}")
    draw = Draw(random_)
    world, tables = _lawful(draw)
    kind = random_.random()
    if kind < LAWFUL:
        return "lawful", world, tomli_w.dumps(tables)
    for _ in range(random_.choice((1, 1, 2, 4))):
        draw.bend(tables)
    written = tomli_w.dumps(tables)
    if kind < LAWFUL + BENT:
        return "bent", world, written
    return "hostile", world, draw.scratched(written)


def how(seed, number):
    """What else is asked of that scenario: some dear oracles, single keys changed."""
    random_ = random.Random(f"{seed}/{number}/how")
    chosen = tuple(name for name in oracles.DEAR if random_.random() < 0.1)
    asked = {"oracles": chosen, "seed": number}
    if random_.random() < 0.1:
        draw = Draw(random_)
        asked["overrides"] = {draw.dotted(): draw.anything() for _ in range(random_.randint(1, 3))}
    return asked


class Draw(Traffics):
    """Random pieces of a scenario."""

    def __init__(self, random_, packets=PACKETS):
        self.random, self.packets = random_, packets
        self.maybe = lambda share=0.3: random_.random() < share
        self.one = random_.choice

    def time(self, low, high):
        """A time between two numbers of seconds, on a logarithmic scale."""
        ps = max(1, round(10 ** (12 + self.random.uniform(math.log10(low), math.log10(high)))))
        return self.one((f"{ps}ps", f"{ps // 1000 + 1}ns", f"{ps // 10**6 + 1}us"))

    def size(self, low, high):
        return f"{round(10 ** self.random.uniform(math.log10(low), math.log10(high)))}B"

    def rate(self):
        return f"{round(self.one(RATES) * self.one((1, 1, 1.01, 3.7)))}bps"

    def tables(self):
        """A lawful scenario, as far as one knows before it is read."""
        self.bps = 0.0
        tables = {"seed": self.random.randrange(2**32), "topology": self.topology()}
        self.wired = TOPOLOGIES[tables["topology"]["kind"]](**tables["topology"]).build()
        if self.maybe(0.6):
            tables["network"] = self.network()
        tables["cc"] = self.cc()
        if self.maybe(0.6):
            tables["hosts"] = self.hosts(tables["cc"])
        seconds = self.packets * 1500 * 8 / max(self.bps, 1e6)
        traffic = [self.traffic(seconds) for _ in range(self.one((1, 1, 2, 3)))]
        tables["traffic"] = sorted(traffic, key=lambda table: table["kind"] == "driven")
        if len(traffic) > 1:  # the first flow need not be of the table that sets it
            for table in traffic:
                table.pop("settings", None)
        if self.maybe(0.15):
            tables |= self.classes(tables["traffic"])
        if self.maybe(0.1):
            tables["ports"] = [self.ports() for _ in range(self.one((1, 1, 2)))]
        if self.maybe(0.5):
            tables["record"] = self.record()
        if self.maybe(0.2):
            tables["faults"] = [self.fault(seconds) for _ in range(self.random.randint(1, 4))]
        if self.maybe(0.2) and any(table["kind"] not in ENDLESS for table in tables["traffic"]):
            tables["duration"] = "until-done"
        else:
            tables["duration"] = self.time(seconds / 30, seconds)
        if self.maybe():
            tables["warmup"] = self.time(seconds / 300, seconds / 40)
        if self.maybe(0.3 if any(table["kind"] == "poisson" for table in tables["traffic"]) else 0.02):
            tables["cooldown"] = self.time(seconds / 1e6, seconds / 40)
        if "faults" in tables:
            tables["faults"] += self.settings(tables)
        return tables

    def topology(self):
        rate = self.rate()
        few = lambda: self.random.randint(1, 6)  # noqa: E731
        rtt = f"{4 * self.random.randrange(1, 10 ** self.one((5, 7, 8, 10)) // 4 + 2)}ps"
        kind = self.one(("dumbbell", *TOPOLOGIES))
        table = {
            "dumbbell": {"hosts": few(), "rate": rate, "edge_rate": self.rate(), "rtt": rtt},
            "star": {"hosts": few() + 1, "rate": rate, "rtt": rtt},
            "parking-lot": {"hops": few(), "hosts": self.random.randint(1, 2), "rate": rate, "rtt": rtt},
            "multi-bottleneck": {
                "hosts": [few(), few(), few()],
                "rate": rate,
                "edge_rate": self.rate(),
                "rtt": rtt,
                "same_rtt": self.maybe(0.5),
            },
            "leaf-spine": {
                "leaves": few(),
                "spines": few(),
                "hosts_per_leaf": few() + 1,
                "rate": rate,
                "spine_rate": self.rate(),
                "link_delay": self.time(1e-9, 1e-3),
                "links_per_pair": self.one((1, 1, 2, 3)),
                "planes": self.one((1, 1, 2)),
                "ports_per_host": self.one((2, 2, 4)),
            },
            "rail-optimised": {
                "units": self.one((1, 2)),
                "servers": self.random.randint(1, 3),
                "gpus": self.random.randint(2, 4),
                "spines": few(),
                "rate": rate,
                "spine_rate": self.rate(),
                "nvlink_rate": self.rate(),
                "link_delay": self.time(1e-9, 1e-4),
                "nvlink_delay": self.time(1e-9, 1e-5),
                "links_per_pair": self.one((1, 2)),
                "planes": self.one((1, 1, 2)),
            },
            "dragonfly+": {
                "groups": self.random.randint(2, 3),
                "leaves": self.random.randint(1, 3),
                "spines": self.random.randint(1, 3),
                "hosts_per_leaf": self.random.randint(1, 3),
                "links_per_group_pair": self.random.randint(1, 4),
                "rate": rate,
                "spine_rate": self.rate(),
                "global_rate": self.rate(),
                "link_delay": self.time(1e-9, 1e-4),
                "global_delay": self.time(1e-9, 1e-3),
            },
            "fat-tree": {"k": self.one((2, 4)), "rate": rate, "link_delay": self.time(1e-9, 1e-4)},
            "three-tier": self.three_tier(rate),
            "graph": self.graph(),
        }[kind]
        rates = [value for key, value in table.items() if key.endswith("rate")]
        rates += [edge[2] for edge in table.get("edges", ())]
        self.bps = 4 * max(float(value[:-3]) for value in rates)
        keep = {"leaves", "hosts_per_leaf", "rate", "k", "edges"} | {"cores", "aggregations", "tors"}
        keep |= {"hosts"} if kind != "multi-bottleneck" else set()
        return {"kind": kind} | {key: value for key, value in table.items() if key in keep or self.maybe(0.7)}

    def three_tier(self, rate):
        """A multiple of half the aggregations as racks."""
        aggregations = self.one((2, 4))
        return {
            "cores": self.one((2, 4)),
            "aggregations": aggregations,
            "tors": aggregations // 2 * self.random.randint(1, 3),
            "hosts_per_tor": self.random.randint(1, 3),
            "rate": rate,
            "uplink_rate": self.rate(),
            "core_rate": self.rate(),
            "link_delay": self.time(1e-9, 1e-4),
            "host_delay": self.time(1e-9, 1e-4),
        }

    def graph(self):
        """A tree of switches with a host or more, and a few cables that close circles."""
        switches = [f"s{i}" for i in range(self.random.randint(1, 5))]
        hosts = [f"h{i}" for i in range(self.random.randint(2, 6))]
        ends = [(name, self.one(switches[:at])) for at, name in enumerate(switches) if at]
        ends += [(name, self.one(switches)) for name in hosts]
        if len(switches) > 2 and self.maybe(0.5):
            ends += [tuple(self.random.sample(switches, 2))]
        cables = {frozenset(pair): pair for pair in ends}.values()
        return {
            "hosts": hosts,
            "edges": [[*pair, self.rate(), self.time(1e-9, 1e-3)] for pair in cables],
            "server_switches": [self.one(switches)],
        }

    def settings(self, tables):
        """Other weights, parameters of ports and ends of drains, by draws that move no other draw."""
        draws = random.Random(repr(tables))
        at = draws.choice(tables["faults"])["at"]
        marking = tables.get("network", {}).get("marking", "none")
        kind = marking.get("kind") if isinstance(marking, dict) and not tables.get("classes") else None
        own = {name: value for name, value in OTHER_PARAMETERS.get(kind, {}).items() if draws.random() < 0.5}
        values = [("marking", own)] if own else []
        weighted = [one["name"] for one in tables.get("classes", ()) if "weight" in one]
        values += [("weights", {name: draws.choice((1, 2, 7, 100))}) for name in weighted]
        found = [{"link": "*->*", "kind": kind, "at": at, "value": value} for kind, value in values]
        drains = [one for one in tables["faults"] if one["kind"] == "drain" and "until" not in one]
        found += [one | {"kind": "undrain"} for one in drains]
        return [one for one in found if draws.random() < 0.5]

    def fault(self, seconds):
        """One that is mostly lawful."""
        at = self.random.randrange(len(self.wired.port_names))
        kinds = (
            "down",
            "up",
            "rate",
            "delay",
            "hold",
            "reorder",
            "loss",
            "flap",
            "drain",
            "slow",
            "bit-errors",
            "silent-drop",
            "marking",
        )
        link, kind = self.wired.port_names[at], self.one(kinds)
        table = {"link": link, "kind": kind, "at": self.one(("0s", self.time(seconds / 1e3, seconds)))}
        if kind == "rate":
            table["value"] = (
                f"{max(10**6, round(self.wired.rate_bps[at] * self.one((0, 0.01, 0.5, 1, 4))))}bps"
            )
        elif kind == "delay":
            table["value"] = self.one(("0s", self.time(1e-9, 1e-3)))
        elif kind == "hold":
            table["value"] = self.time(1e-9, 1e-3)
        elif kind == "reorder":
            table["value"] = {"share": self.one((0.001, 0.1, 0.9)), "delay": self.time(1e-9, 1e-3)}
        elif kind == "loss":
            table["value"] = self.one((0.0, 1e-4, 0.01, 0.5, 0.999))
        elif kind in ("slow", "bit-errors", "silent-drop"):
            table["value"] = self.one(
                {"slow": (0.1, 0.9), "bit-errors": (1e-9, 1e-6), "silent-drop": (0.5, 1)}[kind]
            )
        elif kind == "flap":
            table["period"], table["until"] = (
                self.time(seconds / 50, seconds),
                self.time(seconds, 2 * seconds),
            )
            if self.maybe(0.5):
                table["duty"] = self.one((0.01, 0.5, 0.9))
        if kind == "marking":
            table["value"] = {self.one(("threshold", "kmin", "kmax")): self.one(("1pkt", "30KB", "90pkt"))}
        if kind not in ("up", "flap", "marking") and self.maybe(0.3):
            table["until"] = self.time(1.1 * seconds, 2 * seconds)
        if self.maybe(0.3):
            table["link"] = table["link"].replace("->", "<->")
        if self.maybe(0.2) and kind in ("down", "up", "loss"):
            a, _, b = link.partition("#")[0].partition("->")
            table["link"] = self.one((f"{a[0]}*->{b}", f"{a}->*", f"{a}<->{b[:2]}*", "*->*", "p1.*<->*"))
        if self.maybe(0.2):
            table["node"] = self.one((link.partition("->")[0], "s*", "h*"))
            del table["link"]
        return table

    def network(self):
        table = {}
        if self.maybe(0.15):
            table["balancing"] = self.one(BALANCINGS)
            if balancings()[table["balancing"]]["takes_entropies"] and self.maybe(0.5):
                table["entropies"] = self.one((1, 2, 64, 256))
            if table["balancing"] == "flowlet" and self.maybe(0.5):
                table["flowlet_gap"] = self.time(1e-9, 1e-3)
        if self.maybe(0.1):
            table["changing"] = [self.one(self.wired.port_names), "s0->*"][: self.random.randint(1, 2)]
        if self.maybe(0.1):
            table["delay_spread"] = self.one((0.0, 0.01, 1.0))
        if self.maybe(0.1):
            table["convergence"] = self.one(("never", self.time(1e-7, 1e-2)))
        if self.maybe():
            table["mtu"] = f"{self.one((64, 300, 1000, 1538, 4096, 9000, 65535))}B"
            table["header"] = f"{self.one((1, 20, 40, 63))}B"
        if self.maybe():
            table["buffer"] = self.one(
                ("5pkt", "20pkt", "100pkt", "1000pkt", "unlimited", self.size(66_000, 1e7))
            )
        if self.maybe(0.2):
            table["shared"] = {"size": self.size(70_000, 1e7), "alpha": self.one((0.125, 1, 8.0, 1024))}
        if self.maybe(0.2):
            table["pfc"] = self.one(
                (
                    True,
                    {"threshold": self.size(100, 1e6)},
                    {"threshold": "2pkt", "hysteresis": self.size(1, 1e6)},
                    {"headroom": self.one(("auto", self.size(1, 1e6)))},
                    {"watchdog": self.time(1e-5, 1e-2), "restoration": self.time(1e-6, 1e-2)},
                )
            )
        if "shared" in table or "pfc" in table:  # ports have no buffers of their own
            table.pop("buffer", None)
        if "shared" in table and isinstance(
            table.get("pfc"), dict
        ):  # the memory decides when a link is paused
            table["pfc"].pop("threshold", None)
        if self.maybe(0.1):
            keys = {
                "queue": self.one((1, 3, 8, 100)),
                "headers": self.size(64, 1e6),
                "ratio": self.one((1, 2, 10, 100_000)),
            }
            chosen = {key: keys[key] for key in keys if self.maybe()}
            table["trimming"] = self.one((True, chosen, {"threshold": self.size(9000, 1e6)}))
        if self.maybe(0.1) and "pfc" not in table:
            table["policer"] = {"rate": self.rate(), "burst": self.size(66_000, 1e6)}
        if self.maybe(0.25):
            row = self.one(MARKINGS)
            table["marking"] = {"kind": row["name"], **self.parameters(row)}
            if row["has_two_queues"] and self.maybe(0.9):  # a port has no others beside them
                for key in ("shared", "pfc", "trimming", "policer"):
                    table.pop(key, None)
        return table

    def classes(self, traffic):
        """Traffic classes, in which some of `traffic` is, and pools for some of them."""
        names = [f"class {number}" for number in range(self.one((1, 2, 2, 3, 8)))]
        pools = [
            {"name": name, "size": self.size(70_000, 1e7), "alpha": self.one((0.125, 1, 8.0, 1024))}
            for name in ("lossless", "lossy")
        ]
        for table in traffic:
            if self.maybe(0.7):
                table["class"] = self.one(names)
        found = []
        for name in names:
            keys = {
                "weight": self.one((1, 3, 60, 10_000)),
                "marking": self.one(("none", {"kind": "step", "threshold": "20pkt"}, {"kind": "red"})),
                "pfc": self.one((True, {"threshold": self.size(100, 1e6)})),
                "buffer": self.one(("5pkt", "100pkt", "unlimited")),
                "pool": self.one(("lossless", "lossy")),
                "trimming": self.one((True, True, False, {"threshold": self.size(9000, 1e6)})),
            }
            table = {"name": name} | {key: value for key, value in keys.items() if self.maybe()}
            if "pfc" not in table and self.maybe(0.2):
                table["policer"] = self.one((False, {"rate": self.rate(), "burst": self.size(66_000, 1e6)}))
            if table.get("trimming"):  # a queue that trims has no other limit
                table = {key: value for key, value in table.items() if key not in ("pfc", "pool", "buffer")}
            found.append(table)
        used = {table.get("pool") for table in found}
        pools = [table for table in pools if table["name"] in used or self.maybe(0.05)]
        return {"classes": found} | ({"pools": pools} if used & {"lossless", "lossy"} else {})

    def ports(self):
        """Settings of some ports; some are refused, because the queues there trim or are never full."""
        step = {
            "kind": "step",
            "threshold": self.one(("5pkt", "20pkt")),
            "at": self.one(("enqueue", "dequeue")),
        }
        keys = {
            "marking": self.one(("none", step, {"kind": "red"})),
            "buffer": self.one(("50pkt", "400pkt", "unlimited")),
            "trimming": {"threshold": self.size(20_000, 1e6)},
            "policer": self.one((False, {"rate": self.rate(), "burst": self.size(66_000, 1e6)})),
        }
        return {"names": self.one(("*->h*", "s*->*", "*->*"))} | {
            key: keys[key] for key in (self.one(tuple(keys)),)
        }

    def hosts(self, cc):
        keys = {
            "nic": self.one(("fair", "fifo")),
            "initial_window": self.one(("1pkt", "3pkt", "100pkt", self.size(1, 1e6))),
            "rto": self.one(("datacenter", "internet")),
            "rto_min": self.time(1e-5, 1.0),
            "rto_initial": self.time(1e-3, 1.0),
            "rto_max": self.time(1e-2, 10.0),
            "acks_every": self.random.randint(1, 8),
            "ack_delay": self.time(1e-7, 1e-3),
            "segment": self.one((1, 2, 8, 44)),
            "loss_detection": self.one(("duplicate-acks", "rack")),
            "retransmission": self.one(("go-back-n", "selective")),
            "gap": self.one((0, 0.002, 0.05, 1)),
            "prr": self.one((True, False)),
            "option": self.one(("0B", "14B", "40B")),
            "poll": self.time(1e-7, 1e-4),
            "piggyback": self.one((True, False)),
            "ack_jitter": self.time(1e-8, 1e-3),
            "timestamps": self.timestamps(),
            "costs": [self.costs() for _ in range(self.random.randint(1, 2))],
        }
        row = next((row for row in CATALOG if row["name"] == cc["name"].split("@")[0]), None)
        unused = OF_TRANSPORTS - set(row["honours"]) if row and self.maybe(0.9) else set()
        drawn = {
            key: value for key, value in keys.items() if self.maybe(0.2) and f"hosts.{key}" not in unused
        }
        if "poll" in drawn:
            drawn["batch"] = self.random.randint(1, 20)
        if drawn.get("segment", 1) > 1 and self.maybe(0.5):
            drawn["segment_time"] = self.time(1e-6, 1e-2)
        return drawn

    def costs(self):
        """A table of `hosts.costs` with some of its keys; one of kinds of collectives has a step alone."""
        if self.maybe(0.3):
            kinds = self.random.sample(get_args(KindOfCollective), self.random.randint(1, 3))
            return {"collectives": kinds, "step": self.time(1e-9, 1e-4)}
        keys = {
            "preset": "nccl",
            **{key: self.time(1e-9, 1e-4) for key in ("message", "queue_pair", "step", "completion")},
            "spread": self.one((0, 0.1, 2)),
            "pcie": self.rate(),
        }
        return {key: value for key, value in keys.items() if self.maybe(0.4)}

    def timestamps(self):
        keys = {
            "kind": self.one(("software", "hardware")),
            "drift": self.one((0.0, 4e-5, -1e-3)),
            "noise": self.time(1e-12, 1e-4),
            "burst": self.random.randint(1, 64),
            "bucket": self.random.randint(1, 64),
            "poll": self.time(1e-12, 1e-4),
            "stack": self.time(1e-12, 1e-3),
            "host_delay_removed": self.maybe(0.5),
            "burst_reduced": self.maybe(0.5),
            "calibrated": self.maybe(0.5),
        }
        return {key: value for key, value in keys.items() if self.maybe(0.4)}

    def cc(self):
        row = self.one(CATALOG)
        table = {"name": row["name"]}
        if row["presets"] and self.maybe():
            table["name"] += "@" + self.one(row["presets"])["name"]
        if self.maybe():
            table |= self.parameters(row)
        if self.maybe(0.01):
            table = {"name": FORBIDDEN}
        if self.maybe(0.1 if row["transport"] == "tcp" else 0.01):
            receiver = self.one(RECEIVERS)
            table["receiver"] = {"kind": receiver["name"], **self.parameters(receiver)}
        return table

    def parameters(self, row, share=0.3):
        """Some parameters of a row; those that need a flag only beside it."""
        drawn = {p["name"]: self.parameter(p) for p in row["parameters"] if self.maybe(share)}
        needs = {p["name"]: p.get("needs") for p in row["parameters"]}
        return {name: value for name, value in drawn.items() if not needs[name] or drawn.get(needs[name])}

    def parameter(self, p):
        """A value between the ends of its range, often one of them, as a scenario writes it."""
        low, high = p["min"], p["max"] if p["max"] is not None else max(p["default"] or 1, 1) * 1e3
        value = self.one((low, high, p["default"] if p["default"] is not None else low, None))
        if value is None:
            value = self.random.uniform(low, high)
            if low > 0 and high > 0:
                value = math.exp(self.random.uniform(math.log(low), math.log(high)))
        if p["unit"] == "flag":
            return bool(round(value))
        suffix, scale = {"s": ("ps", 1e12), "B": ("B", 1), "bit/s": ("bps", 1)}.get(p["unit"], ("", 1))
        return f"{round(value * scale)}{suffix}" if suffix else float(value)

    def record(self):
        port = self.one(self.wired.port_names)
        table = {
            "queues": self.time(1e-6, 1e-3),
            "probes": self.time(1e-5, 1e-3),
            "ports": self.one(("all", "bottleneck", [port], [port, port], ["*->*"], [port[0] + "*"])),
            "flows": self.one(("all", 1, 1000, [0], [0, 0])),
        }
        return {key: value for key, value in table.items() if self.maybe(0.5)}

    def fluid(self, tables):
        """What a fluid may be able to express."""
        star = {
            "kind": "star",
            "hosts": 4,
            "rate": "10Gbps",
            "rtt": f"{4 * self.random.randrange(1, 10**8)}ps",
        }
        traffic = [{"kind": "long-lived", **({"stagger": "10us"} if self.maybe() else {})}]
        name = self.one(("dctcp", "dx", "dcqcn", "timely", "patched-timely"))
        rest = {key: value for key, value in tables.items() if key in ("seed", "record")}
        return {**rest, "duration": "2ms", "topology": star, "cc": {"name": name}, "traffic": traffic}

    def bend(self, tables):
        """Changes something anywhere: another value, another key, or none."""
        at = tables
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                return
            key = self.one(keys)
            if isinstance(at[key], dict | list) and at[key] and self.maybe(0.8):
                at = at[key]
                continue
            what = self.random.random()
            if what < 0.2:
                del at[key]
            elif what < 0.35 and isinstance(at, dict):
                at[self.one(("", "kind", "name", "size", "x", "hosts", "rate", "😀", str(key).upper()))] = at[
                    key
                ]
            else:
                at[key] = self.anything()
            return

    def anything(self):
        """What may stand in a scenario, though hardly there."""
        kinds = self.one(
            (*TOPOLOGIES, *TRAFFICS, *(row["name"] for row in (*CATALOG, *MARKINGS, *RECEIVERS)))
        )
        value = self.one(
            (self.one(WORDS), self.one(VALUES), self.time(1e-12, 1e6), self.size(1, 1e19), kinds)
        )
        return copy.deepcopy(value)  # whoever has it may change it

    def dotted(self):
        """A key as overrides and axes of sweeps name it, most of them known."""
        known = (
            "duration",
            "warmup",
            "seed",
            "cc",
            "cc.name",
            "topology.hosts",
            "topology.rate",
            "network.buffer",
        )
        known += (
            "topology.kind",
            "traffic.0.kind",
            "network.marking.kind",
            "cc.receiver.kind",
            "faults.0.kind",
            "network.pfc.threshold",
            "hosts.rto_min",
            "hosts.gap",
            "cooldown",
            "traffic.0.group_size",
            "traffic.0.flows",
            "traffic.0.size",
            "traffic",
            "record",
        )
        parts = (
            "traffic",
            "0",
            "-1",
            "cc",
            "",
            "faults",
            "topology",
            "name",
            "kind",
            "x",
            "99999999999999999999",
        )
        return self.one(
            (self.one(known), ".".join(self.one(parts) for _ in range(self.random.randint(1, 4))))
        )

    def scratched(self, written):
        """The text with some of it cut, doubled, or overwritten."""
        for _ in range(self.random.randint(0, 3)):
            at, length = self.random.randrange(len(written) + 1), self.random.randint(0, 12)
            piece = self.one(
                ("", "[", "]]", '"', "=", "\n", "[" * 3000, "{" * 50, "é", "1e400", written[at : at + length])
            )
            written = written[:at] + piece + written[at + length :]
        return written

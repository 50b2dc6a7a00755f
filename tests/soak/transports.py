"""A grammar of algorithms that answer each packet by itself, and of PowerTCP and Falcon's Swift.

Scenarios are lawful as far as one knows: mostly fabrics with several paths and planes, marks, trimming, paths
that hosts choose, and links that fail. Every run is done again on two and on three threads.
"""

import random

import tomli_w

from shallows.scenario.tables import balancings
from soak import scenarios

NAMES = ("nscc", "mrc", "rccc", "ndp", "powertcp", "theta-powertcp", "swift")
ROWS = [row for row in scenarios.CATALOG if row["name"] in NAMES]
FABRICS = ("leaf-spine", "fat-tree", "rail-optimised", "dragonfly+")


def lawful(seed, number, packets=scenarios.PACKETS):
    """(its world, its tables)."""
    return "packet", Draw(random.Random(f"transports {seed}/{number}"), packets).tables()


def text(seed, number):
    """(what it is meant to be, its world, TOML)."""
    world, tables = lawful(seed, number)
    return "lawful", world, tomli_w.dumps(tables)


def how(seed, number):
    """What else is asked of that scenario: the same on several threads, and now and then saving it."""
    saves = random.Random(f"transports {seed}/{number}/how").random() < 0.05
    return {"oracles": ("threads", "saved") if saves else ("threads",)}


class Draw(scenarios.Draw):
    """Random pieces of a scenario whose flows are of these algorithms."""

    def tables(self):
        """A lawful scenario, with faults more often than others have."""
        tables = super().tables()
        if self.maybe(0.3):
            seconds = self.packets * 1500 * 8 / max(self.bps, 1e6)
            tables["faults"] = [self.fault(seconds) for _ in range(self.random.randint(1, 4))]
        return tables

    def topology(self):
        """A fabric, or now and then anything."""
        while True:
            table = super().topology()
            if table["kind"] in FABRICS or self.maybe(0.05):
                return table

    def network(self):
        """Without a choice of paths only where `mrc` makes its own."""
        table = super().network()
        for key in ("balancing", "entropies", "flowlet_gap"):
            table.pop(key, None)
        if self.maybe(0.6):
            by_host = [name for name, row in balancings().items() if row["takes_entropies"]]
            table["balancing"] = self.one((*by_host, "packet", "queue", "flow"))
            if balancings()[table["balancing"]]["takes_entropies"] and self.maybe(0.5):
                table["entropies"] = self.one((1, 2, 64, 256))
        return table

    def cc(self):
        """One of the algorithms, most of whose parameters have their defaults."""
        row = self.one(ROWS)
        table = {"name": row["name"]}
        if row["presets"] and self.maybe():
            table["name"] += "@" + self.one(row["presets"])["name"]
        return table | {p["name"]: self.parameter(p) for p in row["parameters"] if self.maybe(0.15)}

"""A second grammar: what the JSON Schema of a scenario allows, with every magnitude up to its limit.

It knows nothing of scenarios but their schema, the limits, and what names look like. A quantity is ordinary,
anywhere below its limit, or beside the limit.
"""

import math
import random
from functools import cache
from itertools import pairwise, takewhile
from pathlib import Path

import tomli_w

from shallows.base import limits
from shallows.registry.schema import scenario_schema
from soak import oracles

UNITS = {"s": (limits.TIME, "ps"), "bps": (limits.RATE, "bps"), "B": (limits.SIZE, "B")}
ORDINARY = {"s": (1e3, 1e8), "bps": (1e8, 4e11), "B": (100, 1e6)}
"""Ordinary times from 1 ns to 100 us, in picoseconds; rates and sizes."""
HOSTS = (0, 1, 2, 3, "h0", "h1", "h2", "h*", "h[01]", "topology", "a", "leaf0", -1, 10**7)
PORTS = (
    "s0->s1", "h0->s0", "s0->h1", "leaf0->spine0", "spine0->leaf0", "h0->leaf0", "nv0->h0", "*->*", "s*->*",
    "h0->*", "p0.leaf0->p0.spine0", "p1.*->*", "leaf0->spine0#0", "aggr0->core0", "tor0->aggr0", "a->b",
)  # fmt: skip
WORDS = (
    "a",
    f"{Path(__file__).parent / 'forbidden.py'}:Mine",
    "results",
    "../../etc/passwd",
    "",
    "😀",
    "h0",
    "nan",
    "1e999",
)


@cache
def schema():
    """The schema, and the names of the tables without which no scenario is valid."""
    return scenario_schema()


def lawful(seed, number, packets):
    """(its world, its tables), with ordinary magnitudes."""
    draw = Draw(random.Random(f"schema {seed}/{number}"))
    draw.far = 0
    return "packet", draw.scenario()


def text(seed, number):
    """(what it is meant to be, its world, TOML)."""
    random_ = random.Random(f"schema {seed}/{number}")
    drawn = Draw(random_).scenario()
    return "schema", random_.choice(("packet",) * 18 + ("fluid", "kernel")), tomli_w.dumps(drawn)


def how(seed, number):
    """What else is asked of that scenario: some dear oracles."""
    random_ = random.Random(f"schema {seed}/{number}/how")
    return {"oracles": tuple(name for name in oracles.DEAR if random_.random() < 0.1)}


class Draw:
    """Values of schemas."""

    def __init__(self, random_):
        self.random, self.one = random_, random_.choice
        self.keys = self.one((0.05, 0.15, 0.3, 0.6))
        """The share of optional keys that are set."""
        self.far = self.one((0, 0, 0, 0.1, 0.5))
        """The share of quantities with any magnitude, or beside their limit."""

    def maybe(self, share):
        return self.random.random() < share

    def scenario(self):
        whole = schema()["properties"]
        wanted = ["duration", "topology", "traffic", "cc"]
        rest = [key for key in whole if key not in (*wanted, "sweep")]
        keys = wanted + [key for key in rest if self.maybe(self.keys)]
        return {key: self.value(whole[key], key) for key in keys}

    def value(self, of, key):
        """A value of the schema `of`, that of the key `key`."""
        if "$ref" in of:
            return self.value(schema()["$defs"][of["$ref"].rpartition("/")[2]], key)
        if key in SPECIAL and self.maybe(0.97):
            return SPECIAL[key](self)
        if "if" in of:
            return self.value(self.one((of["then"], of["else"])), key)
        if "enum" in of or "const" in of:
            return self.one(of["enum"]) if "enum" in of else of["const"]
        if "allOf" in of:
            return self.of_a_kind(of)
        if "anyOf" in of and "properties" not in of:
            choices = [one for one in of["anyOf"] if one.get("type") != "null"]
            named = [one for one in choices if "enum" in one]
            return self.value(self.one(named if named and self.maybe(0.95) else choices), key)
        kinds = of.get("type", "string")
        return getattr(self, kinds if isinstance(kinds, str) else self.one(kinds))(of, key)

    def of_a_kind(self, of):
        """A table of one of the kinds among which conditions choose."""
        rule = self.one(of["allOf"])
        there = rule["if"].get("properties")
        table = self.value(rule["then"], None)
        return table | {key: self.value(names, None) for key, names in (there or {}).items()}

    def object(self, of, key):
        if "additionalProperties" in of and "properties" not in of:
            return {self.string({}, key): self.value(of["additionalProperties"] or {}, key)}
        needed = set(of.get("required", ())) | ALWAYS.get(of.get("title"), set())
        table = {
            name: self.value(inner, name)
            for name, inner in of["properties"].items()
            if name in needed or self.maybe(self.keys)
        }
        own = {"Trace": {"flows": self.rows}, "Graph": {"hosts": lambda: ["h0", "h1", "h2"]}}
        own["MultiBottleneck"] = {"hosts": lambda: [self.random.randint(1, 3) for _ in range(3)]}
        if of.get("title") == "Fault" and self.maybe(0.97):
            return {key: table[key] for key in ("link", "at") if key in table} | self.change()
        for name, draw in own.get(of.get("title"), {}).items():
            if self.maybe(0.97):
                table[name] = draw()
        return table

    def array(self, of, key):
        if "prefixItems" in of:
            return [self.value(item, None) for item in of["prefixItems"]]
        return [self.value(of["items"], None) for _ in range(self.one((1, 1, 1, 2, 3)))]

    def string(self, of, key):
        pattern = of.get("pattern", "")
        if pattern.endswith("pkt$"):
            return f"{self.random.randint(1, 100)}pkt"
        for unit in UNITS:
            if f"|{unit})" in pattern or f"({unit}|" in pattern:
                words = [*takewhile(lambda word: "\\" not in word, pattern[2:].split("|"))]
                return self.one(words) if words and self.maybe(0.2) else self.quantity(unit)
        return self.one(WORDS)

    def quantity(self, unit):
        limit, suffix = UNITS[unit]
        return f"{round(self.magnitude(limit.least, limit.most, ORDINARY[unit]))}{suffix}"

    def magnitude(self, least, most, ordinary):
        """A number on a logarithmic scale; rarely a limit or beside it, or outside."""
        if not self.maybe(self.far):
            low, high = ordinary
        elif self.maybe(0.3):
            return self.one((least, most, least - 1, most + 1, most // 2))
        else:
            low, high = max(least, 1), most
        return math.exp(self.random.uniform(math.log(low), math.log(high)))

    def integer(self, of, key):
        least, most = of.get("minimum", 0), of.get("maximum", limits.COUNT.most)
        return round(self.magnitude(least, most, (max(least, 1), max(least, 1) + 5)))

    def number(self, of, key):
        least, most = of.get("minimum") or 0.0, of.get("maximum") or 1.0
        return self.one((self.random.uniform(least, most), float(least), float(most), 0.5))

    def boolean(self, of, key):
        return self.maybe(0.5)

    def edges(self):
        """A tree of switches with hosts, or anything."""
        names = [f"s{i}" for i in range(self.random.randint(1, 3))]
        ends = [*pairwise(names), *((f"h{i}", self.one(names)) for i in range(3))]
        return [[a, b, self.quantity("bps"), self.quantity("s")] for a, b in ends]

    def duration(self):
        return self.one(("until-done", self.quantity("s"), f"{self.random.randint(1, 3000)}us"))

    def change(self):
        """What a fault changes, and to what."""
        kind = self.one(
            (
                "down",
                "up",
                "flap",
                "drain",
                "rate",
                "slow",
                "delay",
                "hold",
                "reorder",
                "loss",
                "bit-errors",
                "silent-drop",
                "pause-storm",
            )
        )
        shares = dict.fromkeys(("slow", "loss", "silent-drop"), self.one((0.01, 0.5, 0.999, 1.0)))
        value = {
            "rate": self.one(("1Mbps", self.quantity("bps"))),
            **dict.fromkeys(("delay", "hold"), self.quantity("s")),
            "reorder": {"share": self.one((0.01, 1.0)), "delay": self.quantity("s")},
            "bit-errors": self.one((1e-12, 1e-6, 1.0)),
        }
        value |= shares
        flap = {"period": self.quantity("s"), "until": self.quantity("s")} if kind == "flap" else {}
        return {"kind": kind} | flap | ({"value": value[kind]} if kind in value else {})

    def rows(self):
        """Rows of a trace."""

        def row():
            start = self.magnitude(0, 2 * 10**6, (1e-9, 1e-4))
            return [start, self.random.randint(0, 3), self.random.randint(0, 3), self.integer({}, None)]

        return [row() for _ in range(self.random.randint(1, 5))]

    def ends(self):
        return self.one((self.one(HOSTS), [self.one(HOSTS) for _ in range(self.random.randint(1, 4))]))


SPECIAL = {
    "edges": Draw.edges,
    "from": Draw.ends,
    "to": Draw.ends,
    "link": lambda draw: draw.one(PORTS).replace("->", draw.one(("->", "<->"))),
    "ports": lambda draw: draw.one(("all", "bottleneck", [draw.one(PORTS)])),
    "sizes": lambda draw: draw.one(("websearch", "hadoop", "20KB", draw.quantity("B"), [[1, 0.5], [9, 1]])),
    "load": lambda draw: draw.one((1e-9, 0.1, 0.5, 1, "40%", 1.5, 0)),
    "server_switches": lambda draw: ["s0"],
    "duration": Draw.duration,
    "name": lambda draw: draw.one(("run", "a b", "😀")),
    "rtt": lambda draw: f"{5040 * draw.random.randint(1, 10**5)}ps",
    "mtu": lambda draw: f"{draw.one((300, 1500, 4096, 9000, 65535))}B",
    "header": lambda draw: f"{draw.one((1, 40, 64, 200))}B",
    "k": lambda draw: draw.one((2, 4, 4, 6, 64, 66, 3)),
}
"""Keys of which the schema says little, by name."""
ALWAYS = {"Graph": {"edges", "hosts"}, "Poisson": {"flows"}}
"""Keys by the title of a table that the schema does not require, but that most have."""

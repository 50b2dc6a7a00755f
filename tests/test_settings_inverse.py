"""Settings are read as they were written: random scenarios, written, read and run.

The run of what was read is that of the scenario with the values that the hardware holds, which are computed
here from its units, or an error names each key that differs by more than three per cent. The number of
scenarios is `SHALLOWS_SETTINGS_CASES`.
"""

import json
import math
import os
import random
from math import gcd

import pytest

import shallows as sh
from shallows.settings import mlx5, sonic_export
from shallows.settings.reading import read_all

CASES = int(os.environ.get("SHALLOWS_SETTINGS_CASES", "60"))
RATE_GBPS = 100
SHARE = 0.03


class Draw:
    """A scenario, the same with what hardware holds, and the keys that it cannot hold."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.far = set()
        far = self.random.random() < 0.3
        self.chance = 0.15 if far else 0.0
        cc = self.algorithm()
        self.times = {}
        if self.random.random() < 0.4:  # of a port, so that all classes have the same
            self.times["watchdog"] = f"{self.random.randrange(100, 5001)}ms"
            if self.random.random() < 0.5:
                self.times["restoration"] = f"{self.random.randrange(100, 60_001)}ms"
        classes = self.random.random() < 0.6
        asked, held = self.in_classes() if classes else self.in_network()
        base = {
            "seed": seed,
            "duration": f"{self.random.randrange(25, 45)}us",
            "topology": {"kind": "star", "hosts": 4, "rate": f"{RATE_GBPS}Gbps", "rtt": "2us"},
        }
        self.asked = {**base, **asked, "cc": cc[0]}
        self.held = {**base, **held, "cc": cc[1]}

    def near(self, key, unit, least, most, low, high):
        """(value, value on the hardware) in units of `unit`, of which the hardware holds whole numbers."""
        whole = self.random.randrange(low, high + 1)
        value = whole * (1 + self.random.uniform(-0.02, 0.02))
        if self.random.random() < self.chance:
            value = whole * self.random.uniform(0.3, 1.7)
        if self.random.random() < 0.3:
            value = whole
        value = max(least, float(f"{value:.4g}"))  # the least that a scenario may ask for
        if unit < 1:  # and the most: a share of 1
            value = min(value, 1 / unit)
        stated = min(most, max(least, round(value)))
        if abs(stated - value) > SHARE * value:
            self.far.add(key)
        return value * unit, stated * unit

    def pair(self, key, suffix, *limits):
        """The same as texts, such as ("4.97us", "5us")."""
        return tuple(f"{value:.10g}{suffix}" for value in self.near(key, 1, *limits))

    def algorithm(self):
        """`[cc]` of dcqcn with times that act within tens of microseconds."""
        values = {
            "tau": self.pair("cc.tau", "us", 1, 131071, 1, 40),
            "tau_prime": self.pair("cc.tau_prime", "us", 1, 131071, 1, 40),
            "t": self.pair("cc.t", "us", 1, 131071, 1, 60),
            "r_ai": self.pair("cc.r_ai", "Mbps", 1, 131071, 30, 9000),
            "min_rate": self.pair("cc.min_rate", "Mbps", 1, 131071, 10, 2000),
            "alpha": self.near("cc.alpha", 1 / 1024, 0, 1023, 40, 1000),
            "f": (steps := self.random.randrange(0, 6), steps),
        }
        kept = self.random.randrange(100, 1024)
        values["g"] = (1 - kept / 1024,) * 2
        values["b"], off = self.byte_counter(float(values["t"][0][:-2]))
        before = set(self.far)
        values["r_hai"] = self.pair("cc.r_hai", "Mbps", 1, 131071, 30, 90000)
        if off:  # nothing reaches hyper increase
            self.far = before
        values["clamp"] = (self.random.random() < 0.5,) * 2
        sampled = self.random.random() < 0.2
        asked, held = ({key: pair[side] for key, pair in values.items()} for side in (0, 1))
        return {"name": "dcqcn", "sampled": sampled, **asked}, {"name": "dcqcn", **held}

    def byte_counter(self, timer_us):
        """(values, whether it is off): at most 32767 B, or so long that the timer does 97 % of the work."""
        off = RATE_GBPS * 1e9 / 8 * timer_us * 1e-6 / SHARE
        kind = self.random.random()
        if kind < self.chance:
            self.far.add("cc.b")
            return (f"{round(self.random.uniform(40e3, 0.98 * off))}B", "32767B"), False
        if kind < 0.5:
            return (f"{round(off * self.random.uniform(1.02, 90))}B", "1000000GB"), True
        return (f"{self.random.randrange(1000, 32768)}B",) * 2, False

    def marking(self, key):
        low = self.random.randrange(2000, 60_000)
        if self.random.random() < 0.4:
            return ({"kind": "step", "threshold": f"{low}B", "at": "dequeue"},) * 2
        pmax = self.near(f"{key}.pmax", 1 / 100, 1, 100, 1, 98)
        high = low + self.random.randrange(1000, 60_000)
        table = {"kind": "red", "kmin": f"{low}B", "kmax": f"{high}B", "at": "dequeue"}
        if self.random.random() < 0.2:
            table["nodrop"] = True
        return {**table, "pmax": pmax[0]}, {**table, "pmax": pmax[1]}

    def memory(self, key):
        """Size and alpha of a memory that ports share; alpha is a power of two on the hardware."""
        power = self.random.randrange(-5, 6)
        alpha = 2.0**power * (1 + self.random.uniform(-0.02, 0.02))
        if self.random.random() < self.chance:
            alpha = 2.0**power * self.random.uniform(1.05, 1.35)
            self.far.add(f"{key}.alpha")
        size = {"size": f"{self.random.randrange(200_000, 2_000_000)}B"}
        return {**size, "alpha": alpha}, {**size, "alpha": 2.0**power}

    def pauses(self, threshold):
        table = {"hysteresis": f"{self.random.randrange(1, 9000)}B"}
        if threshold:
            table["threshold"] = f"{self.random.randrange(10_000, 90_000)}B"
        if self.random.random() < 0.6:
            table["headroom"] = f"{self.random.randrange(30_000, 90_000)}B"
        if self.times:
            table |= self.times
        return table

    def in_network(self):
        asked, held = {}, {}
        asked["marking"], held["marking"] = self.marking("network.marking")
        kind = self.random.choice(["pfc", "shared", "both", "buffer"])
        if kind in ("pfc", "both"):
            asked["pfc"] = held["pfc"] = self.pauses(kind == "pfc")
        if kind in ("shared", "both"):
            asked["shared"], held["shared"] = self.memory("network.shared")
        if kind == "buffer":
            asked["buffer"] = held["buffer"] = f"{self.random.randrange(130_000, 400_000)}B"
        traffic = [self.traffic({})]
        self.queues = self.random.sample(range(8), self.random.randrange(1, 3))
        self.dscp = ()
        return ({"network": network, "traffic": traffic} for network in (asked, held))

    def traffic(self, more):
        size = self.random.randrange(30_000, 300_000)
        return {"kind": "incast", "senders": 3, "size": f"{size}B", **more}

    def in_classes(self):
        count = self.random.randrange(2, 6)
        self.queues = sorted(self.random.sample(range(8), count), reverse=True)
        self.dscp = self.random.sample(range(64), count) if self.random.random() < 0.5 else ()
        strict = self.random.randrange(0, count + 1)
        pools = [self.memory(f"pools[{at}]") for at in range(self.random.randrange(0, 3))]
        used, classes, traffic = set(), ([], []), []
        for at in range(count):
            both = ({"name": f"class {at}"}, {"name": f"queue-{self.queues[at]}"})
            roce = at == 0 or self.random.random() < 0.6
            marks = self.marking(f"classes[{at}].marking") if roce else ("none", "none")
            place = self.random.randrange(len(pools)) if pools and self.random.random() < 0.6 else None
            lossless = self.pauses(place is None) if self.random.random() < 0.5 else None
            buffer = f"{self.random.randrange(130_000, 400_000)}B"
            weight = self.random.randrange(1, 101 if self.random.random() < 0.9 else 400)
            for one, marking, name in zip(both, marks, ("pool", "shallows_pool"), strict=True):
                one["marking"] = marking
                if at >= strict:
                    one["weight"] = weight
                if lossless:
                    one["pfc"] = lossless
                if place is not None:
                    one["pool"] = f"{name}_{place}"
                elif not lossless:
                    one["buffer"] = buffer
            used |= {place} - {None}
            classes[0].append(both[0])
            classes[1].append(both[1])
            more = {} if roce else {"cc": "cubic"}
            traffic.append(self.traffic(more))
        self.check_weights([one.get("weight") for one in classes[0]])
        for at in set(range(len(pools))) - used:
            self.far.discard(f"pools[{at}].alpha")
        return self.tables(classes, traffic, pools, sorted(used))

    def tables(self, classes, traffic, pools, used):
        """Both scenarios. The pools that classes use have new numbers without the others."""
        new = {place: at for at, place in enumerate(used)}
        self.far = {
            f"pools[{new[int(key[6])]}].alpha" if key.startswith("pools") else key for key in self.far
        }
        for side, name in enumerate(("pool", "shallows_pool")):
            for one in classes[side]:
                if "pool" in one:
                    one["pool"] = f"{name}_{new[int(one['pool'].rpartition('_')[2])]}"
            yield {
                "classes": classes[side],
                "pools": [{"name": f"{name}_{new[place]}", **pools[place][side]} for place in used],
                "traffic": [
                    {**table, "class": one["name"]} for table, one in zip(traffic, classes[side], strict=True)
                ],
            }

    def check_weights(self, weights):
        """A weight is from 1 to 100, in lowest terms if it is larger."""
        known = [weight for weight in weights if weight]
        if known and max(known) > 100 and max(known) // gcd(*known) > 100:
            self.far.add("weight")


def written(made, queues, dscp, folder):
    """What reading gives of both files, or the keys of the errors."""
    keys = []
    exports = {
        "config_db.json": lambda: json.dumps(sonic_export.entries(made, queues=queues, dscp=dscp).tables),
        "nic.sh": lambda: mlx5.commands(made).script(),
    }
    for name, export in exports.items():
        try:
            (folder / name).write_text(export())
        except sh.ScenarioError as error:
            keys += [one.key for one in error.every]
    return keys or read_all([folder / name for name in exports])


@pytest.mark.parametrize("seed", range(CASES))
def test_what_is_written_is_read_and_runs_the_same(seed, tmp_path):
    draw = Draw(seed)
    made = sh.Scenario(**draw.asked)
    found = written(made, draw.queues, draw.dscp, tmp_path)
    if draw.far:
        assert isinstance(found, list), draw.far
        weights = {key for key in found if key.endswith(".weight")}
        assert set(found) - weights == draw.far - {"weight"} or (weights and "weight" in draw.far)
        return
    assert not isinstance(found, list), found
    tables = dict(draw.held)
    for key in ("network", "classes", "pools"):
        tables.pop(key, None)
    pasted = sh.Scenario(**{**tables, **found.tables})
    expected = sh.Scenario(**draw.held)
    assert sh.run(pasted).summary["fingerprint"] == sh.run(expected).summary["fingerprint"]
    for name, value in expected.cc.parameters.items():
        assert math.isclose(pasted.cc.parameters[name], value, rel_tol=1e-9), name

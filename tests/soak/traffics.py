"""Random tables of traffic, a part of `soak.scenarios`."""

from shallows.traffic import KINDS as TRAFFICS
from shallows.traffic import Collective

ENDLESS = ("long-lived", "staircase")


class Traffics:
    """The pieces of `Draw` that draw traffic."""

    def collective(self, kind, start):
        """A collective of all hosts or of groups; halving needs a power of two of ranks."""
        chunk = {"chunk": self.size(1e3, 1e5)}
        own = {
            "all-reduce": (
                {"algorithm": "ring"},
                {"algorithm": "tree", **chunk},
                {"algorithm": "halving-doubling"},
            ),
            "reduce-scatter": ({"algorithm": "ring"}, {"algorithm": "halving"}),
            "all-gather": ({"algorithm": "ring"}, {"algorithm": "doubling"}),
            "broadcast": (chunk, {}),
            "all-to-all": tuple(
                {"order": order, "gini": self.one((0.0, 0.1, 0.5, 0.99))}
                for order in ("rotated", "pairwise", "at-once")
            ),
        }[kind]
        table = {
            "size": self.size(1e3, 2e5),
            "start": start,
            "channels": self.one((1, 1, 2, 3, 8)),
            "step_delay": self.time(1e-9, 1e-5),
            "jitter": self.one(("0s", self.time(1e-12, 1e-5))),
        }
        table = {key: value for key, value in table.items() if self.maybe(0.7)}
        if self.maybe(0.2):
            table |= {"queue_pairs": self.one((1, 2, 3, 8)), "split": self.maybe(0.5)}
        ranks = hosts = self.wired.hosts
        if self.maybe(0.3) and hosts > 1:
            ranks = self.one([count for count in (2, 4, 8, 3, 6) if count <= hosts])
            table["hosts"] = self.random.sample(range(hosts), ranks)
        if self.maybe(0.3):
            divisors = [count for count in range(2, ranks + 1) if ranks % count == 0]
            ranks = table["group_size"] = self.one(divisors or [2])
        chosen = self.one(own)
        if {"halving", "doubling", "halving-doubling"} & {chosen.get("algorithm")} and ranks & (ranks - 1):
            chosen = own[0] if self.maybe(0.9) else chosen
        whole = self.wired.in_server.any() and not {"hosts", "group_size"} & table.keys()
        if chosen.get("algorithm") == "ring" and self.maybe(0.5 if whole else 0.02):
            table["rails"] = self.one((False, True))
        return {"kind": kind, **table, **chosen}

    def of_any_kind(self):
        """Keys that every kind has."""
        table = {}
        if self.maybe(0.1):
            table["name"] = self.one(("background", "a b", "😀"))
        if self.maybe(0.1):
            table["priority"] = 1
        if self.maybe(0.15):
            table["cc"] = self.cc()
        if len(self.wired.switch_names) == 1 and self.maybe(0.2):  # the way of all flows
            table["route"] = [*self.wired.switch_names]
        return table

    def tasks(self, start):
        """Messages and computations, each after some of those before it that end at its host."""
        hosts, rows, ends = self.wired.hosts, [], []
        for number in range(self.random.randint(1, 12)):
            host = self.random.randrange(hosts)
            row = {"name": f"t{number}", "delay": start}
            if number and self.maybe(0.4):
                row |= {"host": host, "compute": self.time(1e-9, 1e-4), "processor": self.one((0, 0, 1))}
                ends.append({host})
            else:
                other = (host + self.random.randrange(1, hosts)) % hosts if hosts > 1 else host
                row |= {"from": host, "to": other, "size": self.size(1, 1e5)}
                ends.append({host, other})
            here = [other for other in range(number) if host in ends[other]]
            chosen = self.random.sample(here, min(len(here), self.one((0, 1, 1, 2, 3))))
            if self.maybe(0.1) and number:
                chosen, row["global"] = [self.random.randrange(number)], True
            sent = [other for other in chosen if rows[other].get("from") == host and self.maybe(0.3)]
            row["after"] = [f"t{other}" for other in chosen if other not in sent]
            row["behind"] = [f"t{other}" for other in sent]
            if len(chosen) > 1 and self.maybe(0.3):
                row["needs"] = self.random.randrange(1, len(chosen))
            rows.append(row)
        return {"kind": "tasks", "tasks": rows}

    def training(self, start):
        """An iteration of a small model over all hosts, divided in some way."""
        hosts = self.wired.hosts
        divisors = [count for count in (1, 2, 3, 4) if hosts % count == 0]
        tp = self.one(divisors)
        pp = self.one([count for count in divisors if hosts // tp % count == 0])
        dp = hosts // tp // pp
        more = {
            "hosts": self.random.sample(range(hosts), hosts),
            "dp": dp,
            "backward": self.time(1e-7, 1e-4),
            "gini": self.one((0.0, 0.1, 0.9)),
            "step_delay": self.time(1e-9, 1e-5),
            "spread": self.one((0.0, 0.01, 10.0)),
        }
        return {key: value for key, value in more.items() if self.maybe()} | {
            "kind": "training",
            "tp": tp,
            "pp": pp,
            "ep": self.one([count for count in (1, 2, 4) if dp % count == 0]),
            "layers": pp * self.random.randint(1, 3),
            "gradients": self.size(1e4, 1e5),
            "bucket": self.size(2e4, 1e5),
            "forward": self.time(1e-7, 1e-4),
            "overlap": self.maybe(0.5),
            "micro_batches": self.random.randint(1, 3),
            "schedule": self.one(("1f1b", "gpipe")),
            "activations": self.size(1e3, 5e4),
            "dispatch": self.size(1e4, 5e4),
            "algorithm": self.one(("ring", "tree")),
            "start": start,
        }

    def traffic(self, seconds):
        kind = self.one(tuple(TRAFFICS))
        start = self.time(1e-9, max(1e-8, seconds / 40))
        if issubclass(TRAFFICS[kind], Collective):
            return self.collective(kind, start) | self.of_any_kind()
        payload = lambda: self.size(1, 3e5)  # noqa: E731
        if kind == "tasks":
            return self.tasks(start) | self.of_any_kind()
        if kind == "training":
            return self.training(start) | self.of_any_kind()
        table = {
            "long-lived": {
                "flows": self.random.randint(1, 20),
                "start": start,
                "stagger": self.time(1e-9, 1e-5),
            },
            "staircase": {
                "flows": self.random.randint(1, 5),
                "interval": self.time(1e-6, 1e-3),
                "start": start,
            },
            "incast": {
                "senders": self.random.randint(1, min(3, max(1, self.wired.hosts // 2 - 1))),
                "size": payload(),
                "start": start,
                "to": self.random.randrange(self.wired.hosts),
            },
            "shuffle": {"size": self.size(1, 2e4), "start": start},
            "request-response": {
                "pairs": self.random.randint(1, 6),
                "exchanges": self.random.randint(1, 10),
                "start": start,
                "request": self.one((payload(), payload(), [[100, 0.5], [20_000, 1.0]])),
                "response": self.one((payload(), payload(), "hadoop_hpcc_bytes")),
                "service": self.time(1e-9, 1e-3),
                "think": self.time(1e-9, 1e-3),
            },
            "poisson": {
                "sizes": self.one(("websearch", "hadoop", "datamining", payload(), payload())),
                "load": self.one((1e-9, 0.1, 0.5, 0.9, 1.0)),
                "load_of": self.one(("host",) * 4 + ("bottleneck",)),
                "flows": self.random.randint(1, 200),
                "below": "1MB",
            },
            "trace": {"flows": [self.row(seconds) for _ in range(self.random.randint(1, 30))]},
            "driven": {"flows": self.messages(seconds)},
        }[kind]
        listed = {"trace": {"flows"}, "driven": {"flows"}}
        need = ({"poisson": {"sizes", "load", "below"}} | listed).get(kind, set())
        table = {key: value for key, value in table.items() if key in need or self.maybe(0.7)}
        if kind == "shuffle":
            table.setdefault("size", "10KB")
        if self.maybe(0.15) and kind not in ("incast", *listed):
            table["from"], table["to"] = ([host] for host in self.pair())
            if self.maybe(0.3):
                table[self.one(("from", "to"))] = self.one(("h*", "h[0-2]", "h?", ["h0", "h*1"]))
        if self.maybe() and kind not in ("poisson", *listed):
            table["jitter"] = self.one(("0s", self.time(1e-12, 1e-4)))
        if self.maybe(0.3) and kind == "incast":
            table["from"] = self.one(("h*", list(self.pair())))
            table.pop("senders", None)
        if self.maybe(0.3) and kind == "incast":
            table |= {"times": self.random.randint(1, 10), "period": self.time(1e-9, 1e-3)}
        if self.maybe(0.2) and kind == "incast" and "period" not in table:
            table |= {"times": self.random.randint(1, 10), "load": self.one((0.001, 0.02, 0.5, 1.0))}
        table |= self.of_any_kind()
        if kind == "driven" and self.maybe(0.3):
            table |= self.externally_driven(seconds)
        if self.maybe(0.1) and kind in ("long-lived", "incast"):
            table |= self.routed(kind)
        if self.maybe(0.1) and kind == "long-lived":
            table["stop"] = self.time(1e-4, 1e-2)
        if self.maybe(0.2) and kind == "long-lived":
            turns = {key: self.time(1e-9, 1e-2) for key in ("on", "off")} if self.maybe(0.7) else {}
            table |= turns | ({"exchange": payload()} if self.maybe(0.6) else {})
        elif self.maybe(0.2) and kind == "long-lived":
            table["rate"] = self.one(("1Mbps", "100Mbps", "1Gbps"))
        return {"kind": kind, **table}

    def routed(self, kind):
        """A host's flows along a random path of links, if it ends at another host."""
        wired, switches = self.wired, []
        node = source = self.random.randrange(wired.hosts)
        for _ in range(8):
            ends = wired.link_to[wired.link_from == node].tolist()
            hosts = [end for end in ends if end < wired.hosts and end != source]
            onward = [end for end in ends if end >= wired.hosts and end not in switches]
            if switches and hosts and (not onward or self.maybe(0.4)):
                names = [wired.switch_names[switch - wired.hosts] for switch in switches]
                sides = {"from": [source], "to": [self.one(hosts)] if kind != "incast" else self.one(hosts)}
                return {"route": names, **sides} | ({"senders": 1} if kind == "incast" else {})
            if not onward:
                break
            node = self.one(onward)
            switches.append(node)
        return {}

    def row(self, seconds):
        """A line of a trace."""
        src, dst = self.pair()
        return [self.random.uniform(0, seconds), src, dst, self.random.randint(1, 10**5)]

    def messages(self, seconds):
        """The columns of a driven table, whose numbers no other table has."""
        rows = [self.row(seconds) for _ in range(self.random.randint(1, 30))]
        columns = dict(
            zip(("start_s", "src", "dst", "bytes"), map(list, zip(*rows, strict=True)), strict=True)
        )
        return columns | {"number": self.random.sample(range(2**32), len(rows))}

    def externally_driven(self, seconds):
        """Flows of `external`, and what a program has set for the first flow of the run."""
        rows = range(self.random.randint(0, 3))
        columns = {
            "at_s": [self.random.uniform(0, seconds) for _ in rows],
            "flow": [0 for _ in rows],
            "window_bytes": [self.random.randint(1, 10**6) for _ in rows],
            "rate_bps": [self.one((0, 10**6, 10**9)) for _ in rows],
        }
        return {"cc": {"name": "external"}, "settings": columns}

    def pair(self):
        """Two hosts, where there are two."""
        src = self.random.randrange(self.wired.hosts)
        return src, (src + self.random.randint(1, max(1, self.wired.hosts - 1))) % self.wired.hosts

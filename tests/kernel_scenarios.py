"""Random scenarios that the kernel world may take: the same on every machine for a seed and a number."""

import random

RECEIVER = {"kind": "inigo", "resolution": "1ms"}
ALGORITHMS = (
    "reno",
    "cubic",
    "dctcp",
    "dx",
    "inigo",
    {"name": "inigo", "dilation": False},
    {"name": "reno", "receiver": RECEIVER},
)
"""One for each row of docs/worlds.md that names an algorithm."""


def draw(seed, number):
    """A scenario as a dict. About a third have flows with an end or several algorithms."""
    random_ = random.Random(f"kernel {seed}/{number}")
    mbps = round(10 ** random_.uniform(1, 2.3))
    rtt_us = round(10 ** random_.uniform(2.7, 4.2) / 8) * 8
    cc = random_.choice(ALGORITHMS)
    network = {"buffer": f"{random_.choice((60, 100, 200))}pkt", "marking": "none"}
    if cc == "dctcp":
        network["marking"] = {"kind": "step", "threshold": f"{random_.choice((10, 20, 30))}pkt"}
    topology = _topology(random_, f"{mbps}Mbps", f"{rtt_us}us", random_.choice((2, 4, 20)) * mbps)
    traffic = [_traffic(random_, topology)]
    if random_.random() < 0.1:
        traffic.append(
            {"kind": "long-lived", "flows": 1, "jitter": "20ms", "cc": random_.choice(("reno", "cubic"))}
        )
    return {
        "seed": number,
        "duration": "4s",
        "warmup": "0s" if traffic[0]["kind"] == "request-response" else "1500ms",
        "topology": topology,
        "network": network,
        "hosts": {"rto": "internet", "acks_every": random_.choice((1, 1, 2))},
        "cc": cc,
        "traffic": traffic,
    }


def _topology(random_, rate, rtt, edge_mbps):
    kind = random_.choice(("dumbbell", "dumbbell", "star", "parking-lot", "multi-bottleneck", "leaf-spine"))
    edge_rate = f"{min(edge_mbps, 1000)}Mbps"
    if kind == "dumbbell":
        return {
            "kind": kind,
            "hosts": random_.randint(1, 5),
            "rate": rate,
            "rtt": rtt,
            "edge_rate": edge_rate,
        }
    if kind == "star":
        return {"kind": kind, "hosts": random_.randint(2, 7), "rate": rate, "rtt": rtt}
    if kind == "parking-lot":
        return {"kind": kind, "hops": 2, "hosts": random_.randint(1, 2), "rate": rate, "rtt": rtt}
    if kind == "multi-bottleneck":
        hosts = [random_.randint(1, 2) for _ in range(3)]
        return {"kind": kind, "hosts": hosts, "rate": rate, "rtt": rtt, "edge_rate": edge_rate}
    spine = {"leaves": 2, "spines": random_.choice((1, 1, 2)), "hosts_per_leaf": random_.randint(1, 3)}
    return {"kind": kind, **spine, "rate": rate, "link_delay": "100us"}


def _traffic(random_, topology):
    kind = random_.choice(
        ("long-lived", "long-lived", "long-lived", "long-lived", "shuffle", "request-response")
    )
    if kind == "long-lived" and topology["kind"] == "leaf-spine":
        return {"kind": kind, "jitter": "20ms", "flows": topology["hosts_per_leaf"]}
    if kind == "long-lived":
        return {"kind": kind, "jitter": "20ms"}
    if kind == "shuffle":
        return {"kind": kind, "size": "30MB", "jitter": "20ms"}
    return {"kind": kind, "exchanges": 10, "response": f"{random_.choice((20, 100, 500))}KB"}

"""The named cause of a slow collective is the one that was planted, and none is named where none was."""

import random

import pytest

import shallows as sh

NAMES = {
    "slow port": "slow link",
    "half-rate link": "slow link",
    "costs of hosts": "host costs",
    "timeouts": "timeouts",
    "incast": "other traffic",
    "hash collision": "uneven paths",
    "pause": "pauses",
    "late rank": "late rank",
    "rate limit": "rate limits",
    "none": None,
}
"""What a report is to call each planted cause, written before the first run."""
EACH, FEW = 10, 1
"""Collectives for each cause, and those of the fast suite."""


def planted(draw, cause):
    """(a scenario with a random collective and this cause, the names of ports where it may act)."""
    rate, ranks = draw.choice([10, 25, 40, 100, 200, 400]), draw.choice([4, 6, 8])
    # With uplinks as fast as all hosts of a leaf together, messages of a ring do not meet in the fabric.
    per_leaf = ranks // 2 + 4
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": per_leaf}
    topology |= {"rate": f"{rate}Gbps", "spine_rate": f"{2 * per_leaf * rate}Gbps"}
    topology["link_delay"] = draw.choice(["200ns", "500ns", "1us"])
    members = [f"h{leaf * per_leaf + at}" for at in range(ranks // 2) for leaf in range(2)]
    others = [f"h{leaf * per_leaf + at}" for at in range(ranks // 2, per_leaf) for leaf in range(2)]
    # About as long as hundreds of packets at any rate, so that latencies are a small part.
    share = draw.randint(60, 200) * 1500
    kinds = [("all-reduce", share * ranks), ("reduce-scatter", share * ranks), ("all-gather", share * ranks)]
    kinds += [("broadcast", 8 * share)]
    kind, size = draw.choice(kinds)
    job = {"kind": kind, "name": "job", "size": f"{size}B", "hosts": members}
    if kind == "broadcast" and cause == "late rank":  # its other ranks wait for the first one anyway
        kind, job["kind"] = "all-gather", "all-gather"
    if kind == "broadcast":
        job["chunk"] = f"{share}B"
    tables = {"duration": "until-done", "seed": draw.randrange(1000), "topology": topology, "traffic": [job]}
    tables |= {"cc": "dcqcn", "network": {"pfc": True, "mtu": "1500B"}}
    message_us = share * 8e-3 / rate
    victim, ports = draw.choice(members), None
    if cause == "slow port":
        leaf = f"leaf{int(int(victim[1:]) >= per_leaf)}"
        # A broadcast starts at the first rank, and the last one sends nothing.
        ports = [draw.choice([f"{leaf}->{victim}"] if victim != members[0] else [f"{victim}->{leaf}"])]
        tables["faults"] = [{"link": ports[0], "kind": "slow", "value": draw.choice([0.2, 0.3, 0.4])}]
    elif cause == "half-rate link":
        leaf = f"leaf{int(int(victim[1:]) >= per_leaf)}"
        ports = [f"{leaf}->{victim}", f"{victim}->{leaf}"]
        value = f"{rate * 1000 // 2}Mbps"
        tables["faults"] = [{"link": f"{victim}<->{leaf}", "kind": "rate", "value": value}]
    elif cause == "costs of hosts":
        key = draw.choice(["message", "step"])
        cost_ns = round(1e3 * message_us * draw.choice([0.4, 1, 3]))
        tables["hosts"] = {"costs": [{key: f"{cost_ns}ns", "spread": draw.choice([0, 0.2])}]}
    elif cause == "timeouts":
        tables["cc"] = draw.choice(["dctcp", "dcqcn", "swift", "hpcc-roce", "nscc", "ndp"])
        tables["network"] = {"mtu": "1500B"}
        tables["hosts"] = {"rto_initial": "20ms"}
        if tables["cc"] in ("dctcp", "swift"):
            tables["hosts"]["rto_min"] = "20ms"
        leaf = f"leaf{int(int(members[0][1:]) >= per_leaf)}"
        # Of every fifth message a packet is lost, and of some the last one.
        tables["faults"] = [{"link": f"{members[0]}->{leaf}", "kind": "loss", "value": 0.05}]
    elif cause == "incast":
        leaf = f"leaf{int(int(victim[1:]) >= per_leaf)}"
        victim = members[1] if victim == members[0] else victim
        leaf = f"leaf{int(int(victim[1:]) >= per_leaf)}"
        ports = [f"{leaf}->{victim}"]
        sent = draw.randint(3, 6) * share // 4
        flows = [[1e-6 * draw.uniform(0, message_us), host, victim, sent] for host in others]
        tables["traffic"] = [job, {"kind": "trace", "name": "other", "flows": flows}]
    elif cause == "hash collision":
        topology["spine_rate"], topology["spines"] = f"{rate}Gbps", ranks // 2
    elif cause == "pause":
        # Five hosts of one leaf fill the port of a host of the other that is no rank: pauses reach all.
        senders = [host for host in others if int(host[1:]) < per_leaf]
        target = next(host for host in others if int(host[1:]) >= per_leaf)
        sent = draw.randint(4, 8) * share
        flows = [[0.0, host, target, sent] for host in senders]
        tables["cc"] = {"name": "fixed", "window": "5000pkt"}
        tables["network"] = {"pfc": {"threshold": "20KB"}, "mtu": "1500B"}
        tables["traffic"] = [job, {"kind": "trace", "name": "other", "flows": flows}]
    elif cause == "late rank":
        job["jitter"] = f"{round(1e3 * message_us * ranks * draw.choice([1, 2]))}ns"
    elif cause == "rate limit":
        trip = (
            8e3 * float(topology["link_delay"].strip("nsu")) * (1 if "n" in topology["link_delay"] else 1e3)
        )
        product = min(trip * rate / 8e3 + 8 * 1500, share)
        packets = max(1, int(draw.choice([0.2, 0.4]) * product / 1500))
        tables["cc"] = {"name": "fixed", "window": f"{packets}pkt"}
    return sh.Scenario(**tables), ports


@pytest.mark.parametrize("cause", NAMES)
@pytest.mark.parametrize(
    "number", [*range(FEW), *(pytest.param(number, marks=pytest.mark.nightly) for number in range(FEW, EACH))]
)
def test_the_planted_cause_is_named(cause, number):
    draw = random.Random(f"{cause} {number}")
    while True:
        scenario, ports = planted(draw, cause)
        run = sh.run(scenario)
        # A loss in the middle of a message is repaired without a timeout.
        if cause != "timeouts" or run.flows.timeouts.any():
            break
    row = run.summary["collectives"][0]
    print(
        cause,
        number,
        {key: row[key] for key in ("completion_us", "ideal_us", "cause", "cause_us", "cause_port")},
    )
    assert row["cause"] == NAMES[cause]
    if ports is not None:
        assert row["cause_port"] in ports

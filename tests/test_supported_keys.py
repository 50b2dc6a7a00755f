"""Every world supports a key of the scenario or refuses it: changing one changes what is run, or is an error.

The keys come from the scenario's own models: a new key without another value here fails.
"""

import re
from itertools import product
from pathlib import Path

import pytest

from each import each
from shallows.errors import ScenarioError
from shallows.registry import inserted
from shallows.runner import WORLDS, prepare
from shallows.scenario import HostTable, NetworkTable, RecordTable, Scenario, supported_keys
from shallows.scenario.given import Given
from shallows.topology import KINDS as TOPOLOGIES
from shallows.traffic import KINDS as TRAFFICS
from shallows.worlds import fluid, kernel, packet, wire

DOCUMENT = Path(__file__).parent.parent / "docs" / "scenario-worlds.md"
MODULES = {"packet": packet, "fluid": fluid, "kernel": kernel, "wire": wire}
BASE = {
    "duration": "20ms",
    "topology": {"kind": "star", "hosts": 4, "rate": "1Gbps", "rtt": "400us"},
    "cc": "dctcp",
    "traffic": [{"kind": "long-lived"}],
}
OTHER = {
    "top.name": "another",
    "top.seed": 7,
    "top.duration": "30ms",
    "top.warmup": "5ms",
    "top.cooldown": "5ms",
    "network.mtu": "1000B",
    "network.header": "60B",
    "network.buffer": "77pkt",
    "network.shared": {"size": "1MB"},
    "network.pfc": True,
    "network.policer": {"rate": "500Mbps", "burst": "30KB"},
    "network.trimming": {"queue": 100},
    "network.marking": {"kind": "step", "threshold": "13pkt"},
    "network.balancing": "packet",
    "network.entropies": 8,
    "network.changing": ["*->*"],
    "network.flowlet_gap": "1us",
    "network.convergence": "50ms",
    "network.delay_spread": 0.01,
    "top.classes": [{"name": "first"}, {"name": "bulk"}],
    "top.pools": [{"name": "memory", "size": "2MB"}],
    "top.ports": [{"names": "s0->h3", "buffer": "40pkt"}],
    "top.faults": [{"link": "s0->h3", "kind": "down", "at": "10ms"}],
    "hosts.nic": "fifo",
    "hosts.initial_window": "4pkt",
    "hosts.rto": "internet",
    "hosts.rto_min": "7ms",
    "hosts.rto_initial": "23ms",
    "hosts.rto_max": "900ms",
    "hosts.acks_every": 2,
    "hosts.ack_delay": "111us",
    "hosts.segment": 8,
    "hosts.segment_time": "100us",
    "hosts.option": "14B",
    "hosts.poll": "6us",
    "hosts.batch": 5,
    "hosts.ack_jitter": "3us",
    "hosts.piggyback": True,
    "hosts.loss_detection": "rack",
    "hosts.retransmission": "selective",
    "hosts.gap": 0.5,
    "hosts.prr": True,
    "hosts.timestamps": {"kind": "hardware"},
    "hosts.costs": [{"message": "1us"}],
    "traffic.0.priority": 1,
    "traffic.0.class": "bulk",
    "traffic.0.route": ["s0"],
    "traffic.0.name": "tenant",
    "traffic.0.cc": {"name": "dctcp", "g": 0.5},
    "cc.receiver": {"kind": "inigo", "resolution": "1ms"},
    "record.queues": "1ms",
    "record.probes": "1ms",
    "record.ports": ["s0->h3"],
    "record.flows": 1,
}
"""Another lawful value of every key that all scenarios have; that of a kind's own keys is in `KIND_KEYS`."""


def keys():
    """Every key of a scenario, but for the kinds and their own keys."""
    tables = {"network": NetworkTable, "hosts": HostTable, "record": RecordTable}
    below = {"top", "topology", "network", "hosts", "record", "traffic", "cc"}
    yield from (f"top.{key}" for key in Scenario.key_names() if key not in below)
    yield from (f"{name}.{key}" for name, model in tables.items() for key in model.model_fields)
    common = set.intersection(*(set(model.key_names()) for model in TRAFFICS.values())) - {"kind"}
    yield from (f"traffic.0.{key}" for key in sorted(common))
    yield "cc.receiver"


def asked(scenario, world):
    """All that a world's run depends on."""
    prepare(scenario, world=world)
    if world == "fluid":
        path, model, classes, class_of = fluid.translate(scenario)
        record = scenario.record.model_dump()
        span = (
            scenario.name,
            scenario.seed,
            scenario.duration,
            scenario.warmup,
            scenario.mtu,
            scenario.frame,
        )
        # Hosts are alike to a fluid, but for their names in the table of flows.
        ends = scenario.flows.src.tolist(), scenario.flows.dst.tolist()
        names = scenario.flows.names
        return repr(
            (path.rate_bps, path.base_rtt_s, model, classes, class_of.tolist(), record, span, ends, names)
        )
    said = packet.request(scenario)
    # Warnings and drawings tell the ports within servers from those of the fabric.
    inside = scenario.graph.in_server.tolist()
    return repr(
        (scenario.name, scenario.flows.names, inside, {key: _plain(value) for key, value in said.items()})
    )


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value


@each(product(keys(), WORLDS))
def test_a_key_changes_what_is_run_or_is_refused(key, world):
    memory = key in ("network.shared", "network.pfc")  # with these a port has no buffer of its own
    # Keys of a choice of paths need that choice, which other worlds refuse.
    choice = {"network.entropies": "reps", "network.flowlet_gap": "flowlet"}.get(key, "flow")
    balancing = choice if world == "packet" else "flow"
    plain = Scenario(**BASE, network={"balancing": balancing, **({} if memory else {"buffer": "300pkt"})})
    declared = MODULES[world].WORLD.supported_keys
    name = key.removeprefix("top.").replace("traffic.0", "traffic")
    try:
        changed = plain.replace({key.removeprefix("top."): OTHER[key]})
        before, after = asked(plain, world), asked(changed, world)
    except ScenarioError as error:
        refusal = error
    else:
        refusal = None
    if refusal:
        assert key.split(".")[-1] in refusal.key
        assert re.search(r": .{15,}", refusal.expected), refusal  # a reason
        return
    assert before != after
    assert name in declared, f"{name} acts in the {world} world and is not declared"


RANKS = {
    "hosts": [1, 0, 2, 3],
    "group_size": 2,
    "size": "9KB",
    "channels": 2,
    "step_delay": "1us",
    "start": "1ms",
    "jitter": "3us",
}
KIND_KEYS = {
    "topology": {
        "dumbbell": {"hosts": 6, "rate": "2Gbps", "rtt": "80us", "edge_rate": "40Gbps"},
        "star": {"hosts": 6, "rate": "2Gbps", "rtt": "80us"},
        "parking-lot": {"hops": 2, "hosts": 2, "rate": "2Gbps", "rtt": "80us"},
        "multi-bottleneck": {
            "hosts": [2, 2, 2],
            "rate": "2Gbps",
            "rtt": "80us",
            "edge_rate": "2Gbps",
            "same_rtt": False,
        },
        "leaf-spine": {
            "leaves": 2,
            "spines": 2,
            "hosts_per_leaf": 2,
            "rate": "2Gbps",
            "spine_rate": "3Gbps",
            "link_delay": "2us",
            "links_per_pair": 2,
            "planes": 2,
            "ports_per_host": 2,
        },
        "rail-optimised": {
            "units": 2,
            "servers": 3,
            "gpus": 2,
            "spines": 2,
            "rate": "2Gbps",
            "spine_rate": "3Gbps",
            "nvlink_rate": "4Gbps",
            "link_delay": "2us",
            "nvlink_delay": "2us",
            "links_per_pair": 2,
            "planes": 2,
        },
        "dragonfly+": {
            "groups": 3,
            "leaves": 2,
            "spines": 2,
            "hosts_per_leaf": 2,
            "links_per_group_pair": 8,
            "rate": "2Gbps",
            "spine_rate": "3Gbps",
            "global_rate": "4Gbps",
            "link_delay": "2us",
            "global_delay": "2us",
        },
        "fat-tree": {"k": 2, "rate": "2Gbps", "link_delay": "2us"},
        "three-tier": {
            "cores": 4,
            "aggregations": 4,
            "tors": 16,
            "hosts_per_tor": 2,
            "rate": "2Gbps",
            "uplink_rate": "3Gbps",
            "core_rate": "3Gbps",
            "link_delay": "2us",
            "host_delay": "2us",
        },
        "graph": {
            "edges": [["a", "s", "2Gbps", "1us"], ["b", "s", "1Gbps", "1us"]],
            "hosts": ["b", "a"],
            "server_switches": ["s"],
        },
    },
    "traffic": {
        "training": {
            "hosts": [1, 0, 2, 3],
            "dp": 1,
            "tp": 2,
            "pp": 1,
            "ep": 2,
            "layers": 2,
            "gradients": "9KB",
            "bucket": "3KB",
            "forward": "3us",
            "backward": "5us",
            "overlap": False,
            "micro_batches": 3,
            "schedule": "gpipe",
            "activations": "9KB",
            "dispatch": "9KB",
            "gini": 0.2,
            "algorithm": "tree",
            "step_delay": "1us",
            "start": "1ms",
            "spread": 0.5,
        },
        "tasks": {"tasks": [{"from": 0, "to": 1, "size": "1KB"}, {"host": 0, "compute": "1us"}]},
        "long-lived": {
            "flows": 2,
            "start": "1ms",
            "stagger": "1ms",
            "jitter": "3us",
            "stop": "9ms",
            "exchange": "5KB",
            "on": "3ms",
            "off": "3ms",
            "rate": "100Mbps",
        },
        "staircase": {"flows": 2, "interval": "3ms", "start": "1ms", "jitter": "3us"},
        "incast": {
            "senders": 2,
            "size": "3KB",
            "start": "1ms",
            "jitter": "3us",
            "times": 2,
            "period": "1ms",
            "load": 0.1,
        },
        "shuffle": {"size": "3KB", "start": "1ms", "jitter": "3us"},
        "all-reduce": RANKS | {"algorithm": "ring", "chunk": "1KB"},
        "reduce-scatter": RANKS | {"algorithm": "halving"},
        "all-gather": RANKS | {"algorithm": "doubling"},
        "broadcast": RANKS | {"chunk": "1KB"},
        "all-to-all": RANKS | {"order": "pairwise", "gini": 0.1},
        "request-response": {
            "pairs": 2,
            "exchanges": 3,
            "request": "3KB",
            "response": "3KB",
            "service": "1us",
            "think": "1us",
            "start": "1ms",
            "jitter": "3us",
        },
        "poisson": {
            "sizes": "2KB",
            "load": 0.3,
            "load_of": "bottleneck",
            "flows": 3,
            "below": "5KB",
        },
        "trace": {"flows": [[0, 0, 1, 3000]]},
        "driven": {
            "flows": {"start_s": [0.0], "src": [0], "dst": [1], "bytes": [3000], "number": [1]},
            "settings": {"at_s": [0.0], "flow": [0], "window_bytes": [1460], "rate_bps": [10**6]},
        },
    },
}
"""Another lawful value of every key of every kind; hosts are tried by `from` and `to` alike."""
PAUSING = {"on": "2ms", "off": "1ms"}
"""Of keys that have no default."""
PLAIN_KINDS = {
    "incast": {"times": 3, "period": "2ms"},
    "leaf-spine": {"spines": 1},
    "rail-optimised": {"nvlink_rate": "1Gbps"},
    "request-response": {"pairs": 4, "exchanges": 5},
    "graph": {"edges": [["a", "s", "1Gbps", "1us"], ["b", "s", "1Gbps", "1us"]], "hosts": ["a", "b"]},
    "poisson": {"sizes": "websearch", "load": 0.2, "flows": 20},
    "trace": {"flows": [[0, 0, 1, 2000]]},
    "driven": {
        "flows": {"start_s": [0.0], "src": [0], "dst": [1], "bytes": [2000], "number": [1]},
        "cc": "external",
    },
    "tasks": {"tasks": [{"from": 0, "to": 1, "size": "1KB"}]},
    "training": {"pp": 2, "micro_batches": 4, "gradients": "50KB", "bucket": "25KB"},
    "all-reduce": {"size": "4MB", "algorithm": "tree"},
    "broadcast": {"size": "90KB", "chunk": "9KB"},
}
"""What each kind has before; at 1 Gbps, so that the kernel world can run it."""


def kind_keys():
    """(table, kind, key) of every key of a kind."""
    for table, kinds in (("topology", TOPOLOGIES), ("traffic", TRAFFICS)):
        for kind, model in kinds.items():
            names = [field.alias or key for key, field in model.model_fields.items()]
            yield from (
                (table, kind, key)
                for key in names
                if key not in ("kind", "cc", "priority", "class", "name", "file")
                and (kind, key)
                != ("driven", "route")  # refused by itself: cases/mistakes/driven-with-a-route
            )


@each((*key, world) for key, world in product(kind_keys(), WORLDS))
def test_a_key_of_a_kind_changes_what_is_run_or_is_refused(table, kind, key, world):
    """The packet world refuses none; the others do so with a reason: the kind, or too much of it."""
    plain, other = {"kind": kind, **PLAIN_KINDS.get(kind, {})}, KIND_KEYS[table].get(kind, {}).get(key, 1)
    plain |= PAUSING if key in PAUSING else {}
    if (kind, key) == ("incast", "load"):  # in place of the period
        plain = {"kind": kind, "times": 1}
    other = {"route": ["s0"], "split": True}.get(key, other)
    plain |= {"queue_pairs": 2} if key == "split" else {}
    plain |= {"ep": 2} if kind == "training" and key in ("dispatch", "gini") else {}
    if "rate" in TOPOLOGIES.get(kind, Given).model_fields:
        plain["rate"] = "1Gbps"
    base = BASE
    if key == "rails":  # rings over servers of GPUs
        plain, other = {"kind": kind, "size": "4MB"}, True
        base = BASE | {
            "topology": {
                "kind": "rail-optimised",
                "servers": 2,
                "gpus": 2,
                "rate": "1Gbps",
                "nvlink_rate": "1Gbps",
            }
        }
    tables = {**base, "duration": "9s", table: plain if table == "topology" else [plain]}
    before = Scenario(**tables, network={"buffer": "300pkt"})
    after = before.set(f"{table}.{key}" if table == "topology" else f"{table}.0.{key}", other)
    try:
        same, refusal = asked(before, world) == asked(after, world), None
    except ScenarioError as error:
        refusal = error
    if refusal:
        assert world != "packet"
        assert re.search(r".{15,}", refusal.expected), refusal  # a reason
        return
    assert not same
    assert f"{table}.{kind}" in MODULES[world].WORLD.supported_keys


@pytest.mark.parametrize(
    "pauses", [{"exchange": "10KB"}, {"on": "2ms", "off": "1ms"}, {"rate": "100Mbps"}], ids=" ".join
)
def test_pauses_are_refused_over_credits(pauses):
    """Those of the fluid and the kernel world have cases."""
    pausing = Scenario(**BASE | {"traffic": [{"kind": "long-lived", **pauses}]})
    with pytest.raises(
        ScenarioError, match="it acts over tcp or roce or unordered, and expresspass runs over credit"
    ):
        pausing.set("cc", "expresspass")


def test_the_documents_tables_are_the_declarations():
    models = {"network": NetworkTable, "hosts": HostTable, "record": RecordTable}
    text = inserted.expanded(DOCUMENT.read_text())
    for table in (
        supported_keys.world_table([MODULES[world].WORLD for world in WORLDS], models),
        supported_keys.transport_table(),
    ):
        assert "\n".join(table) in text
    for name, parameters in kernel.WORLD.parameters.items():
        names = ", ".join(f"`{parameter}`" for parameter in parameters)
        assert (f"`{name}` ({names})" if names else f"`{name}`") in text


def test_a_key_may_be_set_where_it_acts_on_some_flow():
    both = [{"kind": "long-lived"}, {"kind": "long-lived", "cc": "dctcp"}]
    scenario = Scenario(**BASE | {"cc": "reno", "hosts": {"acks_every": 2}, "traffic": both})
    assert Scenario.from_toml(scenario.to_toml()) == scenario


def test_defaults_written_out_are_refused_nowhere():
    """What a run saves has every default in it, and runs again in its own world."""
    for world, cc in (
        ("packet", "timely"),
        ("packet", "expresspass"),
        ("packet", "ndp"),
        ("fluid", "dctcp"),
        ("kernel", "dctcp"),
    ):
        scenario = Scenario(**BASE | {"cc": cc, "hosts": {"rto": "internet"} if world != "fluid" else {}})
        prepare(Scenario.from_toml(scenario.to_toml()), world=world)


def test_a_preset_the_kernel_has_not_is_refused():
    with pytest.raises(ScenarioError, match="the kernel world supports ecn"):
        prepare(Scenario(**BASE | {"cc": "cubic@rfc9438"}), world="kernel")

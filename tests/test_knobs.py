"""Every parameter of every algorithm, receiver and marking, and every key of hosts, acts in some scenario.

It acts if a run is another with another value. What acts only where something rare happens has its scenario
in `SPECIAL`.
"""

from pathlib import Path

import pytest

import shallows as sh
from shallows.errors import ScenarioError
from shallows.registry import catalog

FAST = {"kind": "dumbbell", "hosts": 4, "rate": "10Gbps", "edge_rate": "40Gbps", "rtt": "40us"}
LONG, INCAST = (
    {"kind": "long-lived", "flows": 4},
    {"kind": "incast", "senders": 4, "size": "60KB", "start": "1ms"},
)
SCENARIOS = [
    {"duration": "6ms", "topology": FAST, "traffic": [LONG, INCAST]},
    {
        "duration": "60ms",
        "topology": {"kind": "star", "hosts": 8, "rate": "1Gbps", "rtt": "100us"},
        "network": {"buffer": "30pkt"},
        "traffic": [{"kind": "incast", "size": "300KB"}],
    },
    {
        "duration": "30ms",
        "topology": {"kind": "dumbbell", "hosts": 2, "rate": "10Gbps", "rtt": "200us"},
        "network": {"buffer": "250pkt"},
        "hosts": {},
        "traffic": [
            LONG | {"flows": 2},
            {"kind": "request-response", "pairs": 2, "exchanges": 9, "think": "1ms"},
        ],
    },
    {
        "duration": "200ms",
        "topology": {"kind": "star", "hosts": 20, "rate": "100Mbps", "rtt": "1ms"},
        "network": {"buffer": "8pkt"},
        "traffic": [LONG | {"flows": 19}],
    },
]
"""Fast and marked, overflowing, on and off, and with windows of less than a packet."""
MARKS = {
    "step": {"threshold": "6pkt"},
    "red": {"kmin": "3KB", "kmax": "9KB"},
    "pi": {"q_ref": "5KB"},
    "codel": {"target": "10us", "interval": "100us"},
}
CROWD = {
    "duration": "20ms",
    "topology": {"kind": "star", "hosts": 20, "rate": "10Gbps", "rtt": "20us"},
    "network": {"buffer": "unlimited"},
    "traffic": [LONG | {"flows": 19, "stagger": "100us", "stop": "12ms"}, LONG | {"flows": 3}],
}
SHARED = {
    "duration": "3s",
    "topology": {"kind": "dumbbell", "hosts": 3, "rate": "1Gbps", "edge_rate": "3Gbps", "rtt": "1ms"},
    "network": {"buffer": "50pkt"},
    "traffic": [LONG | {"flows": 3, "stagger": "100ms"}],
}
ALONE = {
    "duration": "30ms",
    "topology": {"kind": "dumbbell", "hosts": 1, "rate": "10Gbps", "edge_rate": "40Gbps", "rtt": "200us"},
    "traffic": [LONG | {"flows": 1}],
}
NOT_ECT = SCENARIOS[1] | {
    "traffic": [SCENARIOS[1]["traffic"][0], SCENARIOS[1]["traffic"][0] | {"cc": "cubic"}]
}
WITH_ECN = SCENARIOS[1] | {"traffic": [SCENARIOS[1]["traffic"][0] | {"cc": {"name": "reno", "ecn": True}}]}
LATE_ACKS = SCENARIOS[0] | {"hosts": {"acks_every": 16, "ack_delay": "200us", "rto_min": "5ms"}}
STEP = SCENARIOS[0] | {"network": {"marking": {"kind": "step", **MARKS["step"]}}}
SPRAYED = {
    "duration": "3ms",
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts_per_leaf": 4, "rate": "10Gbps"},
    "network": {"balancing": "packet", "buffer": "2MB"},
    "hosts": {"loss_detection": "rack"},
    "traffic": [LONG | {"from": [f"h{n}" for n in range(4)], "to": [f"h{n}" for n in range(4, 8)]}],
}
"""Packets that wait in a receiver's buffer for earlier ones."""
STEERED = SPRAYED | {"network": {"balancing": "bitmap", "entropies": 16}, "hosts": {}}
PLANES = {
    "duration": "3ms",
    "topology": {
        "kind": "leaf-spine", "leaves": 2, "spines": 8, "hosts_per_leaf": 4, "link_delay": "500ns",
        "planes": 4, "rate": "50Gbps",
    },
    "network": {"mtu": "4096B"},
    "hosts": {"rto_initial": "1ms"},
    "traffic": [LONG | {"from": [f"h{n}" for n in range(4)], "to": [f"h{n}" for n in range(4, 8)]}],
    "faults": [
        {"link": "p0.leaf0->p0.spine0", "kind": "silent-drop", "value": 1.0, "at": "200us"},
        {"link": "h4<->p1.leaf1", "kind": "down", "at": "400us"},
    ],
}  # fmt: skip
"""An uplink that drops everything in silence, and a port of a receiver that is down."""
TWO_QUEUES = SCENARIOS[0] | {
    "traffic": [LONG | {"flows": 2, "cc": cc} for cc in ("prague", "cubic", "dctcp")],
}
"""Packets in both queues of a port, so late that the controller reaches its bounds."""
DUAL = {"target": "50us", "update": "100us", "alpha": 100.0, "beta": 1000.0}
SECONDS = {
    "duration": "12s",
    "topology": {"kind": "dumbbell", "hosts": 2, "rate": "10Mbps", "edge_rate": "40Mbps", "rtt": "200ms"},
    "network": {"buffer": "500pkt"},
    "traffic": [LONG | {"flows": 2, "stagger": "1s"}],
}
"""Long enough for what happens each few seconds."""
SPECIAL = {
    # probes for bandwidth and for the least round trip, and the time for which that is remembered
    **{
        ("bbr3", name): (SECONDS, {})
        for name in ("min_rtt_window", "probe_rtt_time", "probe_rtt_gain", "probe_wait", "probe_wait_random")
    },
    # marks
    **{
        ("bbr3", f"ecn_{name}"): (SCENARIOS[0], {"ecn": True})
        for name in ("gain", "factor", "threshold", "rounds", "max_rtt")
    },
    **{
        ("dualpi2", name): (TWO_QUEUES, {key: value for key, value in DUAL.items() if key != name})
        for name in (*DUAL, "coupling", "step", "step_packets", "c_share", "limit", "drop_early", "any_ect")
    },
    # more windows of two packets than the target has room for
    ("dualpi2", "drop_overload"): (
        SCENARIOS[3] | {"network": {"buffer": "100pkt"}},
        DUAL | {"target": "200us"},
    ),
    # data that is not ECN-capable beside data that is
    **{(marking, "nodrop"): (NOT_ECT, {}) for marking in MARKS},
    # ECN-capable data of an algorithm that can do without marks
    **{(marking, "ecn"): (WITH_ECN, {}) for marking in MARKS},
    # what a flow gives up when it shares with one that joined
    ("cubic", "fast_convergence"): (SHARED, {"c": 400}),
    # growth for longer than a start: beyond Reno's, and after losses that are congestion
    ("cubic", "c"): (SHARED, {}),
    ("cdg", "shadow"): (SHARED, {}),
    # five round trips in a row that do not rise, between the thresholds
    ("timely", "hai"): (ALONE, {"start_rate": "100Mbps", "t_low": "50us"}),
    ("patched-timely", "base_rtt"): (CROWD, {}),
    ("patched-timely", "subtract_min_rtt"): (CROWD, {}),
    ("patched-timely-pi", "base_rtt"): (CROWD, {}),
    ("patched-timely-pi", "subtract_min_rtt"): (CROWD, {}),
    ("hull", "bucket"): (SCENARIOS[0], {"per_server": True}),
    # marks that nobody reads in place of an echo
    ("inigo", "ce"): (SCENARIOS[0], {"mark": True}),
    # several packets behind an acknowledgement
    ("inigo", "by_packets"): (SCENARIOS[0] | {"hosts": {"acks_every": 4}}, {}),
    # acknowledgements that wait at the receiver
    ("swift", "endpoint_target"): (LATE_ACKS, {}),
    ("swift", "endpoint_gain"): (LATE_ACKS, {}),
    # probes of a channel, whose interval is below that of a long run
    ("gap", "probe_interval"): (None, {"channel": True}),
    # packets that a port marks instead of dropping them
    ("external", "ecn"): (STEP, {"window": 200}),
    ("swift", "ecn"): (STEP, {}),
    ("swift-roce", "ecn"): (STEP, {}),
    # packets that arrive out of order
    ("swift", "nic_buffer"): (SPRAYED, {}),
    ("swift", "nic_target"): (SPRAYED, {"nic_buffer": 16}),
    # marks that steer paths
    ("ndp", "ecn"): (STEERED, {}),
    ("rccc", "ecn"): (STEERED, {}),
    # paths that lose packets, and ports that are down
    **{("mrc", name): (PLANES, {}) for name in ("spares", "bad_after", "value_probe", "port_status")},
    ("mrc", "ev_min_active"): (PLANES, {"spares": 0}),
    # bursts
    ("timely", "burst_rate"): (SCENARIOS[0], {"burst": True}),
    ("patched-timely", "burst_rate"): (SCENARIOS[0], {"burst": True}),
    ("patched-timely-pi", "burst_rate"): (SCENARIOS[0], {"burst": True}),
    # stages beyond F of timer and counter alike
    ("dcqcn", "var_win"): (CROWD, {"has_win": True}),
    ("dcqcn", "base_rtt"): (CROWD, {"has_win": True}),
    ("dcqcn", "r_hai"): (CROWD, {"f": 1, "b": "15KB", "t": "100us", "r_ai": "10Mbps"}),
}
"""{(name, parameter): (tables, parameters)}: where it acts, and beside which others, if nowhere above."""


def tables(row, scenario, part, parameters):
    """The tables of a scenario with `parameters` for the part: an algorithm, a receiver or a marking."""
    found = {**scenario, "network": dict(scenario.get("network", {}))}
    if part == "cc":
        kind = row["port"] if row["marking"] == "required" else None
        if kind in MARKS:
            found["network"]["marking"] = {"kind": kind, **MARKS[kind]}
        elif row["marking"] not in ("none", "required") and parameters.get(row["marking"]):
            found["network"]["marking"] = {"kind": row["port"], **MARKS.get(row["port"], {})}
        found["cc"] = {"name": row["name"], **parameters}
    elif part == "cc.receiver":
        found["cc"] = {
            "name": "dctcp" if parameters.get("mark") else "cubic",
            "receiver": {"kind": row["name"], **parameters},
        }
        if parameters.get("mark"):
            found["network"]["marking"] = {"kind": "step", **MARKS["step"]}
    else:
        found["cc"] = {"marks": "dctcp", "rates": "rcp", "records": "hpcc"}[row["tells"]]
        found["network"]["marking"] = {"kind": row["name"], **MARKS.get(row["name"], {}), **parameters}
    return found


def fingerprint(found):
    """What a run shows; None where the scenario is refused."""
    try:
        return sh.run(sh.Scenario(**found)).summary["fingerprint"]
    except ScenarioError:
        return None


def others(parameter, row):
    """Other values of a parameter, as a scenario writes them."""
    low, high, default = parameter["min"], parameter["max"], parameter["default"]
    high = high if high is not None else max(default or 1.0, 1.0) * 1e6
    if parameter["unit"] == "flag":
        return [not default]
    default = default if default is not None else high
    near = (default * 4, default / 4, default + 1, high, low, high / 1e5)
    values = {min(max(value, low), high) for value in near} - {default}
    return [
        written(value, parameter["unit"]) for value in sorted(values, key=lambda value: abs(value - default))
    ]


def written(value, unit):
    suffix, scale = {"s": ("ps", 1e12), "B": ("B", 1), "bit/s": ("bps", 1)}.get(unit, ("", 1))
    return f"{round(value * scale)}{suffix}" if suffix else float(value)


def knobs():
    for part, rows in {"cc": catalog.algorithms(), **catalog.other_catalogs()}.items():
        for row in rows:
            for parameter in row["parameters"]:
                yield pytest.param(part, row, parameter, id=f"{row['name']}.{parameter['name']}")


@pytest.mark.parametrize(("part", "row", "parameter"), list(knobs()))
def test_a_parameter_acts_in_some_scenario(part, row, parameter):
    name = parameter["name"]
    special, beside = SPECIAL.get((row["name"], name), (None, {}))
    for scenario in [special] if special else SCENARIOS:
        plain = fingerprint(tables(row, scenario, part, beside))
        for value in others(parameter, row):
            changed = fingerprint(tables(row, scenario, part, {**beside, name: value}))
            if None not in (plain, changed) and plain != changed:
                return
    pytest.fail(f"{row['name']}: {name} changes nothing in any of these scenarios")


OTHERS = {
    "hosts.initial_window": "3pkt",
    "hosts.rto_min": "50us",
    "hosts.rto_initial": "1500us",
    "hosts.rto_max": "2ms",
    "hosts.acks_every": 3,
    "hosts.ack_delay": "20us",
    "hosts.segment": 8,
    "hosts.segment_time": "100us",
    "hosts.option": "14B",
    "hosts.piggyback": True,
    "hosts.loss_detection": "rack",
    "hosts.retransmission": "selective",
    "hosts.prr": True,
    "hosts.gap": 0.5,
    "hosts.timestamps": {"kind": "software"},
    "cc.receiver": "inigo",
    "traffic.exchange": {"exchange": "30KB"},
    "traffic.off": {"on": "100us", "off": "300us"},
    "traffic.rate": {"rate": "2Mbps"},
}
"""Another value of each key that acts over some transports only."""
LOSSY = {
    "duration": "60ms",
    "topology": {"kind": "star", "hosts": 12, "rate": "1Gbps", "rtt": "30us"},
    "network": {"buffer": "4pkt"},
    "traffic": [{"kind": "incast", "size": "50KB"}],
}
"""Timeouts, several in a row."""
MANY = {
    "duration": "60ms",
    "topology": {"kind": "star", "hosts": 150, "rate": "1Gbps", "rtt": "30us"},
    "network": {"buffer": "4pkt"},
    "traffic": [{"kind": "incast", "size": "4KB"}],
}
"""So many requests at once that some are lost."""
BOTH_WAYS = {
    "duration": "20ms",
    "topology": {"kind": "star", "hosts": 2, "rate": "1Gbps", "rtt": "30us"},
    "traffic": [LONG | {"flows": 1, "from": 0, "to": 1}, LONG | {"flows": 1, "from": 1, "to": 0}],
}
"""Acknowledgements beside data."""
FAULTY = LOSSY | {"faults": [{"link": "s0<->h0", "kind": "loss", "value": 0.3}]}
"""Timeouts also where nothing is dropped."""
BESIDE = {
    "hosts.rto_max": {"rto_initial": "1ms"},
    "hosts.ack_delay": {"acks_every": 2, "rto_min": "1ms"},
    "hosts.segment_time": {"segment": 44},
}
SENDERS = Path(__file__).parents[1] / "crates/cc/src/sender"


def is_deaf_to(row, key):
    """It reads no delay, and may be compared under stamps with one that does."""
    if key != "hosts.timestamps" or row["transport"] != "tcp":
        return False
    stem = row["name"].replace("-", "_")
    # An algorithm is a file or a folder.
    files = [SENDERS / f"{stem}.rs", *(SENDERS / stem).glob("*.rs")]
    source = "".join(file.read_text() for file in files if file.is_file())
    return "ack.rtt" not in source and "ack.one_way_delay" not in source


@pytest.mark.parametrize("row", catalog.algorithms(), ids=lambda row: row["name"])
def test_a_key_that_an_algorithm_supports_acts(row):
    silent = []
    for key in row["honours"]:
        if not is_deaf_to(row, key) and not acts(row, key):
            silent.append(key)
    assert not silent, f"{row['name']} supports keys that change nothing: {silent}"


def acts(row, key):
    table, _, name = key.partition(".")
    parameters = {"window": 30} if row["name"] == "fixed" else {}
    for scenario in [LOSSY, *SCENARIOS, MANY, FAULTY, SHARED, BOTH_WAYS]:
        beside = {k: v for k, v in BESIDE.get(key, {}).items() if f"hosts.{k}" in row["honours"]}
        plain = tables(row, {**scenario, "hosts": beside}, "cc", parameters)
        if table == "traffic":
            later = [t | {"start": "300us"} if t["kind"] == "long-lived" else t for t in plain["traffic"]]
            paused = [t | OTHERS[key] if t["kind"] == "long-lived" else t for t in later]
            plain, changed = {**plain, "traffic": later}, {**plain, "traffic": paused}
        elif table == "hosts":
            changed = {**plain, "hosts": {**beside, name: OTHERS[key]}}
        else:
            changed = {**plain, "cc": {**plain["cc"], name: OTHERS[key]}}
        before, after = fingerprint(plain), fingerprint(changed)
        if None not in (before, after) and before != after:
            return True
    return False

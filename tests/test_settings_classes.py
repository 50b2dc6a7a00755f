"""Traffic classes as settings of a switch: each with its pauses, marking and memory at a queue of its own."""

import json

import pytest

from shallows.scenario import Scenario
from shallows.settings import sonic, sonic_export
from shallows.settings.explain import explain
from shallows.settings.fragment import on

BASE = {
    "duration": "1ms",
    "topology": {"kind": "star", "hosts": 3, "rate": "100Gbps", "rtt": "8us"},
    "cc": {"name": "dcqcn"},
}
CLASSES = {
    "classes": [
        {"name": "sync", "pfc": {"headroom": "20KB", "hysteresis": "3KB"}, "pool": "lossless"},
        {
            "name": "rdma",
            "weight": 60,
            "marking": {"kind": "red", "kmin": "50KB", "kmax": "200KB", "pmax": 0.1, "at": "dequeue"},
            "pfc": {"headroom": "30KB", "threshold": "90KB", "hysteresis": "4KB"},
        },
        {"name": "tcp", "weight": 40, "marking": "none", "pool": "lossless"},
        {"name": "rest", "weight": 10, "buffer": "400KB", "marking": "none"},
    ],
    "pools": [{"name": "lossless", "size": "4MB", "alpha": 0.25}],
    "traffic": [{"kind": "incast", "senders": 2, "size": "100KB", "class": "rdma"}],
}
COLOURS = {
    f"{colour}_{name}": value
    for colour in ("green", "yellow", "red")
    for name, value in (("min_threshold", "50000"), ("max_threshold", "200000"), ("drop_probability", "10"))
}
SAME = {str(number): str(number) for number in range(8)}
MAPPED = {"tc_to_queue_map": "SHALLOWS", "tc_to_pg_map": "SHALLOWS", "pfc_to_queue_map": "SHALLOWS"}
ENABLED = {f"wred_{colour}_enable": "true" for colour in ("green", "yellow", "red")}
OF_CLASSES = {
    "WRED_PROFILE": {"SHALLOWS_4": {"ecn": "ecn_all", **ENABLED, **COLOURS}},
    "SCHEDULER": {
        "SHALLOWS_6": {"type": "STRICT"},
        "SHALLOWS_4": {"type": "DWRR", "weight": "60"},
        "SHALLOWS_1": {"type": "DWRR", "weight": "40"},
        "SHALLOWS_0": {"type": "DWRR", "weight": "10"},
    },
    "QUEUE": {
        f"{port}|{queue}": {
            "scheduler": f"SHALLOWS_{queue}",
            **({"wred_profile": "SHALLOWS_4"} if queue == 4 else {}),
        }
        for queue in (6, 4, 1, 0)
        for port in ("Ethernet0", "Ethernet8")
    },
    "BUFFER_POOL": {
        "shallows_pool_0": {"type": "both", "mode": "dynamic", "size": "4000000"},
        "shallows_pool_of_4": {"type": "ingress", "mode": "static", "size": "180000"},
        "shallows_pool_of_0": {"type": "egress", "mode": "static", "size": "800000"},
    },
    "BUFFER_PROFILE": {
        "shallows_profile_6": {
            "pool": "shallows_pool_0",
            "size": "0",
            "xon": "0",
            "xoff": "20000",
            "xon_offset": "3000",
            "dynamic_th": "-2",
        },
        "shallows_profile_4": {
            "pool": "shallows_pool_of_4",
            "size": "0",
            "xon": "0",
            "xoff": "30000",
            "xon_offset": "4000",
            "static_th": "90000",
        },
        "shallows_profile_1": {"pool": "shallows_pool_0", "size": "0", "dynamic_th": "-2"},
        "shallows_profile_0": {"pool": "shallows_pool_of_0", "size": "0", "static_th": "400000"},
    },
    "BUFFER_PG": {
        "Ethernet0|6": {"profile": "shallows_profile_6"},
        "Ethernet8|6": {"profile": "shallows_profile_6"},
        "Ethernet0|4": {"profile": "shallows_profile_4"},
        "Ethernet8|4": {"profile": "shallows_profile_4"},
    },
    "BUFFER_QUEUE": {
        "Ethernet0|1": {"profile": "shallows_profile_1"},
        "Ethernet8|1": {"profile": "shallows_profile_1"},
        "Ethernet0|0": {"profile": "shallows_profile_0"},
        "Ethernet8|0": {"profile": "shallows_profile_0"},
    },
    "PORT_QOS_MAP": {port: {"pfc_enable": "4,6", **MAPPED} for port in ("Ethernet0", "Ethernet8")},
    "TC_TO_QUEUE_MAP": {"SHALLOWS": SAME},
    "TC_TO_PRIORITY_GROUP_MAP": {"SHALLOWS": SAME},
    "MAP_PFC_PRIORITY_TO_QUEUE": {"SHALLOWS": SAME},
}
"""By hand: 0.25 is 2^-2, and static pools hold the threshold or the buffer of both ports."""


def scenario(**tables):
    return Scenario(**{**BASE, **tables})


def test_classes_are_read_as_they_are_written(tmp_path):
    """Names are those of queues and pools; packets of a DSCP are named with their class."""
    written = sonic_export.entries(scenario(**CLASSES), queues=(6, 4, 1, 0), dscp=(48, 26, 10, 0))
    assert "traffic.class" not in written.not_expressed
    file = tmp_path / "config_db.json"
    file.write_text(json.dumps(written.tables))
    found = sonic.fragment(file)
    names = {"sync": "queue-6", "rdma": "queue-4", "tcp": "queue-1", "rest": "queue-0"}
    pools = {"lossless": "shallows_pool_0"}
    expected = [
        {"marking": "none", **one, "name": names[one["name"]]}
        | ({"pool": pools[one["pool"]]} if "pool" in one else {})
        for one in CLASSES["classes"]
    ]
    assert found.tables["classes"] == expected
    assert found.tables["pools"] == [{**CLASSES["pools"][0], "name": "shallows_pool_0"}]
    mapped = [text for text in found.not_expressed if text.startswith("DSCP_TO_TC_MAP")]
    for dscp, queue in ((48, 6), (26, 4), (10, 1), (0, 0)):
        assert any(f"packets of DSCP {dscp} belong to queue-{queue}:" in text for text in mapped)
    pasted = Scenario.from_toml(
        'duration = "1ms"\ncc = "dcqcn"\n[topology]\nkind = "star"\nhosts = 3\n'
        '[[traffic]]\nkind = "incast"\nsize = "9KB"\nclass = "queue-4"\n' + found.to_toml()
    )
    assert [one.name for one in pasted.classes] == list(names.values())


def test_settings_with_classes_are_explained_on_a_scenario_without(tmp_path):
    """Its RoCE traffic is in the first lossless class, whose marking the fluid model has."""
    file = tmp_path / "config_db.json"
    file.write_text(json.dumps(OF_CLASSES))
    made = scenario(traffic=[{"kind": "incast", "senders": 2, "size": "100KB"}])
    put = on(made, sonic.fragment(file, port="Ethernet0"))
    assert [table.traffic_class for table in put.traffic] == ["queue-4"]
    explanation = explain(put)
    assert {"classes[1].marking.kmin", "classes[1].pfc.threshold"} <= {
        level.key for port in explanation.ports for level in port.levels
    }
    assert all(port.margin for port in explanation.ports)


@pytest.mark.parametrize(("queue", "class_pfc"), [(6, "sync"), (4, "rdma")])
def test_the_pauses_of_a_class_are_read_as_those_of_a_network(queue, class_pfc, tmp_path):
    """With one lossless class left, its queue reads back as its table."""
    one = next(table for table in CLASSES["classes"] if table["name"] == class_pfc)
    made = scenario(
        **CLASSES
        | {"classes": [one], "pools": CLASSES["pools"] if "pool" in one else []}
        | {"traffic": [{**CLASSES["traffic"][0], "class": class_pfc}]}
    )
    file = tmp_path / "config_db.json"
    file.write_text(json.dumps(sonic_export.entries(made, queues=(queue,)).tables))
    found = sonic.fragment(file).tables["network"]
    assert found["pfc"] == one["pfc"]
    assert found.get("shared") == ({"size": "4MB", "alpha": 0.25} if "pool" in one else None)

"""Traffic classes as settings of a switch: each with its pauses, marking and memory at a queue of its own."""

import json

import pytest
from typer.testing import CliRunner

from shallows import cli
from shallows.errors import ScenarioError
from shallows.scenario import Scenario
from shallows.settings import sonic, sonic_export

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
        {"name": "rest", "buffer": "400KB", "marking": "none"},
    ],
    "pools": [{"name": "lossless", "size": "4MB", "alpha": 0.25}],
    "traffic": [{"kind": "incast", "senders": 2, "size": "100KB", "class": "rdma"}],
}
COLOURS = {
    f"{colour}_{name}": value
    for colour in ("green", "yellow", "red")
    for name, value in (("min_threshold", "50000"), ("max_threshold", "200000"), ("drop_probability", "10"))
}
ENABLED = {f"wred_{colour}_enable": "true" for colour in ("green", "yellow", "red")}
OF_CLASSES = {
    "WRED_PROFILE": {"SHALLOWS_4": {"ecn": "ecn_all", **ENABLED, **COLOURS}},
    "QUEUE": {
        "Ethernet0|4": {"wred_profile": "SHALLOWS_4"},
        "Ethernet8|4": {"wred_profile": "SHALLOWS_4"},
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
    "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "4,6"}, "Ethernet8": {"pfc_enable": "4,6"}},
}
"""By hand: 0.25 is 2^-2, and static pools hold the threshold or the buffer of both ports."""


def scenario(**tables):
    return Scenario(**{**BASE, **tables})


def test_classes_are_written_with_the_pauses_of_each():
    written = sonic_export.entries(scenario(**CLASSES), ("Ethernet0", "Ethernet8"), (6, 4, 1, 0))
    assert written.tables == OF_CLASSES
    assert not written.rounded
    assert [text.partition(":")[0] for text in written.not_expressed] == [
        "traffic.class",
        "priority and weight of classes",
    ]


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


def test_a_lossless_class_names_its_own_keys_where_values_are_rounded():
    pools = [{"name": "lossless", "size": "4MB", "alpha": 0.3}]
    classes = [{"name": "a", "pfc": True, "pool": "lossless"}, {"name": "b", "pool": "lossless"}]
    tables = {"classes": classes, "pools": pools, "traffic": [{**CLASSES["traffic"][0], "class": "a"}]}
    written = sonic_export.entries(scenario(**tables), queues=(3, 0))
    assert written.rounded == (
        'classes[0].pfc.headroom = "auto": 54564B, the need of a link of 100Gbps',
        "pools[0].alpha = 0.3: 0.25, a power of two (dynamic_th -2)",
    )


@pytest.mark.parametrize("queues", [(3,), (3, 3, 1, 0), (7, 6, 5, 4, 3)])
def test_classes_need_a_queue_each(queues):
    with pytest.raises(
        ScenarioError, match="a queue of its own for each class, in the order sync, rdma, tcp"
    ):
        sonic_export.entries(scenario(**CLASSES), queues=queues)


@pytest.mark.parametrize(
    ("example", "queues", "expected"), [("classes", "1,5,3", "1,5"), ("shipped-settings", "4,3,3", "3,4")]
)
def test_the_command_keeps_the_order_of_queues_for_classes(example, queues, expected):
    """The first two of three classes are lossless."""
    words = ["settings", "write", example, "--sonic", "--queues", queues]
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 0, done.stderr
    tables = json.loads(done.stdout)
    assert tables["PORT_QOS_MAP"] == {"Ethernet0": {"pfc_enable": expected}}
    assert list(tables["BUFFER_PG"]) == [f"Ethernet0|{queue}" for queue in expected.split(",")]

"""Traffic classes as settings of a switch: each with its pauses, marking and memory at a queue of its own."""

import json

import pytest
from typer.testing import CliRunner

from shallows import cli
from shallows.errors import ScenarioError
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


def test_classes_are_written_with_the_pauses_of_each():
    written = sonic_export.entries(scenario(**CLASSES), ("Ethernet0", "Ethernet8"), (6, 4, 1, 0))
    assert written.tables == OF_CLASSES
    assert not written.rounded
    assert list(written.not_expressed) == ["traffic.class"]


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


def test_maps_lead_from_priorities_to_queues_and_groups(tmp_path):
    """Priority 5 pauses queue 2, whose packets are of traffic class 1 and of group 7."""
    tables = {
        "PORT_QOS_MAP": {
            "Ethernet0": {
                "pfc_enable": "5", "pfc_to_queue_map": "A", "tc_to_queue_map": "A", "tc_to_pg_map": "A",
                "dscp_to_tc_map": "A",
            }
        },
        "MAP_PFC_PRIORITY_TO_QUEUE": {"A": {"5": "2"}},
        "TC_TO_QUEUE_MAP": {"A": {"1": "2", "2": "0"}},
        "TC_TO_PRIORITY_GROUP_MAP": {"A": {"1": "7"}},
        "DSCP_TO_TC_MAP": {"A": {"8": "1", "9": "1", "0": "2"}},
        "BUFFER_POOL": {"pool": {"size": "9000000"}},
        "BUFFER_PROFILE": {
            "lossless": {"pool": "pool", "xoff": "7000", "xon_offset": "3000", "dynamic_th": "1"}
        },
        "BUFFER_PG": {"Ethernet0|7": {"profile": "lossless"}},
        "SCHEDULER": {"strict": {"type": "STRICT"}, "low": {"type": "DWRR", "weight": "9"}},
        "QUEUE": {"Ethernet0|0": {"scheduler": "low"}, "Ethernet0|2": {"scheduler": "strict"}},
    }  # fmt: skip
    file = tmp_path / "config_db.json"
    file.write_text(json.dumps(tables))
    found = sonic.fragment(file)
    assert found.tables["classes"] == [
        {
            "name": "queue-2", "marking": "none", "pool": "pool",
            "pfc": {"headroom": "7KB", "hysteresis": "3KB"},
        },
        {"name": "queue-0", "weight": 9, "marking": "none"},
    ]  # fmt: skip
    assert found.tables["pools"] == [{"name": "pool", "size": "9MB", "alpha": 2.0}]
    left = "\n".join(found.not_expressed)
    assert "packets of DSCP 8-9 belong to queue-2" in left
    assert "packets of DSCP 0 belong to queue-0" in left


@pytest.mark.parametrize(
    ("changes", "queues", "words"),
    [
        ({3: {"weight": None}}, (6, 4, 1, 0), r"classes\[3\].weight: expected a weight: SONiC serves STRICT"),
        (
            {1: {"weight": None}, 2: {"weight": None}, 3: {"weight": None}}, (0, 1, 2, 3),
            "--queues = .0,1,2,3.: expected descending queues for classes without a weight",
        ),
        ({1: {"weight": 1001}, 2: {"weight": 7}}, (6, 4, 1, 0), r"classes\[1\].weight = 1001: .*SCHEDULER"),
    ],
)  # fmt: skip
def test_an_order_that_a_switch_has_not_is_refused(changes, queues, words):
    classes = [
        {key: value for key, value in {**one, **changes.get(at, {})}.items() if value is not None}
        for at, one in enumerate(CLASSES["classes"])
    ]
    with pytest.raises(ScenarioError, match=words):
        sonic_export.entries(scenario(**CLASSES | {"classes": classes}), queues=queues)


def test_weights_above_the_range_are_written_in_lowest_terms():
    classes = [dict(one) for one in CLASSES["classes"]]
    for one, weight in zip(classes[1:], (600, 400, 200), strict=True):
        one["weight"] = weight
    written = sonic_export.entries(scenario(**CLASSES | {"classes": classes}), queues=(6, 4, 1, 0))
    weights = [fields.get("weight") for fields in written.tables["SCHEDULER"].values()]
    assert weights == [None, "3", "2", "1"]
    assert not written.rounded


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


def test_a_lossless_class_names_its_own_keys():
    pools = [{"name": "lossless", "size": "4MB", "alpha": 0.255}]
    classes = [{"name": "a", "pfc": True, "pool": "lossless"}, {"name": "b", "pool": "lossless"}]
    tables = {"classes": classes, "pools": pools, "traffic": [{**CLASSES["traffic"][0], "class": "a"}]}
    written = sonic_export.entries(scenario(**tables), queues=(3, 0))
    assert written.chosen == {
        "classes[0].pfc.headroom": 'classes[0].pfc.headroom = "auto": 54564B, the largest need of a link, '
        "without the time until a NIC acts on a pause: add it with --nic-response 3us"
    }
    assert written.rounded == {"pools[0].alpha": "pools[0].alpha = 0.255: dynamic_th is 0.25"}
    pools[0]["alpha"] = 0.3
    with pytest.raises(ScenarioError, match=r"pools\[0\].alpha = 0.3: .*dynamic_th.*nearest is 0.25"):
        sonic_export.entries(scenario(**tables), queues=(3, 0))


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
    assert tables["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] == expected
    assert list(tables["BUFFER_PG"]) == [f"Ethernet0|{queue}" for queue in expected.split(",")]


TIERS = {
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2, "rate": "100Gbps"},
    "network": {"buffer": "400KB"},
    "ports": [
        {"names": "spine*->*", "marking": {"kind": "red", "kmin": "40KB", "kmax": "80KB", "pmax": 0.2}},
        {"names": "*->h*", "buffer": "900KB"},
    ],
}


@pytest.mark.parametrize(
    ("tier", "held"),
    [
        ("spine*->*", (("40000", "80000", "20"), "400000")),
        ("leaf*->spine*", (("10000", "20000", "10"), "400000")),
        ("leaf0->h1", (("10000", "20000", "10"), "900000")),
    ],
)
@pytest.mark.parametrize("in_classes", [True, False])
def test_the_settings_of_a_tier_are_those_of_its_ports(tier, held, in_classes):
    """[[ports]] gives the spines another ramp, and the last hop another buffer; the rest is as everywhere."""
    marking = {"kind": "red", "kmin": "10KB", "kmax": "20KB", "pmax": 0.1}
    tables = {**TIERS, "network": {**TIERS["network"], "marking": marking}}
    if in_classes:
        tables["classes"] = [{"name": "a"}, {"name": "b", "marking": "none", "buffer": "70KB"}]
        tables["ports"] = [one | {"class": "a"} for one in tables["ports"]]
    made = Scenario(
        duration="1ms",
        cc="dcqcn",
        traffic=[{"kind": "shuffle", "size": "10KB"} | ({"class": "a"} if in_classes else {})],
        **tables,
    )
    written = sonic_export.entries(made, queues=(4, 3) if in_classes else (3,), tier=tier)
    (profile,) = written.tables["WRED_PROFILE"].values()
    ramp = tuple(profile[f"green_{key}"] for key in ("min_threshold", "max_threshold", "drop_probability"))
    limits = [
        one["static_th"] for one in written.tables["BUFFER_PROFILE"].values() if one["static_th"] != "0"
    ]
    assert (ramp, limits[0]) == held
    assert limits[1:] == (["70000"] if in_classes else [])
    assert "ports" not in written.not_expressed
    assert "ports" in sonic_export.entries(made, queues=(4, 3) if in_classes else (3,)).not_expressed


@pytest.mark.parametrize(
    ("tier", "expected"),
    [
        ("leaf*->*", r"ports of switches with the same .*leaf\d->h\d and leaf\d->spine\d differ"),
        ("h0->*", "these are ports of hosts"),
        ("core*->*", "a pattern of at least one port"),
    ],
)
def test_ports_that_are_no_tier_are_refused(tier, expected):
    made = Scenario(duration="1ms", cc="dcqcn", traffic=[{"kind": "shuffle", "size": "10KB"}], **TIERS)
    with pytest.raises(ScenarioError, match=expected):
        sonic_export.entries(made, tier=tier)

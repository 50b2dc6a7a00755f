"""Settings of switches and NICs: what reading gives, what writing gives, and what is refused."""

import copy
import json
import random

import pytest

import shallows as sh
from shallows.settings import mlx5, nic, sonic, sonic_export, switch
from shallows.settings.headroom import headroom
from shallows.switch import Pauses, Shared

BASE = {
    "duration": "1ms",
    "topology": {"kind": "star", "hosts": 3, "rate": "100Gbps", "rtt": "8us"},
    "traffic": [{"kind": "incast", "senders": 2, "size": "100KB"}],
    "cc": {"name": "dcqcn"},
}


def config(wred, pg, pool, pfc="3,4"):
    """A configuration like those that SONiC ships: one port, its lossless queues, groups and pool."""
    colours = {
        f"{colour}_{name}": value
        for colour in ("green", "yellow", "red")
        for name, value in zip(("min_threshold", "max_threshold", "drop_probability"), wred, strict=True)
    }
    return {
        "PORT": {"Ethernet0": {"speed": "100000", "lanes": "1,2,3,4"}},
        "CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m"}},
        "WRED_PROFILE": {"AZURE_LOSSLESS": {"ecn": "ecn_all", "wred_green_enable": "true", **colours}},
        "SCHEDULER": {"scheduler.1": {"type": "DWRR", "weight": "15"}},
        "QUEUE": {
            "Ethernet0|0": {"scheduler": "scheduler.1"},
            "Ethernet0|3": {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"},
            "Ethernet0|4": {"scheduler": "scheduler.1", "wred_profile": "[WRED_PROFILE|AZURE_LOSSLESS]"},
        },
        "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", **pool}},
        "BUFFER_PROFILE": {"pg_lossless": {"pool": "ingress_lossless_pool", **pg}},
        "BUFFER_PG": {"Ethernet0|3-4": {"profile": "pg_lossless"}, "Ethernet0|0": {"profile": "NULL"}},
        "PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "AZURE", "pfc_enable": pfc}},
    }


DYNAMIC = {"mode": "dynamic", "size": "165660324", "xoff": "29520896"}
PROFILES = {
    # Values of AZURE_LOSSLESS with the headroom of a Tomahawk 5 at 200 Gbps (pg_profile_lookup.ini).
    "tomahawk5": (
        config(
            ("1048576", "2097152", "5"),
            {"size": "18796", "xon": "0", "xoff": "300990", "xon_offset": "3556", "dynamic_th": "0"},
            DYNAMIC,
        ),
        {
            "marking": {"kind": "red", "kmin": "1MiB", "kmax": "2MiB", "pmax": 0.05, "at": "dequeue"},
            "pfc": {"headroom": "300990B", "hysteresis": "3556B"},
            "shared": {"size": "165660324B", "alpha": 1.0},
        },
    ),
    "tomahawk": (
        config(
            ("250000", "1048576", "5"),
            {"size": "1248", "xon": "2288", "xoff": "66560", "xon_offset": "2288", "dynamic_th": "-3"},
            {"mode": "dynamic", "size": "10875072", "xoff": "4194112"},
        ),
        {
            "marking": {"kind": "red", "kmin": "250KB", "kmax": "1MiB", "pmax": 0.05, "at": "dequeue"},
            "pfc": {"headroom": "65KiB", "hysteresis": "2288B"},
            "shared": {"size": "10875072B", "alpha": 0.125},
        },
    ),
    # SN2700, 100 Gbps, 5 m: a static threshold.
    "sn2700": (
        config(
            ("131072", "262144", "100"),
            {"size": "50176", "xon": "19456", "xoff": "30720", "static_th": "50176"},
            {"mode": "static", "size": "13945536"},
        ),
        {
            "marking": {"kind": "red", "kmin": "128KiB", "kmax": "256KiB", "pmax": 1.0, "at": "dequeue"},
            "pfc": {"headroom": "30KiB", "threshold": "49KiB", "hysteresis": "30KiB"},
        },
    ),
    # SN5600, 400 Gbps, 40 m, alpha 8, and marking from one threshold on.
    "sn5600": (
        config(
            ("167000", "167000", "100"),
            {"size": "303104", "xon": "19456", "xoff": "283648", "dynamic_th": "3"},
            {"mode": "dynamic", "size": "136209408"},
        ),
        {
            "marking": {"kind": "step", "threshold": "167KB", "at": "dequeue"},
            "pfc": {"headroom": "277KiB", "hysteresis": "3KB"},
            "shared": {"size": "133017KiB", "alpha": 8.0},
        },
    ),
    # Lossy: no pauses, a queue that may hold twice what is free.
    "lossy": (
        {
            **{
                key: value
                for key, value in config(("2000000", "10000000", "20"), {}, DYNAMIC, "").items()
                if key in ("WRED_PROFILE", "QUEUE", "PORT_QOS_MAP", "SCHEDULER")
            },
            "BUFFER_POOL": {"egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "9243812"}},
            "BUFFER_PROFILE": {"q_lossy": {"pool": "egress_lossy_pool", "size": "1518", "dynamic_th": "1"}},
            "BUFFER_QUEUE": {"Ethernet0,Ethernet4|0-6": {"profile": "q_lossy"}},
        },
        {
            "marking": {"kind": "red", "kmin": "2MB", "kmax": "10MB", "pmax": 0.2, "at": "dequeue"},
            "shared": {"size": "9243812B", "alpha": 2.0},
        },
    ),
}


def read(tables, folder, **chosen):
    file = folder / "config_db.json"
    file.write_text(json.dumps(tables))
    return sonic.fragment(file, **chosen)


def scenario(**tables):
    return sh.Scenario(**{**BASE, **tables})


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_is_read_written_and_read(name, tmp_path):
    """The values are read off the configuration by hand; 2^dynamic_th is alpha."""
    tables, expected = PROFILES[name]
    found = read(tables, tmp_path)
    assert found.tables == {"network": expected}
    written = sonic_export.entries(scenario(**found.tables))
    assert read(written.tables, tmp_path).tables == found.tables


def test_thresholds_are_written_in_bytes_and_per_cent():
    """The worked example of a shipped profile: 800 KB, 3200 KB and 0.2."""
    marking = {"kind": "red", "kmin": "800KB", "kmax": "3200KB", "pmax": 0.2}
    written = sonic_export.entries(scenario(network={"marking": marking}))
    profile = written.tables["WRED_PROFILE"]["SHALLOWS"]
    names = ("green_min_threshold", "green_max_threshold", "green_drop_probability")
    assert [profile[name] for name in names] == ["800000", "3200000", "20"]
    assert not written.rounded


def test_a_marking_probability_below_one_per_cent_is_rounded_and_named():
    written = sonic_export.entries(scenario(network={"marking": {"kind": "red", "pmax": 0.004}}))
    assert written.tables["WRED_PROFILE"]["SHALLOWS"]["red_drop_probability"] == "1"
    assert written.rounded == ("network.marking.pmax = 0.004: 1 %, in whole per cent from 1",)


def random_scenario(draw):
    """Settings of any magnitude, most of which a switch or NIC can only write approximately."""
    network = {}
    kmin = draw.randrange(1, 10 ** draw.randrange(3, 8))
    if draw.random() < 0.7:
        kmax = kmin + draw.randrange(1, 10**7)
        network["marking"] = {
            "kind": "red",
            "kmin": f"{kmin}B",
            "kmax": f"{kmax}B",
            "pmax": draw.uniform(1e-4, 1),
        }
    else:
        network["marking"] = {"kind": "step", "threshold": f"{kmin}B"}
    kind = draw.choice(["pfc", "shared", "both", "buffer"])
    if kind in ("pfc", "both"):
        network["pfc"] = {
            "threshold": f"{draw.randrange(10**4, 10**7)}B",
            "hysteresis": f"{draw.randrange(1, 10**4)}B",
        }
        if draw.random() < 0.5:
            network["pfc"]["headroom"] = f"{draw.randrange(10**4, 10**6)}B"
    if kind == "both":  # the memory decides when a link is paused
        del network["pfc"]["threshold"]
    if kind in ("shared", "both"):
        size = draw.randrange(10**6, 10**9)
        network["shared"] = {"size": f"{size}B", "alpha": draw.choice([0.125, 0.3, 1, 2, 5.5, 64])}
    if kind == "buffer":
        network["buffer"] = f"{draw.randrange(3 * 10**7, 10**9)}B"
    parameters = {
        "g": draw.uniform(0.001, 0.999),
        "alpha": draw.random(),
        "tau": f"{draw.uniform(1, 500):.3f}us",
        "tau_prime": f"{draw.uniform(1, 500):.3f}us",
        "t": f"{draw.uniform(1, 3000):.3f}us",
        "b": f"{draw.randrange(1000, 10**8)}B",
        "f": draw.randrange(0, 31),
        "r_ai": f"{draw.randrange(10**5, 10**10)}bps",
        "r_hai": f"{draw.randrange(10**5, 10**10)}bps",
        "min_rate": f"{draw.randrange(10**5, 10**8)}bps",
    }
    return scenario(network=network, cc={"name": "dcqcn", **parameters})


def read_back(given, folder):
    """What reading gives of the settings that `given` is written as."""
    file = folder / "nic.sh"
    file.write_text(mlx5.commands(given).script())
    switch_tables = read(sonic_export.entries(given).tables, folder).tables
    return {**switch_tables, **mlx5.fragment(file).tables}


def test_random_scenarios_are_written_read_and_written_the_same(tmp_path):
    draw = random.Random(33)
    for _ in range(300):
        once = read_back(random_scenario(draw), tmp_path)
        assert read_back(scenario(**once), tmp_path) == once


def test_the_nearest_setting_of_a_nic_is_within_half_a_unit(tmp_path):
    draw = random.Random(34)
    for _ in range(100):
        given = random_scenario(draw)
        algorithm = given.algorithms[0]
        for name, value in mlx5.commands(given).values.items():
            setting = nic.find(name)
            exact = setting.setting(algorithm.parameters[setting.here])
            assert value in (setting.least, setting.most) or abs(value - exact) <= 0.5


def broken(tables):
    """(changed tables, part of the key in the error): one fault each, in every known field."""
    wrong = {
        "null": None,
        "list": ["1"],
        "table": {"a": "1"},
        "words": "many",
        "negative": "-9",
        "flag": True,
        "empty": "",
    }
    for table, entries in tables.items():
        for value in (None, "text", ["list"]):
            yield {**tables, table: value}, table
        for entry, fields in entries.items():
            changed = copy.deepcopy(tables)
            changed[table][entry] = "text"
            yield changed, f"{table}.{entry}"
            for name, text in fields.items():
                if name in ("lanes", "dscp_to_tc_map"):
                    continue
                for kind, value in wrong.items():
                    if kind == "empty" and name == "pfc_enable":
                        continue  # no priority: allowed
                    if kind == "words" and name in ("speed",) and text == value:
                        continue
                    changed = copy.deepcopy(tables)
                    changed[table][entry][name] = value
                    yield changed, f"{table}.{entry}.{name}"


def test_each_of_hundreds_of_broken_files_gives_one_message_with_the_path_of_the_key(tmp_path):
    cases = [case for tables, _ in PROFILES.values() for case in broken(tables)]
    assert len(cases) > 200
    for tables, key in cases:
        with pytest.raises(sh.ScenarioError) as refused:
            read(tables, tmp_path)
        message = str(refused.value)
        assert key in message, message
        assert message.startswith(str(tmp_path)), message
        assert "expected" in message, message


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("QUEUE.Ethernet0|3.wred_profile", "AZURE_LOSLESS", 'did you mean "AZURE_LOSSLESS"'),
        ("BUFFER_PG.Ethernet0|3-4.profile", "pg", "an entry of BUFFER_PROFILE"),
        ("BUFFER_PROFILE.pg_lossless.pool", "gone", "an entry of BUFFER_POOL"),
        ("WRED_PROFILE.AZURE_LOSSLESS.green_max_threshold", "5", "at least green_min_threshold, 1048576"),
        ("WRED_PROFILE.AZURE_LOSSLESS.green_drop_probability", "101", "from 0 to 100"),
        ("WRED_PROFILE.AZURE_LOSSLESS.ecn", "ecn_all_green", "one of ecn_none"),
        ("BUFFER_PROFILE.pg_lossless.static_th", "9", "either dynamic_th or static_th"),
        ("BUFFER_PROFILE.pg_lossless.dynamic_th", "9", "from -8 to 8"),
        ("PORT_QOS_MAP.Ethernet0.pfc_enable", "3;4", 'such as "3,4"'),
        ("CABLE_LENGTH.AZURE.Ethernet0", "40", 'such as "40m"'),
    ],
)  # fmt: skip
def test_a_wrong_value_says_what_is_expected(path, value, words, tmp_path):
    tables = copy.deepcopy(PROFILES["tomahawk5"][0])
    table, entry, name = path.split(".") if path.count(".") == 2 else path.rsplit(".", 2)
    tables[table][entry][name] = value
    with pytest.raises(sh.ScenarioError) as refused:
        read(tables, tmp_path)
    assert words in str(refused.value)


def test_a_missing_threshold_is_named(tmp_path):
    tables = copy.deepcopy(PROFILES["tomahawk5"][0])
    del tables["WRED_PROFILE"]["AZURE_LOSSLESS"]["green_min_threshold"]
    with pytest.raises(
        sh.ScenarioError, match=r"AZURE_LOSSLESS.green_min_threshold: expected a threshold in bytes"
    ):
        read(tables, tmp_path)


def test_ports_that_differ_are_chosen_between(tmp_path):
    tables = copy.deepcopy(PROFILES["tomahawk5"][0])
    small = {**tables["WRED_PROFILE"]["AZURE_LOSSLESS"], "green_min_threshold": "1000"}
    tables["WRED_PROFILE"]["SMALL"] = small
    tables["QUEUE"]["Ethernet4|3"] = {"wred_profile": "SMALL"}
    with pytest.raises(sh.ScenarioError, match=r"QUEUE.Ethernet4|3.wred_profile.*--port NAME chooses"):
        read(tables, tmp_path)
    assert read(tables, tmp_path, port="Ethernet4").tables["network"]["marking"]["kmin"] == "1KB"
    assert read(tables, tmp_path, port="Ethernet0").tables["network"]["marking"]["kmin"] == "1MiB"


def test_what_a_switch_has_and_a_scenario_has_not_is_named(tmp_path):
    found = read(PROFILES["tomahawk5"][0], tmp_path)
    left = "\n".join(found.not_expressed)
    assert "200ns (40 m)" in left
    assert "100Gbps" in left
    assert "SCHEDULER" in left
    assert found.to_toml().count("# Not expressed:") == len(found.not_expressed)


def test_names_of_nics_and_switches_are_keys_and_are_saved_under_ours():
    """5 Mbit/s, 1019 of 1024 kept, 20 %, bytes as text, 2^-1."""
    given = scenario(
        cc={"name": "dcqcn", "rpg_ai_rate": 5, "dce_tcp_g": 1019, "NP_MIN_TIME_BETWEEN_CNPS_P1": 4},
        network={
            "marking": {
                "green_min_threshold": "800000",
                "green_max_threshold": 3200000,
                "green_drop_probability": "20",
            },
            "pfc": {"xoff": "300990", "xon_offset": 3556},
            "shared": {"size": "64MB", "dynamic_th": "-1"},
        },
    )
    saved = given.to_toml()
    lines = (
        'r_ai = "5Mbps"', "g = 0.0048828125", 'tau = "4us"', 'kmin = "800KB"', 'kmax = "3.2MB"',
        "pmax = 0.2", 'headroom = "300990B"', 'hysteresis = "3556B"', "alpha = 0.5",
    )  # fmt: skip
    for line in lines:
        assert line in saved, line
    assert "rpg" not in saved
    assert sh.Scenario.from_toml(saved) == given


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        (
            {"cc": {"name": "dcqcn", "rpg_ai_rate": "5Mbps"}},
            "cc.rpg_ai_rate = .5Mbps.: expected a whole number of Mbit/s",
        ),
        ({"cc": {"name": "dcqcn", "rpg_ai_rate": 5, "r_ai": "5Mbps"}}, "cc.r_ai.*r_ai once"),
        ({"cc": {"name": "dcqcn", "rpg_gd": 10}}, "cc.rpg_gd = 10: expected no such key.*alpha / 2"),
        ({"cc": {"name": "dcqcn", "rpg_byte_reset": 5}}, "cc.rpg_byte_reset = 5: expected 1KB to"),
        (
            {"network": {"marking": {"green_min_threshold": "x"}}},
            "network.marking.green_min_threshold = .x.: expected bytes",
        ),
        ({"network": {"pfc": {"xoff": -1}}}, "network.pfc.xoff = -1: expected bytes"),
        (
            {"network": {"shared": {"dynamic_th": 99}}},
            "network.shared.dynamic_th = 99: expected a power of two",
        ),
    ],
)
def test_a_wrong_value_of_such_a_name_is_refused_under_that_name(tables, words):
    with pytest.raises(sh.ScenarioError, match=words):
        scenario(**tables)


SYSFS = "/sys/class/net/eth0/ecn/roce_rp"
NIC_TEXTS = {
    "mlxconfig": "Device #1:\n  RPG_AI_RATE_P1  20\n  CLAMP_TGT_RATE_P1  True(1)\n  SRIOV_EN  False(0)\n",
    "assignments": "mlxconfig -d 01:00.0 set RPG_AI_RATE_P1=20 CLAMP_TGT_RATE_P1=1\n",
    "sysfs": f"{SYSFS}/rpg_ai_rate:20\n{SYSFS}/clamp_tgt_rate:1\n",
    "debugfs": "rp_ai_rate 20\nrp_clamp_tgt_rate 1\n",
    "commands": f"echo 20 > {SYSFS}/rpg_ai_rate # Mbit/s\n",
}


@pytest.mark.parametrize("name", NIC_TEXTS)
def test_every_format_of_a_nic_is_read(name, tmp_path):
    file = tmp_path / "nic.txt"
    file.write_text(NIC_TEXTS[name])
    assert mlx5.fragment(file).tables == {"cc": {"name": "dcqcn", "r_ai": "20Mbps"}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rpg_ai_rate fast\n", "line 1: rpg_ai_rate = .fast.: expected a whole number of Mbit/s from 1"),
        (
            "\nRPG_AI_RATE_P1=5\nRPG_AI_RATE_P2=6\n",
            "line 3: RPG_AI_RATE_P2 = .6.: expected one value for all ports",
        ),
        ("rpg_byte_reset=40000", "from 0 to 32767"),
        ("nothing=1\n", "expected DCQCN settings such as rpg_ai_rate"),
    ],
)
def test_a_wrong_line_of_a_nic_is_named(text, words, tmp_path):
    file = tmp_path / "nic.txt"
    file.write_text(text)
    with pytest.raises(sh.ScenarioError, match=words):
        mlx5.fragment(file)


def test_an_algorithm_that_the_nic_has_not_is_refused():
    with pytest.raises(sh.ScenarioError, match=r"cc.name = .dctcp.: expected dcqcn"):
        mlx5.commands(scenario(cc={"name": "dctcp"}))


@pytest.mark.parametrize(
    ("rate_gbps", "metres", "mtu", "expected"),
    [
        # 100 Gbps over 40 m: 200 ns each way hold 5,000 B; three frames and a pause.
        (100, 40, 1500, 5_000 + 4_500 + 64),
        (400, 300, 4160, 150_000 + 12_480 + 64),
    ],
)
def test_headroom_is_the_sum_of_five_parts(rate_gbps, metres, mtu, expected):
    assert headroom(rate_gbps * 10**9, metres * sonic.PS_PER_METRE, mtu) == expected


def test_every_switch_name_stands_for_a_key_of_its_table():
    fields = {"pfc": Pauses.model_fields, "shared": Shared.model_fields, "marking": ("kmin", "kmax", "pmax")}
    for name, rules in switch.NAMES.items():
        assert {here for here, *_ in rules.values()} <= set(fields[name])

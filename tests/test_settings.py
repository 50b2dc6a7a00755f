"""Settings of switches and NICs: what reading gives, what writing gives, and what is refused."""

import copy
import dataclasses
import json
from pathlib import Path

import pytest

import shallows as sh
from shallows.algorithms import switch
from shallows.scenario.headroom import headroom
from shallows.scenario.queues import Pauses, Shared
from shallows.settings import config_db, mlx5, sonic, sonic_export
from shallows.settings.explain import explain
from shallows.settings.fragment import on as with_settings
from shallows.settings.reading import read_all

BASE = {
    "duration": "1ms",
    "topology": {"kind": "star", "hosts": 3, "rate": "100Gbps", "rtt": "8us"},
    "traffic": [{"kind": "incast", "senders": 2, "size": "100KB"}],
    "cc": {"name": "dcqcn"},
}


INPUTS = Path(__file__).parent / "cases" / "settings" / "inputs"
PROFILES = {path.stem: json.loads(path.read_text()) for path in INPUTS.glob("*.json")}
"""Configurations like those that SONiC ships. tests/cases/settings/read-*.sh have what they say."""


def read(tables, folder, **chosen):
    file = folder / "config_db.json"
    file.write_text(json.dumps(tables))
    return sonic.fragment(file, **chosen)


def scenario(**tables):
    return sh.Scenario(**{**BASE, **tables})


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
            for name in fields:
                if name == "lanes":
                    continue
                for kind, value in wrong.items():
                    if kind == "empty" and name == "pfc_enable":
                        continue  # no priority: allowed
                    if kind in ("words", "negative") and name == "dscp_to_tc_map":
                        continue  # a map may be in another file
                    changed = copy.deepcopy(tables)
                    changed[table][entry][name] = value
                    yield changed, f"{table}.{entry}.{name}"


def test_each_of_hundreds_of_broken_files_gives_one_message_with_the_path_of_the_key(tmp_path):
    cases = [case for tables in PROFILES.values() for case in broken(tables)]
    assert len(cases) > 200
    for tables, key in cases:
        with pytest.raises(sh.ScenarioError) as refused:
            read(tables, tmp_path)
        message = str(refused.value)
        assert key in message, message
        assert message.startswith(str(tmp_path)), message
        assert "expected" in message, message


def test_ports_that_differ_are_chosen_between(tmp_path):
    tables = copy.deepcopy(PROFILES["tomahawk5"])
    small = {**tables["WRED_PROFILE"]["AZURE_LOSSLESS"], "green_min_threshold": "1000"}
    tables["WRED_PROFILE"]["SMALL"] = small
    tables["QUEUE"]["Ethernet4|3"] = {"wred_profile": "SMALL"}
    most = read(tables, tmp_path)
    assert most.tables == read(tables, tmp_path, port="Ethernet0").tables
    assert "ports Ethernet4, which differ: Ethernet0 stands for all" in most.not_expressed[0]
    tables["QUEUE"]["Ethernet4|3-4"] = {"wred_profile": "AZURE_LOSSLESS"}
    with pytest.raises(sh.ScenarioError, match=r"Ethernet4\|3-4.wred_profile.*two entries of Ethernet4"):
        read(tables, tmp_path, port="Ethernet4")
    del tables["QUEUE"]["Ethernet4|3-4"]
    assert read(tables, tmp_path, port="Ethernet4").tables["network"]["marking"]["kmin"] == "1KB"
    one = read(tables, tmp_path, port="Ethernet0", queue=3)
    assert one.tables["network"]["marking"]["kmin"] == "1MiB"


@pytest.mark.parametrize("number", ["8", "13", "03", "3-8"])
def test_a_priority_group_is_one_of_eight(tmp_path, number):
    """Source: pg_num in sonic-buffer-pg.yang has one digit from 0 to 7, or two of them."""
    tables = copy.deepcopy(PROFILES["tomahawk5"])
    tables["BUFFER_PG"][f"Ethernet0|{number}"] = {"profile": next(iter(tables["BUFFER_PROFILE"]))}
    with pytest.raises(sh.ScenarioError, match=rf"BUFFER_PG.Ethernet0\|{number}: expected a key such as"):
        read(tables, tmp_path)


def test_what_a_switch_has_and_a_scenario_has_not_is_named(tmp_path):
    found = read(PROFILES["tomahawk5"], tmp_path, queue=3)
    left = "\n".join(found.not_expressed)
    assert "200ns (40 m)" in left
    assert "100Gbps" in left
    assert "SCHEDULER: scheduler.1: none of these queues uses it" in left
    assert "queues 0, 4: --queue 3 stands for all" in left
    assert "PORT: lanes: no key of a scenario expresses these fields" in left
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


FAST = {"topology": {"kind": "star", "hosts": 9, "rate": "400Gbps", "rtt": "8us"}}


def test_a_run_with_the_byte_counter_off_is_the_run_of_its_default():
    """Eight flows at 400 Gbps, which share a link: none sends 100 MB between two notifications."""
    made = scenario(
        duration="300us", **FAST, network={"pfc": True, "shared": {"size": "64MB"}},
        traffic=[{"kind": "long-lived", "flows": 8, "from": "h[0-7]", "to": "h8"}],
    )  # fmt: skip
    same, other = (made.set("cc.b", b) for b in ("1000000GB", "32767B"))
    assert sh.run(same).summary["fingerprint"] == sh.run(made).summary["fingerprint"]
    assert sh.run(other).summary["fingerprint"] != sh.run(made).summary["fingerprint"]


def test_a_fault_of_a_writer_is_found_when_its_settings_are_read_back(monkeypatch):
    """Each writer has one value wrong: the NIC's timer in other units, and a pause without its hysteresis."""
    made = scenario(network={"pfc": {"threshold": "90KB", "hysteresis": "6KB", "headroom": "50KB"}})
    monkeypatch.setattr(mlx5, "_nearest", lambda *of, real=mlx5._nearest: with_timer(real(*of), 55_000))
    with pytest.raises(sh.ScenarioError, match=r"cc.t = .55us.: .*rpg_time_reset.*nearest is .55ms"):
        mlx5.commands(made)
    text = json.dumps(sonic_export.entries(made).tables)
    found = config_db.from_tables(json.loads(text.replace('"xon_offset": "6000"', '"xon_offset": "1"')))
    monkeypatch.setattr(config_db, "from_tables", lambda tables: found)
    with pytest.raises(
        sh.ScenarioError, match=r"network.pfc.hysteresis = .4pkt.: .*xon_offset.*nearest is .1B"
    ):
        sonic_export.entries(made)


def with_timer(commands, microseconds):
    return dataclasses.replace(commands, values={**commands.values, "rpg_time_reset": microseconds})


def test_the_tables_of_a_switch_may_be_in_several_files(tmp_path):
    """SONiC renders qos.json and buffers.json."""
    whole = PROFILES["tomahawk5"]
    parts = {"buffers": ("BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG"), "qos": ("WRED_PROFILE", "SCHEDULER")}
    files = [tmp_path / f"{name}.json" for name in (*parts, "rest")]
    rest = {name: table for name, table in whole.items() if not any(name in part for part in parts.values())}
    split = [{name: whole[name] for name in part} for part in parts.values()]
    for file, tables in zip(files, [*split, rest], strict=True):
        file.write_text(json.dumps(tables))
    assert read_all(files).tables == read(whole, tmp_path).tables
    files[0].write_text(json.dumps({"SCHEDULER": {"scheduler.1": {"weight": "9"}}}))
    with pytest.raises(sh.ScenarioError, match=r"qos.json: SCHEDULER.scheduler.1.weight = 15: .* before, 9"):
        read_all(files)


def test_the_last_of_repeated_keys_counts(tmp_path):
    """As SONiC reads them, whose JSON reader keeps the last; they are named."""
    tables = copy.deepcopy(PROFILES["tomahawk5"])
    first = read(tables, tmp_path)
    text = json.dumps(tables)
    repeated = text.replace(
        '"WRED_PROFILE": {', '"WRED_PROFILE": {"AZURE_LOSSLESS": {"ecn": "ecn_none"}, ', 1
    )
    file = tmp_path / "repeated.json"
    file.write_text(repeated)
    found = sonic.fragment(file)
    assert found.tables == first.tables
    assert any(
        "AZURE_LOSSLESS: repeated keys, of which SONiC takes the last" in x for x in found.not_expressed
    )
    file.write_text('{"QUEUE": {"Ethernet0|3": {}, "Ethernet0|3": {}}}')
    with pytest.raises(sh.ScenarioError, match="nothing here sets queues"):
        sonic.fragment(file)


@pytest.mark.parametrize("name", ["ecn_green_{}", "green_ect_{}"])
def test_thresholds_of_ecn_capable_packets_take_the_place_of_others(tmp_path, name):
    tables = copy.deepcopy(PROFILES["tomahawk5"])
    tables["WRED_PROFILE"]["AZURE_LOSSLESS"][name.format("min_threshold")] = "7000"
    tables["WRED_PROFILE"]["AZURE_LOSSLESS"][name.format("drop_probability")] = "3"
    found = read(tables, tmp_path, queue=3)
    marking = found.tables["network"]["marking"]
    assert (marking["kmin"], marking["pmax"]) == ("7KB", 0.03)
    assert any(f"{name.format('min_threshold')} marks" in text for text in found.not_expressed)


def test_a_pool_of_the_dynamic_buffer_model_has_no_size(tmp_path):
    tables = copy.deepcopy(PROFILES["tomahawk5"])
    for pool in tables["BUFFER_POOL"].values():
        pool.pop("size")
    found = read(tables, tmp_path)
    assert all("size" not in pool for pool in found.tables.get("pools", []))
    assert any("dynamic buffer model" in text for text in found.assumed)


def test_every_table_and_field_of_a_switch_that_is_left_out_is_named(tmp_path):
    tables = copy.deepcopy(PROFILES["tomahawk5"]) | {"DOT1P_TO_TC_MAP": {"A": {"0": "1"}}, "VLAN": {}}
    tables["SCHEDULER"]["scheduler.1"]["pir"] = "5"
    tables["PORT_QOS_MAP"]["Ethernet0"]["pfcwd_sw_enable"] = "3,4"
    tables["BUFFER_POOL"]["other"] = {"type": "egress", "mode": "static", "size": "9"}
    left = read(tables, tmp_path).not_expressed
    for line in (
        "SCHEDULER: pir: no key of a scenario expresses these fields",
        "DOT1P_TO_TC_MAP, VLAN: no key of a scenario expresses these tables",
        "BUFFER_POOL: other: none of these queues uses it",
        "PORT_QOS_MAP.pfcwd_sw_enable: no port has times in PFC_WD",
    ):
        assert line in left


def watched(**tables):
    """A configuration with PFC at priorities 3 and 4, and a watchdog of 200 ms at its port."""
    watchdog = {"action": "drop", "detection_time": "200", "restoration_time": "400"}
    return copy.deepcopy(PROFILES["tomahawk5"]) | {"PFC_WD": {"Ethernet0": watchdog}} | tables


def test_a_watchdog_of_a_switch_is_that_of_its_lossless_classes(tmp_path):
    """By the YANG model sonic-pfcwd its times are milliseconds; restoration is not part of detection."""
    found = read(watched(), tmp_path, queue=3)
    times = {"watchdog": "200ms", "restoration": "400ms"}
    assert times.items() <= found.tables["network"]["pfc"].items()
    classes = {one["name"]: one.get("pfc") for one in read(watched(), tmp_path).tables["classes"]}
    assert [name for name, pfc in classes.items() if pfc and times.items() <= pfc.items()] == [
        "queue-4",
        "queue-3",
    ]


def test_a_watchdog_watches_the_priorities_that_a_port_names(tmp_path):
    tables = watched()
    tables["PORT_QOS_MAP"]["Ethernet0"]["pfcwd_sw_enable"] = "4"
    classes = read(tables, tmp_path).tables["classes"]
    assert [one["name"] for one in classes if "watchdog" in one.get("pfc", {})] == ["queue-4"]


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"action": "forward"}, "PFC_WD.action = forward: the watchdog of a scenario drops"),
        (
            {"restoration_time": None},
            "restoration is as long as detection_time: PFC_WD has no restoration_time",
        ),
    ],
)
def test_a_watchdog_that_differs_is_named(tmp_path, entry, sentence):
    tables = watched()
    both = tables["PFC_WD"]["Ethernet0"] | entry
    tables["PFC_WD"] = {
        "Ethernet0": {key: value for key, value in both.items() if value},
        "GLOBAL": {"POLL_INTERVAL": "200"},
    }
    found = read(tables, tmp_path, queue=3)
    assert sentence in (*found.assumed, *found.not_expressed)
    assert ("watchdog" in found.tables["network"]["pfc"]) == ("action" not in entry)
    assert "PFC_WD.GLOBAL: a watchdog acts at its time, without polling" in found.not_expressed


def test_a_watchdog_without_its_time_is_refused(tmp_path):
    tables = watched(PFC_WD={"Ethernet0": {"restoration_time": "200"}})
    with pytest.raises(sh.ScenarioError, match=r"PFC_WD.detection_time.*from 100 to 5000.*missing"):
        read(tables, tmp_path)


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


def test_the_pause_threshold_that_no_profile_names_is_assumed_and_gives_no_warning(tmp_path):
    wred = {"ecn": "ecn_all", "green_min_threshold": "1000000", "green_max_threshold": "2000000"}
    tables = {
        "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3"}},
        "QUEUE": {"Ethernet0|3": {"wred_profile": "W"}},
        "WRED_PROFILE": {"W": wred},
    }
    found = read(tables, tmp_path)
    assert any("pause threshold is the scenario's" in text for text in found.assumed)
    on = scenario(topology={"kind": "star", "hosts": 4, "rate": "100Gbps"})
    said = explain(with_settings(on, found)).remarks
    assert not any("PFC acts before ECN has its full effect" in text for text in said)
    assert any("is a default, no setting" in text for text in said)
    own = with_settings(on, found).set("network.pfc.threshold", "100KB")
    assert any("PFC acts before ECN has its full effect" in text for text in explain(own).remarks)

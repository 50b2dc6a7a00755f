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

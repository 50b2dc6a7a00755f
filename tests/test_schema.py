"""The JSON Schema of a scenario: it takes what Shallows takes, and underlines what no scenario may say."""

import json
import tomllib

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from shallows import cli
from shallows.errors import ScenarioError
from shallows.registry.schema import scenario_schema
from shallows.scenario import Scenario, examples

SCHEMA = scenario_schema()
CHECK = Draft202012Validator(SCHEMA)


def test_the_command_prints_a_schema():
    Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(CliRunner().invoke(cli.app, ["schema"]).stdout) == SCHEMA


@pytest.mark.parametrize("name", examples.names())
def test_every_example_passes_as_it_is_and_with_its_defaults(name):
    path = examples.find(name)
    for text in (path.read_text(), Scenario.load(path).to_toml()):
        assert [error.message for error in CHECK.iter_errors(tomllib.loads(text))] == []


LAWFUL = """
duration = "1s"
cc = { name = "dctcp" }
topology = { kind = "dumbbell", hosts = 4, rate = "10Gbps" }
network = { buffer = "250pkt", marking = { kind = "step", threshold = "65pkt" } }
hosts = { acks_every = 1 }
record = { queues = "10us" }
traffic = [{ kind = "long-lived", flows = 4 }]
"""
FAULTS = [
    ('duration = "1s"', ""),
    ('duration = "1s"', "duration = 1"),
    ('duration = "1s"', 'duration = "1 second"'),
    ('duration = "1s"', 'duration = "forever"'),
    ('duration = "1s"', 'durration = "1s"\nduration = "1s"'),
    ('"dctcp"', '"dctpc"'),
    ('"dctcp"', '"dctcp@ns-3"'),
    ('{ name = "dctcp" }', '{ name = "dctcp", gain = 1 }'),
    ('{ name = "dctcp" }', '{ name = "dctcp", g = 2 }'),
    ('{ name = "dctcp" }', '{ name = "dx", headroom = 3 }'),
    ('kind = "dumbbell"', 'kind = "dumbell"'),
    ('kind = "dumbbell", ', ""),
    ("hosts = 4", "hosts = 0"),
    ("hosts = 4", 'hosts = "4"'),
    ('"10Gbps"', '"10gbps"'),
    ('"10Gbps"', "10"),
    ('"250pkt"', '"250packets"'),
    ('kind = "step"', 'kind = "steps"'),
    ('threshold = "65pkt"', "kmin = 1"),
    ("acks_every = 1", "acks_every = 256"),
    ('queues = "10us"', 'queues = "on"'),
    ('queues = "10us"', "flows = 0"),
    ('kind = "long-lived"', 'kind = "long"'),
    ('[{ kind = "long-lived", flows = 4 }]', "[]"),
]


@pytest.mark.parametrize(("lawful", "fault"), FAULTS, ids=[fault or "missing" for _, fault in FAULTS])
def test_what_is_wrong_is_refused_by_the_schema_and_by_shallows(lawful, fault):
    assert not list(CHECK.iter_errors(tomllib.loads(LAWFUL)))
    Scenario.from_toml(LAWFUL)
    assert LAWFUL.count(lawful) == 1
    text = LAWFUL.replace(lawful, fault)
    errors = list(CHECK.iter_errors(tomllib.loads(text)))
    assert len(errors) == 1, errors
    assert not [one for one in errors[0].context or () if one.context]  # no choice within a choice
    with pytest.raises(ScenarioError):
        Scenario.from_toml(text)


def test_a_sweep_is_a_scenario_with_one_more_table_or_that_table_alone():
    swept = {"cc": ["dctcp"], "over": {"traffic.0.flows": [1, 2]}, "seeds": 3}
    assert CHECK.is_valid({**tomllib.loads(LAWFUL), "sweep": swept})
    assert CHECK.is_valid({"sweep": {**swept, "scenario": "dctcp-40"}})
    assert not CHECK.is_valid({"sweep": swept})
    assert not CHECK.is_valid({**tomllib.loads(LAWFUL), "sweep": {**swept, "loads": [1]}})


def test_names_of_nics_and_switches_are_in_the_schema():
    marking = {"kind": "red", "green_min_threshold": "800000", "green_max_threshold": 3200000}
    network = {"marking": marking, "shared": {"dynamic_th": "-1"}, "pfc": {"xoff": "45000"}}
    scenario = {**tomllib.loads(LAWFUL), "network": network, "cc": {"name": "dcqcn", "rpg_ai_rate": 5}}
    assert list(CHECK.iter_errors(scenario)) == []
    for table, key in ((network["marking"], "green_max"), (scenario["cc"], "rpg_max_rate")):
        table[key] = 1
        assert not CHECK.is_valid(scenario)
        del table[key]


@pytest.mark.parametrize(
    ("marking", "kind"),
    [
        ({}, "step"),
        ({"threshold": "65pkt"}, "step"),
        ({"kmin": "5KB"}, "red"),
        ({"gentle": True}, "red"),
        ({"nodrop": True, "pmax": 0.5}, "red"),
        ({"green_min_threshold": "8000"}, "red"),
        ({"threshold": "65pkt", "kmin": "5KB"}, None),
    ],
)
def test_a_marking_without_a_kind_is_a_step_or_with_a_parameter_of_a_ramp_a_ramp(marking, kind):
    """docs/scenario-network.md; for editors as for Shallows."""
    scenario = {**tomllib.loads(LAWFUL), "network": {"marking": marking}}
    assert CHECK.is_valid(scenario) == (kind is not None)
    if kind is None:
        with pytest.raises(ScenarioError, match=r"network\.marking"):
            Scenario(**scenario)
    else:
        assert Scenario(**scenario).network.marking.kind == kind

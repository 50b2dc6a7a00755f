"""The scenario: the description of one run, typed and validated, from and to TOML.

`model` has `Scenario`, `tables` its tables without kinds; `raw` and `overrides` work on plain tables before
validation, `checks` compares tables with each other, and `validation` converts errors of pydantic to
`ScenarioError`s with file, key, value and what was expected.
"""

from shallows.scenario.model import Scenario
from shallows.scenario.tables import HostTable, NetworkTable, RecordTable, TimestampTable

__all__ = ["HostTable", "NetworkTable", "RecordTable", "Scenario", "TimestampTable"]

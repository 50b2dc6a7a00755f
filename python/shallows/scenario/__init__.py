"""The scenario: what one run is made of, typed and validated, from TOML and back to it.

`model` has `Scenario` itself, `tables` what stands below it, `given` and `overrides` what is done to plain
tables before any model sees them, `checks` what no single table can know, and `complaints` makes of a model's
complaint a `ScenarioError`: file, key, value and what was expected.
"""

from shallows.scenario.model import Scenario
from shallows.scenario.tables import HostTable, NetworkTable, RecordTable, TimestampTable

__all__ = ["HostTable", "NetworkTable", "RecordTable", "Scenario", "TimestampTable"]

"""A session over pipes by the protocol simllm-htsim-flow-session-v1 (docs/flow-session.md).

`crates/session` speaks the protocol; this finds the scenario of each profile that a client opens.
"""

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from shallows.errors import ScenarioError
from shallows.scenario.request import request
from shallows.worlds import packet

if TYPE_CHECKING:
    from shallows.core.contract import Request
    from shallows.scenario import Scenario

PROFILES = "SHALLOWS_FLOW_PROFILES"
"""The environment variable with profiles, `NAME=FILE` each, separated like the folders of PATH."""


def profiles(given: Iterable[str], environment: Mapping[str, str]) -> "dict[str, Scenario]":
    """The scenarios of `NAME=FILE` by name: those that are given, and those of the environment.

    Raises `ScenarioError` for a profile without a name, a name twice, a scenario that a session cannot run,
    or if there is none.
    """
    from shallows.scenario import Scenario

    words = _named(given, "--profile")
    inherited = filter(None, environment.get(PROFILES, "").split(os.pathsep))
    files = _named(inherited, PROFILES) | words
    if not files:
        raise ScenarioError("--profile", None, f"NAME=FILE for each profile, here or in {PROFILES}")
    found = {name: Scenario.load(file) for name, file in files.items()}
    for scenario in found.values():
        packet.check(scenario)
        packet.check_catalog(scenario, "a session runs no Python")
    return found


def _named(words: Iterable[str], where: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        name, _, file = word.partition("=")
        if not name.strip() or not file:
            raise ScenarioError(where, word, "NAME=FILE, such as rnic-nn=star.toml")
        if name in found:
            raise ScenarioError(where, word, f"one file for {name}")
        found[name] = file
    return found


def serve(scenarios: "Mapping[str, Scenario]", input_: int, output: int) -> bool:
    """Serve one session over two descriptors until the input ends; whether it was closed in order."""
    from shallows import _core

    def find(profile: str, seed: int, hosts: int) -> "Request | None":
        scenario = scenarios.get(profile)
        return scenario and request(_sized(scenario.changed({"seed": seed}), hosts))

    return _core.flow_session(find, input_, output)


def _sized(scenario: "Scenario", hosts: int) -> "Scenario":
    """The scenario with this number of hosts, if its topology has a key for it; the core compares them."""
    if scenario.graph.hosts == hosts or "hosts" not in type(scenario.topology).key_names():
        return scenario
    return scenario.changed({"topology.hosts": hosts})

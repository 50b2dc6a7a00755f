"""Scenarios that are accepted: those of the other grammars, less the keys that refusals name.

This is the generator of `tests/test_oracles.py`. A key that excludes another is drawn as often as any, so
that the generator need not know what excludes what.
"""

import random
import re
import tomllib

import tomli_w

import shallows as sh
from shallows.errors import ScenarioError
from shallows.runner import prepare
from soak import by_schema, failures, oracles, scenarios, transports

FLAVOURS = {scenarios: 5, transports: 2, failures: 2, by_schema: 1}
"""Where scenarios come from, and how often."""
PACKETS = 20_000
"""About how many packets a run has."""
ROUNDS = 12
"""How often keys are taken away from a scenario before it counts as none."""


def text(seed, number, packets=PACKETS):
    """(what it is meant to be, its world, TOML); of scenarios that no round saves the world is None."""
    grammar = _grammar(seed, number)
    world, tables = grammar.lawful(seed, number, packets)
    if grammar is scenarios and world == "packet":  # so that a hundred scenarios have every algorithm
        tables["cc"] = {"name": scenarios.CATALOG[number % len(scenarios.CATALOG)]["name"]}
    accepted = repaired(tables, world)
    name = grammar.__name__.rpartition(".")[2]
    return name, world if accepted else None, tomli_w.dumps(accepted or tables)


def how(seed, number):
    """What else is asked of that scenario: every oracle that does not draw, and one in ten that does."""
    draws = random.Random(f"lawful {seed}/{number}/how").random() < 0.1
    names = ("named",) if _grammar(seed, number) is failures else ()
    return {"oracles": (*names, *oracles.DEAR, *(oracles.DRAWING if draws else ())), "seed": number}


def _grammar(seed, number):
    return random.Random(f"lawful {seed}/{number}").choices(tuple(FLAVOURS), FLAVOURS.values())[0]


def repaired(tables, world):
    """The tables without what is refused in this world; None if nothing would be left."""
    tables = tomllib.loads(tomli_w.dumps(tables))
    for _ in range(ROUNDS):
        try:
            prepare(sh.Scenario.from_toml(tomli_w.dumps(tables)), world=world)
        except ScenarioError as error:
            if not all(one.key and removed(tables, one.key) for one in error.every):
                return None
        else:
            return tables
    return None


def removed(tables, key):
    """Take away what stands at a dotted key such as "traffic[0].size", or the table where it is missing."""
    steps = [int(step) if step.isdigit() else step for step in re.findall(r"[^.\[\]]+", key)]
    holder = place = None
    at = tables
    for step in steps:
        there = step in at if isinstance(at, dict) else isinstance(at, list) and step in range(len(at))
        if not there:
            break
        holder, place, at = at, step, at[step]
    if holder is None:
        return False
    del holder[place]
    return True

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
from shallows.worlds.runner import prepare
from soak import by_schema, failures, scenarios, transports

FLAVOURS = {scenarios: 5, transports: 2, failures: 2, by_schema: 1}
"""Where scenarios come from, and how often."""
ROUNDS = 12
"""How often keys are taken away from a scenario before it counts as none."""


def text(seed, number, packets=scenarios.PACKETS):
    """(what it is meant to be, its world, TOML); of scenarios that no round saves the world is None."""
    dice = random.Random(f"lawful {seed}/{number}")
    grammar = dice.choices(tuple(FLAVOURS), FLAVOURS.values())[0]
    world, tables = grammar.lawful(seed, number, packets)
    accepted = repaired(tables, world)
    name = grammar.__name__.rpartition(".")[2]
    return name, world if accepted else None, tomli_w.dumps(accepted or tables)


def how(seed, number):
    """What else is asked of that scenario: every oracle that does not draw, and one in ten that does."""
    from soak import oracles

    draws = random.Random(f"lawful {seed}/{number}/how").random() < 0.1
    return {"oracles": (*oracles.DEAR, *(oracles.DRAWING if draws else ())), "seed": number}


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
    at, steps = [tables], [int(step) if step.isdigit() else step for step in re.findall(r"[^.\[\]]+", key)]
    for step in steps:
        inside = at[-1]
        if isinstance(inside, dict) and step not in inside or isinstance(inside, list) and step >= len(inside):
            break
        if not isinstance(inside, dict | list):
            break
        at.append(inside[step])
    reached = len(at) - 1
    if reached == 0:
        return False
    del at[reached - 1][steps[reached - 1]]
    return True

"""Drawn scenarios, and what must hold of each: the oracles of `soak/oracles.py`.

A scenario that goes wrong is shrunk, and printed as TOML. As tests/cases/found/NAME.toml it is tried each
time; its first line says in which world. `make nightly` draws thousands from a new seed.
"""

import copy
import random
import tomllib
from functools import partial
from pathlib import Path

import pytest

import shallows as sh
from shallows.scenario import HostTable, NetworkTable, RecordTable
from shallows.scenario.faults import Fault
from shallows.scenario.given import Given
from shallows.scenario.queues import Pauses, Policer, Pool, Shared, TrafficClass, Trimming
from shallows.topology import KINDS as TOPOLOGIES
from shallows.traffic import KINDS as TRAFFICS
from soak import lawful, oracles, scenarios
from soak.oracles import problem
from soak.shrink import shrunk

SEED = 20261128
RUNS, PARTS = 100, 10
"""How many scenarios run to their end, in how many tests."""
PACKETS, SECONDS = 1000, 0.5
"""About how many packets a run has, and how much processor time it may take."""
FOUND = sorted(Path(__file__).with_name("cases").joinpath("found").glob("*.toml"))


def judged(text, world, number):
    """What `problem` says of a drawn scenario, shrunk if something is wrong with it."""
    how = {**lawful.how(SEED, number), "seconds": SECONDS}
    what, wrong = problem(text, world, **how)
    if wrong is not None:
        small = shrunk(text, lambda text: problem(text, world, **how)[1])
        pytest.fail(f"{wrong}\n\n# world: {world}\n# {wrong}\n{small}", pytrace=False)
    return what


@pytest.mark.fast
@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_is_drawn_every_oracle_agrees(part):
    numbers = range(part, 2 * RUNS, PARTS)
    ran = 0
    for number in numbers:
        _, world, text = lawful.text(SEED, number, PACKETS)
        ran += world is not None and judged(text, world, number) == "ran"
        if ran == RUNS // PARTS:
            return
    pytest.fail(f"{ran} of {len(numbers)} scenarios run")


@pytest.mark.parametrize("path", FOUND, ids=[path.stem for path in FOUND])
def test_what_went_wrong_once_is_right(path):
    text = path.read_text()
    world = text.partition("\n")[0].removeprefix("# world: ")
    every = (*oracles.DEAR, *oracles.DRAWING, "why of all")
    assert problem(text, world, every) == ("ran", None)


@pytest.mark.fast
@pytest.mark.parametrize("part", range(4))
def test_whatever_is_bent_is_refused_with_a_sentence_or_runs_true(part):
    for number in range(part, 200, 4):
        kind, world, text = scenarios.text(SEED, number)
        if kind != "lawful":
            how = {"overrides": scenarios.how(SEED, number).get("overrides"), "seconds": SECONDS}
            wrong = problem(text, world, (), **how)[1]
            assert wrong is None, f"{kind}, {world} world\n{text}"


SCENARIO = """
duration = "1ms"
cc = "dctcp"
topology = { kind = "star", hosts = 3 }
network = { pfc = true }
record = { queues = "10us" }
traffic = [{ kind = "incast", senders = 2, size = "100KB" }, { kind = "long-lived", flows = 2 }]
"""


@pytest.fixture(scope="module")
def case():
    scenario = sh.Scenario.from_toml(SCENARIO)
    return oracles.Case(tomllib.loads(SCENARIO), scenario, "packet", 1.0, random.Random(1), sh.run(scenario))


def changed(run, table, column, factor):
    """A run whose table has another column."""
    other = copy.copy(run)
    vars(other)[table] = getattr(run, table).assign(**{column: factor * getattr(run, table)[column]})
    return other


def told(run, part, **numbers):
    """A run with other numbers in its summary."""
    other = copy.copy(run)
    other.summary = copy.deepcopy(run.summary)
    other.summary[part] |= numbers
    return other


FAULTS = {
    "physics": lambda run: changed(run, "ports", "utilization", 10),
    "counts": lambda run: told(run, "flows", lost=1),
    "metrics": lambda run: told(run, "flows", new=1),
    "lossless": lambda run: told(run, "network", dropped=1),
    "threads": lambda run: told(run, "network", marked=-1),
    "at": lambda run: changed(run, "queues", "queue_bytes", 1.5),
    "figures": lambda run: changed(run, "ports", "queue_mean_pkt", 2),
    "named": lambda run: changed(run, "flows", "fct_us", float("nan")),
}
"""For an oracle a fault that it must find."""


def test_an_oracle_finds_a_fault(case):
    missed = {
        name: wrong
        for name, fault in FAULTS.items()
        if not (wrong := oracles.ORACLES[name](oracles.Case(**{**vars(case), "run": fault(case.run)})))
        or not wrong.startswith((name, "utilization", "stranded"))
    }
    assert missed == {}


def test_a_fault_is_shrunk_to_what_it_needs():
    """It needs an incast of three senders or more, whatever else the scenario has."""

    def wrong(text):
        tables = tomllib.loads(text)
        big = [table for table in tables.get("traffic", ()) if table.get("senders", 0) >= 3]
        return f"incast: {len(tables)} tables" if big else None

    text = SCENARIO.replace("senders = 2", "senders = 13")
    assert tomllib.loads(shrunk(text, wrong)) == {"traffic": [{"senders": 3}]}


def test_keys_that_are_refused_are_taken_away():
    tables = tomllib.loads(SCENARIO)
    bent = tables | {"hosts": {"rto_min": "-1us", "acks_every": 3}, "warmup": "1s"}
    assert lawful.repaired(bent, "packet") == tables | {"hosts": {"acks_every": 3}}


def test_the_same_number_is_the_same_scenario():
    seed = random.randrange(10**9)
    drawn = partial(lawful.text, seed, packets=PACKETS)
    first = [drawn(number) for number in range(20)]
    assert [drawn(number) for number in reversed(range(20))] == first[::-1]


def _keys(at, value):
    """Every key of a table of a scenario, with the table's place and kind: ("traffic.incast", "size")."""
    if isinstance(value, dict):
        here = f"{at}.{value['kind']}" if at in ("topology", "traffic") else at
        for key, inside in value.items():
            yield here, key
            yield from _keys(f"{here}.{key}".lstrip("."), inside)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(at, item)


def test_the_soak_draws_every_key():
    """But two: nothing is saved by name there, and a trace has its rows in the scenario."""
    tables = {
        "": Given,
        "network": NetworkTable,
        "hosts": HostTable,
        "record": RecordTable,
        "faults": Fault,
        "classes": TrafficClass,
        "pools": Pool,
    }
    tables |= {"network.pfc": Pauses, "network.shared": Shared, "network.trimming": Trimming}
    tables["network.policer"] = Policer
    tables |= {f"topology.{name}": kind for name, kind in TOPOLOGIES.items()}
    tables |= {f"traffic.{name}": kind for name, kind in TRAFFICS.items()}
    left = {
        (at, field.alias or key) for at, table in tables.items() for key, field in table.model_fields.items()
    }
    for number in range(2000):
        left -= set(_keys("", scenarios.Draw(random.Random(f"keys/{number}")).tables()))
    assert left == {("", "name"), ("traffic.trace", "file"), ("traffic.driven", "file")}

"""A few attacks of each kind; `make attack` has many."""

import os
import random

import numpy as np
import pytest

import shallows as sh
from attack import disks, folders, forged, kills, memory, tables
from shallows.pages import moments
from shallows.results.tables import Names


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("attack", "count"),
    [(kills.attack, 24), (folders.attack, 16), (tables.attack, 12)],
    ids=["kills", "folders", "tables"],
)
def test_attacks_find_nothing(tmp_path, attack, count):
    assert len([*attack(tmp_path, random.Random(1), count)]) == count


@pytest.mark.thorough
def test_forged_shards_and_results_change_nothing_outside(tmp_path):
    """One of each kind. `make attack` has 2,000, from a new seed that it prints."""
    outcomes = [*forged.attack(tmp_path, random.Random(3), len(forged.FORGERIES))]
    assert len(outcomes) == len(forged.FORGERIES)


def rows(block, of):
    return {
        key: Names(its.codes[of], its.names) if isinstance(its, Names) else its[of]
        for key, its in block.items()
    }


MISFITS = {
    "flows": ("rows of flows.parquet = 1: expected 2", lambda block: rows(block, slice(1))),
    "ports": ("rows of ports.parquet = 2: expected 10", lambda block: rows(block, slice(2))),
    "port": (
        'port in ports.parquet = "x": expected a port of the network',
        lambda block: block | {"port": Names(block["port"].codes, ["x"] * len(block["port"].names))},
    ),
    "queues": ("expected as many for each of its 10 ports", lambda block: rows(block, slice(1, None))),
}


@pytest.mark.parametrize("misfit", MISFITS)
def test_tables_that_do_not_fit_the_network_are_named(tmp_path, misfit):
    """A star of two senders: ten ports, and two flows."""
    said, change = MISFITS[misfit]
    run = sh.Run.load(sh.run(sh.Scenario(**TWO_FLOWS)).save(tmp_path / "good"))
    table = misfit if misfit in run._names() else "ports"
    blocks = {table: change(dict(run.columns(table)))}
    forged._write(tmp_path / "gift", run.scenario_toml, run.summary_json(), run, blocks)
    gift = sh.Run.load(tmp_path / "gift")
    for read in (lambda: gift.why(0), lambda: moments.of_run(gift, gift.scenario.graph)):
        with pytest.raises(sh.ScenarioError, match="the table is of another run") as error:
            read()
        assert said in str(error.value)


TWO_FLOWS = forged.SCENARIO | {"record": {"queues": "20us", "ports": "all"}}


@pytest.mark.parametrize("column", ["start_us", "fct_us"])
def test_times_of_flows_that_a_repetition_does_not_have_are_named(tmp_path, column):
    run = sh.Run.load(sh.run(sh.Scenario(**TWO_FLOWS)).save(tmp_path / "good"))
    flows = dict(run.columns("flows"))
    flows[column] = np.asarray(flows[column]) + 250.0
    forged._write(tmp_path / "gift", run.scenario_toml, run.summary_json(), run, {"flows": flows})
    with pytest.raises(
        sh.ScenarioError, match=r"end of flow 0 in flows\.parquet = .*: the table is of another"
    ):
        sh.Run.load(tmp_path / "gift").why(0)
    assert run.why(0).fct_ps == round(run.flows.fct_us[0] * 1e6)


@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_full_disks_leave_whole_files(tmp_path):
    assert len([*disks.attack(tmp_path, random.Random(1), 6)]) == 6


@pytest.mark.nightly
def test_large_scenarios_are_not_killed(tmp_path):
    assert len([*memory.attack(tmp_path, random.Random(1), 3)]) == 3


def test_code_of_a_forged_folder_does_not_run(tmp_path):
    assert [*folders.attack(tmp_path, random.Random(2), 1)] == ["code named"]

"""A few attacks of each kind; `make attack` has many."""

import os
import random
import shutil

import numpy as np
import pytest
import tomli_w

import shallows as sh
from attack import disks, folders, forged, kills, memory, tables
from shallows.export import fct
from shallows.pages import moments
from shallows.results.tables import ALL_TABLES, Names

TWO_FLOWS = forged.SCENARIO | {"record": {"queues": "20us", "ports": "all"}}


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


def times(block, of):
    return np.full(len(block["time_us"]), of)


MISFITS = {
    "flows": ("rows of flows.parquet = 1: expected 2", lambda block: rows(block, slice(1))),
    "ports": ("rows of ports.parquet = 2: expected 10", lambda block: rows(block, slice(2))),
    "port": (
        'port in ports.parquet = "x": expected a port of the network',
        lambda block: block | {"port": Names(block["port"].codes, ["x"] * len(block["port"].names))},
    ),
    "dst": (
        'dst in flows.parquet = "x": expected a host of the network',
        lambda block: block | {"dst": Names(block["dst"].codes, ["x"] * len(block["dst"].names))},
    ),
    "loops": (
        'dst of flow 0 in flows.parquet = "h0": expected another host',
        lambda block: block | {"dst": block["src"]},
    ),
    "queues": ("expected as many for each of its 10 ports", lambda block: rows(block, slice(1, None))),
    "unknown": (
        'time_us in queues.parquet = "nan us',
        lambda block: block | {"time_us": times(block, np.nan)},
    ),
    "still": ('time_us in queues.parquet = "20 us', lambda block: block | {"time_us": times(block, 20.0)}),
    "backwards": ('time_us in queues.parquet = "960 us', lambda block: rows(block, slice(None, None, -1))),
}
"""What is said of a table, and what makes it so; by the name of the table or of its fault."""
TABLE_OF = {"port": "ports", "dst": "flows", "loops": "flows"}
"""The tables with these faults. Those with other faults: `queues`."""


@pytest.mark.parametrize("misfit", MISFITS)
def test_tables_that_do_not_fit_the_network_are_named(tmp_path, misfit):
    """A star of two senders: ten ports, and two flows."""
    said, change = MISFITS[misfit]
    run = sh.Run.load(sh.run(sh.Scenario(**TWO_FLOWS)).save(tmp_path / "good"))
    table = TABLE_OF.get(misfit, misfit if misfit in run._names() else "queues")
    blocks = {table: change(dict(run.columns(table)))}
    forged._write(tmp_path / "gift", run.scenario_toml, run.summary_json(), run, blocks)
    gift = sh.Run.load(tmp_path / "gift")
    for read in (
        lambda: gift.why(0),
        lambda: moments.of_run(gift, gift.scenario.graph),
        lambda: fct.text(gift),
    ):
        with pytest.raises(sh.ScenarioError, match="the table is of another run") as error:
            read()
        assert said in str(error.value)


def test_times_that_no_run_has_are_refused_with_their_column(tmp_path):
    """In each column of times: below 0, beyond 64 bits of picoseconds, and an end of what never began."""
    run = sh.Run.load(sh.run(sh.Scenario(**TWO_FLOWS)).save(tmp_path / "good"))
    seen = []
    for table in run._names():
        block = run.columns(table)
        for column in (key for key, its in ALL_TABLES[table].items() if its.unit == "us" and len(block[key])):
            for spoilt, wrong in ((column, -1.0), (column, np.inf), (column, 1.9e13), ("start_us", np.nan)):
                if np.isnan(wrong) and column not in ("fct_us", "finish_us"):
                    continue
                values = np.array(block[spoilt])
                values[-1] = wrong
                blocks = {table: block | {spoilt: values}}
                forged._write(tmp_path / "gift", run.scenario_toml, run.summary_json(), run, blocks)
                with pytest.raises(sh.ScenarioError, match=rf"{table}\.parquet: {column} = .*: expected"):
                    sh.Run.load(tmp_path / "gift").columns(table)
                shutil.rmtree(tmp_path / "gift")
                seen.append((table, column))
    assert len(set(seen)) >= 12, seen


def test_names_with_control_characters_are_refused_with_their_column(tmp_path):
    run = sh.Run.load(sh.run(sh.Scenario(**TWO_FLOWS)).save(tmp_path / "good"))
    seen = set()
    for table in run._names():
        block = run.columns(table)
        for column in (key for key, its in block.items() if isinstance(its, Names) and its.names):
            names = Names(block[column].codes, ["\x1b]0;owned\x07", *block[column].names[1:]])
            blocks = {table: block | {column: names}}
            forged._write(tmp_path / "gift", run.scenario_toml, run.summary_json(), run, blocks)
            said = rf"{table}\.parquet: {column} = .*: expected a name"
            with pytest.raises(sh.ScenarioError, match=said) as error:
                sh.Run.load(tmp_path / "gift").columns(table)
            assert str(error.value).isprintable(), error.value
            shutil.rmtree(tmp_path / "gift")
            seen.add((table, column))
    assert len(seen) >= 5, seen


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


@pytest.mark.parametrize("traffic", ["x", [[]], [{}], [{"kind": []}], [{"kind": "incas"}]], ids=repr)
def test_a_saved_scenario_that_is_none_is_refused(tmp_path, traffic):
    run = sh.Run.load(sh.run(sh.Scenario(**TWO_FLOWS)).save(tmp_path / "good"))
    toml = tomli_w.dumps(run.scenario.resolved() | {"traffic": traffic})
    forged._write(tmp_path / "gift", toml, run.summary_json(), run)
    gift = sh.Run.load(tmp_path / "gift")
    for read in (gift.taps, lambda: gift.why(0), lambda: fct.text(gift)):
        with pytest.raises(sh.ScenarioError, match="traffic"):
            read()


@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_full_disks_leave_whole_files(tmp_path):
    assert len([*disks.attack(tmp_path, random.Random(1), 6)]) == 6


@pytest.mark.nightly
def test_large_scenarios_are_not_killed(tmp_path):
    assert len([*memory.attack(tmp_path, random.Random(1), 3)]) == 3


def test_code_of_a_forged_folder_does_not_run(tmp_path):
    assert [*folders.attack(tmp_path, random.Random(2), 1)] == ["code named"]

"""A few attacks of each kind; `make attack` has many."""

import os
import random

import pytest

from attack import disks, folders, forged, kills, memory, tables


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("attack", "count"),
    [(kills.attack, 24), (folders.attack, 16), (tables.attack, 12)],
    ids=["kills", "folders", "tables"],
)
def test_attacks_find_nothing(tmp_path, attack, count):
    assert len([*attack(tmp_path, random.Random(1), count)]) == count


def test_forged_shards_and_results_change_nothing_outside(tmp_path):
    """One of each kind. `make attack` has 2,000, from a new seed that it prints."""
    outcomes = [*forged.attack(tmp_path, random.Random(3), len(forged.FORGERIES))]
    assert len(outcomes) == len(forged.FORGERIES)


@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_full_disks_leave_whole_files(tmp_path):
    assert len([*disks.attack(tmp_path, random.Random(1), 6)]) == 6


@pytest.mark.nightly
def test_large_scenarios_are_not_killed(tmp_path):
    assert len([*memory.attack(tmp_path, random.Random(1), 3)]) == 3


def test_code_of_a_forged_folder_does_not_run(tmp_path):
    assert [*folders.attack(tmp_path, random.Random(2), 1)] == ["code named"]

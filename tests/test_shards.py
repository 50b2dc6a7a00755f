"""Shards of a sweep, and their merger."""

import shutil

import pytest

import shallows as sh
from shallows.errors import ScenarioError
from shallows.sweeps import merge
from shallows.sweeps.shards import shard_of

TABLES = {
    "duration": "2ms",
    "topology": {"kind": "star", "hosts": 4},
    "cc": "dctcp",
    "traffic": [{"kind": "poisson", "sizes": "20KB", "load": 0.3, "flows": 20}],
}
OVER = {"network.buffer": ["100pkt", "150pkt", "200pkt"]}
APART = ["wall_s"]


def shard(tmp_path, part=None, **changes):
    name = "whole" if part is None else f"part{part[0]}"
    given = {"over": OVER, "seeds": 3, "workers": 1, "out": tmp_path / name, "shard": part, **changes}
    return sh.sweep(sh.Scenario(**TABLES), **given)


def test_shards_give_the_table_of_one_process(tmp_path):
    """Nine runs in four parts of three, two, two and two."""
    whole = shard(tmp_path)
    parts = [shard(tmp_path, (number, 4)) for number in (3, 1, 4, 2)]
    assert sorted(len(one.rows) for one in parts) == [2, 2, 2, 3]
    merged = merge([one.folder for one in parts], tmp_path / "merged")
    assert merged.rows == whole.rows
    assert sh.Sweep.load(tmp_path / "merged").rows == whole.rows
    assert (tmp_path / "merged" / "summary.csv").read_text() == (
        tmp_path / "whole" / "summary.csv"
    ).read_text()
    assert [run.summary["fingerprint"] for run in merged.runs()] == [row["fingerprint"] for row in whole.rows]
    # The same again, and after all: what is there is not repeated.
    assert merge([one.folder for one in parts], tmp_path / "merged").rows == whole.rows
    assert (
        sh.sweep(sh.Scenario(**TABLES), over=OVER, seeds=3, workers=1, out=tmp_path / "merged").rows
        == whole.rows
    )


def test_a_shard_that_was_killed_goes_on(tmp_path):
    whole, part = shard(tmp_path), shard(tmp_path, (1, 2))
    lost = part.folder / "runs" / f"run={part.rows[1]['run']}"
    shutil.rmtree(lost)
    (part.folder / "table.parquet").unlink()
    again = shard(tmp_path, (1, 2))
    merged = merge([again.folder, shard(tmp_path, (2, 2)).folder], tmp_path / "merged")
    assert merged.rows == whole.rows


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ("missing", "each of 1/2 to 2/2 once"),
        ("twice", "each of 1/2 to 2/2 once"),
        ("other", "shards of one sweep"),
        ("whole", "a sweep that ran with --shard"),
        ("damaged", "a shard whose runs are whole"),
    ],
)
def test_what_is_no_set_of_shards_is_refused(tmp_path, wrong, expected):
    first = shard(tmp_path, (1, 2))
    second = shard(tmp_path, (2, 2), seeds=2) if wrong == "other" else shard(tmp_path, (2, 2))
    folders = [first.folder, second.folder]
    if wrong == "missing":
        folders = folders[:1]
    elif wrong == "twice":
        folders = [first.folder, first.folder]
    elif wrong == "whole":
        folders[1] = shard(tmp_path).folder
    elif wrong == "damaged":
        file = first.folder / "runs" / f"run={first.rows[0]['run']}" / "flows.parquet"
        file.write_bytes(file.read_bytes()[:-20] + b"x" * 20)
    with pytest.raises(ScenarioError, match=expected):
        merge(folders, tmp_path / "merged")


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0", "-1/4"])
def test_a_shard_is_one_of_several(text):
    with pytest.raises(ScenarioError, match="I/N with I from 1 to N"):
        shard_of(text)
    assert shard_of("2/4") == (2, 4)


def test_a_shard_cannot_add_seeds_until_an_interval_is_narrow(tmp_path):
    with pytest.raises(ScenarioError, match="no such option with a shard"):
        shard(tmp_path, (1, 2), until=0.05)

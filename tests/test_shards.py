"""Shards of a sweep, and their merger."""

import os
import shutil

import pytest

import shallows as sh
from shallows.errors import ScenarioError
from shallows.sweeps import merge, saved
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


def tree(folder):
    """Everything in a folder: {path: content, or target of a link, or None for a folder}."""
    return {
        path: os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Two shards of three runs, to be copied."""
    folder = tmp_path_factory.mktemp("shards")
    return [shard(folder, (number, 2), seeds=1).folder for number in (1, 2)]


@pytest.fixture
def parts(shards, tmp_path):
    return [sh.Sweep.load(shutil.copytree(folder, tmp_path / folder.name)) for folder in shards]


def forged(one, change):
    """Write the table of a shard again, with rows that somebody has changed."""
    for row in one.rows:
        change(row)
    saved.save(one.folder / "table.parquet", one.rows, one.about, one.swept)


ADDRESSES = [
    "A/../../../precious",
    "../../precious",
    "/precious",
    "0123456789abcde",
    "0123456789abcdef0",
    "0123456789ABCDEF",
    "0123456789abcdef\n",
    "٠١٢٣٤٥٦٧٨٩abcdef",
    "",
    None,
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_forged_address_leads_nowhere(tmp_path, parts, address):
    """The folder that an address of the table leads to is neither removed, replaced nor read."""
    one, other = parts
    precious = tmp_path / "precious"
    shutil.copytree(one.folder / "runs" / f"run={one.rows[0]['run']}", precious)
    (precious / "thesis.tex").write_text("years of work")
    (other.folder / "runs" / "run=A").symlink_to(tmp_path)
    forged(other, lambda row: row.update(run=address))
    before = tree(tmp_path)
    with pytest.raises(ScenarioError, match=r"16 hexadecimal digits|a text"):
        merge([one.folder, other.folder], tmp_path / "merged")
    with pytest.raises(ScenarioError, match=r"16 hexadecimal digits|a text"):
        _ = list(sh.Sweep.load(other.folder).runs())
    assert {
        path: what for path, what in tree(tmp_path).items() if tmp_path / "merged" not in path.parents
    } == (before)


@pytest.mark.parametrize("place", [[1], [1, 2, 3], [0, 2], [3, 2]])
def test_a_shard_of_a_wrong_place_is_refused(tmp_path, parts, place):
    one, other = parts
    other.about["shard"] = place
    forged(other, lambda row: None)
    with pytest.raises(ScenarioError, match=r"shard.*expected \[I, N\]"):
        merge([one.folder, other.folder], tmp_path / "merged")


def test_a_sweep_without_its_own_text_is_refused(parts):
    one, _ = parts
    one.about["told"] = "[["
    saved.save(one.folder / "table.parquet", one.rows, one.about, one.swept)
    with pytest.raises(ScenarioError, match=r"table\.parquet: told: expected the sweep as TOML"):
        sh.Sweep.load(one.folder)


@pytest.mark.parametrize("link", ["runs", ".lock", ".table.parquet.partial", "set-aside", "summary.csv"])
def test_a_link_in_the_folder_of_a_sweep_is_not_followed(tmp_path, parts, link):
    away = tmp_path / "away"
    away.mkdir()
    folders = [one.folder for one in parts]
    for folder, again in ((tmp_path / "merged", lambda out: merge(folders, out)), (folders[0], None)):
        folder.mkdir(exist_ok=True)
        (folder / link).rename(away / "was") if (folder / link).exists() else None
        target = away if link in ("runs", "set-aside") else away / "file"
        (folder / link).symlink_to(target)
        before = tree(away)
        with pytest.raises(ScenarioError, match=f"its {link} is a link"):
            again(folder) if again else shard(tmp_path, (1, 2), seeds=1)
        assert tree(away) == before


def test_merge_sets_aside_what_is_in_the_place_of_a_run(tmp_path, parts):
    place = tmp_path / "merged" / "runs" / f"run={parts[0].rows[0]['run']}"
    place.mkdir(parents=True)
    (place / "thesis.tex").write_text("years of work")
    merge([one.folder for one in parts], tmp_path / "merged")
    assert [path.read_text() for path in (tmp_path / "merged" / "set-aside").rglob("thesis.tex")] == [
        "years of work"
    ]
    link = tmp_path / "merged" / "runs" / f"run={parts[1].rows[0]['run']}"
    shutil.rmtree(link)
    link.symlink_to(parts[1].folder / "runs" / link.name)
    merge([one.folder for one in parts], tmp_path / "merged")
    assert not link.is_symlink()


def test_a_forged_comparison_leads_nowhere(tmp_path):
    scenario = sh.Scenario(**TABLES)
    sh.compare(scenario, ["reno"]).save(tmp_path / "deep" / "compared", plot=False)
    sh.run(scenario, out=tmp_path / "elsewhere")
    table = tmp_path / "deep" / "compared" / "comparison.csv"
    table.write_text(table.read_text().replace("\nreno,", "\n../../elsewhere,"))
    with pytest.raises(ScenarioError, match="no such folder"):
        sh.Comparison.load(table.parent)
    run = sh.Run.load(tmp_path / "elsewhere")
    saved_at = sh.Comparison({"../../away": run}).save(tmp_path / "deep" / "again", plot=False)
    assert not (tmp_path / "away").exists()
    assert [*sh.Comparison.load(saved_at).runs] == ["../../away"]

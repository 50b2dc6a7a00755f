"""Tables on disk: what other readers make of them, what of others is read, and that no bit may change.

pyarrow, polars and duckdb are the judges: none of them has a part in writing or reading a result.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import fake_packet_run as fake
import shallows as sh
from lazy import duckdb, polars
from shallows.cli import app
from shallows.results import TABLES, disk, tables
from shallows.results.tables import Column, Names

DUCKDB = {"uint32": "UINTEGER", "uint64": "UBIGINT", "float64": "DOUBLE", "name": "VARCHAR"}
SCENARIO = """
name = "small"
duration = "2ms"
cc = "dctcp"
[topology]
kind = "dumbbell"
hosts = 4
[[traffic]]
kind = "long-lived"
flows = 4
[[traffic]]
kind = "poisson"
sizes = "20KB"
load = 0.2
load_of = "bottleneck"
flows = 50
[record]
queues = "5us"
probes = "10us"
"""


@pytest.fixture
def saved(tmp_path):
    """Everything that a result can have: names that repeat and numbers that are missing."""
    return fake.run().save(tmp_path / "out")


@pytest.mark.parametrize("name", TABLES)
def test_other_readers_find_the_types_and_values_that_are_promised(saved, name):
    file, columns = saved / f"{name}.parquet", TABLES[name]
    expected = tables.rows(fake.run().columns(name))
    assert expected
    arrow = pyarrow.parquet.read_table(file, page_checksum_verification=True)
    assert [str(kind) for kind in arrow.schema.types] == [
        {"float64": "double", "name": "string"}.get(of.type, of.type) for of in columns.values()
    ]
    frame = polars.read_parquet(file)
    assert list(map(str, frame.dtypes)) == [
        {"uint32": "UInt32", "uint64": "UInt64", "float64": "Float64", "name": "String"}[of.type]
        for of in columns.values()
    ]
    found = duckdb.sql(f"select * from '{file}'")
    assert list(map(str, found.types)) == [DUCKDB[of.type] for of in columns.values()]
    assert arrow.to_pylist() == frame.to_dicts() == expected
    assert [dict(zip(columns, row, strict=True)) for row in found.fetchall()] == expected
    read = pandas.read_parquet(file)
    assert read.isna().to_numpy().tolist() == [[v is None for v in row.values()] for row in expected]


def test_other_readers_find_units_and_the_run(saved):
    keys = polars.read_parquet_metadata(saved / "flows.parquet")
    assert keys["fingerprint"] == fake.run().summary["fingerprint"]
    assert json.loads(keys["columns"])["fct_us"]["unit"] == "us"


def test_readers_may_pass_by_blocks_by_their_least_and_largest_value(saved):
    """Of floats too: what newer writers say of their order, older readers refuse or do not look at."""
    group = pyarrow.parquet.ParquetFile(saved / "queues.parquet").metadata.row_group(0)
    times = group.column(0).statistics
    assert (times.min, times.max) == (0, 300)


def test_numbers_at_the_ends_of_their_types_come_back(tmp_path):
    limits = {f"uint{bits}": [0, 2**bits - 1] for bits in (8, 16, 32, 64)} | {"int64": [-(2**63), 2**63 - 1]}
    values = {kind: np.array(ends, kind) for kind, ends in limits.items()}
    values |= {"float64": np.array([5e-324, -np.inf]), "bool": np.array([True, False])}
    columns = {kind: Column(kind, "", "") for kind in values}
    disk.write(tmp_path / "x.parquet", columns, {}, [values])
    back = disk.read(tmp_path / "x.parquet", "")
    assert {kind: (str(of.dtype), of.tolist()) for kind, of in back.items()} == {
        kind: (kind, of.tolist()) for kind, of in values.items()
    }
    assert pyarrow.parquet.read_table(tmp_path / "x.parquet").to_pydict() == {
        kind: of.tolist() for kind, of in values.items()
    }


ZSTD = Path(__file__).parent / "tables" / "zstd.parquet"
"""Two blocks of the two rows below, as version 0.1.0 wrote them."""


def test_a_table_of_an_earlier_version_is_read():
    limits = {f"uint{bits}": [0, 2**bits - 1] for bits in (8, 16, 32, 64)} | {"int64": [-(2**63), 2**63 - 1]}
    expected = limits | {"float64": [0.5, None], "bool": [True, False]}
    expected |= {"missing": [None, 3], "name": [None, "x"]}
    back = disk.read(ZSTD, "")
    assert tables.rows(back) == [{name: of[row] for name, of in expected.items()} for row in (0, 1, 0, 1)]
    kinds = {name: "float64" if name == "missing" else name for name in expected if name != "name"}
    assert {name: str(back[name].dtype) for name in kinds} == kinds


def test_a_table_of_an_earlier_version_asks_for_its_reader(monkeypatch):
    monkeypatch.setattr("shallows.base.extras.has", lambda extra: False)
    with pytest.raises(sh.ScenarioError, match=r"compressed with ZSTD.*pyarrow to be installed.*\[arrow\]"):
        disk.read(ZSTD, "")


def test_a_changed_table_of_an_earlier_version_is_refused(tmp_path):
    changed = bytearray(ZSTD.read_bytes())
    changed[100] ^= 1
    (tmp_path / "x.parquet").write_bytes(changed)
    with pytest.raises(sh.ScenarioError, match="it has changed"):
        disk.read(tmp_path / "x.parquet", "")


def test_what_is_missing_comes_back_missing(tmp_path):
    columns = {"n": Column("uint64", "", ""), "t": Column("name", "", "")}
    texts = Names(np.array([1, -1, 1, 0]), ["", "naïve → ü"])
    blocks = [{"n": np.array([np.nan, 3, np.nan, 4]), "t": texts}] * 2
    disk.write(tmp_path / "x.parquet", columns, {}, blocks)
    expected = [
        {"n": None, "t": "naïve → ü"},
        {"n": 3, "t": None},
        {"n": None, "t": "naïve → ü"},
        {"n": 4, "t": ""},
    ] * 2
    assert tables.rows(disk.read(tmp_path / "x.parquet", "")) == expected
    assert pyarrow.parquet.read_table(tmp_path / "x.parquet").to_pylist() == expected


def test_a_column_of_more_than_a_piece_comes_back(tmp_path):
    """65,536 rows are encoded and decoded at a time."""
    rows = 200_001
    values = {"n": np.arange(rows, dtype=np.uint32), "t": Names(np.arange(rows) % 7, list("abcdefg"))}
    columns = {"n": Column("uint32", "", ""), "t": Column("name", "", "")}
    disk.write(tmp_path / "x.parquet", columns, {}, [values])
    back = disk.read(tmp_path / "x.parquet", "")
    assert np.array_equal(back["n"], values["n"])
    assert np.array_equal(back["t"].texts(), values["t"].texts())


@pytest.mark.parametrize("where", ["pages", "footer"])
def test_no_bit_of_a_table_may_change(tmp_path, where):
    """In the footer are types, offsets and the metadata: no checksum of pages is of those."""
    folder = sh.run(sh.Scenario.from_toml(SCENARIO)).save(tmp_path / "out")
    file = folder / "flows.parquet"
    content = file.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    places = range(footer, len(content), 11) if where == "footer" else range(0, footer, 19)
    assert len(places) > 100
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        file.write_bytes(changed)
        with pytest.raises(sh.ScenarioError):
            sh.Run.load(folder).columns("flows")
    file.write_bytes(content)
    assert len(sh.Run.load(folder).flows) == 54


def test_a_table_cut_short_anywhere_is_a_sentence(saved):
    file = saved / "ports.parquet"
    content = file.read_bytes()
    for length in range(0, len(content), 97):
        file.write_bytes(content[:length])
        with pytest.raises(sh.ScenarioError, match=r"ports\.parquet"):
            sh.Run.load(saved)


@pytest.fixture(scope="module")
def with_all_tables(tmp_path_factory):
    """A result with a fault, classes and queue pairs, which has every table."""
    scenario = sh.Scenario.from_toml(
        SCENARIO
        + """
[[traffic]]
kind = "all-gather"
size = "40KB"
queue_pairs = 2
[[classes]]
name = "bulk"
[[faults]]
kind = "loss"
link = "s0->s1"
value = 0.01
"""
    )
    folder = sh.run(scenario).save(tmp_path_factory.mktemp("all") / "out")
    assert {path.stem for path in folder.glob("*.parquet")} == set(tables.ALL_TABLES)
    return folder


def one_change(content, draw):
    """The content with one change: a bit, some bytes, a byte more, a byte less, a part of zeros, or a cut."""
    changed, at = bytearray(content), draw.randrange(len(content))
    length = draw.randrange(1, 9)
    match draw.randrange(6):
        case 0:
            changed[at] ^= 1 << draw.randrange(8)
        case 1:
            changed[at : at + length] = draw.randbytes(length)
        case 2:
            changed.insert(at, draw.randrange(256))
        case 3:
            del changed[at]
        case 4:
            changed[at : at + 64] = bytes(len(changed[at : at + 64]))
        case 5:
            del changed[at:]
    return bytes(changed)


def test_any_change_of_any_table_is_found_when_the_result_is_loaded(with_all_tables, tmp_path):
    folder, draw = tmp_path / "changed", random.Random(0)
    shutil.copytree(with_all_tables, folder)
    files = sorted(folder.glob("*.parquet"))
    for _ in range(200):
        file = draw.choice(files)
        content = file.read_bytes()
        changed = one_change(content, draw)
        if changed != content:
            file.write_bytes(changed)
            with pytest.raises(sh.ScenarioError, match=file.name):
                sh.Run.load(folder)
            file.write_bytes(content)
    sh.Run.load(folder)


def by_pyarrow(file, keys):
    table = pyarrow.parquet.read_table(file)
    kept = {key: value for key, value in table.schema.metadata.items() if key.decode() in keys}
    table = table.replace_schema_metadata(kept)
    pyarrow.parquet.write_table(table, file, compression="zstd", write_page_checksum=True)


def by_polars(file, keys):
    metadata = polars.read_parquet_metadata(file)
    polars.read_parquet(file).write_parquet(file, metadata={key: metadata[key] for key in keys})


def by_duckdb(file, keys):
    metadata = polars.read_parquet_metadata(file)
    kept = ", ".join(f"{key}: '{metadata[key]}'" for key in keys)
    duckdb.sql(f"copy (select * from '{file}') to '{file}.new' (format parquet, kv_metadata {{{kept}}})")
    os.replace(f"{file}.new", file)


@pytest.mark.parametrize("name", tables.ALL_TABLES)
@pytest.mark.parametrize("rewrite", [by_pyarrow, by_polars, by_duckdb])
@pytest.mark.parametrize("keys", [("run", "fingerprint"), ("run", "fingerprint", "digest")], ids=len)
def test_a_table_that_another_program_wrote_is_refused(with_all_tables, tmp_path, name, rewrite, keys):
    """Nobody can say whether it is what the run saved, also with the digest of the original."""
    folder = tmp_path / "rewritten"
    shutil.copytree(with_all_tables, folder)
    rewrite(folder / f"{name}.parquet", keys)
    with pytest.raises(sh.ScenarioError, match="it has changed" if "digest" in keys else "it has no digest"):
        sh.Run.load(folder)


@pytest.mark.parametrize("name", tables.ALL_TABLES)
def test_a_table_that_is_missing_is_noticed(with_all_tables, tmp_path, name):
    folder = tmp_path / "less"
    shutil.copytree(with_all_tables, folder)
    (folder / f"{name}.parquet").unlink()
    with pytest.raises(sh.ScenarioError):
        sh.Run.load(folder)


def test_more_rows_than_the_memory_holds_are_an_error_and_not_an_abort(tmp_path):
    """50 million rows of one value take a few KB on disk, and 400 MB in memory; 200 MB are left."""
    code = (
        "import resource; import numpy as np; from shallows.results import disk; "
        "from shallows.results.tables import Column; from shallows.errors import ScenarioError\n"
        "block = {'n': np.zeros(10**7, np.uint64)}\n"
        "disk.write('n.parquet', {'n': Column('uint64', '', '')}, {}, (block for _ in range(5)))\n"
        "used = 4096 * int(open('/proc/self/statm').read().split()[0])\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 2 * 10**8,) * 2)\n"
        "try: disk.read('n.parquet', 'fewer rows')\n"
        "except ScenarioError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert "its 50000000 rows exceed the memory" in done.stdout, done.stderr


def test_a_sweep_keeps_values_of_every_kind(tmp_path):
    from shallows.results.metrics import RUN_KEYS
    from shallows.sweeps import saved

    rest = {"cc": "dx", "seed": 1, "fingerprint": None, "port": None, "more_than": {}}
    rows = [
        {"load": 0.2, "flows": 3, "on": True, "odd": "auto", "failure": None, "jain": 0.5, "run": "a" * 16},
        {"load": 1, "flows": 4, "on": False, "odd": [1, 2], "failure": "late", "jain": None, "run": "b" * 16},
    ]
    rows = [row | rest for row in rows]
    about = {"name": "x", "world": "packet", "version": "0", "seeds": [1], "shard": None, "told": ""}
    about |= {"interrupted": False, "set_aside": {}}
    saved.save(tmp_path / "table.parquet", rows, about, {"traffic.0.load": "load"})
    absent = dict.fromkeys(RUN_KEYS)
    expected = ([absent | row for row in rows], about, {"traffic.0.load": "load"})
    assert saved.load(tmp_path / "table.parquet") == expected
    found = duckdb.sql(f"select * from '{tmp_path}/table.parquet'")
    kinds = "DOUBLE BIGINT BOOLEAN VARCHAR VARCHAR DOUBLE VARCHAR VARCHAR BIGINT VARCHAR VARCHAR VARCHAR"
    assert list(map(str, found.types)) == kinds.split()


WITHOUT = """
import sys
sys.modules["pyarrow"] = None
import importlib.util
known = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "pyarrow" else known(name, *rest)
import shallows as sh
from shallows.cli import app
if __name__ == "__main__":
    run = sh.run(sh.Scenario.from_toml(sys.stdin.read()))
    run = sh.Run.load(run.save("run", plot=True))
    slowest = run.why(slowest=1)
    slowest.record.save("record")
    sh.compare(run.scenario, ["dctcp", "dx"]).save("both")
    over = {"traffic.0.flows": [1, 2]}
    result = sh.sweep(run.scenario, ["dctcp", "dx"], over, seeds=1, out="sweep", workers=1)
    print(sh.Sweep.load("sweep").table.shape, run.flows.shape, len(run.probes))
    for ask in (lambda: run.table("flows"), lambda: slowest.record.table("hops"), result.scan):
        try:
            ask()
        except sh.ScenarioError as error:
            print(error)
"""


def test_everything_but_arrow_works_without_pyarrow(tmp_path):
    (tmp_path / "without.py").write_text(WITHOUT)
    command = [sys.executable, "without.py"]
    done = subprocess.run(
        command, input=SCENARIO, cwd=tmp_path, capture_output=True, text=True, env=os.environ, timeout=600
    )
    assert done.returncode == 0, done.stderr
    shapes, *sentences = done.stdout.splitlines()
    assert shapes.startswith("(4, ")
    need = "expected pyarrow to be installed; write: pip install "
    assert len(sentences) == 3
    assert all(need in sentence for sentence in sentences), sentences
    assert {path.stem for path in Path(tmp_path, "record").iterdir()} >= {"hops", "frames"}


def test_a_threshold_that_is_not_set_is_missing():
    """Slow start has none before the first loss: sums and means of the column stay finite."""
    run = sh.run(
        sh.Scenario(
            duration="1ms",
            topology={"kind": "star", "hosts": 3},
            cc="reno",
            traffic=[{"kind": "incast", "senders": 1, "size": "100KB"}],
            record={"probes": "5us"},
        )
    )
    thresholds = run.probes.value[run.probes.name == "threshold_pkt"]
    assert len(thresholds)
    assert thresholds.isna().all()
    assert np.isfinite(run.probes.value.dropna()).all()


def test_a_sweep_repeats_a_run_with_a_damaged_table(tmp_path):
    (tmp_path / "one.toml").write_text(SCENARIO)
    words = [
        "sweep",
        str(tmp_path / "one.toml"),
        "--seeds",
        "1",
        "--workers",
        "1",
        "--out",
        str(tmp_path / "S"),
    ]
    assert CliRunner().invoke(app, words).exit_code == 0
    (file,) = tmp_path.glob("S/runs/*/flows.parquet")
    content = bytearray(file.read_bytes())
    content[200:204] = bytes(byte ^ 255 for byte in content[200:204])
    file.write_bytes(content)
    again = CliRunner().invoke(app, words)
    assert again.exit_code == 0
    assert len(list((tmp_path / "S" / "set-aside").iterdir())) == 1
    assert len(sh.Run.load(file.parent).flows) == 54

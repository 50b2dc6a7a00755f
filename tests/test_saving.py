"""Saving under all that goes wrong: kills, full disks, two at a time, places that hold something else."""

import errno
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import PIL.Image
import pyarrow.parquet
import pytest

import commands
import failing_calls
import fake_packet_run as fake
import shallows as sh
from shallows.base.version import version
from shallows.results import TABLES, files, inventory, store
from shallows.results.address import Address
from shallows.results.metrics import RUN_KEYS as NUMBERS
from shallows.sweeps import jobs
from shallows.sweeps.comparison import Comparison
from shallows.sweeps.jobs import place_of
from shallows.sweeps.plans import Job
from shallows.sweeps.result import Sweep

SCENARIO = """
name = "quick"
duration = "20ms"
cc = "dctcp"
[topology]
kind = "dumbbell"
hosts = 10
[[traffic]]
kind = "long-lived"
flows = 10
[[traffic]]
kind = "poisson"
sizes = "20KB"
load = 0.2
load_of = "bottleneck"
flows = 300
[record]
queues = "500ns"
probes = "10us"
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "quick.toml").write_text(SCENARIO)
    return tmp_path


def started(place, *words):
    return commands.Process(*words, cwd=place)


def ran(place, *words):
    return commands.run("run", *words, cwd=place)


def whole(folder):
    """The seed of the run or comparison in `folder`, everything in it read and of one run; None if absent."""
    if not folder.exists():
        return None
    runs = [sh.Run.load(path.parent) for path in sorted(folder.glob("**/summary.json"))]
    for run in runs:
        for name in TABLES:
            assert run.table(name).num_rows > 0 or name == "computations"
    if (folder / "figure.png").exists():  # it is drawn after the results are saved
        title = figure_title(folder / "figure.png")
        for run in runs:
            assert run.summary["fingerprint"] in title, "the figure is of another run"
    (seed,) = {run.summary["seed"] for run in runs}
    return seed


def figure_title(path):
    with PIL.Image.open(path) as figure:
        figure.load()
        return figure.text["Title"]


def of_seed(seed):
    """A run with this seed, as in its scenario."""
    made = fake.run()
    made.summary["seed"] = seed
    return made


def saves_run(folder):
    """(saves number N to `folder`, the number of what is there)."""
    return lambda seed: of_seed(seed).save(folder), lambda: sh.Run.load(folder).summary["seed"]


ADDRESS = Address("0123456789abcdef")


def keeps_run_of_sweep(folder):
    """A sweep keeps the first run of an address: one that was begun and not kept is absent."""
    job = Job(ADDRESS, {}, "packet", lambda: None)
    place = place_of(job, folder / "runs")
    place.parent.mkdir(parents=True)

    def save(seed):
        if seed == 0:
            shutil.rmtree(place, ignore_errors=True)
        else:
            jobs._keep(of_seed(seed), place, ADDRESS)

    return save, lambda: sh.Run.load(place).summary["seed"] if place.exists() else 0


def saves_comparison(folder):
    def save(seed):
        Comparison({"dx": of_seed(seed)}).save(folder, plot=False)

    return save, lambda: whole(folder)


def adds_to_a_run(folder):
    """A further file for a saved run: there or absent, never in part."""
    of_seed(0).save(folder)
    summary = (folder / "summary.json").read_text()

    def save(seed):
        with store.adding(folder, "summary.json", summary) as filling:
            (filling / "figure.png").write_text(f"{seed}\n" * 1000)

    def there():
        assert sh.Run.load(folder).summary["seed"] == 0
        lines = (folder / "figure.png").read_text().split("\n") if (folder / "figure.png").exists() else "0"
        assert len(lines) in (1, 1001)
        return int(lines[0])

    return save, there


def writes_page(folder):
    folder.mkdir()
    page = folder / "page.html"
    save = lambda seed: files.write_text(page, f"{files.GENERATOR}\n{seed}\n" + "x\n" * 9000)  # noqa: E731
    return save, lambda: int(page.read_text().split("\n")[1]) if len(page.read_text()) > 18_000 else None


def saves_sweep(folder):
    folder.mkdir()
    about = {"name": "by hand", "world": "packet", "version": "", "seeds": [1], "shard": None}
    about |= {"interrupted": False, "told": "", "set_aside": {}}

    def save(seed):
        row = {"run": ADDRESS, "cc": "dx", "seed": seed, "failure": None, "fingerprint": str(seed)}
        row |= {"port": None, "more_than": {}}
        row |= dict.fromkeys(NUMBERS, 1.0)
        Sweep([row], {}, folder, about).save()

    return save, lambda: Sweep.load(folder).rows[0]["seed"]


def names_latest(folder):
    folder.mkdir()
    save = lambda seed: store.point(folder / "latest", str(seed))  # noqa: E731
    return save, lambda: int(os.readlink(folder / "latest"))


@pytest.mark.parametrize("fault", [failing_calls.die, failing_calls.full_disk])
@pytest.mark.parametrize(
    "writer",
    [saves_run, keeps_run_of_sweep, saves_comparison, adds_to_a_run, writes_page, saves_sweep, names_latest],
)
def test_every_call_of_a_writer_may_be_its_last(tmp_path, writer, fault):
    """The old content or the new, whole, wherever a kill or a full disk ends it; the next one succeeds."""
    save, there = writer(tmp_path / "out")
    save(0)
    seen = []
    for status in failing_calls.outcomes(lambda: save(1), fault):
        seen.append(there())
        assert status in (-signal.SIGKILL, failing_calls.RAISED, failing_calls.DONE), "another error"
        assert status != failing_calls.DONE or seen[-1] == 1
        store.restore(tmp_path / "out")
        save(0)
        assert there() == 0
        assert [path.name for path in tmp_path.iterdir() if path.name != "out"] == [], "leftovers"
    assert set(seen) == {0, 1}
    assert len(seen) >= 4


def test_a_kill_of_a_command_leaves_the_old_result_or_the_new(place):
    """Three signals while it writes; `make attack` has hundreds."""
    words = ["run", "quick.toml", "--out", "out"]
    assert started(place, *words, "--seed", "0").wait() == 0
    seed = 0
    for number, which in enumerate((signal.SIGKILL, signal.SIGTERM, signal.SIGINT), 1):
        process = started(place, *words, "--seed", str(number))
        while not (place / ".out.partial").exists() and process.poll() is None:
            time.sleep(0.0005)
        process.send_signal(which)
        process.wait()
        there = whole(place / "out")
        assert there in (seed, number), f"signal {which}: seed {there} after {seed}"
        seed = there
    assert started(place, *words).wait() == 0
    assert {path.name for path in place.iterdir()} == {"quick.toml", "out"}, "leftovers"


def test_two_at_a_time_leave_one_of_the_two(place):
    fake.run().save(place / "out")
    words = ["run", "quick.toml", "--plot", "--out", "out", "--seed"]
    pair = [started(place, *words, str(seed)) for seed in (2, 3)]
    # One may have been replaced before its figure was drawn: a note, with status 1.
    assert sorted(process.wait() for process in pair) in ([0, 0], [0, 1])
    assert whole(place / "out") in (2, 3)
    assert {path.name for path in place.iterdir()} == {"quick.toml", "out"}


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MB with an earlier result on it; skips where none can be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)  # a failed writer may not be collected yet


@pytest.mark.parametrize("free_kb", [8, 40, 80])
def test_a_full_disk_leaves_the_old_result(small_disk, free_kb):
    fake.run().save(small_disk / "out")
    room = shutil.disk_usage(small_disk).free - free_kb * 1024
    (small_disk / "filler").write_bytes(bytes(max(room, 0)))
    newer = sh.run(sh.Scenario.from_toml(SCENARIO))
    with pytest.raises(OSError, match="No space left") as error:
        newer.save(small_disk / "out")
    assert error.value.errno == errno.ENOSPC
    assert error.value.filename == str(small_disk / "out")
    assert sh.Run.load(small_disk / "out").summary["seed"] == 7
    assert sorted(path.name for path in small_disk.iterdir()) == ["filler", "out"]
    (small_disk / "filler").unlink()
    assert sh.Run.load(newer.save(small_disk / "out")).summary["seed"] == 1


def test_what_does_not_fit_is_saved_elsewhere(place):
    code = (
        "import os, errno\n"
        "from shallows.results import store\n"
        "def full(filling, folder):\n"
        "    if folder.name == 'out': raise OSError(errno.ENOSPC, 'No space left on device', str(folder))\n"
        "    os.rmdir(folder); os.rename(filling, folder)\n"
        "store.put = full\n"
        "from shallows.cli import main; main()"
    )
    done = commands.run("run", "quick.toml", "--out", "out", cwd=place, code=code, TMPDIR=str(place))
    assert "No space left" in done.stderr
    assert "what was done is not lost" in done.stderr
    assert done.returncode == 1, "a script must not believe that --out holds the run"
    saved = Path(done.stderr.split("saved in ")[1].strip())
    assert sh.Run.load(saved).summary["name"] == "quick"
    assert not (place / "out").exists()


def test_where_names_cannot_be_swapped_a_killed_save_is_put_back(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_swap", lambda *_: False)
    folder = fake.run().save(tmp_path / "out")
    newer = fake.run(books={"closed": False, "problems": ["newer"]})
    rename, calls = os.rename, []

    def killed(*names):
        calls.append(names)
        if len(calls) == 3:  # the old one is aside, the new one not yet in its place
            raise SystemExit
        rename(*names)

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", killed)
        with pytest.raises(SystemExit):
            newer.save(folder)
    assert not folder.exists()
    assert sh.Run.load(folder).summary["books"]["closed"]
    assert not sh.Run.load(newer.save(folder)).summary["books"]["closed"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_table_of_another_run_is_found_out(tmp_path):
    one, other = fake.run().save(tmp_path / "one"), fake.run(fingerprint="cd").save(tmp_path / "other")
    assert pyarrow.parquet.read_schema(other / "flows.parquet").metadata[b"fingerprint"] == b"cd"
    shutil.copy(other / "flows.parquet", one)
    with pytest.raises(sh.ScenarioError, match=r"flows\.parquet: of another run"):
        sh.Run.load(one)


def test_a_result_without_text_or_with_half_a_table_is_a_sentence(tmp_path):
    """tests/cases/outputs/spoilt.sh has other damage."""
    folder = fake.run().save(tmp_path / "out")
    os.truncate(folder / "ports.parquet", 300)
    with pytest.raises(sh.ScenarioError, match=r"ports\.parquet"):
        sh.Run.load(folder)
    (folder / "summary.json").write_bytes(b"\xff")
    with pytest.raises(sh.ScenarioError, match="not text"):
        sh.Run.load(folder)
    (folder / "comparison.csv").write_bytes(b"\xff")
    with pytest.raises(sh.ScenarioError, match=r"comparison\.csv: not a table of runs"):
        sh.Comparison.load(folder)


FORGED = {
    "warnings": ("warnings", None, "a list"),
    "a warning": ("warnings", [{}], "a text"),
    "flows": ("flows", [], "a table"),
    "network": ("network", ..., "a value: it is missing"),
    "a count": ("events", "many", "a whole number"),
    "a flag": ("books.closed", 1, "true or false"),
    "a world": ("world", "flat", '"packet"'),
    "a time": ("duration_s", float("inf"), "a number"),
    "a large time": ("duration_s", 1e300, "a number"),
    "a row": ("traffic", [1], "a table"),
    "a number": ("bottleneck.queue_mean_pkt", "0", "a number"),
}


@pytest.mark.parametrize(("key", "value", "expected"), FORGED.values(), ids=FORGED)
def test_a_summary_with_another_type_is_refused_with_its_key(tmp_path, key, value, expected):
    """Its tables fit it, as those of a forger who uses Shallows do."""
    run = fake.run()
    *way, last = key.split(".")
    table = run.summary
    for step in way:
        table = table[step]
    if value is ...:
        del table[last]
    else:
        table[last] = value
    run.save(tmp_path / "out")
    with pytest.raises(sh.ScenarioError, match=rf"summary\.json: {key}.*expected {expected}"):
        sh.Run.load(tmp_path / "out")


@pytest.mark.parametrize(("key", "value"), [("world", 1e300), ("cc", [None]), ("name", []), ("seed", "1")])
def test_a_forged_summary_is_not_in_the_list(tmp_path, key, value):
    run = fake.run()
    run.save(tmp_path / "good")
    run.summary[key] = value
    run.save(tmp_path / "gift")
    assert [one.folder.name for one in inventory.found(tmp_path)] == ["good"]


@pytest.mark.parametrize("lacks", ["digest", "key", "table"])
def test_a_result_of_another_version_is_named(tmp_path, lacks):
    run = fake.run()
    run.summary["version"] = "0.1.0+c0ffee"
    if lacks == "key":
        del run.summary["flows_by_size"]
    run.save(tmp_path / "out")
    table = tmp_path / "out" / "flows.parquet"
    if lacks == "digest":
        pyarrow.parquet.write_table(pyarrow.parquet.read_table(table), table)
    elif lacks == "table":
        table.unlink()
    ours = re.escape(version().partition("+")[0])
    with pytest.raises(sh.ScenarioError, match=f"a result of version {ours}: version 0.1.0 saved this one"):
        sh.Run.load(tmp_path / "out")


def test_a_whole_result_of_another_version_is_read(tmp_path):
    run = fake.run()
    run.summary["version"] = "0.1.0+c0ffee"
    assert sh.Run.load(run.save(tmp_path / "out")).summary == run.summary


def test_no_folder_has_a_nul_in_its_name():
    with pytest.raises(sh.ScenarioError, match="NUL"):
        sh.Run.load("a\0b")


def test_a_flipped_bit_in_a_table_is_found_when_it_is_read(tmp_path):
    folder = sh.run(sh.Scenario.from_toml(SCENARIO)).save(tmp_path / "out")
    content = bytearray((folder / "queues.parquet").read_bytes())
    content[2000] ^= 1
    (folder / "queues.parquet").write_bytes(content)
    with pytest.raises(sh.ScenarioError, match=r"queues\.parquet"):
        sh.Run.load(folder).table("queues")


@pytest.mark.parametrize("held", ["notes.txt", "scenario.toml", ".git/config", "thesis/chapter.tex"])
def test_only_results_are_ever_replaced(tmp_path, held):
    (tmp_path / "out" / held).parent.mkdir(parents=True)
    (tmp_path / "out" / held).write_text("mine")
    with pytest.raises(sh.ScenarioError, match="it holds"):
        fake.run().save(tmp_path / "out")
    assert (tmp_path / "out" / held).read_text() == "mine"


def test_nothing_of_an_earlier_result_stays(tmp_path):
    fake.run().save(tmp_path, plot=True)
    fake.run().save(tmp_path)
    assert not (tmp_path / "figure.png").exists()


def test_every_run_has_a_folder_and_latest_is_the_newest(place):
    def latest(*words):
        done = ran(place, "quick.toml", *words)
        assert done.returncode == 0, done.stderr
        return (place / "results" / "quick" / "latest").resolve()

    first, second, other = latest(), latest("--seed", "2"), latest("--set", "network.buffer=90pkt")
    again = latest()
    assert len({first, second, other}) == 3
    assert again == first
    assert sh.Run.load(second).summary["seed"] == 2


def test_an_interrupted_run_does_not_take_the_place_of_a_whole_one(place, interrupted):
    (place / "quick.toml").write_text(SCENARIO.replace("20ms", "3000s").replace('queues = "500ns"', "")
                                      .replace('probes = "10us"', ""))  # fmt: skip
    status, _ = interrupted(place, "run", "quick.toml")
    assert status == 130
    (folder,) = (place / "results" / "quick").glob("dctcp-*")
    assert folder.name.endswith("-interrupted")
    assert sh.Run.load(folder).interrupted

"""Sweeps: what is run, what is kept, what the intervals hold."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pandas
import pytest

import commands
import shallows as sh
from lazy import scipy
from shallows.errors import ScenarioError
from shallows.memory import bounds
from shallows.results import statistics
from shallows.results.metrics import RUN_KEYS as NUMBERS
from shallows.scenario import examples, needs
from shallows.sweeps import executors, plans
from shallows.sweeps.jobs import Saved, place_of
from shallows.sweeps.report import sweep_report

SCENARIO = """
name = "short"
duration = "10ms"
warmup = "2ms"
cc = "dctcp"
[topology]
kind = "dumbbell"
hosts = 4
rate = "1Gbps"
[[traffic]]
kind = "long-lived"
flows = 4
"""


@pytest.fixture
def scenario():
    return sh.Scenario.from_toml(SCENARIO)


def swept(scenario, folder, **asked):
    asked = {"cc": ["dctcp", "dx"], "over": {"traffic.0.flows": [2, 4]}, "seeds": 3, "workers": 2} | asked
    return sh.sweep(scenario, out=folder, **asked)


# What is asked


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.2:0.8:0.1", [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]),
        ("10:30:10", [10, 20, 30]),
        ("0.9:0.1:-0.4", [0.9, 0.5, 0.1]),
        ("100pkt:250pkt:75pkt", ["100pkt", "175pkt", "250pkt"]),
        ("100pkt,250pkt", ["100pkt", "250pkt"]),
        ("1,2.5,true", [1, 2.5, True]),
        ('"a,b",[1,2],{ kind = "red", at = "x" }', ["a,b", [1, 2], {"kind": "red", "at": "x"}]),
    ],
)
def test_values_as_they_are_typed(text, values):
    assert plans.spread(text, "key") == values


def test_keys_of_one_option_change_together(scenario):
    ((key, other),) = [plans.pairs("network.buffer=90pkt,200pkt traffic.0.flows=2:4:2")]
    over = plans.together(dict([key, other]))
    asked = plans.plan(scenario, ["dctcp", "dx"], {**over, "warmup": ["1ms", "2ms"]}, seeds=[5, 8])
    assert asked.names == {"network.buffer": "buffer", "traffic.0.flows": "flows", "warmup": "warmup"}
    assert [tuple(columns.values()) for columns, _ in asked.points] == [
        (cc, *pair, warmup)
        for cc in ("dctcp", "dx")
        for pair in (("90pkt", 2), ("200pkt", 4))
        for warmup in ("1ms", "2ms")
    ]
    jobs = asked.jobs()
    assert [job.settings["seed"] for job in jobs[:2]] == [5, 8]
    made = jobs[-1].make()
    assert (made.seed, made.cc.name, made.traffic[0].flows, made.warmup) == (8, "dx", 4, 2 * 10**9)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"over": {"traffic.0.flows": []}}, "one value or more"),
        ({"over": {("warmup", "duration"): [("1ms",)]}}, "rows of 2 values"),
        ({"seeds": -1}, "how many"),
        ({"until": 0.05, "metric": "slowdwn_p99"}, 'did you mean "slowdown_p99"'),
    ],
)
def test_a_mistake_is_found_before_anything_runs(scenario, tmp_path, asked, message):
    """Others are in tests/cases/mistakes/of-sweeps.toml."""
    with pytest.raises(sh.ScenarioError, match=message):
        swept(scenario, tmp_path / "out", **asked)
    assert not list(tmp_path.glob("out/runs/*"))


def test_a_file_can_hold_a_sweep(tmp_path):
    table = '[sweep]\ncc = ["dctcp", "dx"]\nseeds = 2\n[sweep.over]\n"traffic.0.flows" = "2:4:2"\n'
    table += '[[sweep.together]]\n"network.buffer" = ["200pkt", "300pkt"]\nwarmup = ["1ms", "2ms"]\n'
    (tmp_path / "short.toml").write_text(SCENARIO + table)
    result = sh.sweep(tmp_path / "short.toml", out=tmp_path / "out")
    assert len(result.table) == 2 * 2 * 2 * 2
    again = sh.sweep(tmp_path / "out" / "sweep.toml", out=tmp_path / "again")
    pandas.testing.assert_frame_equal(again.table, result.table)
    (tmp_path / "by.toml").write_text('[sweep]\nscenario = "out/../base.toml"\nseeds = 2\n')
    (tmp_path / "base.toml").write_text(SCENARIO)
    assert list(sh.sweep(tmp_path / "by.toml", out=tmp_path / "by").table.seed) == [1, 2]
    (tmp_path / "base.toml").write_text(SCENARIO + "[sweep]\nseds = 2\n")
    with pytest.raises(sh.ScenarioError, match='did you mean "seeds"'):
        sh.sweep(tmp_path / "base.toml")


# What is kept


def test_a_table_with_a_row_a_run(scenario, tmp_path):
    result = swept(scenario, tmp_path)
    table = result.table
    assert list(table.columns[:5]) == ["run", "cc", "flows", "seed", "failure"]
    assert [tuple(row) for row in table[["cc", "flows", "seed"]].to_numpy()] == [
        (cc, flows, seed) for cc in ("dctcp", "dx") for flows in (2, 4) for seed in (1, 2, 3)
    ]
    one = next(result.runs(cc="dx", flows=4, seed=2))
    row = table[(table.cc == "dx") & (table.flows == 4) & (table.seed == 2)].iloc[0]
    assert row.queue_mean_pkt == one.summary["bottleneck"]["queue_mean_pkt"]
    assert row.fingerprint == one.summary["fingerprint"]
    alone = sh.run(scenario, seed=2, overrides={"cc": "dx", "traffic.0.flows": 4})
    assert alone.summary["fingerprint"] == row.fingerprint
    pandas.testing.assert_frame_equal(sh.Sweep.load(tmp_path).table, table)


def test_all_algorithms_meet_the_same_arrivals(scenario, tmp_path):
    result = swept(scenario, tmp_path, over=None, seeds=1)
    dctcp, dx = (next(result.runs(cc=cc)).flows for cc in ("dctcp", "dx"))
    assert list(dctcp.start_us) == list(dx.start_us)


def test_a_changed_sweep_repeats_only_what_changed(scenario, tmp_path):
    swept(scenario, tmp_path)
    before = {path.name: path.stat().st_ino for path in (tmp_path / "runs").iterdir()}
    result = swept(scenario, tmp_path, over={"traffic.0.flows": [2, 3, 4]}, seeds=4)
    after = {path.name: path.stat().st_ino for path in (tmp_path / "runs").iterdir()}
    assert len(after) == 24 == len(result.table)
    assert before.items() <= after.items()


def test_a_run_that_fails_is_a_row_with_its_message(scenario, tmp_path):
    result = sh.sweep(scenario, seeds=4, executor=Here(fails_at=3), out=tmp_path)
    assert len(result.table) == 4
    assert list(result.failures.values()) == ["RuntimeError: seed 3 is broken"]
    assert result.summary("queue_mean_pkt").n[0] == 3
    again = sh.sweep(scenario, seeds=4, executor=Here(), out=tmp_path)
    assert not again.failures


class Here:
    """An executor that does everything at once, here."""

    def __init__(self, fails_at=None):
        self.fails_at = fails_at

    def submit(self, work, jobs, *rest):
        from concurrent.futures import Future

        future = Future()
        if any(job.settings["seed"] == self.fails_at for job in jobs):
            future.set_exception(RuntimeError(f"seed {self.fails_at} is broken"))
        else:
            future.set_result(work(jobs, *rest))
        return future


class Deadly:
    """Makes a scenario, unless asked for seed 2: then the process is gone."""

    def __init__(self, make, seed):
        self.make, self.seed = make, seed

    def __call__(self):
        if self.seed == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.make()


def test_a_process_that_dies_costs_its_own_run_only(scenario, tmp_path):
    jobs = plans.plan(scenario, seeds=6).jobs()
    jobs = [
        type(job)(job.run, job.settings, job.world, Deadly(job.make, job.settings["seed"])) for job in jobs
    ]
    (tmp_path / "runs").mkdir()
    rows = [row for _, row in executors.local(jobs, Saved(tmp_path), workers=2)]
    assert sorted(row["seed"] for row in rows) == [1, 2, 3, 4, 5, 6]
    assert [row["seed"] for row in rows if row["failure"]] == [2]
    assert "its process was killed" in next(row["failure"] for row in rows if row["failure"])


def command(place, *words):
    return commands.Process("sweep", "short.toml", "--cc", "dctcp", "--cc", "dx", *words, cwd=place)


def test_workers_end_with_the_command_that_is_killed(tmp_path):
    """Killed alone, it can tell them nothing."""
    (tmp_path / "short.toml").write_text(SCENARIO)
    process = command(tmp_path, "--seeds", "500", "--workers", "2", "--out", "out")
    while not list(tmp_path.glob("out/runs/run=*")):
        time.sleep(0.01)
    group = os.getpgid(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    ends = time.monotonic() + 600
    while time.monotonic() < ends:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.killpg(group, signal.SIGKILL)
    pytest.fail("ten minutes later its workers are there")


def test_two_sweeps_do_not_share_a_folder(scenario, tmp_path):
    from filelock import FileLock

    with FileLock(tmp_path / ".lock"), pytest.raises(sh.ScenarioError, match="another sweep is running"):
        swept(scenario, tmp_path)


def test_a_folder_of_something_else_is_refused(scenario, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(sh.ScenarioError, match=r"it holds thesis\.tex"):
        swept(scenario, tmp_path)


def test_the_tables_of_all_runs_are_one_data_set(scenario, tmp_path):
    result = swept(scenario, tmp_path)
    flows = result.scan().to_table().to_pandas()
    assert len(flows) == sum(result.table.offered)
    joined = flows.merge(result.table[["run", "cc", "flows"]], on="run", suffixes=("", "_of_run"))
    assert (joined.cc == joined.cc_of_run).all()
    assert len(joined) == len(flows)


# Where


@pytest.mark.nightly
def test_dask_with_a_worker_killed_gives_the_same_table(scenario, tmp_path):
    distributed = pytest.importorskip("distributed")
    seeds = 12
    reference = swept(scenario, tmp_path / "local", seeds=seeds).table
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        killer = subprocess.Popen(
            [sys.executable, "-c", KILL_ONCE_BEGUN, str(tmp_path / "dask"), str(pids[0])]
        )
        table = swept(scenario, tmp_path / "dask", seeds=seeds,
                      executor="dask" + cluster.scheduler_address.removeprefix("tcp")).table  # fmt: skip
        assert killer.wait() == 0
    pandas.testing.assert_frame_equal(table, reference)


KILL_ONCE_BEGUN = """
import os, signal, sys, time
from pathlib import Path
while not list(Path(sys.argv[1]).glob("runs/run=*")):
    time.sleep(0.01)
os.kill(int(sys.argv[2]), signal.SIGKILL)
"""


def test_submitit_gives_the_same_table(scenario, tmp_path):
    pytest.importorskip("submitit")
    reference = swept(scenario, tmp_path / "local").table
    (tmp_path / "out" / "runs").mkdir(parents=True)
    jobs = plans.plan(scenario, ["dctcp", "dx"], {"traffic.0.flows": [2, 4]}, 3).jobs()
    out = tmp_path / "out"
    rows = [row for _, row in executors.slurm(jobs, Saved(out), out / "runs", cluster="local", tasks=2)]
    assert all(place_of(job, tmp_path / "out" / "runs").exists() for job in jobs)
    by_run = {row["run"]: row for row in rows}
    table = pandas.DataFrame([by_run[job.run] for job in jobs])
    pandas.testing.assert_frame_equal(table.astype(dict.fromkeys(NUMBERS, float)), reference)


def test_the_script_for_slurm_can_be_seen_anywhere(tmp_path):
    pytest.importorskip("submitit")
    (tmp_path / "short.toml").write_text(SCENARIO)
    process = command(tmp_path, "--seeds", "30", "--dry-run", "--on",
                      "slurm:timeout_min=60,slurm_partition=cpu,tasks=20")  # fmt: skip
    script, errors = process.communicate()
    assert process.returncode == 0, errors
    for line in ("#SBATCH --array=0-19%20", "#SBATCH --time=60", "#SBATCH --partition=cpu", "srun"):
        assert line in script
    assert not list(tmp_path.glob("results/short/sweep/runs/*"))


# What the intervals hold


def test_students_interval_by_hand():
    """1, 2, 3, 4: mean 2.5, s = 1.2910, t(3, 97.5 %) = 3.1824 (tables): 2.5 +- 3.1824 * 1.2910 / 2."""
    interval = statistics.mean([1, 2, 3, 4])
    assert (interval.mean, interval.n) == (2.5, 4)
    assert interval.half_width == pytest.approx(2.0543, abs=1e-3)
    assert np.isnan(statistics.mean([3]).low)
    assert statistics.mean([]).n == 0


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("freedom", [1, 1.3, 2, 2.5, 3, 4.4118, 9, 19, 99, 398])
def test_students_quantile_is_scipys(freedom, confidence):
    expected = scipy.special.stdtrit(freedom, (1 + confidence) / 2)
    assert statistics.student(freedom, confidence) == pytest.approx(expected, rel=1e-7)


STILL = {
    "duration": "until-done",
    "topology": {"kind": "star", "hosts": 5, "rate": "1Gbps", "rtt": "100us"},
    "cc": "vegas",
    "traffic": [{"kind": "incast", "size": "64KB"}],
}


def test_runs_that_draw_nothing_random_are_one_run(tmp_path):
    """Nor does `until` add seeds. With jitter the same runs have an interval."""
    still = sh.Scenario(**STILL)
    result = sh.sweep(still, ["vegas", "dctcp"], until=0.01, out=tmp_path / "still")
    assert len(result.rows) == 10
    rows = result.intervals("fct_mean_us", baseline="dctcp")
    assert [row["n"] for row in rows] == [row["difference_n"] for row in rows] == [1, 1]
    assert all(math.isnan(row[key]) for row in rows for key in ("low", "high", "difference_low"))
    said = [part for part in sweep_report(result, ["fct_mean_us"]) if isinstance(part, str)]
    assert said == [
        "",
        "nothing random is drawn: 5 seeds give one run, and there is no interval; "
        "set traffic.0.jitter to a round trip or more",
    ]
    over = {"network.buffer": ["64KB", "99KB"]}
    sh.sweep(still, over=over, seeds=2, out=tmp_path / "over").figure(y="fct_mean_us").savefig(
        tmp_path / "one.png"
    )
    drawn = still.replace({"traffic.0.jitter": "100us"})
    (row,) = sh.sweep(drawn, seeds=3, out=tmp_path / "drawn").intervals("fct_mean_us")
    assert row["n"] == 3
    assert row["low"] < row["mean"] < row["high"]


def test_a_script_from_standard_input_can_sweep(tmp_path):
    """Nor does it need the question for `__main__`."""
    script = (
        "import shallows as sh\n"
        f"made = sh.Scenario(**{STILL})\n"
        f"result = sh.sweep(made, seeds=2, workers=2, out={str(tmp_path / 'swept')!r})\n"
        "print(len(result.rows), result.failures)\n"
    )
    place = tmp_path / "script.py"
    place.write_text(script, "utf-8")
    for words, given in (["-"], script), ([str(place)], None):
        done = subprocess.run([sys.executable, *words], input=given, capture_output=True, text=True)
        assert (done.stdout, done.returncode) == ("2 {}\n", 0), done.stderr
        shutil.rmtree(tmp_path / "swept")


def test_a_sweep_whose_runs_all_fail_raises_the_cause(scenario, tmp_path):
    with pytest.raises(RuntimeError, match="all 1 runs failed: RuntimeError: seed 3 is broken"):
        sh.sweep(scenario, seeds=[3], executor=Here(fails_at=3), out=tmp_path)
    assert sh.Sweep.load(tmp_path).failures


def test_metrics_of_a_size_class_and_of_a_traffic_table(tmp_path):
    tables = [{"kind": "incast", "size": size, "jitter": "100us"} for size in ("5KB", "64KB")]
    result = sh.sweep(sh.Scenario(**STILL | {"traffic": tables}), seeds=2, out=tmp_path)
    for part, chosen in (("size.10KB", 0), ("traffic.1", 1), ("size.100KB", 1)):
        for key, share in (("fct_p95_us", 0.95), ("fct_p999_us", 0.999), ("fct_mean_us", None)):
            flows = [run.flows.fct_us[run.flows.traffic == chosen] for run in result.runs()]
            means = [fct.mean() if share is None else np.quantile(fct, share) for fct in flows]
            (row,) = result.intervals(f"{part}.{key}")
            assert row["mean"] == pytest.approx(np.mean(means))
            assert row["few"] == (share is not None)
    assert result.intervals("size.10MB.slowdown_mean")[0]["n"] == 0
    assert "traffic.1.fct_p95_us" in result.table
    result.save()
    assert sh.Sweep.load(tmp_path).intervals("size.10KB.fct_p95_us")[0]["n"] == 2
    for wrong in ("size.3KB.fct_p95_us", "traffic.1.jain2"):
        with pytest.raises(ScenarioError, match=r"such as size\.10KB\.slowdown_p99"):
            result.intervals(wrong)


def test_welchs_interval_by_hand():
    """1..4 against 2, 4, 6, 8: variances 5/3 and 20/3, errors 5/12 and 5/3, freedom 4.4118, t = 2.676."""
    interval = statistics.unpaired([2, 4, 6, 8], [1, 2, 3, 4])
    assert interval.mean == 2.5
    assert interval.half_width == pytest.approx(2.676 * (25 / 12) ** 0.5, rel=2e-3)


def test_intervals_hold_the_mean_as_often_as_they_say(scenario):
    """200 sweeps of ten seeds whose mean is known: 93 to 97 % of intervals hold it; of 20,000, 94 to 96 %."""
    dice = np.random.default_rng(2026)
    synthetic = [sweep_of(dice.normal(5, 2, 10)) for _ in range(200)]
    rows = [row for one in synthetic for row in one.intervals("queue_mean_pkt")]
    held = sum(row["low"] <= 5 <= row["high"] for row in rows)
    assert 186 <= held <= 194
    many = [statistics.mean(values) for values in dice.normal(5, 2, (20_000, 10))]
    assert np.mean([of.low <= 5 <= of.high for of in many]) == pytest.approx(0.95, abs=0.01)


def sweep_of(values, baseline=None):
    same = {"load": 0.4, "failure": None, "fingerprint": "", **dict.fromkeys(NUMBERS, 1.0), "completed": 500}
    rows = [
        {**same, "run": f"{cc}{seed}", "cc": cc, "seed": seed, "queue_mean_pkt": value}
        for cc, of in (("a", values), ("b", baseline if baseline is not None else []))
        for seed, value in enumerate(of)
    ]
    about = {
        "name": "by hand",
        "seeds": list(range(len(values))),
        "interrupted": False,
        "version": "",
        "told": "",
    }
    return sh.Sweep(rows, {"traffic.0.load": "load"}, ".", about)


def test_differences_are_paired_by_seed():
    dice = np.random.default_rng(7)
    arrivals = dice.normal(20, 5, 10)
    one, other = arrivals + 2 + dice.normal(0, 0.1, 10), arrivals + dice.normal(0, 0.1, 10)
    row = sweep_of(one, other).summary("queue_mean_pkt", baseline="b").iloc[0]
    assert row.difference_method.startswith("paired")
    assert row.difference_low < 2 < row.difference_high
    paired, unpaired = row.difference_high - row.difference_low, statistics.unpaired(one, other)
    assert paired < (unpaired.high - unpaired.low) / 10


def test_other_keys_are_averaged_within_a_seed():
    sweep = sweep_of([1.0, 2.0, 3.0])
    more = [{**row, "load": 0.8, "queue_mean_pkt": row["queue_mean_pkt"] + 10} for row in sweep.rows]
    both = sh.Sweep(sweep.rows + more, {"traffic.0.load": "load"}, ".", sweep.about)
    row = both.summary("queue_mean_pkt", by="cc").iloc[0]
    assert (row["mean"], row.n) == (7, 3)
    assert row.high - row["mean"] == pytest.approx(statistics.mean([6, 7, 8]).half_width)


def test_percentiles_of_few_flows_are_marked():
    few = sweep_of([1.0, 2.0]).summary(["slowdown_p99", "slowdown_p50", "queue_p99_pkt"])
    assert list(few.few) == [True, False, False]  # 5 and 250 flows beyond; a queue has no flows


def test_until_adds_seeds_until_the_interval_is_narrow(scenario, tmp_path):
    result = swept(scenario, tmp_path, over=None, seeds=2, until=0.2, metric="queue_mean_pkt")
    assert result.narrow(0.2, "queue_mean_pkt")
    assert 2 < len(result.about["seeds"]) <= 200
    assert len(result.table) == 2 * len(result.about["seeds"])


# Figures and memory


def test_a_figure_has_a_line_and_a_band_for_each_algorithm(scenario, tmp_path):
    result = swept(
        scenario, tmp_path, over={"traffic.0.flows": [2, 4], "network.buffer": ["200pkt", "300pkt"]}
    )
    drawn = result.figure(x="flows", y="queue_mean_pkt")
    assert [ax.get_title(loc="left") for ax in drawn.axes] == ["buffer 200pkt", "buffer 300pkt"]
    summary = result.summary("queue_mean_pkt")
    for ax in drawn.axes:
        assert len(ax.collections) == 2
        buffer = ax.get_title(loc="left").split()[1]
        for line, cc in zip(ax.lines, ("dctcp", "dx"), strict=True):
            its = summary[(summary.cc == cc) & (summary.buffer == buffer)]
            assert list(line.get_ydata()) == list(its["mean"])
    assert drawn.axes[0].get_ylabel() == "queue mean (packets)"
    result.save(drawn)
    assert (tmp_path / "figure.png").exists()
    result.save()
    assert not (tmp_path / "figure.png").exists(), "a figure older than its table"
    shown = result.heatmap("flows", "buffer", "queue_mean_pkt")
    assert [ax.get_title(loc="left") for ax in shown.axes[:2]] == ["dctcp", "dx"]


def test_a_third_key_makes_further_heat_maps(scenario, tmp_path):
    """Each cell is the mean at its own point: nothing is averaged over the third key."""
    over = {
        "traffic.0.flows": [2, 4],
        "network.buffer": ["200pkt", "300pkt"],
        "topology.rtt": ["50us", "400us"],
    }
    result = swept(scenario, tmp_path, cc=["dctcp", "dx"], over=over, seeds=2)
    panels = result.heatmap("flows", "buffer", "queue_mean_pkt").axes[:4]
    titles = [f"{cc}, rtt {rtt}" for rtt in ("50us", "400us") for cc in ("dctcp", "dx")]
    assert [ax.get_title(loc="left") for ax in panels] == titles
    table = result.table
    for ax, title in zip(panels, titles, strict=True):
        cc, rtt = title.split(", rtt ")
        there = (
            table[(table.cc == cc) & (table.rtt == rtt)].groupby(["buffer", "flows"]).queue_mean_pkt.mean()
        )
        assert ax.images[0].get_array().ravel().tolist() == pytest.approx(list(there))


def test_many_series_stay_apart():
    from shallows.plot import look

    looks = [tuple(map(str, look(i).values())) for i in range(21)]
    assert len(set(looks)) == 21


def test_what_memory_cannot_hold_is_refused_with_the_estimate(scenario, monkeypatch, tmp_path):
    monkeypatch.setattr(bounds, "free", lambda: bounds.Free(150_000_000, "the machine"))
    with pytest.raises(sh.ScenarioError, match=r"about 196 MB of memory for 2 at a time.*--workers 1"):
        swept(scenario, tmp_path)


def test_a_run_that_memory_cannot_hold_is_refused_too(tmp_path):
    (tmp_path / "short.toml").write_text(SCENARIO)
    code = (
        "from shallows.memory import bounds\n"
        "bounds.free = lambda: bounds.Free(1_000_000, 'the machine')\n"
        "from shallows.cli import main; main()"
    )
    done = commands.run("run", "short.toml", cwd=tmp_path, code=code)
    assert done.returncode == 2
    assert "about 98 MB of memory" in done.stderr
    assert not (tmp_path / "results" / "short").exists() or not list(
        (tmp_path / "results" / "short").iterdir()
    )


def test_a_comparison_that_memory_cannot_hold_is_refused(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from shallows import cli

    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.toml").write_text(SCENARIO)
    monkeypatch.setattr(bounds, "free", lambda: bounds.Free(150_000_000, "the machine"))
    done = CliRunner().invoke(
        cli.app, ["compare", "short.toml", "--cc", "dctcp", "--cc", "dx", "--threads", "2"]
    )
    assert done.exit_code == 2
    assert "--threads 1" in done.stderr


@pytest.mark.thorough
def test_the_estimate_of_memory_holds_within_a_factor_of_two(tmp_path):
    """The most that a process had, tables saved, on 1,024 hosts; getrusage would count the forked pytest."""
    scenario, overrides = "websearch-fat-tree", {"topology.k": 16, "traffic.0.flows": 2000}
    code = (
        f"import shallows as sh; sh.run({scenario!r}, overrides={overrides!r}, out='x')\n"
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    expected = needs.of_run(sh.Scenario.load(examples.find(scenario), overrides))
    assert 0.5 < expected / (int(done.stdout) * 1024) < 2


def test_long_preparations_say_so(capsys):
    from shallows.printing.progress import report_if_slow

    said, ends = "", time.monotonic() + 600
    with report_if_slow("drawing", after_s=0.01):
        while not said and time.monotonic() < ends:
            time.sleep(0.01)
            said = capsys.readouterr().err
    with report_if_slow("quick", after_s=600):
        pass
    assert said + capsys.readouterr().err == "drawing\n"


def swap(one, other):
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def truncate(one, _):
    content = (one / "flows.parquet").read_bytes()
    (one / "flows.parquet").write_bytes(content[: len(content) // 2])


def edit_summary(one, _):
    text = (one / "summary.json").read_text()
    (one / "summary.json").write_text(text.replace('"seed": 1', '"seed": 1 '))


def copy_over(one, other):
    shutil.rmtree(one)
    shutil.copytree(other, one)


def replace_by_a_file(one, _):
    shutil.rmtree(one)
    one.write_text("mine")


def add_notes(one, _):
    (one / "notes.txt").write_text("mine")


@pytest.mark.parametrize("harm", [swap, truncate, edit_summary, copy_over, replace_by_a_file, add_notes])
def test_a_run_that_is_not_its_own_is_named_set_aside_and_repeated(tmp_path, harm):
    (tmp_path / "short.toml").write_text(SCENARIO)
    first = sh.sweep(tmp_path / "short.toml", seeds=3, out=tmp_path / "swept", workers=1)
    before = [(row["seed"], row["fingerprint"]) for row in first.rows]
    one, other = (tmp_path / "swept" / "runs" / f"run={row['run']}" for row in first.rows[:2])
    harm(one, other)
    again = sh.sweep(tmp_path / "short.toml", seeds=3, out=tmp_path / "swept", workers=1)
    assert [(row["seed"], row["fingerprint"]) for row in again.rows] == before
    assert again.failures == {}
    assert len(again.set_aside) == (2 if harm is swap else 1)
    assert one.name in next(iter(again.set_aside.values()))
    assert len([*(tmp_path / "swept" / "set-aside").iterdir()]) == len(again.set_aside)
    third = sh.sweep(tmp_path / "short.toml", seeds=3, out=tmp_path / "swept", workers=1)
    assert third.set_aside == {}


def test_a_plan_names_the_points_that_overload_a_port():
    """Racks of 3:1: a load of 0.8 of the hosts is 2.4 of their uplinks."""
    made = sh.Scenario.load("websearch-tree", {"traffic.0.flows": 4000})
    said = plans.plan(made, over={"traffic.0.load": [0.2, 0.8]}).warnings()
    over = [text for text in said if "offered more than they can carry" in text]
    assert len(over) == 1
    assert over[0].startswith("load = 0.8: ")


def test_the_table_as_latex(scenario, tmp_path):
    result = swept(scenario, tmp_path / "sweep", cc=["dctcp", "dx"], over={"traffic.0.flows": [2]}, seeds=2)
    for number, row in enumerate(result.rows):
        row["queue_mean_pkt"] = (1.0, 3.0, 0.5, 0.5)[number]
        row["flows"] = "a_b & 50%"
    lines = result.latex(["queue_mean_pkt", "utilization"]).splitlines()
    comments = [line for line in lines if line.startswith("%")]
    assert any("Student t" in line for line in comments)
    table = [line for line in lines if not line.startswith("%")]
    columns = result.columns
    assert table[0] == r"\begin{tabular}{" + "l" * len(columns) + "rrr}"
    assert table[1] == r"\toprule"
    assert table[2].endswith(r"& seeds & queue mean (packets) & utilization \\")
    assert table[3] == r"\midrule"
    # Of 1 and 3: the standard error is 1, and Student's t of one degree of freedom 12.706.
    assert r" & 2 & 2 $\pm$ 13 & " in table[4]
    assert r"a\_b \& 50\%" in table[4]
    assert table[6:] == [r"\bottomrule", r"\end{tabular}"]
    assert len({line.count(" & ") for line in (table[2], table[4], table[5])}) == 1


def test_a_key_that_changes_nothing_is_named(scenario, tmp_path):
    """A buffer of 4 or 8 MB is never full; the number of flows changes every run."""
    over = {"network.buffer": ["4MB", "8MB"], "traffic.0.flows": [2, 4]}
    result = swept(scenario, tmp_path, cc=["dctcp"], over=over, seeds=2)
    said = "\n".join(line for line in sweep_report(result, ["goodput_gbps"]) if isinstance(line, str))
    assert "network.buffer changes nothing: the runs of all its values have the same fingerprint" in said
    assert "traffic.0.flows changes nothing" not in said


def test_the_table_has_the_numbers_of_collectives(tmp_path):
    star = {"kind": "star", "hosts": 4}
    traffic = [{"kind": "all-reduce", "size": "400KB"}]
    ring = sh.Scenario(duration="until-done", cc="dctcp", topology=star, traffic=traffic)
    over = {"traffic.0.size": ["400KB", "800KB"]}
    table = swept(ring, tmp_path, cc=["dctcp"], over=over, seeds=1).table
    took, busbw = table["traffic.0.completion_us"], table["traffic.0.busbw_gb_per_s"]
    sizes = [{"400KB": 4e5, "800KB": 8e5}[size] for size in table["size"]]
    assert busbw.tolist() == pytest.approx(
        [1.5 * size / us / 1e3 for size, us in zip(sizes, took, strict=True)]
    )


def test_whole_tables_are_swept_and_summed_up(tmp_path):
    """A group of runs has the text of a swept table, which cannot be a key of a dict."""
    markings = [{"kind": "step", "threshold": f"{threshold}pkt"} for threshold in (20, 40)]
    swept = sh.sweep(sh.Scenario.from_toml(SCENARIO), over={"network.marking": markings}, out=tmp_path)
    for one in (swept, sh.Sweep.load(tmp_path)):
        summary = one.summary("queue_mean_pkt")
        assert [json.loads(text) for text in summary["marking"]] == markings

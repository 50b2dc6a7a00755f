"""Tasks: messages and computations that wait for each other, by hand; what can never start; saving."""

import csv
import json
import time

import numpy as np
import pandas
import pytest
from typer.testing import CliRunner

import commands
import shallows as sh
from shallows import cli
from shallows.traffic.task_graph import TaskGraph
from trace_queries import ask

US = 1_000_000
MTU, HEADER = 1500, 40


def scenario(tasks, **more):
    tables = {
        "duration": "until-done",
        "topology": {"kind": "star", "hosts": 4, "rate": "10Gbps", "rtt": "4us"},
        "network": {"buffer": "unlimited"},
        "cc": "dctcp",
        "traffic": [{"kind": "tasks", "name": "job", "tasks": tasks}],
    }
    return sh.Scenario(**(tables | more))


def message(name, source, target, **more):
    """One full frame: 1.2 us on each of two links of 1 us."""
    return {"name": name, "from": source, "to": target, "size": f"{MTU - HEADER}B", **more}


MESSAGE_PS = 4_400_000
CHAIN = [
    {"name": "load", "host": "h0", "compute": "10us"},
    message("ask", "h0", "h1", after=["load"], delay="1us"),
    {"name": "serve", "host": "h1", "compute": "20us", "after": ["ask"]},
    message("answer", "h1", "h0", after=["serve"]),
    {"name": "use", "host": "h0", "compute": "5us", "after": ["answer"], "delay": "2us"},
    {"name": "idle", "host": "h1", "compute": "3us", "after": ["ask"], "processor": 1},
]


def test_messages_and_computations_add_up():
    """10 + 1 + 4.4 + 20 + 4.4 + 2 + 5 us; without messages 10 + 20 + 2 + 5."""
    row = sh.run(scenario(CHAIN)).summary["tasks"][0]
    assert row["completion_us"] == pytest.approx(46.8, abs=1e-6)
    assert row["ideal_us"] == pytest.approx(46.8, abs=1e-6)
    assert row["computation_us"] == pytest.approx(37, abs=1e-6)
    assert row["exposed_us"] == pytest.approx(9.8, abs=1e-6)
    assert [step["step"] for step in row["steps"]] == ["load", "ask", "serve", "answer", "use", "idle"]
    assert row["steps"][2] == {
        "step": "serve",
        "begin_us": pytest.approx(15.4),
        "end_us": pytest.approx(35.4),
    }
    assert row["slowest_host"] == "h1"
    assert row["slowest_ratio"] == pytest.approx(23 / 19)


def test_the_path_has_computations_and_adds_up():
    path = sh.run(scenario(CHAIN)).why(task="job")
    assert sum(piece.length_ps for piece in path.pieces) == path.fct_ps == 46_800_000
    causes = path.by_cause()
    assert (causes["computation"], causes["delay"]) == (35 * US, 3 * US)
    assert causes["transmission"] + causes["propagation"] == 2 * MESSAGE_PS
    assert [message.until for message in path.messages] == ["computed", "received"] * 2 + ["computed"]
    # "idle" ends at 15.4 + 3 us; the whole at 46.8 us.
    slack = path.slack()
    assert [slack[number] for number in (2, 3, 4, 5)] == [0, 0, 0, 28_400_000]


def test_a_busy_processor_is_on_the_path():
    """Three computations of one processor: the path goes through all, with one start of its own."""
    tasks = [{"name": str(at), "host": "h0", "compute": f"{length}us"} for at, length in enumerate((5, 7, 9))]
    tasks.append(message("end", "h0", "h1", after=["2"]))
    path = sh.run(scenario(tasks)).why(task="job")
    assert path.fct_ps == 21 * US + MESSAGE_PS
    assert path.by_cause()["computation"] == 21 * US
    assert len(path.messages) == 4
    assert path.slack() == dict.fromkeys(range(4), 0)


def test_two_of_three_and_a_third_host():
    """Computations of 10, 20 and 30 us elsewhere: two are enough, and the task learns of them at once."""
    tasks = [{"name": f"c{at}", "host": f"h{at}", "compute": f"{10 * at}us"} for at in (1, 2, 3)]
    tasks.append(message("go", "h0", "h1", after=["c1", "c2", "c3"], needs=2, **{"global": True}))
    run = sh.run(scenario(tasks), threads=2)
    assert run.flows.start_us[0] == pytest.approx(20)
    assert run.summary["threads"]["count"] == 1
    assert run.why(task="job").by_cause()["computation"] == 30 * US


def random_tasks(seed, hosts=16, count=300):
    """Tasks that wait for up to three earlier ones that end at their host."""
    draw = np.random.default_rng(seed)
    tasks, ends = [], []
    for number in range(count):
        host, other = draw.choice(hosts, 2, replace=False).tolist()
        if draw.random() < 0.4:
            tasks.append({"name": f"t{number}", "host": host, "compute": f"{draw.integers(1, 20)}us"})
            ends.append({host})
        else:
            tasks.append(message(f"t{number}", host, other) | {"size": f"{draw.integers(1, 60)}KB"})
            ends.append({host, other})
        here = [before for before in range(max(0, number - 60), number) if host in ends[before]]
        chosen = draw.choice(here, min(len(here), 3), replace=False).tolist() if here else []
        tasks[-1]["after"] = [f"t{before}" for before in chosen]
    return tasks


FABRIC = {"kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 4, "rate": "10Gbps"}


def partly(tasks):
    """The same tasks, of which those with several predecessors need all but one."""
    return [{**task, "needs": len(task["after"]) - 1} if len(task["after"]) > 1 else task for task in tasks]


@pytest.mark.parametrize(
    "some", [random_tasks, lambda seed: partly(random_tasks(seed))], ids=["all", "k of n"]
)
def test_threads_do_not_change_tasks(some):
    made = scenario(some(1), topology=FABRIC)
    runs = [sh.run(made, threads=threads) for threads in (1, 2, 3, 4)]
    assert len({run.summary["fingerprint"] for run in runs}) == 1
    assert all(run.computations.equals(runs[0].computations) for run in runs)
    assert runs[3].summary["threads"]["domains"] > 1


@pytest.mark.parametrize("seed", range(5))
def test_paths_of_random_graphs_add_up_and_have_no_slack(seed):
    run = sh.run(scenario(random_tasks(seed, count=120), topology=FABRIC))
    path = run.why(task="job")
    assert sum(piece.length_ps for piece in path.pieces) == path.fct_ps
    assert path.fct_ps == round(run.summary["tasks"][0]["completion_us"] * 1e6)
    slack = path.slack()
    assert min(slack.values()) == 0
    assert all(slack[message.flow] == 0 for message in path.messages)


def test_a_run_with_tasks_is_saved_loaded_and_swept(tmp_path):
    run = sh.run(scenario(CHAIN))
    loaded = sh.Run.load(run.save(tmp_path / "run"))
    assert loaded.computations.equals(run.computations)
    assert loaded.computations.finish_us.tolist() == pytest.approx([10, 35.4, 46.8, 18.4])
    assert loaded.why(task="job").fct_ps == 46_800_000
    kept = {"out": tmp_path / "sweep", "over": {"traffic.0.tasks.0.compute": ["10us", "30us"]}}
    first = sh.sweep(scenario(CHAIN), **kept)
    again = sh.sweep(scenario(CHAIN), **kept)
    assert len(first.table) == len(again.table) == 2
    assert first.table.equals(again.table)


RACE = [
    {"name": "fast", "host": "h0", "compute": "10us"},
    {"name": "slow", "host": "h0", "compute": "30us", "processor": 1},
    {"name": "slowest", "host": "h0", "compute": "60us", "processor": 2},
    {"name": "other", "host": "h1", "compute": "90us"},
    message("go", "h0", "h1", after=["fast", "slow", "slowest"], needs=2),
]
"""The message starts at 30 us and ends at 34.4 us; the last computation ends at 90 us."""


SENT = {
    "chain": (CHAIN, [("h0->s0", 11_000_000, 12_200_000), ("h1->s0", 35_400_000, 36_600_000)]),
    "race": (RACE, [("h0->s0", 30_000_000, 31_200_000)]),
}
"""Tasks, and when their data leaves which port.

A frame of 1500 B takes 1.2 us: "ask" leaves h0 at 10 + 1 us, "answer" h1 at 11 + 4.4 + 20 us.
"go" leaves h0 after two of three.
"""


@pytest.mark.parametrize(("tasks", "expected"), SENT.values(), ids=SENT)
def test_a_run_with_tasks_is_exported(tasks, expected, tmp_path):
    sh.run(scenario(tasks)).save(tmp_path / "run")
    files = ["--perfetto", tmp_path / "a.pftrace", "--pcap", tmp_path / "a.pcapng", "--csv", tmp_path / "csv"]
    words = ["export", str(tmp_path / "run"), "--port", "h?->s0", *map(str, files)]
    told = CliRunner().invoke(cli.app, words)
    assert told.exit_code == 0, told.output
    assert all(path.exists() for path in files[1::2])
    rows = list(csv.DictReader((tmp_path / "csv" / "frames.csv").open()))
    sent = [
        (row["port"], int(row["begun_ps"]), int(row["ended_ps"])) for row in rows if row["kind"] == "data"
    ]
    assert sent == expected
    lives = [(begun, begun + MESSAGE_PS) for _, begun, _ in expected]
    rows = csv.DictReader((tmp_path / "csv" / "flows.csv").open())
    assert [(int(row["start_ps"]), int(row["finish_ps"])) for row in rows] == lives
    (slices,) = ask(
        tmp_path / "a.pftrace", "select ts, dur from slice where name like 'flow %' order by name"
    )
    assert slices == [(begun // 1000, (end - begun) // 1000) for begun, end in lives]


@pytest.mark.parametrize("tasks", [CHAIN, RACE, partly(random_tasks(3))], ids=["chain", "race", "k of n"])
def test_a_scenario_with_tasks_is_written_and_read(tasks, tmp_path):
    """The file gives the same run, and so does the scenario of a saved result."""
    made = scenario(tasks, topology=FABRIC)
    run = sh.run(made)
    read = sh.Scenario.from_toml(made.to_toml())
    loaded = sh.Run.load(run.save(tmp_path / "run"))
    prints = {sh.run(one).summary["fingerprint"] for one in (made, read, loaded.scenario)}
    assert prints == {run.summary["fingerprint"]}
    assert loaded.why(task="job").table().equals(run.why(task="job").table())


LENGTHS_US = (1, 5, 10, 15, 20, 25, 29, 30, 31, 32, 35, 40)


def sweep(folder, out):
    """The process of a sweep over lengths of a computation, with one worker."""
    lengths = ",".join(f"{us}us" for us in LENGTHS_US)
    words = [
        "sweep",
        "race.toml",
        "--over",
        f"traffic.0.tasks.0.compute={lengths}",
        "--workers",
        "1",
        "--out",
        out,
    ]
    return commands.Process(*words, cwd=folder)


def test_a_sweep_of_tasks_that_is_killed_goes_on(tmp_path):
    """SIGKILL to the command and its worker: finished runs stay, and the table is that of a whole sweep."""
    (tmp_path / "race.toml").write_text(scenario(RACE).to_toml())
    process = sweep(tmp_path, "out")
    while process.poll() is None and len(list(tmp_path.glob("out/runs/run=*"))) < 3:
        time.sleep(0.001)
    process.kill_group()
    process.wait()
    there = {path.name: path.stat().st_ino for path in tmp_path.glob("out/runs/run=*")}
    assert 3 <= len(there) < len(LENGTHS_US)
    for out in ("out", "whole"):
        again = sweep(tmp_path, out)
        told = again.communicate()
        assert again.returncode == 0, told
    now = {path.name: path.stat().st_ino for path in tmp_path.glob("out/runs/run=*")}
    assert there.items() <= now.items(), "a finished run was lost or repeated"
    resumed, whole = (sh.Sweep.load(tmp_path / name) for name in ("out", "whole"))
    pandas.testing.assert_frame_equal(resumed.table, whole.table)
    # Two of three: the message waits for the second to end, at 30 us or later.
    starts = [float(run.flows.start_us.iloc[0]) for run in resumed.runs()]
    assert sorted(starts) == pytest.approx([max(30.0, us) for us in LENGTHS_US])


def test_the_slack_of_a_task_that_needs_some_is_a_lower_bound(tmp_path):
    """The message may end at 90 us, so start at 85.6: "fast", of 10 us, and "slow", of 30 us, may end then.

    Later as well, because "slowest" would take the place of one of them.
    """
    run = sh.run(scenario(RACE))
    path = run.why(task="job")
    assert path.fct_ps == 90 * US
    assert path.slack() == {0: 55_600_000, 1: 75_600_000, 2: 55_600_000, 3: 30 * US, 4: 0}
    assert path.slack_is_lower_bound
    assert not sh.run(scenario(CHAIN)).why(task="job").slack_is_lower_bound
    run.save(tmp_path / "run")
    asked = ["why", str(tmp_path / "run"), "--task", "job", "--slack", "--figure", str(tmp_path / "f.png")]
    told = CliRunner().invoke(cli.app, asked)
    assert told.exit_code == 0, told.stderr
    assert "at least: some tasks need only some of their predecessors" in told.stdout
    told = json.loads(CliRunner().invoke(cli.app, [*asked, "--json"]).stdout)["data"]
    assert told["slack_is_lower_bound"] is True
    asked.remove("--slack")
    told = json.loads(CliRunner().invoke(cli.app, [*asked, "--json"]).stdout)["data"]
    assert (told["slack"], told["slack_is_lower_bound"]) == (None, None)


def computation(name, host, length_us, **more):
    return {"name": name, "host": host, "compute": f"{length_us}us", **more}


BUSY_US = 20
"""How long a computation of another table keeps h0 busy."""
SOME = {
    "one that began at the same time": (
        [message("a", "h0", "h1"), message("b", "h0", "h1", after=["a"], delay="5us")],
        message("end", "h0", "h1", after=["a", "b"], delay="5us", needs=1),
        4.4 + 2.1024 + 5 + 1.2 + 4.4,
    ),
    "one that was sent later": (
        [message("a", "h1", "h0"), message("b", "h1", "h0", behind=["a"])],
        computation("end", "h1", 50, behind=["a", "b"], needs=1),
        50,
    ),
    "a processor that was free just then": (
        [computation("a", "h1", BUSY_US), computation("b", "h1", 60, processor=1)],
        computation("end", "h0", 50, after=["a", "b"], needs=1, **{"global": True}),
        BUSY_US + 50,
    ),
    "a message that begins behind a busy processor": (
        [computation("a", "h1", 5), message("b", "h0", "h1", delay="30us")],
        computation("end", "h0", 50, after=["a", "b"], needs=1, **{"global": True}),
        BUSY_US + 50,
    ),
}
"""Tasks "a" and "b", the task "end" that needs "a" alone, and the microseconds from "a" to its end.

An acknowledgement takes 2.1024 us.
"""


@pytest.mark.parametrize(("before", "end", "length_us"), SOME.values(), ids=SOME)
def test_what_a_task_did_not_need_is_not_on_the_path(before, end, length_us):
    other = [computation("x", "h0", BUSY_US), message("y", "h2", "h3")]
    every = (("job", [*before, end]), ("other", other))
    traffic = [{"kind": "tasks", "name": name, "tasks": tasks} for name, tasks in every]
    path = sh.run(scenario([], traffic=traffic)).why(task="job")
    assert path.fct_ps == sum(path.by_cause().values()) == round(length_us * US)
    slack = path.slack()
    assert [slack[one.flow] for one in path.messages] == [0, 0]


def test_a_message_of_expresspass_has_ended_with_its_acknowledgement():
    """Credits that come before it tell how much has arrived, too."""
    tasks = [message("a", "h0", "h1"), computation("end", "h0", 10, after=["a"])]
    star = {"kind": "star", "hosts": 4, "rate": "100Mbps", "rtt": "1ms"}
    path = sh.run(scenario(tasks, cc="expresspass", topology=star)).why(task="job")
    assert path.slack() == {0: 0, 1: 0}


def test_the_slack_of_a_task_behind_a_message_whose_answer_never_came():
    """The run ends with the message, which the computation, from 5 to 15 us, did not need.

    A receiver of ExpressPass acknowledges the whole message, when it is told that no more comes.
    """
    tasks = [computation("a", "h0", 5), message("b", "h0", "h1", delay="20us")]
    tasks.append(computation("end", "h0", 10, after=["a", "b"], needs=1))
    path = sh.run(scenario(tasks, cc="expresspass")).why(task="job")
    assert path.fct_ps >= 20 * US + MESSAGE_PS
    assert path.slack() == {0: 0, 1: path.fct_ps - 15 * US, 2: path.fct_ps - 15 * US}


def test_the_command_prints_computations_and_slack(tmp_path):
    sh.run(scenario(CHAIN)).save(tmp_path / "run")
    asked = ["why", str(tmp_path / "run"), "--task", "job", "--slack", "--figure", str(tmp_path / "f.png")]
    told = CliRunner().invoke(cli.app, asked)
    assert told.exit_code == 0, told.stderr
    for part in ("computation", "slack", "28.40"):
        assert part in told.stdout
    told = json.loads(CliRunner().invoke(cli.app, [*asked, "--json"]).stdout)["data"]
    assert [message["computation"] for message in told["messages"]] == [0, None, 1, None, 2]
    assert max(one["slack_ps"] for one in told["slack"]) == 28_400_000
    assert told["slack_is_lower_bound"] is False


def test_a_graph_is_columns():
    graph = TaskGraph()
    computed = graph.computations([0, 1], 5, processor=2)
    sent = graph.messages([0, 1], [1, 0], 100, delay_ps=7)
    graph.after(sent, computed)
    graph.after(graph.computations(1, 3), sent[0])
    drawn = graph.drawn()
    assert drawn.after.predecessor.tolist() == [2, 3]
    assert drawn.computations.after.predecessor.tolist() == [0]
    assert drawn.computations.processor.tolist() == [2, 2, 0]

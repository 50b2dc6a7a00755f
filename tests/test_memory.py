"""Memory: the limit that a process has, estimates before memory is used, and refusals that say so."""

import re
import resource
import tracemalloc

import pytest

import commands
import shallows as sh
from shallows.memory import bounds
from shallows.scenario import needs
from shallows.traffic.flows import Draws
from shallows.why import demand, index, walk

GB = 10**9
MACHINE = "MemTotal: 64000000 kB\nMemAvailable:   40000000 kB\n"
STATUS = "VmSize:\t 1000000 kB\nVmRSS:\t  200000 kB\nVmData:\t 500000 kB\n"


def system(tmp_path, files):
    """A root folder with /proc and control groups."""
    for name, content in {"proc/meminfo": MACHINE, "proc/self/status": STATUS, **files}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path


VERSION_2 = {
    "proc/self/cgroup": "0::/batch/job/step\n",
    "proc/self/mountinfo": "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
    "sys/fs/cgroup/batch/memory.max": "max\n",
    "sys/fs/cgroup/batch/job/memory.max": "4000000000\n",
    "sys/fs/cgroup/batch/job/memory.current": "1500000000\n",
    "sys/fs/cgroup/batch/job/memory.stat": "anon 900000000\ninactive_file 300000000\nactive_file 200000000\n",
    "sys/fs/cgroup/batch/job/step/memory.max": "9000000000\n",
    "sys/fs/cgroup/batch/job/step/memory.current": "0\n",
}
VERSION_1 = {
    "proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/docker/f00/job\n0::/\n",
    "proc/self/mountinfo": "35 31 0:32 /docker/f00 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "36 31 0:33 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "2000000000\n",
    "sys/fs/cgroup/memory/memory.usage_in_bytes": "700000000\n",
    "sys/fs/cgroup/memory/memory.stat": "inactive_file 1\ntotal_inactive_file 100000000\n",
    "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712\n",
    "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "700000000\n",
}


@pytest.mark.parametrize(
    ("files", "environment", "amount", "of"),
    [
        pytest.param({}, {}, 40_960_000_000, "the memory of this machine", id="machine"),
        # The group above the process's own is the tightest; page cache can be reclaimed: 4 - (1.5 - 0.5) GB.
        pytest.param(VERSION_2, {}, 3 * GB, "4.0 GB .*/sys/fs/cgroup/batch/job/memory.max", id="version 2"),
        # A container sees the group /docker/f00 as the top: 2 - (0.7 - 0.1) GB.
        pytest.param(VERSION_1, {}, 1_400_000_000, "2.0 GB .*/memory/memory.limit_in_bytes", id="version 1"),
        # 4096 MiB less the 204,800,000 B that the process has.
        pytest.param(
            {}, {"SLURM_MEM_PER_NODE": "4096"}, 4_090_167_296, "4.3 GB .*SLURM_MEM_PER_NODE", id="slurm"
        ),
        pytest.param(
            {},
            {"SLURM_MEM_PER_CPU": "1024", "SLURM_CPUS_ON_NODE": "4", "SLURM_MEM_PER_NODE": "0"},
            4_090_167_296,
            "SLURM_MEM_PER_CPU",
            id="slurm by core",
        ),
    ],
)
def test_the_tightest_limit_counts(tmp_path, files, environment, amount, of):
    left = bounds.free(system(tmp_path, files), environment)
    assert left.amount == amount
    assert re.search(of, left.limit), left.limit


@pytest.mark.parametrize(("limit", "free"), [("RLIMIT_AS", 976_000_000), ("RLIMIT_DATA", 1_488_000_000)])
def test_limits_of_the_process_count(tmp_path, monkeypatch, limit, free):
    """2 GB less 1,024,000,000 B of address space, or less 512,000,000 B of data."""
    which = getattr(resource, limit)
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda one: (2 * GB, 2 * GB) if one == which else unlimited)
    left = bounds.free(system(tmp_path, {}), {})
    assert left.amount == free
    assert limit in left.limit


STAR = {"kind": "star", "hosts": 2000}
LARGE = {
    "shuffle": ({"kind": "shuffle"}, "4,000,000 flows"),
    "request-response": ({"kind": "request-response", "pairs": 1000, "exchanges": 1000}, "2,000,000 flows"),
    "incast": ({"kind": "incast", "times": 1000, "period": "1us", "senders": 1999}, "1,999,000 flows"),
    "ring": ({"kind": "all-reduce", "size": "1GB"}, "7,996,000 flows"),
    "all-to-all": ({"kind": "all-to-all", "size": "1GB"}, "3,998,000 flows"),
    "tree": ({"kind": "all-reduce", "algorithm": "tree", "size": "1GB"}, "[0-9,]+ flows"),
    "broadcast": ({"kind": "broadcast", "size": "1GB"}, "[0-9,]+ flows"),
    "poisson": ({"kind": "poisson", "sizes": "1KB", "load": 1e-5, "flows": 2_000_000}, "2,000,000 flows"),
}


@pytest.mark.parametrize("kind", LARGE)
def test_memory_of_flows_is_estimated_before_they_are_drawn(kind, monkeypatch):
    """Each needs 280 MB or more, by 200 B a flow and 80 B a wait; without the check they were drawn."""
    traffic, flows = LARGE[kind]
    monkeypatch.setattr(bounds, "free", lambda: bounds.Free(250_000_000, "the 2.0 GB of this job"))
    wrong = rf"traffic\[0\] = .*of memory for {flows}.*at most 250 MB, .*fewer flows in traffic\[0\]"
    with pytest.raises(sh.ScenarioError, match=wrong):
        sh.Scenario(duration="until-done", cc="dctcp", topology=STAR, traffic=[traffic])


SMALL = [
    {"kind": "incast", "senders": 3, "times": 2, "period": "1ms"},
    {"kind": "shuffle"},
    {"kind": "request-response", "exchanges": 3},
    {"kind": "poisson", "sizes": "1KB", "load": 0.01, "flows": 7},
    {"kind": "all-reduce", "size": "1MB", "channels": 2},
    {"kind": "all-reduce", "algorithm": "tree", "size": "3MB", "group_size": 4},
    {"kind": "all-reduce", "algorithm": "halving-doubling", "size": "1MB"},
    {"kind": "reduce-scatter", "size": "1MB"},
    {"kind": "all-gather", "algorithm": "doubling", "size": "1MB"},
    {"kind": "broadcast", "size": "3MB"},
    {"kind": "all-to-all", "size": "1MB"},
    {"kind": "all-to-all", "order": "pairwise", "size": "1MB"},
    {"kind": "trace", "flows": [[0.0, 0, 1, 100], [0.1, 1, 2, 100]]},
    {"kind": "long-lived", "stop": "1s"},
    {"kind": "staircase", "flows": 3},
]


@pytest.mark.parametrize("table", SMALL, ids=lambda table: f"{table['kind']} {table.get('algorithm', '')}")
def test_the_estimate_covers_the_flows_drawn_and_their_waits(table):
    topology = {"kind": "star", "hosts": 8}
    scenario = sh.Scenario(duration="10s", cc="dctcp", topology=topology, traffic=[table])
    (its,) = scenario.traffic
    drawn = its.draw(scenario.graph, Draws(1, 0), scenario.frame)
    waits = sum(len(pairs) for pairs in (drawn.after, drawn.behind) if pairs is not None)
    assert its.draw_bytes(scenario.graph) >= 200 * len(drawn.src) + 80 * waits


def test_packets_in_flight_have_the_memory_that_is_left(monkeypatch):
    """A window of 8 million packets in a FIFO of a NIC, with memory for few: the run ends and says so."""
    monkeypatch.setattr(bounds, "free", lambda: bounds.Free(200_000_000, "the machine"))
    scenario = sh.Scenario(
        duration="until-done",
        topology={"kind": "dumbbell", "hosts": 1},
        hosts={"nic": "fifo", "initial_window": "8000000pkt"},
        cc="reno",
        traffic=[{"kind": "incast", "senders": 1, "size": "12GB"}],
    )
    fit = needs.packets(scenario)
    assert 100_000 <= fit < 500_000
    with pytest.raises(sh.BooksError, match=f"{fit} packets are in flight"):
        sh.run(scenario)


def test_a_run_says_what_needs_most(monkeypatch):
    monkeypatch.setattr(bounds, "free", lambda: bounds.Free(150_000_000, "the 2.0 GB of this job"))
    scenario = sh.Scenario(
        duration="1s",
        topology={"kind": "star"},
        cc="reno",
        traffic=[{"kind": "long-lived", "flows": 1}],
        record={"queues": "1us"},
    )
    wrong = (
        r"about 59\d MB of memory for the run: expected at most 150 MB, what is free of the 2.0 GB of this "
    )
    with pytest.raises(sh.ScenarioError, match=wrong + r"job: a longer interval in record.queues"):
        sh.run(scenario)


def test_a_process_with_a_limit_refuses_and_is_not_killed(tmp_path):
    (tmp_path / "s.toml").write_text(
        'duration = "until-done"\ncc = "dctcp"\ntopology = {kind = "star", hosts = 3}\n'
        'traffic = [{kind = "request-response", pairs = 1000, exchanges = 5000}]\n'
    )
    code = (
        "import resource\nresource.setrlimit(resource.RLIMIT_DATA, (1500000000, 1500000000))\n"
        "from shallows.cli import main; main()"
    )
    done = commands.run("run", "s.toml", cwd=tmp_path, code=code)
    assert done.returncode == 2, done.stderr
    assert "RLIMIT_DATA" in done.stderr
    assert "traffic[0]" in done.stderr


REQUEST = """
import re, resource
import shallows as sh
from shallows.scenario import needs
from shallows.worlds.packet import check

def used(what):
    return 1024 * int(re.search(what + r":\\s+(\\d+)", open("/proc/self/status").read())[1])

def scenario(flows):
    traffic = [{"kind": "long-lived", "flows": flows}]
    return sh.Scenario(duration="1s", topology={"kind": "star", "hosts": 3}, cc="dctcp", traffic=traffic)

check(scenario(1))
"""
"""The check of a scenario by the core, apart from that of a run, which another machine may perform."""


def test_a_request_that_does_not_fit_is_refused_and_does_not_abort(tmp_path):
    """The flows are drawn (200 B each, by estimate), and the core fails to allocate their request."""
    code = REQUEST + (
        'limit = used("VmData") + 230_000_000\nresource.setrlimit(resource.RLIMIT_DATA, (limit, limit))\n'
        "try: check(scenario(10**6))\nexcept sh.ScenarioError as error: print(error)"
    )
    done = commands.run(cwd=tmp_path, code=code)
    assert done.returncode == 0, done.stderr
    assert "about 300 MB of memory for the request of 1,000,000 flows" in done.stdout
    assert done.stdout.endswith("fewer flows\n")


def test_the_estimate_of_a_request_is_above_what_it_needs(tmp_path):
    """By less than a factor of two, as measured with VmHWM."""
    code = REQUEST + (
        'made = scenario(10**6)\nopen("/proc/self/clear_refs", "w").write("5")\nbefore = used("VmRSS")\n'
        'check(made)\nprint((used("VmHWM") - before) / 10**6, needs.FLOW_REQUEST_BYTES)'
    )
    done = commands.run(cwd=tmp_path, code=code)
    measured, estimated = map(float, done.stdout.split())
    assert measured < estimated < 2 * measured


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Ten flows of 6 MB over one link: each record of one needs some 40 MB, as measured with VmHWM."""
    scenario = sh.Scenario(
        duration="until-done",
        topology={"kind": "star", "hosts": 11, "rate": "100Gbps"},
        cc="dctcp",
        traffic=[{"kind": "incast", "senders": 10, "size": "6MB"}],
    )
    folder = tmp_path_factory.mktemp("watched") / "run"
    sh.run(scenario, out=folder)
    return folder


def with_free(monkeypatch, mb):
    monkeypatch.setattr(bounds, "free", lambda: bounds.Free(mb * 10**6, "the 2.0 GB of this job"))


def test_why_says_which_of_the_slowest_flows_it_left_out(watched, monkeypatch):
    """What is free holds a record of some of the ten."""
    from typer.testing import CliRunner

    from shallows import cli

    run = sh.Run.load(watched)
    whole = run.why(slowest=10)
    with_free(monkeypatch, 250)
    some = run.why(slowest=10)
    assert 0 < len(some) < 10
    assert [*some, *some.record.left_out] == [*whole]
    assert all(some[flow].by_cause() == whole[flow].by_cause() for flow in some)
    done = CliRunner().invoke(
        cli.app, ["why", str(watched), "--slowest", "10", "--figure", f"{watched}-w.png"]
    )
    assert done.exit_code == 0, done.output
    assert f"left out for lack of memory: {10 - len(some)} of the flows" in done.stdout
    assert f"({some.record.left_out[0]}" in done.stdout


def test_why_ends_before_the_pieces_of_its_paths_fill_the_memory(watched, monkeypatch):
    """Flows that wait for each other have thousands of pieces each, which no table of the run foretells."""
    run = sh.Run.load(watched)
    monkeypatch.setattr(walk, "PIECES", 20)
    monkeypatch.setattr(walk, "PIECE_BYTES", 10**12)
    with pytest.raises(sh.ScenarioError, match=r"20\.0 TB of memory for the paths of these flows: .*fewer"):
        run.why(list(range(10)))


def test_why_ends_before_the_index_of_its_record_fills_the_memory(watched, monkeypatch):
    """Pulls of credit before it is asked for stand in no table of the run."""
    run = sh.Run.load(watched)
    monkeypatch.setattr(demand, "INDEX_BYTES", {"hops": 10**12})
    with pytest.raises(sh.ScenarioError, match=r"of memory for the index of the record of these flows"):
        run.why([0])


@pytest.mark.parametrize("name", ["ndp-incast", "short-flows"])
def test_an_index_needs_the_memory_that_is_foreseen(name, monkeypatch):
    """Between .7 and 1.1 of the estimate, as tracemalloc counts what Python allocates."""
    made, shares = index.Index.__init__, []

    def counted(self, record):
        tracemalloc.start()
        made(self, record)
        needed, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        shares.append(needed / demand.of_index(record.tables))

    monkeypatch.setattr(index.Index, "__init__", counted)
    run = sh.run(name)
    run.why(run.flows.flow[run.flows.fct_us.notna()].tolist()[:5])
    assert len(shares) == 1
    assert 0.7 < shares[0] < 1.1


def test_why_refuses_flows_by_number_that_do_not_fit(watched, monkeypatch):
    with_free(monkeypatch, 250)
    run = sh.Run.load(watched)
    wrong = r"MB of memory for the record of 10 flows: expected at most 250 MB, .* fewer flows, or shorter"
    with pytest.raises(sh.ScenarioError, match=rf"about \d+ {wrong}"):
        run.why(list(range(10)))


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["at", "RUN", "1ms"], "the snapshot"),
        (["export", "RUN", "--csv", "csv"], "the export"),
        (["why", "RUN", "0", "--figure", "w.png"], "the second pass"),
        (["report", "RUN", "--html", "page.html"], "the page"),
    ],
)
def test_commands_on_a_result_estimate_too(watched, monkeypatch, tmp_path, words, what):
    from typer.testing import CliRunner

    from shallows import cli

    monkeypatch.chdir(tmp_path)
    with_free(monkeypatch, 60)
    done = CliRunner().invoke(cli.app, [str(watched) if word == "RUN" else word for word in words])
    assert done.exit_code == 2, done.output
    assert f"of memory for {what}: expected at most 60 MB, what is free of the 2.0 GB" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_page_does_without_paths_that_do_not_fit(watched, monkeypatch, tmp_path):
    from typer.testing import CliRunner

    from shallows import cli

    with_free(monkeypatch, 110)
    page = tmp_path / "page.html"
    done = CliRunner().invoke(cli.app, ["report", str(watched), "--html", str(page)])
    assert done.exit_code == 0, done.output
    assert "the page has no paths" in done.stderr
    assert "</html>" in page.read_text()


def test_memory_that_ends_in_spite_of_the_estimate_is_a_sentence(watched, monkeypatch):
    from typer.testing import CliRunner

    from shallows import Run, cli

    def load(folder):
        raise MemoryError("Unable to allocate 7 GiB")

    monkeypatch.setattr(Run, "load", load)
    done = CliRunner().invoke(cli.app, ["report", str(watched)])
    assert done.exit_code == 1
    assert "shallows: out of memory (Unable to allocate 7 GiB): expected a smaller scenario" in done.stderr

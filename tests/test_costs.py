"""Costs of hosts: what they add to messages, worked by hand, and their fit to measured times."""

import numpy as np
import pytest
from typer.testing import CliRunner

import shallows as sh
from shallows import cli
from shallows.errors import ScenarioError
from shallows.fit import fit as fitted_to
from shallows.fit import measured, with_costs
from shallows.fit.search import _solved, _student

RING = {"kind": "all-reduce", "size": "400KB"}
PAIR = {"kind": "trace", "flows": [[0, 0, 1, 1000], [0.001, 0, 1, 1000]]}


def scenario(*traffic, costs=(), **topology):
    return sh.Scenario(
        duration="until-done",
        cc="dcqcn",
        topology={"kind": "star", "hosts": 4, "rate": "400Gbps", "rtt": "4us", **topology},
        traffic=list(traffic),
        hosts={"costs": list(costs)} if costs else {},
    )


def fit(given, sizes_or_table, times=None):
    """A fit to a table, or to sizes and times without a name."""
    table = sizes_or_table
    if times is not None:
        table = measured.Measured(None, 1, rows=[*zip(sizes_or_table.tolist(), times.tolist(), strict=True)])
    return fitted_to(given, table)


def completion_us(*costs):
    return sh.run(scenario(RING, costs=costs)).summary["collectives"][0]["completion_us"]


def test_a_step_costs_each_of_the_six_steps_of_a_ring():
    assert completion_us({"step": "10us"}) == pytest.approx(completion_us() + 6 * 10, abs=0.2)


def test_messages_queue_pairs_and_completions():
    """Six messages, one new pair of hosts for each rank, and five messages that wait for another."""
    costs = {"message": "2us", "queue_pair": "5us", "completion": "1us"}
    assert completion_us(costs) == pytest.approx(completion_us() + 6 * 2 + 5 + 5 * 1, abs=0.2)


def test_a_flow_includes_its_cost_and_starts_when_it_was_asked_for():
    free = sh.run(scenario(PAIR)).flows
    costly = sh.run(scenario(PAIR, costs=[{"message": "2us", "queue_pair": "5us"}])).flows
    assert costly.start_us.tolist() == free.start_us.tolist() == [0.0, 1000.0]
    assert (costly.fct_us - free.fct_us).tolist() == pytest.approx([7, 2], abs=1e-6)
    assert costly.ideal_us.tolist() == free.ideal_us.tolist()


def test_costs_are_those_of_the_sender_and_the_last_table_counts():
    costs = [{"message": "3us"}, {"message": "9us", "hosts": [0]}]
    both = {"kind": "trace", "flows": [[0, 0, 1, 1000], [0, 2, 3, 1000]]}
    free, costly = (sh.run(scenario(both, costs=of)).flows.fct_us for of in ((), costs))
    assert (costly - free).tolist() == pytest.approx([9, 3], abs=1e-6)


def test_the_spread_is_random_and_bounded():
    flows = {"kind": "trace", "flows": [[i * 1e-4, 0, 1, 1000] for i in range(200)]}
    free, costly = (
        sh.run(scenario(flows, costs=of)).flows.fct_us for of in ((), [{"message": "10us", "spread": 0.5}])
    )
    added = costly - free
    assert added.min() >= 10 - 1e-6
    assert added.max() <= 15 + 1e-6
    assert added.mean() == pytest.approx(12.5, abs=0.4)  # 4 sigma of 200 uniform numbers


def test_pcie_bounds_the_rate_of_a_sender():
    """1 MB at 100 Gbps, with 40 of 1500 B for headers, and about as long at the receiver's rate again."""
    large = {"kind": "trace", "flows": [[0, 0, 1, 1_000_000]]}
    took = sh.run(scenario(large, costs=[{"pcie": "100Gbps"}])).flows.fct_us[0]
    assert took == pytest.approx(1e6 * 8 * 1500 / 1460 / 100e3 + 2, abs=0.2)


def test_without_costs_nothing_is_written_and_nothing_changes():
    plain, empty = scenario(RING), scenario(RING, costs=[{}])
    assert "costs" not in plain.resolved()["hosts"]
    runs = [sh.run(of) for of in (plain, empty)]
    assert runs[0].flows.equals(runs[1].flows)
    with pytest.raises(ScenarioError, match=r"hosts\.costs.*Extra|hosts\.costs\[0\]\.steps"):
        scenario(RING, costs=[{"steps": "1us"}])


def noisy(true, sizes, share, seed):
    """The times of `true` at each size, with Gaussian errors of this share."""
    times = [
        sh.run(true.set("traffic.0.size", f"{size}B")).summary["collectives"][0]["completion_us"]
        for size in sizes
    ]
    return np.array(times) * (1 + share * np.random.default_rng(seed).standard_normal(len(times)))


def test_planted_costs_are_found_within_five_percent_of_twenty_noisy_samples():
    sizes = np.array(sorted([2**k for k in range(10, 26)] + [3 * 2**k for k in range(12, 16)]))
    times = noisy(scenario(RING, costs=[{"step": "11us", "pcie": "320Gbps"}]), sizes, 0.02, 7)
    found = fit(scenario(RING), sizes.astype(float), times)
    assert found.cost.value == pytest.approx(11, rel=0.05)
    assert found.share.value == pytest.approx(0.8, rel=0.05)
    assert found.held_out < 0.06
    (table,) = with_costs(scenario(RING), [found]).tables["hosts"]["costs"]
    assert set(table) == {"step", "pcie"}


def test_sizes_that_tell_one_of_the_two_alone_say_so():
    small = np.array([64, 128, 256, 512, 1024, 2048])
    times = noisy(scenario(RING, costs=[{"step": "11us"}]), small, 0.02, 1)
    found = fit(scenario(RING), small.astype(float), times)
    assert found.cost.value == pytest.approx(11, rel=0.05)
    assert any("effective rate cannot be told" in note for note in found.notes)
    large = np.array([2**k for k in range(25, 29)]).astype(float)
    times = noisy(scenario(RING, costs=[{"step": "1us"}]), large.astype(int), 0.02, 1)
    found = fit(scenario(RING), large, times)
    assert any("cost of a message cannot be told" in note for note in found.notes)
    assert not with_costs(scenario(RING), [found]).hosts.costs


NCCL = """# nThread 1 nGpus 1 minBytes 2097152
#                                                out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)
     2097152        524288     float     sum      -1    113.2   18.53   18.53      0    93.35   22.46
     4194304       1048576     float     sum      -1    154.4   27.16   27.16      0    153.3   27.37
     8388608       2097152     float     sum      -1    231.4   36.24   36.24      0    227.8   36.83
    16777216       4194304     float     sum      -1    420.5   39.90   39.90      0    419.9   39.95
    33554432       8388608     float     sum      -1    812.3   41.31   41.31      0    808.2   41.52
# Out of bounds values : 0 OK
"""
"""Times of NVIDIA/nccl-tests issue 232: two H100 of two nodes."""
PERFTEST = """ #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]
 2       1000          1.69           7.83         1.73              1.75
 64      1000          1.75           6.04         1.80              1.81
"""


def test_a_preset_gives_the_costs_that_others_measured():
    """NVIDIA/nccl issue 2409: 10 to 12 us for each step, with six steps."""
    assert 60 - 0.2 < completion_us({"preset": "nccl"}) - completion_us() < 72 + 0.2
    assert completion_us({"preset": "nccl", "step": "1us"}) == pytest.approx(completion_us() + 6, abs=0.2)


@pytest.mark.parametrize(
    ("text", "sizes", "times"),
    [
        (NCCL, [2**21, 2**22, 2**23, 2**24, 2**25], [113.2, 154.4, 231.4, 420.5, 812.3]),
        (PERFTEST, [2, 64], [1.73, 1.80]),
        ("bytes,time_ms\n1000,0.5\n10,0.25\n", [10, 1000], [250, 500]),
    ],
    ids=["nccl-tests", "perftest", "csv"],
)
def test_tables_of_three_forms_are_read(tmp_path, text, sizes, times):
    (tmp_path / "table.txt").write_text(text)
    (found,) = measured.read(tmp_path / "table.txt")
    assert found.sizes.tolist() == sizes
    assert found.times.tolist() == pytest.approx(times)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1000 5\n", "line 1: expected names of columns"),
        ("size,time_us\n1000,x\n", 'line 2 = "1000 x": expected a whole number of bytes'),
        ("size,time_us\n1000,0\n", "a time above 0"),
        ("size,time_us\n", "expected rows of a size and a time"),
    ],
)
def test_a_broken_table_is_reported_with_its_line(tmp_path, text, expected):
    (tmp_path / "table.txt").write_text(text)
    with pytest.raises(ScenarioError) as error:
        measured.read(tmp_path / "table.txt")
    assert expected in str(error.value)


def test_half_of_a_measured_table_predicts_the_other_half(tmp_path):
    (tmp_path / "table.txt").write_text(NCCL)
    (table,) = measured.read(tmp_path / "table.txt")
    sizes, times = table.sizes, table.times
    start = sh.Scenario(
        duration="until-done", cc="dcqcn", network={"mtu": "4096B", "header": "62B"}, traffic=[RING],
        topology={"kind": "star", "hosts": 2, "rate": "400Gbps", "rtt": "4us"},
    )  # fmt: skip
    half = fit(start, sizes[::2], times[::2])
    free = fit(start, sizes, times).free[1::2]
    predicted = half.fixed + half.messages[0] * half.cost.value + (free - half.fixed) / half.share.value
    assert predicted == pytest.approx(times[1::2], rel=0.05)


def test_intervals_have_the_planted_values_in_nineteen_of_twenty_fits():
    """Binomial: of 400 fits with 95 %, 380 with a standard deviation of 4.4."""
    free = 3 + 2.0 ** np.arange(1, 13)
    true = 3 + 6 * 11 + (free - 3) / 0.8
    inside = np.zeros(2)
    for seed in range(400):
        times = true * (1 + 0.02 * np.random.default_rng(seed).standard_normal(len(true)))
        cost, share = _solved(free, 3.0, np.full(len(free), 6.0), times)
        inside += [cost.low < 11 < cost.high, share.low < 0.8 < share.high]
    assert (inside > 380 - 4 * 4.4).all()
    assert (inside < 380 + 4 * 4.4).all()


def test_quantiles_of_student():
    """Tables of the t distribution: 4.303, 3.182, 2.228 and 2.042 for 2, 3, 10 and 30."""
    assert [_student(n) for n in (2, 3, 10, 30)] == pytest.approx([4.303, 3.182, 2.228, 2.042], rel=0.01)


def test_the_command_prints_draws_and_saves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ring.toml").write_text(scenario(RING).to_toml())
    (tmp_path / "table.txt").write_text(NCCL)
    done = CliRunner().invoke(
        cli.app, ["fit", "ring.toml", "table.txt", "--out", "fitted.toml", "--plot", "fit.png"]
    )
    assert done.exit_code == 0, done.output
    assert "messages in a row" in done.output
    assert "wrote fitted.toml" in done.output
    assert sh.Scenario.load("fitted.toml").graph.hosts == 4


def table(path, text):
    path.write_text(text)
    (found,) = measured.read(path)
    return found


def nccl_log(test, sizes, times, redop="none", root=-1, prefix=""):
    """A log of nccl-tests, in which only sizes and times count."""
    rows = [
        f"{size:12d} {size // 4:12d} float {redop} {root} {time:.2f} 1.00 1.00 0 {time:.2f} 1.00 1.00 N/A"
        for size, time in zip(sizes, times, strict=True)
    ]
    columns = "time   algbw   busbw #wrong"
    header = f"#  size  count  type  redop  root  {columns}  {columns}"
    return "\n".join([f"./build/{test} -b 8 -e 1G", *(prefix + line for line in [header, *rows])]) + "\n"


TESTS = [
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "alltoall",
    "broadcast",
    "sendrecv",
    "gather",
    "reduce",
]


def fit_command(folder, given, text, *options):
    (folder / "given.toml").write_text(given.to_toml())
    (folder / "log.txt").write_text(text)
    command = ["fit", str(folder / "given.toml"), str(folder / "log.txt"), *options]
    return CliRunner().invoke(cli.app, command)


def test_a_log_of_several_tests_is_not_merged(tmp_path):
    text = "".join(
        nccl_log(f"{test}_perf", [2**k for k in range(12, 16)], [50, 60, 70, 80]) for test in TESTS
    )
    done = fit_command(tmp_path, scenario(RING), text)
    assert done.exit_code == 2
    assert "1: all_reduce_perf (line 3)" in done.output
    assert "8: reduce_perf" in done.output
    for chosen in ("all_reduce_perf", "1", "all-reduce"):
        one = fit_command(tmp_path, scenario(RING), text, "--table", chosen)
        assert one.exit_code == 0, one.output
        assert "all_reduce_perf (line 3), 4 rows" in one.output
    other = fit_command(tmp_path, scenario(RING), text, "--table", "6")
    assert other.exit_code == 2
    assert 'table = "sendrecv_perf (line 33)": expected a table of all-reduce' in other.output


@pytest.mark.parametrize(
    ("redop", "root", "test"), [("none", -1, "runs"), ("sum", 0, "runs"), ("sum", -1, "sendrecv_perf")]
)
def test_a_table_of_another_collective_is_refused(tmp_path, redop, root, test):
    text = nccl_log(test, [2**k for k in range(12, 16)], [50, 60, 70, 80], redop, root)
    done = fit_command(tmp_path, scenario(RING), text)
    assert done.exit_code == 2
    assert "expected a table of all-reduce" in done.output


@pytest.mark.parametrize("prefix", ["[1,0]<stdout>:", "[1,0]<stdout>: ", "[rank0]:", "0: "])
def test_prefixes_of_launchers_are_removed(tmp_path, prefix):
    plain = table(tmp_path / "a.txt", nccl_log("all_reduce_perf", [8, 16], [5.5, 6.5], "sum"))
    tagged = table(tmp_path / "b.txt", nccl_log("all_reduce_perf", [8, 16], [5.5, 6.5], "sum", prefix=prefix))
    assert tagged.rows == plain.rows == [(8, 5.5), (16, 6.5)]
    assert tagged.test == "all_reduce_perf"


def test_interleaved_tables_of_ranks_stay_apart(tmp_path):
    """Tests without MPI print a table for each rank."""
    lines = "".join(
        f"[1,{rank}]<stdout>:{line}\n" for line in ("size time_us", "8 5", "16 6") for rank in (0, 1)
    )
    (tmp_path / "a.txt").write_text(lines)
    assert [one.rows for one in measured.read(tmp_path / "a.txt")] == [[(8, 5), (16, 6)]] * 2


def bandwidth(unit, values):
    rows = "".join(f" {size}  5000  999.9  {value}  0.1\n" for size, value in values.items())
    title = f" #bytes     #iterations    BW peak[{unit}/sec]    BW average[{unit}/sec]   MsgRate[Mpps]\n"
    return f"                    RDMA_Write BW Test\n{title}{rows}"


@pytest.mark.parametrize(
    ("unit", "rate"), [("Gb", 300.0), ("MB", 300e9 / 8 / 2**20), ("MiB", 300e9 / 8 / 2**20)]
)
def test_a_table_of_bandwidths_tells_the_rate_alone(tmp_path, unit, rate):
    """300 of 400 Gbps: 38.53 of 1460 in 1500 B pass a link, so that the share is 0.75 x 1500/1460."""
    text = bandwidth(unit, {2**k: rate for k in range(16, 24)})
    found = table(tmp_path / "bw.txt", text)
    assert found.times.tolist() == pytest.approx([2**k * 8 / 300e3 for k in range(16, 24)])
    point = scenario({"kind": "incast", "senders": 1, "size": "1MB"})
    done = fit(point, found)
    assert done.share.value == pytest.approx(0.75 * 1500 / 1460, rel=0.01)
    assert set(with_costs(point, [done]).tables["hosts"]["costs"][0]) == {"pcie"}
    assert fit_command(tmp_path, scenario(RING), text).exit_code == 2


def test_planted_steps_of_three_collectives_are_found(tmp_path):
    planted = {"all-reduce": 11.0, "all-gather": 7.0, "all-to-all": 20.0}
    of = [{"kind": kind, "size": "400KB"} for kind in planted]
    costs = [{"step": f"{cost}us", "collectives": [kind]} for kind, cost in planted.items()]
    sizes = [2**k for k in range(10, 22, 2)]
    names = {kind: test for test, kind in measured.TESTS.items()}
    text = ""
    for one in of:
        alone = scenario(one, costs=costs)
        times = [
            sh.run(alone.set("traffic.0.size", f"{size}B")).summary["collectives"][0]["completion_us"]
            for size in sizes
        ]
        text += nccl_log(names[one["kind"]], sizes, times)
    out = tmp_path / "fitted.toml"
    done = fit_command(tmp_path, scenario(*of), text, "--out", str(out), "--plot", str(tmp_path / "fit.png"))
    assert done.exit_code == 0, done.output
    saved = [table for table in sh.Scenario.load(out).hosts.costs if table.collectives]
    assert {table.collectives[0]: table.step / 1e6 for table in saved} == pytest.approx(planted, rel=0.03)


def test_messages_in_a_row_differ_with_the_size_of_a_broadcast():
    """A chain of 3 hops: 3 messages for one chunk of 512 KB, and one more for each further chunk."""
    chain = {"kind": "broadcast", "size": "400KB"}
    sizes = [64_000, 256_000, 512_000, 1_024_000, 2_048_000, 4_096_000]
    costly = scenario(chain, costs=[{"step": "10us"}])
    times = [
        sh.run(costly.set("traffic.0.size", f"{size}B")).summary["collectives"][0]["completion_us"]
        for size in sizes
    ]
    found = fit(scenario(chain), measured.Measured(None, 1, rows=[*zip(sizes, times, strict=True)]))
    assert found.messages.tolist() == [3, 3, 3, 4, 6, 10]
    assert found.cost.value == pytest.approx(10, rel=0.03)

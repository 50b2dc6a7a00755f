"""The numbers that pages print are those that their commands give: runs are deterministic.

A block of `console` is a command with its output; a line `...` stands for any output. A sentence or a row of
a table is a template here, filled in with what the run gives, and the page must contain it as it is. Run
times are left out.
"""

import re
import shlex
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import shallows as sh
from shallows import cli
from shallows.scenario import Scenario
from shallows.scenario import doubts as before
from shallows.why import report

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md")])
CONSOLE = re.compile(r"^```console\n\$ shallows (.*)\n((?:.*\n)*?)```$", re.M)
BLOCKS = [(page, *block) for page in PAGES for block in CONSOLE.findall(page.read_text())]
SWEEPS = (ROOT / "docs/sweeps.md").read_text()
US = 1_000_000


@pytest.mark.parametrize(("page", "command", "output"), BLOCKS, ids=[one[1][:40] for one in BLOCKS])
def test_a_command_prints_what_the_page_shows(page, command, output, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    done = CliRunner().invoke(cli.app, shlex.split(command))
    assert done.exit_code == 0, done.output
    pattern = "".join(
        ".*" if line == "...\n" else re.escape(line) for line in output.splitlines(keepends=True)
    )
    assert re.fullmatch(pattern, done.stdout, re.S), f"{page.name}: {command}\n{done.stdout}"


def test_no_console_block_is_left_out():
    assert len(BLOCKS) == sum(page.read_text().count("```console\n") for page in PAGES) >= 7


def holds(page, *sentences):
    """Each sentence is in the page, whatever its line breaks."""
    text = " ".join((ROOT / page).read_text().split())
    for one in sentences:
        assert one in text


@cache
def of_page(page, name):
    """The run of a scenario that a page prints."""
    text = (ROOT / page).read_text()
    return sh.run(Scenario.from_toml(re.search(rf"^# {name}\.toml\n(.*?)^```$", text, re.M | re.S)[1]))


def us(picoseconds, digits=0):
    return f"{picoseconds / US:,.{digits}f}"


def slowest(run):
    return next(iter(run.why(slowest=1, size="10-100 KB").values()))


def test_why_a_flow_was_slow():
    run = of_page("docs/why.md", "slow")
    path, ideal_us = slowest(run), run.flows.ideal_us
    text = re.search(r"^# slow\.toml\n(.*?)^```$", (ROOT / "docs/why.md").read_text(), re.M | re.S)[1]
    marking = {"network.marking.kind": "step", "network.marking.threshold": "20pkt"}
    better = slowest(sh.run(Scenario.from_toml(text, overrides={"cc": "dctcp", **marking})))
    (files, answers), (now, others) = (
        [sum(one.by_flow().get(flow, 0) for flow in of) for of in ((0, 1), (2, 3, 4, 5))]
        for one in (path, better)
    )
    holds(
        "docs/why.md",
        f"The flow took {us(path.fct_ps)} us, {path.fct_ps / US / ideal_us[path.flow]:.1f} times the "
        f"{ideal_us[path.flow]:.0f} us of the empty path.",
        f"Of that, {100 * path.by_cause()['queue'] / path.fct_ps:.0f} % is `queue`",
        f"account for {100 * files / path.fct_ps:.0f} %, the three other answers together for "
        f"{100 * answers / path.fct_ps:.0f} %.",
        f"The flow now takes {us(better.fct_ps)} us, of which it waits {us(now)} behind the long files "
        f"instead of {us(files)}. The three other answers, {us(others)} us,",
    )


def test_what_the_other_flows_cost():
    path = of_page("docs/why.md", "slow").why(slowest=1, size="10-100 KB")
    cost = next(iter(path.counterfactuals().values()))
    rows = {
        "completion time": cost.fct_ps,
        "queue": cost.share_ps,
        "any other flow": cost.alone_ps,
        "not less than alone": cost.expected_ps,
        "without the culprits": cost.ran_ps,
    }
    holds("docs/why.md", *(f"{said} | {us(value, 2)} us |" for said, value in rows.items()))
    holds("docs/why.md", f"are in `--json` | {len(cost.culprits)} |")


def test_why_a_collective_was_slow():
    run = of_page("docs/why.md", "tenants")
    path = run.why(task="ring-a")
    cost = path.counterfactual("storage")
    names, found = run.scenario.graph.port_names, report.waits(path)
    waits = {(wait.cause, names[wait.port], wait.behind): ps for wait, (ps, _) in found.items()}
    cut = path.by_cause()["pace_cut"]
    paused = sum(ps for (cause, _, behind), ps in waits.items() if (cause, behind) == ("pause", "storage"))
    holds(
        "docs/why.md",
        f"The ring takes {us(cost.completion_ps)} us instead of {us(path.ideal_ps)}.",
        f"{us(waits['queue', 'leaf2->h8', 'storage'])} us in the queue of `leaf2->h8` behind `storage`",
        f"{us(paused)} us of pauses",
        f"{us(cut)} us of a pace that DCQCN had cut",
        f"and the waits that follow from them | {us(cost.share_ps)} us |",
        f"at least its time on an empty path | {us(cost.expected_ps)} us |",
        f"in a run without it | {us(cost.ran_ps)} us |",
    )


def test_what_reordering_costs():
    from test_reordering import crossing

    def goodput(seed, paths, balancing, hosts):
        return float(
            sh.run(
                crossing("dctcp", paths, balancing=balancing, hosts=hosts, seed=seed)
            ).flows.goodput_gbps.sum()
        )

    def row(label, *how):
        """The means and deviations over five seeds; without a deviation below 0.5."""
        of = [[goodput(seed, paths, *how) for seed in range(1, 6)] for paths in (1, 4, 16, 64)]
        means, spreads = np.mean(of, axis=1), np.std(of, axis=1, ddof=1)
        cells = [
            f"{mean:.0f}" + (f" ± {spread:.0f}" if spread >= 0.5 else "")
            for mean, spread in zip(means, spreads, strict=True)
        ]
        return f"| {label} | {' | '.join(cells)} |", means

    plain, of = row('`"queue"`, duplicate acknowledgements (Gbps)', "queue", {})
    rack = {"loss_detection": "rack"}
    holds(
        "docs/packet.md",
        plain,
        row('`"queue"`, RACK', "queue", rack)[0],
        row('`"packet"`, RACK', "packet", rack)[0],
        f"DCTCP flow over 16 paths of 25 Gbps gets {of[2]:.0f} of 400 Gbps",
    )


def test_a_flow_that_joins_late_gets_nothing_without_gaps():
    stairs = {"kind": "staircase", "flows": 3, "interval": "20ms"}
    tables = {"duration": "300ms", "topology": sh.Dumbbell(hosts=3), "hosts": {"gap": 0}, "cc": "reno"}
    second = float(sh.run(sh.Scenario(traffic=[stairs], **tables)).flows.goodput_gbps[1])
    holds(
        "docs/packet.md",
        "Of three Reno flows that start 20 ms apart at 10 Gbps the second gets "
        f"{second:.2f} Gbps without gaps.",
    )


TEN_GBPS = {"topology.rate": "10Gbps", "cc.start_rate": "5Gbps", "network.marking": "none"}
TEN_FLOWS = {"traffic.0.flows": 10}
WORLDS = {
    "DCQCN, 2 flows, 40 Gb/s, 4 µs (above)": ("dcqcn-2", "dcqcn@ecn-or-delay", {}),
    "the same, a notification for every mark (`dcqcn`)": ("dcqcn-2", "dcqcn", {}),
    "DCQCN, 10 flows, 4 µs": ("dcqcn-2", "dcqcn@ecn-or-delay", TEN_FLOWS),
    "the same on the extended ramp": (
        "dcqcn-2",
        "dcqcn@ecn-or-delay",
        TEN_FLOWS | {"network.marking.extended": True},
    ),
    "DCQCN, 10 flows, 85 µs (unstable)": (
        "dcqcn-2",
        "dcqcn@ecn-or-delay",
        TEN_FLOWS | {"topology.rtt": "85us"},
    ),
    "DCQCN with PI marking, 2 flows": (
        "dcqcn-2",
        "dcqcn@ecn-or-delay",
        {"network.marking": {"kind": "pi"}},
    ),
    "Patched TIMELY, 2 flows, 10 Gb/s, 4 µs, from 5 Gb/s each": ("dcqcn-2", "patched-timely", TEN_GBPS),
    "the same, with the error of the queue alone (`patched-timely@queue-error`)": (
        "dcqcn-2",
        "patched-timely@queue-error",
        TEN_GBPS,
    ),
    "Patched TIMELY with host PI, the same": ("dcqcn-2", "patched-timely-pi", TEN_GBPS),
    "TIMELY, the same": ("dcqcn-2", "timely", TEN_GBPS),
    "DCTCP, 2 flows (`dctcp-sawtooth`)": ("dctcp-sawtooth", "dctcp", {}),
    "DCTCP, 10 flows (`dx-10`)": ("dx-10", "dctcp", {}),
    "DCTCP, 40 flows, K = 35 (`dctcp-40`)": ("dctcp-40", "dctcp", {}),
    "DX, 10 flows (`dx-10`)": ("dx-10", "dx", {}),
}
"""Rows of the table of both worlds in docs/fluid.md."""


@pytest.mark.nightly
@pytest.mark.parametrize("label", WORLDS)
def test_a_scenario_in_both_worlds(label):
    pytest.importorskip("numba")
    name, cc, overrides = WORLDS[label]
    rows = sh.compare(name, [cc], worlds=["packet", "fluid"], overrides=overrides).distances
    queue, used = ({row["quantity"]: row for row in rows}[of] for of in ("queue_mean_pkt", "utilization"))
    percent = f"{queue['percent']:+.0f} %".replace("-", "−")
    packet, fluid = (f"{100 * used[of]:.1f} %".replace(".0 %", " %") for of in ("reference", "value"))
    numbers = (f"{queue['reference']:.1f}", f"{queue['value']:.1f}", percent)
    holds("docs/fluid.md", f"| {label} | {' | '.join([*numbers, packet, fluid])} |")
    if label.endswith("(above)"):
        tail = {row["quantity"]: row for row in rows}["queue_p99_pkt"]
        holds(
            "docs/worlds.md",
            f"The mean queues differ by {abs(queue['percent']):.0f} %, the 99th percentiles by "
            f"{abs(tail['percent']):.0f} %",
        )


def test_the_first_figure_of_the_readme():
    runs = sh.compare(ROOT / "scenarios/websearch-tree.toml", ["dctcp", "dx@ns-2-multi-hop"]).runs
    dctcp, dx = (run.flows for run in runs.values())
    short = [flows.fct_us[flows.bytes < 10_000].quantile(0.99) for flows in (dctcp, dx)]
    long = [flows.fct_us[flows.bytes >= 10_000_000].mean() for flows in (dctcp, dx)]
    assert 2 < runs["dx@ns-2-multi-hop"].ports.queue_mean_pkt.max() < 3
    holds(
        "README.md",
        "DX keeps every queue below three packets on average. Its 99th percentile of completion times of "
        f"flows below 10 KB is {short[0] / short[1]:.1f} times shorter than DCTCP's; in exchange, flows of "
        f"10 MB and more take {100 * (long[1] / long[0] - 1):.0f} % longer.",
    )


@pytest.mark.nightly
def test_the_sweep_of_the_page_stays_below_saturation(tmp_path):
    """The command that docs/sweeps.md prints, at its largest load."""
    command = re.search(
        r"shallows (sweep websearch-tree (?:[^\n\\]|\\\n)* --baseline (?:[^\n\\]|\\\n)*)\n", SWEEPS
    )[1]
    words = shlex.split(command.replace("\\\n", ""))
    loads = words[words.index("--over") + 1]
    largest = loads.split("=")[1].split(":")[1]
    scenario = Scenario.load(ROOT / "scenarios/websearch-tree.toml", {"traffic.0.load": float(largest)})
    offered = before.offered(scenario)
    assert offered.max() < 1
    full = float(largest) / offered.max()
    swept = sh.sweep(
        ROOT / "scenarios/websearch-tree.toml",
        cc=["dctcp", "dx@ns-2-multi-hop"],
        over={"traffic.0.load": largest},
        seeds=int(words[words.index("--seeds") + 1]),
        out=tmp_path,
    )
    rows = swept.intervals("slowdown_p99", baseline="dctcp")
    row = next(one for one in rows if one["cc"] != "dctcp")
    half = (row["difference_high"] - row["difference_low"]) / 2
    holds(
        "docs/sweeps.md",
        f"At {100 * float(largest):.0f} % DX's p99 slowdown is {-row['difference']:.1f} ± {half:.1f} below "
        "DCTCP's, paired by seed.",
        f"so their uplinks are full at a load of {100 * full:.0f} %",
    )

"""The oracles: what must hold of every scenario that is accepted, and of its run.

An oracle is a function of a `Case` that returns None, or what is wrong. `problem` asks those of a list.
"""

import contextlib
import html
import io
import random
import re
import tempfile
import tomllib
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import tomli_w
from jsonschema import Draft202012Validator

import shallows as sh
from shallows import plot
from shallows.errors import BooksError, ScenarioError
from shallows.memory import TooLargeError
from shallows.printing import report as printed
from shallows.registry.schema import scenario_schema
from shallows.results.metrics import is_metric
from shallows.runner import in_world, prepare
from shallows.why import page as page_of
from soak import checks


@dataclass
class Case:
    """A scenario, and its run in a world, which may take some seconds of processor time.

    `given` are the tables that it was read from. `dice` draws what an oracle chooses.
    """

    given: dict
    scenario: sh.Scenario
    world: str
    seconds: float
    dice: random.Random
    run: sh.Run = None

    def run_again(self, scenario=None, threads=1):
        """The run, or that of another scenario, on some threads; it may take twice as long."""
        stop = checks._stop_after(2 * self.seconds)
        return in_world(self.world, threads=threads)(scenario or self.scenario, stop)


def round_trip(case):
    """The scenario that is written and read is the same, with the same request to the core."""
    return checks._about_round_trip(case.scenario, case.world)


@cache
def _schema():
    return Draft202012Validator(scenario_schema())


def schema(case):
    """The JSON Schema accepts a scenario that Shallows accepts, as it is and with its defaults."""
    for tables in (case.given, tomllib.loads(case.scenario.to_toml())):
        for error in _schema().iter_errors(tables):
            return f"schema: {error.message}"
    return None


def warnings(case):
    """Warnings before a run have no undefined numbers, nor has the offered load."""
    return checks._about_warnings(case.scenario)


def physics(case):
    """No flow is faster than its empty path, no port above its rate, no number infinite."""
    return checks.about_run(case.run, case.scenario)


def counts(case):
    """Each flow finished, was cut off or was lost, and a flow that finished delivered its bytes."""
    flows, of = case.run.summary["flows"], case.run.summary
    ends = flows["finished"] + flows["cut_off"] + flows["lost"]
    if not flows["offered"] == ends == case.scenario.flow_count:
        return f"counts: {flows['offered']} flows offered, {ends} ended, {case.scenario.flow_count} given"
    table = case.run.flows
    done = table.fct_us.notna()
    if int(done.sum()) != flows["finished"]:
        return f"counts: {int(done.sum())} rows have a completion time, {flows['finished']} flows finished"
    network = of["network"]
    measured = of["bottleneck"]["dropped"] is not None
    if case.world == "packet" and measured and network["dropped"] < of["bottleneck"]["dropped"]:
        return (
            f"counts: {network['dropped']} dropped, of them {of['bottleneck']['dropped']} at the bottleneck"
        )
    return None


def waits(case):
    """A flow waits for timeouts only if it has one, and no longer than it lasts."""
    table = case.run.flows
    ended_us = case.run.summary["duration_s"] * 1e6
    lasted_us = table.fct_us.fillna((ended_us - table.start_us).clip(lower=0))
    few = 1e-9 * lasted_us + 1e-6
    wrong = table[
        (table.timeout_wait_us > lasted_us + few) | (table.timeout_wait_us > 0) & (table.timeouts == 0)
    ]
    columns = ["fct_us", "timeouts", "timeout_wait_us"]
    return f"waits: {wrong[columns].iloc[0].to_dict()}" if len(wrong) else None


PARTS = {
    "flows_by_size": "size.10KB",
    "traffic": "traffic.0",
    "faults": "faults.0",
    "collectives": "traffic.0",
    "tasks": "traffic.0",
}
"""A part of the name of metrics that stand in rows."""
NOT_SIMULATED = {
    *("seed", "duration_s", "warmup_s", "cooldown_at_s", "interrupted_at_s", "wall_s", "packet_hops_per_s"),
    *("threads.count", "threads.domains", "threads.gain"),
}
"""Numbers that are given, or say how fast a run was."""
PLACES = {
    *("traffic", "below_bytes", "fault", "at_us", "until_us", "links", "stranded_because", "group", "ranks"),
    *("size_bytes", "steps_us", "spread_us", "count", "lost", "not_begun", "begin_us", "end_us"),
    *("stated", "realised"),  # the arrivals that were drawn
}
"""Numbers of rows that say what the row is of, or are printed nowhere."""
OF_WARNINGS = ("unsettled",)
"""Parts with the numbers of a warning, which a run without it does not have."""


def metrics(case):
    """Every number of the summary is a metric, so that comparisons and sweeps can name it."""
    for found in _leaves(case.run.summary):
        path = found.replace("more_than.", "")
        part, _, key = path.rpartition(".")
        name = f"{PARTS[part]}.{key}" if part in PARTS else path if part else key
        if part in OF_WARNINGS or path in NOT_SIMULATED or key in PLACES:
            continue
        if not is_metric(name):
            return f"metrics: {path} is no metric"
    return None


def _leaves(value, path=""):
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _leaves(one, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for one in value[:1]:
            yield from _leaves(one, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path


TREES = ("dumbbell", "star", "parking-lot", "leaf-spine", "fat-tree", "three-tier")
"""Topologies whose paths lead up and down a tree, so that pauses form no circle."""


def lossless(case):
    """Where every port pauses its senders in time, no data is dropped."""
    tables = tomllib.loads(case.scenario.to_toml())
    pauses = tables.get("network", {}).get("pfc")
    others = any(tables.get(key) for key in ("classes", "ports", "pools", "faults"))
    credits = any(of.name == "expresspass" for of in case.scenario.algorithms)
    if not pauses or others or credits or pauses["headroom"] != "auto" or "watchdog" in pauses:
        return None
    network, flows = case.run.summary["network"], case.run.summary["flows"]
    if network["dropped"]:
        return f"lossless: {network['dropped']} packets dropped in spite of pauses"
    if network["deadlock"] and case.scenario.topology.kind in TREES:
        return (
            f"lossless: a deadlock of {network['deadlock'][:3]}, which routes up and down a tree cannot have"
        )
    # A link that stays paused for longer than a timeout looks like a loss, and so does another path.
    if flows["retransmits"] and not flows["timeouts"] and case.scenario.network.balancing == "flow":
        return f"lossless: {flows['retransmits']} retransmits without a loss or a timeout"
    return None


def named(case):
    """In a run that ends with its flows each finished, or is named with a reason."""
    return checks._unnamed(case.run)


def threads(case):
    """Two and three threads give what one gives."""
    if case.world != "packet":
        return None
    for count in (2, 3):
        if wrong := checks._unlike(case.run, case.run_again(threads=count)):
            return wrong
    return None


def recording(case):
    """What a run records, and what its scenario is called, moves no packet."""
    tables = tomllib.loads(case.scenario.to_toml())
    if case.world != "packet" or not tables.pop("record", None):
        return None
    other = sh.Scenario.from_toml(tomli_w.dumps(tables | {"name": "other"}))
    run = case.run_again(other)
    if not run.interrupted and run.summary["fingerprint"] != case.run.summary["fingerprint"]:
        return "recording: the fingerprint is another"
    return None


def saved(case):
    """A run that is saved and loaded again is the same run."""
    with tempfile.TemporaryDirectory() as folder:
        loaded = sh.Run.load(case.run.save(folder + "/run"))
        if loaded.summary != case.run.summary:
            return "saved: the summary is another"
        if loaded.scenario != case.scenario:
            return "saved: the scenario is another"
        for name in loaded._names():
            one, two = case.run.table(name), loaded.table(name)
            if not one.to_pandas().equals(two.to_pandas()):
                return f"saved: the table {name} is another"
    return None


FLOWS = 20
"""How many flows are asked for their causes."""


def why(case):
    """The causes of completion times sum to them, of `FLOWS` flows at most."""
    if case.world != "packet":
        return None
    finished = case.run.flows.flow[case.run.flows.fct_us.notna()].tolist()
    chosen = case.dice.sample(finished, min(len(finished), FLOWS))
    for flow, path in (case.run.why(chosen) if chosen else {}).items():
        pieces, row = path.pieces, case.run.flows.loc[flow]
        if any(one.end_ps != other.begin_ps for one, other in pairwise(pieces)):
            return f"why: the pieces of flow {flow} do not touch"
        # A table in microseconds rounds picoseconds beyond 9,007 s.
        if checks.differ(path.fct_ps, row.fct_us) or checks.differ(path.ideal_ps, row.ideal_us):
            return f"why: flow {flow} is {path.fct_ps} and {path.ideal_ps} ps, not as in {row.to_dict()}"
        sums = sum(piece.length_ps for piece in pieces), sum(path.by_cause().values())
        if sums != (path.fct_ps, path.fct_ps):
            return f"why: pieces and causes of flow {flow} are {sums} ps, and it takes {path.fct_ps}"
    return None


def why_of_all(case):
    """The causes of all completion times sum to them."""
    return checks._unexplained(case.run) if case.world == "packet" else None


SAMPLES = 2
"""How many samples of queues are compared with the state of the network."""


def at(case):
    """The queue at a moment is the one that was sampled.

    A sample is taken before what happens at its time: it is that of the moment a picosecond before.
    """
    if case.world != "packet" or not case.scenario.record.queues:
        return None
    queues = case.run.queues
    waiting = queues[(queues.queue_bytes > 0) & (queues.time_us > 0)]
    rows = case.dice.sample(range(len(waiting)), min(SAMPLES, len(waiting)))
    for sample in waiting.iloc[rows].itertuples():
        moment = case.run.at(f"{round(sample.time_us * 1e6) - 1}ps")
        port = moment.ports.set_index("port").loc[sample.port]
        if abs(port.queue_bytes - sample.queue_bytes) > 1:
            there = f"{port.queue_bytes} B at {sample.port}, sampled {sample.queue_bytes}"
            return f"at: {there} at {sample.time_us} us"
    return None


def page(case):
    """A page draws, and has the numbers that the report prints."""
    text = page_of.of_run(case.run)
    text = re.sub(r"<(style|script|svg).*?</\1>", " ", text, flags=re.DOTALL)
    report = io.StringIO()
    with contextlib.redirect_stdout(report):
        printed.print_parts(printed.run_report(case.run.summary))
    expected, shown = (
        set(re.findall(r"\d+(?:\.\d+)?", of)) for of in (report.getvalue(), html.unescape(text))
    )
    missing = sorted(expected - shown)
    return f"page: {missing[:5]} of the report are missing" if missing else None


def figures(case):
    """Every figure that has data draws, and the curves are those of the tables."""
    for panel in plot.panels(case.run):
        drawing = plot.single(panel, case.run)
        check = DRAWN.get(panel.__name__)
        if check and (wrong := check(case.run, drawing.axes[0].lines)):
            return f"figures: {panel.__name__}: {wrong}"
    plot.figure(case.run).savefig(io.BytesIO(), format="png")
    return None


def _queues_by_port(run, lines):
    mean = np.sort(run.ports.queue_mean_pkt.to_numpy())[::-1]
    return _unlike(mean[mean > 0], lines[0].get_ydata())


def _goodput_by_flow(run, lines):
    flows = run.flows
    goodput = flows.goodput_gbps[flows.bytes.isna() & flows.goodput_gbps.notna()]
    drawn = np.sort(np.concatenate([line.get_ydata() for line in lines]))
    return _unlike(np.sort(goodput.to_numpy()), drawn)


def _fct_cdf(run, lines):
    drawn = 1e3 * np.asarray(lines[0].get_xdata())[1:, np.newaxis]
    measured = run.flows.fct_us.dropna().to_numpy()
    times = np.isclose(drawn, measured, rtol=1e-9).any(axis=1)
    return None if times.all() else f"{drawn[~times][:3]} us are no completion times"


def _unlike(expected, drawn):
    if len(expected) == len(drawn) and np.allclose(expected, drawn, rtol=1e-6):
        return None
    return f"{len(drawn)} values {drawn[:3]} ... are drawn of {len(expected)} {expected[:3]} ..."


DRAWN = {
    "queues_by_port": _queues_by_port,
    "goodput_by_flow": _goodput_by_flow,
    "fct_cdf": _fct_cdf,
}
"""What the lines of a figure must be."""

BEFORE = {"round trip": round_trip, "schema": schema, "warnings": warnings}
"""Oracles of scenarios."""
CHEAP = {"physics": physics, "counts": counts, "metrics": metrics, "lossless": lossless, "waits": waits}
"""Oracles of runs that cost next to nothing."""
DEAR = {"threads": threads, "recording": recording, "saved": saved, "why": why, "at": at}
"""Oracles that run the scenario again, or write it."""
DRAWING = {"page": page, "figures": figures}
"""Oracles that draw."""
ORACLES = BEFORE | CHEAP | DEAR | DRAWING | {"named": named, "why of all": why_of_all}


MOST_FLOWS = 2_000_000
"""Each is drawn up to ten times: by the run, the round trip, the runs on two and three threads and so on."""


def _flows(scenario):
    """The flows of a scenario at most; zero where they cannot be told."""
    try:
        return sum(table.flow_count(scenario.graph)[1] for table in scenario.traffic)
    except ScenarioError:
        return 0


def problem(text, world, oracles=tuple(DEAR), overrides=None, seed=0, seconds=checks.LONG_S):
    """("refused", "ran", "accepted", "took long" or "collapsed", None or what is wrong, its kind first).

    `oracles` are names of those that are asked beside `BEFORE` and `CHEAP`. A run that needs more than
    `seconds` of processor time takes too long for them, and so does a scenario of more than `MOST_FLOWS`.
    """
    try:
        read = sh.Scenario.from_toml(text)
        if _flows(read) > MOST_FLOWS:
            return "took long", None
        scenario = prepare(read, world=world, overrides=overrides)
    except ScenarioError as error:
        return "refused", checks._about_refusal(error, text, overrides or {})
    except BaseException as error:
        return "refused", f"crash {type(error).__name__}: {error}"
    case = Case(tomllib.loads(text), scenario, world, seconds, random.Random(seed))
    try:
        if wrong := _first(BEFORE, case):
            return "ran", wrong
        if world == "kernel":  # which takes real time, and root
            return "accepted", None
        case.run = in_world(world)(scenario, checks._stop_after(seconds)).check_books()
        if wrong := _first(CHEAP, case):
            return "ran", wrong
        if case.run.interrupted:
            return "took long", None
        return "ran", _first({name: ORACLES[name] for name in oracles}, case)
    except TooLargeError as error:
        return "refused", None if "expected at most" in str(error) else f"refusal without a sentence: {error}"
    except BooksError as error:
        lawful = "named" not in oracles and (
            checks._collapsed(error, scenario) or checks._crowded(error, scenario) or checks._starved(error)
        )
        return ("collapsed", None) if lawful else ("ran", f"books: {error}")
    except BaseException as error:
        return "ran", f"crash {type(error).__name__}: {error}"


def _first(oracles, case):
    """What the first oracle says that finds something wrong."""
    return next(filter(None, (oracle(case) for oracle in oracles.values())), None)

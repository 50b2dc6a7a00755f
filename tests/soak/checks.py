"""What must hold of any text given as a scenario: a sentence refuses it, or it runs and tells the truth."""

import math
import re
import time
import tomllib

import numpy as np

import shallows as sh
from shallows.memory import TooLargeError
from shallows.scenario.doubts import offered
from shallows.scenario.request import request
from shallows.units import NEVER

EXCERPT = re.compile(r" *\d* \|")
STRANGE = re.compile(r"\b(nan|inf|None)\b| -\d")
LITTLE = 1 + 1e-6
MOSTLY = {"loss": 0.9, "silent-drop": 0.9, "bit-errors": 1e-5}
"""Values from which on a link loses nearly everything, at least of long frames."""
LONG_S = 10.0
"""Of processor time: then a run is ended with what there is; only one that does not hear of it hangs.

Oracles take up to eight times as long as the run: theirs on two and three threads alone take five.
"""
AT_ONCE = 50
"""Flows whose paths are asked for first."""


def _stop_after(seconds):
    end = time.process_time() + seconds

    def look(now_ps, packet_hops, flows_finished):
        if time.process_time() > end:
            raise KeyboardInterrupt

    return look


def _about_round_trip(scenario, world):
    """What is another in the scenario that was written and read, or in its request to the core."""
    again = sh.Scenario.from_toml(scenario.to_toml())
    if again != scenario:
        return "round trip: the scenario that is written back is another"
    if world != "packet":
        return None
    try:
        np.testing.assert_equal(request(again), request(scenario))
    except AssertionError as error:
        return f"round trip: {' '.join(str(error).split())}"
    return None


def _about_warnings(scenario):
    """What is not true in the warnings before a run, and in the offered load."""
    load = offered(scenario)
    if not (np.isfinite(load) & (load >= 0)).all():
        return f"offered load: {load.min()} to {load.max()}"
    wrong = [said for said in scenario.warnings if STRANGE.search(said.replace("->", " to "))]
    return f"warning: {wrong[0]}" if wrong else None


def _unnamed(run):
    """A flow that neither finished nor is named as stranded, in a run that ends with its flows."""
    stranded = [flow for row in run.summary["faults"] for flow in row["stranded_flows"]]
    named = {int(flow.partition(" ")[0]) for flow in stranded}
    many = any(row["stranded"] > len(row["stranded_flows"]) for row in run.summary["faults"])
    begun = run.flows[run.flows.start_us.notna()]
    left = begun.flow[begun.fct_us.isna() & ~begun.flow.isin(named)].tolist()
    # Flows that wait for a stranded one have not begun.
    waits = run.flows.start_us.isna().any() and not named
    if (left and not many) or waits:
        return f"stranded: flows {left[:5]} neither finished nor are named; {run.summary['warnings'][-1:]}"
    return None


def _unexplained(run):
    """A finished flow or job whose causes do not sum to its time in the tables, to the picosecond.

    More and more flows are asked for at once, until half of `LONG_S` is over: where thousands share a queue,
    each path has thousands of pieces.
    """
    finished, end = run.flows.flow[run.flows.fct_us.notna()].tolist(), time.process_time() + LONG_S / 2
    first, count = 0, AT_ONCE
    while first < len(finished) and time.process_time() < end:
        if wrong := _unexplained_of(run, finished[first : first + count]):
            return wrong
        first, count = first + count, 2 * count
    return _unexplained_job(run, end)


def _unexplained_job(run, end):
    """A finished collective or task whose causes do not sum to its time, or a path of tasks with slack."""
    for row in (*run.summary["collectives"], *run.summary["tasks"]):
        if row["completion_us"] is None or time.process_time() > end:
            continue
        several = sum(one["name"] == row["name"] for one in run.summary["collectives"]) > 1
        name = f"{row['name']}/{row['group']}" if several else row["name"]
        try:
            path = run.why(task=name)
            slack = path.slack() if row["kind"] == "tasks" else {}
        except TooLargeError:
            continue
        causes = sum(path.by_cause().values())
        if differ(causes, row["completion_us"]):
            return f"why: the causes of {name} sum to {causes} ps of {row['completion_us']} us"
        on_path = [message.flow for message in path.messages]
        if any(slack.get(flow, 0) for flow in on_path) or min(slack.values(), default=0) < 0:
            return f"why: {slack} is the slack of {name}, whose path is {on_path}"
    return None


def differ(time_ps, time_us):
    """Whether a time is not that of a table, which is a float in microseconds."""
    return abs(time_ps - time_us * 1e6) > max(0.5, time_us * 1e6 * 2**-52)


def _unexplained_of(run, flows):
    try:
        found = run.why(flows)
    except TooLargeError as error:
        return None if "expected at most" in str(error) else f"refusal without a sentence: {error}"
    if sorted(found) != sorted(flows):
        return f"why: {len(found)} of {len(flows)} flows"
    start_us, fct_us = (run.columns("flows")[name] for name in ("start_us", "fct_us"))
    for flow, path in found.items():
        causes = sum(path.by_cause().values())
        if differ(causes, fct_us[flow]) or differ(path.start_ps, start_us[flow]):
            of = f"of {fct_us[flow]} us from {start_us[flow]} us on"
            return f"why: the causes of flow {flow} sum to {causes} ps from {path.start_ps} ps on, {of}"
    return None


def _unlike(run, other):
    """What is another on several threads."""
    if other.interrupted:
        return None
    timed = ("wall_s", "packet_hops_per_s", "threads")
    one, two = ({key: value for key, value in of.summary.items() if key not in timed} for of in (run, other))
    if one != two:
        return f"threads: {[key for key in one if one[key] != two[key]]} are others"
    return None if run.flows.equals(other.flows) else "threads: the table of flows is another"


def _cut(scenario):
    """Whether a link stays down once all faults have happened, or loses nearly everything."""
    down, loses = {}, {}
    for fault in sorted(scenario.faults, key=lambda fault: fault.at):
        lasts = fault.until is None
        if fault.kind in ("down", "up"):
            down |= dict.fromkeys(fault.links(scenario.graph), fault.kind == "down" and lasts)
        if fault.at_random:
            loses |= dict.fromkeys(fault.links(scenario.graph), fault.share >= MOSTLY[fault.kind] and lasts)
    return any(down.values()) or any(loses.values())


def _collapsed(error, scenario):
    """Whether a run was ended as nothing gets through: a link stays down, or its flows tried often enough."""
    waits = all("cannot make progress" in said or "have not started" in said for said in error.problems)
    if waits and _cut(scenario):
        return True
    stuck = [
        re.match(r"flow \d+(?: and (\d+) others)? cannot make progress: timers repeat", said)
        for said in error.problems
    ]
    if len(stuck) != 1 or stuck[0] is None:
        return False
    flows = error.run.flows
    # Those of which all has arrived too: a sender tries on until it hears so.
    tried = flows.timeouts >= 15
    return bool((tried & flows.fct_us.isna()).any()) and int(tried.sum()) >= 1 + int(stuck[0][1] or 0)


def _crowded(error, scenario):
    """Whether a run was ended because queues without an end took more packets than a run may hold."""
    said = len(error.problems) == 1 and "are in flight" in error.problems[0]
    return said and (scenario.hosts.nic == "fifo" or scenario.network.buffer == NEVER)


def _starved(error):
    """Whether a run came to the longest time because strict priority leaves flows nothing, and says so."""
    lasted = all("have not finished in the longest simulated time" in said for said in error.problems)
    return lasted and any("below strict priority" in said for said in error.run.summary["warnings"])


def _about_refusal(error, text, overrides):
    """What a message lacks: a sentence on what was expected, the key, or the value that stands there."""
    said = str(error)
    # Below each sentence stands the line of the file that it is about, and a caret.
    sentences = [line for line in said.strip().splitlines() if not EXCERPT.match(line)]
    if not all("expected" in line for line in sentences) or len(said) > 600 * len(error.every) + 2000:
        return f"refusal without a sentence: {said[:300]!r}"
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError):
        return None
    for one in error.every:
        if one.key is None:
            return f"refusal without a key: {said[:300]!r}"
        there = _at(tables, one.key)
        # True is short for a table of defaults, which has no value to show.
        if one.value is None and not overrides and isinstance(there, str | int | float) and there is not True:
            return f"refusal without the value: {str(one)[:300]!r}"
    return None


def _at(tables, key):
    """What stands at a dotted key such as "traffic[0].size"; None if nothing does."""
    for step in key.replace("[", ".").replace("]", "").split("."):
        if isinstance(tables, list) and step.isdigit() and int(step) < len(tables):
            tables = tables[int(step)]
        elif isinstance(tables, dict):
            tables = tables.get(step)
        else:
            return None
    return tables


def about_run(run, scenario):
    """What is not true in the numbers of a run; None if nothing is."""
    strange = next(_strange(run.summary), None)
    if strange:
        return f"number: {strange} in the summary"
    flows, ports = run.flows, run.ports
    if (ports.utilization > LITTLE).any():
        return f"utilization: {ports.utilization.max()}"
    # Over several ways a flow may beat the ideal time, which is that of one; the run says so.
    warned = any("slowdown below 1" in warning for warning in run.summary["warnings"])
    changes = {fault.kind for fault in scenario.faults}
    reacts = {"down", "up", "flap"} if scenario.network.convergence != NEVER else set()
    several = scenario.network.balancing != "flow" or bool(changes & {"drain", "undrain", *reacts})
    if (flows.slowdown < 1).any() and not (warned and several):
        return f"slowdown: {flows.slowdown.min()}"
    network = scenario.graph
    nics = np.bincount(network.link_from[network.is_nic], network.rate_bps[network.is_nic].astype(float))
    fastest = float(nics.max()) / 1e9
    # A packet counts whole when it arrives: one under way before its flow was measured may come on top.
    stop_us = np.minimum(scenario.flows.stop_ps / 1e6, run.summary["duration_s"] * 1e6)
    span_us = stop_us - np.maximum(flows.start_us, run.summary["warmup_s"] * 1e6)
    if (flows.goodput_gbps * span_us > fastest * span_us * LITTLE + scenario.mtu * 8e-3).any():
        return f"goodput: {flows.goodput_gbps.max()} Gbit/s on links of {fastest}"
    if np.isinf(flows.select_dtypes("number")).any(axis=None):
        return "number: an infinity in the table of flows"
    fairness = run.summary["flows"]["jain"]
    if fairness is not None and not 0 < fairness <= LITTLE:
        return f"jain: {fairness}"
    return None


def _strange(value, key=""):
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _strange(item, f"{key}.{name}")
    elif isinstance(value, list):
        for item in value:
            yield from _strange(item, key)
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{key} = {value}"

"""A figure of each kind that Shallows draws, of a width in inches."""

import functools
from dataclasses import replace
from pathlib import Path

import numpy as np

import fake_packet_run as fake
import shallows as sh
from shallows import plot
from shallows.fit import output as fitted
from shallows.fit.measured import Measured
from shallows.fit.search import Fit, Value
from shallows.fluid import Dcqcn, Dctcp
from shallows.fluid import plot as fluid
from shallows.fluid.linear import linearise
from shallows.fluid.maps import margin_map
from shallows.fluid.published import linearise_as_published
from shallows.fluid.trajectory import trajectory as run
from shallows.plot import topology
from shallows.results.metrics import RUN_KEYS as NUMBERS
from shallows.results.statistics import Interval
from shallows.settings import figure as figures_of_settings
from shallows.settings.advise import Advice, Candidate
from shallows.settings.explain import explain
from shallows.settings.margins import Worst
from shallows.settings.trials import Metric, Trial
from shallows.sweeps.result import Sweep

SMALL = Path(__file__).with_name("small.toml")
RING = """
duration = "until-done"
topology = { kind = "star", hosts = 4 }
cc = "dctcp"
traffic = [{ kind = "all-reduce", size = "40KB", name = "ring" }]
"""


def swept(values, metric="queue_mean_pkt", key="network.buffer", ccs=("dctcp", "dx")):
    """A sweep with made-up numbers over `values` of a key."""
    numbers = dict.fromkeys(NUMBERS, 1.0)
    rows = [
        {
            "run": f"{cc}{value}{seed}", "cc": cc, "at": value, "seed": seed, "failure": None,
            "fingerprint": f"{cc}{value}{seed}", **numbers, metric: 10 * (i + 1) + j + 0.1 * seed,
        }
        for i, cc in enumerate(ccs)
        for j, value in enumerate(values)
        for seed in (1, 2, 3)
    ]  # fmt: skip
    about = {"name": "by hand", "seeds": [1, 2, 3], "interrupted": False, "version": "0", "told": ""}
    return Sweep(rows, {key: "at"}, ".", about)


def two_keys():
    rows = [row | {"load": load} for load in (0.2, 0.4) for row in swept([1, 2, 4]).rows]
    about = {"name": "by hand", "seeds": [1, 2, 3], "interrupted": False, "version": "0", "told": ""}
    return Sweep(rows, {"network.buffer": "at", "traffic.0.load": "load"}, ".", about)


def sawtooth(samples=20_000, cycle=40, noise=0.0):
    """A run whose queue is a sawtooth of `cycle` samples."""
    dice = np.random.default_rng(1)
    times = np.arange(samples, dtype=np.uint64) * np.uint64(fake.US)
    packets = 50 + np.arange(samples) % cycle * 0.5 + dice.normal(0, noise, samples) * (noise > 0)
    queues = {"time_ps": times, "bytes": (packets * 1500).astype(np.uint32)[None, :]}
    return fake.run(queues=queues, ended_ps=samples * fake.US)


@functools.cache
def compared():
    changes = {"duration": "2ms", "warmup": "0s", "traffic.0.flows": 4, "record.queues": "10us"}
    return sh.compare("dctcp-40", ["dctcp", "dx", "reno"], overrides=changes)


@functools.cache
def joining():
    """Two algorithms whose four flows start 10 ms after each other."""
    star = {"kind": "star", "hosts": 5, "rate": "10Gbps", "rtt": "40us"}
    flows = [{"kind": "long-lived", "flows": 4, "stagger": "10ms"}]
    record = {"probes": "20us", "flows": 4, "queues": "100us"}
    scenario = sh.Scenario(duration="60ms", topology=star, cc="dctcp", traffic=flows, record=record)
    return sh.compare(scenario, ["dctcp", "dx"])


@functools.cache
def worlds():
    """The packet and the fluid world of one scenario."""
    changes = {"duration": "10ms", "warmup": "0s", "record.queues": "10us"}
    return sh.compare("dctcp-40", ["dctcp"], worlds=["packet", "fluid"], overrides=changes)


@functools.cache
def failing():
    """A run whose goodput falls while a link is down."""
    star = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2}
    flows = [{"kind": "long-lived", "flows": 2, "from": "h[0-1]", "to": "h[2-3]"}]
    down = [{"kind": "down", "link": "leaf0<->spine0", "at": "2ms", "until": "4ms"}]
    return sh.run(sh.Scenario(duration="8ms", topology=star, cc="dctcp", traffic=flows, faults=down))


@functools.cache
def completed():
    """A run of flows of many sizes."""
    return sh.run("websearch-tree", overrides={"traffic.0.flows": 300, "topology.hosts_per_tor": 4})


@functools.cache
def why(**chosen):
    return sh.run(SMALL).why(**chosen)


@functools.cache
def task():
    return sh.run(sh.Scenario.from_toml(RING)).why(task="ring")


def network(width=7.2, used=False, k=4):
    scenario = sh.Scenario.load("websearch-fat-tree", {"topology.k": k})
    shares = np.linspace(0, 1, len(scenario.graph.port_names)) if used else None
    return topology.network(scenario.graph, scenario.name, shares, width)


def fit():
    """Times of NVIDIA/nccl-tests issue 232 beside made-up predictions."""
    sizes = np.array([2097152, 4194304, 8388608, 16777216, 33554432.0])
    measured = np.array([113.2, 154.4, 231.4, 420.5, 812.3])
    free = 10 + sizes / 50e3
    predicted = 60 + sizes / 45e3
    none = Value(1.0, 0.9, 1.1)
    table = Measured("all_reduce_perf", 1, rows=[*zip(sizes.tolist(), measured.tolist(), strict=True)])
    messages = np.full(len(sizes), 2.0)
    return Fit(0, "all-reduce", table, predicted, free, 10.0, messages, none, none, None, [])


def advice():
    """A made-up choice among four settings beside two fronts."""

    def candidate(name, degrees, queue, metric):
        trial = Trial(Interval(metric, metric, metric, 3, "test"), Interval(0.0, 0.0, 0.0, 3, "test"), np.nan,
                      100.0, 0.0, 0.0, np.nan)  # fmt: skip
        return Candidate(name, {}, Worst(degrees, 10, 1e-5, 40e9, queue), 0.01, 4e6, trial)

    tried = [candidate(str(i + 1), 60 - 9 * i, 400e3 / 2**i, 40 - 3.3 * i) for i in range(4)]
    tried += [candidate(str(i + 5), 34 + i, 51e3 + 4e3 * i, 30.25 + i) for i in range(2)]  # close to others
    own = candidate("own", -12.0, 120e3, 61.0)
    queues = np.geomspace(500e3, 20e3, 30)
    fronts = {step: (queues, 20 * np.log10(queues / 1e4) + step / 1e7) for step in (5e6, 40e6)}
    scenario = sh.Scenario.load(SMALL)
    metric = replace(Metric.of(scenario), name="p99 completion time of short flows, us")
    return Advice(tried[2], tuple(tried), own, metric, fronts, (), (), scenario)


def explained(width):
    found = explain(sh.Scenario.load("roce-fabric"))
    drawing = plot.Drawing((width, 0.8 + 1.4 * len(found.ports)))
    with drawing.styled():
        figures_of_settings.draw_thresholds(drawing.subplots(), found)
    return drawing


def on_axes(width, shape, paint):
    """A figure of the fluid world, which draws on given Axes."""
    drawing = plot.Drawing((width, 2.6 * shape[0] + 0.6))
    with drawing.styled():
        paint(drawing.subplots(*shape))
    return drawing


def bode(axes):
    for index, (label, made) in enumerate([("exact", linearise), ("as published", linearise_as_published)]):
        fluid.bode(*axes, made(Dcqcn(flows=10)).loop(), label=label, index=index)


def trajectory(axes):
    fluid.trajectory(*axes, run(Dctcp(flows=2), 2e-3))


def margins(ax):
    fluid.phase_margin(ax, margin_map(Dcqcn(), {"flows": np.arange(2, 40)}))


def stability(ax):
    swept_values = {"flows": np.arange(2, 40, 2), "delay": np.geomspace(1e-6, 1e-4, 15)}
    found = margin_map(Dcqcn(), swept_values)
    fluid.margin_bar(ax, fluid.stability_map(ax, found), "phase margin (degrees)")


KINDS = {
    "run": lambda width: plot.figure([compared().runs["dctcp"]], size=width),
    "cycles": lambda width: plot.figure([sawtooth()], size=width),
    "fault": lambda width: plot.figure([failing()], size=width),
    "flows": lambda width: plot.figure([completed()], size=width),
    "compare": lambda width: compared().figure(size=width),
    "joining": lambda width: joining().figure(size=width),
    "worlds": lambda width: worlds().figure(size=width),
    "sweep": lambda width: swept([1, 2, 4, 8, 16]).figure(x="at", y="queue_mean_pkt", size=(width, 2.2)),
    "multiples": lambda width: two_keys().figure(x="at", y="queue_mean_pkt", size=(width, 2.4)),
    "heat-map": lambda width: two_keys().heatmap("at", "load", "queue_mean_pkt", size=(width, 3)),
    "why": lambda width: why(slowest=4).figure(width),
    "waterfall": lambda width: why(slowest=1).figure(width),
    "task": lambda width: task().figure(width),
    "network": network,
    "larger-network": lambda width: network(width, k=6),
    "utilization": lambda width: network(width, used=True),
    "fit": lambda width: fitted.figure([fit()], width),
    "advice": lambda width: figures_of_settings.margins(advice(), width),
    "settings": explained,
    "margin": lambda width: on_axes(width, (2, 1), bode),
    "trajectory": lambda width: on_axes(width, (2, 1), trajectory),
    "margins": lambda width: on_axes(width, (1, 1), margins),
    "stability": lambda width: on_axes(width, (1, 1), stability),
}
"""A figure of each kind, of a width in inches."""

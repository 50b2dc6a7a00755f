"""`shallows advise`: which settings it tries, how packets order them, and two settings of the literature."""

import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import shallows as sh
from shallows import cli
from shallows.errors import ScenarioError
from shallows.fluid import Dcqcn
from shallows.fluid.maps import margin_map
from shallows.results.statistics import Interval
from shallows.settings import advise as advising
from shallows.settings import corners, ranges, report, sonic_export
from shallows.settings.advise import Candidate, advise
from shallows.settings.corners import Corner
from shallows.settings.disagreements import disagreements
from shallows.settings.margins import Worst
from shallows.settings.trials import Metric, Trial, drift, trials

FLOWS = np.arange(2, 65)
PAPER = {
    "duration": "1s",
    "warmup": "200ms",
    "topology": {"kind": "dumbbell", "hosts": 10, "rate": "40Gbps", "rtt": "100us"},
    "network": {
        "mtu": "1000B",
        "header": "48B",
        "buffer": "20MB",
        "marking": {"kind": "red", "kmin": "5KB", "kmax": "200KB", "pmax": 0.01, "extended": True},
    },
    "cc": {"name": "dcqcn@ecn-or-delay"},
    "traffic": [{"kind": "long-lived", "flows": 10}],
}
"""The setting of ECN or Delay (CoNEXT 2016), with ten flows over its longest delay."""


def worst_margin(**parameters):
    """Degrees, of 2 to 64 flows over 1 to 100 us; without a fixed point minus infinity."""
    delays = np.geomspace(1e-6, 100e-6, 9)
    found = margin_map(Dcqcn(rate=40e9, **parameters), {"flows": FLOWS, "delay": delays})
    return np.where(found.exists, found.phase_margin_deg, -np.inf).min()


def number(settings, key, unit):
    return float(settings[key].removesuffix(unit)) if isinstance(settings[key], str) else settings[key]


def model_of(settings):
    """The parameters of the fluid model that settings of the command stand for, read without its code."""
    sizes = {"KB": 1e3, "MB": 1e6, "B": 1}
    size = {
        key: next(float(text[: -len(unit)]) * scale for unit, scale in sizes.items() if text.endswith(unit))
        for key in ("kmin", "kmax")
        if (text := settings[f"network.marking.{key}"])
    }
    return {
        **size,
        "pmax": settings["network.marking.pmax"],
        "r_ai": 1e6 * number(settings, "cc.r_ai", "Mbps"),
        "g": settings["cc.g"],
        "tau_prime": 1e-6 * number(settings, "cc.tau_prime", "us"),
        "t": 1e-6 * number(settings, "cc.t", "us"),
    }


def interval(mean, half=0.0):
    return Interval(mean, mean - half, mean + half, 3, "test")


def trial(metric, *, difference=0.0, goodput=100.0, pauses=0.0, dropped=0.0, drift=np.nan):
    return Trial(interval(metric), interval(difference), np.nan, goodput, pauses, dropped, drift)


def candidate(name, metric, degrees=20.0, **measured):
    worst = Worst(degrees, 10, 1e-5, 40e9, 1e5)
    return Candidate(name, {"cc.r_ai": "4Mbps"}, worst, 0.01, 4e6, trial(metric, **measured))


def corner(utilization=1.0, stops=0, queue=100e3, reason=""):
    return Corner(2, 1e-6, 100e3, queue, utilization, stops, reason)


@pytest.fixture
def packets(monkeypatch):
    """Replaces packets: the metric of each setting that the advice tries, the scenario's own first."""

    def answer(metrics, **measured):
        tried = []

        def run(scenario, settings, *rest):
            tried.extend(settings)
            values = (metrics + [metrics[-1]] * len(settings))[: len(settings)]
            return [trial(value, difference=value - metrics[0], **measured) for value in values]

        monkeypatch.setattr(advising, "trials", run)
        monkeypatch.setattr(corners.Places, "corners", lambda *rest: ())
        return tried

    return answer


def test_ranges_have_two_ends_or_one():
    assert ranges.counts("2:64", "--flows") == (2, 64)
    assert ranges.counts("8", "--flows") == (8, 8)
    assert ranges.times("1us:0.1ms", "--rtts") == (pytest.approx(1e-6), pytest.approx(1e-4))
    for text in ("", "0:4", "4:2", "2:x", "1:2:3", "-1"):
        with pytest.raises(ScenarioError, match="--flows"):
            ranges.counts(text, "--flows")
    for text in ("", "5", "2us:1us", "1us:x"):
        with pytest.raises(ScenarioError, match="--rtts"):
            ranges.times(text, "--rtts")


def test_packets_order_settings_whatever_the_fluid_model_says():
    own = candidate("own", 10, degrees=np.nan)
    assert [one.name for one in advising._ranked([own, candidate("1", 20), candidate("2", 9)])] == [
        "2", "own", "1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "fault",
    [{"goodput": 97.9}, {"pauses": 1.0}, {"dropped": 1.0}, {"drift": 0.21}],
    ids=lambda fault: next(iter(fault)),
)
def test_a_setting_with_a_fault_in_packets_comes_last(fault):
    own, other = candidate("own", 30, drift=0.1), candidate("1", 10, drift=0.1)
    assert advising._ranked([own, other])[0].name == "1"
    ranked = advising._ranked([own, replace(other, trial=trial(10, **{"drift": 0.1} | fault))])
    assert [one.name for one in ranked] == ["own", "1"]
    assert len(ranked[1].faults) == 1
    harmless = {key: value - 0.02 if key == "drift" else value + 0.2 for key, value in fault.items()}
    if "goodput" in fault or "drift" in fault:
        mild = advising._ranked([own, replace(other, trial=trial(10, **{"drift": 0.1} | harmless))])
        assert mild[0].name == "1"


def test_what_is_tried_is_stable_everywhere_and_fits_the_buffer(packets):
    tried = packets([100.0, 90.0])
    scenario = sh.Scenario(**PAPER).replace({"network.buffer": "4MB"})
    advice = advise(scenario, (2, 64), (1e-6, 100e-6))
    assert advice.best is advice.candidates[0]
    assert [one["network.marking.extended"] for one in tried] == [True] + [False] * (len(tried) - 1)
    assert len(tried) > 1
    for one in advice.candidates:
        model = model_of(one.settings)
        assert model["kmax"] <= 0.8 * 4e6
        # Between the points that the command looks at, the least margin may be a little smaller.
        assert worst_margin(**model) == pytest.approx(one.worst.degrees, abs=0.3)
        assert one.worst.degrees > 0
    saved = sh.Scenario.from_toml(advice.scenario.to_toml())
    assert sonic_export.entries(saved).tables["WRED_PROFILE"]
    assert saved.cc.parameters["r_ai"] == model_of(advice.best.settings)["r_ai"]
    assert saved.cc.parameters["r_hai"] == saved.cc.parameters["r_ai"]  # the ratio of the preset


def test_no_point_of_a_front_beats_another_in_both(packets):
    packets([100.0, 90.0])
    for queues, margins in advise(sh.Scenario(**PAPER), (2, 64), (1e-6, 100e-6)).fronts.values():
        assert (np.diff(margins) <= 0).all()
        assert (queues[1:] < 0.9 * queues[:-1]).all()


def test_own_settings_that_are_best_in_packets_are_kept_and_named(packets):
    packets([100.0, 130.0])
    advice = advise(sh.Scenario(**PAPER), (2, 64), (1e-6, 100e-6))
    assert advice.best is advice.own
    assert advice.scenario == sh.Scenario(**PAPER)
    assert "Keep the scenario's own settings" in report.report(advice)[0]
    assert any("does not settle" in text for text in advice.disagreements)


@pytest.mark.parametrize(("share", "disagrees"), [(1.19, 0), (1.21, 1), (0.81, 0), (0.79, 1)])
def test_a_queue_far_from_that_of_the_fluid_model_is_a_disagreement(share, disagrees):
    queue = Dcqcn(rate=40e9, flows=10, mtu=1000, ramp="extended").fixed_point().queue_bytes
    own = replace(candidate("own", share * queue / 1e3), settings={})
    found = disagreements(sh.Scenario(**PAPER), [own], own, Metric.of(sh.Scenario(**PAPER)))
    assert ["expects a queue" in text for text in found] == [True] * disagrees


@pytest.mark.parametrize(
    ("port", "change", "reason"),
    [
        ({}, 0.0, ""),
        ({"queue_p99_pkt": 201, "queue_max_pkt": 250}, 0.0, "up to 250.0 KB: at kmax"),
        ({}, 0.3, "changes by 30%"),
        ({"utilization": 0.99}, 0.0, "busy for 99.0%"),
    ],
)
def test_another_queue_at_a_corner_is_told_with_what_packets_show(port, change, reason):
    given = {"queue_p99_pkt": 199, "queue_max_pkt": 199, "utilization": 1.0} | port
    told = corners._reason(Dcqcn(kmax=200e3), given, 1000, change)
    assert reason in told
    assert bool(reason) == bool(told)
    assert not corner(queue=119e3, reason=told).disagreement
    assert "with 3 pauses or drops" in corner(queue=79e3, stops=3).disagreement
    assert f"100.0 KB, packets have 79.0 KB{told}" in corner(queue=79e3, reason=told).disagreement


@pytest.mark.parametrize(
    ("own", "first", "second", "order", "checked"),
    [
        # (port busy, pauses) of long-lived flows alone; settings 1 and 2 are better than own by their metric
        ((0.5, 0), (0.5, 0), (1.0, 0), "1 2 own", "own 1"),
        ((0.5, 0), (0.48, 0), (0.5, 0), "2 own 1", "own 1 2"),
        ((0.5, 0), (0.5, 1), (0.5, 0), "2 own 1", "own 1 2"),
        ((0.5, 2), (0.5, 1), (1.0, 0), "1 2 own", "own 1"),
        ((0.9, 0), (0.5, 0), (0.5, 0), "own 1 2", "own 1 2"),
    ],
)
def test_a_setting_that_is_worse_with_long_lived_flows_alone_comes_after_own(
    own, first, second, order, checked
):
    ran = []

    class Places:
        def corners(self, name, settings):
            ran.append(name)
            return (corner(), corner(*{"own": own, "1": first, "2": second}[name]))

    ranked = [candidate("1", 10), candidate("2", 11), candidate("own", 20)]
    assert " ".join(one.name for one in advising._compared(ranked, Places())) == order
    assert " ".join(ran) == checked


def test_own_settings_with_the_best_metric_give_way_if_their_flows_starve_at_a_corner():
    busy = {"own": 0.9, "1": 1.0}
    places = SimpleNamespace(corners=lambda name, settings: (corner(busy[name]),))
    ranked = advising._compared([candidate("own", 10), candidate("1", 11)], places)
    assert [one.name for one in ranked] == ["1", "own"]
    assert ranked[1].faults == ("2 flows, 1 us: busy for 90%, not 100%",)


def test_at_a_corner_flows_are_alone_with_the_switches_and_hosts_of_the_scenario(tmp_path):
    scenario = sh.Scenario.load("shipped-settings").replace({"traffic.0.cc": "dcqcn@ecn-or-delay"})
    alone = corners.alone(scenario, "traffic.0.cc", 25e9, settles_s=0.001)
    assert alone.network == scenario.network
    assert alone.cc.parameters == scenario.traffic[0].cc.parameters
    assert (alone.duration, alone.warmup_ps) == (40 * 10**9, 20 * 10**9)
    places = corners.Places(scenario, "traffic.0.cc", 25e9, 0.001, [(3, 10e-6)], tmp_path)
    (one,) = places.corners("own", {})
    (run,) = Path(tmp_path, "own", "runs").iterdir()
    done = sh.Run.load(run)
    assert (len(done.flows), done.scenario.topology.rtt, done.scenario.topology.rate) == (
        3,
        10**7,
        25 * 10**9,
    )
    assert one.queue_bytes == pytest.approx(done.summary["bottleneck"]["queue_mean_pkt"] * 1500)


@pytest.mark.parametrize(
    ("changes", "flows", "message"),
    [
        ({"cc": {"name": "dctcp"}, "network": {}}, (2, 64), "dcqcn with red marking or patched-timely"),
        ({}, (2, 100_000), "a narrower range"),
    ],
)
def test_what_cannot_be_tuned_is_refused(changes, flows, message):
    with pytest.raises(ScenarioError, match=message):
        advise(sh.Scenario(**PAPER | changes), flows, (1e-6, 100e-6))


def test_a_tuned_scenario_is_saved_and_only_replaced_if_it_was_saved_here(packets, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    packets([100.0, 90.0])
    (tmp_path / "paper.toml").write_text(sh.Scenario(**PAPER).to_toml())
    words = ["advise", "paper.toml", "--rtts", "1us:100us", "--plot", "advice.png", "--save"]
    for file in ("tuned.toml", "tuned.toml"):
        done = CliRunner().invoke(cli.app, [*words, file])
        assert done.exit_code == 0, done.output
    assert sh.Scenario.load("tuned.toml").cc.parameters["r_ai"] == 4e6
    assert (tmp_path / "advice.png").stat().st_size > 10_000
    done = CliRunner().invoke(cli.app, [*words, "paper.toml"])
    assert (done.exit_code, "choose another name" in done.output) == (2, True)


def test_the_drift_is_that_of_the_bottleneck_after_the_warm_up():
    times = np.arange(0, 1000, 10.0)
    queue = np.where(times < 200, 9e6, np.where(times < 600, 100e3, 130e3))
    rows = pd.DataFrame({"time_us": times, "port": "a->b", "queue_bytes": queue})
    other = rows.assign(port="b->a", queue_bytes=1e9)
    run = SimpleNamespace(
        queues=pd.concat([rows, other]),
        summary={"bottleneck": {"port": "a->b"}},
        scenario=SimpleNamespace(warmup_ps=200_000_000, mtu=1000),
    )
    assert drift(run) == pytest.approx(0.3)


@pytest.mark.nightly
def test_in_the_setting_of_ecn_or_delay_the_margin_beats_the_papers_sweep(tmp_path):
    sweep = [
        worst_margin(r_ai=r_ai, kmax=kmax, ramp="extended")
        for r_ai in (10e6, 20e6, 30e6, 40e6)
        for kmax in (200e3, 400e3, 600e3, 800e3, 1e6)
    ]
    begun = time.monotonic()
    advice = advise(sh.Scenario(**PAPER), (2, 64), (1e-6, 100e-6), seeds=2, out=tmp_path)
    assert time.monotonic() - begun < 180
    best = model_of(advice.best.settings)
    assert advice.best is not advice.own
    assert worst_margin(**best) >= max(sweep) > 0
    queue = Dcqcn(rate=40e9, flows=10, mtu=1000, **best).fixed_point().queue_bytes
    assert advice.best.measured.metric.mean * 1e3 == pytest.approx(queue, rel=0.2)
    assert advice.best.measured.drift < 0.2
    assert len(advice.best.corners) == 5
    for one in advice.best.corners:
        assert one.queue_bytes == pytest.approx(one.expected_bytes, rel=0.25 if one.flows == 2 else 0.2)


@pytest.mark.nightly
def test_the_advice_beats_shipped_settings_over_seeds_that_it_did_not_see(tmp_path):
    scenario = sh.Scenario.load("shipped-settings")
    advice = advise(scenario, candidates=4, seeds=2, out=tmp_path / "advice")
    assert advice.metric == Metric("p99 slowdown of flows up to 100 KB", True, short=True)
    both = [advice.own.settings, advice.best.settings]
    own, best = trials(advice.scenario, both, range(601, 606), advice.metric, tmp_path / "held-out")
    assert best.difference.high < 0
    assert best.pauses <= own.pauses
    assert best.goodput_gbps >= 0.98 * own.goodput_gbps


def test_a_setting_that_packets_do_not_find_better_is_not_recommended():
    """A metric that is lower within its interval, of which zero is a part, is no reason."""
    own = candidate("own", 2.0)
    for difference, half, better in ((-0.02, 0.03, False), (-0.02, 0.01, True), (0.5, 0.1, False)):
        measured = replace(trial(2.0 + difference), difference=interval(difference, half))
        assert advising._is_better(replace(candidate("2", 1.98), trial=measured), own) == better
    assert advising._is_better(candidate("2", 2.5), replace(own, faults=("1 flows unfinished",)))


def test_the_headline_says_what_a_recommended_setting_makes_worse():
    """64 flows keep 2073 KB in place of 628 KB, and longer flows take a fifth longer."""
    corner = Corner(64, 4e-6, 5e5, 628e3, 1.0, 0, "")
    own = replace(candidate("own", 2.0), corners=(corner,))
    best = replace(candidate("2", 1.9), corners=(replace(corner, queue_bytes=2073e3),))
    (said,) = report._worse(best, own)
    assert said == "It makes this worse: 64 flows, 4 us alone keep 2073 KB, not 628 KB."
    slower = replace(best, trial=replace(best.trial, longer=1.2), corners=())
    assert "longer flows" in report._worse(slower, replace(own, trial=replace(own.trial, longer=1.0)))[0]

"""The wire world: what it refuses, and that flows complete over datagrams in real time.

A busy machine makes packets late, so no test here depends on how late they are: a run whose books close has
accounted for every packet, and the tests of bands are nightly, on an otherwise idle machine.
"""

import json
import os
import sys

import pytest

import commands
import shallows as sh
from least_algorithm import Least
from shallows import _core
from shallows.algorithms import user_algorithms
from shallows.errors import BooksError, ScenarioError
from shallows.runner import prepare
from shallows.worlds import packet, real_time, wire

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the wire world needs Linux")

SLOW = {
    "duration": "1s",
    "warmup": "100ms",
    "topology": {"kind": "dumbbell", "hosts": 2, "rate": "20Mbps", "edge_rate": "80Mbps", "rtt": "4ms"},
    "traffic": [{"kind": "incast", "senders": 2, "size": "150KB"}],
}


def scenario(cc, **changes):
    return sh.Scenario(**{**SLOW, **changes}, cc={"name": cc})


def emulated(one):
    """The answer of one run, late or not; skips if the machine stood still and datagrams were dropped."""
    answer = _core.emulate(packet.request(one))
    late = answer["lateness"]
    print(f"load {os.getloadavg()[0]:.1f}, packets {late['deliveries']['mean_us']:.0f} us late on average")
    if "datagrams were lost" in (late["reason"] or ""):
        pytest.skip(f"load {os.getloadavg()[0]:.1f}: {late['reason']}")
    return answer


@pytest.mark.parametrize("cc", ["dctcp", "dx", "hpcc", "rcp", "dcqcn", "expresspass"])
def test_flows_complete_and_the_books_close(cc):
    one = scenario(cc)
    answer = emulated(one)
    assert answer["books"] == {"closed": True, "problems": []}
    assert answer["flows"]["delivered_bytes"].tolist() == [150_000, 150_000]
    # 300 KB in packets of at most 1460 B are 206 or more, each of which crosses loopback twice.
    assert answer["datagrams"]["count"] >= 2 * 206
    assert answer["lateness"]["deliveries"]["count"] == answer["datagrams"]["count"]
    assert answer["fingerprint"] is None


def test_an_application_writes_at_its_rate():
    """4 Mbps for a second are 500 KB in packets of 1460 B; the link would carry 2.4 MB."""
    flow = {"kind": "long-lived", "flows": 1, "from": "h0", "to": "h2", "rate": "4Mbps"}
    answer = emulated(scenario("cubic", traffic=[flow]))
    assert answer["books"] == {"closed": True, "problems": []}
    (delivered,) = answer["flows"]["delivered_bytes"].tolist()
    assert 250_000 <= delivered <= 500_000 + 1460


class Two(Least):
    window = 2.0


def test_an_algorithm_of_a_python_class_sends_datagrams(monkeypatch):
    monkeypatch.setattr(user_algorithms, "_CLASSES", {})
    sh.register("two", Two)
    answer = emulated(scenario("two", network={"marking": "none"}))
    assert answer["books"]["closed"]
    assert answer["flows"]["delivered_bytes"].tolist() == [150_000, 150_000]


def test_a_run_ends_at_the_first_interrupt():
    calls = []

    def interrupts(now_ps, hops, finished):
        calls.append(now_ps)
        if now_ps > 50e9:
            raise KeyboardInterrupt

    answer = _core.emulate(packet.request(scenario("dctcp", duration="60s")), interrupts)
    assert answer["interrupted"]
    assert 50e9 < answer["ended_ps"] < 50e12
    assert calls == sorted(calls)


def test_the_command_prints_lateness_and_spread(tmp_path):
    (tmp_path / "slow.toml").write_text(scenario("dctcp").to_toml())
    done = commands.run("run", "slow.toml", "--world", "wire", "--repeats", "2", cwd=tmp_path)
    if "too late in" in done.stderr or "this machine carries" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    assert "late on average" in done.stdout
    assert "repeated    2 times" in done.stdout
    (saved,) = tmp_path.glob("results/*/latest/summary.json")
    summary = json.loads(saved.read_text())
    assert summary["world"] == "wire"
    assert summary["spread"]["runs"] == 2
    assert summary["flows"]["finished"] == 2
    assert summary["random"] is None


def test_late_runs_are_repeated_and_a_machine_that_stays_late_is_an_error():
    one = scenario("dctcp", duration="200ms")

    def answer(reason):
        books = {"closed": True, "problems": []}
        return {**_core.simulate(packet.request(one)), "lateness": {"reason": reason}, "books": books}

    reasons = iter(["late once", None, None])
    run = real_time.median_run(one, lambda _: answer(next(reasons)), "wire", repeats=2, attempts=5)
    assert run.summary["lateness"]["rejected"] == ["late once"]
    assert run.summary["spread"]["runs"] == 2
    run = real_time.median_run(one, lambda _: answer("late"), "wire", repeats=2, attempts=3)
    assert run.summary["lateness"]["rejected"] == ["late"] * 3
    with pytest.raises(BooksError, match="too late in 3 attempts: late; use a less busy machine"):
        run.check_books()


@pytest.mark.parametrize("cc", ["dx", "timely", "swift", "vegas"])
def test_delays_are_not_measured_in_short_round_trips(cc):
    dumbbell = {"kind": "dumbbell", "hosts": 2, "rate": "50Mbps", "edge_rate": "200Mbps"}
    prepare(scenario(cc, topology={**dumbbell, "rtt": "500us"}), world="wire")
    with pytest.raises(ScenarioError, match="at least 500us for") as refused:
        prepare(scenario(cc, topology={**dumbbell, "rtt": "490us"}), world="wire")
    assert refused.value.key == "topology.rtt"
    prepare(scenario("dctcp", topology={**dumbbell, "rtt": "490us"}), world="wire")


def test_more_load_than_half_of_what_the_machine_carries_is_refused():
    one = scenario("dctcp")
    # 20 Mbps are 1666.7 packets of 1500 B per second, and as many answers.
    assert wire.datagrams_per_s(one) == pytest.approx(2 * 20e6 / 12_000)
    wire.check_load(one, 7000)
    with pytest.raises(
        ScenarioError, match="3,333 datagrams per second each way, and this machine carries 6,0"
    ):
        wire.check_load(one, 6000)


def test_the_machine_carries_some_datagrams():
    assert 1e3 < _core.datagrams_per_s(0.1) < 1e8

"""One run on any number of threads: every number that it gives is the same."""

import random

import numpy as np
import pytest

from shallows import _core, runner
from shallows.errors import ScenarioError
from shallows.scenario import Scenario, examples
from shallows.worlds import packet

THREADS = (2, 3, 4, 8)


class Still:
    """An algorithm that keeps the window that it began with."""

    def __init__(self, initial_window, line_rate):
        self.window = initial_window

    def on_ack(self, now, ack):
        """It makes no difference."""

    def on_loss(self, now, loss):
        """Nor does this."""

    def decision(self):
        return self.window


def in_packets(name):
    """Whether the packet world has what this example needs."""
    try:
        packet.check(Scenario.load(name))
    except ScenarioError:
        return False
    return True


def shortened(name, parts=5):
    """The request of an example, cut after a part of the time that a hundred thousand events or so take."""
    request = packet.request(Scenario.load(name))

    def enough(now_ps, packet_hops, flows_finished):
        raise KeyboardInterrupt

    begun = _core.simulate(request, enough)
    if begun["interrupted"]:
        request |= {"duration_ps": begun["ended_ps"] // parts, "until_done": False}
    return request


def apart(one, other, at=""):
    """Where two answers differ."""
    if isinstance(one, dict):
        return [
            place for key in one if key != "threads" for place in apart(one[key], other[key], f"{at}.{key}")
        ]
    if isinstance(one, list):
        pairs = [apart(a, b, f"{at}[{n}]") for n, (a, b) in enumerate(zip(one, other, strict=True))]
        return [place for places in pairs for place in places]
    return (
        []
        if np.array_equal(one, other, equal_nan=isinstance(one, np.ndarray) and one.dtype.kind == "f")
        else [at]
    )


IN_PACKETS = [name for name in examples.names() if in_packets(name)]


@pytest.mark.nightly
@pytest.mark.parametrize("name", IN_PACKETS)
def test_every_example_is_the_same_on_every_number_of_threads(name):
    """Drawn scenarios are so in test_oracles.py."""
    request = shortened(name)
    alone = _core.simulate(request, None, 1)
    assert alone["threads"] == {"count": 1, "domains": 1, "gain": None}
    for threads in THREADS:
        together = _core.simulate(request, None, threads)
        assert apart(alone, together) == []
        assert together["books"]["closed"]
        hosts = request["hosts"]
        assert 1 <= together["threads"]["count"] <= together["threads"]["domains"] <= min(threads, hosts)


def test_a_fat_tree_is_parted_as_often_as_there_are_threads():
    request = shortened("websearch-fat-tree")
    parted = [_core.simulate(request, None, threads)["threads"]["domains"] for threads in THREADS]
    assert parted == list(THREADS)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_control_c_closes_the_books_on_any_number_of_threads(threads):
    request = packet.request(Scenario.load("websearch-fat-tree"))
    calls = iter(range(random.Random(threads).randrange(1, 4)))

    def interrupt(now_ps, packet_hops, flows_finished):
        if next(calls, None) is None:
            raise KeyboardInterrupt

    answer = _core.simulate(request, interrupt, threads)
    assert answer["interrupted"]
    assert answer["books"] == {"closed": True, "problems": []}


def test_an_algorithm_in_python_goes_on_one_thread():
    request = packet.request(Scenario.load("dctcp-40", {"duration": "2ms", "warmup": "0s"}))
    assert _core.simulate(request, None, 2)["threads"]["count"] == 2
    request["ccs"] = [{**cc, "user_algorithm": Still} for cc in request["ccs"]]
    assert _core.simulate(request, None, 2)["threads"]["count"] == 1


def test_the_fastest_links_without_delay_give_the_same_results():
    # A window is half the time of the smallest frame at the highest rate: 64 B at 10 Tbps take 51 ps.
    shortest = {"topology.rate": "10Tbps", "topology.link_delay": "0s", "traffic.0.flows": 4}
    request = packet.request(Scenario.load("websearch-fat-tree", shortest))
    alone, together = (_core.simulate(request, None, threads) for threads in (1, 2))
    assert apart(alone, together) == []
    assert together["threads"]["domains"] == 2


@pytest.mark.parametrize("threads", [0, -1, "two"])
def test_a_number_of_threads_is_a_number(threads):
    with pytest.raises(ScenarioError, match="threads"):
        runner.in_world("packet", threads=threads)


def test_only_the_packet_world_has_threads():
    with pytest.raises(ScenarioError, match="packet world"):
        runner.in_world("kernel", threads=2)

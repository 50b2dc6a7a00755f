"""Planes, parallel links and rails as scenarios, against one faster plane and counts by hand."""

import numpy as np
import pytest

from shallows import _core
from shallows.errors import ScenarioError
from shallows.registry import catalog
from shallows.runner import run
from shallows.scenario import Scenario
from shallows.worlds.packet import request

LEFT, RIGHT = [f"h{i}" for i in range(4)], [f"h{i}" for i in range(4, 8)]
TWO_LEAVES = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4}


def sprayed(gbps, planes, until_us=300.0, since_us=50.0, seed=1, **tables):
    """Every host of the first leaf sends to one of the second; times are those of 400 Gbps a host."""
    scale = 400 / (gbps * planes)
    return Scenario(
        seed=seed,
        topology={**TWO_LEAVES, "planes": planes, "rate": f"{gbps}Gbps"},
        network={"mtu": "4000B", "balancing": "packet", "convergence": "20us"},
        cc="ndp",
        traffic=[{"kind": "long-lived", "flows": 4, "from": LEFT, "to": RIGHT}],
        duration=f"{until_us * scale}us",
        warmup=f"{since_us * scale}us",
        **tables,
    )


def goodput(scenario):
    return float(run(scenario).flows.goodput_gbps.sum())


@pytest.mark.parametrize("gbps", [1, 200, 800])
def test_two_planes_carry_what_one_of_twice_the_rate_carries(gbps):
    one, two = (
        sum(goodput(sprayed(gbps * 2 // planes, planes, seed=seed)) for seed in range(1, 4))
        for planes in (1, 2)
    )
    assert two / one == pytest.approx(1, abs=0.01)


def test_a_plane_that_fails_takes_half_of_the_rate_and_gives_it_back():
    """At 20 Gbps a port a time of `sprayed` is 10 times as long: the plane is down from 3 to 9 ms."""
    times = (("down", 300), ("up", 900))

    def faults(until):
        plane = "p1.*<->*"
        return [{"link": plane, "kind": kind, "at": f"{at}0us"} for kind, at in times if at < until]

    spans = ((50, 300), (500, 900), (1100, 1400))
    before, during, after = (
        goodput(sprayed(20, 2, until, since, faults=faults(until), hosts={"rto_initial": "1ms"}))
        for since, until in spans
    )
    assert during / before == pytest.approx(0.5, abs=0.005)
    assert after / before == pytest.approx(1, abs=0.01)


def test_parallel_links_are_chosen_uniformly():
    """The 0.999 quantile of chi-square with 3 degrees of freedom is 16.3."""
    made = Scenario(
        topology={"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 1, "links_per_pair": 4},
        cc="reno",
        traffic=[{"kind": "long-lived", "flows": 1, "from": "h0", "to": "h1"}],
        duration="1ms",
    )
    asked, names = request(made), made.graph.port_names
    counts = dict.fromkeys((f"leaf0->spine0#{i}" for i in range(4)), 0)
    for seed in range(3000):
        ((there, _),) = _core.paths({**asked, "seed": seed})
        counts[names[there[1]]] += 1
    assert sum((count - 750) ** 2 / 750 for count in counts.values()) < 16.3, counts


TOPOLOGIES = {
    "planes": {**TWO_LEAVES, "hosts_per_leaf": 2, "planes": 2},
    "planes-of-rails": {
        "kind": "rail-optimised",
        "units": 2,
        "servers": 2,
        "gpus": 2,
        "spines": 2,
        "planes": 2,
    },
    "ports": {**TWO_LEAVES, "hosts_per_leaf": 2, "planes": 2, "ports_per_host": 4, "links_per_pair": 2},
    "rails": {"kind": "rail-optimised", "units": 2, "servers": 2, "gpus": 2, "spines": 2},
    "dragonfly": {"kind": "dragonfly+", "groups": 3, "leaves": 2, "spines": 2, "hosts_per_leaf": 1},
    "tree": {"kind": "three-tier", "cores": 2, "aggregations": 2, "tors": 2, "hosts_per_tor": 2},
}


def shuffle(topology, cc, balancing="flow", **tables):
    return Scenario(
        topology=topology,
        cc=cc,
        network={"balancing": balancing},
        traffic=[{"kind": "shuffle", "size": "50KB"}],
        duration="until-done",
        **tables,
    )


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize(("name", "cc"), [("planes", "ndp"), ("rails", "dctcp"), ("dragonfly", "ndp")])
def test_any_number_of_threads_gives_the_same_result(name, cc, threads):
    made = shuffle(TOPOLOGIES[name], cc, "packet" if cc == "ndp" else "flow")
    one, several = (_core.simulate(request(made), None, count) for count in (1, threads))
    assert one["fingerprint"] == several["fingerprint"]
    assert several["threads"]["count"] == threads


@pytest.mark.parametrize("cc", ["reno", "dcqcn", "ndp", "expresspass"])
@pytest.mark.parametrize("name", ["ports", "rails"])
def test_the_critical_path_of_a_flow_adds_up(name, cc):
    """`Path` refuses pieces that do not touch, and its ideal time is that of the table of flows."""
    result = run(shuffle(TOPOLOGIES[name], cc, "packet" if cc == "ndp" else "flow"))
    slowest = int(result.flows.fct_us.idxmax())
    path = result.why(slowest)
    assert path.ideal_ps == pytest.approx(result.flows.ideal_us[slowest] * 1e6)
    assert path.fct_ps == pytest.approx(result.flows.fct_us[slowest] * 1e6)


def test_traffic_in_a_server_takes_nvlink():
    made = Scenario(
        topology=TOPOLOGIES["rails"],
        cc="dctcp",
        traffic=[{"kind": "long-lived", "flows": 1, "from": "h0", "to": "h1"}],
        duration="200us",
        warmup="50us",
    )
    ports = run(made).ports.set_index("port").utilization
    assert ports["h0->nv0"] > 0.9
    assert ports["h0->leaf0"] == 0


@pytest.mark.nightly
@pytest.mark.parametrize("balancing", ["flow", "packet"])
@pytest.mark.parametrize("name", TOPOLOGIES)
@pytest.mark.parametrize("cc", [row["name"] for row in catalog.algorithms()])
def test_every_algorithm_runs_on_defaults_or_says_what_to_write(cc, name, balancing):
    one_path = cc in ("hpcc", "hpcc-roce", "powertcp", "expresspass")
    for rate in ("1Gbps", "10Gbps", "100Gbps", "400Gbps", "1600Gbps"):
        made = lambda: run(shuffle({**TOPOLOGIES[name], "rate": rate}, cc, balancing))  # noqa: B023, E731
        if one_path and balancing == "packet":
            with pytest.raises(ScenarioError, match=r'network\.balancing = "packet": expected "flow"'):
                made()
            continue
        result = made()
        assert result.summary["books"]["closed"]
        assert np.isfinite(result.flows.fct_us).all()
        if balancing == "flow":
            assert result.flows.slowdown.min() > 1 - 1e-9


def test_rails_combine_with_planes():
    """A plane has a leaf for each rail of a unit, and a port of every GPU; NVLink switches are as before."""
    rails = {"kind": "rail-optimised", "units": 2, "servers": 3, "gpus": 4, "spines": 5, "planes": 2}
    network = shuffle(rails, "ndp").graph
    nodes = {name.split("->")[0] for name in network.port_names}
    assert sum(".leaf" in name for name in nodes) == 2 * 2 * 4
    assert sum(".spine" in name for name in nodes) == 2 * 5
    ports = [name for name in network.port_names if name.startswith("h13->")]
    assert sorted(ports) == ["h13->nv3", "h13->p0.leaf5", "h13->p1.leaf5"]
    assert len(network.port_names) == 2 * (24 + 2 * (24 + 8 * 5))

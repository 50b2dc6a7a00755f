"""`shallows draw`: tiers, places and colours of networks."""

import numpy as np
import pytest
from typer.testing import CliRunner

from shallows import cli
from shallows.plot import topology
from shallows.runner import run
from shallows.scenario import Scenario

RAILS = {"kind": "rail-optimised", "servers": 2, "gpus": 3, "spines": 2}


def network(table):
    traffic = [{"kind": "long-lived", "flows": 1, "from": "h0", "to": "h1"}]
    return Scenario(topology=table, cc="reno", traffic=traffic, duration="1ms").graph


def test_tiers_are_distances_from_hosts_and_servers_are_below():
    net = network(RAILS)
    of = dict(zip([*net.host_names, *net.switch_names], topology.tiers(net).tolist(), strict=True))
    assert [of[name] for name in ("h5", "leaf2", "spine1", "nv0")] == [0, 1, 2, -1]
    fat = network({"kind": "fat-tree", "k": 4})
    assert np.bincount(topology.tiers(fat)).tolist() == [16, 8, 8, 4]


@pytest.mark.parametrize("kind", ["dumbbell", "leaf-spine", "dragonfly+", "rail-optimised", "three-tier"])
def test_no_two_nodes_are_at_one_place(kind):
    net = network({"kind": kind})
    place = topology.places(net, topology.tiers(net))
    assert len({tuple(row) for row in place.tolist()}) == net.nodes


def test_a_result_is_coloured_by_its_busier_direction(tmp_path):
    traffic = [{"kind": "long-lived", "flows": 1, "from": "h0", "to": "h1"}]
    made = Scenario(topology=RAILS, cc="dctcp", traffic=traffic, duration="200us", warmup="50us")
    result = run(made)
    result.save(tmp_path / "run")
    used = np.asarray(result.columns("ports")["utilization"], float)
    lines = topology.network(made.graph, "x", used).axes[0].collections[0]
    colours = np.asarray(lines.get_array())
    busiest = {made.graph.port_names[2 * at] for at in np.flatnonzero(colours > 0.5)}
    assert busiest == {"h0->nv0", "h1->nv0"}
    file = tmp_path / "network.png"
    done = CliRunner().invoke(cli.app, ["draw", str(tmp_path / "run"), "--out", str(file)])
    assert (done.exit_code, file.stat().st_size > 1000) == (0, True)


def test_only_parallel_cables_are_beside_each_other():
    """Of three cables two are beside their places; a number in the name of a node is not one of a cable."""
    edges = [
        ["h#3", "s#1", "10Gbps", "1us"],
        *[["s#1", "t", "10Gbps", "1us"]] * 3,
        ["t", "b", "10Gbps", "1us"],
    ]
    traffic = [{"kind": "long-lived", "flows": 1, "from": "h#3", "to": "b"}]
    table = {"kind": "graph", "edges": edges, "hosts": ["h#3", "b"]}
    net = Scenario(topology=table, cc="reno", traffic=traffic, duration="1ms").graph
    place = topology.places(net, topology.tiers(net))
    begin = topology.curves(net, place)[:, 0, 0] - place[net.link_from[0::2], 0]
    assert begin == pytest.approx([0, 0, topology.APART, 2 * topology.APART, 0])

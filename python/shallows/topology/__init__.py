"""Topologies of a scenario, and the `Network` that each builds."""

from shallows.topology.graph import graph_table, read_graph
from shallows.topology.kinds import KINDS, Dumbbell, Topology
from shallows.topology.network import Network

__all__ = ["KINDS", "Dumbbell", "Network", "Topology", "graph_table", "read_graph"]

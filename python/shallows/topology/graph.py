"""The topology kind `graph`, and the files and networkx graphs that it is read from."""

from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import model_validator

from shallows.base import extras, names, texts
from shallows.base.table import Key, Table
from shallows.errors import ScenarioError
from shallows.topology.network import Network, Wiring
from shallows.units import Rate, Time


class Graph(Table, frozen=True):
    """Any graph, connected or not: from a file, or given as `edges` and `hosts`.

    `edges` is a list of [node, node, rate, delay]; an edge that occurs several times is as many parallel
    links. Hosts are the nodes named in `hosts`; in a file those whose `kind` is "host", or, if there are
    none, those with a single edge.
    """

    kind: Literal["graph"]
    edges: list[tuple[str, str, Rate, Time]] = Key(description="[node, node, rate, delay] each, or a file")
    hosts: list[str] = Key(description="with `edges`: the names of the hosts")
    server_switches: list[str] = Key([], description="switches inside a server, such as NVLink switches")

    @model_validator(mode="after")
    def _wires_up(self) -> Self:
        for name in dict.fromkeys([*self.hosts, *(name for edge in self.edges for name in edge[:2])]):
            try:
                names.node(name)
            except ValueError as error:
                raise ScenarioError("hosts" if name in self.hosts else "edges", name, str(error)) from None
        for a, b, *_ in self.edges:
            if a == b:
                raise ScenarioError("edges", f"{a}-{b}", "two different nodes at the ends of an edge")
        if len(set(self.hosts)) < len(self.hosts):
            raise ScenarioError("hosts", list(self.hosts), "each host once")
        known = {name for edge in self.edges for name in edge[:2]}
        for key in ("hosts", "server_switches"):
            for name in getattr(self, key):
                if name not in known:
                    raise ScenarioError(key, name, "nodes with one edge each, or several; this one has none")
        both = set(self.hosts) & set(self.server_switches)
        if both:
            raise ScenarioError("server_switches", min(both), "switches, which are not hosts")
        if len(self.hosts) < 2:
            raise ScenarioError("hosts", list(self.hosts), "two hosts or more")
        return self

    def build(self) -> Network:
        """Hosts in the order of `hosts`, switches in the order of the edges."""
        hosts = set(self.hosts)
        switches = dict.fromkeys(name for edge in self.edges for name in edge[:2] if name not in hosts)
        net = Wiring(self.hosts, switches, self.server_switches)
        for edge in self.edges:
            net.cable(*edge)
        return net.network()


def read_graph(path: Path) -> dict[str, object]:
    """The keys of the `graph` kind from a GraphML file or a node-link JSON file.

    Raises `ValueError` with what was expected.
    """
    extras.need("graph", f"topology.file = {path}")
    networkx: Any = import_module("networkx")  # its type stubs are incomplete

    try:
        if path.suffix == ".json":
            table = texts.from_json(texts.read(path))
            graph = networkx.node_link_graph(table, edges="edges" if "edges" in table else "links")
        else:
            graph = networkx.read_graphml(path)
    except OSError as error:
        raise ValueError(f"a readable file ({error.strerror})") from None
    except Exception as error:  # every parser has its own exceptions
        raise ValueError(f"GraphML, or node-link JSON in a file ending in .json ({error})") from None
    return graph_table(graph)


def graph_table(graph: Any) -> dict[str, Any]:
    """The keys of the `graph` kind from a networkx graph with rate and delay on its edges.

    Raises `ValueError` with what was expected.
    """
    if graph.is_directed():
        raise ValueError("an undirected graph")
    edges: list[list[str]] = []
    for a, b, keys in graph.edges(data=True):
        for key, example in (("rate", "10Gbps"), ("delay", "1us")):
            if not isinstance(keys.get(key), str):
                raise ValueError(f'a {key} such as "{example}" on every edge; {a}-{b} has {keys.get(key)!r}')
        edges.append([str(a), str(b), keys["rate"], keys["delay"]])
    of_kind = {
        wanted: [str(node) for node, kind in graph.nodes(data="kind") if kind == wanted]
        for wanted in ("host", "server-switch")
    }
    inside = of_kind["server-switch"]
    return {
        "kind": "graph",
        "edges": edges,
        "hosts": of_kind["host"] or [str(node) for node, degree in graph.degree() if degree == 1],
    } | ({"server_switches": inside} if inside else {})

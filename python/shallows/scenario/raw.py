"""The plain tables of a scenario before validation: limits of depth, and the size of a "pkt"."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shallows.base.limits import FRAME, INTEGER
from shallows.base.texts import DEEPEST, SHALLOW
from shallows.base.toml import is_list, is_table
from shallows.errors import ScenarioError
from shallows.scenario.literal import literal
from shallows.scenario.tables import HostTable, NetworkTable
from shallows.topology import graph_table, read_graph
from shallows.units import SIZE, Frame


def read(tables: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """`tables` with builders, quantities, paths, arrays and graphs as in a file.

    A file is searched in `folder` first. Raises `ScenarioError`.
    """
    given = _without_graphs(literal(dict(tables)), folder)
    check_depth(given)
    _check_values(given)
    return given


def frame_or_default(tables: dict[str, object]) -> tuple[Frame, ScenarioError | None]:
    """The size of one "pkt" and its error, with which it is the default, for the errors of other tables."""
    try:
        return frame(tables), None
    except ScenarioError as error:
        return frame({}), error


def frame(tables: dict[str, object]) -> Frame:
    """The size of one "pkt" in this scenario, which every other table needs."""
    network = tables.get("network", {})
    table = network if is_table(network) else {}
    wire, header = (_frame_size(table, name) for name in ("mtu", "header"))
    hosts = tables.get("hosts", {})
    option = hosts.get("option", HostTable.model_fields["option"].default) if is_table(hosts) else 0
    header += _size("hosts.option", option, least=0)
    if wire > FRAME.most:
        raise ScenarioError("network.mtu", SIZE.text(wire), f"at most {SIZE.text(FRAME.most)}")
    if header >= wire:
        raise ScenarioError("network.header", SIZE.text(header), f"less than the mtu, {SIZE.text(wire)}")
    return Frame(wire, wire - header)


def _frame_size(table: Any, key: str) -> int:
    return _size(f"network.{key}", table.get(key, NetworkTable.model_fields[key].default), least=1)


def _size(key: str, value: object, least: int) -> int:
    try:
        return SIZE.parse(value, least=least)
    except ValueError as error:
        raise ScenarioError(key, value, str(error)) from None


def _without_graphs(tables: dict[str, object], folder: Path) -> dict[str, object]:
    """`tables` with the edges of a topology that is a networkx graph, or the file of one."""
    topology = tables.get("topology")
    try:
        if hasattr(topology, "edges"):
            return {**tables, "topology": graph_table(topology)}
        if not is_table(topology) or topology.get("kind") != "graph" or "file" not in topology:
            return tables
        extra = [key for key in topology if key not in ("kind", "file")]
        if extra:
            raise ScenarioError(
                f"topology.{extra[0]}", topology[extra[0]], "either a file or edges and hosts"
            )
        path = folder / str(topology["file"])
        return {**tables, "topology": read_graph(path if path.exists() else Path(str(topology["file"])))}
    except ScenarioError:
        raise
    except ValueError as error:
        key, value = (
            ("topology.file", topology["file"]) if is_table(topology) else ("topology", str(topology))
        )
        raise ScenarioError(key, value, str(error)) from None


def check_depth(value: object, depth: int = 0) -> None:
    """Refuse tables that are nested too deeply."""
    if depth > DEEPEST:
        raise ScenarioError(None, None, SHALLOW)
    inside = list(value.values()) if is_table(value) else value
    if is_list(inside):
        for inner in inside:
            check_depth(inner, depth + 1)


def _check_values(value: object, key: str | None = None) -> None:
    """Refuse whole numbers of more than 64 bits, and text that no file can hold: lone surrogates, which stand
    for bytes that are not UTF-8.
    """
    if is_table(value):
        for name, inner in value.items():
            _check_values(name, key)
            _check_values(inner, f"{key}.{name}" if key else name)
    elif is_list(value):
        for inner in value:
            _check_values(inner, key)
    elif isinstance(value, int) and not INTEGER.least <= value <= INTEGER.most:
        raise ScenarioError(key, value, f"whole numbers from {INTEGER.least} to {INTEGER.most}")
    elif isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ScenarioError(key, ascii(value)[1:-1], "text that UTF-8 can write") from None

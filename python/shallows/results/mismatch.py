"""Tables of a saved run that are not those of its scenario: their rows or names do not fit the network."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.errors import ScenarioError
from shallows.results.tables import Names
from shallows.units import NEVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shallows.core.contract import F64, U64
    from shallows.results.run import RunData


def refuse(run: "RunData") -> None:
    """Raise `ScenarioError` unless `run` has a row for each flow and port, all of its own hosts and ports.

    Worlds other than that of packets have no rows of some flows and ports.
    """
    network = run.scenario.graph
    rows_of = {"flows": run.scenario.flow_count, "ports": len(network.link_from)}
    for table, rows in rows_of.items() if run.summary["world"] == "packet" else ():
        found = len(np.asarray(run.columns(table)["start_us" if table == "flows" else "sent"]))
        if found != rows:
            raise _error(f"rows of {table}.parquet", found, f"{rows}, one for each of its scenario")
    hosts, ports = set(network.host_names), set(network.port_names)
    for table, column, what, known in (
        ("flows", "src", "host", hosts),
        ("flows", "dst", "host", hosts),
        ("ports", "port", "port", ports),
        ("queues", "port", "port", ports),
    ):
        names = run.columns(table)[column]
        strange = [name for name in names.names if name not in known] if isinstance(names, Names) else []
        if strange:
            expected = f"a {what} of the network of its scenario"
            raise _error(f"{column} in {table}.parquet", strange[0], expected)
    _refuse_loops(run.columns("flows")["src"], run.columns("flows")["dst"])
    samples, times = run.columns("queues")["port"], np.asarray(run.columns("queues")["time_us"], float)
    if isinstance(samples, Names) and len(times):
        _refuse_samples(times, len(samples.names))


def _refuse_loops(src: "NDArray[np.generic] | Names", dst: "NDArray[np.generic] | Names") -> None:
    """Raise `ScenarioError` if a flow goes from a host to itself."""
    if not isinstance(src, Names) or not isinstance(dst, Names) or not len(src.codes):
        return
    number = {name: code for code, name in enumerate(src.names)}
    ends = np.array([number.get(name, -1) for name in dst.names])[dst.codes]
    if (loops := np.flatnonzero(src.codes == ends)).size:
        found = src.names[src.codes[loops[0]]]
        raise _error(f"dst of flow {loops[0]} in flows.parquet", found, "another host than its src")


def _refuse_samples(times_us: "F64", ports: int) -> None:
    """Raise `ScenarioError` unless the rows of each port have the same times, which increase."""
    if len(times_us) % ports:
        raise _error("rows of queues.parquet", len(times_us), f"as many for each of its {ports} ports")
    of_port = times_us.reshape(ports, -1)
    before = np.column_stack([np.full(ports, -1.0), of_port[:, :-1]])
    lawful = (of_port > before) & (of_port == of_port[0])
    if not lawful.all():
        found = f"{of_port[~lawful][0]:g} us"
        raise _error("time_us in queues.parquet", found, "times that increase, the same for each port")


def refuse_times(run: "RunData", flows: "Sequence[int]", finish_ps: "U64") -> None:
    """Raise `ScenarioError` unless these flows of `run` ended when they did in its repetition."""
    table, chosen = run.columns("flows"), np.asarray(flows, int)
    start, fct = (np.asarray(table[name], float)[chosen] * 1e6 for name in ("start_us", "fct_us"))
    again = np.where(finish_ps[chosen] == NEVER, np.nan, finish_ps[chosen].astype(float))
    # Times in microseconds are floats: each of the two is rounded.
    same = np.isclose(start + fct, again, rtol=1e-12, atol=1.0, equal_nan=True)
    if not same.all():
        flow = int(chosen[~same][0])
        expected = f"{again[~same][0] / 1e6:g} us after the beginning, as in a repetition of the run"
        raise _error(
            f"end of flow {flow} in flows.parquet", f"{(start + fct)[~same][0] / 1e6:g} us", expected
        )


def _error(what: str, found: object, expected: str) -> ScenarioError:
    return ScenarioError(what, found, f"{expected}: the table is of another run")

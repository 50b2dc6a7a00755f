"""A timeline as CSV, for spreadsheets and scripts."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shallows.base import names
from shallows.errors import ScenarioError
from shallows.results import store
from shallows.units import NEVER
from shallows.why.record import NONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shallows.export.taps import Taps

Columns = dict[str, NDArray[Any]]


def write(taps: "Taps", folder: Path) -> Path:
    """Write the tables of `taps` into `folder`, one file each; return its path."""
    import pandas

    with store.replacing(folder, check) as filling:
        for name, columns in TABLES.items():
            pandas.DataFrame(columns(taps)).to_csv(filling / f"{name}.csv", index=False)
    return folder


def check(folder: Path) -> None:
    """Raise `ScenarioError` unless `folder` is new, empty, or an earlier export as CSV."""
    store.check_outside(folder)
    store.check_only(folder, {f"{name}.csv" for name in TABLES})
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        with path.open("rb") as stream:
            first = stream.readline(1000).split(b",")[0]
        if first.decode(errors="replace") != FIRST[path.stem]:
            expected = "a new or empty folder, or one with an earlier export: choose another name"
            raise ScenarioError(f"its {path.name} is something else", file=folder, expected=expected)


def _frames(taps: "Taps") -> Columns:
    frames, ports = taps.frames, _cells(taps.names)
    tapped = taps.tapped
    columns = {
        "port": ports[frames["link"][tapped]],
        "flow": _known(frames["flow"][tapped], NONE),
        "kind": np.asarray(taps.kinds)[frames["kind"][tapped]],
        "length": frames["length"][tapped],
        "offered_ps": frames["offered_ps"][tapped],
        "begun_ps": _known(frames["begun_ps"][tapped], NEVER),
        "ended_ps": _known(frames["ended_ps"][tapped], NEVER),
        "outcome": np.asarray(taps.outcomes)[frames["outcome"][tapped]],
    }
    columns |= {name: frames[name][tapped] for name in ("number", "speaks_of", "block", "window")}
    return columns | {name: taps.bit(name)[tapped].astype(np.uint8) for name in taps.bits}


def _events(taps: "Taps") -> Columns:
    tapped = np.isin(taps.events["link"], taps.links)
    return {
        "time_ps": taps.events["time_ps"][tapped],
        "port": _cells(taps.names)[taps.events["link"][tapped]],
        "event": np.asarray(taps.link_events)[taps.events["event"][tapped]],
    }


def _flows(taps: "Taps") -> Columns:
    hosts, flows = _cells(taps.scenario.graph.host_names), taps.scenario.flows
    return {
        "flow": np.arange(len(flows)),
        "src": hosts[flows.src],
        "dst": hosts[flows.dst],
        "bytes": _known(flows.bytes, 0),
        "start_ps": _known(taps.start_ps, NEVER),
        "finish_ps": _known(taps.finish_ps, NEVER),
    }


def _probes(taps: "Taps") -> Columns:
    probes = taps.probes
    return {
        "time_ps": probes["time_ps"],
        "flow": probes["flow"],
        "name": np.asarray(taps.probe_names)[probes["name"]],
        "value": probes["value"],
    }


def _cells(written: "Sequence[str]") -> NDArray[np.str_]:
    """Names of a scenario as cells."""
    return np.asarray([names.cell(name) for name in written])


def _known(values: NDArray[np.generic], none: int) -> Any:
    """Integers, with nulls for `none`."""
    import pandas

    return pandas.Series(values).mask(values == none).astype("UInt64")


TABLES = {"frames": _frames, "events": _events, "flows": _flows, "probes": _probes}
"""The function that makes the columns of each file."""
FIRST = {"frames": "port", "events": "time_ps", "flows": "flow", "probes": "time_ps"}
"""The first column of each file, which a file of somebody else with the same name lacks."""

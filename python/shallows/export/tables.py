"""A timeline as CSV, for spreadsheets and scripts."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shallows.results import store
from shallows.units import NEVER
from shallows.why.record import NONE

if TYPE_CHECKING:
    from shallows.export.taps import Taps

Columns = dict[str, NDArray[Any]]


def write(taps: "Taps", folder: Path) -> Path:
    """Write the tables of `taps` into `folder`, one file each; return its path."""
    import pandas

    store.check_outside(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in (
        ("frames", _frames(taps)),
        ("events", _events(taps)),
        ("flows", _flows(taps)),
        ("probes", _probes(taps)),
    ):
        file = folder / f"{name}.csv"
        with store.naming(file):
            pandas.DataFrame(columns).to_csv(file, index=False)
    return folder


def _frames(taps: "Taps") -> Columns:
    frames, names = taps.frames, np.asarray(taps.names)
    mine = taps.tapped
    columns = {
        "port": names[frames["link"][mine]],
        "flow": _known(frames["flow"][mine], NONE),
        "kind": np.asarray(taps.kinds)[frames["kind"][mine]],
        "length": frames["length"][mine],
        "offered_ps": frames["offered_ps"][mine],
        "begun_ps": _known(frames["begun_ps"][mine], NEVER),
        "ended_ps": _known(frames["ended_ps"][mine], NEVER),
        "outcome": np.asarray(taps.outcomes)[frames["outcome"][mine]],
    }
    columns |= {name: frames[name][mine] for name in ("number", "speaks_of", "block", "window")}
    return columns | {name: taps.bit(name)[mine].astype(np.uint8) for name in taps.bits}


def _events(taps: "Taps") -> Columns:
    mine = np.isin(taps.events["link"], taps.links)
    return {
        "time_ps": taps.events["time_ps"][mine],
        "port": np.asarray(taps.names)[taps.events["link"][mine]],
        "event": np.asarray(taps.link_events)[taps.events["event"][mine]],
    }


def _flows(taps: "Taps") -> Columns:
    hosts, flows = np.asarray(taps.scenario.network.host_names), taps.scenario.flows
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


def _known(values: NDArray[Any], none: int) -> Any:
    """Integers, with nulls for `none`."""
    import pandas

    return pandas.Series(values).mask(values == none).astype("UInt64")

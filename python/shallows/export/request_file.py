"""A request as a file, which programs without Python open (crates/contract/src/file.rs, docs/driving-c.md).

It is the request of docs/crossing.md in the envelope of `--json`, with the names of the links. It limits the
packets in flight to no memory of this machine, so that every machine writes the same file.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shallows.results import files
from shallows.scenario.request import request
from shallows.units import NEVER
from shallows.worlds import packet

if TYPE_CHECKING:
    from shallows.core.contract import Request
    from shallows.scenario import Scenario

VERSION = 1
"""The version of the form, as in crates/contract/src/file.rs."""


def write(scenario: "Scenario", path: Path, *, traffic: bool = True) -> Path:
    """Write the request of `scenario`; return the path.

    Without `traffic` it has the network, hosts and algorithms alone. Raises `ScenarioError` for a scenario
    that the packet world does not support, and for algorithms in Python, which no file holds.
    """
    packet.check(scenario)
    packet.check_catalog(scenario, "a request file holds no Python")
    asked = request(scenario)
    asked["max_packets"] = NEVER
    if not traffic:
        _leave_out_traffic(asked)
    links = [str(name) for name in scenario.graph.port_names]
    return files.write_text(path, _text(asked, links), files.REQUEST)


def contents(scenario: "Scenario") -> list[str]:
    """A line for each algorithm and each traffic class, with the number by which programs name it."""
    algorithms = [f"algorithm {number}: {used.label}" for number, used in enumerate(scenario.flows.ccs)]
    classes = [f"class {number}: {one.name}" for number, one in enumerate(scenario.classes)]
    return [*algorithms, *classes]


def _leave_out_traffic(asked: "Request") -> None:
    numbers, times = np.zeros(0, np.uint32), np.zeros(0, np.uint64)
    asked["flows"] = {
        "src": numbers,
        "dst": numbers,
        "bytes": times,
        "start_ps": times,
        "stop_ps": times,
        "class": numbers,
        "cc": numbers,
    }
    asked["path_hashes"] = {"flow": numbers, "hash": numbers}
    asked["routes"] = {"flow": numbers, "link": numbers}
    asked["computations"] = {
        "host": numbers,
        "duration_ps": times,
        "start_ps": times,
        "processor": numbers,
    }
    asked["record"]["probe_flows"] = numbers


def _text(asked: "Request", links: list[str]) -> str:
    # The mark of the file, by which a later call knows that it may replace it, is its beginning.
    envelope = {"kind": "request", "version": VERSION, "links": links, "data": asked}
    return json.dumps(envelope, default=_plain, allow_nan=False) + "\n"


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(cast(Any, value)).tolist()
    raise TypeError(f"{type(value).__name__} in a request")

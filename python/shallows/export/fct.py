"""Completion times as the HPCC simulator writes them (`fct.txt`), for the scripts that read it.

| column | content |
|---|---|
| 1, 2 | addresses of sender and receiver: in hexadecimal 0b000001, plus 65536 (n / 256) and 256 (n mod 256) |
| 3, 4 | ports: 10000 and up for the flows of a pair; 100 for the first traffic table, 200 for the second … |
| 5 | bytes |
| 6 | start in ns |
| 7 | ns until the sender knows that the receiver has everything |
| 8 | ns that this takes alone: base RTT and bytes on the wire over the slowest link |

A row is written when its flow ends. The base RTT is twice the propagation plus one payload over each link;
INT records are no bytes of column 8. Hosts named h12 and the like have these numbers. Sources: `qp_finish`
and `CalculateRoute` in scratch/third.cc and fct_analysis.py, which takes rows with port 100, of
github.com/alibaba-edu/High-Precision-Congestion-Control.
"""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shallows.algorithms.defaults import ACK_BYTES
from shallows.importers.hpcc_config import HEADER, INT
from shallows.results import files, mismatch
from shallows.topology.routing import Routes

if TYPE_CHECKING:
    from shallows.results.run import RunData

KIND = files.Kind("flow completion times", (), (".txt",))
"""An export replaces no file: those of the simulator have the same form."""
PORT, SERVICE = 10_000, 100
"""The first port of a sender, and the port of the first traffic table."""


def write(run: "RunData", path: Path) -> Path:
    """Write the finished flows of `run` in the order of their ends; return the path."""
    return files.write_text(path, text(run), KIND)


def text(run: "RunData") -> str:
    """A line for each finished flow."""
    mismatch.refuse(run)
    network, frame, flows = run.scenario.graph, run.scenario.frame, run.flows
    header = frame.wire - frame.payload
    header -= INT if header == HEADER + INT else 0
    routes, nodes = Routes(network), _nodes(network.host_names)
    rate, delay = network.rate_bps.astype(float), network.delay_ps.astype(float) / 1e3

    @cache
    def of_pair(src: int, dst: int) -> tuple[float, float, float]:
        """(base RTT in ns, slowest link in bit/s, ns until an acknowledgement is back)."""
        links = routes.path(src, dst)
        one_way, slowest = float(delay[links].sum()), float(rate[links].min())
        base = 2 * one_way + float(np.sum(8e9 * frame.payload / rate[links]))
        return base, slowest, one_way + float(np.sum(8e9 * ACK_BYTES / rate[links]))

    numbers = {name: number for number, name in enumerate(network.host_names)}
    done = flows[flows["fct_us"].notna() & flows["bytes"].notna()]
    ends = (done["start_us"] + done["fct_us"]).argsort(kind="stable")
    ports: dict[tuple[int, int], int] = {}
    lines: list[str] = []
    columns = ("src", "dst", "traffic", "bytes", "start_us", "fct_us")
    for src, dst, table, size, start_us, fct_us in done.iloc[ends][list(columns)].itertuples(index=False):
        pair = numbers[src], numbers[dst]
        base, slowest, back = of_pair(*pair)
        port = ports[pair] = ports.get(pair, PORT - 1) + 1
        size = int(size)
        total = size + -(-size // frame.payload) * header
        lines.append(
            f"{_address(nodes[pair[0]])} {_address(nodes[pair[1]])} {port} {SERVICE * (table + 1)} {size} "
            f"{round(start_us * 1e3)} {round(fct_us * 1e3 + back)} {int(base + total * 8e9 / slowest)}\n"
        )
    return "".join(lines)


def _nodes(names: list[str]) -> list[int]:
    """The numbers of hosts: those in their names, or their places."""
    matches = [re.fullmatch(r"h(\d+)", name) for name in names]
    numbers = [int(match[1]) for match in matches if match]
    return numbers if len(set(numbers)) == len(names) else list(range(len(names)))


def _address(node: int) -> str:
    return f"{0x0B000001 + node // 256 * 0x10000 + node % 256 * 0x100:08x}"

"""A capture for Wireshark: pcapng with an interface for each port, in nanoseconds (docs/timelines.md)."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pcapng import FileWriter, blocks

from shallows.errors import ScenarioError
from shallows.export.headers import PAUSES, Headers
from shallows.results import files
from shallows.scenario.ports import paused

if TYPE_CHECKING:
    from shallows.export.taps import Taps

IPV4, ETHERNET = 228, 1
"""Link types of pcapng."""
NANOSECONDS = b"\x09"


def write(taps: "Taps", file: Path) -> Path:
    """Write the frames of `taps` into `file`; return its path. Raises `ScenarioError` if there are none."""
    taken = taps.sent[taps.tapped[taps.sent]]
    if not len(taken):
        raise ScenarioError("export", file, "a port and a span in which a frame leaves: there is none")
    headers, section = Headers(taps.scenario), blocks.SectionHeader(options={"shb_userappl": "shallows"})
    interfaces = _interfaces(section, taps)
    with files.writing(file, files.CAPTURE) as filling, filling.open("wb") as stream:
        writer = FileWriter(stream, section)
        for row in _rows(taps, taken):
            begun_ns = row["begun_ps"] // 1000
            block = section.new_member(
                blocks.EnhancedPacket,
                interface_id=interfaces[row["link"], row["kind"] in PAUSES],
                timestamp_high=begun_ns >> 32,
                timestamp_low=begun_ns & 0xFFFFFFFF,
                packet_data=headers.frame(row),
                packet_len=row["length"],
            )
            writer.write_block(block)
    return file


def _interfaces(section: Any, taps: "Taps") -> dict[tuple[int, bool], int]:
    """Interfaces by (link, True for pauses, which are Ethernet frames and not IPv4)."""
    numbers: dict[tuple[int, bool], int] = {}
    pauses = bool(paused(taps.scenario) or taps.scenario.network.shared)
    for link in taps.links:
        for ethernet in (False, True) if pauses else (False,):
            name = f"{taps.names[link]} pauses" if ethernet else taps.names[link]
            numbers[link, ethernet] = len(numbers)
            section.new_member(
                blocks.InterfaceDescription,
                link_type=ETHERNET if ethernet else IPV4,
                snaplen=0,
                options={"if_name": name, "if_tsresol": NANOSECONDS},
            )
    return numbers


def _rows(taps: "Taps", taken: NDArray[np.intp]) -> Iterator[dict[str, Any]]:
    """Rows of `frames` at these indices, as dicts of numbers, with kind and bits by name."""
    columns = {name: column[taken].tolist() for name, column in taps.frames.items()}
    columns["kind"] = [taps.kinds[kind] for kind in columns["kind"]]
    columns |= {name: taps.bit(name)[taken].tolist() for name in taps.bits}
    names = list(columns)
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(names, values, strict=True))

"""What the papers print about their hosts, beside this machine: no result here counts for or against a paper.

`python -m validation hosts --record` measures, and writes the file and the table of docs/wire.md.
"""

import json
import platform
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import shallows as sh

FILE = Path(__file__).with_name("hosts.json")
PAGE = Path(__file__).parents[1] / "docs" / "wire.md"
BEGIN, END = "<!-- hosts -->\n", "<!-- end of hosts -->\n"
POLLING, SLEEPING = "credit to data, polling", "credit to data, sleeping"
CHANGE = "change of a gap by a switch"
PROGRAMS, KERNELS = "one way, stamped by programs, sleeping", "one way, stamped by kernels"


@dataclass(frozen=True)
class Measure:
    """A number of a paper's hosts: `quantity` of `row`, or its quotient by that of `by`."""

    id: str
    text: str
    source: str
    row: str
    quantity: str
    theirs: str
    unit: str = "us"
    by: str = ""

    def of(self, rows: dict[str, dict[str, Any]]) -> float:
        """Our number."""
        value = rows[self.row][self.quantity]
        return value / rows[self.by][self.quantity] if self.by else value


MEASURES = (
    Measure("XP3", "credit to data, median", "ExpressPass, Fig. 14a", POLLING, "median_us", "0.38"),
    Measure("XP3", "credit to data, 99 %", "ExpressPass, Fig. 14a", POLLING, "p99_us", ""),
    Measure("XP3", "credit to data, 99.99 %", "ExpressPass, Fig. 14a", POLLING, "p9999_us", "6.2"),
    Measure("XP3", "credit to data of a thread that sleeps, median", "", SLEEPING, "median_us", ""),
    Measure("XP4", "change of a credit's gap by a switch, median", "ExpressPass, Fig. 14b", CHANGE, "median_us", ""),
    Measure("XP4", "change of a credit's gap by a switch, 99 %", "ExpressPass, Fig. 14b", CHANGE, "p99_us", "0.7"),
    Measure("XP4", "gaps that change by at most 0.7 us", "ExpressPass, Fig. 14b", CHANGE, "below_700_ns", "1", ""),
    Measure("DX9", "deviation of a one-way delay, stamped by programs", "DX, Fig. 10", PROGRAMS, "deviation_us", "80.7"),
    Measure("DX9", "deviation of a one-way delay, stamped by kernels", "DX, Fig. 10", KERNELS, "deviation_us", "1.98"),
    Measure("DX9", "programs over kernels, median", "DX, Fig. 10", PROGRAMS, "median_us", "", "", KERNELS),
    Measure("DX9", "programs over kernels, deviation", "DX, Fig. 10", PROGRAMS, "deviation_us", "40.8", "", KERNELS),
)  # fmt: skip


def measure() -> dict[str, Any]:
    """This machine's rows, with what it is. Raises `ScenarioError` if other work would decide them."""
    command = [sys.executable, "-m", "shallows", "wire", "host", "--json"]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    host = json.loads(printed)["data"]
    if host["is_busy"]:
        busy = 100 * max(host["taken_away"], host["late"])
        expected = "an idle one: other work would decide its numbers"
        raise sh.ScenarioError("machine", f"busy with other work for {busy:.0f} %", expected)
    return {
        "commit": sh.__version__,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.release().split('-')[0]}, {platform.machine()}, virtual",
        "taken_away": host["taken_away"],
        "rows": {one["name"].split(":")[0]: one for one in host["rows"]},
    }


def table(content: dict[str, Any]) -> str:
    """Our host and theirs, for documentation."""
    lines = ["| claim | quantity | their host | our host |", "|---|---|---|---|"]
    for one in MEASURES:
        theirs = " ".join([one.theirs, one.unit]).strip() if one.theirs else ""
        source = f" ({one.source})" if one.source and one.theirs else ""
        ours = f"{one.of(content['rows']):.3g} {one.unit}".strip()
        lines.append(f"| {one.id} | {one.text} | {theirs}{source} | {ours} |")
    origin = f"{content['machine']}, {content['date']}, {content['commit']}"
    share = f"{100 * content['taken_away']:.1f} % of the time was taken from a busy thread"
    return "\n".join([*lines, "", f"{origin}; {share}.", ""])


def record(content: dict[str, Any]) -> None:
    """Keep the file, and the table in docs/wire.md."""
    FILE.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    text = PAGE.read_text("utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(before + BEGIN + table(content) + END + after, "utf-8")

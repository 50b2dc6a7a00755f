"""Writes the tables of pages that follow from the code: `make generated`."""

from pathlib import Path

from shallows import units
from shallows.base import limits
from shallows.scenario import supported_keys
from shallows.scenario.tables import HostTable, NetworkTable, RecordTable
from shallows.worlds import fluid, kernel, packet, wire

ROOT = Path(__file__).resolve().parents[1]
DIMENSIONS = {"ps": units.TIME, "bps": units.RATE, "B": units.SIZE}


def tables():
    """Each page with the lines of its table. A page has one table with this first line."""
    models = {"network": NetworkTable, "hosts": HostTable, "record": RecordTable}
    worlds = [world.WORLD for world in (packet, fluid, kernel, wire)]
    yield "docs/limits.md", _limits()
    yield "docs/scenario-worlds.md", supported_keys.world_table(worlds, models)
    yield "docs/scenario-worlds.md", supported_keys.transport_table()


def _limits():
    rows = [
        f"| {of.what} | {_text(of.least, of.unit)} | {_text(of.most, of.unit)} | {of.why} |"
        for of in limits.LIMITS
    ]
    return ["| quantity | least | most | reason |", "|---|---|---|---|", *rows]


def _text(amount, unit):
    if unit in DIMENSIONS:
        return DIMENSIONS[unit].text(amount)
    return f"{amount:,} {unit}".strip()


def replaced(text, table):
    """The page with this table in the place of the one with the same first line."""
    before, after = text.split(f"{table[0]}\n")
    return before + "\n".join(table) + after[after.index("\n\n") :]


def write():
    """Write the tables into their pages."""
    for page, table in tables():
        path = ROOT / page
        path.write_text(replaced(path.read_text("utf-8"), table), "utf-8")


if __name__ == "__main__":
    write()

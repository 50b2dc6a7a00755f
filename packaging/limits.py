"""Writes the table of limits into docs/limits.md: `make generated`."""

from pathlib import Path

from shallows import limits, units

PAGE = Path(__file__).resolve().parents[1] / "docs" / "limits.md"
BEGIN = "| quantity | least | most | reason |"
DIMENSIONS = {"ps": units.TIME, "bps": units.RATE, "B": units.SIZE}


def table():
    """The limits as a table in Markdown."""
    rows = [
        f"| {of.what} | {_text(of.least, of.unit)} | {_text(of.most, of.unit)} | {of.why} |"
        for of in limits.LIMITS
    ]
    return "\n".join([BEGIN, "|---|---|---|---|", *rows])


def _text(amount, unit):
    if unit in DIMENSIONS:
        return DIMENSIONS[unit].text(amount)
    return f"{amount:,} {unit}".strip()


def main():
    before, after = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + table() + after[after.index("\n\n") :])


if __name__ == "__main__":
    main()

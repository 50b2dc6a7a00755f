"""The example scenarios: `shallows run dctcp-40` works in any folder."""

from os import PathLike
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def folder() -> Path:
    """Their folder: inside an installed package, or `scenarios/` of a checkout."""
    inside = PACKAGE / "scenarios"
    return inside if inside.is_dir() else PACKAGE.parents[1] / "scenarios"


def names() -> list[str]:
    """Their names, in alphabetical order."""
    return sorted(path.stem for path in folder().glob("*.toml"))


def find(scenario: str | PathLike[str]) -> Path:
    """The path of a scenario file, or of the example with that name. A file takes precedence."""
    path = Path(scenario)
    if path.name != str(scenario) or path.stem not in names() or path.exists():
        return path
    return folder() / f"{path.stem}.toml"


def summary(name: str) -> str:
    """The first line of an example, a comment that says what it shows."""
    first = (folder() / f"{name}.toml").read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("#").strip()

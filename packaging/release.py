"""Makes a release of the checkout: source distribution, wheels of this machine, notes and tag.

    python packaging/release.py --date     writes version and date into CHANGELOG.md and CITATION.cff
    python packaging/release.py --check    checks only
    python packaging/release.py            checks, builds into dist/release, and tags the commit

Nothing leaves the machine. docs/releasing.md has the steps before and after it.
"""

import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str], root: Path = ROOT) -> int:
    """The exit status: 1 if the checkout is not ready."""
    version = release(root)
    if arguments == ["--date"]:
        write_date(root, version, time.strftime("%Y-%m-%d", time.gmtime()))
        return 0
    if problems := unready(root, version):
        print("\n".join(f"release {version}: {problem}" for problem in problems), file=sys.stderr)
        return 1
    if arguments == ["--check"]:
        return 0
    subprocess.run(["make", "wheels"], cwd=root, check=True)
    text = root / "dist" / "release" / "notes.md"
    text.write_text(f"Shallows {version}\n\n{notes(root, version)}\n", encoding="utf-8")
    # The cleanup keeps lines that begin with #, the headings.
    git(root, "tag", "--annotate", f"v{version}", "--cleanup=whitespace", f"--file={text}")
    print(f"tagged v{version}; to publish it: git push origin v{version}")
    return 0


def release(root: Path) -> str:
    """The version of the workspace."""
    return tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]


def write_date(root: Path, version: str, date: str) -> None:
    """Give the changelog's unreleased section and CITATION.cff the version and the date."""
    replace(root / "CHANGELOG.md", r"^## Unreleased$", f"## {version} - {date}")
    replace(root / "CITATION.cff", r"^version: .*$", f"version: {version}")
    replace(root / "CITATION.cff", r"^date-released: .*$", f"date-released: {date}")


def replace(file: Path, line: str, new: str) -> None:
    """Replace the one line of a file that a pattern matches."""
    text, count = re.subn(line, new, file.read_text(encoding="utf-8"), flags=re.M)
    if count != 1:
        raise ValueError(f"{file.name} has {count} lines like {line}: expected one")
    file.write_text(text, encoding="utf-8")


def unready(root: Path, version: str) -> list[str]:
    """What has to change before the release, as sentences."""
    found = []
    if git(root, "status", "--porcelain"):
        found.append("the work tree has changes; commit or remove them")
    if git(root, "tag", "--list", f"v{version}"):
        found.append(f"the tag v{version} exists; raise the version in Cargo.toml")
    lock = tomllib.loads((root / "Cargo.lock").read_text(encoding="utf-8"))
    if any(crate["version"] != version for crate in lock["package"] if "source" not in crate):
        found.append("Cargo.lock has another version; run cargo metadata")
    dates = released(root)
    if next(iter(dates), None) != version:
        found.append(
            f"the first section of CHANGELOG.md must be: ## {version} - YYYY-MM-DD; "
            "run packaging/release.py --date"
        )
    cited = (root / "CITATION.cff").read_text(encoding="utf-8")
    for key, value in {"version": version, "date-released": dates.get(version, "")}.items():
        if not re.search(rf"^{key}: {re.escape(value)}$", cited, re.M):
            found.append(f"CITATION.cff must have: {key}: {value or 'the date of CHANGELOG.md'}")
    return found


def released(root: Path) -> dict[str, str]:
    """The date of each version of the changelog, newest first; a section without a date is a version too."""
    headings = re.findall(r"^## (\S+)(?: - (\d{4}-\d\d-\d\d))?$", changelog(root), re.M)
    return dict(headings)


def notes(root: Path, version: str) -> str:
    """The section of a version in the changelog, without its heading."""
    section = re.search(rf"^## {re.escape(version)} .*?\n(.*?)(?=^## |\Z)", changelog(root), re.M | re.S)
    if section is None:
        raise ValueError(f"CHANGELOG.md has no section {version}")
    return section[1].strip()


def changelog(root: Path) -> str:
    """The text of the changelog."""
    return (root / "CHANGELOG.md").read_text(encoding="utf-8")


def git(root: Path, *words: str) -> str:
    """The output of a git command."""
    process = subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True)
    return process.stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

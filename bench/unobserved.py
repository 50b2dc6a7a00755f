"""What observers cost that are off: instructions a packet-hop with them and without.

    python bench/unobserved.py [CASE ...]

A copy of the sources in target/unobserved has no call of an observer and no second pass that watches. Both
are built as `make build` builds, minutes the first time, and counted as `make counts` counts, whatever core
is installed. Exit status 1 where the one with observers takes more than 1 % more.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import instructions

ROOT = Path(__file__).parent.parent
WITHOUT = ROOT / "target" / "unobserved"
TOLERANCE = 0.01
CALL = re.compile(r"^ *(self|fabric)\.observer\.\w+\(.*\);\n", re.MULTILINE)
SECOND_PASS = re.compile(r"^ *module\.add_function\(wrap_pyfunction!\((watch|tap), .*\n", re.MULTILINE)


def main(names):
    if shutil.which("valgrind") is None:
        print("nothing is counted: there is no valgrind (Debian: apt-get install valgrind)")
        return 0
    cases = tomllib.loads(instructions.KEPT.read_text())
    if unknown := set(names) - set(cases):
        sys.exit(f"no case {', '.join(sorted(unknown))} in {instructions.KEPT}; there is {', '.join(cases)}")
    copy()
    cores = build(ROOT), build(WITHOUT)
    print(f"{'instructions a hop':<20} {'observers off':>14} {'without':>8} {'more':>7}")
    more = [report(name, cases[name], *cores) for name in names or cases]
    return 0 if max(more) <= TOLERANCE else 1


def copy():
    """Write the sources without observers; what is the same keeps its time, so that cargo knows."""
    taken = 0
    for name in tracked("Cargo.toml", "Cargo.lock", "crates", "bpf"):
        text = (ROOT / name).read_bytes()
        if name.endswith(".rs") and "/observe/" not in name:
            text, count = unobserved(name, text.decode())
            taken += count
        target = WITHOUT / name
        if not target.is_file() or target.read_bytes() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text)
    print(f"{taken} calls are not in {WITHOUT.relative_to(ROOT)}")


def tracked(*paths):
    listed = subprocess.run(["git", "ls-files", "-z", *paths], cwd=ROOT, capture_output=True, check=True)
    return listed.stdout.decode().rstrip("\0").split("\0")


def unobserved(name, source):
    """A source without the calls, and how many there were."""
    source, calls = CALL.subn("", source)
    source, passes = SECOND_PASS.subn("", source)
    if left := re.search(r".*\.observer\.\w+\(.*", source):
        sys.exit(f"{name}: this call of an observer is not a statement in a line of its own: {left[0]}")
    return source.encode(), calls + passes


def build(folder):
    """The core of these sources. That something is unused in the copy is no news."""
    command = ["cargo", "build", "--locked", "--release", "-p", "shallows-py", "--target-dir", "target"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit(f"the sources in {folder} do not build:\n{made.stderr[-2000:]}")
    return folder / "target" / "release" / "lib_core.so"


def report(name, case, observed, without):
    """Print one line; how much more the core with observers takes."""
    counted, bare = instructions.count(case, observed), instructions.count(case, without)
    more = counted / bare - 1
    print(f"{name:<20} {counted:14.1f} {bare:8.1f} {more:+7.2%}", flush=True)
    return more


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

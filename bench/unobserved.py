"""The cost of observers that are off: instructions per packet-hop with observers and without.

    python bench/unobserved.py [CASE ...]

A copy of the sources in target/unobserved has no observer calls and no second pass. Both are built as
`make build` builds, which takes minutes the first time, and counted as `make counts` counts. Exit status 1
if the core with observers takes over 1 % more instructions.
"""

import re
import shutil
import subprocess
import sys

import instructions
from measure import ROOT, BenchError, build, cases

WITHOUT = ROOT / "target" / "unobserved"
TOLERANCE = 0.01
CALL = re.compile(r"^ *(self|fabric)\.observer\.\w+\(.*\);\n", re.MULTILINE)
SECOND_PASS = re.compile(r"^ *module\.add_function\(wrap_pyfunction!\((watch|tap), .*\n", re.MULTILINE)


def main(names):
    if shutil.which("valgrind") is None:
        print("nothing is counted: there is no valgrind (Debian: apt-get install valgrind)")
        return 0
    selected = cases(names, having="kept")
    copy()
    cores = build(ROOT), build(WITHOUT, WITHOUT / "target")
    print(f"{'instructions a hop':<20} {'observers off':>14} {'without':>8} {'more':>7}")
    more = [report(name, case, *cores) for name, case in selected.items()]
    return 0 if max(more) <= TOLERANCE else 1


def copy():
    """Write the sources without observers; an unchanged file keeps its time, so cargo skips it."""
    removed = 0
    for name in tracked("Cargo.toml", "Cargo.lock", "crates", "bpf"):
        text = (ROOT / name).read_bytes()
        if name.endswith(".rs") and "/observe/" not in name:
            text, count = unobserved(name, text.decode())
            removed += count
        target = WITHOUT / name
        if not target.is_file() or target.read_bytes() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text)
    print(f"{WITHOUT.relative_to(ROOT)} has {removed} calls less")


def tracked(*paths):
    listed = subprocess.run(["git", "ls-files", "-z", *paths], cwd=ROOT, capture_output=True, check=True)
    return listed.stdout.decode().rstrip("\0").split("\0")


def unobserved(name, source):
    """A source without observer calls, and how many it had."""
    source, calls = CALL.subn("", source)
    source, passes = SECOND_PASS.subn("", source)
    if left := re.search(r".*\.observer\.\w+\(.*", source):
        raise BenchError(f"{name}: this observer call is not a statement on a line of its own: {left[0]}")
    return source.encode(), calls + passes


def report(name, case, observed, without):
    """Print one line; return the relative cost of observers."""
    counted, bare = instructions.count(case, observed), instructions.count(case, without)
    more = counted / bare - 1
    print(f"{name:<20} {counted:14.1f} {bare:8.1f} {more:+7.2%}", flush=True)
    return more


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BenchError as error:
        sys.exit(str(error))

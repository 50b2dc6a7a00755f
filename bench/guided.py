"""Builds the compiled core with a profile of itself: a few percent faster, with the same results.

    python bench/guided.py develop [MATURIN'S OPTIONS]      into .venv (`make run`)
    python bench/guided.py build [MATURIN'S OPTIONS]        a wheel

An instrumented core runs TRAINING, llvm-profdata merges its counters, and the core is built again with this
profile, which is valid until a source changes. llvm-profdata must have rustc's own LLVM version: rustup's
component llvm-tools has it, or Debian's package of that version (llvm-22 for rustc 1.95). If it is missing,
or no profile can be made, the command says so and builds plainly.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "target" / "guided"
MATURIN = Path(sys.executable).parent / "maturin"
# Every transport, port discipline, size of network, and one thread and two, because code that a profile does
# not contain becomes slower.
TRAINING = (
    ("dctcp-40", {"duration": "200ms"}),
    ("websearch-fat-tree", {"traffic.0.flows": 200}),
    ("websearch-fat-tree", {"traffic.0.flows": 200}, 2),
    ("websearch-fat-tree", {"topology.k": 32, "traffic.0.flows": 8000, "duration": "300us"}),
    ("roce-fabric", {}),
    ("expresspass", {}),
    ("priorities", {}),
    ("mix", {}),
    ("rcp", {}),
    ("incast-star", {}),
    ("dx-10", {"duration": "50ms", "warmup": "10ms"}),
)


class FailedError(Exception):
    """A command failed; the text has the command and its output."""


def main(action, *options):
    try:
        profile = make_profile(llvm_profdata())
    except FailedError as failure:
        print(f"plain build, without a profile: {failure}", flush=True)
        maturin(action, *options)
    else:
        maturin(action, *options, "--target-dir", FOLDER / "optimised", flag=f"-Cprofile-use={profile}")


def llvm_profdata():
    """The path of an llvm-profdata that can merge rustc's profiles."""
    about = output("rustc", "-vV")
    host = re.search(r"^host: (.+)$", about, re.M)[1]
    llvm = re.search(r"^LLVM version: (\d+)", about, re.M)[1]
    of_rustup = Path(output("rustc", "--print", "sysroot").strip(), "lib/rustlib", host, "bin/llvm-profdata")
    for name in (of_rustup, f"llvm-profdata-{llvm}", "llvm-profdata"):
        found = shutil.which(str(name))
        if found and f"LLVM version {llvm}." in said_by(found):
            return found
    raise FailedError(
        f"there is no llvm-profdata of LLVM {llvm} (rustup component add llvm-tools, or Debian's llvm-{llvm})"
    )


def said_by(tool):
    """The version text of a tool; empty if it has no --version, as in LLVM 14."""
    process = subprocess.run([tool, "--version"], capture_output=True, text=True)
    return process.stdout if process.returncode == 0 else ""


def make_profile(tool):
    """The path of the profile of the present sources."""
    merged = FOLDER / f"{sources()}.profdata"
    if merged.exists():
        return merged
    print("profile-guided build: two builds and a training run, once for these sources", flush=True)
    raw, instrumented = FOLDER / "raw", FOLDER / "instrumented"
    shutil.rmtree(raw, ignore_errors=True)
    for old in FOLDER.glob("*.profdata"):
        old.unlink()
    options = ("--release", "--locked", "--target-dir", instrumented)
    maturin("develop", *options, flag=f"-Cprofile-generate={raw}")
    train()
    output(tool, "merge", "-o", merged, raw)
    return merged


def sources():
    """A digest of the compiled sources and of the training."""
    crates = [path for path in (ROOT / "crates").rglob("*.rs") if "live" not in path.parts]
    digest = hashlib.sha256(output("rustc", "-vV").encode() + Path(__file__).read_bytes())
    for path in (*sorted(crates), ROOT / "Cargo.lock", ROOT / "Cargo.toml"):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def train():
    """Run TRAINING with the installed core."""
    lines = ["import shallows"]
    for name, settings, *threads in TRAINING:
        scenario = f"{str(ROOT / 'scenarios' / name)!r} + '.toml'"
        lines.append(f"shallows.run({scenario}, overrides={settings!r}, threads={(*threads, 1)[0]})")
    output(sys.executable, "-c", "\n".join(lines))


def maturin(*command, flag=None):
    """Run maturin, with `flag` for rustc in addition to the user's flags."""
    flags = [os.environ.get("RUSTFLAGS"), flag]
    output(MATURIN, *command, **({"RUSTFLAGS": " ".join(filter(None, flags))} if flag else {}))


def output(*command, **environment):
    """The output of a command."""
    environment = {**os.environ, **environment}
    process = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if process.returncode != 0:
        text = f"{process.stdout}{process.stderr}".strip()
        raise FailedError(f"{' '.join(map(str, command))} ended with status {process.returncode}\n{text}")
    return process.stdout


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except FailedError as failure:
        sys.exit(str(failure))

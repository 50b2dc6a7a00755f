"""The compiled core built with a profile of itself: about a tenth faster, and the same results.

    python bench/guided.py develop [MATURIN'S OPTIONS]      into .venv (`make run`)
    python bench/guided.py build [MATURIN'S OPTIONS]        a wheel

An instrumented core runs TRAINING, llvm-profdata merges what it counted, and the core is built once more
with that profile, which lasts until a source changes. llvm-profdata has to be of rustc's own LLVM version:
rustup's component llvm-tools has it, or Debian's package of that version (llvm-22 for rustc 1.95). Where it
is missing, or there is no profile to be had, one sentence says so and the build is the plain one.
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
# Every transport, discipline of a port, size of network and one thread or two: what a profile has not
# seen gets slower.
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
    """A command did not do what it should; the text says which and what it printed."""


def main(action, *options):
    try:
        profile = make_profile(llvm_profdata())
    except FailedError as failure:
        print(f"plain build, without a profile: {failure}", flush=True)
        maturin(action, *options)
    else:
        maturin(action, *options, "--target-dir", FOLDER / "optimised", flag=f"-Cprofile-use={profile}")


def llvm_profdata():
    """The path of an llvm-profdata that rustc's profiles can be merged with."""
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
    """What a tool says of its version; nothing where it does not know the question, as LLVM 14's does not."""
    process = subprocess.run([tool, "--version"], capture_output=True, text=True)
    return process.stdout if process.returncode == 0 else ""


def make_profile(tool):
    """The path of the profile of the sources as they are."""
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
    """A digest of all that is compiled, and of the training."""
    crates = [path for path in (ROOT / "crates").rglob("*.rs") if "live" not in path.parts]
    digest = hashlib.sha256(output("rustc", "-vV").encode() + Path(__file__).read_bytes())
    for path in (*sorted(crates), ROOT / "Cargo.lock", ROOT / "Cargo.toml"):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def train():
    """Run TRAINING with the core that is installed."""
    lines = ["import shallows"]
    for name, settings, *threads in TRAINING:
        scenario = f"{str(ROOT / 'scenarios' / name)!r} + '.toml'"
        lines.append(f"shallows.run({scenario}, overrides={settings!r}, threads={(*threads, 1)[0]})")
    output(sys.executable, "-c", "\n".join(lines))


def maturin(*command, flag=None):
    """Run maturin; rustc gets `flag` besides the user's own."""
    flags = [os.environ.get("RUSTFLAGS"), flag]
    output(MATURIN, *command, **({"RUSTFLAGS": " ".join(filter(None, flags))} if flag else {}))


def output(*command, **environment):
    """What a command prints."""
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

"""Which code this is: release, commit, and a digest of what differs from the commit.

    0.2.0+15a36297c0                     as released or committed
    0.2.0+15a36297c0.edited.3f9a61b2     files differ from the commit; another edit, another digest
    0.2.0+unknown                        neither a checkout nor built from one

Two installations that say the same run the same code. A checkout is asked once a process; wheels and source
archives carry what `packaging/backend.py` wrote into `commit.txt`.
"""

import hashlib
import subprocess
import zlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
RECORD = PACKAGE / "commit.txt"


@cache
def version() -> str:
    """The release, then the commit, then a digest of edits: `0.2.0+15a36297c0`."""
    from shallows import _core

    return f"{_core.version()}+{_identity(_core.sources())}"


def _identity(core: str) -> str:
    identity = of_checkout(PACKAGE.parents[1], core)
    if identity is None and RECORD.exists():
        identity = RECORD.read_text(encoding="utf-8").strip()
    return identity or "unknown"


def of_checkout(root: Path, core: str | None = None) -> str | None:
    """The identity of the checkout at `root`; None without a checkout or without git.

    `core` is the checksum of the Rust sources of the loaded core. A core that was not rebuilt after a change
    counts as an edit.
    """
    if not (root / ".git").exists() or not (root / "crates" / "py").is_dir():
        return None
    code = ["python/shallows", "crates", "Cargo.toml", "Cargo.lock"]
    command = ["git", "-C", str(root), "status", "--porcelain=v2", "--branch", "--", *code]
    try:
        status = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return None
    commit = next(line.split()[2] for line in status if line.startswith("# branch.oid"))[:10]
    sources = rust_sources(root / "crates")
    core = core or sources
    if core == sources and all(line.startswith("#") for line in status):
        return commit
    return f"{commit}.edited.{_digest(root / 'python' / 'shallows', core)}"


def rust_sources(crates: Path) -> str:
    """CRC-32 of names and contents of the core's Rust files, like in `crates/contract/build.rs`."""
    files = (path for path in crates.glob("*/src/**/*.rs") if path.relative_to(crates).parts[0] != "live")
    total = 0
    for name, path in sorted((path.relative_to(crates).as_posix(), path) for path in files):
        total = zlib.crc32(path.read_bytes(), zlib.crc32(name.encode(), total))
    return f"{total:08x}"


def _digest(package: Path, core: str) -> str:
    digest = hashlib.sha256(core.encode())
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.suffix not in (".pyc", ".so") and "__pycache__" not in path.parts:
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:8]

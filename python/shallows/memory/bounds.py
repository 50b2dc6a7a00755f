"""The memory that this process may still use, and the limit that leaves it.

Limits are those of the machine, of every control group above the process (versions 1 and 2), of the process
(RLIMIT_AS, RLIMIT_DATA) and of a Slurm job. PBS, LSF and Grid Engine enforce theirs as control groups or as
limits of the process.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

UNLIMITED = 2**60
"""Control groups of version 1 write a number near 2^63 for no limit."""


class Free(NamedTuple):
    """Bytes that this process may still allocate, and a phrase for the limit that leaves them."""

    amount: int
    limit: str


class _Files(NamedTuple):
    """Names of the files of a control group, and of the counters of page cache, which can be reclaimed."""

    limits: tuple[str, ...]
    used: str
    cache: tuple[str, ...]


_VERSION_1 = _Files(
    ("memory.limit_in_bytes",), "memory.usage_in_bytes", ("total_inactive_file", "total_active_file")
)
_VERSION_2 = _Files(("memory.max", "memory.high"), "memory.current", ("inactive_file", "active_file"))


def free(root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> Free | None:
    """The tightest limit below `root`; None if the system does not tell."""
    return min((*_machine(root), *_groups(root), *_process(root), *_slurm(root, environment)), default=None)


def _machine(root: Path) -> Iterator[Free]:
    amounts = _table(root / "proc/meminfo")
    if "MemAvailable" in amounts:
        yield Free(amounts["MemAvailable"], "the memory of this machine")
        return
    with suppress(OSError, ValueError):
        yield Free(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), "the memory of this machine")


def _groups(root: Path) -> Iterator[Free]:
    """Each control group from that of the process up to the top that is mounted."""
    mounts = list(_mounts(root))
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        files = _VERSION_1 if controllers else _VERSION_2
        for own, (top, mounted) in mounts:
            if own is files:
                for folder in _upwards(root / mounted.lstrip("/"), _below(path, top)):
                    yield from _of_group(folder, files, root)


def _mounts(root: Path) -> Iterator[tuple[_Files, tuple[str, str]]]:
    """The mounted hierarchies: the group at the top of each, and the folder where it is mounted."""
    for line in _text(root / "proc/self/mountinfo").splitlines():
        mount, _, system = line.partition(" - ")
        kind, _, options = system.split(" ", 2)
        files = _VERSION_2 if kind == "cgroup2" else _VERSION_1
        if kind == "cgroup2" or (kind == "cgroup" and "memory" in options.split(",")):
            yield files, (_unescaped(mount.split()[3]), _unescaped(mount.split()[4]))


def _unescaped(path: str) -> str:
    """A path of mountinfo, which writes a space as `\\040`."""
    return re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), path)


def _below(path: str, top: str) -> PurePosixPath:
    """`path` relative to the group that is mounted, which a container may not see by its own name."""
    whole = PurePosixPath(path)
    if ".." in whole.parts or not whole.is_relative_to(top):
        return PurePosixPath()
    return whole.relative_to(top)


def _upwards(mounted: Path, below: PurePosixPath) -> Iterator[Path]:
    yield mounted / below
    for parent in below.parents:
        yield mounted / parent


def _of_group(folder: Path, files: _Files, root: Path) -> Iterator[Free]:
    for name in files.limits:
        with suppress(OSError, ValueError):  # "max", no such file, or not readable
            limit = int((folder / name).read_text())
            if limit < UNLIMITED:
                used = int((folder / files.used).read_text())
                counters = _table(folder / "memory.stat")
                used -= sum(counters.get(cache, 0) for cache in files.cache)
                shown = f"/{(folder / name).relative_to(root)}"
                yield Free(max(limit - max(used, 0), 0), f"the {text(limit)} of this control group ({shown})")


def _process(root: Path) -> Iterator[Free]:
    try:
        import resource
    except ImportError:  # Windows
        return
    for name, counter in (("RLIMIT_AS", "VmSize"), ("RLIMIT_DATA", "VmData")):
        limit, _ = resource.getrlimit(getattr(resource, name))
        if limit in (resource.RLIM_INFINITY, -1):
            continue
        if counter in (used := _table(root / "proc/self/status")):
            yield Free(
                max(limit - used[counter], 0),
                f"the {text(limit)} of this process ({name}; ulimit -{'v' if name == 'RLIMIT_AS' else 'd'})",
            )


def _slurm(root: Path, environment: Mapping[str, str]) -> Iterator[Free]:
    """The memory of a Slurm job on this node, in MiB; 0 is all of the node's."""
    cores = _number(environment, "SLURM_CPUS_ON_NODE")
    for name, times in (("SLURM_MEM_PER_NODE", 1), ("SLURM_MEM_PER_CPU", cores)):
        limit = _number(environment, name) * times * 2**20
        if limit:
            used = _table(root / "proc/self/status").get("VmRSS", 0)
            yield Free(max(limit - used, 0), f"the {text(limit)} of this Slurm job ({name})")


def _number(environment: Mapping[str, str], name: str) -> int:
    value = environment.get(name, "")
    return int(value) if value.isdecimal() else 0


def _table(file: Path) -> dict[str, int]:
    """The numbers of a file with a name and a number on each line, in bytes if it says kB."""
    found: dict[str, int] = {}
    for line in _text(file).splitlines():
        name, *values = line.replace(":", " ").split() or [""]
        if values and values[0].isdecimal():
            found[name] = int(values[0]) * (1024 if values[1:] == ["kB"] else 1)
    return found


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, ValueError):
        return ""


def text(amount: float) -> str:
    """An amount of memory for a message."""
    for unit, name in ((1e12, "TB"), (1e9, "GB")):
        if amount >= unit:
            return f"{amount / unit:,.1f} {name}"
    return f"{amount / 1e6:.0f} MB"

"""Full disks: commands on a small file system with little space left."""

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from attack import state
from attack.kills import COMMANDS


def attack(place: Path, dice: random.Random, count: int) -> Iterator[str]:
    """Run `count` commands with little space; yield "run" or another, "full" or "fits"."""
    disk = place / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], capture_output=True
    ).returncode:
        raise SystemExit("full disks need root, to mount a small file system")
    try:
        (disk / "small.toml").write_text(state.SCENARIO)
        assert state.run(disk, ["run", "small.toml", "--out", "whole"])[0] == 0
        for words in COMMANDS.values():
            status, said = state.run(disk, words)
            assert status == 0, said
        for number in range(count):
            name = list(COMMANDS)[number % len(COMMANDS)]
            free = dice.choice([0, 4, 16, 64, 256]) * 1024
            (disk / "filler").write_bytes(bytes(max(shutil.disk_usage(disk).free - free, 0)))
            os.environ["TMPDIR"] = str(disk)
            status, said = state.run(disk, COMMANDS[name])
            (disk / "filler").unlink()
            assert "Traceback" not in said, said
            assert status == 0 or "No space left" in said, said
            state.check(disk)
            for rescued in disk.glob("shallows-*"):
                shutil.rmtree(rescued)
            yield f"{name} {'fits' if status == 0 else 'full'}"
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
        os.environ.pop("TMPDIR", None)

"""Attacks on files, from a seed, bounded in number: `python -m attack --kills 500 --memory 100`.

Each attack checks what the user would find afterwards. The first failure ends the program with status 1 and
leaves its folder.
"""

import argparse
import random
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path

from attack import disks, folders, kills, memory

PARTS = {"kills": kills.attack, "disks": disks.attack, "folders": folders.attack, "memory": memory.attack}


def main() -> int:
    asked = argparse.ArgumentParser(prog="attack", description=__doc__)
    asked.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    asked.add_argument("--seconds", type=float, default=3600, help="end after this time")
    for name, count in (("kills", 500), ("disks", 20), ("folders", 200), ("memory", 100)):
        asked.add_argument(f"--{name}", type=int, default=count)
    given = asked.parse_args()
    until = time.monotonic() + given.seconds
    print(f"seed {given.seed}")
    for name, attack in PARTS.items():
        if not getattr(given, name):
            continue
        place = Path(tempfile.mkdtemp(prefix=f"shallows-{name}-"))
        dice, seen = random.Random(f"{given.seed} {name}"), Counter[str]()
        began, done = time.monotonic(), 0
        try:
            for outcome in attack(place, dice, getattr(given, name)):
                seen[outcome] += 1
                done += 1
                if time.monotonic() > until:
                    break
        except AssertionError as error:
            print(f"{name} {done}: {error}\nin {place}")
            return 1
        print(f"{done} {name} in {time.monotonic() - began:.0f} s: {dict(sorted(seen.items()))}", flush=True)
        shutil.rmtree(place)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

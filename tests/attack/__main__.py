"""Attacks on files, from a seed, bounded in number: `python -m attack --kills 500 --memory 100`.

Each attack checks what the user would find afterwards. The first failure ends the program with status 1 and
leaves its folder. Attacks that are left when the time ends, or Ctrl-C comes, give status 124.
"""

import argparse
import json
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path

from attack import disks, folders, forged, kills, memory, tables

PARTS = {
    "kills": kills.attack,
    "disks": disks.attack,
    "folders": folders.attack,
    "forged": forged.attack,
    "memory": memory.attack,
    "tables": tables.attack,
}


UNFINISHED = 124
"""The exit status of attacks that found nothing and are not all done."""
COUNTS = {"kills": 500, "disks": 20, "folders": 200, "forged": 2000, "memory": 100, "tables": 200}


def main() -> int:
    asked = argparse.ArgumentParser(prog="attack", description=__doc__)
    asked.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    asked.add_argument("--seconds", type=float, default=3600, help="end after this time")
    for name, count in COUNTS.items():
        asked.add_argument(f"--{name}", type=int, default=count)
    asked.add_argument("--state", type=Path, help="a file from which ended attacks continue")
    given = asked.parse_args()
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])  # for the server of commands
    until = time.monotonic() + given.seconds
    kept = _kept(given)
    print(f"seed {given.seed}")
    for name, attack in PARTS.items():
        count = getattr(given, name) - kept.get(name, 0)
        if count <= 0:
            continue
        place = Path(tempfile.mkdtemp(prefix=f"shallows-{name}-"))
        dice = random.Random(
            f"{given.seed} {name} {kept.get(name, 0)}" if kept.get(name) else f"{given.seed} {name}"
        )
        seen = Counter[str]()
        began, done = time.monotonic(), 0
        try:
            for outcome in attack(place, dice, count):
                seen[outcome] += 1
                done += 1
                _keep(given, kept, name)
                if time.monotonic() > until:
                    break
        except KeyboardInterrupt:
            until = 0.0
        except AssertionError as error:
            print(f"{name} {done}: {error}\nin {place}")
            return 1
        print(f"{done} {name} in {time.monotonic() - began:.0f} s: {dict(sorted(seen.items()))}", flush=True)
        shutil.rmtree(place)
        if time.monotonic() > until:
            break
    left = {name: getattr(given, name) - kept.get(name, 0) for name in PARTS}
    if any(count > 0 for count in left.values()):
        words = ", ".join(f"{count} {name}" for name, count in left.items() if count > 0)
        print(f"ended with {words} left")
        return UNFINISHED
    if given.state:
        given.state.unlink(missing_ok=True)
    return 0


def _keep(given: argparse.Namespace, kept: dict[str, int], name: str) -> None:
    """Count one more attack, also in the file `--state`."""
    kept[name] = kept.get(name, 0) + 1
    if given.state:
        given.state.parent.mkdir(parents=True, exist_ok=True)
        given.state.write_text(json.dumps({"seed": given.seed, **kept}), "utf-8")


def _kept(given: argparse.Namespace) -> dict[str, int]:
    """How many of each attack are done, by the file `--state`, which has the seed too."""
    if not given.state or not given.state.exists():
        return {}
    kept = json.loads(given.state.read_text("utf-8"))
    given.seed = kept.pop("seed")
    return kept


if __name__ == "__main__":
    raise SystemExit(main())

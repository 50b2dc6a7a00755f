"""How many instructions a packet-hop takes: a figure that no neighbour on the machine disturbs.

    python bench/instructions.py [CASE ...]       (`make counts`)

Each case of instructions.toml runs once under `valgrind --tool=callgrind`, which counts only while the
simulation advances: not its set-up, its tables, nor Python. Exit status 1 where a count lies more than 5 %
above the figure kept in instructions.toml. Without valgrind nothing is counted, and one sentence says so.
"""

import importlib.util
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

BENCH = Path(__file__).parent
SCENARIOS = BENCH.parent / "scenarios"
KEPT = BENCH / "instructions.toml"
TOLERANCE = 0.05
COUNTED = "_core::crew::turn"  # where the main loop is called, crates/py/src/crew.rs


def main(names):
    if shutil.which("valgrind") is None:
        print("instructions a hop: not counted, there is no valgrind (Debian: apt-get install valgrind)")
        return 0
    cases = tomllib.loads(KEPT.read_text())
    if unknown := set(names) - set(cases):
        sys.exit(f"no case {', '.join(sorted(unknown))} in {KEPT}; there is {', '.join(cases)}")
    print(f"{'instructions a hop':<20} {'counted':>8} {'kept':>6} {'change':>8}")
    verdicts = [
        report(name, count(case), case["kept"]) for name, case in cases.items() if name in (names or cases)
    ]
    return 0 if all(verdicts) else 1


def report(name, counted, kept):
    """Print one line; False where `counted` is too much."""
    change = counted / kept - 1
    advice = ""
    if change > TOLERANCE:
        advice = (
            f"  TOO MANY: find out why, or put {counted:.0f} into {KEPT.name} with the reason in the commit"
        )
    elif change < -TOLERANCE:
        advice = f"  better: put {counted:.0f} into {KEPT.name}"
    print(f"{name:<20} {counted:8.1f} {kept:6} {change:+8.1%}{advice}", flush=True)
    return change <= TOLERANCE


def count(case, core=None):
    """Instructions a packet-hop of one case, in the core that is installed or in that of the file `core`."""
    with tempfile.TemporaryDirectory() as folder:
        request = Path(folder) / "request.pickle"
        request.write_bytes(pickle.dumps(_request(case)))
        command = [
            "valgrind",
            "--tool=callgrind",
            f"--toggle-collect={COUNTED}",
            "--callgrind-out-file=/dev/null",
        ]
        command += [sys.executable, "-I", __file__, "--simulate", core or _core_file(), request]
        process = subprocess.run(command, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", process.stderr)
    if process.returncode != 0 or not collected:
        sys.exit(f"valgrind ended with status {process.returncode}:\n{process.stderr[-2000:]}")
    instructions, hops = int(collected[1]), int(process.stdout)
    if instructions == 0:
        sys.exit(f"nothing was counted: no function is called {COUNTED}, see COUNTED in {__file__}")
    return instructions / hops


def _request(case):
    """What crosses into Rust, made beforehand so that valgrind need not watch it being made."""
    from shallows.runner import prepare
    from shallows.worlds import packet

    scenario = SCENARIOS / f"{case['scenario']}.toml"
    return packet.request(prepare(scenario, seed=None, overrides=case.get("set", {}), world="packet"))


def _core_file():
    return importlib.util.find_spec("shallows._core").origin


def simulate(core_file, request):
    """Under valgrind: run a request by the compiled core alone, and print its packet-hops."""
    spec = importlib.util.spec_from_file_location("shallows._core", core_file)
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    print(core.simulate(pickle.loads(Path(request).read_bytes()))["packet_hops"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--simulate"]:
        simulate(*sys.argv[2:])
    else:
        sys.exit(main(sys.argv[1:]))

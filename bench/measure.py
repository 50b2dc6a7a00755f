"""Functions that the benchmarks share: the scenarios, building the core of a source tree, and timing one run.

Run as a script, this module is the process that is measured:

    measure.py time CORE TREE SCENARIO OVERRIDES THREADS     times a run of a tree
    measure.py once CORE REQUEST                             runs a pickled request, for valgrind

Each tree reads its own scenario and makes its own request, so that commits with other keys can be compared.
"""

import importlib.util
import json
import os
import pickle
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).parent
ROOT = BENCH.parent
SCENARIOS = BENCH / "scenarios.toml"
SHORTEST_S = 0.5
"""Processor time that a measurement takes at least; a shorter run is repeated."""


class BenchError(Exception):
    """A benchmark cannot go on; the text says why, and what to write."""


@dataclass(frozen=True)
class Measurement:
    """One process: seconds and packet-hops of the simulation without its set-up, and the peak memory."""

    hops: int
    wall_s: float
    cpu_s: float
    setup_s: float
    memory_mb: float
    fingerprint: str

    def ns_per_hop(self, threads: int) -> float:
        """Processor time on one thread, which other processes disturb less; wall time on several."""
        return (self.cpu_s if threads == 1 else self.wall_s) * 1e9 / self.hops


def cases(names=(), having=None):
    """`{name: table}` of scenarios.toml: those named, or all that have the key `having`."""
    tables = tomllib.loads(SCENARIOS.read_text())
    tables = {name: table for name, table in tables.items() if having is None or having in table}
    if unknown := sorted(set(names) - set(tables)):
        raise BenchError(f"{SCENARIOS.name} has no case {', '.join(unknown)}; expected {', '.join(tables)}")
    return {name: table for name, table in tables.items() if name in (names or tables)}


def build(tree, target=ROOT / "target"):
    """Build the core of the sources in `tree` as `make build` does; return the path of the library."""
    command = ["cargo", "build", "--locked", "--release", "-p", "shallows-py", "--target-dir", str(target)]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchError(f"the sources in {tree} do not build:\n{done.stderr[-2000:]}")
    return Path(target) / "release" / "lib_core.so"


def measure(core, tree, case, threads):
    """Time one case in a process of its own, with a core and the Python package that belongs to it."""
    words = [core, tree, case["scenario"], json.dumps(case.get("set", {})), threads]
    process = subprocess.Popen(
        [sys.executable, __file__, "time", *map(str, words)], stdout=subprocess.PIPE, text=True
    )
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise BenchError(
            f"{case['scenario']} with {case.get('set', {})} on {threads} threads, sources in {tree}: "
            f"the run failed with status {process.returncode}; its message is above"
        )
    return Measurement(memory_mb=usage.ru_maxrss / 1024, **json.loads(text))


def load_core(path):
    """The compiled core in the file `path`, as the module `shallows._core`."""
    spec = importlib.util.spec_from_file_location("shallows._core", path)
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    return core


class Timer:
    """Stands in for the core's `simulate`: calls it until enough time has passed, and adds up."""

    def __init__(self, simulate):
        self.simulate = simulate
        self.hops, self.wall_s, self.cpu_s, self.setup_s = 0, 0.0, 0.0, 0.0

    def __call__(self, request, _on_progress=None, threads=1):
        while self.cpu_s < SHORTEST_S:
            answer = self._once(request, threads)
        return answer

    def _once(self, request, threads):
        reports = []
        begin = (0, time.perf_counter(), time.process_time())

        def on_progress(_now, hops, _finished):
            if not reports:
                reports.append((hops, time.perf_counter(), time.process_time()))

        answer = self.simulate(request, on_progress, threads)
        hops, wall, cpu = end = (answer["packet_hops"], time.perf_counter(), time.process_time())
        # A long run counts from its first report, so without set-up; a short one counts whole.
        first = reports[0] if reports and reports[0][0] < hops / 2 else begin
        self.hops += hops - first[0]
        self.wall_s += wall - first[1]
        self.cpu_s += cpu - first[2]
        self.setup_s = first[1] - begin[1]
        assert end > first
        return answer


def time_run(core_file, tree, scenario, overrides, threads):
    """Run one scenario with this core, and print what the timer measured as JSON."""
    sys.path.insert(0, str(Path(tree) / "python"))
    core = load_core(core_file)
    sys.modules["shallows._core"] = core
    core.simulate = timer = Timer(core.simulate)
    import shallows

    path = Path(tree) / "scenarios" / f"{scenario}.toml"
    run = shallows.run(path, overrides=json.loads(overrides), threads=int(threads))
    times = {key: getattr(timer, key) for key in ("hops", "wall_s", "cpu_s", "setup_s")}
    print(json.dumps(times | {"fingerprint": run.summary["fingerprint"]}))


def run_once(core_file, request):
    """Run a request by the compiled core alone, and print its packet-hops."""
    print(load_core(core_file).simulate(pickle.loads(Path(request).read_bytes()))["packet_hops"])


if __name__ == "__main__":
    {"time": time_run, "once": run_once}[sys.argv[1]](*sys.argv[2:])

"""Repeats Fig. 11 of HPCC (SIGCOMM 2019) with the files of its simulator, which stay where they are.

    git clone https://github.com/alibaba-edu/High-Precision-Congestion-Control hpcc
    python bench/peers/hpcc_figure.py hpcc [--case NAME] [--cc NAME] [--ms 5] [--seed 1] [--work FOLDER]

Topology, configuration and sizes of flows are those of the clone: `simulation/mix/fat.txt`, the settings that
`simulation/run.py` writes for 100 Gbps, and `traffic_gen/*.txt`. Flows arrive as in `traffic_gen.py`: Poisson
at each host, to any other host. Incasts are those of the paper, 2 % of the capacity in Poisson arrivals of 60
random senders with 500 KB each (the author in issue 36 of the repository). `shallows import` reads these
files, and `shallows export --fct` writes the times, from which the slowdown at the 95th percentile of each
twentieth of the flows follows as in `analysis/fct_analysis.py`. It prints one row a size: here and published.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import shallows as sh
from shallows.export import fct
from shallows.importers import write

HOSTS, BPS, START_S = 320, 100e9, 2.0
INCAST = {"senders": 60, "bytes": 500_000, "load": 0.02}
SHARES = 20
"""Parts with equally many flows, by size."""
SETTINGS = {
    "hp": "CC_MODE 3\nRATE_AI 40Mb/s\nRATE_HAI 40Mb/s\nHAS_WIN 1\nVAR_WIN 1\nFAST_REACT 1\nINT_MULTI 4\n",
    "dcqcn": "CC_MODE 1\nRATE_AI 20Mb/s\nRATE_HAI 200Mb/s\nHAS_WIN 0\nVAR_WIN 0\nFAST_REACT 0\nINT_MULTI 1\n",
}
"""The keys of config.txt in which `run.py --bw 100 --cc NAME` differs; the others are COMMON."""
COMMON = """ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE fat.txt
FLOW_FILE flow.txt
SIMULATOR_STOP_TIME 4.00
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 300
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
MIN_RATE 1000Mb/s
ERROR_RATE_PER_LINK 0.0000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
GLOBAL_T 1
U_TARGET {target}
MI_THRESH 0
MULTI_RATE 0
SAMPLE_FEEDBACK 0
RATE_BOUND 1
LINK_DOWN 0 0 0
KMAX_MAP 2 100000000000 1600 400000000000 6400
KMIN_MAP 2 100000000000 400 400000000000 1600
PMAX_MAP 2 100000000000 0.20 400000000000 0.20
BUFFER_SIZE 32
"""
FIGURE_11C = {
    "hp": (1.79, 1.77, 1.79, 1.77, 1.79, 1.75, 1.77, 1.72, 1.77, 1.74,
           1.77, 1.76, 1.77, 1.80, 2.39, 2.70, 2.97, 3.57, 4.84, 9.71),
    "dcqcn": (5.21, 5.28, 5.33, 5.40, 5.22, 5.34, 5.38, 5.23, 5.35, 5.19,
              5.23, 5.29, 5.19, 5.18, 5.03, 4.84, 4.95, 4.93, 4.93, 8.55),
}  # fmt: skip
FIGURE_11A = {
    "hp": (1.57, 1.56, 1.62, 1.56, 1.60, 1.54, 1.58, 1.56, 1.60, 1.60,
           1.53, 1.61, 1.60, 1.59, 1.90, 2.08, 2.19, 2.52, 3.24, 6.17),
    "dcqcn": (65.4, 65.0, 65.3, 67.4, 66.4, 65.7, 69.1, 64.2, 62.1, 65.4,
              63.7, 65.9, 65.7, 63.5, 53.8, 51.4, 46.6, 43.3, 29.9, 11.3),
}  # fmt: skip
"""Values of the curves, from the coordinates of their points in the paper's PDF (vector graphics)."""
CASES = {
    "hadoop-50": ("FbHdp_distribution.txt", 0.5, False, 0.95, FIGURE_11C),
    "hadoop-30-incast": ("FbHdp_distribution.txt", 0.3, True, 0.95, FIGURE_11A),
    "websearch-50": ("WebSearch_distribution.txt", 0.5, False, 0.95, {}),
    "websearch-50-incast": ("WebSearch_distribution.txt", 0.5, True, 0.95, {}),
}
"""Sizes, load of the flows, whether there are incasts, the target of HPCC, and the published values."""


def main() -> None:
    """Run each case with each algorithm, and print their tables."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("clone", type=Path)
    asked.add_argument("--case", choices=CASES, action="append", help="all that are published if absent")
    asked.add_argument("--cc", choices=SETTINGS, action="append")
    asked.add_argument("--ms", type=float, default=5.0, help="how long flows arrive")
    asked.add_argument("--warmup-ms", type=float, default=1.0, help="flows that arrive earlier do not count")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--work", type=Path, help="a folder for the files; else a temporary one")
    given = asked.parse_args()
    head = subprocess.run(["git", "-C", given.clone, "rev-parse", "HEAD"], capture_output=True, text=True)
    print(f"files of commit {head.stdout.strip() or 'unknown'}; flows of {given.ms:g} ms, seed {given.seed}")
    with tempfile.TemporaryDirectory() as temporary:
        for case in given.case or [name for name, (*_, published) in CASES.items() if published]:
            for cc in given.cc or SETTINGS:
                folder = (given.work or Path(temporary)) / f"{case}-{cc}"
                _print(case, cc, *_measured(given, case, cc, folder))


def _measured(given: argparse.Namespace, case: str, cc: str, folder: Path) -> tuple[np.ndarray, sh.Run]:
    """(rows of bytes, start in ns, ns, ns alone for each flow without those of incasts, the run)."""
    sizes, load, incasts, target, _ = CASES[case]
    folder.mkdir(parents=True, exist_ok=True)
    points = np.loadtxt(given.clone / "traffic_gen" / sizes)
    (folder / "fat.txt").write_text((given.clone / "simulation" / "mix" / "fat.txt").read_text())
    (folder / "config.txt").write_text(COMMON.format(target=target) + SETTINGS[cc])
    flows = _flows(points, load, incasts, given.ms / 1e3, given.seed)
    lines = [f"{src} {dst} 3 {port} {size} {start:.9f}" for start, src, dst, port, size in flows]
    (folder / "flow.txt").write_text("\n".join([str(len(lines)), *lines]) + "\n")
    written = write([folder / "config.txt"], folder / "scenario.toml")
    (folder / "notes.txt").write_text("\n".join([*written.assumed, *written.left_out]) + "\n")
    run = sh.run(written.scenario.replace({"duration": "until-done"}))
    text = fct.text(run)
    (folder / "fct.txt").write_text(text)
    rows = np.array([line.split()[4:] for line in text.splitlines()], float)
    begin = START_S * 1e9 + given.warmup_ms * 1e6
    return rows[(rows[:, 1] >= begin) & ~((rows[:, 0] == INCAST["bytes"]) & incasts)], run


def _flows(points: np.ndarray, load: float, incasts: bool, seconds: float, seed: int) -> list[tuple]:
    """(start in s, source, target, port, bytes) of all flows by start."""
    rng = np.random.default_rng(seed)
    size, share = points[:, 0], points[:, 1] / 100
    mean = float(((size[1:] + size[:-1]) / 2 * np.diff(share)).sum())
    count = rng.poisson(HOSTS * seconds * BPS * load / 8 / mean)
    src = rng.integers(HOSTS, size=count)
    dst = (src + rng.integers(1, HOSTS, size=count)) % HOSTS
    drawn = np.maximum(1, np.interp(rng.random(count), share, size).astype(int))
    starts = START_S + seconds * rng.random(count)
    flows = [*zip(starts, src, dst, [100] * count, drawn, strict=True)]
    bits = 8 * INCAST["senders"] * INCAST["bytes"]
    for start in seconds * rng.random(rng.poisson(seconds * HOSTS * BPS * INCAST["load"] / bits) * incasts):
        to, *senders = rng.permutation(HOSTS)[: INCAST["senders"] + 1]
        flows += [(START_S + start, sender, to, 200, INCAST["bytes"]) for sender in senders]
    return sorted(flows)


def _print(case: str, cc: str, rows: np.ndarray, run: sh.Run) -> None:
    """Print the slowdown at the 95th percentile of each twentieth of the flows, by size."""
    published = CASES[case][4].get(cc, ())
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    slowdown = np.maximum(1, rows[:, 2] / rows[:, 3])
    pauses = run.summary["network"]["pauses"]
    print(f"\n{case}, {cc}: {len(rows)} flows, {pauses} pauses", flush=True)
    print(f"{'up to bytes':>12} {'here':>7} {'published':>9} {'ratio':>6}")
    for at, part in enumerate(np.array_split(np.arange(len(rows)), SHARES)):
        here = np.sort(slowdown[part])[int(0.95 * len(part))]
        there = f"{published[at]:9.2f} {here / published[at]:6.2f}" if published else ""
        print(f"{rows[part[-1], 0]:12.0f} {here:7.2f} {there}")


if __name__ == "__main__":
    main()

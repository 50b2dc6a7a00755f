"""Writes the tables of docs/peers.md from the measurements.

python bench/peers/page.py      again, from results.json
"""

import json
import os
import platform
import subprocess
import time
from pathlib import Path

import compare

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "peers.md"
RESULTS = Path(__file__).parent / "results.json"
WORK = {
    "dctcp-40": "40 DCTCP flows over one 10 Gbps link",
    "websearch-fat-tree": "web search under DCTCP, fat tree of 128 hosts",
}
# Speed relative to Debian's ns-3 on the machine where it was measured: bench/README.md, other simulators.
EARLIER = {
    "dctcp-40": {"ns-3 3.48": 0.336 / 0.217, "htsim": 11.3 / 0.217},
    "websearch-fat-tree": {"ns-3 3.37": 0.243 / 0.164, "htsim": 5.2 / 0.164},
}


def machine():
    """The machine and the date of the measurement."""
    info = Path("/proc/cpuinfo")
    models = [line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line]
    version = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", "libns3-dev"], capture_output=True, text=True
    )
    return {
        "processor": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "date": time.strftime("%Y-%m-%d"),
        "ns3": version.stdout or "not Debian's",
    }


def write(results):
    """Write the tables of `results` into docs/peers.md."""
    tables = {"speed": _speed(results), "physics": _physics(results), "against ns-3": _ratios(results)}
    text = PAGE.read_text()
    for name, table in tables.items():
        head, rest = text.split(f"<!-- {name} -->\n")
        _, tail = rest.split(f"<!-- end of {name} -->\n")
        text = f"{head}<!-- {name} -->\n{table}<!-- end of {name} -->\n{tail}"
    PAGE.write_text(text)


def speed_table(pairs):
    """The table of speeds for a terminal."""
    lines = [
        f"{'work':<24}{'hops':>10}{'ours /s':>10}{'ns-3 /s':>10}{'ratio':>8}{'ours MB':>9}{'ns-3 MB':>9}"
    ]
    lines += [
        f"{pair.work:<24}{pair.hops:>10}{pair.ours:>10.3g}{pair.ns3:>10.3g}{pair.ratio:>8.0f}"
        f"{pair.ours_mb:>9.0f}{pair.ns3_mb:>9.0f}"
        for pair in pairs
    ]
    return "\n".join(lines)


def _where(results):
    about = results["machine"]
    return (
        f"{about['date']}, {about['processor']}, {about['cores']} cores shared with other work "
        f"(load {about['load']}), ns-3 {about['ns3']}:"
    )


def _on_two(pair):
    return f"{pair['ratio'] * pair['gain']:.0f}" if pair["gain"] > 1 else "one core is faster"


def _ratios(results):
    rows = [
        f"| {WORK[pair['work']]} "
        + "".join(f"| {ratio:.2g} " for ratio in EARLIER[pair["work"]].values())
        + f"| {pair['ratio']:.0f} | {_on_two(pair)} | {pair['ours'] / 1e6:.1f} million "
        f"| {pair['ours_beyond_mb']:.0f} and {pair['ns3_mb']:.0f} MB |\n"
        for pair in results["speed"]
    ]
    return (
        f"{_where(results)}\n\n"
        "| times as fast as Debian's ns-3 | ns-3, optimised | htsim | Shallows, one core | two cores "
        "| packet-hops per second, one core | memory beyond Python; ns-3 |\n"
        "|---|---|---|---|---|---|---|\n" + "".join(rows)
    )


def _speed(results):
    rows = [
        f"| {pair['work']} | {pair['hops'] / 1e6:.2f} | {pair['ours'] / 1e6:.1f} | {pair['ns3'] / 1e6:.3f} "
        f"| {pair['ratio']:.0f} | {pair['ours_mb']:.0f} ({pair['ours_beyond_mb']:.0f}) "
        f"| {pair['ns3_mb']:.0f} |\n"
        for pair in results["speed"]
    ]
    return (
        f"{_where(results)}\n\n"
        "| scenario | million packet-hops | Shallows, million per second | ns-3, million per second | ratio "
        "| Shallows, MB (beyond Python) | ns-3, MB |\n|---|---|---|---|---|---|---|\n" + "".join(rows)
    )


def _physics(results):
    lines = [
        "| case | quantity | Shallows | ns-3 | ratio | tolerance | verdict |\n|---|---|---|---|---|---|---|\n"
    ]
    reasons = {}
    last = None
    for row in results["rows"]:
        title = compare.CASES[row["case"]]["title"] if row["case"] != last else ""
        last = row["case"]
        verdict = row["verdict"]
        if verdict != "agrees":
            verdict += f" [{reasons.setdefault(row['why'], len(reasons) + 1)}]"
        values = " | ".join(f"{row[key]:.4g}" for key in ("ours", "ns3"))
        tolerance = f"{row['tolerance']:.2%}".replace(".00%", "%")
        lines.append(
            f"| {title} | `{row['quantity']}` | {values} | {row['ratio']:.3f} | {tolerance} | {verdict} |\n"
        )
    return "".join(lines) + "\n" + "".join(f"{number}. {why}\n" for why, number in reasons.items())


if __name__ == "__main__":
    write(json.loads(RESULTS.read_text()))

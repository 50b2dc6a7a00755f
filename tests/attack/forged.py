"""Shards, sweeps, comparisons and results that a forger wrote with Shallows, so that every digest fits.

Whatever a command reads, nothing changes outside of the folder that it was told to write, no code runs, and
each refusal is one sentence.
"""

import copy
import csv
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import commands
import shallows as sh
from attack import state
from shallows.results import disk, tables
from shallows.results.run import _mark
from shallows.sweeps import saved

SCENARIO = {
    "name": "small",
    "duration": "1ms",
    "cc": "dctcp",
    "topology": {"kind": "dumbbell", "hosts": 2},
    "traffic": [{"kind": "incast", "senders": 2, "size": "20KB"}],
    "record": {"queues": "20us"},
}
OVER = {"network.buffer": ["100pkt", "150pkt"]}
SPOILT: list[Any] = [
    None, True, -1, 0, 2**70, -(2**63), 1e300, float("nan"), float("inf"), "", "x", "../../precious",
    "/etc/passwd", "A/../../../precious", "0123456789abcdef", "\x1b]0;owned\x07", "a\nb", "{}", "[red]x",
    "=cmd|' /C calc'!A0", "<script>", [], [[]], {}, {"a": None}, [None], [1, "x"], "./evil.py:Aimd",
    "x" * 5000, "\ud800",
]  # fmt: skip


def attack(place: Path, dice: random.Random, count: int) -> Iterator[str]:
    """Read `count` forged folders with a random command; yield the forgery, the command and the outcome."""
    commands.start_server("attack.warm")
    _prepare(place)
    before = tree(place)
    for number in range(count):
        for name in ("gift", "other", "given"):
            shutil.rmtree(place / name, ignore_errors=True)
        (place / "given").mkdir()
        forgery = list(FORGERIES)[number % len(FORGERIES)]
        FORGERIES[forgery](place, dice)
        if dice.random() < 0.2:
            _link(place, dice)
        here = tree(place / "gift")
        words = _command(COMMANDS[forgery.partition(" ")[0]], dice)
        done = commands.run(*words, cwd=place, XDG_STATE_HOME=str(place / "state"), timeout=300)
        what = f"{forgery}, {number}: {' '.join(words)}: status {done.returncode}, {done.stderr}"
        assert done.returncode in (0, 1, 2), what
        assert "Traceback" not in done.stderr, what
        assert "panicked" not in done.stderr, what
        assert "\x1b" not in done.stdout + done.stderr, what
        said = [line for line in done.stderr.splitlines() if line.startswith("shallows: ")]
        assert done.returncode != 2 or len(said) == 1, what
        assert not (place / "mark").exists(), what
        assert tree(place / "gift") == here, what
        for name in ("gift", "other", "given"):
            shutil.rmtree(place / name, ignore_errors=True)
        assert tree(place) == before, what
        yield f"{forgery} {['read', 'read in part', 'refused'][done.returncode]}"


COMMANDS = {
    "run": [
        ["report", "gift"],
        ["report", "gift", "--json"],
        ["report", "gift", "--html", "given/p.html"],
        ["compare", "gift/scenario.toml", "--cc", "reno", "--out", "given/compared"],
        ["results", "diff", "gift", "good"],
        ["results", "diff", "good", "gift"],
        ["results", "list", "gift"],
        ["why", "gift", "0", "--figure", "given/why.png"],
        ["why", "gift", "--record", "given/record"],
        ["at", "gift", "20us"],
        ["export", "gift", "--csv", "given/csv"],
        ["export", "gift", "--fct", "given/fct.txt"],
        ["draw", "gift", "--out", "given/network.html"],
    ],
    "comparison": [["report", "gift"], ["report", "gift", "--json"], ["results", "list", "gift"]],
    "sweep": [
        ["merge", "gift", "shard2", "--out", "given/merged"],
        ["merge", "shard2", "gift", "--out", "given/merged"],
        ["report", "gift"],
        ["report", "gift", "--json"],
    ],
    "out": [
        ["merge", "shard1", "shard2", "--out", "other"],
        ["sweep", "small.toml", "--over", "network.buffer=100pkt,150pkt", "--workers", "1", "--out", "other"],
        ["run", "small.toml", "--out", "other"],
        ["export", "good", "--csv", "other"],
        ["compare", "small.toml", "--cc", "reno", "--out", "other"],
    ],
}
"""The commands that read, or write into, each kind of folder. All other folders are those of the user."""


def _command(known: list[list[str]], dice: random.Random) -> list[str]:
    """One of the commands, and one that takes seconds for each fifteen."""
    dear = [words for words in known if words[0] in ("compare", "sweep") or "--html" in words]
    cheap = [words for words in known if words not in dear]
    return dice.choice(dear if dear and dice.random() < 1 / 15 else cheap)


def tree(folder: Path) -> dict[Path, object]:
    """Everything in a folder: the content of files, the targets of links, None for folders."""
    return {
        path: path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if "state" not in path.parts
    }


def _prepare(place: Path) -> None:
    """What the user has, and the whole results from which the forger starts."""
    import tomli_w

    state.begin(place, tomli_w.dumps(SCENARIO))
    (place / "precious").mkdir()
    (place / "precious" / "thesis.tex").write_text("years of work")
    scenario = sh.Scenario(**SCENARIO)
    sh.run(scenario, out=place / "good")
    shutil.copytree(place / "good", place / "precious" / "run")
    sh.compare(scenario, ["dctcp", "reno"]).save(place / "compared", plot=False)
    for number in (1, 2):
        sh.sweep(scenario, over=OVER, workers=1, out=place / f"shard{number}", shard=(number, 2))


def _summary(place: Path, dice: random.Random) -> None:
    """Up to three values of the summary are others."""
    run = sh.Run.load(place / "good")
    summary = copy.deepcopy(run.summary)
    for _ in range(dice.randint(1, 3)):
        _spoil(summary, dice)
    _write(place / "gift", run.scenario_toml, sh.Run("", summary, sh.Scenario, {}).summary_json(), run)


def _scenario(place: Path, dice: random.Random) -> None:
    """Up to two values of the scenario are others; numbers stay, so that it does not run for hours."""
    import tomli_w

    run = sh.Run.load(place / "good")
    scenario = copy.deepcopy(run.scenario.resolved())
    for _ in range(dice.randint(1, 2)):
        _spoil(scenario, dice, [one for one in SPOILT if not isinstance(one, int | float)])
    if dice.random() < 0.5:
        scenario["cc"] = {"name": "./evil.py:Aimd"}
    with suppress(TypeError, ValueError, AttributeError):
        _write(place / "gift", tomli_w.dumps(scenario), run.summary_json(), run)
        return
    shutil.copytree(place / "good", place / "gift", dirs_exist_ok=True)


def _tables(place: Path, dice: random.Random) -> None:
    """A column of a table has other numbers or names, or another length."""
    run = sh.Run.load(place / "good")
    name = dice.choice(run._names())
    block = dict(run.columns(name))
    column = dice.choice(list(block))
    values = block[column]
    if isinstance(values, tables.Names):
        texts = [str(dice.choice([one for one in SPOILT if isinstance(one, str)])) for _ in values.names]
        texts = [text.encode(errors="replace").decode() for text in texts]
        block[column] = tables.Names(values.codes, texts)
    elif values.dtype.kind == "b":
        block[column] = ~values
    else:
        odd = [0, 1, 2**31] if values.dtype.kind in "ui" else [np.nan, -1.0, 1e300, np.inf, 0.0]
        block[column] = np.full(len(values), dice.choice(odd)).astype(values.dtype)
    if dice.random() < 0.3:
        keep = dice.randint(0, 2)
        block = {
            key: tables.Names(of.codes[:keep], of.names) if isinstance(of, tables.Names) else of[:keep]
            for key, of in block.items()
        }
    _write(place / "gift", run.scenario_toml, run.summary_json(), run, {name: block})


def _sweep_rows(place: Path, dice: random.Random) -> None:
    _forged_sweep(place, dice, lambda rows, about, swept: _spoil(dice.choice(rows), dice))


def _sweep_address(place: Path, dice: random.Random) -> None:
    address = dice.choice([one for one in SPOILT if isinstance(one, str)])
    _forged_sweep(place, dice, lambda rows, about, swept: dice.choice(rows).update(run=address))


def _sweep_about(place: Path, dice: random.Random) -> None:
    _forged_sweep(place, dice, lambda rows, about, swept: _spoil(dice.choice([about, about, swept]), dice))


def _forged_sweep(place: Path, dice: random.Random, change: Callable[..., object]) -> None:
    """The first shard with another table; sometimes one of its runs is a link, or has another address."""
    shutil.copytree(place / "shard1", place / "gift")
    rows, about, swept = saved.load(place / "gift" / "table.parquet")
    change(rows, about, swept)
    with suppress(Exception):  # the writer refuses what no table can hold; the old one stays
        saved.save(place / "gift" / "table.new", rows, about, swept)
        (place / "gift" / "table.new").rename(place / "gift" / "table.parquet")
    (place / "gift" / "table.new").unlink(missing_ok=True)
    if dice.random() < 0.3:
        (place / "gift" / "runs" / "run=A").symlink_to(place)


def _comparison(place: Path, dice: random.Random) -> None:
    shutil.copytree(place / "compared", place / "gift")
    table = place / "gift" / "comparison.csv"
    if dice.random() < 0.2:
        table.write_bytes(dice.randbytes(dice.choice([0, 10, 1000])))
        return
    with table.open(newline="") as stream:
        rows = list(csv.reader(stream))
    for _ in range(dice.randint(1, 3)):
        row = dice.choice(rows)
        row[dice.choice([0, dice.randrange(len(row))])] = str(dice.choice(SPOILT))
    with table.open("w", newline="", errors="replace") as stream:
        csv.writer(stream).writerows(rows)


def _out(place: Path, dice: random.Random) -> None:
    """A folder that the user names for results, with links that lead out of it."""
    (place / "gift").mkdir()
    target = place / dice.choice(["precious", "precious/thesis.tex", "precious/run", "absent"])
    if dice.random() < 0.5:
        shutil.copytree(place / dice.choice(["shard1", "good", "compared"]), place / "other")
    (place / "other" / "runs").mkdir(parents=True, exist_ok=True)
    address = saved.load(place / "shard1" / "table.parquet")[0][0]["run"]
    names = [
        "runs", "set-aside", "slurm", ".lock", "table.parquet", ".table.parquet.partial", "summary.csv",
        ".summary.csv.partial", "sweep.toml", ".sweep.toml.partial", "summary.json", "scenario.toml",
        "flows.parquet", "frames.csv", f"runs/run={address}", f"runs/.run={address}.1.partial",
    ]  # fmt: skip
    for name in dice.sample(names, dice.randint(1, 3)):
        path = place / "other" / name
        if path.parent.is_symlink():  # one of the links before
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.symlink_to(target)


def _link(place: Path, dice: random.Random) -> None:
    """Something in the folder is a link to something of the user."""
    inside = [path for path in (place / "gift").rglob("*") if not path.is_symlink()]
    if inside:
        path = dice.choice(sorted(inside))
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        path.symlink_to(place / "precious" / dice.choice(["", "thesis.tex", "run", "run/flows.parquet"]))


def _write(
    folder: Path, scenario: str, summary: str, run: sh.Run, others: dict[str, Any] | None = None
) -> None:
    """Write a run with these texts, and with tables whose marks and digests fit."""
    folder.mkdir()
    names = run._names()
    metadata = {"run": _mark(scenario, summary, "", names), "fingerprint": "ab"}
    for name in names:
        block = (others or {}).get(name, run.columns(name))
        disk.write(folder / f"{name}.parquet", tables.ALL_TABLES[name], metadata, [block])
    (folder / "scenario.toml").write_text(scenario, "utf-8", errors="replace")
    (folder / "summary.json").write_text(summary, "utf-8", errors="replace")


def _spoil(table: Any, dice: random.Random, values: list[Any] | None = None) -> None:
    """Replace or remove one value, at any depth of a table."""
    at, key = table, None
    while True:
        keys: list[Any] = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            return
        key = dice.choice(keys)
        inner = at[key]
        if not isinstance(inner, dict | list) or not inner or dice.random() < 0.2:
            break
        at = inner
    if dice.random() < 0.15:
        del at[key]
    else:
        at[key] = copy.deepcopy(dice.choice(values or SPOILT))


FORGERIES: dict[str, Callable[[Path, random.Random], None]] = {
    "run summary": _summary,
    "sweep rows": _sweep_rows,
    "run scenario": _scenario,
    "sweep address": _sweep_address,
    "run tables": _tables,
    "sweep about": _sweep_about,
    "comparison": _comparison,
    "out": _out,
}
"""Kinds of forgeries; the first word is the kind of folder."""

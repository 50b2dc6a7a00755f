"""Adds an algorithm to a copy of the repository, as CONTRIBUTING.md says, and runs it by its name.

The algorithm is MRC under another name, with traits that all differ from Reno's, which is in no warning and
no refusal. Its steps are those of "Adding an algorithm"; what they changed has to be the files that the
section names and no other, and the checks that the section speaks of have to pass.

    .venv/bin/python tests/new_algorithm.py                 in crates/cc alone, as for a landing
    .venv/bin/python tests/new_algorithm.py --whole         with all crates, and a run by its name in Python

For a landing `crates/cc` is enough, because no other crate names an algorithm, which is checked: they know
those of the catalog. The whole takes minutes, and is a part of `make nightly`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NAME = "dummy"
NUMBERS = "crates/sim/tests/algorithms.txt"
"""The numbers of an algorithm, which `crates/sim` writes."""
OTHERS = ("contract", "live", "py", "sim", "wire")
"""The crates beside `cc`."""
ROW = """    dummy over UNORDERED choosing dummy: ANSWERS, Marking::Required("red");
        "MRC under another name.", "tests/new_algorithm.py";
"""
TRAITS = """pub const TRAITS: Traits = Traits {
    reacts_to_load: true,
    ..Traits::on_delays()
        .least_rtt(LeastRtt::If("trims_lower_base"))
        .returns_by_timer()
        .has_target_queue()
        .corrected_by("mrc")
        .least_threshold(3, "tests/new_algorithm.py")
        .step("step", "tests/new_algorithm.py")
        .ect1()
        .probes("port_status", "value_probe")
        .reference_gbps(10)
};
"""
OWN = """    rate("step", "-", 40e6, 1.0..=1e12).follows("host_rate").meaning("a step").source("a choice"),
    time("base_target", "-", 0.0, 0.0..=1.0).meaning("a target").source("a choice"),
    time("per_hop", "-", 0.0, 0.0..=1.0).meaning("a target").source("a choice"),
    time("fs_range", "-", 0.0, 0.0..=1.0).meaning("a target").source("a choice"),
"""
"""Parameters that the traits name."""


def main() -> None:
    """Print what was touched; end with status 1 where it is not what CONTRIBUTING.md says."""
    whole = "--whole" in sys.argv[1:]
    expected = promised((ROOT / "CONTRIBUTING.md").read_text())
    if elsewhere := named_elsewhere():
        sys.exit(f"only crates/cc may name an algorithm, not {', '.join(elsewhere)}")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "shallows")
        copied(copy, whole)
        write(copy)
        if whole:
            built(copy)
        touched = sorted(str(path) for path in changed(copy))
        checked(copy, whole)
    print("\n".join(touched))
    if set(touched) != (expected if whole else expected - {NUMBERS}):
        sys.exit(f"CONTRIBUTING.md names {sorted(expected)}")


def named_elsewhere() -> list[str]:
    """The files of other crates that name the module of an algorithm."""
    names = "|".join(path.stem for path in (ROOT / "crates/cc/src/sender").glob("*.rs") if path.stem != "mod")
    module = re.compile(rf"^(?!\s*//).*\bsender::(?:{names})\b", re.MULTILINE)
    sources = (path for crate in OTHERS for path in (ROOT / "crates" / crate / "src").rglob("*.rs"))
    return [str(path.relative_to(ROOT)) for path in sources if module.search(path.read_text())]


def promised(text: str) -> set[str]:
    """The files that the section on adding an algorithm names, of those that a commit of one touches."""
    section = text.partition("## Adding an algorithm")[2].partition("\n## ")[0]
    steps = section.partition("5. **")[0]
    paths = re.findall(r"`((?:crates|docs|python)/[\w./]+\.(?:rs|txt|md|py|toml))`", steps)
    return {path.replace("NAME", NAME) for path in paths if "tests/scripts.rs" not in path}


def copied(copy: Path, whole: bool) -> None:
    """What git tracks, as it is in the working tree, and for the whole what cargo has built of others.

    Sources are newer in the copy, so that cargo builds the crates of the workspace anew.
    """
    if whole and (ROOT / "target/quick").exists():
        shutil.copytree(ROOT / "target/quick", target(copy) / "quick")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name, follow_symlinks=False)


def write(copy: Path) -> None:
    """Steps 1 to 3: the file, its name and its row, the script."""
    senders, scripts = copy / "crates/cc/src/sender", copy / "crates/cc/tests/scripts"
    (senders / f"{NAME}.rs").write_text(source((senders / "mrc.rs").read_text()))
    table = (senders / "mod.rs").read_text()
    table = table.replace("pub mod dx;\n", f"pub mod {NAME};\npub mod dx;\n")
    (senders / "mod.rs").write_text(table.replace("    cubic: CLASSIC_ECHO", f"{ROW}    cubic: CLASSIC_ECHO"))
    (scripts / f"{NAME}.txt").write_text((scripts / "mrc.txt").read_text().replace("use mrc", f"use {NAME}"))


def source(text: str) -> str:
    """The file of MRC with other traits. Fails if MRC's file has changed so that a part is not found."""
    changes = {
        "const OWN: &[Parameter] = &[\n": f"const OWN: &[Parameter] = &[\n{OWN}",
        "{PRESETS, TRAITS, build}": "{PRESETS, build}",
        "{Parameter, Values, flag, number, time}": "{Parameter, Values, flag, number, rate, time}",
        "use crate::units::Time;\n": "use crate::traits::{LeastRtt, Traits};\nuse crate::units::Time;\n",
        "/// Known differences.\n": f"/// What differs from Reno.\n{TRAITS}\n/// Known differences.\n",
    }
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def built(copy: Path) -> None:
    """Step 4: its line on file; and the core, for Python."""
    cargo(copy, "test", "-p", "shallows-sim", "--test", "networks", "dumbbell", "--", "--ignored")
    cargo(copy, "build", "-p", "shallows-py")
    shutil.copy2(target(copy) / "quick/lib_core.so", copy / "python/shallows/_core.abi3.so")


def changed(copy: Path) -> set[Path]:
    """The files of the copy that are not, or not like this, in the repository; what is built apart."""
    files = {path.relative_to(copy) for path in copy.rglob("*") if path.is_file()}
    files = {path for path in files if path.suffix not in (".so", ".pyc")}
    return {path for path in files if not same(ROOT / path, copy / path)}


def same(one: Path, other: Path) -> bool:
    return one.is_file() and one.read_bytes() == other.read_bytes()


def checked(copy: Path, whole: bool) -> None:
    """What the section says has to pass, and of the whole a run by the new name."""
    subprocess.run(["cargo", "fmt", "--check"], cwd=copy, check=True)
    cargo(copy, "test", "-p", "shallows-cc")
    if not whole:
        return
    cargo(copy, "test", "-p", "shallows-sim", "--test", "networks", "dumbbell")
    tests = (
        ["tests/test_supported_keys.py", "-k", "documents_tables"],
        ["tests/test_readme.py", "-m", "repository"],
    )
    for words in tests:
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *words], cwd=copy, env=environment(copy), check=True
        )
    told, like = (ran(copy, name) for name in (NAME, "mrc"))
    if told["cc"] != [NAME] or told["fingerprint"] != like["fingerprint"]:
        sys.exit(f"a run of {NAME} is not one of MRC: {told}, {like}")
    traits = json.loads(
        python(
            copy,
            "import json; from shallows import _core; rows = _core.catalog(); "
            "print(json.dumps({row['name']: row['traits'] for row in rows}))",
        )
    )
    # records and rates return over TCP and RoCE alone; what a program sets takes its windows instead of MRC's
    own = {key: value for key, value in traits[NAME].items() if key not in ("reads_switches", "is_driven")}
    pairs = {key: (value, traits["reno"][key]) for key, value in own.items()}
    if alike := [key for key, (one, other) in pairs.items() if one == other]:
        sys.exit(f"traits of {NAME} that are those of Reno: {', '.join(alike)}")


def ran(copy: Path, name: str) -> dict[str, Any]:
    """The summary of a short run."""
    overrides = {"cc.name": name, "duration": "60ms", "warmup": "10ms"}
    run = f"import json, shallows as sh; run = sh.run('dctcp-40', overrides={overrides})"
    return json.loads(python(copy, f"{run}; print(json.dumps(run.summary))"))


def cargo(copy: Path, *words: str) -> None:
    """A command of cargo, in the one profile that the core for Python has too: the crates are built once."""
    sub, rest = words[0], words[1:]
    env = environment(copy) | {"CARGO_TARGET_DIR": str(target(copy))}
    command = ["cargo", sub, "--locked", "--quiet", "--profile", "quick", *rest]
    subprocess.run(command, cwd=copy, env=env, check=True)


def target(copy: Path) -> Path:
    """Apart from the repository's, which keeps what was built from its own sources."""
    return copy.parent / "target"


def python(copy: Path, code: str) -> str:
    """What Python prints with the copy's package."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=copy,
        env=environment(copy),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def environment(copy: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(copy / "python"), "PYTHONDONTWRITEBYTECODE": "1"}


if __name__ == "__main__":
    main()

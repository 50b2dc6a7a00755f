"""Cases: commands and what comes out of them, as files of tests/cases/TOPIC.

    python tests/run_cases.py [--accept] [TOPIC | TOPIC/NAME ...]

NAME.toml is a scenario whose first lines `# $ shallows ...` are the commands of the case; NAME.sh has such
commands alone, as `$ shallows ...`. `$ cat FILE` shows a file. They run in a folder that holds NAME.toml and
what TOPIC/inputs has. NAME.out is what comes out. `--accept` writes it anew, to be read before the commit. A
case whose commands print numbers says where they come from, in a line `# numbers: SOURCE`: an accepted number
is no evidence for itself.
"""

import argparse
import difflib
import importlib
import os
import re
import shlex
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

import commands
import shallows as sh
from shallows import cli

CASES = Path(__file__).with_name("cases")
FOUND = "found"
"""The topic of scenarios that went wrong, which tests/test_oracles.py tries."""
COMMAND = re.compile(r"^(?:# )?\$ (.+)$", re.MULTILINE)
NUMBERS = re.compile(r"^# numbers: \S", re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
VARIABLE = (
    (re.compile(rf"\b{re.escape(sh.__version__)}\b"), "VERSION"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "FINGERPRINT"),
    (re.compile(r"\d[\d.,]* s wall[^\n]*"), "WALL TIME"),
)
"""What differs between machines and versions, and what stands for it."""
ENVIRONMENT = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "LC_ALL": "C.UTF-8"}


def topics():
    """The names of all topics but `FOUND`."""
    return sorted(path.name for path in CASES.iterdir() if path.is_dir() and path.name != FOUND)


def cases(topic):
    """The files of the cases of a topic."""
    return sorted(path for path in (CASES / topic).iterdir() if path.suffix in (".toml", ".sh"))


def main():
    """Run cases; end with status 1 if what comes out of one is not what is on file."""
    parser = argparse.ArgumentParser(prog="run_cases", description=__doc__)
    parser.add_argument("--accept", action="store_true", help="write what comes out as what is expected")
    parser.add_argument("names", nargs="*", metavar="TOPIC/NAME")
    given = parser.parse_args()
    os.environ.update(ENVIRONMENT)
    for name in commands.PRELOAD:
        importlib.import_module(name)
    chosen = [path for name in given.names or topics() for path in _named(name)]
    faults = [fault for path in chosen if (fault := judged(path, given.accept))]
    faults += [fault for name in given.names or topics() for fault in _orphans(name)]
    print(*faults, sep="\n\n", flush=True)
    sys.exit(bool(faults))


def _named(name):
    topic, _, case = name.partition("/")
    return [path for path in cases(topic) if case in ("", path.stem)]


def _orphans(name):
    """What is expected of cases that are not there."""
    if "/" in name:
        return []
    stems = {path.stem for path in cases(name)}
    there = [path for path in (CASES / name).glob("*.out") if path.stem not in stems]
    return [f"{path.relative_to(CASES)}: expected a case {path.stem}.toml or .sh beside it" for path in there]


def judged(path, accept=False):
    """What is wrong with a case, or None."""
    text, expected, name = path.read_text(), path.with_suffix(".out"), path.relative_to(CASES)
    words = COMMAND.findall(text)
    if not words:
        return f"{name}: expected a command, such as `# $ shallows run {path.name}`"
    output, printed = outcome(path, words)
    unnamed = sorted(set(NUMBER.findall(printed)) - set(NUMBER.findall(text)))
    if unnamed and not NUMBERS.search(text):
        return f"{name} prints {', '.join(unnamed[:5])}: expected a line `# numbers: SOURCE` that says why"
    if accept:
        expected.write_text(output)
        return None
    was = expected.read_text() if expected.exists() else ""
    if was == output:
        return None
    shown = difflib.unified_diff(was.splitlines(), output.splitlines(), "expected", "came out", lineterm="")
    return "\n".join([f"{name} (python tests/run_cases.py --accept {name.with_suffix('')}):", *shown])


def outcome(path, words):
    """(all that commands of a case print, what those without an error print)."""
    with tempfile.TemporaryDirectory(prefix="case-") as made:
        folder = Path(made, "here")
        inputs = path.parent / "inputs"
        shutil.copytree(inputs, folder) if inputs.exists() else folder.mkdir()
        if path.suffix == ".toml":
            shutil.copy(path, folder)
        os.environ["XDG_STATE_HOME"] = f"{made}/state"
        parts, printed = [], []
        for command in words:
            status, *streams = _ran(shlex.split(command), folder, Path(made))
            out, err = (_constant(stream, folder) for stream in streams)
            parts += [f"$ {command}\n", out]
            parts += [f"--- on standard error\n{err}"] if err else []
            parts += [f"--- status {status}\n"] if status else []
            printed += [] if status or "--help" in command else [out]
        return "".join(parts), "".join(printed)


def _constant(text, folder):
    """A text without what differs between machines."""
    text = text.replace(str(folder.resolve()), "FOLDER").replace(str(folder), "FOLDER")
    for pattern, word in VARIABLE:
        text = pattern.sub(word, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _ran(words, folder, place):
    """(status, standard output, standard error) of a command, in a fork of this process."""
    if words[0] == "cat":
        return 0, "".join((folder / word).read_text() for word in words[1:]), ""
    if words[0] != "shallows":
        return 127, "", f"expected `shallows` or `cat`, not {words[0]}"
    sys.stdout.flush()
    paths = [place / "stdout", place / "stderr"]
    child = os.fork()
    if child == 0:
        _become(words, folder, paths)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, *(stream.read_text("utf-8", errors="replace") for stream in paths)


def _become(words, folder, paths):
    """Execute a command of Shallows in this process, and end."""
    status = 1
    try:
        for path, descriptor in zip(paths, (1, 2), strict=True):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        sys.stdout, sys.stderr = (open(to, "w", encoding="utf-8", closefd=False) for to in (1, 2))  # noqa: SIM115
        os.chdir(folder)
        sys.argv = words
        cli.main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()

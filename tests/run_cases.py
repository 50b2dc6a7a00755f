"""Cases: commands and what comes out of them, as files of tests/cases/TOPIC.

    python tests/run_cases.py [--accept] [TOPIC | TOPIC/NAME ...]

NAME.toml is a scenario whose first lines `# $ shallows ...` are the commands of the case, in which the word
CASE stands for NAME.toml; NAME.sh has such commands alone, as `$ shallows ...`. `$ cat FILE` shows a file,
`$ cat > FILE <<END` writes the lines until END, `$ COMMAND > FILE` keeps an output, `$ COMMAND | COMMAND`
reads it, and case_tools.py has what shows warnings, numbers and tables of a run. They run in a folder that
holds NAME.toml and what TOPIC/inputs has. NAME.out is what comes out. `--accept` writes it anew, to be read
before the commit. A case whose commands print numbers says where they come from, in a line
`# numbers: SOURCE`: an accepted number is no evidence for itself.
"""

import argparse
import atexit
import contextlib
import difflib
import importlib
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import traceback
from pathlib import Path
from unittest import mock

import case_tools
import commands
import shallows as sh
from shallows import cli
from shallows.algorithms import algorithm
from shallows.cli import signals
from shallows.printing import progress

CASES = Path(__file__).with_name("cases")
FOUND = "found"
"""The topic of scenarios that went wrong, which tests/test_oracles.py tries."""
COMMAND = re.compile(r"^(?:# )?\$ ([^\n]+?)(?: <<END\n(.*?^)END)?$", re.MULTILINE | re.DOTALL)
"""A command, and the lines that it reads."""
NUMBERS = re.compile(r"^# numbers: \S", re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
VARIABLE = (
    (re.compile(re.escape(", ".join(row["name"] for row in algorithm.catalog()))), "ALGORITHMS"),
    (re.compile(rf"\b{re.escape(sh.__version__)}\b"), "VERSION"),
    (re.compile(r"\b(?=\d*[a-f])[0-9a-f]{16}\b"), "FINGERPRINT"),
    (re.compile(r"\d[\d.,]* s wall[^\n]*"), "WALL TIME"),
    (re.compile(r"\bin [\d.,]+ s, [^,\n]*packet-hops/s"), "in WALL TIME"),
)
"""What differs between machines, versions and catalogs, and what stands for it."""
SILENT = dict.fromkeys(("FIRST_S", "SILENT_S", "SLOW_S"), commands.TIMEOUT_S)
"""Times after which progress is reported: no output depends on how busy the machine is."""
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
    commands = COMMAND.findall(text)
    if not commands:
        return f"{name}: expected a command, such as `# $ shallows run {path.name}`"
    output, printed = outcome(path, commands)
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


def outcome(path, commands):
    """(all that commands of a case print, what those without an error print)."""
    case_tools.begin(path.read_text())
    with tempfile.TemporaryDirectory(prefix="case-") as made:
        folder = Path(made, "here")
        inputs = path.parent / "inputs"
        shutil.copytree(inputs, folder) if inputs.exists() else folder.mkdir()
        if path.suffix == ".toml":
            shutil.copy(path, folder)
        os.environ["XDG_STATE_HOME"] = f"{made}/state"
        parts, printed = [], []
        for command, lines in commands:
            words = [path.name if word == "CASE" else word for word in shlex.split(command)]
            status, *streams = _ran(words, lines, folder, Path(made))
            out, err = (_constant(stream, folder) for stream in streams)
            out = case_tools.shown(words, out)
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


def _ran(words, lines, folder, place):
    """(status, standard output, standard error) of a command that reads `lines`, in a fork of this
    process."""
    if words[-2:-1] == [">"]:
        status, out, err = _ran(words[:-2], lines, folder, place)
        (folder / words[-1]).write_text(out)
        return status, "", err
    if "|" in words:
        at = len(words) - 1 - words[::-1].index("|")
        status, out, err = _ran(words[:at], lines, folder, place)
        last, out, more = _ran(words[at + 1 :], out, folder, place)
        return status or last, out, err + more
    if words[0] in (*case_tools.PROGRAMS, *case_tools.TOOLS):
        return case_tools.run(words, lines, folder)
    if words[0] != "shallows":
        known = ", ".join((*case_tools.TOOLS, *case_tools.PROGRAMS))
        return 127, "", f"expected `shallows` or one of {known}, not {words[0]}"
    with _outputs(place / "stdout", place / "stderr"):
        status = _status(words, folder)
    return status, *((place / name).read_text("utf-8", errors="replace") for name in ("stdout", "stderr"))


@contextlib.contextmanager
def _outputs(*paths):
    """Both outputs of this process go to files, also those of the core."""
    sys.stdout.flush()
    kept, streams = [os.dup(1), os.dup(2)], (sys.stdout, sys.stderr)
    for path, descriptor in zip(paths, (1, 2), strict=True):
        with open(path, "w") as file:
            os.dup2(file.fileno(), descriptor)
    sys.stdout, sys.stderr = (open(to, "w", encoding="utf-8", closefd=False) for to in (1, 2))  # noqa: SIM115
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = streams
        for descriptor, before in zip((1, 2), kept, strict=True):
            os.dup2(before, descriptor)
            os.close(before)


def _status(words, folder):
    """The exit status of a command, which runs in this process: a fork would take ten times as long."""
    place, arguments = os.getcwd(), sys.argv
    handlers = {number: signal.getsignal(number) for number in (*signals.ENDING, signal.SIGALRM)}
    try:
        os.chdir(folder)
        sys.argv = words
        with mock.patch.multiple(progress, **SILENT):
            cli.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        os.chdir(place)
        sys.argv = arguments
        atexit.unregister(cli._leave)  # it would end this process with the status of the command
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return 0


if __name__ == "__main__":
    main()

"""The program of the kernel world, and calls of it.

`shallows-live` (crates/live) loads eBPF programs and creates network namespaces. `make live` builds it, apart
from this package, so that the other worlds need neither clang nor root.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import PIPE
from typing import Any, cast

import numpy as np

from shallows.errors import ScenarioError

NAME = "shallows-live"
END_S = 1.5
"""How long a run may take to end after a signal."""
HEAR_S = 0.2
"""Time between two calls of `hears`."""


class Interrupted(KeyboardInterrupt):
    """A signal that came while the program ran, with its answer for what was done until then."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer


def program() -> str | Path:
    """The path of the program. Raises `ScenarioError` where it is not installed."""
    beside = Path(sys.executable).parent / NAME
    found = os.environ.get("SHALLOWS_LIVE") or (str(beside) if beside.exists() else shutil.which(NAME))
    if not found or not Path(found).exists():
        needs = "clang, libelf-dev, zlib1g-dev, libbpf-dev"
        expected = f"the program {NAME}, which `make live` builds (it needs {needs})"
        raise ScenarioError(None, None, expected)
    return found


def call(*words: str, request: Mapping[str, object] | None = None) -> int:
    """Run a command of the program on this terminal, with an optional request; return its status."""
    path, text = program(), encode(request) if request else None
    status = subprocess.run([path, *words], input=text, text=True, check=False).returncode
    if status < 0:
        said = f"{_ended(status)}; `shallows live status` says what is attached now"
        print(f"shallows: live {words[0]}: {said}", file=sys.stderr)
        return 128 - status  # as a shell reports a signal
    if status and _is_stale(path):
        print(f"shallows: expected {_rebuilt(path)}", file=sys.stderr)
    return status


def said(*words: str) -> tuple[int, list[str]]:
    """The status and the lines of a command of the program."""
    done = subprocess.run([program(), *words], stdout=PIPE, text=True, check=False)
    if done.returncode < 0:
        raise ScenarioError(f"live {words[0]}", None, f"an answer: {_ended(done.returncode)}")
    return done.returncode, done.stdout.splitlines()


def ask(request: Mapping[str, object], word: str = "run", hears: Callable[[], object] = lambda: None) -> Any:
    """The answer of the program to a request (docs/crossing.md).

    Raises `ScenarioError` with the program's message if it fails. Ctrl-C, or a `KeyboardInterrupt` of
    `hears`, which is called some times a second, ends a run early and raises `Interrupted`, or
    `KeyboardInterrupt` if the program has no answer yet.
    """
    path, interrupted = program(), False
    process = subprocess.Popen([path, word], stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True)
    with process:
        try:
            answer, said = _hearing(process, encode(request), hears)
        except KeyboardInterrupt:
            interrupted = True
            process.send_signal(signal.SIGINT)
            answer, said = _last_words(process)
    if interrupted and process.returncode:
        raise KeyboardInterrupt
    if process.returncode:
        raise failure(said.strip() or _ended(process.returncode))
    if interrupted:
        raise Interrupted(json.loads(answer))
    return json.loads(answer)


def failure(said: str) -> ScenarioError:
    """The error of a run of the program that failed, by what it said or lacked."""
    path = program()
    if _is_stale(path):
        return ScenarioError("world", "kernel", f"{_rebuilt(path)} (it said: {said})")
    return ScenarioError("world", "kernel", f"a machine that can run it ({said})")


def _hearing(process: subprocess.Popen[str], text: str, hears: Callable[[], object]) -> tuple[str, str]:
    """What the program says, with calls of `hears` until it has ended."""
    given: str | None = text
    while True:
        try:
            return process.communicate(given, timeout=HEAR_S)
        except subprocess.TimeoutExpired:
            given = None  # what it has not read yet is kept
            hears()


def _last_words(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What the program says after a signal; it is killed if it does not end. Nothing of a run outlives it."""
    try:
        return process.communicate(timeout=END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()


def _ended(status: int) -> str:
    """How the program ended, where it said nothing itself."""
    if status >= 0:
        return f"it ended with status {status}"
    try:
        return f"{NAME} was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"{NAME} was ended by signal {-status}"


def _is_stale(path: str | Path) -> bool:
    """True if the program was built from other sources than the core: it may read a request differently."""
    from shallows import _core

    answer = subprocess.run([path, "sources"], capture_output=True, text=True, check=False).stdout
    return answer.strip() != json.dumps(_core.sources())


def _rebuilt(path: str | Path) -> str:
    return f"{path} built from the sources of this package; run `make live` to rebuild it"


def encode(request: Mapping[str, object]) -> str:
    """A request in the program's format."""
    return json.dumps(request, default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(cast(Any, value)).tolist()
    raise TypeError(f"{type(value).__name__} in a request")

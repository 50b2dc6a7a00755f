"""Commands of Shallows in processes of their own that start at once, because they are forks of one server.

The server is that of `multiprocessing`. It imports what commands need once, which takes longer than most
commands. What starts Python itself, such as an interruption of imports, needs a true process.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing import forkserver
from pathlib import Path

from shallows import cli
from shallows.sweeps.executors import without_main

MAIN = "from shallows.cli import main; main()"
"""What a process of a command executes."""
COMMAND = [sys.executable, "-c", MAIN]
"""The same as a true process."""
TIMEOUT_S = 600.0
PRELOAD = [
    *(f"shallows.cli.{place.partition(':')[0]}" for place in cli.COMMANDS.values()),
    "shallows.sweeps.preload",
    "shallows.plot.kinds",
    "shallows.results.answer",
    "shallows.why.page",
    "shallows.why.report",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
]


def start_server(*more: str) -> None:
    """Start the server of this process, which also imports `more`, before a sweep starts one with less."""
    multiprocessing.get_context("forkserver").set_forkserver_preload([*PRELOAD, *more])
    forkserver.ensure_running()


class Process:
    """A started command. Its output goes to files, so that it never waits for a reader."""

    def __init__(
        self,
        *words: str | Path,
        cwd: Path,
        code: str = MAIN,
        environment: dict[str, str] | None = None,
        first: Callable[[], object] | None = None,
    ) -> None:
        """Start `code` with the arguments `words`; it calls `first` (picklable) before anything else."""
        self._folder = tempfile.TemporaryDirectory(prefix="command-")
        self._outputs = [Path(self._folder.name, name) for name in ("stdout", "stderr")]
        for path in self._outputs:
            path.touch()
        arguments = [str(word) for word in words]
        variables = {**os.environ, **(environment or {})}
        work = (code, arguments, str(cwd), variables, [str(path) for path in self._outputs], first)
        self._process = multiprocessing.get_context("forkserver").Process(target=_work, args=work)
        with without_main():
            self._process.start()
        self.args = arguments
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit status, or the negative signal; None while the command runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Like `returncode`."""
        return self._process.exitcode

    def wait(self, timeout: float = TIMEOUT_S) -> int:
        """The exit status. Raises `TimeoutExpired` after `timeout` seconds, and kills the command."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            self.send_signal(signal.SIGKILL)
            raise subprocess.TimeoutExpired(self.args, timeout, *map(Path.read_text, self._outputs))
        return self._process.exitcode

    def communicate(self, timeout: float = TIMEOUT_S) -> tuple[str, str]:
        """What the command printed on both streams, once it has ended."""
        self.wait(timeout)
        return self._outputs[0].read_text(), self._outputs[1].read_text()

    def error_lines(self) -> Iterator[str]:
        """The lines of standard error as they come, until the command ends."""
        with self._outputs[1].open() as stream:
            rest, over = "", False
            while not over:
                over = self._process.exitcode is not None
                rest += stream.read()
                *lines, rest = rest.split("\n")
                yield from lines
                time.sleep(0.002)
            if rest:
                yield rest

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the command has ended."""
        if self._process.exitcode is None:
            os.kill(self._process.pid, number)

    def kill_group(self) -> None:
        """Kill the command and the processes that it has started."""
        os.killpg(self._process.pid, signal.SIGKILL)


def run(
    *words: str | Path,
    cwd: Path,
    code: str = MAIN,
    first: Callable[[], object] | None = None,
    timeout: float = TIMEOUT_S,
    **environment: str,
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end."""
    process = Process(*words, cwd=cwd, code=code, first=first, environment=environment)
    stdout, stderr = process.communicate(timeout)
    return subprocess.CompletedProcess(process.args, process.wait(), stdout, stderr)


def _work(
    code: str,
    words: list[str],
    folder: str,
    environment: dict[str, str],
    outputs: list[str],
    first: Callable[[], object] | None,
) -> None:
    """Become what `python -c CODE WORDS` would be in `folder`."""
    os.setsid()
    for path, descriptor in zip(outputs, (1, 2), strict=True):
        os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND), descriptor)
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding=encoding, line_buffering=stream is sys.stderr)  # type: ignore[union-attr]
    # What a shell starts in the background ignores Ctrl-C; commands are to hear it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    if first is not None:
        first()
    sys.argv = ["-c", *words]
    sys.path.insert(0, "")
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})

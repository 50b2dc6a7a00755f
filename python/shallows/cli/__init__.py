"""The command line. Each command is imported when it is used.

Commands read options, call the functions of the Python API, and print. A mistake of the user is one message
on stderr with status 2. Heavy modules are imported by the command that needs them.
"""

import atexit
import fcntl
import gc
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from shallows.cli import parsing, signals

COMMANDS = {
    "run": "run:run",
    "compare": "run:compare",
    "sweep": "sweep:sweep",
    "report": "report:report",
    "why": "why:why",
    "scenarios": "catalog:scenarios",
    "cc": "catalog:cc",
    "draw": "draw:draw",
    "at": "at:at",
    "export": "export:export",
    "request": "request:request",
    "flow-session": "flow_session:flow_session",
    "results": "results:app",
    "merge": "sweep:merge",
    "judge": "judge:judge",
    "advise": "advise:advise",
    "fluid": "fluid:app",
    "settings": "fabric:app",
    "import": "importing:import_files",
    "fit": "fitting:fit",
    "schema": "catalog:schema",
    "explain": "catalog:explain",
    "live": "live:app",
    "wire": "wire:app",
}
"""The function, or the app with subcommands, of each command."""
SUMMARIES = {
    "run": "Run a scenario; print and save its results",
    "compare": "Run a scenario under several algorithms or worlds",
    "sweep": "Run it for many values and seeds, with intervals",
    "report": "Print saved results again, or write them as a page",
    "why": "Say where the time of a flow or collective went",
    "scenarios": "List the example scenarios, or print one",
    "cc": "List algorithms and markings, or show one",
    "draw": "Draw a network, or its links over time",
    "at": "Print every queue, window and rate at one time",
    "export": "Write a run for Perfetto, Wireshark or as CSV",
    "request": "Write a scenario for programs that drive its network",
    "flow-session": "A network for another program, over pipes",
    "results": "List, compare and remove saved results",
    "merge": "Put the shards of a sweep together",
    "judge": "Judge an algorithm by families of tests",
    "advise": "Recommend settings of an algorithm and its ports",
    "fluid": "Fixed points and stability from the fluid models",
    "settings": "Read, write and explain settings of switches and NICs",
    "import": "Read files of other simulators as a scenario",
    "fit": "Find costs of hosts from a table of measured times",
    "schema": "Print the JSON Schema of a scenario, for editors",
    "explain": "Say what a key, a column or a number means",
    "live": "Linux TCP under eBPF on this machine; needs root",
    "wire": "A flow between two machines over UDP",
}
"""A line of the help for each command."""
FIRST = 6
"""The commands to begin with."""


class Commands(parsing.Group):
    """The commands by name. A command that is not used is not imported, so that a run starts fast."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.commands = dict.fromkeys(COMMANDS)

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Parse the command line. Ctrl-C prints one line."""
        with _one_line():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Ctrl-C while it is imported prints one line."""
        with _one_line():
            return super().invoke(ctx)

    def format_commands(self, ctx: object, formatter: object) -> None:
        """Write the commands into the help, those to begin with first. None of them is imported."""
        lines = list(SUMMARIES.items())
        parsing.write(formatter, "Commands", dict(lines[:FIRST]))
        parsing.write(formatter, "More commands", dict(lines[FIRST:]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command with this name; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        app = found = getattr(import_module(f"shallows.cli.{module}"), name)
        if not isinstance(found, typer.Typer):
            app = parsing.App(no_args_is_help=False)
            app.command(cmd_name)(found)
        return typer.main.get_command(app)


@contextmanager
def _one_line() -> Generator[None]:
    """Print one line for an unhandled Ctrl-C: typer would print nothing."""
    try:
        yield
    except KeyboardInterrupt as when:
        from shallows.cli.status import interrupted

        raise typer.Exit(interrupted(when)) from None


app = typer.Typer(
    cls=Commands,
    help="A laboratory for datacenter congestion control.",
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line and exit with its status."""
    for name in ("stdin", "stdout", "stderr"):
        if _is_closed(name):  # by the shell (`>&-`); no other file may take its number
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), "r" if name == "stdin" else "w"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that is not UTF-8 shows what it lacks as escapes
            stream.reconfigure(errors="backslashreplace")
    # Arrow's own allocator keeps freed memory: 20 MB more in a run with a million samples.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # No command opens a window; the backend of a notebook, inherited by its shell, may be missing here.
    os.environ["MPLBACKEND"] = "agg"
    # The search for pydantic plugins takes a tenth of a short run.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Objects of modules are never garbage: a collection during imports takes as long as some imports.
    gc.set_threshold(100_000)
    signals.install()
    status: list[Any] = []
    atexit.register(_leave, status)
    try:
        app()
    except SystemExit as end:
        status.append(end.code)
        raise
    except BaseException as error:
        when = _interruption(error)
        if when is None:
            raise
        from shallows.cli.status import interrupted

        status.append(interrupted(when))
        sys.exit(status[0])


def _is_closed(name: str) -> bool:
    """Whether a standard stream cannot be used.

    The interpreter of a script that was started with a closed stream may have opened the script in its place.
    """
    stream = getattr(sys, name)
    if stream is None:
        return True
    try:
        access = fcntl.fcntl(stream.fileno(), fcntl.F_GETFL) & os.O_ACCMODE
    except (OSError, ValueError):  # a stream of Python's own, without a descriptor
        return stream.closed
    return access == (os.O_WRONLY if name == "stdin" else os.O_RDONLY)


def _interruption(error: BaseException) -> KeyboardInterrupt | None:
    """Ctrl-C, also where an error hides it: Python's of a class, and pydantic's of the schema of a model."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            return cause
        if type(cause).__name__ == "SchemaError" and "KeyboardInterrupt" in str(cause):
            return KeyboardInterrupt()
        cause = cause.__cause__
    return None


def _leave(status: list[object]) -> None:
    """Exit without freeing modules one by one, which takes long.

    If the status of the command is unknown, or its output was not flushed, Python exits in the usual way.
    """
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return
    if status and isinstance(status[0], int):
        os._exit(status[0])


def _print_version(wanted: bool) -> None:
    if wanted:
        from shallows.base.version import version

        print(f"shallows {version()}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """A laboratory for datacenter congestion control."""

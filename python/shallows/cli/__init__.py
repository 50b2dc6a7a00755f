"""The command line: where its commands are, each loaded when it is asked for.

Commands only read options, call what Python users call, and print. What goes wrong by a user's
mistake is one message on stderr and status 2; heavy modules are imported by the command that needs them.
"""

import atexit
import gc
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

COMMANDS = {
    "run": "run:run",
    "compare": "run:compare",
    "sweep": "sweep:sweep",
    "report": "report:report",
    "why": "why:why",
    "at": "at:at",
    "export": "export:export",
    "results": "results:app",
    "scenarios": "catalog:scenarios",
    "cc": "catalog:cc",
    "schema": "catalog:schema",
    "fluid": "fluid:app",
    "settings": "fabric:app",
    "papers": "papers:app",
    "live": "live:app",
}
"""A function, or an app of several, by what it is called."""


class Commands(TyperGroup):
    """The commands by name. Those that are not asked for are not imported: a run must not pay for them."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.commands = dict.fromkeys(COMMANDS)

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Reads the words of the command line; Ctrl-C meanwhile is one line."""
        with _one_line():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command that is asked for; Ctrl-C while it is loaded is one line."""
        with _one_line():
            return super().invoke(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command called so; None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        app = found = getattr(import_module(f"shallows.cli.{module}"), name)
        if not isinstance(found, typer.Typer):
            app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
            app.command(cmd_name)(found)
        return typer.main.get_command(app)


@contextmanager
def _one_line() -> Generator[None]:
    """Ctrl-C that nobody else has heard: typer would end without a word."""
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
    # Arrow's own allocator keeps what it frees: 20 MB more in a run with a million samples.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # Looking for plugins of pydantic takes a tenth of a short run.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # What modules define stays: to look through it for garbage while they load takes as long as some of them.
    gc.set_threshold(100_000)
    status: list[Any] = []
    atexit.register(_leave, status)
    try:
        app()
    except SystemExit as end:
        status.append(end.code)
        raise
    except KeyboardInterrupt as when:
        from shallows.cli.status import interrupted

        status.append(interrupted(when))
        sys.exit(status[0])


def _leave(status: list[Any]) -> None:
    """End at once after all that has to be done at an exit: to give modules back piece by piece takes long.

    Where it is not known how the command ended, or what it printed is not out, Python's own end says so.
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
        from shallows import __version__

        print(f"shallows {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """A laboratory for datacenter congestion control."""

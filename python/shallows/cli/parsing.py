"""Commands and groups of commands: how they read options, and the help of a group."""

from collections.abc import Iterable, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

SEVERAL = {
    "--cc": "`shallows compare` runs several algorithms",
    "--world": "`shallows compare` runs in several worlds",
    "--seed": "`shallows sweep --seeds 2` runs several",
    "--x": "a figure has one axis; --heatmap KEY is a second",
}
"""What to write instead of an option that is given twice."""


class Command(TyperCommand):
    """A command that refuses an option with one value if it is given twice."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of the command line."""
        if args and not ctx.resilient_parsing:
            given = self.make_parser(ctx).parse_args(args=list(args))[2]
            _refuse_repeated(ctx, given)
        return super().parse_args(ctx, args)


def _refuse_repeated(ctx: Any, given: Iterable[Any]) -> None:
    counts: dict[int, int] = {}
    for parameter in given:
        counts[id(parameter)] = counts.get(id(parameter), 0) + 1
        takes_one = parameter.param_type_name == "option" and not (parameter.multiple or parameter.is_flag)
        if takes_one and counts[id(parameter)] > 1:
            option = parameter.opts[0]
            instead = f": {SEVERAL[option]}" if option in SEVERAL else ""
            ctx.fail(f"{option} is given twice: expected one value{instead}")


class Group(TyperGroup):
    """A group of commands whose help has the first sentence of each, whole."""

    def format_commands(self, ctx: Any, formatter: object) -> None:
        """Write the commands into the help."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        summaries = {name: first_sentence(command.help) for name, command in commands.items() if command}
        write(formatter, "Commands", summaries)


def first_sentence(text: str | None) -> str:
    """The first sentence of a docstring, without its full stop."""
    return " ".join((text or "").split("\n\n")[0].split()).partition(". ")[0].removesuffix(".")


def write(formatter: Any, title: str, summaries: Mapping[str, str]) -> None:
    """Write a section of commands into a help."""
    with formatter.section(title):
        formatter.write_dl(list(summaries.items()))


class App(typer.Typer):
    """A group of commands."""

    def __init__(self, **how: Any) -> None:
        usual: dict[str, Any] = {
            "cls": Group,
            "rich_markup_mode": None,
            "no_args_is_help": True,
            "add_completion": False,
            "pretty_exceptions_enable": False,
        }
        super().__init__(**usual | how)

    def command(self, name: str | None = None, **how: Any) -> Any:  # type: ignore[override]
        """Register a command of this group."""
        how.setdefault("cls", Command)
        return super().command(name, **how)

"""The page of the command line, from the commands themselves."""

import inspect

import typer

from shallows import cli

HEAD = """\
# Commands

From this page you look up each command with its options. `shallows COMMAND --help` prints the same. Options
that take a key of a scenario (`--set KEY=VALUE`) take any [key](keys.md). After a mistake a command prints
one message and ends with status 2.
"""


def commands():
    """{words of a command: the command}, without the groups that only hold others."""
    root = typer.main.get_command(cli.app)
    found = {}
    for name in cli.COMMANDS:
        command = root.get_command(None, name)
        below = getattr(command, "commands", None)
        found |= {f"{name} {word}": one for word, one in below.items()} if below else {name: command}
    return found


def options(command):
    """(names, what it is) of each argument and option of a command, as its help says."""
    context = type(command).context_class(command, info_name="shallows")
    records = [one.get_help_record(context) for one in command.params]
    return [record for record in records if record]


def page():
    """Every command with usage, arguments and options, as Markdown."""
    lines = [HEAD, "| command | what it does |", "|---|---|"]
    lines += [f"| [`{name}`](#{_anchor(name)}) | {text} |" for name, text in cli.SUMMARIES.items()]
    shown = set()
    for words, command in commands().items():
        group = words.split()[0]
        if " " in words and group not in shown:
            lines += ["", f"## shallows {group} {{ #{group} }}", "", f"{cli.SUMMARIES[group]}."]
            shown.add(group)
        lines += ["", *_command(words, command)]
    return "\n".join(lines) + "\n"


def _anchor(words):
    return words.replace(" ", "-")


def _command(words, command):
    context = type(command).context_class(command, info_name=f"shallows {words}")
    level = "###" if " " in words else "##"
    yield f"{level} shallows {words} {{ #{_anchor(words)} }}"
    yield from ("", "```text", command.get_usage(context).removeprefix("Usage: "), "```", "")
    yield from (inspect.cleandoc(command.help or "").replace("\b\n", ""), "")
    records = options(command)
    if records:
        yield from ("| option | meaning |", "|---|---|")
    for names, text in records:
        shown = names if "`" in names else f"`{names}`"
        yield f"| {shown} | {text.replace('<', '&lt;')} |"

"""`shallows live`: what this machine can do in the kernel world, and an algorithm on its real connections."""

from typing import Annotated

import typer

app = typer.Typer(
    help="The kernel world on this machine: real Linux TCP under eBPF. Needs root.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def check():
    """Say what this machine has of what the kernel world needs; status 2 if something is missing."""
    raise typer.Exit(_call("check"))


@app.command()
def attach(
    cc: Annotated[str, typer.Argument(metavar="NAME", help="dx, dctcp or inigo, or a preset of one.")],
    iface: Annotated[str, typer.Option(metavar="DEVICE", help="The network device the packets take.")],
    cgroup: Annotated[
        str | None, typer.Option(metavar="DIR", help="Only for sockets of this control group.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter: headroom=30us.")
    ] = None,
):
    """Put an algorithm in force for this host's new connections. `detach` takes it off again."""
    from shallows.algorithm import choose
    from shallows.units import Frame

    def request():
        parameters = dict(text.split("=", 1) for text in set_ or [])
        return {
            "control": choose({"name": cc, **parameters}, Frame(1500, 1460)).crossing,
            "interface": iface,
            "control_group": cgroup,
        }

    raise typer.Exit(_call("attach", request=request))


@app.command()
def detach():
    """Take off what `attach` put in force, and remove what killed runs have left behind."""
    raise typer.Exit(_call("detach"))


def _call(word, request=None):
    import sys

    from shallows import live
    from shallows.errors import ScenarioError

    try:
        return live.call(word, request=request and request())
    except ScenarioError as error:
        print(f"shallows: {error}", file=sys.stderr)
        return 2

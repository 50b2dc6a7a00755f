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
    cc: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="dx, dctcp or inigo, or a preset of one.")
    ] = None,
    *,
    iface: Annotated[str, typer.Option(metavar="DEVICE", help="The network device the packets take.")],
    cgroup: Annotated[
        str | None, typer.Option(metavar="DIR", help="Only for sockets of this control group.")
    ] = None,
    receiver: Annotated[
        str | None, typer.Option(metavar="NAME", help="inigo: slows down whoever sends to this host.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter: headroom=30us, receiver.mark=true."),
    ] = None,
):
    """Put an algorithm, a receiver or both in force for new connections. `detach` takes them off again."""
    raise typer.Exit(_call("attach", request=lambda: _attachment(cc, receiver, set_ or [], iface, cgroup)))


def _attachment(cc, receiver, settings, iface, cgroup):
    from shallows.algorithm import choose
    from shallows.errors import ScenarioError
    from shallows.units import Frame
    from shallows.worlds.kernel import check_receiver

    if cc is None and receiver is None:
        raise ScenarioError("NAME", None, "an algorithm, or --receiver inigo, or both")
    parameters = dict(text.split("=", 1) for text in settings)
    own = {key: value for key, value in parameters.items() if not key.startswith("receiver.")}
    told = {key.removeprefix("receiver."): value for key, value in parameters.items() if key not in own}
    table = {"name": cc or "cubic", **own}
    if receiver:
        table["receiver"] = {"resolution": "1ms", **told, "kind": receiver}
    chosen = choose(table, Frame(1500, 1460))
    check_receiver(chosen.receiver)
    request = {**chosen.crossing, "interface": iface, "control_group": cgroup}
    control = {"name": request.pop("name"), "parameters": request.pop("parameters")}
    return {**request, "control": control if cc else None}


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

"""`shallows live`: what this machine can do in the kernel world."""

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


def _call(*words):
    import sys

    from shallows import live
    from shallows.errors import ScenarioError

    try:
        return live.call(*words)
    except ScenarioError as error:
        print(f"shallows: {error}", file=sys.stderr)
        return 2

"""`shallows import`: files of other simulators as a scenario."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from shallows.cli import completion
from shallows.cli.status import DONE, with_status


@with_status
def import_files(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…",
            help=".cm, .topo, .goal, .et, .json, .csv, .parquet, or files of the HPCC simulator.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The scenario to write, a .toml file.")
    ] = Path("imported.toml"),
    on: Annotated[
        str | None,
        typer.Option(
            metavar="SCENARIO",
            autocompletion=completion.scenarios,
            help="A scenario whose network, hosts and algorithm are used where the files have none.",
        ),
    ] = None,
    time_unit: Annotated[
        Literal["ps", "ns", "us", "ms", "s"] | None,
        typer.Option(help="The unit of times in files that state none, such as .cm."),
    ] = None,
    cc: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=completion.algorithms,
            help="The algorithm; by default that of --on, or dcqcn.",
        ),
    ] = None,
    load: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="The load of flows that arrive with imported sizes, such as 0.3."),
    ] = None,
) -> int:
    """Write files of htsim, the HPCC simulator, LogGOPSim or Chakra, or tables of flows, as a scenario."""
    from shallows.base import names
    from shallows.importers import write

    written = write(paths, out, on=on, time_unit=time_unit, cc=cc, load=load)
    for text in written.assumed:
        print(f"assumed: {names.line(text)}", file=sys.stderr)
    for text in written.left_out:
        print(f"not expressed: {names.line(text)}", file=sys.stderr)
    hosts, flows = written.scenario.graph.hosts, len(written.scenario.flows)
    print(f"written {', '.join(map(str, written.paths))}: {flows} flows, {hosts} hosts")
    return DONE

"""`shallows export`: a run as a timeline for Perfetto, a capture for Wireshark, or tables of text."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from shallows.cli.at import Ports
from shallows.cli.settings import Result, Trust
from shallows.cli.status import DONE, with_status

Time = Annotated[str | None, typer.Option(metavar="TIME", help="Such as 3ms; the whole run if absent.")]


@with_status
def export(
    result: Result,
    perfetto: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A trace for ui.perfetto.dev: flows, queues, marks.")
    ] = None,
    pcap: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A capture (pcapng) at --port, for Wireshark.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Frames, events, flows and probes as CSV.")
    ] = None,
    fct: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Completion times as in fct.txt of the HPCC simulator."),
    ] = None,
    port: Ports = None,
    flow: Annotated[
        list[int] | None,
        typer.Option("--flow", metavar="F", help="Only these flows as tracks, with samples."),
    ] = None,
    since: Time = None,
    until: Time = None,
    every: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Interval between samples of senders; by default a thousandth of the span."
        ),
    ] = None,
    trust: Trust = False,
) -> int:
    """Write a run for other tools. For all but --fct it runs again, with taps on its ports."""
    from shallows.base import extras
    from shallows.errors import ScenarioError
    from shallows.export import fct as times
    from shallows.export import tables
    from shallows.results import files
    from shallows.runs import Run

    if not (perfetto or pcap or csv or fct):
        raise ScenarioError("export", "to nothing", "--perfetto FILE, --pcap FILE, --csv DIR or --fct FILE")
    if pcap and not port:
        raise ScenarioError(
            "export", "--pcap", '--port too: the ports to capture at, such as --port "s0->h0"'
        )
    if perfetto or pcap:
        extras.need("export", "export")
    for file, kind in ((perfetto, files.TRACE), (pcap, files.CAPTURE), (fct, times.KIND)):
        if file:
            files.check(file, kind)
    if csv:
        tables.check(csv)
    run = Run.load(result)
    if fct:
        print(f"written {times.write(run, fct)}", file=sys.stderr)
    if not (perfetto or pcap or csv):
        return DONE
    taps = run.taps(port, flows=flow, since=since, until=until, every=every, nics=bool(perfetto))
    for written, file in ((taps.perfetto, perfetto), (taps.pcap, pcap), (taps.csv, csv)):
        if file:
            print(f"written {written(file)}", file=sys.stderr)
    return DONE

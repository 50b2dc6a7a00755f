"""`shallows at`: a snapshot of a run."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shallows.cli.output import Json, print_json
from shallows.cli.settings import Result, Trust
from shallows.cli.status import DONE, with_status

if TYPE_CHECKING:
    from shallows.printing.report import Part
    from shallows.why.snapshot import Snapshot

MOST = 12
"""Rows of a table for which no port or flow was named."""

Ports = Annotated[
    list[str] | None, typer.Option("--port", metavar="P", help='A port, or a pattern: "agg*->*".')
]


@with_status
def at(
    result: Result,
    time: Annotated[str, typer.Argument(metavar="TIME", help='A simulated time such as "3.2ms".')],
    port: Ports = None,
    flow: Annotated[list[int] | None, typer.Option("--flow", metavar="F", help="A flow's number.")] = None,
    json_: Json = False,
    trust: Trust = False,
) -> int:
    """Run RESULT's scenario again and print every queue, window, rate and pause as it was at TIME."""
    from shallows.printing.report import print_parts
    from shallows.runs import Run
    from shallows.why.selection import flows, ports

    run = Run.load(result)
    scenario = run.scenario
    links, numbers = ports(scenario, port), flows(scenario, flow)
    moment = run.at(time)
    if json_:
        print_json("at", _as_json(moment, links, numbers))
    else:
        print_parts(_report(moment, links, numbers))
    return DONE


def _as_json(moment: "Snapshot", links: list[int] | None, numbers: list[int] | None) -> dict[str, object]:
    """Everything, or the named ports and flows, as JSON."""
    ports, flows, packets = moment.ports, moment.flows, moment.packets
    if links is not None:
        ports = ports.iloc[links]
        packets = packets[packets.port.isin(ports.port)]
    if numbers is not None:
        flows, packets = flows.iloc[numbers], packets[packets.flow.isin(numbers)]
    tables = {"ports": ports, "flows": flows, "packets": packets}
    rows = {name: json.loads(table.to_json(orient="records")) for name, table in tables.items()}
    return {"time_ps": moment.time_ps, "fingerprint": moment.fingerprint, **rows}


def _report(moment: "Snapshot", links: list[int] | None, numbers: list[int] | None) -> "list[Part]":
    """The report for a terminal: the busiest ports and flows first."""
    parts: list[Part] = [_heading(moment)]
    if numbers is None or links is not None:
        parts += ["", *_ports(moment, links)]
    if links is None or numbers is not None:
        parts += ["", *_flows(moment, numbers)]
    if links is not None or numbers is not None:
        parts += ["", *_packets(moment, links, numbers)]
    return parts


def _heading(moment: "Snapshot") -> str:
    from shallows.units import TIME

    packets, states = moment.packets, moment.flows.state.value_counts()
    of = ", ".join(f"{count} {state}" for state, count in states.items())
    queued = int((packets.place != "flying").sum())
    return (
        f"{moment.scenario.name} at {TIME.text(moment.time_ps)}: {len(packets)} packets in flight, "
        f"{queued} of them in queues; flows: {of}"
    )


def _ports(moment: "Snapshot", links: list[int] | None) -> "list[Part]":
    from shallows.printing.report import plain_table

    ports = moment.ports
    mine = ports if links is None else ports.iloc[links]
    mine = mine.sort_values(["queue_bytes", "wire_bytes"], ascending=False, kind="stable")
    wanted = len(mine)
    if wanted > MOST:
        mine = mine[(mine.queue_frames > 0) | (mine.wire_frames > 0) | mine.paused | mine.down]
    if links is None:
        mine = mine.head(MOST)
    rest = wanted - len(mine)
    table = plain_table("port", ["queue (frames)", "(B)", "on the wire (frames)", "(B)", "state"])
    for row in mine.itertuples():
        state = ", ".join(name for name, is_so in (("paused", row.paused), ("down", row.down)) if is_so)
        counts = (row.queue_frames, row.queue_bytes, row.wire_frames, row.wire_bytes)
        table.add_row(row.port, *map(str, counts), state)
    return [table, *([f"and {rest} others, less busy: use --port NAME"] if rest else [])]


def _flows(moment: "Snapshot", numbers: list[int] | None) -> "list[Part]":
    from shallows.printing.report import plain_table

    flows = moment.flows
    live = flows[~flows.state.isin(("to come", "finished"))]
    mine = live.head(MOST) if numbers is None else flows.iloc[numbers]
    known = [name for name in moment.probe_names if mine[name].notna().any()]
    titles = ["from", "to", "state", "waits for", "delivered (B)", "of", "in flight (pkt)", *known]
    table = plain_table("flow", titles)
    for row in mine.itertuples():
        values = [getattr(row, name) for name in ("delivered_bytes", "bytes", "in_flight_pkt", *known)]
        table.add_row(str(row.flow), row.src, row.dst, row.state, row.waits_for or "-", *map(_number, values))
    rest = len(live) - len(mine) if numbers is None else 0
    return [table, *([f"and {rest} others not finished: use --flow NUMBER"] if rest > 0 else [])]


def _number(value: Any) -> str:
    import pandas

    if pandas.isna(value):
        return "-"
    return f"{value:.4g}" if isinstance(value, float) and not value.is_integer() else f"{int(value)}"


def _packets(moment: "Snapshot", links: list[int] | None, numbers: list[int] | None) -> "list[Part]":
    """Packets by port and flow, of the named flows and ports."""
    from shallows.printing.report import plain_table

    packets = moment.packets
    if links is not None:
        packets = packets[packets.port.isin(moment.ports.port.iloc[links])]
    if numbers is not None:
        packets = packets[packets.flow.isin(numbers)]
    table = plain_table("packets at", ["flow", "what", "where", "packets", "B"])
    groups = packets.groupby(["port", "flow", "kind", "place"], sort=False, dropna=False)
    for (port, flow, kind, place), its in groups:
        table.add_row(port, _number(flow), kind, place, str(len(its)), str(its.length.sum()))
    return [table] if len(packets) else ["no packets there"]

"""`shallows wire`: one flow of any algorithm between two machines, as ordinary users."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from shallows.cli.output import Json, print_json, text
from shallows.cli.parsing import App
from shallows.cli.status import DONE, FAILED, INTERRUPTED, with_status
from shallows.results import files

app = App(help="A flow of any algorithm between two machines, over UDP. Needs no root.")
Token = Annotated[str, typer.Option(help="A word that both ends know; needed beyond this machine.")]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="Save what was seen, as JSON.")]


@app.command()
@with_status
def receive(
    listen: Annotated[
        str, typer.Option(metavar="ADDRESS[:PORT]", help="Where to listen; only this machine by default.")
    ] = "127.0.0.1",
    token: Token = "",
    once: Annotated[bool, typer.Option("--once", help="End after one flow.")] = False,
    out: Out = None,
    json_: Json = False,
) -> int:
    """Receive flows, one after the other, until Ctrl-C."""
    from shallows.worlds import wire_flow

    if out:
        files.check(out, files.MEASURED)
    where = wire_flow.address(listen)
    with wire_flow.Receiver(where, token, _log) as receiver:
        _log(f"listening on {where[0]}:{where[1]}")
        while True:
            seen = receiver.next()
            _tell(seen, out, json_)
            if once or seen["interrupted"]:
                return _status(seen)


@app.command()
@with_status
def send(
    host: Annotated[str, typer.Argument(metavar="HOST[:PORT]", help="A machine that receives.")],
    cc: Annotated[
        str, typer.Option(metavar="NAME", help="An algorithm, a preset, or a class: ./mine.py:Aimd.")
    ],
    size: Annotated[str, typer.Option(help="How much; 0B sends until the time is over.")] = "0B",
    seconds: Annotated[float, typer.Option(help="The longest time.")] = 10.0,
    rate_limit: Annotated[str, typer.Option(help="Rate of the path, and of the NIC.")] = "100Mbps",
    token: Token = "",
    out: Out = None,
    json_: Json = False,
) -> int:
    """Send one flow to HOST, and tell what both ends have seen."""
    from shallows.algorithms import trust
    from shallows.algorithms.algorithm import choose
    from shallows.units import RATE, SIZE
    from shallows.worlds import wire_flow

    if out:
        files.check(out, files.MEASURED)
    used = choose({"name": trust.named(cc)}, wire_flow.FRAME)
    seen = wire_flow.send(
        wire_flow.address(host),
        used,
        size=SIZE.parse(size),
        rate_bps=RATE.parse(rate_limit),
        seconds=seconds,
        token=token,
    )
    _tell(seen, out, json_)
    return _status(seen)


@app.command()
@with_status
def host(
    credits: Annotated[int, typer.Option(min=1000, help="Credits for each row.")] = 25_000,
    interval: Annotated[str, typer.Option(help="Time between two credits.")] = "120us",
    json_: Json = False,
) -> int:
    """Measure how fast and evenly a host in user space works on this machine, beside the papers' hosts."""
    from shallows.units import TIME
    from shallows.worlds import wire_host

    found = wire_host.measure(credits, TIME.parse(interval) // 1000)
    if json_:
        print_json("host", asdict(found) | {"is_busy": found.is_busy})
    else:
        print(wire_host.table(found))
    return DONE


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _status(seen: dict[str, object]) -> int:
    return INTERRUPTED if seen["interrupted"] else FAILED if seen["lost_peer"] else DONE


def _tell(seen: dict[str, object], out: Path | None, json_: bool) -> None:
    if out:
        files.write_text(out, text("wire", seen) + "\n", files.MEASURED)
    if json_:
        print_json("wire", seen)
    else:
        print(table(seen), flush=True)


def table(seen: dict[str, Any]) -> str:
    """What an end has seen, as lines."""
    took = ((seen["finish_us"] or 1e6 * seen["duration_s"]) - (seen["start_us"] or 0)) / 1e6
    lines = [f"base round trip  {seen['base_rtt_us']:.0f} us"]
    if "delivered_bytes" in seen:
        mbps = seen["delivered_bytes"] * 8e-6 / took if took > 0 else 0.0
        (least, mean, most), packets, marked = seen["delay_us"], seen["packets"], seen["marked"]
        lines += [
            f"delivered        {seen['delivered_bytes']:,} B in {took:.3f} s: {mbps:.2f} Mbps",
            f"packets          {packets:,}, {marked:,} marked, reordering {seen['reordering']}",
            f"one-way delay    {least:.0f} us at least, {mean:.0f} us on average, {most:.0f} us at most",
        ]
    if seen["srtt_mean_us"]:
        lines.append(
            f"round trip       {seen['srtt_mean_us']:.0f} us on average, {seen['srtt_max_us']:.0f} us at most"
        )
    lines += [
        f"repairs          {seen['retransmits']:,} retransmissions, {seen['timeouts']:,} timeouts",
        f"datagrams        {seen['datagrams_sent']:,} sent, {seen['datagrams_received']:,} received,"
        f" {seen['datagrams_rejected']:,} rejected",
    ]
    if seen["datagrams_refused"]:
        lines.append(
            f"not sent         {seen['datagrams_refused']:,} datagrams, which this machine refused to send"
        )
    if seen["interrupted"]:
        lines.append(f"INTERRUPTED at {seen['duration_s']:.3f} s")
    if seen["lost_peer"]:
        lines.append("THE OTHER END FELL SILENT: this is what was measured until then")
    return "\n".join(lines)

"""`shallows live`: the kernel world on this machine, and algorithms on its real connections."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from shallows.cli.output import Json, print_json
from shallows.cli.parsing import App
from shallows.cli.settings import at_least, settings

EXAMPLE = "headroom=30us"

app = App(
    help="The kernel world on this machine: real Linux TCP under eBPF. Needs root.",
)


@app.command()
def check(json_: Json = False) -> None:
    """Say what this machine has of what the kernel world needs; status 2 if something is missing."""
    raise typer.Exit(_explained(_check) if json_ else _call("check"))


def _check() -> int:
    """Print what the program says as JSON: `{requirement: what is needed, or null}`."""
    from shallows.worlds import live

    status, lines = live.said("check")
    kernel, *things = lines
    # A name has ten columns, then comes "yes", or "no: needs " with what is missing.
    needs = {line[:10].strip(): line[11:].partition("no: needs ")[2] or None for line in things}
    data = {"kernel": kernel.removeprefix("kernel "), "complete": status == 0, "needs": needs}
    print_json("live-check", data)
    return status


@app.command()
def run(
    cc: Annotated[str, typer.Argument(metavar="NAME", help="dx, dctcp, inigo, reno, cubic or bbr.")],
    seconds: Annotated[float, typer.Option(callback=at_least(0.1), help="How long.")] = 2.0,
    rate: Annotated[
        str, typer.Option(help="Rate limit of the sender, so that no queue builds; 0bps is no limit.")
    ] = "100Mbps",
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter.")] = None,
    json_: Json = False,
) -> None:
    """Join two hosts by a cable, let iperf3 run between them, and tell what stamps and the kernel saw."""
    raise typer.Exit(_explained(lambda: _report(_two_hosts(cc, seconds, rate, set_), json_)))


class Delay(TypedDict):
    """Quantiles of a delay over acknowledgements."""

    count: int
    std_us: float
    p50_us: float
    p99_us: float
    max_us: float


class CableReport(TypedDict):
    """The answer of shallows-live about a cable between two hosts."""

    congestion_control: str
    traffic: str
    goodput_bps: float
    retransmits: int
    checksum_errors: int
    one_way_delay: Delay | None
    kernel_rtt: Delay | None


def _two_hosts(cc: str, seconds: float, rate: str, set_: list[str] | None) -> CableReport:
    import shutil
    import sys

    from shallows.algorithms.algorithm import choose
    from shallows.errors import ScenarioError
    from shallows.units import RATE, Frame
    from shallows.worlds import kernel_programs, live, machine

    there = shutil.which("iperf3") is not None
    if not there:
        print(
            "no iperf3 on the PATH (Debian's package iperf3): using a built-in traffic source",
            file=sys.stderr,
        )
    parameters = {**kernel_programs.on_a_host(cc), **settings(set_, EXAMPLE)}
    control = choose({"name": cc, **parameters}, Frame(1500, 1460)).to_core()
    try:
        rate_bps = int(RATE.amount(rate))
    except ValueError as error:
        raise ScenarioError("--rate", rate, str(error)) from None
    cable = {"control": control, "seconds": seconds, "rate_bps": rate_bps, "iperf3": there}
    live.program()
    with machine.alone():
        return live.ask(cable, "two-hosts")


def _report(report: CableReport, as_json: bool) -> int:
    if as_json:
        print_json("live-run", report)
        return 0
    print(f"{report['congestion_control']}, {report['traffic']} traffic, a cable between two hosts")
    print(f"goodput     {report['goodput_bps'] / 1e6:.1f} Mbps, {report['retransmits']} retransmits")
    print(f"checksums   {report['checksum_errors']} errors, computed in software")
    for title, delay in (("one-way", report["one_way_delay"]), ("kernel RTT", report["kernel_rtt"])):
        if delay:
            spread = f"p50 {delay['p50_us']:.1f}, p99 {delay['p99_us']:.1f}, max {delay['max_us']:.1f}"
            print(f"{title:<12}std {delay['std_us']:.2f}, {spread} us over {delay['count']} acks")
    if report["one_way_delay"] is None:
        print("one-way     no stamps: only dx takes them")
    return 0


@app.command()
def attach(
    cc: Annotated[
        str | None, typer.Argument(metavar="NAME", help="dx, dctcp or inigo, or a preset of one.")
    ] = None,
    *,
    iface: Annotated[str, typer.Option(metavar="DEVICE", help="The network device the packets take.")],
    cgroup: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Only for sockets of this control group; absent, of the whole host."
        ),
    ] = None,
    host: Annotated[
        bool, typer.Option("--host", help="For every new connection of this host, without asking.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be changed, and change nothing.")
    ] = False,
    receiver: Annotated[
        str | None, typer.Option(metavar="NAME", help="inigo: limits the senders to this host.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter: headroom=30us, receiver.mark=true."),
    ] = None,
) -> None:
    """Put an algorithm, a receiver or both in force for new connections. `detach` takes them off again.

    Without --cgroup it concerns every new connection of this host: it then asks first, or wants --host.
    """

    def request() -> dict[str, object]:
        attachment = _attachment(cc, receiver, set_, iface)
        whole = cgroup is None and (host or dry_run or _agreed_to_whole_host(cc or f"{receiver}'s receiver"))
        # The program may change its mounts, and with them its working directory.
        group = cgroup and str(Path(cgroup).absolute())
        return {**attachment, "control_group": group, "host": whole, "dry_run": dry_run}

    raise typer.Exit(_call("attach", request=request))


def _agreed_to_whole_host(what: str) -> bool:
    """Ask at a terminal; without one the option must be given. Raises `ScenarioError`."""
    import sys

    from shallows.errors import ScenarioError

    question = f"This gives {what} to every new connection of this host. Go on?"
    if sys.stdin.isatty() and typer.confirm(question, err=True):
        return True
    raise ScenarioError("attach", None, "--cgroup DIR, or --host for every new connection of this host")


def _attachment(
    cc: str | None, receiver: str | None, set_: list[str] | None, iface: str
) -> dict[str, object]:
    from shallows.algorithms.algorithm import choose
    from shallows.errors import ScenarioError
    from shallows.units import Frame
    from shallows.worlds.kernel import check_receiver
    from shallows.worlds.kernel_programs import OWN, on_a_host

    if cc is None and receiver is None:
        raise ScenarioError("NAME", None, "an algorithm, or --receiver inigo, or both")
    parameters = settings(set_, EXAMPLE)
    own = {key: value for key, value in parameters.items() if not key.startswith("receiver.")}
    of_receiver = {
        key.removeprefix("receiver."): value for key, value in parameters.items() if key not in own
    }
    table: dict[str, object] = {"name": cc or OWN, **on_a_host(cc or OWN), **own}
    if receiver:
        table["receiver"] = {"resolution": "1ms", **of_receiver, "kind": receiver}
    chosen = choose(table, Frame(1500, 1460))
    check_receiver(chosen.receiver)
    control: dict[str, object] = {**chosen.to_core(), "interface": iface}
    request = {key: control.pop(key) for key in ("receiver", "interface")}
    return {**request, "control": control if cc else None}


@app.command()
def detach(
    force: Annotated[
        bool, typer.Option("--force", help="Also if the device cannot be found: print what remains on it.")
    ] = False,
) -> None:
    """Take off what `attach` put in force, and remove what killed runs have left behind.

    From any network namespace. Status 2 with a sentence where something is left.
    """
    raise typer.Exit(_call("detach", *["--force"] * force))


@app.command()
def status() -> None:
    """Say what `attach` has put in force: for whom, on which device, and what the device had before."""
    raise typer.Exit(_call("status"))


def _call(*words: str, request: Callable[[], dict[str, object]] | None = None) -> int:
    from shallows.worlds import live

    return _explained(lambda: live.call(*words, request=request() if request else None))


def _explained(command: Callable[[], int]) -> int:
    """The status of the command; 2 with a message if it fails."""
    import sys

    from shallows.errors import ScenarioError

    try:
        return command()
    except ScenarioError as error:
        print(f"shallows: {error}", file=sys.stderr)
        return 2

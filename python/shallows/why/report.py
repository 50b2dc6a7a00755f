"""What a person reads about why flows were slow: where the time went, and whose fault that was."""

from shallows.report import plain_table
from shallows.why.causes import CAUSES, WAITS

MOST = 5
"""Culprits told of each kind."""


def of_paths(paths):
    """One flow in full, several one by one in a line and then together."""
    if len(paths) == 1:
        one = next(iter(paths.values()))
        return [_heading(one), *_before(one, paths.record), _causes(one), *_culprits(one, paths.record)]
    table = plain_table("flow", ["fct (us)", "ideal (us)", "slowdown", "most of it"])
    for one in paths.values():
        told = [_us(one.fct_ps), _us(one.ideal_ps), f"{one.fct_ps / one.ideal_ps:.2f}", _most(one)]
        table.add_row(str(one.flow), *told)
    return [table, "", _causes(paths), *_culprits(paths, paths.record)]


def _us(ps):
    return f"{ps / 1e6:.2f}"


def _heading(one):
    slowdown = f"{one.fct_ps / one.ideal_ps:.2f}" if one.ideal_ps else "-"
    return (
        f"flow {one.flow}: {_us(one.fct_ps)} us from {_us(one.start_ps)} us on, "
        f"{_us(one.ideal_ps)} us on the empty path, slowdown {slowdown}"
    )


def _before(one, record):
    """What it waited for before it began."""
    return [
        f"before      {_us(piece.length_ps)} us: "
        + ("the application" if piece.flow is None else f"flow {piece.flow}, from its start until it ended")
        for piece in one.before
    ]


def _most(one):
    return ", ".join(
        f"{CAUSES[cause].title} {length / one.fct_ps:.0%}"
        for cause, length in list(one.by_cause().items())[:3]
    )


def _causes(one):
    """Time by cause: of one path or of several, and of the same on empty paths."""
    ideal, sums = {}, one.by_cause()
    for path in one.values() if hasattr(one, "values") else [one]:
        for piece in path.ideal:
            ideal[piece.cause] = ideal.get(piece.cause, 0) + piece.length_ps
    total = sum(sums.values())
    table = plain_table("where the time went", ["us", "share", "ideal (us)", "", ""])
    table.columns[-1].justify = "left"
    for cause, length in sums.items():
        known = _us(ideal[cause]) if cause in ideal else "-"
        table.add_row(
            CAUSES[cause].title, _us(length), f"{length / total:.1%}", known, "", CAUSES[cause].meaning
        )
    table.add_row("sum", _us(total), "100.0%", _us(sum(ideal.values())), "", "exact, in picoseconds")
    return table


def _culprits(one, record):
    """The ports where it waited, and the flows that were sent first."""
    total = sum(one.by_cause().values())
    found = []
    kinds = ("port", one.by_port(*WAITS), record.names.__getitem__), ("flow", one.by_flow(), _flow(record))
    for title, sums, name in kinds:
        if sums:
            table = plain_table(f"waited at {title}" if title == "port" else "behind flow", ["us", "share"])
            for key, length in list(sums.items())[:MOST]:
                table.add_row(name(key), _us(length), f"{length / total:.1%}")
            if len(sums) > MOST:
                rest = sum(list(sums.values())[MOST:])
                table.add_row(f"{len(sums) - MOST} others", _us(rest), f"{rest / total:.1%}")
            found += ["", table]
    return found


def _flow(record):
    """What a person reads for another flow."""
    flows, hosts = record.scenario.flows, record.scenario.wiring.host_names

    def name(flow):
        size = int(flows.bytes[flow])
        told = f"{size / 1000:.1f} KB" if size else "no end"
        return f"{flow}: {hosts[flows.src[flow]]} to {hosts[flows.dst[flow]]}, {told}"

    return name

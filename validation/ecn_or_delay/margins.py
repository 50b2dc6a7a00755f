"""Fig. 3 and 11: phase margins by the paper's own linearisation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from shallows.fluid import Dcqcn, Model, PatchedTimely
from shallows.fluid.linear import Linear
from shallows.fluid.published import linearise_as_published, taylor_dcqcn
from validation.claim import Band, Mutation, Plot, below, near, within
from validation.ecn_or_delay.paper import ECN_OR_DELAY

if TYPE_CHECKING:
    from validation.lab import Lab

M = TypeVar("M", bound=Model)
Table = Mapping[tuple[int, int], float]
"""(flows, delay in us) -> degrees, from the authors' data."""
MANY = (2, 3, 4, 5, 6, 8, 10, 11, 12, 15, 20, 25, 30, 36, 38, 40, 50, 60, 70, 80, 90, 100)
DELAYS_US = (0, 50, 100)
TAYLOR = "Equations at 40 Gbps by the paper's own linearisation, Taylor at eq. 14's p*; the published margins are the authors' data."


def phase_margin(linearised: Callable[[M], Linear], model: M) -> float:
    """The phase margin of a model in degrees."""
    return linearised(model).loop().margins().phase_margin_deg


def margins(lab: "Lab", linearised: Callable[[M], Linear], model: M, flows: Sequence[int] = MANY) -> None:
    """Stores and draws the phase margins over `flows` at every delay."""
    for delay in DELAYS_US:
        found: list[float] = []
        for count in flows:
            at = replace(lab.fluid(model), flows=count, delay=delay * 1e-6)
            found.append(phase_margin(linearised, at))
            lab.say(f"{count} flows, {delay} us", found[-1])
        lab.say(f"least of all, {delay} us", min(found))
        lab.curve(f"{delay} us", flows, found)


def bands_of(table: Table, by: float = 0.5) -> list[Band]:
    """A band for each published margin."""
    return [
        near(f"{n} flows, {delay} us", degrees, by=by, unit="°", read="data", domain="signed")
        for (n, delay), degrees in table.items()
    ]


def plot_of(table: Table) -> Plot:
    """Margins over flows, with the published points."""
    printed = {
        f"{delay} us": [(n, degrees) for (n, at), degrees in table.items() if at == delay]
        for delay in DELAYS_US
        if any(at == delay for _, at in table)
    }
    return Plot("flows", "phase margin (°)", printed=printed)


FIG3A: Table = {
    (2, 0): 26.62, (10, 0): 4.76, (40, 0): 27.37, (2, 50): 8.26, (10, 50): -6.58, (40, 50): 15.73,
    (2, 100): -10.10, (10, 100): -17.93, (40, 100): 4.09, (20, 50): -0.95, (100, 100): 23.14,
}  # fmt: skip


@ECN_OR_DELAY.figure("Fig. 3a", "DCQCN's phase margin", setting=TAYLOR, seeds=1, plot=plot_of(FIG3A))
def fig3a(lab: "Lab") -> None:
    margins(lab, taylor_dcqcn, Dcqcn())


fig3a.claim(
    "ED3",
    "DCQCN's phase margin falls with the delay, and is least at about ten flows.",
    source="Fig. 3a, §3.2",
    tolerance="T1: deterministic, 0.5°",
    bands=[
        *bands_of(FIG3A),
        below("10 flows, 0 us", "2 flows, 0 us"),
        below("10 flows, 0 us", "40 flows, 0 us"),
    ],
    mutation=Mutation({"dcqcn.r_ai": "50Mbps"}, "10 flows, 0 us"),
    differs="Linearised exactly, 2, 10 and 64 flows have 8.5, 1.9 and 19.5° at 50 us, not 8.3, -6.6 and 29.6: the same valley, less deep.",
)

FIG3B: Table = {(2, 0): 58.4, (2, 50): 39.1, (2, 100): 19.9, (36, 0): 13.5, (36, 50): 6.9, (36, 100): 0.29}


@ECN_OR_DELAY.figure(
    "Fig. 3b", "DCQCN's phase margin with a slower increase", setting=TAYLOR + " R_AI is 10 Mbps.", seeds=1, plot=plot_of(FIG3B)
)  # fmt: skip
def fig3b(lab: "Lab") -> None:
    margins(lab, taylor_dcqcn, Dcqcn(r_ai=10e6))
    for delay in DELAYS_US:
        defaults = (Dcqcn(flows=n, delay=delay * 1e-6) for n in MANY)
        lab.say(
            f"least of all by default, {delay} us",
            min(phase_margin(taylor_dcqcn, model) for model in defaults),
        )


fig3b.claim(
    "ED4",
    "A slower additive increase (10 Mbps) stabilises: the least margin of any number of flows rises.",
    source="Fig. 3b, §3.2",
    tolerance="T1: deterministic, 0.5°; the least margins at 50 us are above 0",
    bands=[
        *bands_of(FIG3B),
        within("least of all, 50 us", 0, 90, unit="°", domain="signed", order=True, reported="stabilizes the system"),
        within("least of all by default, 50 us", -90, 0, unit="°", domain="signed", order=True),
    ],
    mutation=Mutation({"dcqcn.r_ai": "11Mbps"}, "2 flows, 0 us"),
    differs="At 100 us a few numbers of flows stay just unstable (-2.5°): always stable are both changes together (Fig. 3c).",
)  # fmt: skip

FIG3C: Table = {(2, 0): 81.6, (2, 50): 62.9, (2, 100): 44.2}


@ECN_OR_DELAY.figure(
    "Fig. 3c", "DCQCN's phase margin with a gentler ramp", setting=TAYLOR + " R_AI is 10 Mbps and Kmax 1000 KB.", seeds=1, plot=plot_of(FIG3C)
)  # fmt: skip
def fig3c(lab: "Lab") -> None:
    margins(lab, taylor_dcqcn, Dcqcn(r_ai=10e6, kmax=1e6))


fig3c.claim(
    "ED5",
    "A gentler ramp (Kmax 1000 KB) besides is stable everywhere, with a jump between 10 and 12 flows.",
    source="Fig. 3c, §3.2",
    tolerance="T1: deterministic, 0.5°",
    bands=[
        *bands_of(FIG3C),
        within("least of all, 100 us", 0, 90, unit="°", domain="signed", order=True),
        *(below(f"12 flows, {delay} us", f"10 flows, {delay} us", 1 / 2, reported="a jump") for delay in DELAYS_US),
    ],
    mutation=Mutation({"dcqcn.kmax": "900KB"}, "2 flows, 0 us"),
    differs="The jump is one of the frequency at which the loop's gain is 1, from 3400 to 1650 rad/s; q* is 470 KB there, and passes Kmax with 20 flows.",
)  # fmt: skip

AT_100G: Table = {(2, 0): 23.9, (38, 0): -0.37}


@ECN_OR_DELAY.figure(
    "data, 100 Gbps", "DCQCN's phase margin at 100 Gbps", setting=TAYLOR.replace("40", "100") + " In the authors' data only.", seeds=1, plot=plot_of(AT_100G)
)  # fmt: skip
def margins_100g(lab: "Lab") -> None:
    margins(lab, taylor_dcqcn, Dcqcn(rate=100e9))


margins_100g.claim(
    "ED10",
    "By the authors' data DCQCN's margins are smaller still at 100 Gbps.",
    source="the authors' data; not in the paper",
    tolerance="T1: deterministic, 0.5°",
    bands=bands_of(AT_100G),
    mutation=Mutation({"dcqcn.rate": "90Gbps"}, "2 flows, 0 us"),
)

FIG11: Table = {
    (2, 0): -1.95, (10, 0): 28.5, (40, 0): -1.3, (2, 50): -7.05, (10, 50): 25.9, (40, 50): -5.7,
    (2, 100): -12.1, (10, 100): 23.3, (40, 100): -10.1, (20, 0): 41.58,
}  # fmt: skip


@ECN_OR_DELAY.figure(
    "Fig. 11",
    "Patched TIMELY's phase margin",
    setting="Equations at 10 Gbps with dw/dg = 0.5, with which the figure was computed; eq. 30 prints 2.",
    seeds=1,
    plot=plot_of(FIG11),
)
def fig11(lab: "Lab") -> None:
    margins(lab, linearise_as_published, PatchedTimely(), [n for n in MANY if n <= 50])
    base = lab.fluid(PatchedTimely(delay=0.0))
    stable = [n for n in range(3, 72) if phase_margin(linearise_as_published, replace(base, flows=n)) > 0]
    lab.say("most flows that are stable", max(stable))


fig11.claim(
    "ED16",
    "As the figure was computed, Patched TIMELY is stable up to 40 flows.",
    source="Fig. 11, §4.3",
    tolerance="T1: deterministic, 0.5°; the number of flows by one",
    bands=[*bands_of(FIG11), near("most flows that are stable", 40.0, by=1)],
    mutation=Mutation({"patched-timely.beta": "0.016"}, "most flows that are stable"),
    differs="With the slope of 2 that eq. 30 prints, it is stable for 2 to 19 flows.",
)

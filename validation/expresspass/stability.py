"""Fig. 13's steady state: two to five flows share a link, with each form of the feedback."""

from typing import TYPE_CHECKING, Any

from validation.claim import Mutation, Plot, below, near, within
from validation.expresspass.paper import AS_PRINTED, DEFAULT, EXPRESSPASS, SHARE, TESTBED, of
from validation.runs import BOTTLENECK, jain, probe

if TYPE_CHECKING:
    from validation.lab import Lab

COUNTS = (2, 3, 4, 5)
FORMS: dict[str, Any] = {
    "the authors' code": {"cc": {"name": TESTBED}},
    "Algorithm 1": {"cc": {"name": AS_PRINTED}},
    "the default": {"cc": {"name": DEFAULT}},
    "DCTCP": {"cc": {"name": "dctcp"}, "network.marking": {"kind": "step", "threshold": "65pkt"}},
}


@EXPRESSPASS.figure(
    "Fig. 13, steady state",
    "Throughput of two to five flows in bins of 10 ms",
    setting="Dumbbell, 10 Gbps, 100 us. The authors' code between the testbed's hosts (expresspass@testbed), Algorithm 1 to the letter (expresspass@as-printed), the default (expresspass), and DCTCP with K = 65. "
    "Printed: the rate (§5, Fig. 13), five flows, bins of 10 ms. Not printed: the round trip and the buffer (250 packets). The picture has five flows, after 40 ms. "
    "Deviation of a flow: the mean over the flows of the standard deviation of its bins, from 40 to 240 ms with the same flows; Jain's index: the mean of its two values over 100 ms.",
    runs={"expresspass": BOTTLENECK},
    seeds=4,
    plot=[Plot("time (s)", "throughput (Gbps)", "steps", y_to=7, panel=form) for form in FORMS],
)
def steady(lab: "Lab") -> None:
    times = {"duration": "240ms", "warmup": "40ms", "record.probes": "10ms", "record.queues": "off"}
    for form, changes in FORMS.items():
        for n in COUNTS:
            run = lab.run("expresspass", of(n) | changes | times)
            rates = probe(run, "rate_gbps", 40.001e3).pivot_table(
                index="time_us", columns="flow", values="value"
            )
            lab.say(f"deviation, {form}, {n} flows", 1e3 * rates.std(axis=0, ddof=0).mean())
            halves = [jain(half.mean().to_numpy()) for half in (rates.iloc[:10], rates.iloc[10:20])]
            lab.say(f"Jain's index, {form}, {n} flows", sum(halves) / 2)
            lab.say(f"utilisation, {form}, {n} flows", 100 * lab.port(run)["utilization"])
            if n == COUNTS[-1]:
                for flow, its in rates.items():
                    lab.curve(f"{form}: flow {flow + 1}", (its.index - 1e4) / 1e6, its)


QUOTE = "Figure 13 shows the throughput averaged over 10 ms and the queue size measured at the switch every 30 ms. ExpressPass achieves a much more stable steady state behavior"
REPRODUCE = "Reproduce: `python -m validation run expresspass-fig-13-steady-state --quick`."


def judged(
    id_: str, form: str, swap: dict[str, str], why: str, undecided: dict[str, str] | None = None
) -> None:
    """The statements of §5 and §6.1 about one form of the feedback. swap: the algorithm in its place that changes its utilisation."""
    steady.claim(
        id_,
        f"Few flows are much steadier than under DCTCP, share fairly and use 94.8 % of the link: {form}.",
        source="Fig. 13 and 15, §5 and §6.1",
        tolerance="T4: the order of the deviations; Jain's index 0.95; utilisation 1 point",
        bands=[
            *(below(f"deviation, {form}, {n} flows", f"deviation, DCTCP, {n} flows", reported="much more stable") for n in COUNTS),
            *(within(f"Jain's index, {form}, {n} flows", 0.95, 1, domain="share", reported="very good fairness") for n in COUNTS),
            *(near(f"utilisation, {form}, {n} flows", SHARE, by=1, unit="%") for n in COUNTS),
        ],
        mutation=Mutation({f"cc:{name}": other for name, other in swap.items()}, f"utilisation, {form}, 2 flows"),
        quote=QUOTE,
        why=f"{why} {REPRODUCE}",
        undecided=undecided,
    )  # fmt: skip


judged(
    "XP17",
    "the authors' code",
    {TESTBED: "dctcp"},
    "Two to five flows use the whole share, and Jain's index is 0.96 or more, but a flow varies more from bin to bin than under DCTCP, whose windows of 40 packets and more change by one: a port drops credits by chance, and a flow of "
    "154 credits in ten round trips has no more than that to go by.",
    undecided={
        "Jain's index, the authors' code, 4 flows": "Jain's index of four flows is 0.982 ± 0.011, 0.976 ± 0.011 and 0.973 ± 0.028 with three disjoint sets of four seeds; the band begins at 0.95."
    },
)
judged(
    "XP18",
    "Algorithm 1",
    {AS_PRINTED: "expresspass@ns-2"},
    "To the letter the rates are steadier and equal to a thousandth, but 13 to 22 % of the link stay idle: losses are known a round trip late, and a fall takes the rate of now, so that each loss is answered twice.",
)
judged(
    "XP19",
    "the default",
    {DEFAULT: "dctcp"},
    "The measured fall restores the use of the link, and costs the steadiness: with two to four flows the port drops the smaller flow's credits first, as docs/credits.md derives, and who has more changes every few ten milliseconds. "
    "`expresspass@ns-2` has neither fault, since its target loss vanishes at the full rate.",
)

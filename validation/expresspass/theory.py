"""Fig. 12 and eq. 2 to 5: where synchronised flows settle; Algorithm 1 in packets; a newcomer among settled flows."""

from typing import TYPE_CHECKING

import numpy as np

from shallows.fluid import expresspass_rounds
from validation.claim import Mutation, Plot, below, near, within
from validation.expresspass.paper import EXPRESSPASS, QUIET, SHARE, first, of
from validation.runs import BOTTLENECK, jain, probe

if TYPE_CHECKING:
    from validation.lab import Lab

CAPACITY_BPS = 10e9 * 1.1
"""C of the paper: the highest rate and the target loss of a tenth."""
W_MIN = 0.01


@EXPRESSPASS.figure(
    "Fig. 12",
    "Synchronised flows in the paper's rounds",
    setting="Equations 2 to 5 iterated: all flows update at once and see the losses of their own credits; w_min 0.01, target loss 10 %.",
    seeds=1,
    plot=Plot("update period", "credit rate (Gbps)", "steps"),
)
def fig12(lab: "Lab") -> None:
    w_min = lab.input("w_min", W_MIN)
    for flows in (2, 4, 16):
        start = [9e9] + [0.1e9] * (flows - 1)
        found = expresspass_rounds.rounds(start, 3000, w_min=w_min)
        rates = found.rates_bps
        lab.say(f"swing of {flows} flows", np.abs(rates[-1] - rates[-2]).max() / 1e6)
        if flows == 4:
            lab.say("rate of the slowest of 4", rates[-1 if len(rates) % 2 else -2].min() / 1e9)
        if flows == 2:
            lab.say("update periods until every w is w_min", first((found.weights <= w_min).all(axis=1)) - 1)
            for i in (0, 1):
                lab.curve(f"flow {i + 1}", range(60), rates[:60, i] / 1e9)
    rates = expresspass_rounds.rounds([1e9, 2e9, 8e9], 60, w_min=w_min, w_max=w_min).rates_bps
    distance = np.abs(rates[::2, 2] - CAPACITY_BPS / 3)
    lab.say("distance kept in a pair of rounds, 3 flows", distance[-1] / distance[-2])
    for least in (lab.input("smaller", 0.001), W_MIN, 0.1):
        rates = expresspass_rounds.rounds([9e9, 0.1e9, 0.1e9], 6000, w_min=least).rates_bps[::2]
        away = np.abs(rates / rates.mean(axis=1, keepdims=True) - 1).max(axis=1)
        name = "smaller" if least < W_MIN else f"{least:g}"
        lab.say(f"rounds to a hundredth, w_min {name}", 2 * np.flatnonzero(away > 0.01).max() + 2)


fig12.claim(
    "XP1",
    "In the paper's rounds synchronised flows end at fair rates that swing by D* = C w_min (1 - 1/N).",
    source="Fig. 12, eq. 2 to 5",
    tolerance="T1: 1 %",
    bands=[
        *(
            near(
                f"swing of {n} flows", CAPACITY_BPS * W_MIN * (1 - 1 / n) / 1e6, rel=0.01, unit="Mbps", read="derived",
                source="D*",
            )
            for n in (2, 4, 16)
        ),
        near("rate of the slowest of 4", CAPACITY_BPS / 4e9, rel=0.01, unit="Gbps", read="derived", source="C/N"),
        near(
            "update periods until every w is w_min", 12, by=0.5, read="derived",
            source="w halves every two update periods, six times from 1/2 to 0.01, lines 8, 11 and 12 of Algorithm 1",
        ),
        near("distance kept in a pair of rounds, 3 flows", 0.99 / 1.02, rel=0.001, read="derived", source="eq. 4"),
    ],
    mutation=Mutation({"input:w_min": 0.02}, "swing of 2 flows"),
    differs="This is the paper's own idealisation. In packets, losses show a period late and rates swing 34 times as far.",
)  # fmt: skip

fig12.claim(
    "XP16",
    "A smaller w_min delays convergence in the paper's rounds.",
    source="eq. 4, §4",
    tolerance="T1: the order, and that a tenth of w_min takes 3 to 30 times as many rounds",
    bands=[
        below("rounds to a hundredth, w_min 0.1", "rounds to a hundredth, w_min 0.01", reported="delayed convergence"),
        below("rounds to a hundredth, w_min 0.01", "rounds to a hundredth, w_min smaller", 1 / 3, reported="delayed convergence"),
        within("rounds to a hundredth, w_min smaller", 100, 6000, read="derived", source="(1 - w_min)/A of eq. 4, w_min 0.001"),
    ],
    mutation=Mutation({"input:smaller": 0.009}, "rounds to a hundredth, w_min 0.01"),
    quote="Thus, D* depends on w_min and target_loss; a small w_min and target_loss results in a small D* value, which improves the steady state behavior. However, a small w_min can cause delayed convergence by making "
    "(1 - w_min) larger in Equation 4.",
)  # fmt: skip

MANY = (2, 4, 5, 12, 20, 40, 90, 200)
FAIR = (5, 12, 20, 40, 90, 200)


@EXPRESSPASS.figure(
    "Alg. 1",
    "Algorithm 1 with any number of flows",
    setting="Dumbbell, 10 Gbps, 100 us; the default `expresspass`, which is Algorithm 1 with two deviations (`shallows cc expresspass`).",
    runs={"expresspass": BOTTLENECK},
    seeds=5,
    plot=Plot("flows", "utilisation (%)", "points", x_log=True, y_from=90),
)
def algorithm1(lab: "Lab") -> None:
    for n in MANY:
        run = lab.run("expresspass", of(n) | QUIET, duration="120ms", cc={"name": "expresspass"})
        found = lab.port(run)
        lab.say(f"utilisation, {n} flows", 100 * found["utilization"])
        lab.say(f"Jain's index, {n} flows", jain(run.flows.goodput_gbps))
        lab.say(f"largest queue, {n} flows", found["queue_max_pkt"])
        lab.say(f"dropped, {n} flows", found["dropped"])
    lab.curve("ExpressPass", MANY, [lab.values[f"utilisation, {n} flows"] for n in MANY])


algorithm1.claim(
    "XP13",
    "With any number of flows Algorithm 1 uses the 94.8 % of the link that credits leave, fairly, with a queue of two frames and without loss.",
    source="Algorithm 1, §4, §6.1",
    tolerance="T2: utilisation 1 point; Jain's index 0.95 from 5 flows on; 2.5 frames",
    bands=[
        *(near(f"utilisation, {n} flows", SHARE, by=1, unit="%") for n in MANY),
        *(within(f"Jain's index, {n} flows", 0.95, 1, domain="share", reported="very good fairness") for n in FAIR),
        within("largest queue, 40 flows", 0, 2.5, unit="frames"),
        within("dropped, 40 flows", 0, 0),
    ],
    mutation=Mutation({"expresspass.fall_only": True}, "utilisation, 20 flows"),
    differs="Two to five flows are judged in XP19, beside the other forms.",
    undecided={"Jain's index, 5 flows": "Jain's index of five flows is 0.970 ± 0.017 with the seeds 1 to 5 and 0.976 ± 0.029 with those of the name; the band begins at 0.95."},
)  # fmt: skip


def newcomer_in_theory(others: int, by: float = 0.25) -> int:
    """Update periods until a newcomer is within `by` of C/N for good, with eq. 2 iterated from settled flows."""
    count = others + 1
    rates = np.array([CAPACITY_BPS / others] * others + [5e9])
    weights = np.array([W_MIN] * others + [0.5])
    last = 0
    for n in range(400):
        if n % 2 == 0:
            rates = (1 - weights) * rates + weights * CAPACITY_BPS
        else:
            rates = rates * CAPACITY_BPS / rates.sum()
            weights = np.maximum(weights / 2, W_MIN)
            last = n + 1 if abs(rates[-1] / rates.sum() * count - 1) > by else last
    return last


NEW = (4, 11)


@EXPRESSPASS.figure(
    "§4, eq. 4",
    "A newcomer among settled flows",
    setting="Dumbbell, 10 Gbps, 100 us; 4 or 11 flows of expresspass@ns-2 have settled for 15 ms when one more starts.",
    runs={"expresspass": BOTTLENECK},
    seeds=100,
    plot=Plot("round trips after it joined", "its share, in fair shares"),
)
def newcomer(lab: "Lab") -> None:
    for others in NEW:
        count = others + 1
        traffic = [
            {"kind": "long-lived", "flows": others, "from": list(range(others)), "to": list(range(count, count + others))},
            {"kind": "long-lived", "flows": 1, "from": others, "to": 2 * others + 1, "start": "15ms"},
        ]  # fmt: skip
        run = lab.run(
            "expresspass", topology__hosts=count, traffic=traffic, duration="40ms", warmup="0s", record__queues="off",
            record__probes="100us", cc={"name": "expresspass@ns-2", "w_min": lab.input("w_min", W_MIN)},
        )  # fmt: skip
        rates = probe(run, "rate_gbps").pivot(index="time_us", columns="flow", values="value").fillna(0)
        after = rates[rates.index > 15.1e3]
        share = count * after[others] / after.sum(axis=1)
        smooth = share.rolling(10, min_periods=1, center=True).mean().to_numpy()
        lab.say(f"round trips to a quarter, {others} others", first(np.abs(smooth - 1) <= 0.25))
        lab.say(f"largest share, {others} others", smooth.max())
        lab.say(f"share after 10 ms, {others} others", share[share.index > 25e3].mean())
        lab.curve(f"{others} others", np.arange(len(share)), share)


newcomer.claim(
    "XP12",
    "A newcomer among settled flows approaches its share C/N as eq. 4 says.",
    source="§4, eq. 4",
    tolerance="T3: 30 % of the number of periods that eq. 2 and 4 give, iterated; the share in the end 15 %",
    bands=[
        *(
            near(
                f"round trips to a quarter, {n} others", float(newcomer_in_theory(n)), rel=0.3, read="derived",
                source="eq. 2 and 4, iterated",
            )
            for n in NEW
        ),
        *(near(f"share after 10 ms, {n} others", 1.0, by=0.15, order=True, read="derived", source="C/N") for n in NEW),
    ],
    mutation=Mutation({"input:w_min": 0.1}, "round trips to a quarter, 11 others"),
    check=True,
    differs="In packets losses show a period late and the weights are in phase only by chance.",
)  # fmt: skip

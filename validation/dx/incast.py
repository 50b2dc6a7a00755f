"""Fig. 17 and 18: forty flows at once, and small flows beside large ones."""

from typing import TYPE_CHECKING

from validation.claim import Mutation, Plot, below, near, within
from validation.dx.paper import DCTCP, DX, LINK, SIMULATED, flows
from validation.runs import BOTTLENECK, probe

if TYPE_CHECKING:
    from validation.lab import Lab

RATES = ("10 a us", "4us"), ("4 a us", "10us"), ("40 a 100 us", "100us")
FORMS = {"DX": SIMULATED, "DCTCP": DCTCP}
SETTING = "Forty senders of 2 MB to one receiver, 10 Gbps, 200 us, buffer of 100 packets (§II-A), K = 65; dx@ns-2 and dctcp@ns-2, whose windows begin with two packets."


@DX.figure(
    "Fig. 17a",
    "Largest queue of an incast",
    setting=SETTING,
    runs={"incast-star": "s0->h40"},
    plot=Plot("time over which 40 flows arrive (us)", "largest queue (packets)", "points", x_log=True),
)
def fig17a(lab: "Lab") -> None:
    for name, cc in FORMS.items():
        peaks: list[float] = []
        for rate, jitter in RATES:
            run = lab.run(
                "incast-star", LINK, cc={"name": cc}, traffic__0__jitter=jitter, duration="5ms", record__queues="off",
            )  # fmt: skip
            peaks.append(lab.port(run)["queue_max_pkt"])
            lab.say(f"{name}, {rate}", peaks[-1])
        lab.curve(name, (4, 10, 100), peaks)


fig17a.claim(
    "DX18",
    "Forty flows at once pile up a hundred packets under DCTCP at any rate of arrival, fewer under DX.",
    source="Fig. 17a, §VI-C3",
    tolerance="T3: the order at every rate; the hundred 30 %",
    bands=[
        *(below(f"DX, {rate}", f"DCTCP, {rate}") for rate, _ in RATES),
        *(near(f"DCTCP, {rate}", 100.0, rel=0.3, unit="packets") for rate, _ in RATES),
    ],
    mutation=Mutation({"cc:dx@ns-2": "dctcp@ns-2"}, "DX, 10 a us"),
    limits="DCTCP's hundred packets are the buffer, which is an input; with more buffer DCTCP has 300. The paper does not print the buffer of this figure.",
)


@DX.figure(
    "Fig. 17b",
    "Windows in an incast",
    setting=SETTING,
    runs={"incast-star": "s0->h40"},
    plot=Plot("time (ms)", "mean window (packets)"),
)
def fig17b(lab: "Lab") -> None:
    for name, cc in FORMS.items():
        run = lab.run("incast-star", LINK, cc={"name": cc}, duration="5ms", record__probes="20us")
        mean = probe(run, "window_pkt").groupby("time_us").value.mean()
        mean = mean[mean.index > 100]
        lab.say(f"largest mean window, {name}", mean.max())
        lab.say(f"packets in the queue, {name}, 1 to 5 ms", lab.queue(run, 1e3).queue_pkt.mean())
        lab.curve(name, mean.index / 1e3, mean)


fig17b.claim(
    "DX19",
    "DX reacts to the incast at once; DCTCP's windows go on growing.",
    source="Fig. 17b, §VI-C3",
    tolerance="T3: the order; the paper prints no number",
    bands=[
        below("largest mean window, DX", "largest mean window, DCTCP"),
        below("packets in the queue, DX, 1 to 5 ms", "packets in the queue, DCTCP, 1 to 5 ms"),
    ],
    mutation=Mutation({"cc:dx@ns-2": "reno"}, "largest mean window, DX"),
)

COUNTS = (10, 20, 30)


@DX.figure(
    "Fig. 18",
    "Small flows beside large ones",
    setting="10 to 30 long flows and 1000 flows of 1 KB, 10 Gbps, 200 us; dx@ns-2 and dctcp@ns-2 as in all of §VI-C, hull@nsdi12. The arrival rate is not printed: 2000 a second.",
    runs={"small-flows": ""},
    plot=Plot("long flows", "99 % of completion times (us)", "points", y_from=200),
)
def fig18(lab: "Lab") -> None:
    for name, cc in (("DX", SIMULATED), ("HULL", "hull@nsdi12"), ("DCTCP", DCTCP)):
        for n in COUNTS:
            table = lab.run("small-flows", flows(n), cc={"name": cc}).flows
            small = table[table.bytes.notna() & (table.start_us > 50e3)]
            # The receiver has the flow half a round trip before the sender knows of it.
            lab.say(f"{name}, {n} flows", small.fct_us.quantile(0.99) + 100)
        lab.curve(name, COUNTS, [lab.values[f"{name}, {n} flows"] for n in COUNTS])
    for other in ("DCTCP", "HULL"):
        lab.ratio(f"DX over {other}, 10 flows", "DX, 10 flows", f"{other}, 10 flows")
    for name in ("DX", "HULL", "DCTCP"):
        more = lab.values[f"{name}, 30 flows"] - lab.values[f"{name}, 10 flows"]
        lab.say(f"ten more senders under {name}", more / 2)


fig18.claim(
    "DX20",
    "A flow of 1 KB beside ten long ones: at the 99th percentile 18 % sooner under DX than under DCTCP, 2 % than under HULL.",
    source="Fig. 18, §VI-C3",
    tolerance="T3: ratio 10 %, HULL's 2 points; ten more senders 50 %",
    bands=[
        near("DX over DCTCP, 10 flows", 0.82, rel=0.1),
        near("DX over HULL, 10 flows", 0.98, by=0.02),
        near("ten more senders under DX", 3.5, rel=0.5, unit="us"),
        *(below(f"DX, {n} flows", f"DCTCP, {n} flows") for n in COUNTS),
    ],
    mutation=Mutation({"dx.headroom": "100us", "cc:dx@ns-2": "dx"}, "DX, 10 flows"),
    differs="The time is until the sender knows that its flow arrived. With a headroom of 0 (`dx`) DX is 3 % sooner than HULL; the section's variant has a headroom of two packets.",
)

fig18.claim(
    "DX32",
    "A flow of 1 KB beside long ones finishes soonest under DX, whatever their number, and least later with more of them.",
    source="Fig. 18, §VI-C3",
    tolerance="T3: the order",
    bands=[
        *(below(f"DX, {n} flows", f"{other}, {n} flows", reported="the minimum") for other in ("HULL", "DCTCP") for n in COUNTS),
        *(below("ten more senders under DX", f"ten more senders under {other}", reported="not as much") for other in ("HULL", "DCTCP")),
    ],
    mutation=Mutation({"dx.headroom": "100us", "cc:dx@ns-2": "dx"}, "DX, 20 flows"),
    why="With 10 and 20 long flows HULL's 99th percentile is 2 to 3 % shorter, since the section's variant of DX keeps a headroom of two packets, and with 10 more flows DX waits 10.2 us longer, hardly less than DCTCP with 11.1. "
    "By the rule of §V-B the headroom of exact timestamps is 0 (\"latency measurement in simulation is accurate without any noise\", §VI-C1), with which DX is 3 % sooner than HULL at ten flows; but then DX's mean delay is not 6.6 times below DCTCP's (DX23): no one headroom has both. Reproduce: `python -m validation run DX32`.",
    quote="DX achieves the minimum 99th percentile FCT among the three. [...] As the number of background flows increases, the 99% FCT of DX does not increase as much compared to DCTCP and HULL.",
)  # fmt: skip


@DX.figure(
    "§VII",
    "DX beside TCP",
    setting="Dumbbell, 10 Gbps, 200 us, buffer of 100 packets; nine flows of dx@ns-2 and one of CUBIC in one queue, and with a class of higher priority for DX.",
    runs={"dx-10": BOTTLENECK},
)
def beside_tcp(lab: "Lab") -> None:
    for words, priority in (("one queue", 0), ("separated", lab.input("priority", 1))):
        traffic = [
            {"kind": "long-lived", "flows": 9, "from": list(range(9)), "to": list(range(10, 19)), "priority": priority,
             "cc": {"name": SIMULATED}},
            {"kind": "long-lived", "flows": 1, "from": 9, "to": 19, "start": "10ms", "cc": {"name": "cubic"}},
        ]  # fmt: skip
        run = lab.run(
            "dx-10", LINK, topology__hosts=10, traffic=traffic, duration="300ms", warmup="100ms", record__queues="off",
        )  # fmt: skip
        lab.say(f"largest queue, {words}", lab.port(run)["queue_max_pkt"])
        lab.say(f"DX's share of the link, {words}", run.flows.goodput_gbps.iloc[:9].sum() / 10 * 1500 / 1460)
        delays = probe(run, "queueing_delay_us", 100e3)
        lab.say(f"DX's queueing delay, {words}", delays[delays.flow < 9].value.mean())


beside_tcp.claim(
    "DX35",
    "One flow of TCP in DX's queue fills it; a queue of higher priority keeps DX apart.",
    source="§VII",
    tolerance="T3: a full queue is 90 packets of 100; apart is a fifth of the delay and 90 % of the link",
    bands=[
        within("largest queue, one queue", 90, 110, unit="packets", order=True, reported="overflow"),
        below("DX's queueing delay, separated", "DX's queueing delay, one queue", 1 / 5, reported="separate"),
        within("DX's share of the link, separated", 0.9, 1, domain="share", order=True),
    ],
    mutation=Mutation({"input:priority": 0}, "DX's queueing delay, separated"),
    quote="We do not claim that DX can operate with conventional TCP sharing the same queue at network switches; a single TCP flow can cause a switch queue to overflow, which is directly against DX's goal. Our best "
    "resort to co-existing with TCP flows is to exploit priority queues at the switch and separate DX traffic from other TCP traffic.",
)

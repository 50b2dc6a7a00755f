"""Fig. 17 and 18: forty flows at once, and small flows beside large ones."""

from typing import TYPE_CHECKING

from validation.claim import Mutation, Plot, below, near
from validation.dx.paper import DX, LINK, SIMULATED, flows
from validation.runs import probe

if TYPE_CHECKING:
    from validation.lab import Lab

RATES = ("10 a us", "4us"), ("4 a us", "10us"), ("40 a 100 us", "100us")
FORMS = {"DX": SIMULATED, "DCTCP": "dctcp@ns-2"}
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
    setting="10 to 30 long flows and 1000 flows of 1 KB, 10 Gbps, 200 us; dx@ns-2 as in all of §VI-C, DCTCP, hull@nsdi12. The arrival rate is not printed: 2000 a second.",
    runs={"small-flows": ""},
    plot=Plot("long flows", "99 % of completion times (us)", "points", y_from=200),
)
def fig18(lab: "Lab") -> None:
    for name, cc in (("DX", SIMULATED), ("HULL", "hull@nsdi12"), ("DCTCP", "dctcp")):
        for n in COUNTS:
            table = lab.run("small-flows", flows(n), cc={"name": cc}).flows
            small = table[table.bytes.notna() & (table.start_us > 50e3)]
            # The receiver has the flow half a round trip before the sender knows of it.
            lab.say(f"{name}, {n} flows", small.fct_us.quantile(0.99) + 100)
        lab.curve(name, COUNTS, [lab.values[f"{name}, {n} flows"] for n in COUNTS])
    for other in ("DCTCP", "HULL"):
        lab.ratio(f"DX over {other}, 10 flows", "DX, 10 flows", f"{other}, 10 flows")
    lab.say("ten more senders under DX", (lab.values["DX, 30 flows"] - lab.values["DX, 10 flows"]) / 2)


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

"""Fig. 17 and §5.2: marks at dequeue and at enqueue."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shallows.fluid import Dcqcn
from shallows.fluid.trajectory import trajectory
from validation.claim import Mutation, Plot, below, near, within
from validation.ecn_or_delay.paper import DCQCN, ECN_OR_DELAY, GENTLE, LINK_40G, late_kb, samples_kb
from validation.runs import BOTTLENECK

if TYPE_CHECKING:
    from validation.lab import Lab


@ECN_OR_DELAY.figure(
    "Fig. 17",
    "Marks at dequeue and at enqueue",
    setting="Equations at 40 Gbps, 85 us, two flows, Kmax 2000 KB and Pmax 10 %; packets: 40 flows at 60 us, "
    + LINK_40G,
    runs={"dcqcn": BOTTLENECK},
    seeds=3,
    plot=Plot("time (ms)", "queue (KB)"),
)
def fig17(lab: "Lab") -> None:
    for at in ("dequeue", "enqueue"):
        model = lab.fluid(replace(Dcqcn(at=at, **GENTLE), delay=lab.input("delay_us", 85) * 1e-6))
        run = trajectory(model, 0.2)
        late = late_kb(run, 0.18)
        lab.say(f"queue, marks at {at}", late.mean())
        lab.say(f"swing, marks at {at}", np.ptp(late))
        shown = run.between(0.05)
        lab.curve(f"marks at {at}", run.time_s[shown] * 1e3, run.queue_bytes[shown] / 1e3)
        many = lab.run(
            "dcqcn", topology__hosts=40, traffic__0__flows=40, topology__rtt="60us", network__marking__at=at,
            duration="300ms", warmup="100ms", cc__name=DCQCN,
        )  # fmt: skip
        lab.say(f"packets: swing of 40 flows at 60 us, at {at}", samples_kb(lab, many).std())


fig17.claim(
    "ED22",
    "Two flows at 85 us are steady with marks at dequeue, and oscillate with marks at enqueue.",
    source="Fig. 17, §5.2",
    tolerance="T1: steady 3 %, amplitude 20 %; in packets the order",
    bands=[
        near("queue, marks at dequeue", 20.5, rel=0.03, unit="KB", read="derived", source="eq. 11"),
        within("swing, marks at dequeue", 0, 1.0, unit="KB", order=True, reported="steady", read="data"),
        near("swing, marks at enqueue", 41.0, rel=0.20, unit="KB", read="data"),
        below("packets: swing of 40 flows at 60 us, at dequeue", "packets: swing of 40 flows at 60 us, at enqueue"),
    ],
    mutation=Mutation({"input:delay_us": 60}, "swing, marks at enqueue"),
    differs="The figure shows the equations. In packets of two flows random marks move the queue by more than this; the order shows with 40 flows, where the "
    "queue delays marks as much as the loop does.",
)  # fmt: skip


@ECN_OR_DELAY.figure(
    "§5.2",
    "Delay of a standing queue",
    setting="Dumbbell, 40 Gbps; ten fixed windows hold a megabyte at the port.",
    runs={"pingpong": BOTTLENECK},
    seeds=1,
)
def section52(lab: "Lab") -> None:
    # Ten windows of 102 frames of 1000 B, less what the path holds, stand at the port.
    run = lab.run(
        "pingpong", topology={"kind": "dumbbell", "hosts": 10, "rate": "40Gbps", "rtt": "4us"},
        network={"mtu": "1000B", "buffer": "unlimited"}, cc={"name": "fixed", "window": 102},
        traffic=[{"kind": "long-lived", "flows": 10}], duration="5ms", warmup="2ms", record__queues="off",
    )  # fmt: skip
    lab.say("wait in a standing megabyte", lab.port(run)["delay_mean_us"])


section52.claim(
    "ED26",
    "A megabyte of queue at 40 Gbps is 200 us, many times the delay of the wires: marks at enqueue come late.",
    source="§5.2",
    tolerance="T1: 2 %",
    bands=[near("wait in a standing megabyte", 200.0, rel=0.02, unit="us")],
    mutation=Mutation({"pingpong:topology.rtt": "40us"}, "wait in a standing megabyte"),
)

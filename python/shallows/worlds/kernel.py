"""The kernel world: real Linux TCP between network namespaces, over an emulated network, in real time.

The algorithms are those of `bpf/`, and the kernel's own reno, cubic and bbr. A busy machine delivers packets
late. A run that was too late is repeated, and the lateness of the accepted run is in the summary. Runs are
not deterministic: a scenario runs several times, and the summary has the differences.
"""

import time
from typing import TYPE_CHECKING

import numpy as np

from shallows.core import answer as core_answer
from shallows.errors import ScenarioError
from shallows.scenario import request as packet_world
from shallows.scenario.supported_keys import ALWAYS, World
from shallows.topology import KINDS as TOPOLOGIES
from shallows.traffic import KINDS as TRAFFICS
from shallows.units import NEVER, TIME
from shallows.worlds import live, machine, real_time
from shallows.worlds.kernel_links import check_links
from shallows.worlds.kernel_programs import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shallows.algorithms.algorithm import Receiver
    from shallows.core.contract import Answer
    from shallows.core.progress import OnProgress
    from shallows.results.run import RunData
    from shallows.scenario import Scenario


WORLD = World(
    "kernel",
    supported_keys=ALWAYS
    | {f"topology.{kind}" for kind in TOPOLOGIES}
    | {f"traffic.{kind}" for kind in TRAFFICS if kind not in ("tasks", "training")}
    | {"network.mtu", "network.buffer", "network.marking", "cc.receiver"}
    | {f"hosts.{key}" for key in ("initial_window", "rto", "rto_min", "acks_every")},
    why={
        "network": "its ports are FIFOs with a buffer each",
        "network.header": "real TCP has its own headers, 52 bytes, with dx 68",
        "hosts": "Linux decides that itself",
        "hosts.timestamps": "timestamps are those of this machine, with their own errors",
        "hosts.rto_initial": "it changes nothing here, because Linux waits 1 s before it has a round trip",
        "hosts.rto_max": "it changes nothing here, because Linux doubles up to 120 s",
        "hosts.ack_delay": "it changes nothing here, because Linux waits 40 ms with a delayed ack",
        "faults": "its emulated wires neither fail nor lose packets",
        "traffic.tasks": "its flows wait for one other at most, and its hosts compute nothing",
        "traffic.training": "its flows wait for one other at most, and its hosts compute nothing",
        **dict.fromkeys(
            ("traffic.priority", "traffic.class", "classes", "pools"), "its ports have one class"
        ),
        "ports": "its ports are alike",
        "traffic.route": "the tables of its routers choose paths",
        "traffic.queue_pairs": "its flows take one path",
        "traffic.exchange": "its flows always have something to send",
        "traffic.off": "its flows always have something to send",
        "traffic.rate": "its flows always have something to send",
    },
    parameters={name: program.parameters for name, program in PROGRAMS.items()},
    limits={
        "topology": "one cable a host, one shortest path between hosts; 64 hosts, 1 Gbps at the bottleneck",
        "network.marking": "not `rcp`, `int`",
        "hosts.rto": "its `rto_min`",
        "hosts.acks_every": "1 or 2",
        "duration": "a time",
        "cc.receiver": '`resolution = "1ms"`, no `tsecr`',
    },
)
ALGORITHMS = tuple(WORLD.parameters or ())
RUNS = 3
ATTEMPTS = 5
MOST_HOSTS, MOST_FLOWS = 64, 128
TICK_S = 1e-3


def check(scenario: "Scenario") -> None:
    """Raise `ScenarioError` for a scenario that a kernel on one machine cannot run."""
    WORLD.refuse(scenario)
    for used in scenario.flows.ccs:
        check_receiver(used.receiver)
    stamping = [used.name for used in scenario.flows.ccs if PROGRAMS[used.name].stamps]
    if len(stamping) > 1:
        expected = f"one set of parameters of {stamping[0]}: two would both put timestamps into a packet"
        raise ScenarioError("cc.headroom", None, f"{expected} of the kernel world")
    if scenario.hosts.acks_every not in (1, 2):
        expected = "1 or 2: Linux hosts acknowledge every packet, or every other one, of all flows"
        raise ScenarioError("hosts.acks_every", scenario.hosts.acks_every, expected)
    marking = scenario.marking
    if marking and marking.judges_heads:
        expected = "another kind: the switch of the kernel world decides about packets as they arrive"
        raise ScenarioError("network.marking.kind", marking.kind, expected)
    if marking and marking.tells != "marks":
        expected = "a kind that marks: no algorithm here asks for rates or records"
        raise ScenarioError("network.marking.kind", marking.kind, expected)
    network = scenario.graph
    check_links(scenario)
    if (np.diff(scenario.flows.after.flow) == 0).any():
        expected = "traffic whose flows wait for one other each: a socket here waits for one end"
        raise ScenarioError("traffic", None, expected)
    for key, count, most in (
        ("topology", network.hosts, MOST_HOSTS),
        ("traffic", len(scenario.flows), MOST_FLOWS),
    ):
        if count > most:
            raise ScenarioError(key, count, f"at most {most} in the kernel world")
    if scenario.duration == NEVER:
        expected = 'a time, such as "2s": the kernel world runs in real time'
        raise ScenarioError("duration", "until-done", expected)


def check_receiver(receiver: "Receiver | None") -> None:
    """Raise `ScenarioError` for a receiver that a kernel does not implement."""
    if receiver is None:
        return
    if receiver.parameters["resolution"] != TICK_S:
        given = TIME.text(round(receiver.parameters["resolution"] * 1e12))
        expected = f"{TIME.text(round(TICK_S * 1e12))}, the tick of a Linux sender's timestamps"
        raise ScenarioError("cc.receiver.resolution", given, expected)
    if receiver.parameters["tsecr"]:
        raise ScenarioError("cc.receiver.tsecr", True, "false: a kernel's receiver has a clock of its own")


def run(
    scenario: "Scenario", on_progress: "OnProgress | None" = None, repeats: int | None = None
) -> "RunData":
    """Run `scenario` on this machine's kernel `repeats` times (`RUNS`) and return the median `Run`.

    The median is that of the mean queue at the bottleneck; `spread` in the summary has the differences. A run
    in which the machine was late is rejected and repeated, up to `ATTEMPTS` times; if none is accepted, the
    last one is returned with books that do not close. Runs in real time wait for each other (`machine`).
    """
    check(scenario)
    request = packet_world.request(scenario)

    def ask(attempt: int) -> "Answer":
        # Real-time priority only if normal priority was not enough, because it causes pauses.
        question = {"request": request, "real_time": attempt >= ATTEMPTS - 2}
        begun = time.monotonic()

        def hears() -> None:
            # The program tells nothing meanwhile: its time is the clock's, after a measurement of headroom.
            if on_progress:
                on_progress(min(round((time.monotonic() - begun) * 1e12), scenario.duration), 0, 0)

        try:
            answer = _answer(live.ask(question, hears=hears))
        except live.Interrupted as signal:
            answer = _answer(signal.answer)
            answer["interrupted"] = True
        if on_progress:
            on_progress(answer["ended_ps"], answer["packet_hops"], real_time.finished(answer))
        return answer

    live.program()
    with machine.alone(on_progress):
        return real_time.median_run(scenario, ask, "kernel", repeats=repeats or RUNS, attempts=ATTEMPTS)


def _answer(given: "Mapping[str, object]") -> "Answer":
    """The program's answer; an older program leaves out what came since."""
    try:
        return core_answer.from_json(given)
    except KeyError as column:
        raise live.failure(f"an answer without {column}") from column

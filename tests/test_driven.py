"""Networks that a program drives: the run of the log is the same run, and wrong calls change nothing."""

import collections
import os
import random
import signal
import threading
import time
from contextlib import suppress

import pytest
import tomli_w

import shallows as sh
from each import each
from shallows.driven import settable
from soak import scenarios

STAR = {
    "duration": "until-done",
    "topology": {"kind": "star", "hosts": 4, "rate": "10Gbps", "rtt": "4us"},
    "cc": "dctcp",
    "traffic": [{"kind": "driven"}],
}


def fingerprint(run):
    return run.summary["fingerprint"]


def drive(network, dice, calls=40, wrong=()):
    """Random calls; after each of them one of the `wrong` functions, which are to raise."""
    hosts, duration = network.scenario.graph.hosts, network.scenario.duration
    step_ps = min(duration, 10**9) // 50
    for _ in range(calls):
        if network.ended:
            break
        call = dice.random()
        if call < 0.5:
            src = dice.randrange(hosts)
            dst = (src + dice.randint(1, hosts - 1)) % hosts
            ahead = f"{network.clock_ps + dice.randrange(step_ps)}ps" if dice.random() < 0.2 else None
            network.send(src, dst, dice.randint(1, 10**5), start=ahead)
        elif call < 0.75:
            to = min(network.clock_ps + dice.randrange(2 * step_ps), duration)
            network.advance(until=f"{to}ps")
        elif call < 0.9 and network.unfinished:
            network.advance(until="completion", limit=f"{network.clock_ps + step_ps}ps")
        else:
            change(network, dice)
        if dice.random() < 0.1:
            network.fork().advance(f"{step_ps}ps")
            network = network.fork()
        for one in wrong:
            with pytest.raises(sh.ScenarioError):
                one(network)
    return network


def change(network, dice):
    """A random fault or parameter; one that the scenario refuses changes nothing."""
    port = dice.choice(network.scenario.graph.port_names)
    kind, value = dice.choice([("down", None), ("up", None), ("slow", 0.5), ("loss", 0.01), ("drain", None)])
    keys = settable.keys(network.scenario)
    with suppress(sh.ScenarioError):
        if keys and dice.random() < 0.4:
            key = dice.choice(keys)
            network.set(key, f"{dice.randint(1, 60)}pkt" if "marking" in key else 0.5)
        else:
            network.fault(kind, link=port, value=value)


def drawn(number):
    """A random scenario of the packet world, with a driven table of each of its algorithms."""
    world, tables = scenarios.lawful(96, number, packets=5000)
    tables.get("hosts", {}).pop("costs", None)
    has_driven = any(table["kind"] == "driven" for table in tables["traffic"])
    if world != "packet" or has_driven or "route" in str(tables["traffic"]):
        return None
    tables["traffic"] = [*tables["traffic"], {"kind": "driven"}]
    try:
        return sh.Scenario.from_toml(tomli_w.dumps(tables))
    except sh.ScenarioError:  # it names code that is not trusted
        return None


@each([(number,) for number in range(30)])
def test_the_run_of_the_log_is_the_same_run(number):
    scenario = drawn(number)
    if scenario is None or scenario.graph.hosts < 2:
        return
    changes = scenario.graph.port_names[-2:] if number % 2 else []
    network = drive(sh.open(scenario, changes=changes), random.Random(number))
    run = network.run()
    again = sh.run(run.scenario, threads=1)
    assert fingerprint(run) == fingerprint(again)
    assert (
        run.answer.answer["flows"]["finish_ps"].tolist() == again.answer.answer["flows"]["finish_ps"].tolist()
    )


def test_a_completion_time_is_that_of_the_results_and_of_arithmetic():
    """1460 B are 1500 B on two links of 10 Gbps, 1.2 us each, and 1 us long. The clock stops 1 ps behind."""
    with sh.open(STAR) as network:
        network.advance("3us")
        message = network.send("h0", "h3", 1460)
        assert not message.done
        assert message.fct_us is None
        assert message.start_us == 3
        assert network.advance(until=message) == [message]
        assert message.done
        assert message.fct_us == 4.4
        assert not message.known
        assert network.clock_ps == 7_400_001
        run = network.run()
    assert run.flows["fct_us"].tolist() == [4.4]
    assert run.summary["duration_s"] == pytest.approx(7.400001e-6)


def test_messages_of_several_tables_keep_the_order_of_their_calls():
    traffic = [
        {"kind": "poisson", "sizes": "20KB", "load": 0.3, "load_of": "host", "flows": 20},
        {"kind": "driven", "name": "slow", "cc": "cubic"},
        {"kind": "driven", "name": "fast", "priority": 1},
    ]
    with sh.open({**STAR, "traffic": traffic}) as network:
        for i in range(30):
            network.send(i % 4, (i + 1) % 4, 30_000, traffic=("slow", "fast")[i % 2])
            network.advance("7us")
        network.send(0, 1, "1KB", cc="cubic")
        run = network.run()
    assert run.flows["traffic"].tolist() == [0] * 20 + [1, 2] * 15 + [1]
    assert run.flows["cc"].tolist()[-3:] == ["cubic", "dctcp", "cubic"]
    assert fingerprint(run) == fingerprint(sh.run(run.scenario))


def test_callbacks_send_at_the_time_of_the_completion():
    """An answer waits for the acknowledgement that left before it: 64 B, 51.2 ns. Then it takes 4.4 us."""
    done = []

    def answer(message):
        done.append(network.clock_ps)
        if len(done) < 5:
            network.send(message.dst, message.src, 1460, on_done=answer)

    with sh.open(STAR) as network:
        network.send(0, 1, 1460, on_done=answer)
        network.advance("1ms")
        assert network.clock_ps == 10**9
    assert done == [i * 4_400_000 + (i - 1) * 51_200 + 1 for i in range(1, 6)]


def test_an_exception_in_a_callback_loses_no_message():
    def fails(message):
        raise KeyError(message.number)

    with sh.open(STAR) as network:
        messages = [network.send(src, 3, 1460, on_done=fails) for src in range(3)]
        for count in (1, 2, 3):
            with pytest.raises(KeyError):
                network.advance("1ms")
            assert sum(message.done for message in messages) == count
        network.advance("1ms")
        run = network.run()
    assert fingerprint(run) == fingerprint(sh.run(run.scenario))


def test_a_copy_has_the_same_future_and_does_not_change_the_original():
    with sh.open(STAR) as network:
        message = network.send(0, 3, "1MB")
        network.advance("100us")
        copy = network.fork()
        copy.send(1, 3, "1MB")
        same = network.fork()
        for one in (copy, same, network):
            one.advance(until=one.message(message.number))
        fct = [one.run().flows["fct_us"][0] for one in (copy, same, network)]
    assert fct[0] > fct[1] == fct[2] == message.fct_us


def test_tables_show_the_clock():
    """Two senders at 10 Gbps fill the port to h3, which sends 1,250 B a us."""
    with sh.open({**STAR, "record": {"ports": "all"}}) as network:
        network.send_all([(0, 3, "1MB"), (1, 3, "1MB")])
        network.advance("200us")
        queue = network.queues.set_index("port")["queue_bytes"]
        links = network.links.set_index("port")
        assert queue["s0->h3"] > 1500 == 1500
        assert queue.drop("s0->h3").max() <= 1500
        assert links["delivered"]["s0->h3"] <= 200 * 1250 / 1500
        flows = network.flows
        assert flows["src"].tolist() == ["h0", "h1"]
        assert flows["fct_us"].isna().all()
        assert flows["delivered_bytes"].sum() == links["delivered"]["s0->h3"] * 1460
        seen = network.observe()
        assert seen["delivered_bytes"].tolist() == flows["delivered_bytes"].tolist()
        network.advance("200us")
        assert network.observe()["delivered_bytes"].sum() < network.flows["delivered_bytes"].sum()


FABRIC = STAR | {"topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2}}


def with_calls(tables, calls, **options):
    """The run of a network, and that of its log, after (time, function) in order; 4 long messages each."""
    with sh.open(tables, **options) as network:
        for src in range(4):
            network.send(src, (src + 2) % 4, "3MB")
        for time_us, call in calls:
            network.advance(until=f"{time_us}us")
            call(network)
        network.send(0, 3, "100KB")
        run = network.run()
    assert fingerprint(run) == fingerprint(sh.run(run.scenario))
    return run


@each(
    [
        ("down", None),
        ("slow", 0.2),
        ("rate", "1Gbps"),
        ("loss", 0.01),
        ("bit-errors", 1e-6),
        ("silent-drop", 0.5),
        ("drain", None),
        ("delay", "30us"),
        ("hold", "50us"),
        ("reorder", {"share": 0.2, "delay": "40us"}),
        ("pause-storm", None),
    ]
)
def test_a_fault_at_the_clock_is_that_of_a_scenario(kind, value):
    """The messages at time 0 and at 300 us as a trace, with the fault in the scenario."""
    tables, link = FABRIC | {"network": {"convergence": "100us"}}, "leaf0->spine0"
    if kind == "pause-storm":  # of a host, in a network with pauses, for messages that do not end
        tables, link = FABRIC | {"network": {"pfc": True}, "duration": "5ms"}, "leaf1->h3"
    call = lambda network: network.fault(kind, link=link, value=value)  # noqa: E731
    run = with_calls(tables, [(300, call)], changes=[link])
    rows = [[0, src, (src + 2) % 4, 3_000_000] for src in range(4)] + [["0.0003", 0, 3, 100_000]]
    fault = {"kind": kind, "link": link, "at": "300us"} | ({} if value is None else {"value": value})
    trace = tables | {"traffic": [{"kind": "trace", "flows": rows}], "faults": [fault]}
    assert fingerprint(run) == fingerprint(sh.run(trace))
    assert fingerprint(run) != fingerprint(with_calls(tables, [], changes=[link]))


def test_a_link_comes_back_and_a_named_link_alone_changes_nothing():
    calls = [(100, lambda network: network.fault("down", link="leaf0->spine0"))]
    calls += [(400, lambda network: network.fault("up", link="leaf0->spine0"))]
    run = with_calls(FABRIC | {"network": {"convergence": "50us"}}, calls, changes=["leaf0->*"])
    assert [(one.kind, one.at) for one in run.scenario.faults] == [("down", 10**8), ("up", 4 * 10**8)]


def test_a_threshold_acts_from_the_clock_on():
    """The queue of a step at 100 packets is above 50 before, and at 5 packets below 50 after it is set."""
    tables = STAR | {
        "network": {"marking": {"kind": "step", "threshold": "100pkt"}},
        "record": {"queues": "5us"},
    }
    tables |= {
        "traffic": [{"kind": "long-lived", "from": [0, 1], "to": 3, "jitter": "0s"}, {"kind": "driven"}]
    }
    tables |= {"duration": "20ms"}
    with sh.open(tables) as network:
        network.send(2, 3, "1KB")
        network.advance("10ms")
        network.set("network.marking.threshold", "5pkt")
        run = network.run()
    queue = run.queues[run.queues["port"] == "s0->h3"].set_index("time_us")["queue_pkt"]
    assert queue.loc[5_000:10_000].mean() > 50 > 20 > queue.loc[11_000:].mean()
    again = sh.run(run.scenario)
    assert fingerprint(run) == fingerprint(again)
    assert again.queues.equals(run.queues)


def test_a_ramp_and_a_port_with_classes_change_their_thresholds():
    ramp = {"kind": "red", "kmin": "50pkt", "kmax": "100pkt", "pmax": 0.5}
    calls = [(100, lambda network: network.set("network.marking.kmin", "2pkt"))]
    calls += [(200, lambda network: network.set("network.marking.kmax", "60pkt"))]
    calls += [(250, lambda network: network.fault("slow", link="s0->h3", value=0.5))]
    tables = STAR | {"network": {"marking": ramp}}
    assert fingerprint(with_calls(tables, calls, changes=["s0->h3"])) != fingerprint(with_calls(tables, []))


CLASSES = STAR | {
    "duration": "4ms",
    "cc": {"name": "external", "window": 700},
    "classes": [
        {"name": "gold", "weight": 1, "buffer": "10MB", "marking": "none"},
        {"name": "best", "weight": 1, "buffer": "10MB", "marking": "none"},
        {"name": "rest", "buffer": "10MB", "marking": "none"},
    ],
    "traffic": [{"kind": "driven", "class": "gold"}, {"kind": "driven", "name": "best", "class": "best"}],
}


def frames(network, until):
    """Full packets of both messages that arrive until a time."""
    network.observe()
    network.advance(until=until)
    return (network.observe()["delivered_bytes"] / 1460).tolist()


@each([((0, 1), (2, 2)), ((0, 0), (1, 2))])
def test_weights_act_from_the_clock_on(sources, targets):
    """A ms of 10 Gbps has 833.3 frames of 1500 B, which two classes share 1:1, 3:1 and 3:2.

    At the port of a switch they come from two hosts, at a NIC they are those of one.
    """
    with sh.open(CLASSES) as network:
        network.send(sources[0], targets[0], "50MB")
        network.send(sources[1], targets[1], "50MB", traffic="best")
        network.advance("1ms")
        assert frames(network, "2ms") == pytest.approx([416.7, 416.7], abs=5)
        copy = network.fork()
        network.set("classes.gold.weight", 3)
        assert frames(network, "3ms") == pytest.approx([625, 208.3], abs=5)
        network.set("classes.best.weight", 2)
        assert frames(network, "3.9ms") == pytest.approx([450, 300], abs=6)
        run = network.run()
        assert frames(copy, "3ms") == pytest.approx([416.7, 416.7], abs=5)
        unchanged = copy.run()
    weights = [(one.kind, one.link, one.at, one.value) for one in run.scenario.faults]
    assert weights == [
        ("weights", "*->*", 2 * 10**9, {"gold": 3}),
        ("weights", "*->*", 3 * 10**9, {"gold": 3, "best": 2}),
    ]
    assert fingerprint(run) == fingerprint(sh.run(run.scenario)) != fingerprint(unchanged)
    assert fingerprint(run) == fingerprint(sh.run(run.scenario, threads=2))


@each(
    [
        ("classes.gold.weight", 0, "a whole number from 1"),
        ("classes.gold.weight", -1, "a whole number from 1"),
        ("classes.gold.weight", 1.5, "a whole number from 1"),
        ("classes.gold.weight", "3", "a whole number from 1"),
        ("classes.rest.weight", 3, r"one of classes\.gold\.weight, classes\.best\.weight, cc\.window"),
        ("network.marking.threshold", "1pkt", r"one of classes\.gold\.weight"),
    ]
)
def test_a_wrong_weight_is_refused_with_its_key(key, value, expected):
    with sh.open(CLASSES) as network:
        network.send(0, 1, "1KB")
        with pytest.raises(sh.ScenarioError, match=f"^{key} = .*{expected}"):
            network.set(key, value)
        assert not network.run().scenario.faults


@each(
    [
        ({"kind": "step", "threshold": "20pkt"}, "threshold", "5pkt"),
        ({"kind": "red", "kmin": "5pkt", "kmax": "20pkt", "pmax": 0.1, "weight": 0.1}, "pmax", 0.5),
        ({"kind": "red", "kmin": "5pkt", "kmax": "20pkt", "pmax": 0.1}, "gentle", True),
        ({"kind": "pi", "q_ref": "30KB", "k1": 1e-3, "k2": 10}, "q_ref", "90KB"),
        ({"kind": "codel", "target": "20us", "interval": "200us"}, "interval", "1ms"),
        ({"kind": "dualpi2"}, "step", "5us"),
        ({"kind": "phantom", "gamma": 1}, "gamma", 0.8),
        ({"kind": "rcp"}, "beta", 1),
    ]
)
def test_a_parameter_of_a_marking_at_the_clock_is_that_of_a_scenario(marking, name, value):
    """Messages at times 0 and 900 us as a trace, with the change at 800 us in the scenario."""
    cc = {"rcp": "rcp", "dualpi2": "prague"}.get(marking["kind"], "dctcp")
    tables = STAR | {"network": {"marking": marking}, "cc": cc}
    with sh.open(tables) as network:
        network.send_all([(src, 3, "1MB") for src in range(3)])
        network.advance("800us")
        network.set(f"network.marking.{name}", value)
        network.advance("100us")
        copy = network.fork()
        for one in (network, copy):
            one.send(1, 3, "300KB")
        run, same = network.run(), copy.run()
    rows = [[0, src, 3, 1_000_000] for src in range(3)] + [["0.0009", 1, 3, 300_000]]
    fault = {"kind": "marking", "link": "*->*", "at": "800us", "value": {name: value}}
    trace = tables | {"traffic": [{"kind": "trace", "flows": rows}]}
    changed = fingerprint(sh.run(trace | {"faults": [fault]}))
    assert fingerprint(run) == fingerprint(same) == changed
    assert changed != fingerprint(sh.run(trace))


def test_what_was_set_before_holds_when_another_parameter_is_set():
    marking = {"kind": "red", "kmin": "50pkt", "kmax": "100pkt", "pmax": 0.5}
    with sh.open(STAR | {"network": {"marking": marking}}) as network:
        network.send(0, 3, "1MB")
        network.set("network.marking.kmin", "2pkt")
        network.advance("100us")
        network.set("network.marking.kmax", "60pkt")
        run = network.run()
    assert [one.value for one in run.scenario.faults] == [{"kmin": "2pkt"}, {"kmin": "2pkt", "kmax": "60pkt"}]


def test_a_port_with_a_marking_of_its_own_kind_is_named():
    ports = [{"names": "s0->h2", "marking": {"kind": "red"}}]
    with sh.open(STAR | {"network": {"marking": {"kind": "step"}}, "ports": ports}) as network:
        network.send(0, 3, "1MB")
        with pytest.raises(sh.ScenarioError, match=r"mark by step .* unlike s0->h2 \(ports\[0\]\)"):
            network.set("network.marking.threshold", "5pkt")
        network.fault("marking", link="s0->h3", value={"threshold": "5pkt"})
        run = network.run()
    assert fingerprint(run) == fingerprint(sh.run(run.scenario))


def test_a_link_that_was_drained_comes_back():
    """As a scenario with a drain until then, whose switches use both spines again."""
    tables = FABRIC | {"network": {"convergence": "50us"}}
    calls = [(100, lambda network: network.fault("drain", link="leaf0->spine0"))]
    ends = (400, lambda network: network.fault("undrain", link="leaf0->spine0"))
    run = with_calls(tables, [*calls, ends], changes=["leaf0->*"])
    rows = [[0, src, (src + 2) % 4, 3_000_000] for src in range(4)] + [["0.0004", 0, 3, 100_000]]
    fault = {"kind": "drain", "link": "leaf0->spine0", "at": "100us", "until": "400us"}
    changing = {"network": {"convergence": "50us", "changing": ["leaf0->*"]}}
    trace = tables | changing | {"traffic": [{"kind": "trace", "flows": rows}], "faults": [fault]}
    assert fingerprint(run) == fingerprint(sh.run(trace))
    assert fingerprint(run) != fingerprint(with_calls(tables, calls, changes=["leaf0->*"]))


def test_threads_give_the_same_run():
    """Long and short steps, stops at completions, a fault and a copy, on one thread and on up to three."""

    def drive(threads):
        with sh.open(FABRIC, changes=["leaf0->*"], threads=threads) as network:
            messages = network.send_all([(src, (src + 2) % 4, "3MB") for src in range(4)])
            for step in ("300us", "1us", "1ns"):
                network.advance(step)
            network.fault("slow", link="leaf0->spine0", value=0.5)
            network.advance(until="completion")
            copy = network.fork()
            copy.send(0, 1, "1MB")
            for one in (network, copy):
                one.advance("20ms")
            assert all(message.done for message in messages)
            return fingerprint(network.run()), fingerprint(copy.run())

    assert drive(1) == drive(2) == drive(3)
    for threads in (0, 1001, 1.5, True):
        with pytest.raises(sh.ScenarioError, match=r"threads = .*a number from 1 to 1000"):
            sh.open(STAR, threads=threads)


def test_a_parameter_of_an_algorithm_holds_for_messages_that_are_sent_later():
    """After the change the messages are those of a second table; the first message keeps what it has."""
    with sh.open(STAR) as network:
        network.send(0, 3, "3MB")
        network.send(1, 3, "3MB")
        network.advance("200us")
        network.set("cc.g", 0.5)
        network.send(2, 3, "3MB")
        run = network.run()
    assert run.flows["cc"].tolist() == ["dctcp", "dctcp", "dctcp-2"]
    assert [used.parameters["g"] for used in run.scenario.flows.ccs][1] == 0.5
    assert fingerprint(run) == fingerprint(sh.run(run.scenario))


def test_a_named_table_has_parameters_of_its_own():
    traffic = [{"kind": "driven", "name": "one"}, {"kind": "driven", "name": "two", "cc": "swift"}]
    with sh.open({**STAR, "traffic": traffic}) as network:
        network.send(0, 3, "1MB", traffic="two")
        network.set("traffic.two.cc.beta", 0.5)
        network.send(1, 3, "1MB", traffic="two")
        network.send(2, 3, "1MB")
        run = network.run()
    assert run.flows["cc"].tolist() == ["swift", "swift-2", "dctcp"]
    assert fingerprint(run) == fingerprint(sh.run(run.scenario))


def test_what_cannot_be_set_is_refused_with_what_can():
    with sh.open(STAR, changes=["s0->h1"]) as network:
        network.send(0, 3, "1MB")
        for call, expected in (
            (lambda: network.set("network.buffer", "1MB"), r"network\.marking\.threshold.*cc\.g"),
            (lambda: network.set("cc.gg", 1), "did you mean"),
            (lambda: network.set("network.marking.threshold", "many"), "a size"),
            (lambda: network.set("cc.g", 7), "cc.g"),
            (lambda: network.fault("down", link="s0->h2"), "s0->h1"),
            (lambda: network.fault("down", link="s9->h2"), "a port such as"),
            (lambda: network.fault("flap", link="s0->h1"), "period"),
            (lambda: network.fault("slow", link="s0->h1", value=2), "share"),
        ):
            with pytest.raises(sh.ScenarioError, match=expected):
                call()
        run = network.run()
    assert not run.scenario.faults


def test_a_program_sets_window_and_rate_of_live_messages():
    """At 2 Gbps 1 ms carries 166 frames of 1500 B; a window of 1 packet one each round trip, 4.4 + 2.1 us."""
    tables = STAR | {"cc": {"name": "external", "window": 100}, "duration": "10ms"}
    tables |= {"traffic": [{"kind": "long-lived", "from": 1, "to": 2, "jitter": "0s"}, {"kind": "driven"}]}
    with sh.open(tables) as network:
        network.set_sender(0, rate="2Gbps")
        early = network.send(0, 3, "10MB", start="1ms")
        network.set_sender(early, window="1pkt")
        network.advance("1ms")
        assert 164 <= network.observe()["delivered_bytes"].sum() / 1460 <= 167
        copy = network.fork()
        network.advance("1ms")
        flows = network.observe().set_index("flow")["delivered_bytes"] / 1460
        assert 165 <= flows[0] <= 168
        assert 1000 / 6.6 <= flows[1] <= 1000 / 6.4
        copy.set_sender(0, rate="0bps")
        copy.advance("1ms")
        assert copy.observe().set_index("flow")["delivered_bytes"][0] / 1460 > 400
        for call, expected in (
            (lambda: network.set_sender(2, rate="1Gbps"), "one of 2 flows"),
            (lambda: network.set_sender(True, rate="1Gbps"), "a message"),
            (lambda: network.set_sender(copy.message(1), rate="1Gbps"), "of this network"),
            (lambda: network.set_sender(0, rate="1bps"), "1000000 or more"),
            (lambda: network.set_sender(0, rate="fast"), "a rate"),
            (lambda: network.set_sender(0, window=0), "a size from 1 B"),
        ):
            with pytest.raises(sh.ScenarioError, match=expected):
                call()
        runs = [network.run(), copy.run()]
    assert fingerprint(runs[0]) != fingerprint(runs[1])
    for run in runs:
        assert fingerprint(sh.run(run.scenario)) == fingerprint(run)
    refused = "a flow whose window a program sets, not of dctcp"
    with sh.open(STAR) as network, pytest.raises(sh.ScenarioError, match=refused):
        network.set_sender(network.send(0, 1, "1MB"), rate="1Gbps")


ROWS = [
    ("0us", "h0", "h3", "1MB"),
    ("10us", 1, 3, "1MB"),
    ("5us", 3, 2, 1460, 0),
    ("0us", 2, 0, "1KB", [1, 2]),
]


def test_transfers_end_when_those_of_a_whole_run_do():
    """Without waits the same as a trace; with them a transfer starts its time after the last end."""
    plain = [row[:4] for row in ROWS]
    trace = [
        [f"{row[0][:-2]}e-6", *row[1:3], size]
        for row, size in zip(plain, (10**6, 10**6, 1460, 1000), strict=True)
    ]
    run = sh.run({**STAR, "traffic": [{"kind": "trace", "flows": trace}]})
    expected = run.flows["start_us"] + run.flows["fct_us"]
    assert sh.transfers(STAR, plain) == pytest.approx(expected.tolist(), abs=1e-9)
    ends = sh.transfers(STAR, ROWS)
    # Nothing follows before the end of the first. 1460 B take 4.4 us alone, 1000 B 2 x 832 ns and 2 us.
    assert ends[0] == sh.transfers(STAR, ROWS[:2])[0]
    assert ends[2] == pytest.approx(ends[0] + 5 + 4.4, abs=0.06)
    assert ends[3] == pytest.approx(max(ends[1:3]) + 3.664, abs=0.06)


def test_transfers_of_a_warm_network_leave_it_as_it_is():
    with sh.open(STAR) as network:
        network.send(0, 3, "10MB")
        network.advance("1ms")
        busy = network.transfers([("0us", 1, 3, "1MB")])
        again = network.transfers([("0us", 1, 3, "1MB")])
        assert busy == again
        assert busy[0] - 1000 > 2 * 800
        assert network.transfers([]) == []
        run = network.run()
    assert len(run.flows) == 1
    cut = {**STAR, "duration": "1ms"}
    assert sh.transfers(cut, [("0us", 0, 3, "10MB"), ("0us", 0, 1, 1, 0)]) == [None, None]


@each(
    [
        ([("0us", 0, 3)], r"messages\[0\]"),
        ([("0us", 0, 0, 1)], "another host"),
        ([("-1us", 0, 1, 1)], "a time of 0 or more"),
        ([("0us", 0, 1, 1, 0)], "earlier"),
        ([("0us", 0, 1, 1), ("0us", 0, 1, 1, [2])], "earlier"),
    ]
)
def test_wrong_transfers_are_errors(rows, expected):
    with pytest.raises(sh.ScenarioError, match=expected):
        sh.transfers(STAR, rows)


def other_thread(network):
    found = []

    def call():
        try:
            network.send(0, 1, 1)
        except sh.ScenarioError as error:
            found.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    raise found[0]


WRONG = {
    lambda network: network.advance(until="0ps"): "or later",
    lambda network: network.advance("-1us"): "a time of 0 or more",
    lambda network: network.advance("1000001s"): "at most",
    lambda network: network.advance(): "either a duration or until",
    lambda network: network.advance("1us", until="2us"): "either a duration or until",
    lambda network: network.advance(until=sh.open(STAR).send(0, 1, 1)): "a message of this network",
    lambda network: network.send("h9", "h0", 1): "src",
    lambda network: network.send(0, 99, 1): "dst",
    lambda network: network.send(1, "h1", 1): "another host than src",
    lambda network: network.send(0, 1, 0): "a size from 1 B",
    lambda network: network.send(0, 1, "0B"): "a size from 1 B",
    lambda network: network.send(0, 1, 10**18): "a size from 1 B",
    lambda network: network.send(0, 1, True): "a size from 1 B",
    lambda network: network.send(0, 1, 1.5): "a size from 1 B",
    lambda network: network.send(0, 1, "1parsec"): "a size with its unit",
    lambda network: network.send(0, 1, 1, start="0ps"): "or later",
    lambda network: network.send(0, 1, 1, cc="dctpc"): "a table of traffic",
    lambda network: network.send(0, 1, 1, traffic="nobody"): "a table of traffic",
    lambda network: network.send_all([(0, 1, 1), (0, 0, 1)]): "another host than src",
    lambda network: network.message(10**6): "the number of a message",
    other_thread: "the thread that opened it",
}


def test_a_wrong_call_is_one_error_and_the_network_goes_on():
    def all_calls(wrong):
        network = sh.open(STAR)
        network.advance("1us")
        return fingerprint(drive(network, random.Random(3), 20, wrong).run())

    assert all_calls(()) == all_calls(WRONG)


@each([(call,) for call in WRONG])
def test_an_error_says_what_was_expected(call):
    with sh.open(STAR) as network:
        network.advance("1us")
        with pytest.raises(sh.ScenarioError, match=WRONG[call]):
            call(network)


def test_calls_after_the_end_are_errors():
    network = sh.open({**STAR, "duration": "1ms"})
    network.send(0, 1, "10MB")
    network.advance("2ms")
    assert network.ended
    for call in (lambda: network.advance("1us"), lambda: network.send(0, 1, 1)):
        with pytest.raises(sh.ScenarioError, match="the run has ended at its duration, 1ms"):
            call()
    run = network.run()
    assert run.flows["fct_us"].isna().all()
    assert fingerprint(run) == fingerprint(sh.run(run.scenario))
    for call in (network.run, network.fork, lambda: network.clock_ps, lambda: network.send(0, 1, 1)):
        with pytest.raises(sh.ScenarioError, match="closed"):
            call()
    network.close()
    with pytest.raises(sh.ScenarioError, match="one message or more"):
        sh.open(STAR).run()
    with pytest.raises(sh.ScenarioError, match="a message under way"):
        sh.open(STAR).advance(until="completion")


def test_a_message_that_cannot_complete_before_the_end_is_an_error():
    with sh.open({**STAR, "duration": "1ms"}) as network:
        message = network.send(0, 1, "10MB")
        with pytest.raises(sh.ScenarioError, match="before the run ends"):
            network.advance(until=message)


def test_what_cannot_be_driven_is_refused():
    with pytest.raises(sh.ScenarioError, match=r"shallows\.open"):
        sh.run(STAR)
    with pytest.raises(sh.ScenarioError, match=r"hosts\.costs"):
        sh.open({**STAR, "hosts": {"costs": [{"message": "1us"}]}})
    with sh.open(STAR) as network:
        network.send(0, 1, 1)
        log = network.log
    with pytest.raises(sh.ScenarioError, match="the log of a run"):
        sh.open(log)


def test_after_an_interrupt_the_run_goes_on():
    def run(interrupted):
        with sh.open(STAR) as network:
            network.send(0, 3, "1GB")
            if interrupted:
                timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
                timer.start()
                with pytest.raises(KeyboardInterrupt):
                    network.advance("1s")
                assert 0 < network.clock_ps < 10**12
            network.advance(until="50ms" if network.clock_us < 50_000 else f"{network.clock_ps}ps")
            network.send(1, 3, "1MB", start="2s")
            return fingerprint(network.run())

    assert run(True) == run(False)


SEQUENCES = int(os.environ.get("SHALLOWS_SEQUENCES", "40"))
"""SHALLOWS_SEQUENCES=2000 tries 2,000 sequences of interrupted calls."""


class Interrupts:
    """Ctrl-C in calls, after times as long as a step of Python, a call or several; `count` were raised."""

    def __init__(self, dice):
        self._dice, self._armed, self.count = dice, False, 0

    def hear(self, *_):
        if self._armed:
            self._armed = False  # at most one in a call
            self.count += 1
            raise KeyboardInterrupt

    def call(self, call):
        """Make a call, whose callback may raise."""
        after_s = self._dice.choice((1e-5, 1e-4, 1e-3)) * (0.1 + self._dice.random())
        with suppress(KeyboardInterrupt):
            with suppress(ZeroDivisionError, sh.ScenarioError):
                self._armed = True
                signal.setitimer(signal.ITIMER_REAL, after_s)
                call()
            self._armed = False


def planned(dice):
    """Times of the clock in ps; then the messages that start at a time then or later."""
    clock, plan = 0, []
    for _ in range(dice.randint(3, 12)):
        clock += dice.randint(1, 60) * 10**6
        rows = []
        for _ in range(dice.randint(0, 3)):
            src = dice.randrange(4)
            rows.append((src, (src + dice.randint(1, 3)) % 4, dice.randint(1, 60_000)))
        plan.append((clock, f"{clock + dice.randrange(30 * 10**6)}ps", rows))
    return plan


def performed(plan, dice, call):
    """The run of a sequence each of whose calls `call` makes, and how often each callback was called."""
    called = collections.Counter()

    def on_done(message):
        if message.network is network:  # a copy has its own messages
            called[message.number] += 1
        if message.number % 7 == 3:
            raise ZeroDivisionError

    def until(target, is_done):
        for _ in range(100):
            if is_done():
                return
            call(target)
        raise AssertionError("no progress in 100 calls")

    sent = 0
    with sh.open(STAR) as network:
        for clock_ps, start, rows in plan:
            if dice.random() < 0.5:
                call(lambda to=clock_ps: network.advance(until="completion", limit=f"{to}ps"))
            until(
                lambda to=clock_ps: network.advance(until=f"{to}ps"),
                lambda to=clock_ps: network.clock_ps >= to,
            )
            if dice.random() < 0.3:
                call(lambda: network.fork().advance("5us"))
            sent += len(rows)
            until(
                lambda rows=rows, start=start: network.send_all(rows, start=start, on_done=on_done),
                lambda sent=sent: len(network._log) == sent,
            )
        until(
            lambda: network.advance(until="20ms"),
            lambda: network.clock_ps >= 20 * 10**9 and not network._undelivered,
        )
        run = network.run() if sent else None
    return run, called


@pytest.mark.parametrize("part", range(4))
def test_interrupted_sequences_lose_no_message_and_have_the_same_run(part, request):
    """A callback that an interrupt meets before its first step is lost; none is called twice."""
    interrupts = Interrupts(random.Random(part))
    found = signal.signal(signal.SIGALRM, interrupts.hear)
    request.addfinalizer(lambda: signal.signal(signal.SIGALRM, found))
    for number in range(part, SEQUENCES, 4):
        plan = planned(random.Random(number))
        if not any(rows for _, _, rows in plan):
            continue
        quiet, called = performed(plan, random.Random(number), plainly)
        assert set(called.values()) == {1}
        assert len(called) == len(quiet.flows)
        before = interrupts.count
        again, called_again = performed(plan, random.Random(number), interrupts.call)
        assert fingerprint(again) == fingerprint(quiet)
        assert not again.flows["fct_us"].isna().any()
        assert set(called_again.values()) <= {1}
        assert len(called) - len(called_again) <= interrupts.count - before
    assert interrupts.count > SEQUENCES // 4


def plainly(call):
    """Make a call, whose callback may raise."""
    with suppress(ZeroDivisionError, sh.ScenarioError):
        call()


def test_other_threads_run_while_the_network_advances():
    counted, stops = [0], threading.Event()

    def count():
        while not stops.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    with sh.open(STAR) as network:
        network.send(0, 3, "400MB")
        thread.start()
        before = counted[0]
        network.advance("1s")
        assert counted[0] > before + 20
    stops.set()
    thread.join()


def test_an_algorithm_in_python_raises_and_is_not_copied():
    class Fails:
        def __init__(self, window, rate):
            self.left = 5

        def on_ack(self, now, ack):
            self.left -= 1
            if not self.left:
                raise ZeroDivisionError

        def on_loss(self, now, loss):
            pass

        def decision(self):
            return 10

    with sh.open({**STAR, "cc": Fails}) as network:
        network.send(0, 1, "1MB")
        with pytest.raises(sh.ScenarioError, match=r"Fails.*cannot be copied"):
            network.fork()
        with pytest.raises(ZeroDivisionError):
            network.advance("1ms")


def test_a_saved_log_repeats_the_run(tmp_path):
    with sh.open(STAR) as network:
        network.send(0, 1, "1MB")
        network.advance("30us")
        network.send(2, 1, "1MB", start="50us")
        file = network.save_log(tmp_path / "log.toml")
        run = network.run()
    assert fingerprint(sh.run(file)) == fingerprint(run)
    saved = run.save(tmp_path / "out")
    assert fingerprint(sh.run(saved / "scenario.toml")) == fingerprint(run)
    assert sh.Run.load(saved).why(1).fct_ps / 1e6 == pytest.approx(run.flows["fct_us"][1])
    assert run.figure() is not None


def test_a_log_of_a_stranger_runs_no_code(tmp_path):
    (tmp_path / "mine.py").write_text("raise SystemExit('it ran')\n")
    text = sh.Scenario.from_tables(STAR).to_toml().replace('name = "dctcp"', 'name = "mine.py:Mine"')
    (tmp_path / "log.toml").write_text(text)
    with pytest.raises(sh.ScenarioError, match="trust"):
        sh.open(tmp_path / "log.toml")

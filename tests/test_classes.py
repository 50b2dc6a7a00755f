"""Traffic classes, from the keys of a scenario to the tables of a result."""

import pytest

from shallows import _core
from shallows.scenario import Scenario
from shallows.settings.explain import explain
from shallows.worlds import packet

GBPS = 10**9
RATES = {"100Mbps": 10**8, "10Gbps": 10 * GBPS, "1.6Tbps": 1600 * GBPS}


def star(classes, traffic, *, frames=6000, rate="10Gbps", mtu="1500B", hosts=4, **tables):
    """A star in which a link sends so many frames, of which the first third are warm-up."""
    frame_ps = int(mtu.removesuffix("B")) * 8 * 10**12 // RATES[rate]
    tables = {"cc": {"name": "fixed", "window": "2000pkt"}, **tables}
    network = {"mtu": mtu, "buffer": "unlimited", **tables.pop("network", {})}
    return Scenario(
        duration=f"{frame_ps * frames}ps",
        warmup=f"{frame_ps * frames // 3}ps",
        topology={"kind": "star", "hosts": hosts, "rate": rate, "rtt": f"{100 * frame_ps}ps"},
        network=network,
        classes=classes,
        traffic=traffic,
        **tables,
    )


def of_classes(scenario, port, threads=1):
    """{class: its row} at a port."""
    run = packet.run(scenario, threads=threads)
    rows = run.classes[run.classes.port == port]
    return {row["class"]: row for row in rows.to_dict("records")}


def stream(source, target, name, **keys):
    ends = {"from": source, "to": target, "flows": 1, "jitter": "0s"}
    return {"kind": "long-lived", "class": name, **ends, **keys}


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("mtu", ["64B", "1500B", "9000B"])
@pytest.mark.parametrize("same_host", [False, True])
def test_weights_are_shares_of_the_bytes(rate, mtu, same_host):
    """Three classes, one of which joins late, at a switch port or in one NIC: 5 to 3 to 2 within 1 %."""
    weights = {"a": 5, "b": 3, "c": 2}
    classes = [{"name": name, "weight": weight, "marking": "none"} for name, weight in weights.items()]
    late = int(mtu.removesuffix("B")) * 8 * 10**12 // RATES[rate] * 500
    traffic = [
        stream(0 if same_host else place, 3, name, start=f"{late if place == 1 else 0}ps")
        for place, name in enumerate(weights)
    ]
    found = of_classes(star(classes, traffic, rate=rate, mtu=mtu), "h0->s0" if same_host else "s0->h3")
    total = sum(found[name]["sent_bytes"] for name in weights)
    for name, weight in weights.items():
        assert found[name]["sent_bytes"] / total == pytest.approx(weight / 10, rel=0.01)


def test_weights_hold_while_the_wire_loses_frames():
    classes = [{"name": "a", "weight": 3, "marking": "none"}, {"name": "b", "weight": 1, "marking": "none"}]
    faults = [{"link": "s0->h3", "kind": "loss", "value": 1e-3}]
    found = of_classes(star(classes, [stream(0, 3, "a"), stream(1, 3, "b")], faults=faults), "s0->h3")
    assert found["a"]["sent_bytes"] / found["b"]["sent_bytes"] == pytest.approx(3, rel=0.01)


def test_a_class_of_higher_priority_leaves_the_rest_to_the_weights():
    """The first class sends at 20 % of the link, a window of 20 packets in 100 frame times."""
    classes = [{"name": "first"}, {"name": "a", "weight": 3}, {"name": "b", "weight": 1}]
    first = stream(0, 3, "first", cc={"name": "fixed", "window": "20pkt"})
    found = of_classes(star(classes, [first, stream(1, 3, "a"), stream(2, 3, "b")]), "s0->h3")
    sent = {name: found[name]["sent_bytes"] for name in ("first", "a", "b")}
    whole = sum(sent.values())
    # A round trip of 100 frame times, in which the packet itself waits for half of another.
    assert sent["first"] / whole == pytest.approx(0.2, rel=0.05)
    assert sent["a"] / sent["b"] == pytest.approx(3, rel=0.01)
    # It waits for at most the frame in transmission, and is sent in one frame time of 1.2 us.
    assert 1.2 <= found["first"]["delay_mean_us"] <= 2.4


def link_use(scenario):
    ports = packet.run(scenario).ports
    return float(ports[ports.port == "h0->s0"].utilization.iloc[0])


@pytest.mark.parametrize("lossless", ["a", "b"])
def test_a_pause_of_one_class_pauses_no_other(lossless):
    """Three hosts send into h3, and h0 sends to h4 in the other class over the link that is paused."""
    other = "b" if lossless == "a" else "a"
    classes = [
        {"name": name, "weight": 1, "pfc": {"threshold": "20pkt"} if name == lossless else False}
        for name in ("a", "b")
    ]
    traffic = [stream(source, 3, lossless) for source in (0, 1, 2)] + [stream(0, 4, other)]
    scenario = star(classes, traffic, hosts=5)
    found = of_classes(scenario, "h0->s0")
    assert found[lossless]["paused_us"] > 0
    assert (found[other]["pauses"], found[other]["paused_us"]) == (0, 0)
    # The other class fills its link, of which the lossless one leaves more than half.
    assert link_use(scenario) == pytest.approx(1, rel=0.01)
    assert found[other]["sent_bytes"] > found[lossless]["sent_bytes"]
    # In one class the pause stops both.
    together = scenario.replace({f"traffic.{at}.class": lossless for at in range(4)})
    assert link_use(together) < 0.9


def test_both_classes_are_lossless_and_pause_separately():
    classes = [{"name": name, "weight": 1, "pfc": {"threshold": "20pkt"}} for name in ("a", "b")]
    traffic = [stream(source, 3, "a") for source in (0, 1, 2)] + [stream(0, 4, "b")]
    scenario = star(classes, traffic, hosts=5)
    found = of_classes(scenario, "h0->s0")
    assert found["a"]["pauses"] > 10
    assert found["b"]["pauses"] == 0
    assert sum(row["dropped"] for row in of_classes(scenario, "s0->h3").values()) == 0


def test_settings_of_classes_are_explained():
    """Levels in bytes of each class, its headroom, and pauses before every packet is marked."""
    marking = {"kind": "red", "kmin": "30KB", "kmax": "200KB"}
    classes = [
        {"name": "roce", "marking": marking, "pfc": {"threshold": "150KB", "headroom": "90KB"}},
        {"name": "tcp", "marking": "none", "buffer": "1MB"},
    ]
    found = explain(star(classes, [stream(0, 3, "roce")]))
    (port,) = found.ports
    assert {level.key: level.bytes for level in port.levels} == {
        "classes[0].marking.kmin": 30_000,
        "classes[0].pfc.threshold": 150_000,
        "classes[0].marking.kmax": 200_000,
        "classes[1].buffer": 1_000_000,
    }
    assert port.headroom_set == 90_000
    assert any("a lone link is paused from 150KB on, before every" in text for text in found.remarks)
    classes[0]["pfc"] = {"threshold": "201KB"}
    assert not explain(star(classes, [stream(0, 3, "roce")])).remarks


def mean_queue(beside, *, apart=True):
    """Mean queue of DCQCN at the port to h3 in packets, beside flows of another algorithm."""
    classes = [
        {"name": "roce", "weight": 1, "buffer": "1000pkt"},
        {"name": "tcp", "weight": 1, "buffer": "250pkt"},
    ]
    roce = [stream(source, 3, "roce", cc="dcqcn", flows=2) for source in (0, 1)]
    tcp = [stream(2, 3, "tcp" if apart else "roce", cc=beside, flows=4)]
    scenario = star(classes, roce + tcp, frames=60_000, hosts=4, network={"buffer": None})
    return of_classes(scenario, "s0->h3")["roce"]["queue_mean_pkt"]


def test_cubic_and_dcqcn_in_classes_of_their_own_do_not_change_each_others_queue():
    """DCQCN's queue is the same beside CUBIC, beside Reno, and beside a window that never changes."""
    alone = mean_queue({"name": "fixed", "window": "1000pkt"})
    for beside in ("cubic", "reno"):
        assert mean_queue(beside) == pytest.approx(alone, rel=0.03)
    assert abs(mean_queue("cubic", apart=False) / alone - 1) > 0.1


def beside_or_alone(cc, beside, weight):
    """The row of a class beside one of weight 1 and on a link of its share, and bytes that both sent."""
    own = {"name": "own", "buffer": "1000pkt" if cc == "dcqcn" else "250pkt"}
    # The default ramp follows the rate of the port, so it is stated.
    own["marking"] = {"kind": "red", "kmin": "5KB", "kmax": "200KB"} if cc == "dcqcn" else "none"
    other = {"name": "other", "buffer": "1000pkt", "marking": {"kind": "red"}}
    flows = [stream(f"h{at}", "r", "own", cc=cc, flows=2) for at in (0, 1)]
    others = [stream("h2", "r", "other", cc=beside, flows=4)]
    found = []
    for share, classes, traffic in (
        (1, [own | {"weight": weight}, other | {"weight": 1}], flows + others),
        (weight / (weight + 1), [own], flows),
    ):
        cables = [[f"h{at}", "s", "10Gbps", "30us"] for at in range(3)]
        scenario = Scenario(
            duration="72ms",
            warmup="24ms",
            topology={
                "kind": "graph",
                "hosts": ["h0", "h1", "h2", "r"],
                "edges": [*cables, ["s", "r", f"{10 * share}Gbps", "30us"]],
            },
            cc=cc,
            classes=classes,
            traffic=traffic,
        )
        found.append(of_classes(scenario, "s->r"))
    return found[0]["own"], found[1]["own"], sum(row["sent_bytes"] for row in found[0].values())


@pytest.mark.parametrize("weight", [1, 3])
@pytest.mark.parametrize(("cc", "beside"), [("cubic", "dcqcn"), ("dcqcn", "cubic")])
def test_a_queue_beside_another_class_is_that_on_a_link_of_its_share(cc, beside, weight):
    """In both directions within 10 %: packets leave in turns of up to three, not evenly.

    DCQCN leaves a tenth of its share, which CUBIC takes. Together they send for 48 ms at 10 Gbps.
    """
    together, alone, of_both = beside_or_alone(cc, beside, weight)
    assert together["queue_mean_pkt"] == pytest.approx(alone["queue_mean_pkt"], rel=0.1)
    assert together["sent_bytes"] == pytest.approx(alone["sent_bytes"], rel=0.1)
    assert of_both == pytest.approx(60e6, rel=0.01)


@pytest.mark.parametrize(("first", "second"), [((0.5, 3), (2, 2)), ((1, 1), (0.25, 4)), ((8, 2), (1, 3))])
def test_pools_agree_with_choudhury_and_hahne(first, second):
    """n busy queues of a pool of B hold alpha B / (1 + n alpha) each (ToN 6(2), 1998)."""
    pools = {"one": (*first, 1500), "two": (*second, 900)}
    classes = [{"name": name, "weight": 1, "pool": name, "marking": "none"} for name in pools]
    tables = [
        {"name": name, "size": f"{size * 1500}B", "alpha": alpha} for name, (alpha, _, size) in pools.items()
    ]
    traffic = []
    for name, (_, busy, _) in pools.items():
        traffic += [stream(4 + 3 * port + at, port, name) for port in range(busy) for at in range(3)]
    scenario = star(classes, traffic, frames=30_000, hosts=16, pools=tables)
    run = packet.run(scenario)
    rows = run.classes.set_index(["port", "class"])
    for name, (alpha, busy, size) in pools.items():
        for port in range(busy):
            held = rows.loc[f"s0->h{port}", name]["queue_mean_pkt"]
            assert held == pytest.approx(alpha * size / (1 + busy * alpha), rel=0.02), (name, port)


def anything(seed):
    """A scenario with classes of every sort, that lose packets and links."""
    import random

    draw = random.Random(seed)
    names = [f"c{at}" for at in range(draw.randint(2, 8))]
    pools = [{"name": "x", "size": "60KB"}, {"name": "y", "size": "200KB", "alpha": 0.5}]
    classes = [
        {
            "name": name,
            "marking": {"kind": "red"},
            **({"weight": draw.randint(1, 9)} if draw.random() < 0.6 else {}),
            **({"pfc": True} if draw.random() < 0.3 else {}),
            **({"pool": pools[at % 2]["name"]} if at < 2 or draw.random() < 0.4 else {}),
        }
        for at, name in enumerate(names)
    ]
    traffic = [
        {
            "kind": "incast",
            "class": draw.choice(names),
            "cc": draw.choice(["dcqcn", "cubic", "dctcp", "timely"]),
            "size": f"{draw.choice([1, 20, 90])}KB",
            "start": f"{draw.randint(0, 200)}us",
        }
        for _ in range(6)
    ]
    faults = [{"link": "leaf0<->*", "kind": "loss", "value": 1e-3}] if draw.random() < 0.5 else []
    return Scenario(
        seed=seed,
        duration="3ms",
        topology={"kind": "leaf-spine"},
        hosts={"nic": draw.choice(["fair", "fifo"])},
        classes=classes,
        pools=pools,
        traffic=traffic,
        faults=faults,
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_books_close_and_threads_change_nothing(seed):
    request = packet.request(anything(seed))
    answers = [_core.simulate(request, None, threads) for threads in (1, 2, 3)]
    assert all(answer["books"]["closed"] for answer in answers)
    assert len({answer["fingerprint"] for answer in answers}) == 1


def test_a_scenario_with_classes_survives_its_file():
    scenario = Scenario.load("classes")
    again = Scenario.from_toml(scenario.to_toml())
    assert again == scenario
    assert packet.request(again)["disciplines"] == packet.request(scenario)["disciplines"]
    assert [one["quantum_bytes"] for one in packet.request(scenario)["classes"]] == [None, 4500, 3000]

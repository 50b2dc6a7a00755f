"""The queues of ports: every algorithm with classes, trimming beside pauses, settings of some ports."""

import numpy as np
import pytest

import shallows as sh
from shallows.errors import ScenarioError
from shallows.scenario import Scenario
from shallows.settings import sonic_export
from shallows.worlds import packet

CORE = "left->right"
CLASSES = [{"name": "bronze", "weight": 1}, {"name": "gold", "weight": 3}]


def two_classes(cc, *, classes=CLASSES, rate="10Gbps", **changes):
    """Two senders whose receivers differ behind one core link of the rate of the hosts' links."""
    edges = [
        [f"h{number}", side, rate, "1us"] for number, side in enumerate(("left", "left", "right", "right"))
    ]
    edges.append(["left", "right", rate, "2us"])
    tables = {
        "duration": "40ms",
        "warmup": "20ms",
        "topology": {"kind": "graph", "hosts": ["h0", "h1", "h2", "h3"], "edges": edges},
        "cc": cc,
        "classes": classes,
        "traffic": [
            {
                "kind": "long-lived",
                "flows": 1,
                "from": number,
                "to": 2 + number,
                "class": one["name"],
                "jitter": "0s",
            }
            for number, one in enumerate(classes)
        ],
    }
    return Scenario(**{**tables, **changes})


def sent(run, port=CORE):
    """Bytes of each queue of a port."""
    rows = run.classes[run.classes.port == port]
    return dict(zip(rows["class"], rows["sent_bytes"], strict=True))


@pytest.mark.parametrize("cc", ["ndp", "rccc"])
def test_weights_divide_a_link_where_queues_wait(cc):
    """Receivers call for the whole rate of their links, so both classes always wait at the core: 1 to 3."""
    found = sent(packet.run(two_classes(cc)))
    assert found["gold"] / found["bronze"] == pytest.approx(3, rel=0.02)


def without_classes(made):
    """The same flows in one queue."""
    traffic = [
        {key: value for key, value in table.items() if key != "class"} for table in made.tables["traffic"]
    ]
    return Scenario(**{**made.tables, "classes": [], "traffic": traffic})


@pytest.mark.parametrize("cc", ["expresspass", "hpcc", "hpcc-roce", "rcp"])
def test_weights_do_not_act_where_no_queue_waits(cc):
    """Credits have one queue for all classes, and records and rates are those of the port.

    So flows share the link as they do in one queue.

    HPCC and RCP share equally. Two flows of ExpressPass do so on the mean of long runs only.
    """
    made = two_classes(cc)
    found, plain = sent(packet.run(made)), packet.run(without_classes(made)).flows.goodput_gbps
    assert found["gold"] / found["bronze"] == pytest.approx(plain[1] / plain[0], rel=0.02)
    if cc != "expresspass":
        assert found["gold"] / found["bronze"] == pytest.approx(1, rel=0.02)


def test_records_of_a_port_count_the_data_of_other_classes():
    """A constant window goes in a class before that of HPCC, with marks of its own: together they take eta.

    Four frames of 1.2 us in a round trip of 8 us on the wires, and 3.8 us to send a frame and its answer over
    three links: 41 %, and somewhat less where a frame of HPCC goes first.
    """
    step = {"kind": "step", "threshold": "1000pkt"}
    classes = [{"name": "constant", "marking": step}, {"name": "hpcc"}]
    constant = {"kind": "long-lived", "flows": 1, "from": 0, "to": 2, "class": "constant"}
    fixed = {"name": "fixed", "window": "4pkt"}
    hpcc = {"kind": "long-lived", "flows": 1, "from": 1, "to": 3, "class": "hpcc"}
    found = sent(packet.run(two_classes("hpcc", classes=classes, traffic=[constant | {"cc": fixed}, hpcc])))
    link = 20e-3 * 10e9 / 8
    assert 0.37 <= found["constant"] / link <= 0.41
    # Its window is W = eta W / U + w_ai: U = 0.95 / (1 - 80 B / W), where W is 56 % of 10 Gbps in 11.8 us.
    assert (found["constant"] + found["hpcc"]) / link == pytest.approx(0.959, abs=0.005)


@pytest.mark.parametrize("cc", ["dctcp", "cubic", "swift", "dcqcn", "ndp", "hpcc", "timely"])
def test_one_class_alone_is_a_port_without_classes(cc):
    """Data flows one way on each link, and answers alone the other way."""
    topology = {"kind": "star", "hosts": 4, "rate": "10Gbps"}
    traffic = {"kind": "incast", "senders": 3, "size": "300KB", "to": 0}
    plain = Scenario(duration="until-done", topology=topology, cc=cc, traffic=[traffic])
    one = Scenario(
        duration="until-done", topology=topology, cc=cc, traffic=[traffic], classes=[{"name": "all"}]
    )
    assert packet.run(one).summary["fingerprint"] == packet.run(plain).summary["fingerprint"]


@pytest.mark.parametrize(("warmup", "cc"), [("0s", "fixed"), ("2ms", "fixed"), ("2ms", "dctcp")])
def test_counters_of_a_port_without_classes_are_those_of_one_class(warmup, cc):
    """A link of 1 Gbps begins at most 834 frames of 12 us in 10 ms, or 667 in the last 8, although it accepts
    many more; they wait for 10 ms at most.
    """
    frames = 834 if warmup == "0s" else 667
    tables = {
        "duration": "10ms",
        "warmup": warmup,
        "topology": {"kind": "dumbbell", "hosts": 2, "rate": "1Gbps", "edge_rate": "100Gbps", "rtt": "20us"},
        "cc": {"name": cc, "window": "4000pkt"} if cc == "fixed" else cc,
        "network": {"buffer": "unlimited"}
        | {"marking": {"kind": "step", "threshold": "30pkt", "at": "enqueue"}},
        "traffic": [{"kind": "long-lived", "flows": 2, "jitter": "0s"}],
        "record": {"ports": "all"},
    }
    plain, one = (
        packet.run(Scenario(**tables, **classes)).ports.set_index("port").loc["s0->s1"]
        for classes in ({}, {"classes": [{"name": "all"}]})
    )
    assert frames - 4 <= plain.sent <= frames
    assert 0 < plain.delay_mean_us < 10_000
    assert (plain.sent, plain.delay_mean_us) == (one.sent, pytest.approx(one.delay_mean_us, rel=1e-9))
    assert plain.marked <= plain.sent


def beside(**changes):
    """128 hosts at 400 Gbps: an incast of RoCE in a paused class, and one of NDP in a class that trims."""
    incast = {"kind": "incast", "senders": 32, "size": "1MB"}
    tables = {
        "duration": "until-done",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 8,
            "spines": 8,
            "hosts_per_leaf": 16,
            "rate": "400Gbps",
            "spine_rate": "400Gbps",
        },
        "classes": [{"name": "lossless", "weight": 1, "pfc": True}, {"name": "trimmed", "weight": 1}],
        "traffic": [
            incast | {"to": 0, "class": "lossless", "cc": "dcqcn"},
            incast | {"to": 0, "class": "trimmed", "cc": "ndp"},
        ],
    }
    return Scenario(**{**tables, **changes})


def test_one_class_pauses_while_another_one_trims():
    run = packet.run(beside())
    classes, ports = run.classes.groupby("class"), run.ports
    assert run.summary["flows"]["finished"] == 64
    assert classes["dropped"].sum()["lossless"] == 0
    assert classes["pauses"].sum()["lossless"] > 0
    assert ports.trimmed.sum() > 1000
    assert classes["pauses"].sum()["trimmed"] == 0
    assert classes["dropped"].sum()["trimmed"] == 0


def data_queues(scenario, port):
    """The classes of a port in the request."""
    asked = packet.request(scenario)
    link = scenario.graph.port_names.index(port)
    return asked["disciplines"][int(asked["links"]["discipline"][link]) - 1]["classes"], asked, link


def test_a_tier_has_settings_of_its_own():
    """A ramp at the spines only, at dequeue beside trimming, and a longer queue at the last hop."""
    ramp = {"kind": "red", "kmin": "6KB", "kmax": "9KB", "pmax": 0.2, "at": "dequeue"}
    made = beside(
        ports=[
            {"names": "spine*->*", "class": "trimmed", "marking": ramp},
            {"names": ["*->h*"], "class": "trimmed", "trimming": {"threshold": "60KB"}},
        ]
    )
    spine, asked, _ = data_queues(made, "spine0->leaf0")
    last, _, _ = data_queues(made, "leaf0->h0")
    leaf, _, _ = data_queues(made, "leaf0->spine0")
    _, headers, _, lossless, trimmed = spine
    assert (headers["limit"], headers["turn"]) == ({"bytes": 16 * 1500}, 10)
    assert (trimmed["limit"], trimmed["trims"], lossless["trims"]) == ({"packets": 8}, True, False)
    marking = asked["markings"][trimmed["marking"]]
    assert (marking["kind"], marking["at"], marking["parameters"]["kmin"]) == ("red", "dequeue", 6e3)
    assert last[4]["limit"] == {"bytes": 60_000}
    assert "marking" not in last[4]
    assert leaf[4] == last[4] | {"limit": {"packets": 8}}
    assert packet.run(made).summary["flows"]["finished"] == 64


def test_a_saved_scenario_leaves_open_what_a_tier_leaves_open():
    """Only the threshold differs at the last hop: 30 and 7 hold there too, not the defaults of 16 and 10."""
    made = Scenario(
        duration="1ms",
        topology={"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2},
        network={"trimming": {"threshold": "40KB", "headers": "30pkt", "ratio": 7}},
        cc="ndp",
        ports=[{"names": "*->h*", "trimming": {"threshold": "60KB"}}],
        traffic=[{"kind": "incast", "senders": 2}],
    )
    for one in (made, Scenario.from_toml(made.to_toml())):
        (headers, data), _, _ = data_queues(one, "leaf0->h0")
        assert (headers["limit"], headers["turn"]) == ({"bytes": 30 * 1500}, 7)
        assert data["limit"] == {"bytes": 60_000}


def test_the_last_hop_of_mrc_has_the_queue_of_headers_of_other_ports_when_saved():
    """C R is 31,256 B, and 1.5 times as much for data at the last hop.

    R of 2 links of 1 us and 2 of 4 us is 20 us, 4 * 1.2 us for a frame and 4 * 51.2 ns for its answer.
    """
    topology = {"kind": "three-tier", "cores": 2, "aggregations": 2, "tors": 2, "hosts_per_tor": 2}
    traffic = [{"kind": "shuffle", "size": "10KB"}]
    made = Scenario(duration="1ms", topology={**topology, "rate": "10Gbps"}, cc="mrc", traffic=traffic)
    for one in (made, Scenario.from_toml(made.to_toml())):
        (headers, data), _, _ = data_queues(one, "tor0->h0")
        assert (headers["limit"], data["limit"]) == ({"bytes": 31_256}, {"bytes": 46_884})


def test_the_first_hop_of_a_port_without_classes_can_differ():
    """Marks begin at 5 packets at the ports to hosts, and at 65 elsewhere."""
    step = {"kind": "step", "threshold": "65pkt"}
    made = Scenario(
        duration="2ms",
        topology={"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2},
        network={"marking": step},
        cc="dctcp",
        ports=[{"names": "*->h*", "marking": {"kind": "step", "threshold": "5pkt"}, "buffer": "50pkt"}],
        traffic=[{"kind": "incast", "senders": 2, "size": "1MB", "to": 0}],
    )
    asked, names = packet.request(made), made.graph.port_names
    begins = [one["parameters"]["threshold"] for one in asked["markings"]]
    of = {
        names[link]: (begins[number - 1], asked["links"]["buffer_bytes"][link])
        for link, number in enumerate(asked["links"]["marking"].tolist())
        if number
    }
    assert of["leaf0->h0"] == (5 * 1500, 50 * 1500)
    assert of["leaf0->spine0"] == of["spine1->leaf0"] == (65 * 1500, 250 * 1500)
    assert Scenario.from_toml(made.to_toml()) == made


def test_only_the_ports_of_a_table_mark_and_no_warning_denies_it():
    """Incast over the spines of docs/scenario-ports.md: DCQCN has marks, though [network] has none."""
    ramp = {"kind": "red", "kmin": "40KB", "kmax": "80KB", "pmax": 0.2}
    scenario = Scenario(
        duration="1ms",
        topology={"kind": "leaf-spine"},
        network={"marking": "none"},
        ports=[{"names": "spine*->*", "marking": ramp}],
        cc="dcqcn",
        traffic=[{"kind": "incast", "size": "500KB"}],
        record={"ports": "all"},
    )
    run = sh.run(scenario, progress=False)
    at_spines = run.ports.port.str.startswith("spine")
    assert (run.ports.marked[~at_spines] == 0).all()
    assert run.ports.marked[at_spines].sum() > 0
    assert not any("no port marks" in said for said in run.summary["warnings"])
    none = scenario.replace({"ports": [{"names": "spine*->*", "marking": "none"}]})
    assert any("no port marks" in said for said in none.warnings)


def test_what_network_says_holds_for_every_class_that_does_not_say_otherwise():
    classes = [{"name": "a"}, {"name": "b", "pfc": False}, {"name": "c", "pool": "p"}]
    made = two_classes("dcqcn", classes=CLASSES).replace(
        {
            "classes": classes,
            "pools": [{"name": "p"}],
            "network.pfc": True,
            "traffic": [{"kind": "long-lived", "class": "a"}],
        }
    )
    assert [bool(queue.pauses) for queue in made.queues] == [True, False, True]
    assert made.queues[1].buffer < 2**63


@pytest.mark.parametrize(
    ("priority", "network"),
    [(1, {"pfc": True}), (1, {"shared": True}), (1, {"trimming": True})],
)
def test_priorities_go_beside_pauses_memory_and_trimming(priority, network):
    """Two priorities keep their order with every kind of memory: the urgent incast ends first."""
    incast = {"kind": "incast", "senders": 3, "size": "300KB", "to": 0}
    made = Scenario(
        duration="until-done",
        topology={"kind": "star", "hosts": 4, "rate": "10Gbps"},
        network=network,
        cc={"name": "ndp"} if "trimming" in network else "dcqcn" if "pfc" in network else "dctcp",
        traffic=[incast, incast | {"priority": priority}],
    )
    run = sh.run(made)
    ends = run.flows.groupby("traffic").fct_us.max()
    assert run.summary["flows"]["finished"] == 6
    assert ends.iloc[1] < ends.iloc[0]


def test_every_algorithm_runs_in_two_classes():
    from shallows.algorithms.algorithm import catalog

    for row in catalog():
        if row["name"] != "fixed":
            run = packet.run(two_classes(row["name"], duration="300us", warmup="0s"))
            assert run.flows.goodput_gbps.min() > 0, row["name"]
            assert np.isfinite(run.classes.queue_mean_pkt).all()


@pytest.mark.parametrize(
    ("threshold", "cell", "marked"),
    [("50000B", None, 7), ("50000B", "256B", 8), ("51000B", None, 6), ("51000B", "256B", 7)],
)
def test_a_switch_that_counts_cells_compares_whole_cells(threshold, cell, marked):
    """Forty frames of 1500 B meet at a port at once.

    In bytes 34 frames exceed 50,000 B, and 35 exceed 51,000 B. A frame takes 6 cells of 256 B, and the
    thresholds are 195 and 199 cells, which 33 frames (198) and 34 frames (204) exceed.
    """
    scenario = Scenario(
        duration="until-done",
        topology={"kind": "star", "hosts": 41, "rate": "10Gbps", "rtt": "20us"},
        cc="dctcp",
        network={"marking": {"threshold": threshold} | ({"cell": cell} if cell else {})},
        traffic=[{"kind": "incast", "senders": 40, "size": "1pkt"}],
    )
    run = sh.run(scenario)
    assert scenario.mtu == 1500
    assert run.summary["bottleneck"]["marked"] == marked
    assert Scenario.from_toml(scenario.to_toml()) == scenario


def test_both_ends_of_a_ramp_are_in_cells():
    """1000 and 2000 B are 3 and 7 cells; a frame of 1500 B takes 6: 750 and 1750 B of full frames."""
    made = two_classes("dcqcn", classes=[{"name": "one"}], topology={"kind": "star", "hosts": 3},
                       traffic=[{"kind": "incast", "senders": 2}])  # fmt: skip
    ramp = {"kind": "red", "kmin": "1000B", "kmax": "2000B", "cell": "256B"}
    (point,) = packet.request(made.replace({"classes.0.marking": ramp, "network.mtu": "1500B"}))["markings"]
    assert [point["parameters"][key] for key in ("kmin", "kmax")] == [750, 1750]


@pytest.mark.parametrize(
    ("marking", "expected"),
    [
        ({"kind": "codel", "cell": "256B"}, "no cell with codel"),
        ({"cell": "1MB"}, "at most 16KiB"),
        ({"cell": 256}, "a size with its unit"),
    ],
)
def test_a_cell_that_no_switch_has_is_refused(marking, expected):
    with pytest.raises(ScenarioError, match=expected):
        two_classes("dctcp", classes=[], network={"marking": marking},
                    topology={"kind": "star", "hosts": 3}, traffic=[{"kind": "incast"}])  # fmt: skip


def test_a_fluid_and_the_settings_of_a_switch_have_no_cells():
    made = Scenario(
        duration="1ms",
        topology={"kind": "dumbbell", "hosts": 2, "rate": "10Gbps", "rtt": "20us"},
        cc="dctcp",
        network={"marking": {"threshold": "50KB", "cell": "256B", "at": "dequeue"}},
        traffic=[{"kind": "long-lived"}],
    )
    with pytest.raises(ScenarioError, match=r"marking\.cell = .256B.: expected no cell"):
        sh.run(made.replace({"network.marking.at": "enqueue"}), world="fluid")
    written = sonic_export.entries(made)
    (profile,) = written.tables["WRED_PROFILE"].values()
    assert profile["green_max_threshold"] == "50000"
    assert "its own cells" in written.not_expressed["network.marking.cell"]

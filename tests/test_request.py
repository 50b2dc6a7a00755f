"""The request to the core and its answer: files that are generated from them, keys, types and values."""

import json
import re
import runpy
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

from shallows import _core
from shallows.core import answer as core_answer
from shallows.errors import ScenarioError
from shallows.scenario import Scenario
from shallows.topology import KINDS as TOPOLOGIES
from shallows.units import NEVER
from shallows.worlds import packet

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((Path(__file__).parent.parent / "scenarios").glob("*.toml"))

COLUMNS = {
    "links": {
        "from": np.uint32,
        "to": np.uint32,
        "rate_bps": np.uint64,
        "delay_ps": np.uint64,
        "buffer_bytes": np.uint64,
        "marking": np.uint32,
        "discipline": np.uint32,
    },
    "flows": {
        "src": np.uint32,
        "dst": np.uint32,
        "bytes": np.uint64,
        "start_ps": np.uint64,
        "stop_ps": np.uint64,
        "class": np.uint32,
        "cc": np.uint32,
    },
}


def packaging(name):
    """A program of packaging/ as a dict of what it defines."""
    return runpy.run_path(str(ROOT / "packaging" / f"{name}.py"))


def test_the_types_in_python_are_generated_from_the_core():
    made = packaging("contract")
    assert made["source"](_core.contract()) == made["FILE"].read_text(), "run `make generated`"


def test_every_kind_of_the_core_has_a_type_in_python():
    source = packaging("contract")["source"]
    key = lambda name, kind, optional=False: [(name, kind, optional, "")]  # noqa: E731
    rest = [("Answer", key("x", "Books", True)), ("Books", key("closed", "bool")), ("Run", [])]
    cases = {
        '"down" or {"rate_bps": u64} or {"loss": f64}': 'Literal["down"] | dict[str, int] | dict[str, float]',
        "[Class]": "list[Class]",
        "[[u32]]": "U32",
        "{str: u8}": "dict[str, int]",
    }
    for kind, annotation in cases.items():
        text = source([("Request", [*key("from", kind), *key("y", kind, True)]), *rest])
        assert f'"from": {annotation},' in text
        assert f'"y": NotRequired[{annotation} | None],' in text
        # An answer has every key; a request may leave out what is optional.
        assert "x: Books | None" in text


def test_the_page_has_the_tables_of_the_contract():
    crossing = packaging("crossing")
    text = (ROOT / "docs" / "crossing.md").read_text()
    assert crossing["page"](text) == text, "run `make generated`"
    assert all(f"`{name}`" in text for name, _ in _core.contract())


def paths_of_tables(value, path=()):
    """The way to every table in a request."""
    if isinstance(value, dict):
        # Not tables: parameters, whose names are the algorithms' own, kinds of packets, and a choice of two.
        if not {"parameters", "class_of", "limit"}.intersection(path[-2:]):
            yield path
        for key, inner in value.items():
            yield from paths_of_tables(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from paths_of_tables(inner, (*path, at))


def table_at(request, path):
    for step in path:
        request = request[step]
    return request


def full_request():
    """One with every table that the contract has."""
    network = {"pfc": True, "buffer": "shared", "marking": {"kind": "step", "threshold": "5pkt"}}
    request, _ = request_of(network=network, cc={"name": "dctcp", "receiver": "inigo"})
    # A scenario has either such a receiver or such stamps.
    stamped, _ = request_of(hosts={"timestamps": {}})
    request["host"]["timestamps"] = stamped["host"]["timestamps"]
    # Only flows that pause have applications.
    turns, _ = request_of(traffic=[{"kind": "long-lived", "on": "1ms", "off": "2ms"}])
    flows = len(request["flows"]["src"])
    application = turns["flows"]["application"]
    request["flows"]["application"] = {key: np.resize(column, flows) for key, column in application.items()}
    # And either pauses or pacers.
    paced, _ = request_of(network={"marking": {"kind": "phantom"}}, cc="hull@nsdi12")
    request["disciplines"] += paced["disciplines"]
    # Where links are paused nothing is policed.
    policed, _ = request_of(network={"policer": {"rate": "1Gbps", "burst": "1MB"}})
    request["disciplines"] += policed["disciplines"]
    # Only flows that wait have predecessors.
    own, other = np.array([0], np.uint32), np.array([1], np.uint32)
    request["flows"]["after"] = {"flow": own, "predecessor": other}
    flags = np.zeros(flows, bool)
    request["flows"]["wait"] = {"needs": np.zeros(flows, np.uint32), "global": flags}
    request["record"]["goodput"] = {"interval_ps": 1_000_000, "flows": [own]}
    request["faults"] = [{"time_ps": 1, "link": 0, "change": "up"}]
    return request


def test_a_pacer_of_a_host_is_a_class_of_its_link():
    """NSDI 2012: 1 % of a 1 Gbps link at least, 7.2 us, a bucket of 3100 B; nothing else waits for tokens."""
    request, network = request_of(network={"marking": {"kind": "phantom"}}, cc="hull@nsdi12")
    (discipline,) = request["disciplines"]
    other, paced = discipline["classes"]
    rate = int(network.host_rate_bps[0])
    assert (discipline["class_of"], discipline["paced"]) == ([{"other": 0}], 1)
    pacer = {
        "eta": 0.125,
        "beta": 3000.0,
        "period_ps": 7_200_000,
        "least_bps": rate // 100,
        "most_bps": rate,
    }
    assert "shaper" not in other
    assert paced["shaper"] == {"rate_bps": rate, "burst_bytes": 3100, "jitter_ps": 0, "pacer": pacer}
    assert (request["links"]["discipline"] == network.is_nic).all()


def test_pacers_of_hosts_are_alike_and_alone():
    hull = {"name": "hull@nsdi12"}
    marking = {"kind": "phantom"}
    tables = [{"kind": "long-lived", "cc": hull | {"eta": eta}} for eta in (0.125, 0.25)]
    with pytest.raises(ScenarioError, match="the same eta, beta, period, least_rate, bucket"):
        request_of(network={"marking": marking}, traffic=tables)
    with pytest.raises(ScenarioError, match=r"network\.pfc: expected no pauses"):
        request_of(network={"marking": marking, "pfc": True}, cc=hull)
    alone = [{"kind": "long-lived", "cc": hull}, {"kind": "long-lived", "cc": {"name": "hull", "eta": 0.5}}]
    request_of(network={"marking": marking}, traffic=alone)


def test_an_unknown_field_of_any_table_is_refused_with_its_path():
    request = full_request()
    found = list(paths_of_tables(request))
    named = {name for name, _ in _core.contract()[: [name for name, _ in _core.contract()].index("Answer")]}
    assert len({tuple(step for step in path if isinstance(step, str)) for path in found}) == len(named)
    for path in found:
        bent = deepcopy(request)
        table_at(bent, path)["colour"] = 1
        with pytest.raises(ValueError, match="unknown field `colour`") as refused:
            _core.simulate(bent)
        assert str(refused.value).startswith(".".join(step for step in path if isinstance(step, str)))


def test_a_field_that_must_be_there_is_missed_by_name():
    request = full_request()
    optional = {(name, key) for name, fields in _core.contract() for key, _, may, _ in fields if may}
    assert ("TrafficClass", "pool") in optional
    for key in request:
        left = {other: value for other, value in request.items() if other != key}
        if ("Request", key) in optional:
            continue
        with pytest.raises(ValueError, match=f"missing field `{key}`"):
            _core.simulate(left)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("seed",), -1, "seed: invalid value: integer `-1`, expected u64"),
        (("seed",), 1.5, "seed: invalid type: floating point `1.5`, expected u64"),
        (("until_done",), 1, "until_done: invalid type: integer `1`, expected a boolean"),
        (
            ("balancing",),
            "spray",
            "balancing: unknown variant `spray`, expected one of `flow`, `packet`, `queue`, ",
        ),
        (("host", "nic"), None, "host.nic: "),
        (("links", "marking"), np.array([2.5]), "links.marking: invalid type: floating point"),
        (
            ("links", "rate_bps"),
            np.array([10**9], np.uint64),
            "links: columns of different lengths (from has",
        ),
        (
            ("faults", 0, "change"),
            "cut",
            "faults.change: unknown variant `cut`, expected one of `down`, `up`, ",
        ),
        (("faults", 0, "change"), {"rate_bps": 0.5}, "faults.change.rate_bps: invalid type: floating point"),
        (("disciplines", 0, "class_of", 0), {"data": 0}, "disciplines.class_of: no class for"),
        (("ccs", 0, "parameters", "g"), "much", "ccs.parameters.g: invalid type: string"),
        (("ccs", 0, "name"), "\udc80", "ccs.name: "),
        (("markings", 0, "kind"), "stop", 'markings: no marking is called "stop"'),
    ],
)
def test_a_value_of_another_kind_is_refused_with_its_path(path, value, message):
    request = full_request()
    table_at(request, path[:-1])[path[-1]] = value
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        _core.simulate(request)


@pytest.mark.parametrize(
    ("path", "value", "mistake"),
    [
        (("ccs", 0, "acks_every"), 256, ("ccs[0].acks_every", "256", "1 to 255")),
        (("header_bytes",), 1500, ("header_bytes", "1500", "1 or more, and less than mtu_bytes = 1500")),
        (("entropies",), 3, ("entropies", "3", "a power of two up to 65536, or 0")),
        (
            ("links", "rate_bps", 1),
            10**13 + 1,
            ("links.rate_bps[1]", "10000000000001", "1000000 to 10000000000000"),
        ),
        (("flows", "src", 0), 99, ("flows.src[0]", "99", "one of 4 hosts")),
        (("flows", "bytes", 1), 0, ("flows.bytes[1]", "0", "1 to 3135326124620, 2147483647 packets")),
    ],
)
def test_the_core_names_key_value_and_expectation_of_a_mistake(path, value, mistake):
    """The largest flow has 2^31 - 1 packets of 1460 B, and a link at most 10 Tbps (docs/limits.md)."""
    request, _ = request_of()
    assert _core.check(request) is None
    table_at(request, path[:-1])[path[-1]] = value
    assert _core.check(request) == mistake
    with pytest.raises(ValueError, match="{} = {}: expected {}".format(*map(re.escape, mistake))):
        _core.simulate(request)


def test_an_answer_that_crossed_as_json_is_the_same():
    """What shallows-live writes becomes the columns that the packet world gives."""
    answer = _core.simulate(packet.request(Scenario.load(EXAMPLES[0])), None)

    def plain(value):
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [plain(inner) for inner in value]
        return value.tolist() if isinstance(value, np.ndarray) else value

    again = core_answer.from_json(json.loads(json.dumps(plain(answer))))
    np.testing.assert_equal(again, answer)
    for table in ("flows", "ports", "probes", "classes"):
        assert {key: column.dtype for key, column in again[table].items()} == {
            key: column.dtype for key, column in answer[table].items()
        }


def request_of(**tables):
    topology = {"kind": "dumbbell", "hosts": 2, "edge_rate": "40Gbps"}
    traffic = [{"kind": "long-lived"}]
    network = {"buffer": "300pkt"}
    tables = {
        "duration": "1s",
        "cc": "dctcp",
        "topology": topology,
        "network": network,
        "traffic": traffic,
        **tables,
    }
    scenario = Scenario(**tables)
    return packet.request(scenario), scenario.graph


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_becomes_arrays_that_agree(path):
    request = packet.request(Scenario.load(path))
    for table, columns in COLUMNS.items():
        found = {key: column for key, column in request[table].items() if isinstance(column, np.ndarray)}
        assert {key: column.dtype for key, column in found.items()} == columns
        assert len({len(column) for column in found.values()}) == 1
    assert request["links"]["from"].max() < request["nodes"]
    assert request["flows"]["src"].max() < request["hosts"]
    assert request["links"]["marking"].max() <= len(request["markings"])
    assert request["links"]["discipline"].max() <= len(request["disciplines"])
    assert request["flows"]["cc"].max() < len(request["ccs"])
    assert request["record"]["queue_links"].dtype == request["record"]["probe_flows"].dtype == np.uint32
    assert all(isinstance(value, float) for cc in request["ccs"] for value in cc["parameters"].values())


@pytest.mark.usefixtures("small_catalog")
def test_scalars_are_integers_of_base_units():
    request, _ = request_of(seed=7, warmup="100ms", record={"queues": "10us", "probes": "1ms", "flows": 1})
    assert request["mtu_bytes"] == 1500
    assert request["header_bytes"] == 40
    assert request["duration_ps"] == 10**12
    assert request["warmup_ps"] == 10**11
    assert request["until_done"] is False
    assert request["seed"] == 7
    control = {"name": "dctcp", "parameters": {"g": 0.0625, "alpha": 1.0}, "receiver": None, "acks_every": 1}
    assert request["ccs"] == [control]
    assert request["host"] == {
        "nic": "fair",
        "initial_window_bytes": 14_600,
        "rto_min_ps": 10**9,
        "rto_initial_ps": 10**9,
        "rto_max_ps": 10**12,
        "segment": 1,
        "loss_detection": "duplicate-acks",
        "retransmission": "go-back-n",
        "gap": 0.002,
        "prr": False,
        "ack_delay_ps": 5 * 10**8,
        "option_bytes": 0,
        "poll_ps": 0,
        "batch": 10,
        "segment_time_ps": 0,
        "piggyback": False,
        "ack_jitter_ps": 0,
        "timestamps": None,
    }
    record = request["record"]
    assert (record["queue_interval_ps"], record["probe_interval_ps"]) == (10**7, 10**9)
    assert record["probe_flows"].tolist() == [0]


def test_until_done_has_no_end_in_time():
    traffic = [{"kind": "incast", "size": "20KB"}]
    request, _ = request_of(duration="until-done", traffic=traffic)
    assert (request["duration_ps"], request["until_done"]) == (NEVER, True)


def test_host_ports_are_unlimited_and_unmarked_unless_the_nic_is_one_queue():
    request, network = request_of()
    names = np.array(network.port_names)
    assert (request["links"]["buffer_bytes"] == NEVER).tolist() == [name.startswith("h") for name in names]
    assert set(request["links"]["buffer_bytes"][~network.is_nic].tolist()) == {300 * 1500}
    assert set(names[request["links"]["marking"] == 0]) == set(names[network.is_nic])
    request, _ = request_of(hosts={"nic": "fifo"})
    assert (request["links"]["marking"] > 0).all()


def test_recommended_thresholds_follow_the_rate_of_the_port():
    request, network = request_of()

    def threshold(port):
        number = request["links"]["marking"][network.port(port)]
        return request["markings"][number - 1] if number else None

    assert threshold("s0->s1") == {
        "kind": "step",
        "at": "enqueue",
        "parameters": {"threshold": 65 * 1500, "ecn": 1, "nodrop": 0},
    }
    assert threshold("s1->h2") == {
        "kind": "step",
        "at": "enqueue",
        "parameters": {"threshold": 260 * 1500, "ecn": 1, "nodrop": 0},
    }
    assert threshold("h0->s0") is None


def test_a_set_threshold_holds_at_every_port():
    marking = {"kind": "step", "threshold": "35pkt", "at": "dequeue"}
    request, _ = request_of(network={"marking": marking})
    assert request["markings"] == [
        {"kind": "step", "at": "dequeue", "parameters": {"threshold": 52_500, "ecn": 1, "nodrop": 0}}
    ]


def test_without_marking_nothing_is_marked():
    request, _ = request_of(cc="dx")
    assert request["markings"] == []
    assert not request["links"]["marking"].any()


@pytest.mark.parametrize("kind", [kind for kind in TOPOLOGIES if kind != "graph"])
def test_the_core_takes_every_topology_and_its_books_close(kind):
    from shallows import _core

    traffic = [
        {"kind": "poisson", "sizes": "hadoop", "below": "100KB", "load": 0.01, "flows": 200},
        {"kind": "incast", "start": "1ms", "jitter": "10us"},
        {"kind": "long-lived", "start": "2ms", "cc": "dx"},
        {"kind": "staircase", "flows": 3, "interval": "1ms"},
    ]
    record = {"queues": "100us", "probes": "100us", "flows": "all"}
    scenario = Scenario(duration="6ms", topology={"kind": kind}, cc="dctcp", traffic=traffic, record=record)
    answer = _core.simulate(packet.request(scenario), None)
    assert answer["books"] == {"closed": True, "problems": []}
    assert len(answer["flows"]["finish_ps"]) == scenario.flow_count
    assert (answer["flows"]["finish_ps"] < NEVER).sum() > 0
    assert len(answer["queues"]["bytes"]) == len(scenario.graph.recorded_ports)


def test_pauses_need_classes_on_every_port_and_shared_memory_on_those_of_switches():
    lossless, network = request_of(network={"pfc": True})
    assert (lossless["links"]["discipline"] == 1).all()
    carried = {"pause": 0, "resume": 0, "other": 1, "data": 2, "credit_stop": 2, "probe": 2}
    assert lossless["disciplines"][0]["class_of"] == [carried]
    measures, _ = request_of(network={"pfc": True}, cc="gap@high-priority-channel")
    del carried["probe"]  # the channel measures the empty path, before data
    assert measures["disciplines"][0]["class_of"] == [carried]
    assert lossless["classes"][0]["pause"] == {
        "threshold_bytes": 100_000,
        "hysteresis_bytes": 3000,
        "headroom_bytes": None,
        "watchdog_ps": None,
        "restoration_ps": None,
    }
    shared, network = request_of(network={"buffer": "shared"})
    assert (shared["links"]["discipline"] == ~network.is_nic).all()
    assert shared["pools"] == [{"size_bytes": 12_000_000, "alpha": 1.0}]
    assert shared["classes"] == [{"quantum_bytes": None, "pool": 0, "pause": None}]


def test_packets_go_where_paths_says():
    """Every port has sent one packet for each packet of the flows that pass, and one for each ack."""
    scenario = Scenario(
        duration="10ms",
        topology={"kind": "leaf-spine", "leaves": 3, "spines": 4, "hosts_per_leaf": 2},
        network={"buffer": "unlimited"},
        cc="fixed",
        traffic=[{"kind": "shuffle", "size": "14600B"}],
    )
    expected = np.zeros(len(scenario.graph.link_from), int)
    for there, back in _core.paths(packet.request(scenario)):
        for way in there, back:
            nodes = [*scenario.graph.link_from[way], scenario.graph.link_to[way[-1]]]
            assert list(scenario.graph.link_to[way]) == nodes[1:]
            expected[way] += 10
    run = packet.run(scenario)
    assert run.summary["flows"]["retransmits"] == 0
    np.testing.assert_array_equal(run.ports.sent, expected)

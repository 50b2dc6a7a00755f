"""The critical path of a task: exact sums, the tenant and port at fault, and a brute-force search."""

import json
import random

import numpy as np
import pytest

import shallows as sh
from shallows.errors import ScenarioError
from shallows.traffic import AllReduce, Predecessors
from shallows.traffic.schedules import Schedule
from shallows.why import json_form, record, report, task_counterfactual

US = 1_000_000
GRAPHS = 200
RING = {"kind": "all-reduce", "size": "4MB"}
FABRIC = {"kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 4, "link_delay": "1us"}


def two_rings(**more):
    """Two rings over four racks, and storage that eight hosts write to a rank of the first."""
    writers = ["h2", "h3", "h6", "h7", "h10", "h11", "h14", "h15"]
    traffic = [
        {**RING, "name": "ring-a", "hosts": ["h0", "h4", "h8", "h12"]},
        {**RING, "name": "ring-b", "hosts": ["h1", "h5", "h9", "h13"]},
        {"kind": "trace", "name": "storage", "flows": [[100e-6, host, "h8", 2_000_000] for host in writers]},
    ]
    tables = {
        "topology": {**FABRIC, "rate": "100Gbps", "spine_rate": "200Gbps"},
        "network": {"mtu": "4096B", "header": "40B", "pfc": True},
        "cc": "dcqcn",
        "traffic": traffic,
    }
    return sh.Scenario(**({"duration": "until-done"} | tables | more))


def checked(path, row=None):
    """The path, after its parts add up: to its completion time, in the results as well."""
    assert sum(piece.length_ps for piece in path.pieces) == path.fct_ps
    assert sum(path.by_cause().values()) == path.fct_ps
    assert sum(message.length_ps for message in path.messages) == path.fct_ps
    if row is not None:
        assert path.fct_ps == round(row["completion_us"] * 1e6)
        assert path.ideal_ps == round(row["ideal_us"] * 1e6)
    return path


@pytest.fixture(scope="module")
def tenants():
    return sh.run(two_rings())


def test_the_other_tenant_and_its_port_are_named(tenants):
    """The ring takes more than twice its minimum, because of the writers' frames at the port to h8."""
    row = tenants.summary["collectives"][0]
    assert row["slowdown"] > 2
    path = checked(tenants.why(task="ring-a"), row)
    waits = report.waits(path)
    longest = next(iter(waits))
    names = path.record.names
    assert (longest.cause, names[longest.port], longest.behind) == ("queue", "leaf2->h8", "storage")
    assert next(iter(path.by_traffic())) == "storage"
    # Pauses name a port and no flow: all of them began at the same port.
    paused = path.by_cause()["pause"]
    assert path.by_traffic()["storage"] + paused > 0.5 * (path.fct_ps - path.ideal_ps)


def test_an_empty_fabric_leaves_nothing_to_wait_for():
    """A ring alone: six messages of 1 MB one after another, as long as the ideal says."""
    run = sh.run(two_rings().set("traffic", [{**RING, "name": "alone", "hosts": ["h0", "h4", "h8", "h12"]}]))
    path = checked(run.why(task="alone"), run.summary["collectives"][0])
    assert [path.step(message.flow) for message in path.messages] == list(range(6))
    assert path.fct_ps == pytest.approx(path.ideal_ps, rel=0.01)
    sent = path.by_cause()["transmission"] + path.by_cause()["propagation"]
    assert sent == pytest.approx(path.fct_ps, rel=0.01)


def test_a_fixed_cost_of_steps_is_a_cause_of_its_own():
    """Six steps wait for 10 us each, and the completion time begins with the first wait."""
    ring = {**RING, "name": "slow", "hosts": ["h0", "h4", "h8", "h12"], "step_delay": "10us"}
    path = checked(sh.run(two_rings().set("traffic", [ring])).why(task="slow"))
    assert path.by_cause()["delay"] == 60 * US


def test_ranks_that_start_late_delay_the_task():
    """The first rank starts the clock; the path goes back to a rank that started later."""
    ring = {**RING, "size": "40KB", "name": "late", "jitter": "1ms", "hosts": [f"h{i}" for i in range(16)]}
    run = sh.run(two_rings().set("traffic", [ring]))
    path = checked(run.why(task="late"), run.summary["collectives"][0])
    first = path.messages[0].pieces[0]
    assert (first.begin_ps, first.cause) == (path.start_ps, "application")
    assert first.length_ps > 0.5 * path.fct_ps


def test_groups_and_other_traffic_are_tasks(tenants):
    groups = {**RING, "name": "dp", "group_size": 4, "size": "400KB"}
    requests = {
        "kind": "request-response",
        "pairs": 2,
        "exchanges": 5,
        "service": "3us",
        "from": "h0",
        "to": "h5",
    }
    run = sh.run(two_rings().set("traffic", [groups, requests]))
    rows = run.summary["collectives"]
    for group in range(4):
        assert checked(run.why(task=f"dp/{group}"), rows[group]).name == f"dp/{group}"
    slowest = max(rows, key=lambda row: row["completion_us"])
    assert run.why(task="dp").name == f"dp/{slowest['group']}"
    exchanges = checked(run.why(task="request-response"))
    assert len(exchanges.messages) == 10
    assert checked(tenants.why(task="storage")).messages[0].flow == 48 + int(
        tenants.flows.fct_us[48:].argmax()
    )


def test_every_row_of_the_table_is_about_itself(tenants):
    path = tenants.why(task="ring-a")
    table = path.table()
    assert (table.end_ps - table.begin_ps).sum() == path.fct_ps
    assert (table.begin_ps.to_numpy()[1:] == table.end_ps.to_numpy()[:-1]).all()
    assert set(table.behind_task.dropna()) == set(path.by_traffic())
    told = json_form.of_found(path)
    assert sum(message["end_ps"] - message["begin_ps"] for message in told["messages"]) == path.fct_ps


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ring", 'the name of a traffic table, "ring-a", "ring-b", "storage"; did you mean "ring-'),
        ("ring-a/7", "a group of ring-a, from ring-a/0 to ring-a/0"),
        ("ring-a/x", "a group of ring-a"),
    ],
)
def test_an_unknown_task_is_refused(tenants, name, expected):
    with pytest.raises(ScenarioError, match=expected):
        tenants.why(task=name)


def test_an_unfinished_task_is_refused():
    run = sh.run(two_rings(duration="200us"))
    with pytest.raises(ScenarioError, match="whose messages have all finished"):
        run.why(task="ring-a")


def random_graph(draw, n=5, count=14):
    """Messages that wait for some earlier ones: received, acknowledged or sent at their hosts."""
    source, target, after, behind = [], [], [], []
    for message in range(count):
        ends = draw.sample(range(n), 2)
        source.append(ends[0])
        target.append(ends[1])
        here = [other for other in range(message) if ends[0] in (source[other], target[other])]
        sent = [other for other in here if source[other] == ends[0]]
        chosen = draw.sample(here, min(len(here), draw.choice([0, 1, 1, 2, 3])))
        after += [(message, other) for other in chosen]
        ordered = draw.sample(sent, min(len(sent), draw.choice([0, 0, 1, 2])))
        behind += [(message, other) for other in ordered if other not in chosen]
    sizes = [draw.choice([100, 4_000, 30_000, 200_000]) for _ in range(count)]
    pairs = (Predecessors.of_pairs(*np.array(its, np.uint32).reshape(-1, 2).T) for its in (after, behind))
    columns = (np.array(column, np.uint32) for column in (source, target))
    return Schedule(*columns, np.array(sizes, np.uint64), np.arange(count, dtype=np.uint32), *pairs)


def moments(run):
    """When each flow started, was received, was acknowledged, and was sent, from a record of all flows."""
    kept = record.of_scenario(run.scenario, list(range(run.scenario.flow_count)))
    packets, hops = kept.tables["packets"], kept.tables["hops"]
    delay = run.scenario.graph.delay_ps
    arrived = np.zeros(len(packets["flow"]), np.uint64)
    np.maximum.at(arrived, hops["packet"], hops["ended_ps"] + delay[hops["link"]].astype(np.uint64))
    payload = run.scenario.frame.payload
    found = []
    for flow, size in enumerate(run.scenario.flows.bytes.tolist()):
        count = -(-size // payload)
        mine = packets["flow"] == flow
        last = mine & (packets["kind"] == kept.kinds.index("data")) & (packets["seq"] == count - 1)
        answer = mine & (packets["kind"] == kept.kinds.index("ack")) & (packets["cumulative"] == count)
        times = (
            kept.start_ps[flow],
            kept.finish_ps[flow],
            arrived[answer].min(),
            packets["left_ps"][last].min(),
        )
        found.append([int(time) for time in times])
    return found


def longest_chain(flows, times, last, begin):
    """The longest chain of messages that ends with the end of `last`, by trying all: its length and flows.

    `begin` is when the first rank began to prepare its first message.
    """

    def chains(flow, end):
        start = times[flow][0]
        needs = [(other, "after") for other in flows.after.of(flow)]
        needs += [(other, "behind") for other in flows.behind.of(flow)]
        if not needs:
            yield start - begin + end - start, [flow]
        for other, how in needs:
            _, received, acknowledged, sent = times[other]
            here = received if flows.dst[other] == flows.src[flow] else acknowledged
            for length, before in chains(other, here if how == "after" else sent):
                yield length + int(flows.start_ps[flow]) + end - start, [*before, flow]

    return max(chains(last, times[last][1]))


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.nightly) for part in range(1, GRAPHS // 10))]
)
def test_the_path_equals_a_brute_force_search(part, monkeypatch):
    for number in range(part * 10, (part + 1) * 10):
        draw = random.Random(f"graph {number}")
        schedule = random_graph(draw)
        monkeypatch.setattr(AllReduce, "schedule", lambda self, ranks, size, draws, its=schedule: its)
        graph = {"kind": "all-reduce", "name": "graph", "hosts": ["h0", "h1", "h4", "h5", "h8"]}
        graph |= {"step_delay": draw.choice(["0s", "700ns", "5us"]), "jitter": draw.choice(["0s", "20us"])}
        incast = {"kind": "incast", "senders": 6, "size": "100KB", "to": "h4", "jitter": "30us"}
        tables = {"traffic": [graph, incast], "cc": draw.choice(["dctcp", "dcqcn"]), "seed": number}
        network = {"buffer": "unlimited", "mtu": "1500B"}
        run = sh.run(two_rings(**tables, network=network))
        path = checked(run.why(task="graph"), run.summary["collectives"][0])
        times = moments(run)[: len(schedule)]
        begin = min(start for start, *_ in times) - run.scenario.traffic[0].step_delay
        length, chain = longest_chain(run.scenario.flows, times, path.messages[-1].flow, begin)
        assert length == path.fct_ps
        assert chain == [message.flow for message in path.messages], number
        assert path.slack() == slack(run.scenario.flows, times, length, begin)


def slack(flows, times, completion, begin):
    """The completion time less the longest chain through each message, by trying all."""

    def rest(flow):
        """From the start of a message to the end of the longest chain after it."""
        start, received, acknowledged, sent = times[flow]
        yield received - start
        for other in range(flow + 1, len(times)):
            here = received if flows.dst[flow] == flows.src[other] else acknowledged
            ends = [here] * (flow in flows.after.of(other)) + [sent] * (flow in flows.behind.of(other))
            for end in ends:
                yield end - start + int(flows.start_ps[other]) + max(rest(other))

    return {flow: completion - (its[0] - begin) - max(rest(flow)) for flow, its in enumerate(times)}


@pytest.mark.parametrize("threads", [2, 3])
def test_any_number_of_threads_gives_the_same_path(threads):
    """A saved run knows its results only; the second pass has a thread of its own."""
    ring = {**RING, "name": "ring", "size": "400KB"}
    one, more = (sh.run(two_rings(traffic=[ring]), threads=number) for number in (1, threads))
    assert one.why(task="ring").table().equals(more.why(task="ring").table())


def test_a_pace_that_a_tenant_has_cut_is_blamed_on_it():
    """Writers that are there from the start: DCQCN slows the ring for their frames at the port to h8."""
    tables = two_rings().tables
    for row in tables["traffic"][2]["flows"]:
        row[0], row[3] = 0, 4_000_000
    path = checked(sh.run(sh.Scenario(**tables)).why(task="ring-a"))
    longest = next(iter(report.waits(path)))
    assert (longest.cause, longest.behind) == ("pace_cut", "storage")
    assert path.record.names[longest.port] == "leaf2->h8"
    assert path.by_traffic()["storage"] > 0.5 * (path.fct_ps - path.ideal_ps)


def test_a_pace_that_a_flow_has_cut_itself_is_nobodys():
    """One flow from a fast into a slow link is marked in its own queue."""
    edges = [["a", "s", "100Gbps", "1us"], ["s", "b", "10Gbps", "1us"]]
    topology = {"kind": "graph", "edges": edges, "hosts": ["a", "b"]}
    traffic = [{"kind": "trace", "name": "one", "flows": [[0, "a", "b", 2_000_000]]}]
    run = sh.run(sh.Scenario(duration="until-done", topology=topology, traffic=traffic, cc="dcqcn"))
    assert run.ports.marked.sum() > 0
    path = checked(run.why(task="one"))
    assert path.by_cause().get("pace_cut", 0) == 0
    assert path.by_traffic() == {}


def dominated(number):
    """A random fabric where one thing slows a ring over DCQCN: an incast, or a slow link. And which."""
    draw = random.Random(f"dominated {number}")
    leaves, per_leaf, rate = draw.choice([2, 4, 8]), draw.choice([4, 8]), draw.choice([25, 100, 400])
    hosts = leaves * per_leaf
    n = draw.choice([4, 8]) if hosts > 8 else 4
    ranks = [rank * (hosts // n) for rank in range(n)]
    step = draw.choice([125_000, 250_000, 500_000])
    step_s, victim = step * 8e-9 / rate, draw.choice(ranks)
    kind = draw.choice(["all-reduce", "reduce-scatter", "all-gather"])
    traffic = [{"kind": kind, "name": "ring", "hosts": ranks, "size": f"{step * n}B"}]
    rates = {
        "rate": f"{rate}Gbps",
        "spine_rate": f"{4 * rate}Gbps",
        "link_delay": draw.choice(["500ns", "1us"]),
    }
    topology = {
        "kind": "leaf-spine",
        "leaves": leaves,
        "spines": draw.choice([2, 4]),
        "hosts_per_leaf": per_leaf,
    }
    network = {"mtu": "4096B", "header": "40B", "buffer": "unlimited"}
    tables = {"topology": topology | rates, "network": network, "cc": "dcqcn", "seed": number}
    link = f"leaf{victim // per_leaf}->h{victim}"
    if draw.random() < 0.5:
        faults = [{"link": link, "kind": "rate", "value": f"{rate / draw.choice([2, 4, 8])}Gbps"}]
        return sh.Scenario(duration="until-done", traffic=traffic, faults=faults, **tables), link
    others = [host for host in range(hosts) if host not in ranks]
    senders = draw.sample(others, min(len(others), draw.choice([4, 8])))
    size, begin = step * n * draw.choice([2, 4]) // len(senders), draw.choice([0, 1, 2]) * step_s
    flows = [[begin + place * 1e-9, host, victim, size] for place, host in enumerate(senders)]
    traffic.append({"kind": "trace", "name": "incast", "flows": flows})
    return sh.Scenario(duration="until-done", traffic=traffic, **tables), "incast"


FEW = 3


# In fabric 128 the only other frames in the queue of the slow link are acknowledgements of the ring itself.
@pytest.mark.parametrize(
    "number",
    [*range(FEW), 128, *(pytest.param(number, marks=pytest.mark.nightly) for number in range(FEW, 21))],
)
def test_a_run_without_the_dominant_cause_is_as_predicted(number):
    """Without the incast or the slow link the ring takes what its messages predict, to 1 %."""
    scenario, what = dominated(number)
    cost = sh.run(scenario).why(task="ring").counterfactual(what)
    print(number, cost)
    assert cost.share_ps > 0.1 * cost.completion_ps
    assert cost.ran_ps == pytest.approx(cost.expected_ps, rel=0.01)
    assert cost.ran_ps < 0.9 * cost.completion_ps


def computing(draw):
    """A random fabric where a slow link, an incast, or tasks that compute first slow training; and which."""
    rate, switches = draw.choice([10, 40, 50, 200]), draw.choice(["leaf-spine", "fat-tree"])
    topology = {"kind": "fat-tree", "k": 4}
    if switches == "leaf-spine":
        topology = {"kind": switches, "leaves": draw.choice([3, 4]), "spines": draw.choice([2, 3])}
        topology |= {"hosts_per_leaf": draw.choice([4, 6]), "spine_rate": f"{draw.choice([2, 4]) * rate}Gbps"}
    topology |= {"rate": f"{rate}Gbps", "link_delay": draw.choice(["200ns", "500ns", "2us"])}
    hosts = topology["leaves"] * topology["hosts_per_leaf"] if switches == "leaf-spine" else 16
    ranks = sorted(draw.sample(range(hosts), draw.choice([4, 5])))
    victim, others = draw.choice(ranks), [host for host in range(hosts) if host not in ranks]
    bucket, layers = draw.choice([200_000, 400_000, 800_000]), draw.choice([1, 2, 3])
    forward_ns = round(8 * bucket / rate * draw.choice([0.3, 1, 2]))
    job = {"kind": "training", "name": "job", "hosts": ranks, "layers": layers, "forward": f"{forward_ns}ns"}
    job |= {"gradients": f"{bucket}B", "bucket": f"{bucket}B", "spread": draw.choice([0.0, 0.1])}
    network = {"mtu": draw.choice(["1500B", "4096B"]), "header": "40B", "buffer": "unlimited"}
    tables = {"topology": topology, "network": network, "cc": "dcqcn", "duration": "until-done"}
    begin_ns = round(3 * layers * forward_ns * draw.choice([0.7, 1]))
    cause = draw.choice(["link", "incast", "tasks"])
    if cause == "link":
        names = sh.Scenario(traffic=[job], **tables).graph.port_names
        link = next(name for name in names if name.endswith(f"->h{victim}"))
        slow = {"link": link, "kind": "rate", "value": f"{1000 * rate // draw.choice([2, 3, 6])}Mbps"}
        return sh.Scenario(traffic=[job], faults=[slow], **tables), link
    senders = draw.sample(others, draw.choice([3, 5, 7]))
    size = bucket * draw.choice([2, 4, 6]) // len(senders)
    flows = [[(begin_ns + place) * 1e-9, host, victim, size] for place, host in enumerate(senders)]
    tasks = []
    for place, host in enumerate(senders):
        tasks.append({"name": f"c{place}", "host": host, "compute": f"{begin_ns + place}ns"})
        tasks.append(
            {"name": f"m{place}", "from": host, "to": victim, "size": f"{size}B", "after": [f"c{place}"]}
        )
    other = {"kind": "trace", "flows": flows} if cause == "incast" else {"kind": "tasks", "tasks": tasks}
    return sh.Scenario(traffic=[job, {"name": "other", **other}], **tables), "other"


@pytest.mark.parametrize(
    "number", [*range(FEW), *(pytest.param(number, marks=pytest.mark.nightly) for number in range(FEW, 20))]
)
def test_training_without_the_dominant_cause_is_as_predicted(number):
    """Like the ring, with computations. Fabrics without a dominant cause are drawn again."""
    draw = random.Random(f"computing {number}")
    for _ in range(20):
        scenario, what = computing(draw)
        path = checked(sh.run(scenario).why(task="job"))
        cost = path.counterfactual(what)
        if cost.share_ps > 0.1 * cost.completion_ps:
            break
    print(number, what, cost)
    assert path.by_cause()["computation"] > 0
    assert cost.share_ps > 0.1 * cost.completion_ps
    assert cost.ran_ps == pytest.approx(cost.expected_ps, rel=0.01)
    assert cost.ran_ps < 0.95 * cost.completion_ps


def test_a_counterfactual_of_a_task_that_needs_one_of_two():
    """1 MB at 10 Gbps takes 3 ms behind an incast: the last task waits for it, not for the 8 ms."""
    tasks = [
        {"name": "data", "from": "h0", "to": "h1", "size": "1MB"},
        {"name": "cache", "host": "h1", "compute": "8ms", "processor": 1},
        {"name": "use", "host": "h1", "compute": "10ms", "after": ["data", "cache"], "needs": 1},
    ]
    flows = [[0, host, "h1", 1_000_000] for host in ("h2", "h3", "h4")]
    traffic = [
        {"kind": "tasks", "name": "job", "tasks": tasks},
        {"kind": "trace", "name": "other", "flows": flows},
    ]
    topology = {"kind": "star", "hosts": 5, "rate": "10Gbps", "rtt": "10us"}
    run = sh.run(sh.Scenario(duration="until-done", topology=topology, traffic=traffic, cc="dcqcn"))
    cost = checked(run.why(task="job")).counterfactual("other")
    # 685 frames of 1500 B in 822 us, one more hop of 1.2 us and 5 us on the wire.
    assert cost.ran_ps == pytest.approx(10_828 * US, rel=0.001)
    assert cost.expected_ps == pytest.approx(cost.ran_ps, rel=0.01)
    assert 12_000 * US < cost.completion_ps < 18_000 * US


def test_what_is_left_out_must_be_another_tenant_or_a_fault(tenants):
    path = tenants.why(task="ring-a")
    for what in ("ring-a", "leaf2->h8", "faults[0]", "storag"):
        with pytest.raises(ScenarioError, match="another traffic table or a fault: ring-b, storage"):
            path.counterfactual(what)


def test_without_a_link_that_fails(tenants):
    """A link that is down for 40 us costs a timeout of 10 ms; by number it is the same fault."""
    tables = two_rings().tables
    tables["traffic"][0]["size"] = "1MB"
    down = {"link": "leaf2->h8", "kind": "down", "at": "50us"}
    traffic, faults = tables["traffic"][:1], [down, {**down, "kind": "up", "at": "90us"}]
    run = sh.run(two_rings(traffic=traffic, faults=faults))
    cost = run.why(task="ring-a").counterfactual("leaf2->h8")
    alone = sh.run(two_rings(traffic=traffic)).why(task="ring-a").fct_ps
    assert (cost.ran_ps, cost.completion_ps > 10_000 * US) == (alone, True)
    assert cost.expected_ps == pytest.approx(alone, rel=0.15)
    assert cost.share_ps > 0.9 * (cost.completion_ps - alone)


def test_the_command_prints_path_and_counterfactual(tmp_path):
    from typer.testing import CliRunner

    from shallows import cli

    tables = two_rings().tables
    tables["traffic"][0]["size"] = "400KB"
    for row in tables["traffic"][2]["flows"]:
        row[0], row[3] = 0, 200_000
    saved = sh.run(sh.Scenario(**tables)).save(tmp_path / "tenants")
    asked = ["why", str(saved), "--task", "ring-a", "--without", "storage"]
    told = CliRunner().invoke(cli.app, asked)
    assert told.exit_code == 0, told.stderr
    for part in ("task ring-a: ", "leaf2->h8", "100.0 KB, step 2", "expected without"):
        assert part in told.stdout
    assert (tmp_path / "tenants-why.png").stat().st_size > 10_000
    told = json.loads(CliRunner().invoke(cli.app, [*asked, "--json"]).stdout)["data"]
    assert sum(told["causes_ps"].values()) == told["completion_ps"]
    assert told["without"][0]["what"] == "storage"


def test_a_table_of_computations_alone_has_a_path():
    traffic = [{"kind": "incast", "size": "1KB"}, {"kind": "tasks", "tasks": [{"host": 1, "compute": "9us"}]}]
    run = sh.run(
        sh.Scenario(duration="until-done", topology={"kind": "star", "hosts": 3}, cc="dctcp", traffic=traffic)
    )
    path = checked(run.why(task="tasks"))
    assert path.by_cause() == {"computation": 9 * US}
    assert path.counterfactual("incast")[2:6] == (9 * US, 0, 9 * US, 9 * US)


def test_times_beyond_the_resolution_of_the_tables_are_exact():
    """A float in microseconds resolves 15 ps after 34 hours; the computation is given to the picosecond."""
    tasks = [
        {"name": "a", "host": 0, "compute": "123456.123456789017s"},
        {"name": "b", "from": 0, "to": 1, "size": "20KB", "after": ["a"]},
        {"name": "c", "from": 1, "to": 2, "size": "20KB", "after": ["b"]},
    ]
    run = sh.run(
        sh.Scenario(
            duration="until-done", topology={"kind": "star", "hosts": 3}, cc="dctcp",
            traffic=[{"kind": "tasks", "tasks": tasks}],
        )
    )  # fmt: skip
    path = run.why(task="tasks")
    assert path.by_cause()["computation"] == 123456_123456789017
    assert path.fct_ps == 123456_123456789017 + round(run.flows.fct_us.sum() * US)


@pytest.mark.parametrize("number", range(2))
def test_a_counterfactual_of_many_messages_looks_at_those_that_decide(number, monkeypatch):
    """With a limit of 8 messages a pass, the result is that of all messages, to 1 %, and never less."""
    scenario, what = dominated(number)
    path = sh.run(scenario).why(task="ring")
    whole = path.counterfactual(what)
    monkeypatch.setattr(task_counterfactual, "MOST", 8)
    some = path.counterfactual(what)
    assert some.share_ps == whole.share_ps
    assert whole.expected_ps <= some.expected_ps <= 1.01 * whole.expected_ps

"""Timelines that others read: Perfetto's own trace processor and tshark find in them what the result says."""

import csv
import shutil
import subprocess
from collections import Counter, defaultdict

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
from typer.testing import CliRunner

import shallows as sh
from shallows import cli
from shallows.errors import ScenarioError
from shallows.registry import catalog
from trace_queries import ask


def star(cc, size, **settings):
    """Four senders at once to one receiver over 10 Gbps."""
    settings = {"duration": "until-done", **settings}
    return sh.run(
        sh.Scenario(
            topology={"kind": "star", "hosts": 5, "rate": "10Gbps", "rtt": "20us"},
            traffic=[{"kind": "incast", "senders": 4, "size": size, "to": 4}],
            cc=cc,
            **settings,
        )
    )


@pytest.fixture(scope="module")
def lossy():
    """TCP over a short buffer: frames are dropped and sent again, with SACK blocks for the holes."""
    marking = {"kind": "step", "threshold": "8pkt"}
    run = star("dctcp", "200KB", network={"buffer": "12pkt", "marking": marking})
    assert run.flows.retransmits.sum() > 10
    return run


@pytest.fixture(scope="module")
def lossless():
    """RoCE at line rate under PFC: pauses, marks and congestion notifications."""
    network = {"mtu": "1000B", "header": "48B", "pfc": {"threshold": "20KB"}}
    run = star("dcqcn", "300KB", network=network)
    assert run.ports.pauses.sum() > 10
    return run


def of_port(run, column, port="s0->h4"):
    return run.ports.set_index("port").loc[port, column]


def test_perfetto_finds_the_queues_marks_drops_and_repairs(lossy, tmp_path):
    """A counter's maximum is the queue's, to the byte; everything that happened is there once."""
    file = lossy.taps().perfetto(tmp_path / "run.pftrace")
    queues, events, lives, windows = ask(
        file,
        "select t.name, max(value) from counter c join counter_track t on c.track_id = t.id "
        "where t.name like 'queue %' group by t.name",
        "select name, count(*) from slice where dur = 0 group by name",
        "select name, ts, dur from slice where name like 'flow %' order by name",
        "select max(value) from counter c join counter_track t on c.track_id = t.id "
        "where t.name like 'window_pkt%'",
    )
    ports = lossy.ports.set_index("port")
    assert len(queues) == len(ports)
    for name, most in queues:
        expected = ports.loc[name.removeprefix("queue "), "queue_max_pkt"] * 1500
        assert most == pytest.approx(expected, abs=1), name
    expected = {"mark": ports.marked.sum(), "drop": ports.dropped.sum()}
    assert dict(events) == {**expected, "sent again": lossy.flows.retransmits.sum()}
    fct_ns = [int(fct * 1000) for fct in lossy.flows.fct_us]
    assert [
        (name, 0, pytest.approx(fct, abs=1))
        for name, fct in zip([f"flow {i}" for i in range(4)], fct_ns, strict=True)
    ] == lives
    assert 2 < windows[0][0] < 200


def test_a_trace_has_the_queue_of_each_port_and_the_windows_of_each_flow(lossy, tmp_path):
    """Read with Perfetto's own message types: a track has the numbers of its port or flow, and no others."""
    taps = lossy.taps()
    trace = Trace.FromString(taps.perfetto(tmp_path / "run.pftrace").read_bytes())
    tracks = {packet.track_descriptor.uuid: packet.track_descriptor for packet in trace.packet}
    counters = defaultdict(list)
    for event in (packet.track_event for packet in trace.packet if packet.HasField("track_event")):
        if event.type == event.TYPE_COUNTER:
            value = event.double_counter_value or event.counter_value
            counters[tracks[event.track_uuid].name].append(value)
    ports = lossy.ports.set_index("port")
    most = {name: max(values) for name, values in counters.items() if name.startswith("queue ")}
    assert most == {
        f"queue {port}": pytest.approx(pkt * 1500, abs=1) for port, pkt in ports.queue_max_pkt.items()
    }
    windows = {name: values for name, values in counters.items() if name.startswith("window_pkt of")}
    sampled = list(zip(*(taps.probes[name].tolist() for name in ("flow", "name", "value")), strict=True))
    number = taps.probe_names.index("window_pkt")
    assert windows == {
        f"window_pkt of flow {flow}": [value for of, name, value in sampled if (of, name) == (flow, number)]
        for flow in range(4)
    }
    assert len({tuple(values) for values in windows.values()}) == 4


def test_perfetto_finds_the_pauses(lossless, tmp_path):
    file = lossless.taps().perfetto(tmp_path / "run.pftrace")
    (pauses,) = ask(
        file,
        "select t.name, count(*), sum(dur) from slice s join track t on s.track_id = t.id "
        "where s.name = 'paused' group by t.name",
    )
    ports = lossless.ports.set_index("port")
    assert {name: count for name, count, _ in pauses} == {
        name: count for name, count in ports.pauses.items() if count
    }
    for name, count, length_ns in pauses:
        assert length_ns == pytest.approx(ports.loc[name, "paused_us"] * 1000, abs=count), name


def tshark(file, *arguments):
    """Lines that tshark prints of a capture; skips where there is none."""
    if not shutil.which("tshark"):
        pytest.skip("no tshark (Debian: apt install tshark) to read the capture with")
    command = ["tshark", "-r", str(file), "-o", "tcp.relative_sequence_numbers:false", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True
    ).stdout.splitlines()


def fields(file, *names, where=""):
    """A tuple of texts for each frame."""
    chosen = [word for name in names for word in ("-e", name)]
    return [tuple(line.split("\t")) for line in tshark(file, "-Y", where, "-T", "fields", *chosen)]


def assert_well_formed(file):
    assert tshark(file, "-Y", "_ws.malformed || _ws.short") == []


def test_tshark_reads_tcp_as_the_result_has_it(lossy, tmp_path):
    """At the receiver's port frames, bytes, marks; at the senders' what they sent again; everywhere acks."""
    file = lossy.taps(["s0->h4", "h?->s0"]).pcap(tmp_path / "tcp.pcapng")
    assert_well_formed(file)
    data = 'frame.interface_name == "s0->h4"'
    found = fields(file, "tcp.srcport", "tcp.seq", "tcp.len", "frame.len", "ip.dsfield.ecn", where=data)
    assert len(found) == of_port(lossy, "sent")
    assert sum(1 for *_, ecn in found if ecn == "3") == of_port(lossy, "marked")
    assert sum(int(length) for *_, length, _ in found) * 8 / 10e3 == pytest.approx(
        of_port(lossy, "utilization") * lossy.summary["duration_s"] * 1e6, rel=1e-6
    )
    assert {int(length) - int(payload) for *_, payload, length, _ in found} == {40}
    delivered = {}
    for port, seq, payload, *_ in found:
        delivered.setdefault(int(port) - 1024, {})[int(seq)] = int(payload)
    for flow, pieces in delivered.items():
        ends = [1, *(seq + length for seq, length in sorted(pieces.items()))]
        assert sorted(pieces) == ends[:-1], "a hole, or pieces that overlap"
        assert ends[-1] - 1 == lossy.flows.bytes[flow]
    for flow in range(4):
        where = f'frame.interface_name == "h{flow}->s0" && tcp.len > 0'
        sent = Counter(fields(file, "tcp.seq", where=where))
        assert sum(sent.values()) - len(sent) == lossy.flows.retransmits[flow]
        acks = fields(file, "tcp.ack", where=f"tcp.dstport == {1024 + flow} && tcp.flags.ack == 1")
        assert max(int(ack) for (ack,) in acks) - 1 == lossy.flows.bytes[flow]
    assert len(fields(file, "tcp.options.sack_le", where="tcp.options.sack_le > 0")) > 10


def three_frames(**tables):
    """From a to b over a switch, 10 us and 10 Gbps to it and from it."""
    scenario = sh.Scenario(
        duration="until-done",
        topology={
            "kind": "graph",
            "edges": [["a", "s", "10Gbps", "10us"], ["s", "b", "10Gbps", "10us"]],
            "hosts": ["a", "b"],
        },
        traffic=[{"kind": "trace", "flows": [[0, "a", "b", 3 * 1460]]}],
        cc={"name": "fixed", "window": "10pkt"},
        **tables,
    )
    return sh.run(scenario)


def test_a_frame_leaves_when_the_capture_says(tmp_path):
    """Three frames of 1.2 us back to back from 0 on, over 10 us of wire; an answer to each 11.2 us later."""
    file = three_frames().taps(["s->b", "b->s"]).pcap(tmp_path / "three.pcapng")
    found = fields(file, "frame.time_epoch", "frame.interface_name", "frame.len", "tcp.seq", "tcp.ack")
    there = [
        (f"{(11_200 + 1_200 * at) / 1e9:.9f}", "s->b", "1500", str(1 + 1460 * at), "1") for at in range(3)
    ]
    back = [
        (f"{(22_400 + 1_200 * at) / 1e9:.9f}", "b->s", "64", "1", str(1 + 1460 * (at + 1))) for at in range(3)
    ]
    assert found == there + back


def test_a_frame_leaves_at_the_rate_that_its_link_has_then():
    """Three frames come from 11.2 us on, 1.2 us apart; the first takes 12 us, the others 1.2 again."""
    fault = {"link": "s->b", "kind": "rate"}
    run = three_frames(
        faults=[{**fault, "at": "5us", "value": "1Gbps"}, {**fault, "at": "15us", "value": "10Gbps"}],
    )
    frames = run.taps(["s->b"], nics=False).frames
    assert (frames["begun_ps"] / 1e6).tolist() == [11.2, 23.2, 24.4]
    assert (frames["ended_ps"] / 1e6).tolist() == [23.2, 24.4, 25.6]


def test_tshark_reads_roce_and_pauses_as_the_result_has_them(lossless, tmp_path):
    file = lossless.taps(["s0->*", "h?->s0"]).pcap(tmp_path / "roce.pcapng")
    assert_well_formed(file)
    packets = -(-300_000 // 952)
    for flow in range(4):
        where = f'frame.interface_name == "h{flow}->s0" && infiniband.bth.opcode <= 4'
        sent = fields(file, "infiniband.bth.psn", "infiniband.bth.opcode", "frame.len", where=where)
        assert [int(psn) for psn, *_ in sent] == list(range(packets))
        assert [opcode for _, opcode, _ in sent] == ["0", *["1"] * (packets - 2), "2"]
        assert {length for *_, length in sent[:-1]} == {"1000"}
        where = f"infiniband.bth.opcode == 17 && ip.dst == 10.0.0.{flow + 1}"
        acknowledged = fields(file, "infiniband.bth.psn", "infiniband.aeth.msn", where=where)
        assert acknowledged[-1] == (str(packets - 1), "1")
    marks = fields(file, "ip.dsfield.ecn", where='frame.interface_name == "s0->h4" && ip.dsfield.ecn == 3')
    assert len(marks) == of_port(lossless, "marked") > 0
    for host in range(4):
        where = f'frame.interface_name == "s0->h{host} pauses"'
        found = fields(
            file, "macc.opcode", "macc.cbfc.enbv", "macc.cbfc.pause_time.c3", "frame.len", where=where
        )
        stops = [time for *_, time, _ in found if int(time, 0)]
        assert len(stops) == of_port(lossless, "pauses", f"h{host}->s0")
        assert {(int(opcode, 0), int(enabled, 0), length) for opcode, enabled, _, length in found} == {
            (0x101, 8, "64")
        }


def test_tshark_reads_credits(tmp_path):
    """A datagram for each credit that the receiver's port did not drop, and one for each frame of data."""
    network = {"mtu": "1538B", "header": "78B"}
    run = star("expresspass", "50KB", network=network)
    file = run.taps(["h4->s0", "s0->h4"]).pcap(tmp_path / "credits.pcapng")
    assert_well_formed(file)
    kinds = [data[0][:2] for data in fields(file, "data.data", where="udp.port == 61440")]
    assert kinds.count("02") == run.flows.credits.sum() - of_port(run, "dropped", "h4->s0")
    assert kinds.count("06") == sum(-(-50_000 // 1460) for _ in range(4))


@pytest.mark.parametrize("cc", [row["name"] for row in catalog.algorithms()])
def test_every_algorithm_has_a_capture_without_a_malformed_frame(cc, tmp_path):
    run = star(cc, "30KB", duration="20ms")
    assert_well_formed(run.taps(["s0->h4", "h4->s0"]).pcap(tmp_path / "all.pcapng"))


@pytest.mark.parametrize(("cc", "network"), [("hpcc", {}), ("rcp", {}), ("reno", {"marking": "none"})])
def test_whatever_else_an_acknowledgement_brings_its_blocks_are_in_the_capture(cc, network, tmp_path):
    """Each hole that a loss leaves is told in SACK blocks, also beside a rate or records of hops."""
    run = star(cc, "200KB", network={"buffer": "12pkt", **network})
    assert run.flows.retransmits.sum() > 10
    file = run.taps(["h4->s0"]).pcap(tmp_path / "acks.pcapng")
    assert len(fields(file, "tcp.options.sack_le", where="tcp.options.sack_le > 0")) > 10


def test_tables_say_what_the_result_says(lossy, tmp_path):
    folder = lossy.taps(["s0->h4"]).csv(tmp_path / "csv")
    rows = {file.stem: list(csv.DictReader(file.open())) for file in folder.iterdir()}
    assert set(rows) == {"frames", "events", "flows", "probes"}
    outcomes = Counter(row["outcome"] for row in rows["frames"])
    assert outcomes["marked"] == of_port(lossy, "marked")
    assert outcomes["dropped"] == of_port(lossy, "dropped")
    assert sum(row["ended_ps"] != "" for row in rows["frames"]) == of_port(lossy, "sent")
    fct = [(int(row["finish_ps"]) - int(row["start_ps"])) / 1e6 for row in rows["flows"]]
    assert fct == pytest.approx(lossy.flows.fct_us.tolist())
    assert "window_pkt" in {row["name"] for row in rows["probes"]}


def test_a_span_is_a_part_of_the_whole(lossy):
    whole, part = lossy.taps(["s0->h4"]), lossy.taps(["s0->h4"], since="200us", until="300us")
    begun = whole.frames["begun_ps"][whole.sent]
    inside = begun[(begun >= 200_000_000) & (begun <= 300_000_000)]
    assert part.frames["begun_ps"][part.sent].tolist() == inside.tolist()
    link = whole.links[0]
    times, queue = whole.queue(link)
    mine = (times >= 200_000_000) & (times <= 300_000_000)
    assert [times[mine].tolist(), queue[mine].tolist()] == [column.tolist() for column in part.queue(link)]


def test_headers_without_room_for_tcp_are_refused(tmp_path):
    run = star("dctcp", "3KB", network={"header": "20B"})
    with pytest.raises(ScenarioError, match="at least 40 B, the headers of IPv4 and TCP"):
        run.taps(["s0->h4"]).pcap(tmp_path / "x.pcapng")


def test_the_command_writes_all_three(lossy, tmp_path):
    lossy.save(tmp_path / "run")
    files = ["--perfetto", tmp_path / "a.pftrace", "--pcap", tmp_path / "a.pcapng", "--csv", tmp_path / "csv"]
    words = ["export", str(tmp_path / "run"), "--port", "s0->h4", *map(str, files)]
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == 0, result.output
    assert all(path.exists() for path in files[1::2])


def test_completion_times_have_the_definitions_of_the_hpcc_simulator(tmp_path):
    """Worked by hand: base RTT 4 us and 1000 B twice at 100 Gbps, 4160 ns; 1048 B take 83.84 ns.

    500 packets take 41.92 us. An acknowledgement of 64 B is back 2 us and twice 5.12 ns after the last byte.
    """
    run = sh.run(
        sh.Scenario(
            duration="1s",
            cc="dcqcn",
            topology={"kind": "star", "hosts": 300, "rate": "100Gbps", "rtt": "4us"},
            network={"mtu": "1048B", "header": "48B", "pfc": True},
            traffic=[
                {"kind": "trace", "flows": [[0.003, 0, 258, 1000], [0.002, 1, 2, 500_000]]},
                {"kind": "trace", "flows": [[0.004, 0, 258, 1]]},
                {"kind": "long-lived", "from": 3, "to": 4},
            ],
        )
    )
    folder = run.save(tmp_path / "run")
    file = tmp_path / "fct.txt"
    done = CliRunner().invoke(cli.app, ["export", str(folder), "--fct", str(file)])
    assert done.exit_code == 0, done.output
    rows = [line.split() for line in file.read_text().splitlines()]
    took = {row[4]: int(row[6]) for row in rows}
    assert [[*row[:6], row[7]] for row in rows] == [
        ["0b000101", "0b000201", "10000", "100", "500000", "2000000", str(4160 + 41920)],
        ["0b000001", "0b010201", "10000", "100", "1000", "3000000", "4243"],
        ["0b000001", "0b010201", "10001", "200", "1", "4000000", str(4160 + 3)],
    ]
    assert took["1000"] == round(2000 + 2 * 83.84 + 2000 + 2 * 5.12)
    again = CliRunner().invoke(cli.app, ["export", str(folder), "--fct", str(file)])
    assert again.exit_code == 2
    assert "expected a new file" in again.output

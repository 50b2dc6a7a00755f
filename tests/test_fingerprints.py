"""The installed core gives the fingerprints that the debug build gave: crates/sim/tests/dumbbell.rs."""

from pathlib import Path

import numpy as np
import pytest

from shallows import _core

ON_FILE = Path(__file__).parents[1] / "crates/sim/tests/algorithms.txt"
FLOWS = 4
NEVER = np.uint64(2**64 - 1)
US = 1_000_000


CREDITS = {
    "limit": {"packets": 8},
    # Credits and the full frames that they request fill a link.
    "shaper": {"rate_bps": 10**10 * 84 // 1584, "burst_bytes": 2 * 84},
    "trims": False,
}
CREDITS_FIRST = {
    "classes": [CREDITS, {"limit": {"bytes": 2**64 - 1}, "trims": False}],
    "class_of": [{"credit": 0, "other": 1}],
}
TRIMMING = {
    "classes": [
        {"limit": {"bytes": 16 * 1500}, "trims": False},
        {"limit": {"packets": 8}, "trims": True},
    ],
    "class_of": [{"other": 0, "data": 1}],
}
CLASSES = {"credit": CREDITS_FIRST, "trim": TRIMMING}
"""By what an algorithm needs of ports; what is cut, switches cut."""


def dumbbell(cc, marking=None, seed=1, port=None):
    """The network of dumbbell.rs, cable by cable: two switches, senders 0..4, receivers 4..8."""
    left, right = 2 * FLOWS, 2 * FLOWS + 1
    links = [(left, right, 50, True), (right, left, 50, True)]
    for host in range(2 * FLOWS):
        switch = left if host < FLOWS else right
        links += [(host, switch, 25, False), (switch, host, 25, True)]
    columns = list(zip(*links, strict=True))
    at_switch = np.array(columns[3])
    return {
        "hosts": 2 * FLOWS,
        "nodes": 2 * FLOWS + 2,
        "links": {
            "from": np.array(columns[0], np.uint32),
            "to": np.array(columns[1], np.uint32),
            "rate_bps": np.full(len(links), 10**10, np.uint64),
            "delay_ps": np.array(columns[2], np.uint64) * np.uint64(US),
            "buffer_bytes": np.where(at_switch, np.uint64(250 * 1500), NEVER),
            "marking": (at_switch * bool(marking)).astype(np.uint32),
            "discipline": ((port == "credit") | at_switch & (port == "trim")).astype(np.uint32),
        },
        "disciplines": [CLASSES[port]] if port in CLASSES else [],
        "markings": [marked(row) for row in _core.markings() if row["name"] == marking],
        "classes": [{}],
        "pools": [],
        "balancing": "flow",
        "faults": [],
        "changing": [],
        "convergence_ps": 2**64 - 1,
        "entropies": 0,
        "flowlet_gap_ps": 0,
        "max_packets": 10**6,
        "flows": {
            "src": np.arange(FLOWS, dtype=np.uint32),
            "dst": np.arange(FLOWS, 2 * FLOWS, dtype=np.uint32),
            "bytes": np.full(FLOWS, NEVER),
            "start_ps": np.arange(FLOWS, dtype=np.uint64) * np.uint64(100 * US),
            "stop_ps": np.full(FLOWS, NEVER),
            "class": np.zeros(FLOWS, np.uint32),
            "cc": np.zeros(FLOWS, np.uint32),
        },
        "path_hashes": {"flow": np.array([], np.uint32), "hash": np.array([], np.uint32)},
        "routes": {"flow": np.array([], np.uint32), "link": np.array([], np.uint32)},
        "computations": {
            "host": np.array([], np.uint32),
            "duration_ps": np.array([], np.uint64),
            "start_ps": np.array([], np.uint64),
            "processor": np.array([], np.uint32),
        },
        "ccs": [{"name": cc, "parameters": {}}],
        "host": {
            "nic": "fair",
            "initial_window_bytes": 14_600,
            "rto_min_ps": 1000 * US,
            "rto_max_ps": 1_000_000 * US,
            "rto_initial_ps": 10_000 * US,
            "segment": 1,
            "loss_detection": "duplicate-acks",
            "retransmission": "go-back-n",
            "gap": 0.0,
            "ack_delay_ps": 500 * US,
        },
        "mtu_bytes": 1500,
        "header_bytes": 40,
        "sender_settings": {
            "flow": np.array([], np.uint32),
            "time_ps": np.array([], np.uint64),
            "window_bytes": np.array([], np.uint64),
            "rate_bps": np.array([], np.uint64),
        },
        "duration_ps": 50_000 * US,
        "until_done": False,
        "warmup_ps": 10_000 * US,
        "seed": seed,
        "record": {
            "queue_interval_ps": 0,
            "queue_links": np.array([], np.uint32),
            "probe_interval_ps": 0,
            "probe_flows": np.array([], np.uint32),
        },
    }


def marked(row):
    """A marking with the defaults of its row."""
    return {"kind": row["name"], "at": row["at"], "parameters": {}}


def on_file():
    rows = [line.split() for line in ON_FILE.read_text().splitlines()[1:]]
    return [(row[0], row[-1]) for row in rows]


@pytest.mark.parametrize(("name", "fingerprint"), on_file())
def test_release_and_debug_agree(name, fingerprint):
    row = next(row for row in _core.catalog() if row["name"] == name)
    marking = row["port"] if row["marking"] == "required" else None
    answer = _core.simulate(dumbbell(name, marking, port="trim" if row["trims"] else row["port"]))
    assert answer["fingerprint"] == fingerprint
    assert answer["books"] == {"closed": True, "problems": []}


def test_an_exception_of_the_caller_ends_the_run():
    def refuse(now_ps, packet_hops, flows_finished):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        _core.simulate(dumbbell("reno"), refuse)


def test_control_c_ends_the_run_with_what_there_is():
    def interrupt(now_ps, packet_hops, flows_finished):
        raise KeyboardInterrupt

    request = dumbbell("reno") | {"duration_ps": 10**13}
    answer = _core.simulate(request, interrupt)
    assert answer["interrupted"]
    assert 0 < answer["ended_ps"] < 10**13
    assert answer["books"]["closed"]


def test_a_request_that_contradicts_itself_is_refused():
    request = dumbbell("reno")
    request["flows"]["dst"] = request["flows"]["src"]
    with pytest.raises(ValueError, match=r"flows\.dst\[0\] = 0: expected another one of 8 hosts"):
        _core.simulate(request)

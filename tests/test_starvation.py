"""Runs that end because packets of the last flows are always lost: the port is named, and the books close."""

import pytest

import shallows as sh

STAR = {"kind": "star", "hosts": 4}
LOSES = {
    "a link that loses 99.9 %": (
        {"cc": "dctcp", "faults": [{"link": "h0->s0", "kind": "loss", "value": 0.999}]},
        "h0->s0",
    ),
    "RED below a frame, without ECN": (
        {
            "cc": "timely",
            "network": {"mtu": "4096B"},
            "classes": [{"name": "c", "marking": {"kind": "red", "kmin": "1955B", "kmax": "2130B"}}],
        },
        "s0->h3",
    ),
    "bit errors in every long frame": (
        {"cc": "dctcp", "faults": [{"link": "h0->s0", "kind": "bit-errors", "value": 0.001}]},
        "h0->s0",
    ),
    "acknowledgements that are lost": (
        {"cc": "dctcp", "faults": [{"link": "s0->h0", "kind": "silent-drop", "value": 0.9999}]},
        "s0->h0",
    ),
}


@pytest.mark.parametrize(("tables", "port"), LOSES.values(), ids=LOSES)
def test_the_port_that_loses_the_packets_is_named(tables, port):
    incast = [{"kind": "incast"}]
    run = sh.run(sh.Scenario(duration="until-done", topology=STAR, traffic=incast, **tables))
    assert run.summary["books"]["closed"]
    (warning,) = (one for one in run.summary["warnings"] if "cannot make progress" in one)
    assert f"link {port}, on the path of flow" in warning
    assert not run.flows.fct_us.notna().all()

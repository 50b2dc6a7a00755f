"""Applications that write at a rate, and sessions whose sizes are drawn; numbers by hand."""

import numpy as np
import pytest

import shallows as sh

PAYLOAD = 1460


def writing(rate, **tables):
    """A flow over links of 1 Gbps whose application writes at this rate."""
    given = {
        "duration": "100ms",
        "cc": "reno",
        "topology": {"kind": "dumbbell", "hosts": 1, "rate": "1Gbps", "rtt": "2ms"},
        "traffic": [{"kind": "long-lived", "flows": 1, "jitter": "0s", "rate": rate}],
    }
    return sh.Scenario(**{**given, **tables})


def packets(run):
    """Full packets that have arrived."""
    received = run.summary["flows"]["goodput_gbps"] * run.summary["duration_s"] * 1e9 / 8 / PAYLOAD
    assert received == pytest.approx(round(received), abs=1e-6)
    return round(received)


OVER_EACH = ["reno", "cubic", "dctcp", "bbr3", "swift", "swift-roce", "dcqcn", "timely", "hpcc", "nscc"]


@pytest.mark.parametrize("cc", OVER_EACH)
def test_a_flow_sends_what_its_application_writes(cc):
    """At 11.68 Mbps a packet of 1460 B is written each millisecond, from 0 to 99 ms, over every transport.

    Each crosses three links of 1 Gbps in 36 us and 1 ms of delay: 99 have arrived by 100 ms, those of 0 to 98
    ms. None waits for another one, nor for the rest of a segment.
    """
    run = sh.run(writing("11.68Mbps", cc=cc))
    sent = run.ports.query('port == "h0->s0"')["sent"].iloc[0]
    assert packets(run) == 99
    assert sent == 100


def test_the_rest_of_a_segment_waits_for_its_application_with_selective_retransmission_too():
    """IRN sends segments of `timely` as go-back-N does."""
    run = sh.run(writing("11.68Mbps", cc="timely", hosts={"retransmission": "selective"}))
    assert packets(run) == 99


def test_an_application_may_write_as_fast_as_its_link():
    """973 Mbps of payload fill a link of 1 Gbps: a packet each 12.005 us, of 12 us on the wire."""
    run = sh.run(writing("973Mbps", cc={"name": "fixed", "window": "1000pkt"}))
    # The k-th, from 0 on, is written at 12.00411 k us and arrives 1036 us later: 98,964 / 12.00411 = 8244.2.
    assert packets(run) == 8245


def test_what_waits_for_a_window_stays_written():
    """A window of ten packets a round trip of 2 ms and some carries less than 100 Mbps: as without a rate."""
    small = {"name": "fixed", "window": "10pkt"}
    slow = sh.run(writing("100Mbps", cc=small))
    eager = [{"kind": "long-lived", "flows": 1, "jitter": "0s"}]
    fast = sh.run(writing("100Mbps", cc=small, traffic=eager))
    assert abs(packets(slow) - packets(fast)) <= 10


def test_a_short_queue_of_what_was_written_goes_out_at_once():
    """A link at a tenth of the rate for 20 ms delays what was written then; all of it arrives."""
    slow = {"link": "s0->s1", "kind": "rate", "value": "1Mbps", "at": "20ms", "until": "40ms"}
    tables = {"cc": {"name": "fixed", "window": "100pkt"}, "faults": [slow]}
    assert packets(sh.run(writing("11.68Mbps", **tables))) == 99


def test_why_names_the_application():
    """A flow that has sent everything waits for its application."""
    run = sh.run(writing("11.68Mbps", duration="10500us"))
    assert run.at("10400us").flows["waits_for"].tolist() == ["application"]


def session(request="100B", response="20KB", **tables):
    given = {
        "duration": "until-done",
        "cc": "reno",
        "topology": {"kind": "dumbbell", "hosts": 2},
        "traffic": [
            {
                "kind": "request-response",
                "pairs": 2,
                "exchanges": 500,
                "request": request,
                "response": response,
            }
        ],
    }
    return sh.Scenario(**{**given, **tables})


def test_sizes_of_responses_are_drawn():
    """A quarter of 1 KB, three quarters of 5 to 9 KB: mean .25 * 1000 + .75 * 7000 = 5500, deviation 2784.

    Of 1000 responses the mean is within five times 87.
    """
    points = [[1000, 0.0], [1000, 0.25], [5000, 0.25], [9000, 1.0]]
    scenario = session(response=points)
    flows = scenario.flows
    is_response = flows.answers != np.uint32(2**32 - 1)
    sizes = flows.bytes[is_response]
    assert set(flows.bytes[~is_response].tolist()) == {100}
    assert len(sizes) == 1000
    assert ((sizes == 1000) | ((sizes >= 5000) & (sizes <= 9000))).all()
    assert abs((sizes == 1000).sum() - 250) < 5 * 13.7
    assert abs(sizes.mean() - 5500) < 5 * 87
    assert (session(response=points, seed=2).flows.bytes != flows.bytes).any()
    run = sh.run(scenario)
    assert np.isfinite(run.columns("flows")["fct_us"]).all()
    assert "traffic.0" in run.summary["random"]


def test_fixed_sizes_draw_nothing():
    """The same flows as ever, whether the size is a text or a distribution of one size."""
    one = session().flows.bytes
    assert one.tolist() == ([100] * 2 + [20_000] * 2) * 500
    assert session(response=[[20_000, 0.0], [20_000, 1.0]]).flows.bytes.tolist() == one.tolist()

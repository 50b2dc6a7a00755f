"""DCQCN: fixed points, the marking cliff, and the paper's Fig. 4 in time."""

import numpy as np
import pytest

from shallows.fluid import Dcqcn
from shallows.fluid.dcqcn import any_marked, feedback, increase_rates
from shallows.fluid.model import Status
from shallows.fluid.published import approximate_marking
from shallows.fluid.trajectory import Flows, Jitter, trajectory

# N: p*, alpha*, R_T/R_C, queue in KB with 200 KB/1 %, and with 2000 KB/10 %.
TABLE = {
    1: (3.182281e-4, 0.0838055, 1.007341, 11.205, 11.349),
    2: (7.769886e-4, 0.1013642, 1.010899, 20.151, 20.501),
    10: (6.031955e-3, 0.1532765, 1.025828, 122.623, 125.338),
    64: (5.905359e-2, 0.2301402, 1.063112, 1156.5, 1183.119),
}
PRINTED_DIGITS = {1: ("3.70e-04", 2), 2: ("9.25e-04", 2), 10: ("7.849e-03", 3), 64: ("9.312e-02", 3)}


@pytest.mark.parametrize("flows", TABLE)
def test_fixed_point_is_the_table(flows):
    p, alpha, ratio, queue_kb, queue_gentle_kb = TABLE[flows]
    rest = Dcqcn(flows=flows, ramp="extended").fixed_point()
    assert rest.p == pytest.approx(p, rel=1e-6)
    assert rest.alpha == pytest.approx(alpha, rel=1e-6)
    assert rest.state["R_T"] / rest.state["R_C"] == pytest.approx(ratio, abs=5e-7)
    assert rest.queue_bytes / 1e3 == pytest.approx(queue_kb, abs=0.05 if flows == 64 else 5e-4)
    gentle = Dcqcn(flows=flows, kmax=2e6, pmax=0.1).fixed_point()
    assert gentle.queue_bytes / 1e3 == pytest.approx(queue_gentle_kb, abs=5e-4)
    assert gentle.on_ramp


@pytest.mark.parametrize("flows", PRINTED_DIGITS)
def test_approximation_of_equation_14(flows):
    digits, places = PRINTED_DIGITS[flows]
    assert f"{approximate_marking(Dcqcn(flows=flows)):.{places}e}" == digits


def test_approximation_overestimates():
    models = [Dcqcn(flows=n) for n in (1, 10, 64, 100)]
    excess = [approximate_marking(model) / model.fixed_point().p - 1 for model in models]
    assert [round(100 * share) for share in excess] == [16, 30, 58, 70]


@pytest.mark.parametrize("flows", [1, 2, 3, 10, 16])
def test_only_the_rate_of_a_flow_matters(flows):
    slow, fast = Dcqcn(rate=10e9, flows=flows).fixed_point(), Dcqcn(rate=40e9, flows=4 * flows).fixed_point()
    assert slow.p == pytest.approx(fast.p, rel=1e-12)
    assert slow.alpha == pytest.approx(fast.alpha, rel=1e-12)


def test_fixed_point_stops_every_equation():
    model = Dcqcn(flows=7)
    rest = model.fixed_point().state
    out, constants = np.empty(3), model.constants_array()
    system = model.system
    shared, flow = np.array([rest["q"]]), np.array([rest[name] for name in system.flow])
    system.reaction_float(shared, flow, np.array([rest["q"], rest["R_C"]]), constants, out)
    assert np.abs(out / flow).max() < 1e-9


LAST_ON_THE_RAMP = [
    ({}, 14),
    ({"r_ai": 10e6}, 20),
    ({"r_ai": 20e6}, 17),
    ({"r_ai": 80e6}, 12),
    ({"rate": 100e9}, 37),
    ({"mtu": 1500.0}, 10),
    ({"mtu": 4096.0}, 4),
]


@pytest.mark.parametrize(("changed", "last"), LAST_ON_THE_RAMP)
def test_printed_red_has_no_fixed_point_for_many_flows(changed, last):
    there, beyond = (Dcqcn(flows=n, **changed).fixed_point() for n in (last, last + 1))
    assert there.on_ramp
    assert there.queue_bytes <= 200e3
    assert beyond.status == Status.NONE
    assert not beyond.exists
    assert not beyond.on_ramp
    assert beyond.queue_bytes is None
    assert "no fixed point" in beyond.explanation


def test_extended_ramp_says_that_it_is_beyond_kmax():
    rest = Dcqcn(flows=15, ramp="extended").fixed_point()
    assert rest.exists
    assert not rest.on_ramp
    assert rest.queue_bytes > 200e3


def test_increase_rates_at_their_limits():
    B, T, F, R = 1e4, 55e-6, 5, 5e5
    # p -> 0: R (b + d) = R/B + 1/T. p = 1: nothing increases. R -> 0: R d -> 1/T, so an idle flow recovers.
    assert increase_rates(0.0, R, B, T, F)[0] == pytest.approx(R / B + 1 / T)
    assert increase_rates(1e-15, R, B, T, F)[1] == pytest.approx(R / B + 1 / T)
    assert increase_rates(1.0, R, B, T, F) == (0.0, 0.0)
    assert increase_rates(1e-3, 0.0, B, T, F)[0] == pytest.approx(1 / T, rel=1e-3)
    # p = 0.1, R = 1 packet in T: d = p/((1-p)^-1 - 1) = 0.9, e = 0.9^5 d, b = 0.1/(0.9^-1e4 - 1) = 0.
    assert increase_rates(0.1, 1 / T, B, T, F)[0] * T == pytest.approx(0.9)
    assert increase_rates(0.1, 1 / T, B, T, F)[1] * T == pytest.approx(0.9**6)


def test_any_marked_by_hand():
    assert any_marked(0.5, 2.0) == pytest.approx(0.75)
    assert any_marked(1.0, 0.5) == 1.0
    assert any_marked(1.0, 0.0) == 0.0


# Fig. 4: delay in us, flows: mean, least, most KB of the queue over 80 to 100 ms.
FIG4 = {
    (4, 2): (20.5, 20.5, 20.5),
    (4, 10): (125.3, 125.3, 125.3),
    (4, 64): (1182, 1182, 1182),
    (85, 2): (20.5, 20.2, 20.7),
    (85, 10): (131.8, 0.0, 276.1),
    (85, 64): (1181.7, 1181.7, 1181.7),
}


@pytest.mark.parametrize(("delay_us", "flows"), FIG4)
def test_figure_4(delay_us, flows):
    run = trajectory(Dcqcn(flows=flows, delay=delay_us * 1e-6, kmax=2e6, pmax=0.1), 0.1, step_s=2e-6)
    late = run.queue_bytes[run.between(0.08)] / 1e3
    mean, least, most = FIG4[delay_us, flows]
    assert late.mean() == pytest.approx(mean, rel=2e-3)
    assert late.min() == pytest.approx(least, rel=2e-3, abs=0.05)
    assert late.max() == pytest.approx(most, rel=2e-3, abs=0.05)


def test_figure_4_recovery_of_two_flows():
    """At 85 us a flow falls to 3.88 Gb/s, and is back at 20 Gb/s after 20.5 ms: R_AI/T is 0.727 Gb/s a ms."""
    run = trajectory(Dcqcn(delay=85e-6, kmax=2e6, pmax=0.1), 0.1, step_s=1e-6)
    rate = run.rates_bps[0] / 1e9
    assert rate.min() == pytest.approx(3.885, abs=0.005)
    lowest = run.time_s[rate.argmin()]
    back = run.time_s[(run.time_s > lowest) & (rate > 20)][0]
    assert back == pytest.approx(20.45e-3, abs=0.2e-3)
    slope = (np.interp(15e-3, run.time_s, rate) - np.interp(10e-3, run.time_s, rate)) / 5
    assert slope == pytest.approx(40 / 55, rel=0.02)


def test_cliff_makes_many_flows_cycle_about_kmax():
    queue = trajectory(Dcqcn(flows=64), 0.1)
    late = queue.queue_bytes[queue.between(0.08)] / 1e3
    assert late.min() == pytest.approx(119, abs=4)
    assert late.max() == pytest.approx(228, abs=4)


def test_rates_become_equal():
    starts = [Flows(rate_bps=rate) for rate in np.linspace(0.8e9, 7.2e9, 10)]
    run = trajectory(Dcqcn(flows=10), 0.1, flows=starts)
    at_20_ms = run.rates_bps[:, run.time_s.searchsorted(0.02)] / 1e9
    assert at_20_ms.min() == pytest.approx(3.97, abs=0.03)
    assert at_20_ms.max() == pytest.approx(4.03, abs=0.03)
    assert np.ptp(run.rates_bps[:, -1]) / run.rates_bps[:, -1].mean() < 1e-3


def test_marking_at_enqueue_waits_in_the_queue():
    """Fig. 17: at 85 us two flows are steady with marks at dequeue, and oscillate with marks at enqueue."""
    late = {}
    for at in ("dequeue", "enqueue"):
        run = trajectory(Dcqcn(delay=85e-6, kmax=2e6, pmax=0.1, at=at), 0.2)
        late[at] = np.ptp(run.queue_bytes[run.between(0.18)]) / 1e3
    assert late["dequeue"] < 0.5
    assert late["enqueue"] == pytest.approx(39.6, abs=1)


def test_mark_made_at_enqueue_is_that_of_the_packet_which_leaves():
    """Two flows at line rate queue a packet for each that leaves, so the wait grows as fast as time.

    Marks begin with the packet that meets 5 packets, after 1 us; it leaves 1 us later and its mark is
    back at 87 us. The wait of a packet that enters at 87 us would put that off for ever.
    """
    run = trajectory(Dcqcn(delay=85e-6, kmax=2e6, pmax=0.1, at="enqueue"), 150e-6, sample_s=1e-6)
    rate = run.rates_bps[0]
    assert rate[run.time_s < 86e-6] == pytest.approx(40e9)
    assert rate[run.time_s > 95e-6].max() < 40e9


def test_jitter_leaves_the_fixed_point_within_the_delay_margin():
    """Mean delay 4 + 50 us is under the margin of 85.6 us; 4 + 150 us is not."""
    model = Dcqcn()
    spread = {}
    for width in (100e-6, 300e-6):
        run = trajectory(model, 0.2, jitter=Jitter(width))
        spread[width] = np.ptp(run.queue_bytes[run.between(0.18)]) / 1e3
    assert spread[100e-6] < 2
    assert spread[300e-6] > 20


def test_a_mark_made_at_enqueue_is_older_by_the_queue():
    """50 packets at 4 packets a microsecond are 12.5 us, beside 4 us of the loop."""
    assert [feedback(50.0, 4e6, 4e-6, enqueue) for enqueue in (0.0, 1.0)] == pytest.approx([4e-6, 16.5e-6])

"""Swift, HPCC, NSCC and both forms of PowerTCP: rest points by hand, margins by a second linearisation.

The linearisation here takes differences of the compiled equations and solves the loop as matrices, where
`linear` takes complex steps and eliminates. Both cut the loop at the mark.
"""

import numpy as np
import pytest

import shallows as sh
from lazy import scipy
from shallows.fluid import Hpcc, Nscc, PowerTcp, Swift, ThetaPowerTcp
from shallows.fluid.linear import linearise
from shallows.fluid.model import Status
from shallows.fluid.theta_powertcp import largest_root
from shallows.fluid.trajectory import trajectory
from shallows.worlds import fluid as fluid_world
from shallows.worlds.fluid_answer import FluidAnswer


def differences(function, at, results):
    """Partial derivatives [results, arguments] by central differences."""
    columns = []
    for j, value in enumerate(at):
        step = np.zeros(len(at))
        step[j] = 1e-6 * max(abs(value), 1e-6)
        up, down = np.empty(results), np.empty(results)
        function(at + step, up)
        function(at - step, down)
        columns.append((up - down) / (2 * step[j]))
    return np.array(columns).T.reshape(results, len(at))


class Numeric:
    """The loop of a model, cut where its one delayed shared state enters the flows."""

    def __init__(self, model):
        system, constants, rest = model.system, model.constants_array(), model.fixed_point().state
        shared, flow = (np.array([rest[name] for name in names]) for names in (system.shared, system.flow))
        delayed = np.array([rest[state] for state, _ in system.delayed.values()])
        nothing, flows = np.empty(0), float(model.flows)
        lags, S, K = np.empty(system.lags), len(shared), len(flow)
        system.feedback_float(shared, flow, nothing, constants, lags)
        self.lags = [lags[lag] for _, lag in system.delayed.values()]
        self.mark = system.shared.index(next(iter(system.delayed.values()))[0])
        rate = np.empty(1)

        def total(s, f):
            system.sending_float(s, f, nothing, constants, rate)
            return flows * rate

        def link(x, out):
            system.link_float(x[:S], total(x[:S], x[S:]), nothing, constants, out)

        def reaction(x, out):
            system.reaction_float(x[:S], x[S : S + K], x[S + K :], constants, out)

        by_state = differences(link, np.concatenate([shared, flow]), S)
        by_all = differences(reaction, np.concatenate([shared, flow, delayed]), K)
        self.now = np.vstack([by_state, by_all[:, : S + K]])
        self.late = np.vstack([np.zeros((S, len(delayed))), by_all[:, S + K :]])

    def gain(self, omega, extra=0.0):
        """L(i omega), with a delay less in the loop."""
        s = 1j * omega
        entering = self.late @ np.exp(-s * (np.array(self.lags) - extra))
        return -np.linalg.solve(s * np.eye(len(self.now)) - self.now, entering)[self.mark]

    def margin(self):
        """(degrees, rad/s) of the crossover with the least phase margin; NaN without one."""
        omegas, shortest, found = np.geomspace(1e2, 1e7, 4000), min(self.lags), []
        sizes = [np.log(abs(self.gain(omega))) for omega in omegas]
        for left, right, a, b in zip(omegas, omegas[1:], sizes, sizes[1:], strict=False):
            if a * b < 0:
                at = scipy.optimize.brentq(lambda omega: np.log(abs(self.gain(omega))), left, right)
                found.append((np.degrees(np.angle(-self.gain(at, shortest)) - at * shortest), at))
        return min(found, default=(np.nan, np.nan))


MODELS = [
    *(Swift(flows=n, rate=rate) for n, rate in ((5, 100e9), (50, 100e9), (8, 25e9))),
    *(Hpcc(flows=n, w_ai=w_ai) for n, w_ai in ((2, 80.0), (30, 80.0), (4, 8000.0))),
    *(PowerTcp(flows=n, beta=beta) for n, beta in ((1, 18e3), (2, 6e3), (2, 18e3))),
    *(ThetaPowerTcp(flows=n, beta=beta) for n, beta in ((2, 18e3), (1, 15e3), (2, 6e3))),
    *(Nscc(flows=n) for n in (2, 8, 32)),
]


def named(model):
    return f"{model.name}-{model.flows:g}"


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_margins_are_those_of_a_numeric_linearisation(model):
    degrees, crossover = Numeric(model).margin()
    margins = linearise(model).loop().margins()
    assert np.isfinite(degrees)
    assert margins.phase_margin_deg == pytest.approx(degrees, abs=1)
    assert margins.crossover_rad_s == pytest.approx(crossover, rel=0.01)


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_margins_and_roots_agree_on_stability(model):
    linear = linearise(model)
    margins = linear.loop().margins()
    assert (margins.phase_margin_deg > 0) == (linear.rightmost_root().real < 0)
    assert (margins.delay_margin_s > model.delay) == (margins.phase_margin_deg > 0)


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_the_loop_closes_to_the_characteristic_equation(model):
    linear = linearise(model)
    assert abs(1 + linear.loop().gain([linear.rightmost_root()])[0]) < 1e-6


@pytest.mark.parametrize("gbps", [25, 100])
@pytest.mark.parametrize("flows", [2, 10, 50])
def test_swift_without_spread_rests_at_its_target(flows, gbps):
    """25 us, a switch, and 32260/sqrt(W) - 2016 ns (Google's values by hand), W being C D/N."""
    rest = Swift(flows=flows, rate=gbps * 1e9, spread=0.0).fixed_point()
    delay_us = 10 + rest.queue_bytes * 8e-3 / gbps
    window = delay_us * gbps / 8e-3 / (1500 * flows)
    assert rest.status == Status.SLIDING
    assert rest.state["W"] == pytest.approx(window, rel=1e-9)
    assert delay_us == pytest.approx(26 + max(0, 32.260 / window**0.5 - 2.016), rel=1e-4)


def test_the_spread_of_swift_stands_above_the_target():
    """By hand: u = excess/(spread/2) solves 5 (1 - u) = (1 + u)^2 with beta 0.8 and without scaling."""
    model = Swift(flows=5, fs_range=0.0)
    above_us = model.fixed_point().queue_bytes * 8e-5 - 16
    assert above_us == pytest.approx((65**0.5 - 7) / 2 * 5 * 0.12 / 2, rel=0.01)


def test_hpcc_uses_eta_and_its_steps():
    """U = 0.95 + 10 * 80/162,500; with steps of 5 % of the product in all the link is just full."""
    rest = Hpcc(flows=10).fixed_point()
    assert rest.status == Status.OFF_RAMP
    assert rest.queue_bytes == 0
    assert rest.state["U"] == pytest.approx(0.95 + 800 / 162_500)
    full = Hpcc(flows=10, w_ai=812.5).fixed_point()
    assert full.state["U"] == pytest.approx(1)
    assert full.queue_bytes == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("model", [PowerTcp, ThetaPowerTcp])
def test_powertcp_keeps_the_sum_of_its_steps(model):
    rest = model(flows=7, beta=18e3).fixed_point()
    assert rest.queue_bytes == pytest.approx(7 * 18e3)
    assert rest.state["W"] * 1500 == pytest.approx(125e3 / 7 + 18e3)


def test_powertcp_of_the_authors_simulation_leaves_the_queue_empty():
    """0.95 + N 150 Mbps/C: 10 flows at 100 Gbps use 96.5 %."""
    rest = PowerTcp(flows=10, utilization=0.95, beta=150e6 / 8 * 10e-6).fixed_point()
    assert rest.status == Status.OFF_RAMP
    assert rest.state["G"] == pytest.approx(0.965)


def test_nscc_rests_where_cuts_balance_increases():
    """400 Gbps, 8 us, 4096 B, worked by hand from table 3-82: eta 0.4 and fi 13.333 packets, gamma 0.8."""
    rest = Nscc(flows=8).fixed_point()
    delay, window = rest.queue_bytes / 50e9 * 1e6, rest.state["W"]
    marked = (rest.queue_bytes - 80e3) / 240e3
    average = marked * delay + (1 - marked) * 2
    assert window * 4096 * 8 == pytest.approx(400e3 + rest.queue_bytes)
    grows = (1 - marked) * 13.3333 / (8 + delay) + 0.4 / 8
    assert grows == pytest.approx(window * 0.8 * (average - 6) / average / 8, rel=1e-4)


@pytest.mark.parametrize(("flows", "beta"), [(2, 18e3), (8, 18e3), (2, 30e3), (8, 7.5e3)])
def test_the_rounds_of_theta_powertcp_are_those_of_its_law(flows, beta):
    """The law itself, from next to rest, for windows in products of rate and round trip."""
    steps, rest = flows * beta / 125e3, 1 + flows * beta / 125e3
    windows = [rest, rest, rest + 1e-9]
    for _ in range(100):
        power = 2 * windows[-2] - windows[-3]
        windows.append(0.9 * (windows[-1] / power + steps) + 0.1 * windows[-1])
    off = np.abs(np.array(windows) - rest)
    growth = (off[60:80].max() / off[40:60].max()) ** (1 / 20)
    assert growth == pytest.approx(abs(largest_root(ThetaPowerTcp(flows=flows, beta=beta))), rel=0.02)


@pytest.mark.parametrize(
    "model", [PowerTcp(flows=8, beta=18e3), Hpcc(flows=4, w_ai=8000.0), Nscc(flows=8)], ids=named
)
def test_trajectories_come_to_the_stable_rest(model):
    run = trajectory(model, 400 * model.delay)
    late = run.queue_bytes[run.between(300 * model.delay)]
    assert late.mean() == pytest.approx(model.fixed_point().queue_bytes, rel=0.01)
    assert np.ptp(late) < 0.02 * late.mean()


@pytest.mark.parametrize("flows", [2, 4])
def test_nscc_with_few_flows_cycles_as_packets_do(flows):
    """Packets: mean 301 and 312 KB, deviation 16 and 19 KB, period 143 and 113 us (docs/fluid.md)."""
    model = Nscc(flows=flows)
    assert not linearise(model).stable
    run = trajectory(model, 400 * model.delay)
    late = run.queue_bytes[run.between(200 * model.delay)]
    assert late.mean() == pytest.approx({2: 301e3, 4: 312e3}[flows], rel=0.05)
    assert late.std() == pytest.approx({2: 16e3, 4: 19e3}[flows], rel=0.3)


@pytest.mark.parametrize("cc", ["swift", "nscc", "powertcp", "theta-powertcp", "hpcc"])
def test_the_books_of_a_short_run_close_and_notice_a_twentieth(cc, monkeypatch):
    """What arrives less what leaves is the queue, also while windows still change; W/T is 4 % off in 5 ms."""
    scenario = sh.Scenario(
        duration="5ms", warmup="1ms", cc=cc, traffic=[{"kind": "long-lived"}],
        topology={"kind": "dumbbell", "hosts": 4, "rate": "100Gbps", "rtt": "10us"},
    )  # fmt: skip
    assert fluid_world.run(scenario).summary["books"] == {"closed": True, "problems": []}
    true = FluidAnswer.leaving.func
    monkeypatch.setattr(FluidAnswer, "leaving", property(lambda answer: 0.95 * true(answer)))
    (problem,) = fluid_world.run(scenario).summary["books"]["problems"]
    assert "neither sent, nor dropped, nor queued" in problem

"""Environments of Gymnasium: what an agent sets acts, and what it observes is what the network did."""

import multiprocessing
import threading
from importlib import util
from pathlib import Path

import numpy as np
import pytest

import shallows as sh
from each import each
from shallows.gym import MEASURES, Knob, NetworkEnv

DUMBBELL = {
    "duration": "1s",
    "topology": {"kind": "dumbbell", "hosts": 10, "rate": "10Gbps", "rtt": "40us"},
    "cc": "dctcp",
    "traffic": [{"kind": "long-lived"}],
}
EXTERNAL = DUMBBELL | {
    "topology": {"kind": "dumbbell", "hosts": 2, "rate": "10Gbps", "rtt": "40us"},
    "cc": {"name": "external", "window": 1000, "rate": "1Gbps"},
    "traffic": [{"kind": "long-lived", "jitter": "0s"}],
}
THRESHOLD = Knob("network.marking.threshold", "1pkt", "200pkt", scale="log")
RATES = Knob("senders.rate", "1Gbps", "9Gbps")


def environment(scenario=DUMBBELL, actions=(THRESHOLD,), **options):
    options = {"step": "100us", "steps": 20, "reward": {"receive_gbps": 1, "rtt_us": -0.02}} | options
    return NetworkEnv(scenario, actions=actions, **options)


def played(env, actions, **reset):
    """The observations of an episode with these actions, and its rewards."""
    env.reset(**reset)
    steps = [env.step(np.array(action, np.float32)) for action in actions]
    return np.array([step[0] for step in steps]), [step[1] for step in steps]


def check(seeds):
    """Gymnasium's own check, in a process of its own; the observations that follow."""
    from gymnasium.utils.env_checker import check_env

    found = []
    for seed in seeds:
        env = environment()
        check_env(env, skip_render_check=True)
        found.append(played(env, [[seed / 10]] * 3, seed=seed)[0].tolist())
    return found


def test_gymnasium_accepts_eight_environments_in_one_process_and_in_threads():
    expected = check(range(8))
    found = [None] * 4

    def one(at):
        found[at] = played(environment(), [[at / 10]] * 3, seed=at)[0].tolist()

    threads = [threading.Thread(target=one, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected[:4]


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_environments_work_in_processes(way):
    """Four at once; those that are forked have an environment of their parent beside their own."""
    beside = environment()
    beside.reset(seed=1)
    with multiprocessing.get_context(way).Pool(4) as pool:
        found = pool.map(check, [[at] for at in range(4)])
    assert found == [check([at]) for at in range(4)]


def test_what_is_observed_is_what_arithmetic_says():
    """A frame of 1500 B has 1460 B of payload, at 2 and 5 Gbps; answers come back through empty queues.

    The round trip of a full frame is 40 us of delay and the times of the frame and its answer on three links.
    """
    env = environment(EXTERNAL, [RATES], per="flow", step="1ms", begin="1ms")
    seen, rewards = played(env, [[-0.75, 0.0]] * 3)
    share = 1460 / 1500
    assert seen[1:, :, 0] == pytest.approx(np.full((2, 2), (2 * share, 5 * share)), rel=0.01)
    assert seen[1:, :, 1] == pytest.approx(np.full((2, 2), (2 * share, 5 * share)), rel=0.01)
    assert (seen[:, :, 2] >= 40).all()
    assert (seen[1:, :, 2] < 40 + 2 * 3 * 1.2 + 1.2).all()
    assert not seen[:, :, 3:].any()
    assert rewards[2] == pytest.approx(7 * share - 0.02 * seen[2, :, 2].mean(), rel=0.02)
    # 2 x 9 Gbps in 10: the queue grows and overflows, and packets are sent again.
    seen, _ = played(env, [[1.0, 1.0]] * 9)
    assert seen[-1, :, 1].sum() == pytest.approx(10 * share, rel=0.05)
    assert seen[-1, :, 2].mean() > 100
    assert (seen[-1, :, 3] > 0.1).all()


def test_a_lower_threshold_marks_more_and_shortens_the_queue():
    env = environment(begin="2ms", step="1ms", steps=8)
    low, high = (played(env, [[number]] * 8)[0][4:, 0].mean(axis=0) for number in (-0.4, 0.9))
    columns = dict(zip(MEASURES, zip(low, high, strict=True), strict=True))
    assert columns["rtt_us"][0] < columns["rtt_us"][1]
    assert columns["marked"][0] > columns["marked"][1] > 0
    assert columns["receive_gbps"][1] == pytest.approx(10 * 1460 / 1500, rel=0.02)


def test_a_step_is_that_of_an_open_network():
    """A threshold from 200 us on, and what flows have delivered after each step."""
    env = environment(reward={"receive_gbps": 1})
    seen, rewards = played(env, [[0.0]] * 5)
    threshold = env.values([0.0])["network.marking.threshold"]
    assert threshold == pytest.approx([(1500 * 200 * 1500) ** 0.5])
    with sh.open(DUMBBELL) as network:
        network.set("network.marking.threshold", f"{round(threshold[0])}B")
        for reward in rewards:
            network.advance("100us")
            delivered = network.observe()["delivered_bytes"].sum()
            assert reward == pytest.approx(delivered * 8 / 1e5)
    assert seen[:, 0, 1].tolist() == pytest.approx(rewards)


def test_an_episode_begins_again_or_with_another_draw():
    env = environment(DUMBBELL | {"traffic": [{"kind": "long-lived", "jitter": "100us"}]})
    actions = [[0.5]] * 4
    first, again = (played(env, actions)[0] for _ in range(2))
    assert (first == again).all()
    assert (first == played(env, actions, seed=sh.Scenario.from_tables(DUMBBELL).seed)[0]).all()
    other = played(env, actions, seed=5)[0]
    assert (other != first).any()
    assert (other == played(env, actions)[0]).all()

    def hosts(dice):
        return DUMBBELL | {"topology": DUMBBELL["topology"] | {"hosts": int(dice.integers(2, 5))}}

    drawn = environment(hosts, redraw=True)
    rates = {float(played(drawn, actions)[0][-1, 0, 2]) for _ in range(8)}
    assert len(rates) > 1


def test_an_episode_ends_by_its_steps_its_flows_and_its_run():
    env = environment(steps=3)
    env.reset()
    ends = [env.step([0.0])[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]
    with pytest.raises(Exception, match="reset"):
        env.step([0.0])
    env = environment(DUMBBELL | {"duration": "250us"})
    env.reset()
    assert [env.step([0.0])[3] for _ in range(3)] == [False, False, True]
    traffic = [{"kind": "incast", "to": 10, "senders": 2, "size": "20KB"}]
    env = environment(DUMBBELL | {"traffic": traffic, "duration": "until-done"})
    env.reset()
    assert env.step([0.0])[2:4] == (True, False)


def test_parameters_act_on_flows_that_start_later():
    """Flows that start all the time cut by another gain, by the key of the scenario or of the table."""
    table = {
        "kind": "poisson",
        "sizes": "200KB",
        "load": 0.9,
        "load_of": "bottleneck",
        "flows": 200,
        "name": "web",
    }
    scenario = DUMBBELL | {"traffic": [table]}
    env = environment(scenario, [Knob("cc.g", 0.01, 1.0, scale="log")], step="1ms")
    small, large = (played(env, [[number]] * 10)[0] for number in (-1.0, 1.0))
    assert (small != large).any()
    named = environment(scenario, [Knob("traffic.web.cc.g", 0.01, 1.0, scale="log")], step="1ms")
    assert (played(named, [[1.0]] * 10)[0] == large).all()


@each(
    [
        ({"actions": [Knob("network.buffer", 1, 2)]}, r"network\.marking\.threshold.*cc\.g"),
        ({"actions": [Knob("cc.gg", 0.1, 0.2)]}, r"did you mean"),
        ({"actions": [Knob("cc.g", 0.2, 0.1)]}, "low below high"),
        ({"actions": [Knob("cc.g", 0.0, 0.1, scale="log")]}, "1e-06 to 1"),
        ({"actions": [Knob("cc.g", 0.1, 7)]}, "1e-06 to 1"),
        ({"actions": [Knob("network.marking.threshold", "1pkt", "many")]}, "a size"),
        ({"scenario": EXTERNAL, "actions": [Knob("senders.rate", "0bps", "1Gbps", "log")]}, "above 0"),
        ({"scenario": EXTERNAL, "actions": [Knob("cc.ecn", 0, 1)]}, r"cc\.window"),
        ({"actions": []}, "one knob or more"),
        ({"actions": [THRESHOLD, THRESHOLD]}, "each once"),
        ({"reward": {"rtt": 1}}, 'did you mean "rtt_us"'),
        ({"reward": {"loss": "much"}}, "a number"),
        ({"reward": {}}, "the weight of one"),
        ({"step": "0us"}, "step"),
        ({"steps": 0}, "steps"),
        ({"per": "host"}, '"traffic" or "flow"'),
        ({"scenario": "nowhere.toml"}, "nowhere"),
        (
            {"scenario": EXTERNAL, "actions": [Knob("senders.rates", "1Gbps", "2Gbps")]},
            r'did you mean "senders\.rate"',
        ),
    ]
)
def test_a_wrong_environment_is_refused_with_what_is_right(options, expected):
    with pytest.raises(sh.ScenarioError, match=expected):
        environment(**options)


def test_the_example_learns_the_rule_of_the_paper():
    """K above C x RTT / 7 keeps the link busy (SIGCOMM 2010, eq. 13). The band was written down before."""
    path = Path(__file__).parents[1] / "examples/gym/learn_threshold.py"
    spec = util.spec_from_file_location("learn_threshold", path)
    example = util.module_from_spec(spec)
    spec.loader.exec_module(example)
    assert 0.5 < example.main() < 2

"""Learn DCTCP's marking threshold by trial, and compare it with the rule of the paper.

    python examples/gym/learn_threshold.py

Two flows share a link of 10 Gbps with a round trip of 100 us. An agent chooses the threshold of the switch
for an episode; its reward is the throughput less a price for the round trip. It draws thresholds from a
normal distribution over their logarithm, and moves that to the best quarter of them, generation after
generation: the cross-entropy method (Rubinstein and Kroese, 2004).

The rule: a threshold K above C x RTT / 7 keeps the link busy (Alizadeh et al., SIGCOMM 2010, eq. 13). A
higher one only makes the queue longer, so a good agent ends near it.
"""

import numpy as np

from shallows.gym import Knob, NetworkEnv

RATE_BPS, RTT_S, FRAME = 10e9, 100e-6, 1500
RULE = RATE_BPS / 8 * RTT_S / 7
GENERATIONS, DRAWS, BEST = 12, 16, 4
PRICE = 0.01
"""Gbps that a microsecond of the round trip costs: a packet more in the queue costs 0.012 Gbps."""


def environment():
    """Episodes of 20 ms, from 5 ms on, when the flows no longer start."""
    scenario = {
        "duration": "1s",
        "topology": {"kind": "dumbbell", "hosts": 2, "rate": "10Gbps", "rtt": "100us"},
        "cc": "dctcp",
        "network": {"marking": {"kind": "step", "threshold": "65pkt"}},
        "traffic": [{"kind": "long-lived"}],
    }
    threshold = Knob("network.marking.threshold", "1pkt", "400pkt", scale="log")
    reward = {"receive_gbps": 1, "rtt_us": -PRICE}
    return NetworkEnv(
        scenario, step="5ms", steps=4, begin="5ms", actions=[threshold], reward=reward, redraw=True
    )


def episode(env, number):
    """The mean reward of a step under one threshold, without the first step, in which the queue adapts."""
    env.reset()
    action, rewards, over = np.array([number], np.float32), [], False
    while not over:
        _, reward, terminated, truncated, _ = env.step(action)
        rewards.append(reward)
        over = terminated or truncated
    return float(np.mean(rewards[1:]))


def learn(env, seed=1):
    """The number from -1 to 1 whose threshold is best."""
    env.reset(seed=seed)
    dice, mean, spread = np.random.default_rng(seed), 0.0, 0.7
    for generation in range(GENERATIONS):
        numbers = np.clip(dice.normal(mean, spread, DRAWS), -1, 1)
        rewards = [episode(env, number) for number in numbers]
        best = numbers[np.argsort(rewards)[-BEST:]]
        mean, spread = float(best.mean()), float(best.std()) + 0.02
        packets = env.values([mean])["network.marking.threshold"][0] / FRAME
        print(f"generation {generation + 1:2}: {packets:5.1f} packets, reward {max(rewards):.3f}")
    return mean


def main():
    """Learn, and say how far the threshold is from the rule."""
    env = environment()
    learned = env.values([learn(env)])["network.marking.threshold"][0]
    print(f"learned {learned / FRAME:.1f} packets; C x RTT / 7 is {RULE / FRAME:.1f} packets")
    print(f"learned {learned / RULE:.2f} times the rule of the paper")
    return learned / RULE


if __name__ == "__main__":
    main()

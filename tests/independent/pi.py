"""DCQCN's rates (Zhu et al., "ECN or Delay", CoNEXT 2016, eq. 1 and 2, increase by timer) over a fluid queue
whose port marks by a PI controller (eq. 32), with marks that are random draws or evenly spaced.

It shares no code with Shallows. Packets of 1 KB; times in seconds, rates in packets a second.
"""

import numpy as np

G, TAU, TIMER, RECOVERY, STEP = 1 / 256, 50e-6, 55e-6, 5, 40e6 / 8e3


def queue(flows, random_marks, *, duration=0.6, warmup=0.2, dt=10e-6, capacity=40e9 / 8e3, q_ref=200.0,
          k1=5.8e-6, k2=1.74e-4, seed=1):  # fmt: skip
    """Mean and standard deviation of the queue in packets after `warmup`, from the fixed point on."""
    draw = np.random.default_rng(seed)
    rate = np.full(flows, capacity / flows)
    target, alpha = rate.copy(), np.full(flows, 0.15)
    q, integral = q_ref, 8e-4 if flows == 2 else 6e-3
    p = integral
    stage, due, marked = np.zeros(flows, int), draw.random(flows), np.zeros(flows, bool)
    look, decay, timer = draw.random(flows) * TAU, np.zeros(flows), draw.random(flows) * TIMER
    seen = []
    for step in range(int(duration / dt)):
        expected = rate * dt * p
        if random_marks:
            marked |= draw.random(flows) < 1 - np.exp(-expected)
        else:
            due += expected
            marked |= due >= 1
            due %= 1
        look -= dt
        looks = look <= 0
        look[looks] += TAU
        cut = looks & marked
        marked[looks] = False
        target[cut] = rate[cut]
        rate[cut] *= 1 - alpha[cut] / 2
        alpha[cut] += G * (1 - alpha[cut])
        decay[cut], timer[cut], stage[cut] = 0, 0, 0
        decay, timer = decay + dt, timer + dt
        alpha[decay >= TIMER] *= 1 - G
        decay[decay >= TIMER] -= TIMER
        rises = timer >= TIMER
        timer[rises] -= TIMER
        stage[rises] += 1
        target[rises & (stage > RECOVERY)] += STEP
        target = np.minimum(target, capacity)
        rate[rises] = (rate[rises] + target[rises]) / 2
        q = max(0.0, q + (rate.sum() - capacity) * dt)
        integral = min(1.0, max(0.0, integral + k2 * (q - q_ref) * dt))
        p = min(1.0, max(0.0, k1 * (q - q_ref) + integral))
        if step * dt > warmup:
            seen.append(q)
    return np.mean(seen), np.std(seen)

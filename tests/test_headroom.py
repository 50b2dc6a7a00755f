"""The headroom that `shallows settings explain` asks for is enough, and a kilobyte less is not."""

import pytest

import shallows as sh
from shallows.scenario.headroom import PAUSE, headroom
from shallows.settings.sonic import PS_PER_METRE

SENDERS, KILOBYTE, CYCLES, ACKS_EVERY = 2, 1000, 6, 100


def frame(rate_gbps, metres):
    """A frame size with which whole frames reach the worst case to within a kilobyte.

    Only whole frames arrive. Of the bytes in flight, what exceeds whole frames is lost to the worst case:
    it has to be less than a kilobyte, and so large a part of a frame that pauses often wait for long enough
    behind the frame on the way back.
    """
    in_flight = 2 * rate_gbps * metres * PS_PER_METRE // 8000 + PAUSE
    return max(size for size in range(200, 1501) if 0.55 * size <= in_flight % size <= min(0.95 * size, 999))


def dropped(rate_gbps, metres, mtu, allowed, seed):
    """Packets dropped where links are paused again and again, with full frames on the way back of each pause.

    The receivers' links are so slow that next to nothing leaves the switch while a pause takes effect.
    Those who send on the way back are a little slower than the links, so that their frames meet pauses in
    every phase.
    """
    needed = headroom(rate_gbps * 10**9, metres * PS_PER_METRE, mtu)
    senders, back = ([f"{name}{i}" for i in range(SENDERS)] for name in "ab")
    slow_gbps = rate_gbps * 200 / needed
    rates = {**dict.fromkeys(senders, rate_gbps), **dict.fromkeys(back, 0.97 * rate_gbps), "c": slow_gbps}
    delay = f"{metres * PS_PER_METRE}ps"
    scenario = sh.Scenario(
        duration=f"{CYCLES * SENDERS * needed * 8 / slow_gbps / 1000:.0f}us",
        seed=seed,
        topology={
            "kind": "graph",
            "edges": [[host, "s", f"{rate:.6f}Gbps", delay] for host, rate in rates.items()],
            "hosts": list(rates),
        },
        network={
            "mtu": f"{mtu}B",
            "marking": "none",
            "pfc": {"threshold": f"{20 * mtu}B", "hysteresis": f"{2 * mtu}B", "headroom": f"{allowed}B"},
        },
        cc={"name": "fixed", "window": 4 * ACKS_EVERY + 4 * needed // mtu},
        # Each acknowledgement on the forward link takes the place of data that would need headroom.
        hosts={"acks_every": ACKS_EVERY, "ack_delay": "900us"},
        traffic=[
            {"kind": "long-lived", "from": senders, "to": ["c"]},
            {"kind": "long-lived", "from": back, "to": senders},
        ],
    )
    ports = sh.run(scenario).ports
    return int(ports["dropped"].sum())


@pytest.mark.parametrize("rate_gbps", [25, 100, 400, 800])
@pytest.mark.parametrize("metres", [5, 40, 300])
def test_nothing_is_dropped_with_the_headroom_and_something_with_a_kilobyte_less(rate_gbps, metres):
    mtu = frame(rate_gbps, metres)
    needed = headroom(rate_gbps * 10**9, metres * PS_PER_METRE, mtu)
    assert sum(dropped(rate_gbps, metres, mtu, needed, seed) for seed in (1, 2)) == 0
    assert sum(dropped(rate_gbps, metres, mtu, needed - KILOBYTE, seed) for seed in (1, 2)) > 0


def test_a_saved_scenario_keeps_the_headroom_of_each_link():
    """b never hears that it is paused, and fills the headroom of its own link, not the largest of any link.

    10 Gbps and 300 ns need 2 * 375 B + 3 * 1500 B + 64 B = 5314 B: three frames, behind the 13 below the
    threshold and the one that begins to leave at once, for the 1.2 ms that it takes at 10 Mbps. The link of a
    needs 54,564 B, or 36 frames.
    """
    edges = [["a", "s", "100Gbps", "2us"], ["b", "s", "10Gbps", "300ns"], ["c", "s", "10Mbps", "300ns"]]
    scenario = sh.Scenario(
        duration="1ms",
        topology={"kind": "graph", "edges": edges, "hosts": ["a", "b", "c"]},
        network={"pfc": {"threshold": "20KB"}},
        cc={"name": "fixed", "window": 200},
        traffic=[{"kind": "long-lived", "from": ["b"], "to": ["c"]}],
        faults=[{"link": "s->b", "kind": "down", "at": "0s"}],
    )
    run = sh.run(scenario)
    again = sh.run(run.scenario)
    assert [one.ports.dropped.sum() for one in (run, again)] == [200 - 1 - 13 - 3] * 2
    assert again.summary["fingerprint"] == run.summary["fingerprint"]

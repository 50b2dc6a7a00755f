"""Time and memory of a data-parallel training iteration over a ring of all hosts, and the cost of its tasks.

    python bench/training.py [HOSTS [BUCKETS [BUCKET [ROUNDS]]]]

Prints CPU seconds of the run, of the search for the critical path, and of the same messages with their start
times fixed and without dependencies and computations: the same packets at almost the same times, so the
difference is what tasks cost. Prints peak memory too, and the medians of the rounds. bench/README.md has the
numbers.
"""

import resource
import statistics
import sys
import time

import numpy as np

import shallows as sh
from shallows import _core
from shallows.worlds import packet


def scenario(hosts: int, buckets: int, bucket: str) -> sh.Scenario:
    """Racks of 32 hosts at 400 Gbps below as many spines as a rack has hosts."""
    per_leaf = min(32, hosts // 2)
    topology = {
        "kind": "leaf-spine",
        "leaves": hosts // per_leaf,
        "spines": per_leaf,
        "hosts_per_leaf": per_leaf,
    }
    rates = {"rate": "400Gbps", "spine_rate": "400Gbps", "link_delay": "500ns"}
    training = {
        "kind": "training",
        "name": "training",
        "layers": buckets,
        "gradients": bucket,
        "bucket": bucket,
    }
    return sh.Scenario(
        name="training",
        duration="until-done",
        topology=topology | rates,
        network={"mtu": "4096B", "header": "40B", "buffer": "unlimited"},
        cc="dcqcn",
        traffic=[training | {"forward": "1ms"}],
        record={"flows": 1},
    )


def peak_gb() -> float:
    """Peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def timed(what: str, work):
    """The result of `work` and its CPU seconds, which are printed."""
    begun = time.process_time()
    result = work()
    spent = time.process_time() - begun
    print(f"{what}: {spent:.2f} s of CPU, peak {peak_gb():.2f} GB", flush=True)
    return result, spent


def without_tasks(made: sh.Scenario, answer):
    """A request of the messages of a run, each at the time when it started, without their dependencies."""
    asked = packet.request(made)
    asked["flows"] |= {"start_ps": answer["flows"]["start_ps"], "after": None, "behind": None}
    none = {key: asked["computations"][key][:0] for key in ("host", "duration_ps", "start_ps", "processor")}
    asked["computations"] = none
    return asked


def measured(made: sh.Scenario, again) -> dict[str, float]:
    """CPU seconds of one round of all measurements; `again` makes the scenario anew."""
    seconds: dict[str, float] = {}
    run, seconds["run"] = timed("whole run, with drawing and results", lambda: sh.run(again()))
    path, seconds["path"] = timed("critical path", lambda: run.why(task="training"))
    print(path, path.by_cause())
    asked = packet.request(made)
    answer, seconds["tasks"] = timed("core, with tasks", lambda: _core.simulate(asked, None, 1))
    alone = without_tasks(made, answer)
    name = "core, the same messages without tasks"
    other, seconds["alone"] = timed(name, lambda: _core.simulate(alone, None, 1))
    hops = other["packet_hops"] / answer["packet_hops"]
    late = np.abs(other["flows"]["finish_ps"].astype(float) - answer["flows"]["finish_ps"]).max()
    print(f"without tasks: {hops:.4f} times the packet-hops; ends differ by up to {late / 1e6:.2f} us")
    return seconds


def main() -> None:
    hosts, buckets = (int(of) for of in [*sys.argv[1:3], 1024, 2][:2])
    bucket = sys.argv[3] if len(sys.argv) > 3 else "25MB"
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    made, _ = timed("tasks drawn", lambda: scenario(hosts, buckets, bucket))
    flows = made.flows
    print(f"{len(flows):,} messages, {len(flows.computations):,} computations, {len(flows.after):,} waits")
    each = [measured(made, lambda: scenario(hosts, buckets, bucket)) for _ in range(rounds)]
    seconds = {key: statistics.median(one[key] for one in each) for key in each[0]}
    print("medians:", {key: round(value, 2) for key, value in seconds.items()})
    print(f"critical path / run {seconds['path'] / seconds['run']:.2f}", end=", ")
    print(f"tasks cost {seconds['tasks'] / seconds['alone'] - 1:+.1%} of the core's time")


if __name__ == "__main__":
    main()

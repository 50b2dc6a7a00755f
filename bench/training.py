"""Time and memory of a data-parallel training iteration over a ring of all hosts, and the cost of its tasks.

    python bench/training.py [HOSTS [BUCKETS [BUCKET]]]

Prints CPU seconds of the run, of the same messages with their start times fixed and without dependencies and
computations (the same packets at the same times, so the difference is what tasks cost), and of the search for
the critical path; packet-hops, and peak memory. bench/README.md has the numbers.
"""

import resource
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
    """The result of `work`, after its CPU seconds are printed."""
    begun = time.process_time()
    result = work()
    spent = time.process_time() - begun
    print(f"{what}: {spent:.2f} s of CPU, peak {peak_gb():.2f} GB", flush=True)
    return result, spent


def main() -> None:
    hosts, buckets = (int(of) for of in [*sys.argv[1:3], 1024, 2][:2])
    made = scenario(hosts, buckets, sys.argv[3] if len(sys.argv) > 3 else "25MB")
    flows, _ = timed("tasks drawn", lambda: made.flows)
    print(f"{len(flows):,} messages, {len(flows.computations):,} computations, {len(flows.after):,} waits")
    run, _ = timed("whole run", lambda: sh.run(made))
    row = run.summary["tasks"][0]
    print({key: value for key, value in row.items() if key != "steps"})
    print(f"{run.summary['packet_hops']:,} packet-hops in {run.summary['wall_s']:.1f} s")
    asked = packet.request(made)
    answer, with_tasks = timed("core, with tasks", lambda: _core.simulate(asked, None, 1))
    alone = packet.request(made)
    alone["flows"] |= {"start_ps": answer["flows"]["start_ps"], "after": None, "behind": None}
    none = {key: alone["computations"][key][:0] for key in ("host", "duration_ps", "start_ps", "processor")}
    alone["computations"] = none
    again, without = timed("core, the same messages without tasks", lambda: _core.simulate(alone, None, 1))
    same = np.array_equal(again["flows"]["finish_ps"], answer["flows"]["finish_ps"])
    print(f"tasks cost {with_tasks / without - 1:+.1%}; the same times: {same}")
    path, _ = timed("critical path", lambda: run.why(task="training"))
    print(path, path.by_cause())


if __name__ == "__main__":
    main()

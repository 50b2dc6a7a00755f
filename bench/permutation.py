"""A permutation of 1,024 hosts with 8 MB each over leaves and spines without oversubscription, by NSCC.

    python bench/permutation.py [SPINES ...] [--slow] [--balancing KIND] [--seed N] [--size BYTES]

For each number of spines: the mean over flows of the share of the link that a flow got (its bytes on the wire
over its completion time less a round trip), and the mean and the last completion in us. With `--slow` the
cable between leaf0 and spine0 has half its rate. Without numbers: 4, 16 and 64 spines.
"""

import argparse
import random

import shallows as sh

HOSTS, GBPS = 1024, 400
FRAME, HEADER, ANSWER = 4160, 64, 64
LINK_US, LINKS = 1.0, 4


def permutation(seed):
    """A receiver for each host, none itself."""
    draw = random.Random(seed)
    while True:
        receivers = draw.sample(range(HOSTS), HOSTS)
        if all(host != receiver for host, receiver in enumerate(receivers)):
            return receivers


def scenario(spines, size, *, slow, balancing, seed):
    """As many hosts at a leaf as it has uplinks, all of one rate."""
    cables = [{"link": "leaf0<->spine0", "kind": "rate", "value": f"{GBPS // 2}Gbps"}]
    return sh.Scenario(
        seed=seed,
        duration="until-done",
        topology={
            "kind": "leaf-spine",
            "leaves": HOSTS // spines,
            "spines": spines,
            "hosts_per_leaf": spines,
            "rate": f"{GBPS}Gbps",
            "link_delay": f"{LINK_US}us",
        },
        network={"mtu": f"{FRAME}B", "header": f"{HEADER}B", "balancing": balancing},
        cc="nscc",
        traffic=[
            {
                "kind": "trace",
                "flows": [[0.0, f"h{n}", f"h{to}", size] for n, to in enumerate(permutation(seed))],
            }
        ],
        faults=cables if slow else [],
    )


def row(spines, options):
    """The numbers of one run, as a row of a table."""
    made = scenario(spines, options.size, slow=options.slow, balancing=options.balancing, seed=options.seed)
    run = sh.run(made, progress=False)
    one_way_us = LINKS * (LINK_US + FRAME * 8 / (GBPS * 1000))
    wire_bits = 8 * (options.size + HEADER * -(-options.size // (FRAME - HEADER)))
    times_us = run.flows.fct_us
    share = (wire_bits / (GBPS * 1000) / (times_us - one_way_us)).mean()
    network = run.summary["network"]
    return (
        f"| {spines} | {share:.3f} | {times_us.mean():.1f} | {times_us.max():.1f} | {network['trimmed']} "
        f"| {network['dropped']} | {run.summary['flows']['timeouts']} |"
    )


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(prog="permutation", description=__doc__.partition("\n")[0])
    parser.add_argument("spines", type=int, nargs="*", default=[4, 16, 64])
    parser.add_argument("--slow", action="store_true", help="half the rate between leaf0 and spine0")
    parser.add_argument("--balancing", default="reps", help="how paths are chosen")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=8_000_000, help="bytes of each flow")
    options = parser.parse_args()
    print("| spines | share of the link | mean (us) | last (us) | trimmed | dropped | timeouts |")
    print("|---|---|---|---|---|---|---|")
    for spines in options.spines:
        print(row(spines, options), flush=True)


if __name__ == "__main__":
    main()

"""Collectives of a few bytes, and long computations: every message has a byte, or the key is named."""

import itertools

import pytest

import shallows as sh
from shallows.errors import ScenarioError

KINDS = [
    {"kind": "all-to-all"},
    {"kind": "all-to-all", "order": "pairwise"},
    {"kind": "all-gather"},
    {"kind": "all-gather", "algorithm": "doubling"},
    {"kind": "reduce-scatter"},
    {"kind": "all-reduce"},
    {"kind": "all-reduce", "algorithm": "tree"},
    {"kind": "all-reduce", "algorithm": "halving-doubling"},
    {"kind": "broadcast"},
]


def scenario(*tables):
    return sh.Scenario(
        duration="until-done",
        topology={"kind": "star", "hosts": 4},
        cc="dctcp",
        traffic=[{key: value for key, value in table.items() if value is not None} for table in tables],
    )


def flows_or_error(*tables):
    try:
        return scenario(*tables).flows
    except ScenarioError as error:
        return str(error)


@pytest.mark.parametrize("table", KINDS, ids=lambda table: " ".join(table.values()))
def test_no_message_of_a_collective_is_empty(table):
    """An empty message would stand for one without an end."""
    for size, channels in itertools.product((1, 2, 3, 4, 7, 8, 11, 12, 13), (1, 2, 3)):
        found = flows_or_error({**table, "size": f"{size}B", "channels": channels})
        if isinstance(found, str):
            # 4 ranks exchange 12 parts at most, in each channel: with a byte for all nothing is refused.
            assert "at least a byte" in found
            assert "traffic[0].size" in found
            assert size < 12 * channels
        else:
            assert len(found)
            assert found.bytes.all()


TRAINING = {"kind": "training", "layers": 1, "forward": "1us", "gradients": "1KB"}


@pytest.mark.parametrize("algorithm", ["ring", "tree", "halving-doubling"])
@pytest.mark.parametrize("gradients", [4, 5, 8, 975, 976, 977, 978, 979, 1948, 1950])
def test_a_small_last_bucket_is_padded_to_a_byte_a_rank(algorithm, gradients):
    table = TRAINING | {"gradients": f"{gradients}B", "bucket": "974B", "algorithm": algorithm}
    flows = scenario(table).flows
    assert flows.bytes.all()
    # Beyond the buckets: at most a byte for each rank, in each of the 2 (4 - 1) steps of a ring.
    assert 6 * gradients <= flows.bytes.sum() <= 6 * (gradients + 4) if algorithm == "ring" else True


def test_a_computation_of_the_limit_itself_is_lawful():
    assert scenario(TRAINING | {"forward": "500000s"}).flows.computations.duration_ps.max() == 10**18

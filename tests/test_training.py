"""Training iterations against closed forms: overlap, pipelines, tensor and expert parallelism, stragglers."""

import pytest

import shallows as sh

MTU, HEADER, GBPS, RTT_US = 4096, 40, 400, 4.0


def run(of=8, threads=1, **keys):
    return sh.run(
        sh.Scenario(
            duration="until-done",
            topology={"kind": "star", "hosts": of, "rate": f"{GBPS}Gbps", "rtt": f"{RTT_US}us"},
            network={"mtu": f"{MTU}B", "header": f"{HEADER}B", "buffer": "unlimited"},
            cc="dcqcn",
            traffic=[{"kind": "training", **keys}],
        ),
        threads=threads,
    )


def row(**keys):
    return run(**keys).summary["tasks"][0]


def message_us(size):
    """A message over two links of equal rate: its frames, the first again on the second link, half an RTT."""
    payload = MTU - HEADER
    frames = -(-size // payload)
    return (size + frames * HEADER + min(size, payload) + HEADER) * 8e-3 / GBPS + RTT_US / 2


def ring_us(size, n=8):
    return 2 * (n - 1) * message_us(size // n)


DATA = {"layers": 4, "gradients": "8MB", "bucket": "8MB"}


def test_without_overlap_the_times_add_up():
    """Forward 4 ms, backward 8 ms, then four rings of 8 MB."""
    found = row(**DATA, forward="1ms", overlap=False)
    expected = 12_000 + 4 * ring_us(8_000_000)
    assert found["completion_us"] == pytest.approx(expected, rel=0.002)
    assert found["computation_us"] == 12_000
    assert found["exposed_us"] == pytest.approx(4 * ring_us(8_000_000), rel=0.01)
    assert found["ideal_us"] == pytest.approx(expected, rel=0.002)


def test_with_full_overlap_only_the_last_bucket_is_exposed():
    """A bucket takes about 313 us, a layer backward 2 ms."""
    found = row(**DATA, forward="1ms")
    assert found["exposed_us"] == pytest.approx(ring_us(8_000_000), rel=0.01)
    assert found["completion_us"] == pytest.approx(12_000 + ring_us(8_000_000), rel=0.001)
    names = [step["step"] for step in found["steps"]]
    assert names == ["forward 0", "backward 0", "bucket 0", "bucket 1", "bucket 2", "bucket 3"]
    begins = [step["begin_us"] for step in found["steps"][2:]]
    assert begins == pytest.approx([6000, 8000, 10_000, 12_000])


def test_where_communication_takes_longer_it_is_the_iteration():
    """Forward 40 us and the first layer backward 20 us, then rings without a gap."""
    found = row(**DATA, forward="10us")
    assert found["completion_us"] == pytest.approx(60 + 4 * ring_us(8_000_000), rel=0.01)


def test_a_bucket_waits_for_all_its_layers():
    """Two layers a bucket of 16 MB: ready after two and four layers backward."""
    found = row(layers=4, gradients="8MB", bucket="16MB", forward="1ms")
    begins = {step["step"]: step["begin_us"] for step in found["steps"]}
    assert (begins["bucket 0"], begins["bucket 1"]) == pytest.approx((8000, 12_000))
    assert "bucket 2" not in begins


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe"])
@pytest.mark.parametrize(("stages", "micro"), [(2, 1), (4, 8), (8, 3)])
def test_a_pipeline_takes_m_and_p_less_one_slots(stages, micro, schedule):
    """(m + p - 1) times forward and backward of a stage, and 2 (p - 1) short messages."""
    found = row(
        of=stages,
        pp=stages,
        micro_batches=micro,
        layers=8,
        forward="100us",
        activations="1KB",
        schedule=schedule,
    )
    expected = (micro + stages - 1) * 300 * 8 // stages
    assert found["computation_us"] == pytest.approx(expected)
    assert found["completion_us"] == pytest.approx(expected + 2 * (stages - 1) * message_us(1000), rel=0.02)
    assert found["exposed_us"] > 0


def test_activations_of_many_micro_batches_cost_at_least_the_pipeline_latency():
    """Messages of 50 us between two stages of 100 us: at least one there and one back are exposed."""
    found = row(of=2, pp=2, micro_batches=4, layers=2, forward="100us", activations="2.5MB")
    assert found["exposed_us"] > 2 * 50


def test_tensor_parallelism_reduces_twice_a_layer_and_pass():
    """Four layers, forward and backward, with two rings of four ranks each: 16 rings, none overlapped."""
    found = row(of=4, tp=4, dp=1, layers=4, forward="100us", activations="4MB")
    expected = 16 * ring_us(4_000_000, 4)
    assert found["computation_us"] == 4 * 300
    assert found["exposed_us"] == pytest.approx(expected, rel=0.01)


def test_experts_exchange_twice_a_layer_and_pass():
    """16 all-to-alls, in which each of four ranks sends three quarters of 4 MB."""
    found = row(of=4, ep=4, layers=4, forward="100us", dispatch="4MB", gradients="4KB", bucket="1MB")
    assert found["exposed_us"] == pytest.approx(16 * (3_000_000 * 8e-3 / GBPS), rel=0.15)
    skewed = row(
        of=4, ep=4, layers=4, forward="100us", dispatch="4MB", gradients="4KB", bucket="1MB", gini=0.3
    )
    assert skewed["exposed_us"] > 1.2 * found["exposed_us"]


def test_a_slow_rank_delays_all():
    found = row(**DATA, forward="1ms", spread=0.5)
    assert 1.02 < found["slowest_ratio"] < 1.5
    assert found["completion_us"] == pytest.approx(found["computation_us"] + ring_us(8_000_000), rel=0.01)
    assert 12_000 < found["computation_us"] < 18_000


def test_the_path_of_an_iteration_adds_up():
    one = run(**DATA, forward="1ms")
    path = one.why(task="training")
    assert sum(piece.length_ps for piece in path.pieces) == path.fct_ps
    assert path.by_cause()["computation"] == 12_000 * 10**6
    assert [message.until for message in path.messages[:8]] == ["computed"] * 8


def test_any_number_of_threads_gives_the_same():
    keys = {"pp": 2, "tp": 2, "micro_batches": 2, "layers": 4, "forward": "10us", "activations": "50KB"}
    made = [run(of=8, threads=threads, gradients="1MB", bucket="500KB", **keys) for threads in (1, 2, 3)]
    assert len({one.summary["fingerprint"] for one in made}) == 1

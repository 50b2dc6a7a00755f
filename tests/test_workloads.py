"""Flow-size distributions: the bundled ones say what their source says, broken ones are refused."""

import numpy as np
import pytest

from shallows.traffic import workloads

QUANTILES = (np.arange(200_000) + 0.5) / 200_000

# Mean, and share of flows up to 10 KB, 100 KB and 1 MB, worked out from the published points.
PUBLISHED = {
    "websearch_hpcc_bytes": (1_711_250, 0.150, 0.542, 0.700),
    "websearch_ns2_packets1460": (1_665_831, 0.156, 0.544, 0.703),
    "websearch_xpass": (1_710_004, 0.155, 0.543, 0.700),
    "datamining_ns2_packets1460": (7_470_236, 0.796, 0.824, 0.911),
    "datamining_xpass": (7_487_884, 0.800, 0.822, 0.912),
    "datamining_vl2_bytes": (12_658_199, 0.800, 0.823, 0.911),
    "datamining_abm_bytes": (5_036_535, 0.800, 0.874, 0.921),
    "cachefollower_xpass": (712_574, 0.480, 0.520, 0.700),
    "cachefollower_homa_bytes": (686_866, 0.478, 0.533, 0.718),
    "webserver_xpass": (66_121, 0.631, 0.809, 1),
    "webserver_homa_bytes": (62_229, 0.652, 0.815, 1),
    "hadoop_hpcc_bytes": (120_421, 0.703, 0.885, 0.975),
    "hadoop_homa_bytes": (121_849, 0.710, 0.887, 0.973),
    "hadoop_abm_bytes": (3_423_728, 0.025, 0.660, 0.960),
    "fb_keyvalue_bytes": (342, 0.995, 1, 1),
}


def test_every_bundled_distribution_is_checked_here():
    assert set(workloads.names()) == PUBLISHED.keys() | workloads.ALIASES.keys()


@pytest.mark.parametrize("name", PUBLISHED)
def test_bundled_distributions_have_their_published_moments(name):
    sizes = workloads.bundled(name)
    mean, *shares = PUBLISHED[name]
    assert sizes.mean == pytest.approx(mean, abs=0.5)
    assert sizes.cdf(np.array([1e4, 1e5, 1e6])) == pytest.approx(shares, abs=6e-4)


@pytest.mark.parametrize("name", ["websearch", "websearch_ns2_packets1460", "hadoop"])
def test_samples_have_the_stated_mean_size_and_packets(name):
    sizes = workloads.bundled(name)
    drawn = sizes.sample(QUANTILES)
    assert drawn.mean() == pytest.approx(sizes.mean, rel=1e-3)
    assert np.ceil(drawn / 1460).mean() == pytest.approx(sizes.frames(1460), rel=1e-3)


def test_a_point_mass_is_sampled_as_often_as_it_says():
    drawn = workloads.bundled("websearch_ns2_packets1460").sample(QUANTILES)
    assert np.mean(drawn == 6 * 1460) == pytest.approx(0.15, abs=1e-4)


def test_below_is_the_distribution_of_what_is_left():
    # Means of the pieces of websearch up to 100 KB: 17500 B in all, over the 0.541667 of flows that remain.
    sizes = workloads.bundled("websearch").below(100_000)
    assert sizes.mean == pytest.approx(17_500 / 0.5416667, rel=1e-4)
    assert sizes.sample(QUANTILES).max() < 100_000
    with pytest.raises(ValueError, match="a size above 8760B"):
        workloads.bundled("websearch_ns2_packets1460").below(8760)


def test_fixed_sizes_count_whole_packets():
    assert workloads.fixed(1460).frames(1460) == 1
    assert workloads.fixed(1461).frames(1460) == 2
    assert workloads.fixed(10**12).frames(1) == 10**12
    assert set(workloads.fixed(20_000).sample(QUANTILES).tolist()) == {20_000}


def test_a_wrong_name_lists_the_names():
    with pytest.raises(ValueError, match=r'one of websearch, .*did you mean "websearch"'):
        workloads.bundled("websearhc")

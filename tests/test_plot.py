"""Figures: what is drawn comes from the tables, and every axis says its unit."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import fake_packet_run as fake
from shallows import plot
from shallows.errors import ScenarioError
from shallows.plot.kinds import _edges as edges_of


@pytest.fixture
def ax():
    return Figure().add_subplot()


def points(line):
    return np.column_stack(line.get_data()).tolist()


def test_queue_over_time_draws_the_samples_of_the_bottleneck(ax):
    assert plot.queue_over_time(ax, fake.run())
    assert points(ax.lines[0]) == [[0, 0], [0.1, 2], [0.2, 4], [0.3, 1]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time (ms)", "queue (packets)")


def test_the_warm_up_is_shaded_from_the_start_on(ax):
    """The first 100 us, as long as the run says; both axes begin at 0."""
    plot.queue_over_time(ax, fake.run())
    (shade,) = ax.patches
    assert shade.get_extents().transformed(ax.transData.inverted()).intervalx.tolist() == pytest.approx(
        [0, 0.1]
    )
    assert (ax.get_xlim()[0], ax.get_ylim()[0]) == (0, 0)


def test_the_last_samples_of_a_queue_are_drawn_from_0_on(ax):
    assert plot.queue_close_up(ax, fake.run())
    assert points(ax.lines[0]) == [[0, 0], [0.1, 2], [0.2, 4], [0.3, 1]]
    assert ax.get_ylim()[0] == 0


def test_queue_cdf_is_the_histogram_summed_up(ax):
    # 50 us in [0, 1) packets, 150 us in [2, 3)
    assert plot.queue_cdf(ax, fake.run())
    assert points(ax.lines[0]) == [[0, 0], [1, 0.25], [2, 0.25], [3, 1]]


def test_a_run_draws_itself_on_new_axes_or_those_given(ax):
    run = fake.run()
    assert run.plot.queue_over_time(ax) is ax
    assert points(run.plot.queue_over_time().lines[0]) == points(ax.lines[0])


def test_windows_of_few_flows_are_drawn_one_by_one(ax):
    assert plot.windows_over_time(ax, fake.run())
    assert [line.get_label() for line in ax.lines] == ["flow 0", "flow 1"]
    assert points(ax.lines[1]) == [[0.02, 12]]


def test_a_run_without_windows_is_compared_by_rates(ax):
    with_both = fake.run(probe_names=["window_pkt", "rate_gbps"])
    assert plot.windows_over_time(ax, [with_both, fake.run(probe_names=["alpha", "rate_gbps"])])
    assert ax.get_ylabel() == "rate (Gbit/s)"
    assert points(ax.lines[0]) == points(ax.lines[1])


def test_flows_of_several_algorithms_are_called_by_them(ax):
    probes = fake.answer()["probes"] | {"flow": fake.column([0, 0, 4], np.uint32)}
    assert plot.windows_over_time(ax, fake.run(probes=probes))
    assert [line.get_label() for line in ax.lines] == ["flow 0, dctcp", "flow 4, dx"]


def test_slowdown_by_size_shows_median_and_99th_percentile(ax):
    # slowdown 2 and 4 at 9 KB, 1.25 and 2 at 90 KB
    flows = fake.flows()
    flows.bytes[1] = 9_000
    flows.start_ps[:4] = 100 * fake.US
    finish = fake.column([120, 140, 200, 260, 0, 0, 0]) * fake.US
    finish[4:] = fake.NEVER
    ideal = fake.column([10, 10, 80, 80, 0, 0, 0]) * fake.US
    answer = fake.answer(flows__start_ps=flows.start_ps, flows__finish_ps=finish, flows__ideal_ps=ideal)
    run = fake.made(fake.scenario(), fake.network(), flows, answer, 1.0)
    assert plot.slowdown_by_size(ax, run)
    median, high = ax.lines
    assert points(median) == [[9, pytest.approx(3)], [90, pytest.approx(1.625)]]
    assert points(high) == [[9, pytest.approx(3.98)], [90, pytest.approx(1.9925)]]


def test_goodput_of_several_algorithms_is_told_apart(ax):
    flows = fake.flows()
    flows.cc[6] = 0
    run = fake.made(fake.scenario(), fake.network(), flows, fake.answer(), 1.0)
    assert plot.goodput_by_flow(ax, run)
    assert {line.get_label(): points(line) for line in ax.lines} == {
        "dctcp": [[3, pytest.approx(3)]],
        "dx": [[1, pytest.approx(1)], [2, pytest.approx(2)]],
    }


def test_goodput_of_flows_without_an_end_is_sorted(ax):
    assert plot.goodput_by_flow(
        ax, fake.run(flows__goodput_bytes=fake.column([0] * 4 + [75_000, 25_000, 50_000]))
    )
    assert points(ax.lines[0]) == [[1, 1], [2, 2], [3, 3]]


def test_dense_samples_become_their_mean_and_range(ax):
    # 4800 samples in 240 bins of 20: every bin has ten 0s and ten 3000 B (2 packets)
    dense = {
        "time_ps": np.arange(4800, dtype=np.uint64),
        "bytes": np.tile([0, 3000], 2400)[None].astype(np.uint32),
    }
    plot.queue_over_time(ax, fake.run(queues=dense))
    line = ax.lines[0]
    assert len(line.get_xdata()) == plot.style.TIME_BINS
    np.testing.assert_allclose(line.get_ydata(), 1)
    low, high = np.percentile(ax.collections[0].get_paths()[0].vertices[:, 1], [0, 100])
    assert (low, high) == (0, 2)


def test_a_figure_leaves_out_what_was_not_recorded():
    nothing = {"time_ps": fake.column([]), "bytes": np.zeros((0, 0), np.uint32)}
    drawn = plot.figure(fake.run(queues=nothing))
    titles = [ax.get_title(loc="left") for ax in drawn.axes]
    assert titles[0] == "(a) Distribution of the queue at s0->h1"
    assert len(titles) == 4


def test_a_figure_has_the_first_four_panels_in_two_rows():
    run = fake.run()
    known = plot.panels(run)
    assert len(known) > 4
    drawn = plot.figure(run)
    wanted = [plot.single(panel, run).axes[0].get_ylabel() for panel in known[:4]]
    assert [ax.get_ylabel() for ax in drawn.axes] == wanted
    assert [ax.get_title(loc="left")[:3] for ax in drawn.axes] == ["(a)", "(b)", "(c)", "(d)"]
    assert {ax.get_gridspec().get_geometry() for ax in drawn.axes} == {(2, 2)}


def test_the_small_print_of_a_figure_says_how_to_get_it_again():
    drawn = plot.figure([fake.run(), fake.run(fingerprint="00000000000000cd")], labels=["one", "two"])
    small = drawn._supxlabel.get_text()
    for part in ("by-hand", "seed 7", "shallows ", "one 00000000000000ab", "two 00000000000000cd"):
        assert part in small
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["one", "two"]


def test_a_run_without_a_fingerprint_has_none_in_the_small_print():
    drawn = plot.figure([fake.run(fingerprint=None), fake.run()], labels=["one", "two"])
    assert drawn.get_supxlabel().endswith("·  one, two 00000000000000ab")


def test_runs_differ_by_more_than_colour(ax):
    plot.queue_cdf(ax, [fake.run()] * 6, labels=list("abcdef"))
    assert len({(line.get_color(), str(line._unscaled_dash_pattern)) for line in ax.lines}) == 6
    assert len({str(line._unscaled_dash_pattern) for line in ax.lines}) == 6


@pytest.mark.parametrize("many", [4, 400])
def test_no_bin_of_sizes_holds_two_of_few_sizes_or_of_the_classes(many):
    """Few sizes have a point each; of many, none shares a bin with those of another size class."""
    two = edges_of(np.repeat([256_000.0, 4_000_000.0], [32, many]))
    assert two.tolist() == [4_000_000.0]
    spread = np.concatenate([np.linspace(1_000, 9_999, 150), np.linspace(1_100_000, 4_000_000, many)])
    edges = edges_of(spread)
    which = np.searchsorted(edges, spread, side="right")
    assert len(set(which[:150]) & set(which[150:])) == 0


def test_a_name_that_no_run_has_is_refused():
    with pytest.raises(ScenarioError, match='names = "hpcc": expected one of dctcp, dx'):
        plot.figure([fake.run(), fake.run()], ["dctcp", "dx"], names={"hpcc": "HPCC"})

"""Figures as they are saved: fonts that journals take, texts within the page, ticks apart, stored images.

`python tests/test_figures.py` writes tests/images anew, to be looked at.
"""

import functools
import random
import re
from itertools import combinations, pairwise, product
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.legend import Legend
from matplotlib.testing.compare import compare_images
from matplotlib.text import Text

import shallows as sh
from figure_kinds import KINDS, compared, joining, network, sawtooth, swept, two_keys
from shallows import cli, plot
from shallows.errors import ScenarioError
from shallows.plot import style
from shallows.results import files
from shallows.results.metrics import RUN_KEYS as NUMBERS
from shallows.sweeps.result import Sweep

IMAGES = Path(__file__).with_name("images")
ONE_COLUMN_IN, TWO_COLUMNS_IN = 3.33, 7.0
TOLERANCE = 3.0  # root mean square of 255 levels; an axis or a line that moves makes 10 and more


@pytest.mark.parametrize("kind", KINDS)
def test_a_pdf_has_fonts_of_type_42_only(kind, tmp_path):
    """Also where a user saves the figure, and where a function of ours does."""
    figure = KINDS[kind](TWO_COLUMNS_IN)
    figure.savefig(tmp_path / "mine.pdf")
    files.save_figure(figure, tmp_path / "ours.pdf", "pdf")
    for name in ("mine.pdf", "ours.pdf"):
        kinds = set(re.findall(rb"/Subtype /(Type\d+|CIDFontType\d)", (tmp_path / name).read_bytes()))
        assert kinds == {b"Type0", b"CIDFontType2"}, kinds


@pytest.mark.parametrize(
    "words",
    [
        ["margin", "dcqcn", "--flows", "10"],
        ["trajectory", "dctcp", "--duration", "1ms"],
        ["map", "dctcp", "--over", "flows=2:4"],
    ],
    ids=lambda words: words[0],
)
def test_a_pdf_of_a_command_has_fonts_of_type_42_only(words, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli.app, ["fluid", *words, "--plot", "a.pdf"])
    assert done.exit_code == 0, done.output
    assert b"/Type3" not in (tmp_path / "a.pdf").read_bytes()
    assert b"/CIDFontType2" in (tmp_path / "a.pdf").read_bytes()


def outside(ax):
    """Labels of ticks beyond the limits of the axes, which are there and not drawn."""
    for axis, place in ((ax.xaxis, 0), (ax.yaxis, 1)):
        low, high = sorted(axis.get_view_interval())
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
            if not low <= tick.label1.get_position()[place] <= high:
                yield from (tick.label1, tick.label2)


def texts(figure):
    """(text, its box in inches) of every text that is drawn."""
    canvas = FigureCanvasAgg(figure)
    with figure.styled():
        canvas.draw()
    renderer = canvas.get_renderer()
    hidden = {label for ax in figure.axes for label in outside(ax)}
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip() and text not in hidden:
            box = text.get_window_extent(renderer)
            yield text, [side / figure.dpi for side in (box.x0, box.y0, box.x1, box.y1)]


@pytest.mark.parametrize("width", [ONE_COLUMN_IN, TWO_COLUMNS_IN])
@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_within_the_page_and_ticks_apart(kind, width):
    figure = KINDS[kind](width)
    assert figure.get_figwidth() == width
    page = [*figure.get_size_inches()]
    boxes = dict(texts(figure))
    assert len(boxes) > 5
    for text, (left, low, right, high) in boxes.items():
        assert "$" not in text.get_text()
        assert left > -0.02, text.get_text()
        assert low > -0.02, text.get_text()
        assert right < page[0] + 0.02, text.get_text()
        assert high < page[1] + 0.02, text.get_text()
    for legend in figure.findobj(Legend):  # with the lines beside its texts
        box = legend.get_window_extent()
        assert box.x0 / figure.dpi > -0.02
        assert box.x1 / figure.dpi < page[0] + 0.02
    for ax in figure.axes:
        ticks = sorted((boxes[text], text.get_text()) for text in ax.get_xticklabels() if text in boxes)
        for (one, name), (other, neighbour) in pairwise(ticks):
            assert one[2] < other[0], f"{name} touches {neighbour}"


@pytest.mark.parametrize(
    ("values", "shown", "scale"),
    [
        ([0.125, 0.5, 1, 4, 8], ["0.125", "0.5", "1", "4", "8"], "log"),
        (["90pkt", "120pkt", "150pkt"], ["90", "120", "150"], "linear"),
        ([round(0.05 * i, 2) for i in range(1, 19)], None, "linear"),
        ([2**i for i in range(16)], None, "log"),
    ],
)
@pytest.mark.parametrize("width", [ONE_COLUMN_IN, TWO_COLUMNS_IN])
def test_ticks_are_as_typed_and_apart(values, shown, scale, width):
    figure = swept(values).figure(x="at", y="queue_mean_pkt", size=(width, 2.2))
    (ax,) = figure.axes
    assert ax.get_xscale() == scale
    boxes = [(text.get_text(), box) for text, box in texts(figure) if text in ax.get_xticklabels()]
    assert {text for text, _ in boxes} <= {str(value).removesuffix("pkt") for value in values}
    assert [text for text, _ in boxes] == (shown or [text for text, _ in boxes])
    assert len(boxes) >= 3
    for (one, left), (other, right) in pairwise(boxes):
        assert left[2] + 0.02 < right[0], f"{one} touches {other}"


def test_series_have_the_names_of_the_paper_and_a_legend_in_rows():
    names = {"dctcp": "Data Center TCP", "dx": "DX with measured delays", "reno": "NewReno", "cubic": "CUBIC"}
    result = swept([1, 2, 3], ccs=tuple(names))
    figure = result.figure(x="at", y="queue_mean_pkt", size=(3.33, 2.2), names=names, caption=False)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(names.values())
    boxes = [box for text, box in texts(figure) if text in legend.get_texts()]
    assert min(box[0] for box in boxes) > 0
    assert max(box[2] for box in boxes) < 3.33
    assert len({round(box[1], 2) for box in boxes}) > 1, "one row"
    assert not figure.get_supxlabel()


def test_dashes_and_markers_tell_runs_apart_in_every_panel():
    """So the legend above the panels is true of each of them."""
    figure = compared().figure()
    (legend,) = figure.legends
    keys = {line.get_color(): (line.get_linestyle(), line.get_marker()) for line in legend.get_lines()}
    assert len(keys) == 3
    for ax in figure.axes:
        named = [line for line in ax.lines if line.get_gid() in compared().runs]
        for line in named:
            dash, marker = keys[line.get_color()]
            assert line.get_linestyle() in (dash, "None"), ax.get_title(loc="left")
            assert line.get_marker() == marker, ax.get_title(loc="left")


@pytest.mark.parametrize("width", [ONE_COLUMN_IN, TWO_COLUMNS_IN])
def test_labels_of_settings_close_to_each_other_do_not_overlap(width):
    figure = KINDS["advice"](width)
    (ax,) = figure.axes
    boxes = [(text.get_text(), box) for text, box in texts(figure) if text in ax.texts]
    assert len(boxes) == 7
    for (one, (left, low, right, high)), (other, box) in combinations(boxes, 2):
        apart = right <= box[0] or box[2] <= left or high <= box[1] or box[3] <= low
        assert apart, f"{one} covers {other}"


def test_flows_that_join_one_after_another_have_lines_in_a_panel_of_each_algorithm():
    """They were averaged, so that nobody saw who joins. Starts are 0, 10, 20 and 30 ms."""
    panels = joining().figure().axes
    titles = [ax.get_title(loc="left") for ax in panels]
    assert [title.partition(" ")[2] for title in titles[2:]] == [
        "Windows of the flows of dctcp: mean, range",
        "Windows of the flows of dx: mean, range",
    ]
    for ax in panels[2:]:
        begin_ms = sorted(line.get_xdata()[0] for line in ax.lines)
        assert begin_ms == pytest.approx([0, 10, 20, 30], abs=0.5)
    together = compared().figure().axes
    assert not any("flows of" in ax.get_title(loc="left") for ax in together), "all start at once"


def test_a_cycle_that_bins_hide_gets_a_panel():
    """A sawtooth of 40 samples in 20,000, two to a bin: eight of them are shown, each sample drawn."""
    figure = plot.figure([sawtooth()])
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles[1] == "(b) Queue at s0->h1, last 0.32 ms"
    (line,) = figure.axes[1].lines
    assert len(line.get_xdata()) == 8 * 40
    assert np.ptp(line.get_ydata()) == pytest.approx(0.5 * 39)


@pytest.mark.parametrize("noise", [0, 3])
def test_the_cycle_of_a_queue_is_found(noise):
    run = sawtooth(noise=noise)
    columns = run.columns("queues")
    assert style.hidden_cycle(columns["queue_pkt"]) == pytest.approx(40, abs=2)


def test_noise_and_cycles_that_can_be_seen_have_no_panel_of_their_own():
    dice = np.random.default_rng(2)
    times = np.arange(20_000.0)
    assert style.hidden_cycle(dice.normal(50, 5, 20_000)) is None
    assert style.hidden_cycle(np.sin(times / 2000)) is None
    assert style.hidden_cycle(np.full(20_000, 3.0)) is None
    assert style.hidden_cycle(np.arange(100.0) % 10) is None


def test_the_marking_threshold_is_drawn():
    run = sh.run(
        "dctcp-40", overrides={"duration": "2ms", "warmup": "0s", "network.marking.threshold": "20pkt"}
    )
    ax = run.plot.queue_over_time()
    assert [line.get_ydata()[0] for line in ax.lines if len(set(line.get_ydata())) == 1][-1] == 20
    assert "marking\n20" in [text.get_text() for text in ax.texts]


def test_a_window_of_time_is_drawn_alone():
    run = compared().runs["dctcp"]
    ax = plot.figure([run], since="500us", until="1ms").axes[0]
    assert ax.get_xlim() == (0.5, 1.0)
    shown = ax.lines[0].get_xdata()
    times = run.columns("queues")["time_us"] / 1e3
    assert list(shown) == list(times[(times >= 0.5) & (times <= 1.0)])
    with pytest.raises(ScenarioError, match=r"until = \"100us\": expected a time after 1ms"):
        plot.figure([run], since="1ms", until="100us")
    with pytest.raises(ScenarioError, match="a window of time with samples"):
        plot.figure([run], since="1000001ns", until="1000002ns")
    with pytest.raises(ScenarioError, match="since"):
        plot.figure([run], since="soon")


@pytest.mark.parametrize("size", ["wide", 0, -1.0, (3, 2, 1), ("3", 2)])
def test_a_size_that_is_none_is_refused(size):
    with pytest.raises(ScenarioError, match=r"a width in inches such as 3\.33"):
        compared().figure(size=size)


def test_no_label_of_a_page_shows_the_commands_of_a_formatter():
    """Logarithmic axes wrote `$\\mathdefault{10^{5}}$`, because names in figures are no formulas."""
    from shallows.settings import explain, figure

    explained = figure.page(explain.explain(sh.Scenario.load("roce-fabric")))
    assert "mathdefault" not in explained


STORED = {
    **{f"{kind}-narrow": functools.partial(make, ONE_COLUMN_IN) for kind, make in KINDS.items()},
    "cycles": lambda: plot.figure([sawtooth()]),
    "sweep": lambda: swept([1, 2, 4, 8, 16]).figure(x="at", y="queue_mean_pkt"),
    "ticks-narrow": lambda: swept([0.125, 0.5, 1, 4, 8]).figure(
        x="at", y="queue_mean_pkt", size=(ONE_COLUMN_IN, 2.2), names={"dx": "DX"}
    ),
    "heat-map": lambda: two_keys().heatmap("at", "load", "queue_mean_pkt"),
    "network": network,
}
"""Figures by the names of their images. A caption names the version, so that images have none."""


def save_image(name, path):
    figure = STORED[name]()
    figure.supxlabel("")
    figure.savefig(path, dpi=80)


@pytest.mark.parametrize("name", STORED)
def test_a_figure_is_the_stored_one(name, tmp_path):
    if matplotlib.__version__.rpartition(".")[0] != (IMAGES / "matplotlib").read_text().strip():
        pytest.skip(f"the images were stored with another matplotlib than {matplotlib.__version__}")
    made = tmp_path / f"{name}.png"
    save_image(name, made)
    assert compare_images(IMAGES / f"{name}.png", made, TOLERANCE) is None


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    (IMAGES / "matplotlib").write_text(matplotlib.__version__.rpartition(".")[0] + "\n")
    for stored in STORED:
        save_image(stored, IMAGES / f"{stored}.png")


def drawn_at_random(rng):
    """A sweep of up to three keys, of which two may change together, with made-up numbers."""
    columns = {"a": [1, 10, 100], "b": ["2pkt", "4pkt"], "c": ["x", "y", "z"]}
    used = dict(rng.sample([*columns.items()], rng.randint(1, 3)))
    points = [dict(zip(used, values, strict=True)) for values in product(*used.values())]
    if rng.random() < 0.3:  # keys that change together
        points = [dict(zip(used, values, strict=True)) for values in zip(*used.values(), strict=False)]
    ccs = rng.sample(["dctcp", "dx", "reno"], rng.randint(1, 3))
    seeds = [*range(1, rng.randint(1, 3) + 1)]
    numbers = dict.fromkeys(NUMBERS, 1.0)
    rows = [
        {"run": f"{cc}{point}{seed}", "cc": cc, **point, "seed": seed, "failure": None,
         "fingerprint": f"{cc}{point}{seed}", **numbers,
         "queue_mean_pkt": 10 ** rng.uniform(0, 4), "goodput_gbps": rng.uniform(1, 2)}
        for cc in ccs for point in points for seed in seeds
    ]  # fmt: skip
    about = {"name": "by hand", "seeds": seeds, "interrupted": False, "version": "0", "told": ""}
    sweep = Sweep(rows, {f"network.{key}": key for key in used}, ".", about)
    metrics = rng.sample(["queue_mean_pkt", "goodput_gbps"], rng.randint(1, 2))
    options = {
        "by": rng.choice(["cc", *used]),
        "baseline": rng.choice([None, ccs[0]]) if len(ccs) > 1 else None,
        "bars": rng.random() < 0.5,
    }
    x = rng.choice([*used])
    if options["by"] == x:
        options["by"] = "cc"
    return sweep, x, metrics, options


def finite_points(line):
    return [point for point in np.column_stack(line.get_data()).astype(float) if np.isfinite(point).all()]


def check_panels(figure, wanted):
    """Every point within its axes, a name for each series, no formula, and as many points as `wanted`."""
    count = 0
    with figure.styled():
        FigureCanvasAgg(figure).draw()
    for ax in figure.axes:
        (left, right), (low, high) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
        for line in ax.lines:
            if line.get_label().startswith("_"):
                continue
            for x, y in finite_points(line):
                assert left <= x <= right
                assert low <= y <= high, (y, low, high)
                count += 1
        assert len(ax.lines)
    assert count == wanted
    assert not [text.get_text() for text in figure.findobj(Text) if "$" in text.get_text()]


def check_random_sweep(seed):
    rng = random.Random(seed)
    sweep, x, metrics, options = drawn_at_random(rng)
    figure = sweep.figure(x, metrics, **options)
    key = "difference" if options["baseline"] else "mean"
    rows = [
        row
        for row in sweep.intervals(metrics, [*sweep.swept.values(), "cc"], options["baseline"])
        if row["cc"] != options["baseline"] and np.isfinite(row[key])
    ]
    check_panels(figure, len(rows))
    names = {line.get_label() for ax in figure.axes for line in ax.lines if line.get_label()[0] != "_"}
    legend = {text.get_text() for one in figure.legends for text in one.get_texts()}
    assert names <= legend or (
        len(names) == 1 and names.pop() in figure.get_supxlabel().replace("\n", "  ·  ")
    )


@pytest.mark.parametrize("seed", range(6))
def test_a_figure_of_a_random_sweep_shows_its_table(seed):
    check_random_sweep(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(6, 300))
def test_figures_of_many_random_sweeps_show_their_tables(seed):
    check_random_sweep(seed)


def compared_at_random(rng):
    """A comparison of one to four short runs: flows with or without ends, and with or without series."""
    ccs = rng.sample(["dctcp", "dx", "reno", "cubic", "vegas", "swift"], rng.randint(1, 4))
    traffic = rng.choice(
        [
            {"kind": "long-lived", "flows": rng.randint(1, 12), "stagger": "100us"},
            {"kind": "incast", "size": rng.choice(["1KB", "20KB", "300KB"])},
            {"kind": "poisson", "load": rng.choice([0.2, 0.7]), "sizes": "websearch",
             "below": "200KB", "from": "h*", "to": "h*", "flows": rng.choice([3, 40, 200])},
        ]
    )  # fmt: skip
    tables = {
        "name": "by chance",
        "seed": rng.randint(1, 100),
        "duration": "2ms" if traffic["kind"] == "long-lived" else "until-done",
        "cc": ccs[0],
        "topology": {"kind": "star", "hosts": 5, "rate": rng.choice(["1Gbps", "10Gbps"]), "rtt": "40us"},
        "traffic": [traffic],
    }
    if rng.random() < 0.7:
        tables["record"] = {"queues": "10us", "probes": rng.choice(["off", "20us"])}
    if rng.random() < 0.5:
        tables["warmup"] = "200us" if traffic["kind"] == "long-lived" else "10us"
    return sh.compare(sh.Scenario(**tables), cc=ccs)


def check_random_comparison(seed):
    """Every curve has points within its axes, each run is named where there are several, and no formula."""
    compared = compared_at_random(random.Random(f"comparison {seed}"))
    figure = compared.figure()
    with figure.styled():
        FigureCanvasAgg(figure).draw()
    drawn = 0
    for ax in figure.axes:
        (left, right), (low, high) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
        for line in ax.lines:
            if line.get_transform() != ax.transData:  # a threshold across the Axes
                continue
            points = finite_points(line)
            within = [left <= x <= right and low <= y <= high for x, y in points]
            assert all(within), (seed, ax.get_title(loc="left"), line.get_label())
            drawn += bool(within)
    assert drawn >= len(compared.runs)
    said = {text.get_text() for text in figure.findobj(Text)}
    assert not [text for text in said if "$" in text]
    if len(compared.runs) > 1:
        assert set(compared.runs) <= said


@pytest.mark.parametrize("seed", range(3))
def test_a_figure_of_a_random_comparison_shows_its_runs(seed):
    check_random_comparison(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3, 150))
def test_figures_of_many_random_comparisons_show_their_runs(seed):
    check_random_comparison(seed)


def test_later_panels_have_the_range_of_all():
    """Values 40 times as large in the second panel; a log axis begins below the smallest."""
    rows = [row | {"load": load, "queue_mean_pkt": row["queue_mean_pkt"] * load} for load in (1, 40)
            for row in swept([1, 2, 4], ccs=("dctcp",)).rows]  # fmt: skip
    about = {"name": "by hand", "seeds": [1, 2, 3], "interrupted": False, "version": "0", "told": ""}
    sweep = Sweep(rows, {"network.buffer": "at", "traffic.0.load": "load"}, ".", about)
    figure = sweep.figure("at", "queue_mean_pkt")
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["load 1", "load 40"]
    check_panels(figure, 6)
    assert figure.axes[1].get_ylim()[0] == 0
    check_panels(sweep.figure("at", "queue_mean_pkt", log="y"), 6)
    figure.axes[0].set_yscale("log")  # by a user
    check_panels(figure, 6)
    assert figure.axes[0].get_ylim()[0] > 0


def test_a_name_that_no_series_has_is_refused():
    sweep = two_keys()
    figure = sweep.figure("at", by="load", names={"0.2": "light", "load 0.4, dx": "heavy"})
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["light", "light", "load 0.4, dctcp", "heavy"]
    with pytest.raises(
        sh.ScenarioError, match=r'names = "0\.3": expected one of the series: load 0\.2, dctcp'
    ):
        sweep.figure("at", by="load", names={"0.3": "none"})
    with pytest.raises(sh.ScenarioError, match='names = "cubic"'):
        sweep.heatmap("at", "load", "queue_mean_pkt", names={"cubic": "CUBIC"})


@pytest.mark.parametrize("scale", ["log", "symlog", "logit"])
def test_no_scale_has_labels_that_are_formulas(scale):
    drawing = plot.Drawing((4, 3))
    ax = drawing.add_subplot()
    ax.plot([1e-4, 0.5, 0.99], [1e-4, 0.5, 0.99] if scale == "logit" else [1, 1e3, 1e6])
    ax.set(xscale=scale, yscale=scale)
    with drawing.styled():
        FigureCanvasAgg(drawing).draw()
    labels = [text.get_text() for text in ax.get_yticklabels(which="both") if text.get_text()]
    assert labels
    assert not [text for text in labels if "$" in text or "math" in text]

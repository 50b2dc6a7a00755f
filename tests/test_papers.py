"""Surveys of claims, the store of their measurements, the report, the documentation and the figures."""

import ast
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic, sleep

import pytest
from typer.testing import CliRunner

import shallows as sh
import shallows.fluid
import shallows.plot
import webdriver
from shallows.sweeps.progress import Progress
from validation import PAPERS, recorded, store, witness
from validation.claim import Mutation, Paper, Plot, within
from validation.cli import app
from validation.documentation import PAGES, ROOT, rendered
from validation.figures import draw
from validation.page import page
from validation.reach import Axis, extent, points
from validation.store import measure, measured
from validation.survey import claims, seeds, survey
from validation.verdict import FAILS, HOLDS, SHAPE, judge

pytestmark = pytest.mark.paper

PUBLIC = {
    "shallows.fluid.dcqcn_cycles",
    "shallows.fluid.expresspass_rounds",
    "shallows.fluid.linear",
    "shallows.fluid.published",
    "shallows.fluid.trajectory",
    "shallows.pages.chart",
    "shallows.pages.document",
    "shallows.sweeps.engine",
    "shallows.sweeps.executors",
    "shallows.sweeps.progress",
    "shallows.sweeps.statistics",
}
"""Modules that the documentation names, beside `shallows`, `.fluid` and `.plot`, which list their names."""


def is_public(name):
    module, _, last = name.rpartition(".")
    listed = {
        "shallows": {*sh.__all__, "__version__"},
        "shallows.fluid": set(shallows.fluid.__all__),
        "shallows.plot": set(shallows.plot.__all__),
    }
    return last in listed.get(module, ()) or not {module, name}.isdisjoint(PUBLIC)


def private(text):
    """What a file imports from Shallows that users do not have: "module.name"."""
    names = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in names if name.startswith("shallows.") and not is_public(name)]


def test_claims_use_what_users_have():
    found = {path.name: private(path.read_text()) for path in (ROOT / "validation").rglob("*.py")}
    assert {name: names for name, names in found.items() if names} == {}
    pages = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    assert [name for name in PUBLIC if name not in pages] == []


def test_an_import_of_an_internal_module_is_found():
    text = "import shallows.runner\nfrom shallows import Run, examples\n"
    text += "from shallows.fluid import Dcqcn, red\n"
    assert private(text) == ["shallows.runner", "shallows.examples", "shallows.fluid.red"]
    assert private("def f():\n    from shallows.worlds import packet") == ["shallows.worlds.packet"]


def made_up(*bands, plot=(), nightly=False):
    """A claim on made-up metrics."""
    paper = Paper("made-up", "Made up", "A paper", "nobody")
    figure = paper.figure("Fig. 1", "A figure", setting="None.", plot=plot, nightly=nightly)(lambda lab: None)
    mutation = Mutation({"input:x": 1}, bands[0].metric)
    figure.claim("MU1", "A claim.", tolerance="T3: none", bands=bands, mutation=mutation)
    return figure.claims[0]


def test_labels_of_a_figure_that_would_touch_are_left_out():
    """A sixteenth of a logarithmic axis from 4 to 1024 is a factor of 1.41: 64 touches 48."""
    plot, flows = Plot("flows", "queue (KB)", "points", x_log=True), [4, 16, 48, 64, 1024]
    figure = made_up(within("a", 1, 2, reported=1.5), plot=plot).figure
    (axes,) = draw(figure, [{"series": {"a": [flows, flows]}}]).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["4", "16", "48", "1024"]


def test_the_papers_points_are_drawn_over_ours():
    plot = Plot("flows", "queue (KB)", "points", printed={"a": [(4, 1.5), (16, 2.5)]})
    figure = made_up(within("a", 1, 2, reported=1.5), plot=plot).figure
    (axes,) = draw(figure, [{"series": {"a": [[4, 16], [1, 2]], "b": [[4, 16], [3, 4]]}}]).axes
    overlay = [line for line in axes.lines if line.get_marker() == "D"][-1]
    assert [tuple(point) for point in overlay.get_xydata()] == [(4, 1.5), (16, 2.5)]
    assert overlay.get_markeredgecolor() == axes.lines[0].get_color()
    assert "paper" in axes.get_legend_handles_labels()[1]


def test_a_panel_has_the_curves_of_its_title():
    plots = [Plot("flows", "queue (KB)", panel=name, y_to=9) for name in ("DX", "DX (SW)")]
    figure = made_up(within("a", 1, 2, reported=1.5), plot=plots).figure
    series = {
        "DX: flow 1": [[4, 16], [1, 2]],
        "DX (SW): flow 1": [[4, 16], [3, 4]],
        "DX (SW): flow 2": [[4, 16], [5, 6]],
    }
    panels = draw(figure, [{"series": series}]).axes
    assert [(axes.get_title(loc="left"), axes.get_ylim()[1]) for axes in panels] == [
        ("DX", 9),
        ("DX (SW)", 9),
    ]
    drawn = [[(line.get_label(), *line.get_ydata()) for line in axes.lines] for axes in panels]
    assert drawn == [[("flow 1", 1, 2)], [("flow 1", 3, 4), ("flow 2", 5, 6)]]


def test_stacked_curves_end_where_they_end():
    """At 1 s both flows send, 2 and 3; at 2 s the first has ended."""
    figure = made_up(
        within("a", 1, 2, reported=1.5), plot=Plot("time (s)", "throughput (Mbps)", "stack")
    ).figure
    (axes,) = draw(figure, [{"series": {"flow 1": [[0, 1], [2, 2]], "flow 2": [[1, 2], [3, 3]]}}]).axes
    tops = [max(y for x, y in area.get_paths()[0].vertices if x == 1) for area in axes.collections]
    last = [max(y for x, y in area.get_paths()[0].vertices if x == 2) for area in axes.collections]
    assert (tops, last) == ([2, 5], [0, 3])


FLOWS = Axis("flows", "", 2, (1, 2, 4))
NOISE = Axis("noise", "us", 0, (0, 3))


def made_up_reach():
    paper = Paper("made-up", "Made up", "A paper", "nobody")
    bands = (within("a", 0, 10), within("b", 1, 100))
    values = {(1, 0): (5, 0.9), (2, 0): (9, 1), (4, 0): (11, 1), (2, 3): (10, 2)}

    @paper.reach("MU-R", "A headline.", expected="Nothing.", axes=(FLOWS, NOISE), bands=bands, runs={})
    def reach(lab):
        points(lab, (FLOWS, NOISE), lambda on: dict(zip("ab", values[tuple(on.values())], strict=True)))

    return paper.reaches[0]


def test_a_reach_tells_where_its_headline_stops_and_by_which_check():
    """By hand: one flow misses b >= 1, four miss a <= 10; noise misses nothing."""
    reach = made_up_reach()
    found = extent(reach, [measure(reach, 1, True)["values"]])
    assert [point.missed for point in found.axes[FLOWS]] == [("b",), (), ("a",)]
    assert found.summary == "Stops at flows 1 and 4 (b and a). Holds throughout for noise 0 to 3 us."


def test_a_reach_has_its_paper_s_own_point_on_every_axis():
    for reach in (reach for paper in PAPERS for reach in paper.reaches):
        assert all(axis.home in axis.points for axis in reach.axes)
        assert all(sorted(axis.points) == list(axis.points) for axis in reach.axes)


def test_every_paper_has_a_reach_on_file():
    assert [len(paper.reaches) for paper in PAPERS] == [1] * 5
    assert set(recorded.load()["reaches"]) == {paper.reaches[0].id for paper in PAPERS}


def test_nothing_is_measured_twice_and_other_content_is_measured_anew(tmp_path):
    (claim,) = claims(["ED8"])
    kept = store.Store(tmp_path)
    first_bar, second_bar = Progress(shown=False), Progress(shown=False)
    (first,) = survey([claim], kept, quick=True, threads=1, bar=first_bar)
    (second,) = survey([claim], kept, quick=True, threads=1, bar=second_bar)
    assert first == second
    assert [bar.done - bar.first for bar in (first_bar, second_bar)] == [1, 0]
    (seed,) = seeds(claim.figure, quick=True)
    of = partial(store.Measurement.of, claim.figure, seed)
    assert kept.find(of(True)) is not None
    assert kept.find(of(True, {"input:r_ai": 1e6})) is None
    assert kept.find(of(False)) is None
    assert store.key(claim.figure) != store.key(claims(["ED9"])[0].figure)


def test_claims_of_a_figure_share_its_measurements(tmp_path):
    ones = [one for one in claims() if one.figure.id == "expresspass-fig-12"]
    assert len(ones) > 1 == len(seeds(ones[0].figure, quick=True))
    bar = Progress(shown=False)
    survey(ones, store.Store(tmp_path), quick=True, threads=1, bar=bar)
    assert bar.done - bar.first == 1


class Samples:
    """A store that has the samples of made-up seeds, and notes which of them are asked for."""

    def __init__(self, given):
        self.given, self.asked = given, []

    def find(self, job):
        self.asked.append(given := seeds(measured(job.id), quick=True).index(job.seed))
        return {"values": {"a": self.given[given]}, "series": {}, "ran": [], "used": []}


@pytest.mark.parametrize(
    ("first", "asked", "mean"), [(1.0, [0], 2.0), (1.00000001, [0], 2.0), (1.1, [0, 0, 1, 2], 3.7)]
)
def test_other_seeds_are_taken_from_the_file_while_the_first_one_gives_the_same(
    monkeypatch, first, asked, mean
):
    """On file are 1, 2 and 3; now others give 4 and 6: (1.1 + 4 + 6) / 3 is 3.7. The file has 7 digits."""
    claim = made_up(within("a", 0, 10, reported=5))
    monkeypatch.setattr("validation.store.measured", lambda _: claim.figure)
    monkeypatch.setitem(globals(), "measured", lambda _: claim.figure)
    monkeypatch.setattr(type(claim.figure), "count", lambda figure, quick: 3)
    monkeypatch.setattr(store, "key", lambda *_: "key")
    before = survey([claim], Samples([1.0, 2.0, 3.0]), quick=True)
    on_file = witness.entries({claim.figure.id: before[0][1]})
    now = Samples([first, 4.0, 6.0])
    ((found, _),) = survey([claim], now, quick=True, on_file=on_file)
    assert (now.asked, round(found.estimates["a"].mean, 6)) == (asked, mean)
    assert witness.moved(on_file, {claim.figure.id: before[0][1]}) == []


def test_to_record_the_same_values_of_the_first_seed_suffice(monkeypatch):
    """The digest on file is of another picture."""
    claim = made_up(within("a", 0, 10, reported=5))
    monkeypatch.setattr("validation.store.measured", lambda _: claim.figure)
    monkeypatch.setitem(globals(), "measured", lambda _: claim.figure)
    monkeypatch.setattr(type(claim.figure), "count", lambda figure, quick: 2)
    monkeypatch.setattr(store, "key", lambda *_: "key")
    on_file = {claim.figure.id: {"digest": "another", "values": [{"a": 1.0}, {"a": 2.0}]}}
    means = []
    for first, to_record in ((1.0, True), (1.0, False), (1.1, True)):
        now = Samples([first, 6.0])
        ((found, _),) = survey([claim], now, quick=True, on_file=on_file, to_record=to_record)
        means.append(round(found.estimates["a"].mean, 6))
    assert means == [1.5, 3.5, 3.55]


def test_a_nightly_figure_is_taken_from_the_file_and_measured_where_it_is_not_there(monkeypatch):
    claim = made_up(within("a", 0, 10, reported=5), nightly=True)
    monkeypatch.setattr("validation.store.measured", lambda _: claim.figure)
    monkeypatch.setitem(globals(), "measured", lambda _: claim.figure)
    monkeypatch.setattr(type(claim.figure), "count", lambda figure, quick: 2)
    monkeypatch.setattr(store, "key", lambda *_: "key")
    entry = {"digest": "another", "values": [{"a": 1.0}, {"a": 2.0}]}
    means = []
    for on_file in ({claim.figure.id: entry}, {}, {claim.figure.id: entry | {"values": [{"a": 1.0}]}}):
        now = Samples([4.0, 6.0])
        ((found, _),) = survey([claim], now, quick=True, on_file=on_file)
        means.append((found.estimates["a"].mean, len(now.asked) > 0))
    assert means == [(1.5, False), (5.0, True), (5.0, True)]


def test_a_witness_is_for_quick_mode_alone(tmp_path):
    result = CliRunner().invoke(app, ["report", "ED2", "--witness", "--store", str(tmp_path)])
    assert (result.exit_code, "--quick beside it" in result.output) == (2, True)


def test_the_key_of_a_measurement_covers_all_that_decides_it():
    figure = measured("dx-fig-8")
    package, paper, *files = store.sources(figure)
    assert (package, paper) == (Path(sh.__file__).parent, ROOT / "validation" / "dx")
    shared = {ROOT / "validation" / name for name in ("lab.py", "reach.py", "runs.py")}
    assert set(files) == shared | {ROOT / "scenarios" / f"{name}.toml" for name in figure.runs}
    assert figure.runs


@pytest.mark.parametrize("name", ["one.toml", "folder/two.py", "folder/core.so", "folder/sizes.csv"])
def test_an_edited_file_is_measured_anew(tmp_path, monkeypatch, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / name).write_text("before")
    monkeypatch.setattr(store, "sources", lambda row: (tmp_path,))
    figure = measured("dx-fig-8")
    before = store.key(figure)
    store._content.cache_clear()
    assert store.key(figure) == before
    (tmp_path / name).write_text("after")
    store._content.cache_clear()
    assert store.key(figure) != before


def with_verdict(monkeypatch, folder, id_, verdict, passed=None):
    """Another verdict is on file for a claim, and other sides of its bands."""
    content = recorded.load()
    content["claims"][id_] |= {"verdict": verdict} | ({"passed": passed} if passed else {})
    monkeypatch.setattr(recorded, "FILE", folder / "recorded.json")
    recorded.save(content)


def report(folder, *ids):
    words = ["report", *ids, "--quick", "--threads", "1", "--store", folder, "--out", folder / "papers.html"]
    return CliRunner().invoke(app, [*map(str, words)])


def test_a_verdict_that_differs_from_the_one_on_file_fails_the_report(tmp_path, monkeypatch):
    assert report(tmp_path, "ED2", "ED8", "XP10").exit_code == 0
    assert "<svg " not in (tmp_path / "papers.html").read_text()
    with_verdict(monkeypatch, tmp_path, "ED8", SHAPE)
    other = report(tmp_path, "ED2", "ED8", "XP10")
    assert other.exit_code == 1
    assert re.findall(r"^(\w+): (.+), on file: (.+), in", other.stdout, re.M) == [("ED8", HOLDS, SHAPE)]
    assert report(tmp_path, "ED2", "XP10").exit_code == 0


def test_a_claim_that_fails_is_printed_with_its_numbers_and_fails_no_report(tmp_path, monkeypatch):
    """A band moved away from what is measured: the claim fails, as is then on file."""
    (claim,) = claims(["ED8"])
    metric = claim.bands[0].metric
    value = measure(claim.figure, 1, True)["values"][metric]
    far = within(metric, value + 1, value + 2, reported=value + 1.5)
    monkeypatch.setattr(claim.figure, "claims", [replace(claim, bands=(far,), mutation=Mutation({}, metric))])
    with_verdict(monkeypatch, tmp_path, "ED8", FAILS, [False])
    found = report(tmp_path, "ED8")
    assert found.exit_code == 0
    band = f"{value + 1:.4g} to {value + 2:.4g}"
    line = f"  NO  {metric}: {value:.4g}, expected {band}, the paper {value + 1.5:.4g}"
    assert line in found.stdout.splitlines()


def test_quick_mode_leaves_on_file_what_full_mode_found():
    claim, reach = made_up(within("a", 0, 10, reported=5)), made_up_reach()
    full, quick = (judge(claim, [{"a": value}]) for value in (1, 11))
    far = extent(reach, [measure(reach, 1, True)["values"]])
    content, kept = recorded.record({}, [full, far], "full-commit", quick=False)
    assert (kept, content["claims"]["MU1"]["verdict"]) == ([], HOLDS)
    assert recorded.record(content, [quick, far], "another", quick=True) == (content, ["MU1", "MU-R"])
    again, kept = recorded.record(content, [quick, far], "another", quick=False)
    assert (kept, again["claims"]["MU1"]["verdict"], again["reaches"]["MU-R"]["commit"]) == (
        [],
        FAILS,
        "another",
    )


def test_a_report_in_quick_mode_says_what_it_left_on_file(tmp_path, monkeypatch):
    monkeypatch.setattr(recorded, "FILE", tmp_path / "recorded.json")
    monkeypatch.setattr("validation.documentation.PAGES", ())
    report = [
        "report",
        "ED2",
        "ED8",
        "--record",
        "--store",
        tmp_path,
        "--out",
        tmp_path / "papers.html",
    ]
    full = CliRunner().invoke(app, [*map(str, report)])
    before = recorded.FILE.read_text()
    quick = CliRunner().invoke(app, [*map(str, report), "--quick"])
    assert (full.exit_code, quick.exit_code) == (0, 0)
    assert "left on file" not in full.stdout
    assert "ED2, ED8: left on file as full mode found it" in quick.stdout
    assert recorded.FILE.read_text() == before


def children(pid):
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_killed_survey_leaves_no_process_behind(tmp_path):
    command = [
        sys.executable,
        "-m",
        "validation",
        "run",
        "DX21",
        "--threads",
        "1",
        "--store",
        tmp_path,
    ]
    run, workers = subprocess.Popen(command, stderr=subprocess.DEVNULL), []
    try:
        deadline = monotonic() + 60
        while len(workers) < 2 and monotonic() < deadline:  # the measurement, and its resource tracker
            sleep(0.1)
            workers = children(run.pid)
        assert len(workers) >= 2
        sleep(3)
    finally:
        run.kill()
        run.wait()
    deadline = monotonic() + 30
    while any(Path(f"/proc/{pid}/cmdline").exists() for pid in workers) and monotonic() < deadline:
        sleep(0.1)
    assert not [pid for pid in workers if Path(f"/proc/{pid}/cmdline").exists()]


def test_the_documentation_says_what_is_on_file():
    content = recorded.load()
    assert list(content["claims"]) == sorted(claim.id for claim in claims())
    for name in PAGES:
        text = (ROOT / name).read_text()
        assert "<!-- papers: " in text, name
        assert rendered(text, content) == text, f"{name}: python -m validation report --record"


def test_list_shows_every_claim_with_its_verdict():
    result = CliRunner().invoke(app, ["list"])
    assert result.exit_code == 0
    shown = re.findall(r"^(?:DX|XP|PO|ED|IN)\d+", result.stdout, re.MULTILINE)
    assert shown == [claim.id for claim in claims()]
    assert "not recorded" not in result.stdout


def test_figures_are_drawn_into_a_folder(tmp_path):
    draw_two = [
        "draw",
        "XP1",
        "ED4",
        "--quick",
        "--threads",
        "1",
        "--store",
        str(tmp_path / "store"),
    ]
    result = CliRunner().invoke(app, [*draw_two, "--out", str(tmp_path / "figures")])
    assert result.exit_code == 0
    found = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert found == ["ecn-or-delay-fig-3b.png", "expresspass-fig-12.png"]
    assert all(2000 < path.stat().st_size < 60_000 for path in (tmp_path / "figures").iterdir())


def test_an_unknown_format_is_a_mistake(tmp_path):
    result = CliRunner().invoke(app, ["draw", "XP1", "--format", "bmp", "--out", str(tmp_path)])
    assert result.exit_code == 2


def test_an_unknown_claim_is_a_mistake():
    result = CliRunner().invoke(app, ["run", "DX99"])
    assert result.exit_code == 2


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A page of closed forms and a claim that cannot be tested, on disk."""
    kept, folder = store.Store(ROOT / "results" / "papers"), tmp_path_factory.mktemp("page")
    chosen = claims(["ED4", "ED9", "XP10", "DX4"])
    results = {finding.claim.id: (finding, samples) for finding, samples in survey(chosen, kept, quick=True)}
    reach, path = made_up_reach(), folder / "papers.html"
    sample = measure(reach, 1, True)
    extents = [(extent(reach, [sample["values"]]), [sample])]
    path.write_text(page(PAPERS, results, "0000000", False, extents), "utf-8")
    return path


def test_the_page_needs_nothing_but_itself(written):
    text = written.read_text()
    assert text.count("<svg ") == 3 + 1  # ED4, ED9, DX4 and the reach; XP10 cannot be tested
    assert not re.findall(r'(?:src|href)="(?!#)', text.replace("xlink:href", ""))
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"|<metadata>.*?</metadata>', "", text, flags=re.DOTALL)
    ids = re.findall(r' id="([^"]+)"', text)
    assert set(re.findall(r' href="#([^"]+)"', text)) <= set(ids)


@pytest.mark.skipif(webdriver.missing() is not None, reason=str(webdriver.missing()))
def test_a_browser_clicks_through_the_page(written):
    with webdriver.browser() as browser:
        browser.go(written.as_uri())
        browser.click('#summary a[href="#ecn-or-delay"]')
        assert browser.address.endswith("#ecn-or-delay")
        browser.click('#ecn-or-delay a[href="#ED9"]')
        assert browser.address.endswith("#ED9")
        assert 0 <= browser.run("return document.getElementById('ED9').getBoundingClientRect().top") < 200
        assert (
            browser.run(
                "return document.querySelector('[id^=ecn-or-delay-data] svg').getBoundingClientRect().width"
            )
            > 200
        )
        assert not browser.run("return document.querySelector('#dx-fig-3 details').open")
        browser.click('nav a[href="#dx"]')
        browser.click('#dx a[href="#DX4"]')
        browser.click("#dx-fig-3 summary")
        assert browser.run("return document.querySelector('#dx-fig-3 details').open")
        browser.click('nav a[href="#reach"]')
        assert "Stops at flows 1 and 4" in browser.run("return document.getElementById('MU-R').textContent")
        assert browser.run("return document.querySelector('#MU-R svg').getBoundingClientRect().width") > 200
        browser.click('nav a[href="#not"]')
        browser.click('#not-ED9 a[href="#ED9"]')
        assert browser.address.endswith("#ED9")
        browser.resize(400, 800)
        assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")

"""The table of claims: complete, judged by numbers alone, and as the papers say.

Each claim is a test (`make papers`), closed forms in `make test` too. A claim that does not hold says why
in its row, and is expected to fail.
"""

import re
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest
from typer.testing import CliRunner

import webdriver
from shallows.cli import app
from shallows.papers import PAPERS, recorded, store
from shallows.papers.claim import CLASSES, READ, Paper, Plot, below, near, within
from shallows.papers.documentation import PAGES, ROOT, rendered
from shallows.papers.figures import draw
from shallows.papers.page import page
from shallows.papers.reach import Axis, extent, points
from shallows.papers.survey import measure, rows, seeds, survey
from shallows.papers.verdict import CANNOT, FAILS, HOLDS, SHAPE, judge

ROWS = [row for paper in PAPERS for row in paper.rows]
IDS = [
    f"{paper}{n}"
    for paper, last in (("DX", 23), ("XP", 11), ("PO", 2), ("ED", 26), ("IN", 14))
    for n in range(1, last + 1)
]


def test_no_row_is_missing():
    assert [row.id for row in ROWS] == IDS


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_a_row_says_all_that_a_claim_needs(row):
    assert row.claim.endswith((".", "."))
    assert row.tolerance.split(":")[0] in CLASSES
    assert bool(row.measure) != bool(row.cannot)
    assert row.cannot or row.checks
    assert all(check.read in READ for check in row.checks)
    assert all(check.low > -float("inf") or check.high < float("inf") for check in row.checks)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_an_order_is_an_order_unless_the_paper_prints_how_many_times(row):
    for check in row.checks:
        assert check.other is None or check.high == 1 or check.reported is not None, check


def cases():
    for row in ROWS:
        if row.cannot:
            continue
        marks = [] if row.seeds == (1, 1) else [pytest.mark.paper]
        if row.why:
            marks.append(pytest.mark.xfail(strict=True, reason=row.why))
        yield pytest.param(row, id=row.id, marks=marks)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Measurements of this code, once for all tests and the report."""
    return store.Store(ROOT / "results" / "papers")


@pytest.mark.parametrize("row", list(cases()))
def test_claim(row, kept):
    """As the paper says, at least in shape; in quick mode."""
    samples = []
    for seed in seeds(row, quick=True):
        sample = kept.get(row, seed, True) or measure(row, seed, True)
        kept.put(row, seed, True, None, sample)
        samples.append(sample["values"])
    finding = judge(row, samples)
    missed = [
        f"{check.metric}: {finding.estimates[check.metric].text}, expected {check.expected}"
        for check, ok in zip(row.checks, finding.passed, strict=True)
        if not ok
    ]
    assert finding.verdict in (HOLDS, SHAPE), missed
    if row.tolerance.startswith("T1"):
        assert finding.verdict == HOLDS, missed


PERTURBED = [
    ("DX7", {"dx.headroom": "50us"}),
    ("DX1", {"dctcp.g": "0.5"}),
    ("PO2", {"vegas.beta": "9pkt"}),
    pytest.param("XP5", {"expresspass.fall_only": "true"}, marks=pytest.mark.paper),  # 5 s
    ("ED2", {"dcqcn.r_ai": "50Mbps"}),
    ("ED17", {"patched-timely.beta": "0.02"}),
    ("IN9", {"inigo.threshold": "3"}),
]


@pytest.mark.parametrize(("id_", "constant"), PERTURBED)
def test_a_verdict_follows_the_constants_of_its_algorithm(id_, constant):
    (row,) = rows([id_])
    as_it_is, changed = (judge(row, [measure(row, 1, True, change)["values"]]) for change in (None, constant))
    assert as_it_is.verdict == HOLDS
    assert changed.verdict != HOLDS


def made_up(*checks):
    paper = Paper("made-up", "Made up", "A paper", "nobody")
    paper.row("MU1", "Fig. 1", "A claim.", tolerance="T3: none", checks=checks)(lambda lab: None)
    return paper.rows[0]


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [(10, 20, HOLDS), (11, 20, HOLDS), (11.1, 20, SHAPE), (10, 9, FAILS), (8.9, 8.8, FAILS), (30, 31, SHAPE)],
)
def test_verdicts_by_hand(a, b, verdict):
    """10 within 10 %, and below b."""
    row = made_up(near("a", 10, rel=0.1), below("a", "b"))
    assert judge(row, [{"a": a, "b": b}]).verdict == verdict


def test_a_row_without_a_shape_holds_or_does_not():
    row = made_up(within("a", 1, 2))
    assert [judge(row, [{"a": a}]).verdict for a in (0.9, 1, 2, 2.1)] == [FAILS, HOLDS, HOLDS, FAILS]


def test_the_mean_over_seeds_decides_and_has_its_interval():
    """Of 9, 10 and 14: mean 11, deviation sqrt(7), t = 4.303: half of the interval is 6.573."""
    found = judge(made_up(within("a", 10.9, 11.1)), [{"a": 9}, {"a": 10}, {"a": 14}])
    assert found.verdict == HOLDS
    assert found.estimates["a"].half == pytest.approx(6.573, abs=1e-3)


def test_labels_of_a_figure_that_would_touch_are_left_out():
    """A sixteenth of a logarithmic axis from 4 to 1024 is a factor of 1.41: 64 touches 48."""
    paper = Paper("made-up", "Made up", "A paper", "nobody")
    plot, flows = Plot("flows", "queue (KB)", "points", x_log=True), [4, 16, 48, 64, 1024]
    paper.row("MU1", "Fig. 1", "A claim.", tolerance="T3: none", checks=(), plot=plot)(lambda lab: None)
    (axes,) = draw(paper.rows[0], [{"series": {"a": [flows, flows]}}]).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["4", "16", "48", "1024"]


FLOWS = Axis("flows", "", 2, (1, 2, 4))
NOISE = Axis("noise", "us", 0, (0, 3))


def made_up_reach():
    paper = Paper("made-up", "Made up", "A paper", "nobody")
    checks = (within("a", high=10), within("b", low=1))
    values = {(1, 0): (5, 0.9), (2, 0): (9, 1), (4, 0): (11, 1), (2, 3): (10, 2)}

    @paper.reach("MU-R", "A headline.", expected="Nothing.", axes=(FLOWS, NOISE), checks=checks, scenarios=())
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


def test_nothing_is_measured_twice_and_other_content_is_measured_anew(tmp_path, monkeypatch):
    (row,) = rows(["IN14"])
    kept = store.Store(tmp_path)
    (first,) = survey([row], kept, quick=True, threads=1)
    monkeypatch.setattr("shallows.papers.survey.ProcessPoolExecutor", None)
    (second,) = survey([row], kept, quick=True, threads=1)
    assert first == second
    assert kept.get(row, 1, True, {"inigo.threshold": "1"}) is None
    assert kept.get(row, 1, False) is None
    assert store.key(row) != store.key(rows(["IN13"])[0])


def test_what_runs_a_scenario_is_covered_by_the_key_of_a_measurement():
    """Wherever it stands: a folder that took the place of a module is no way round."""
    import shallows.scenario
    import shallows.traffic
    from shallows.worlds import packet

    covered = set(store._sources())
    assert {Path(module.__file__) for module in (shallows.scenario, shallows.traffic, packet)} <= covered
    assert any(path.suffix == ".csv" for path in covered)
    assert not any("papers" in path.relative_to(store._PACKAGE).parts for path in covered)


def test_quick_mode_leaves_on_file_what_full_mode_found():
    row, reach = made_up(within("a", high=10)), made_up_reach()
    full, quick = (judge(row, [{"a": value}]) for value in (1, 11))
    far = extent(reach, [measure(reach, 1, True)["values"]])
    content, kept = recorded.record({}, [full, far], "full-commit", quick=False)
    assert (kept, content["rows"]["MU1"]["verdict"]) == ([], HOLDS)
    assert recorded.record(content, [quick, far], "another", quick=True) == (content, ["MU1", "MU-R"])
    again, kept = recorded.record(content, [quick, far], "another", quick=False)
    assert (kept, again["rows"]["MU1"]["verdict"], again["reaches"]["MU-R"]["commit"]) == (
        [],
        FAILS,
        "another",
    )


def test_a_report_in_quick_mode_says_what_it_left_on_file(tmp_path, monkeypatch):
    monkeypatch.setattr(recorded, "FILE", tmp_path / "recorded.json")
    monkeypatch.setattr("shallows.papers.documentation.PAGES", ())
    report = [
        "papers",
        "report",
        "IN13",
        "IN14",
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
    assert "IN13, IN14: left on file as full mode found it" in quick.stdout
    assert recorded.FILE.read_text() == before


def children(pid):
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_who_is_killed_leaves_no_measurement_behind(tmp_path):
    command = [
        sys.executable,
        "-m",
        "shallows",
        "papers",
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
        while len(workers) < 2 and monotonic() < deadline:  # the measurement, and who cleans up after it
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
    assert list(content["rows"]) == sorted(IDS)
    for name in PAGES:
        text = (ROOT / name).read_text()
        assert "<!-- papers: " in text, name
        assert rendered(text, content) == text, f"{name}: shallows papers report --record"


def test_every_claim_that_does_not_hold_says_why_on_file():
    for row in ROWS:
        verdict = recorded.load()["rows"][row.id]["verdict"]
        assert (verdict == CANNOT) == bool(row.cannot), row.id
        assert (verdict == FAILS) == bool(row.why), row.id


def test_list_shows_every_row_with_its_verdict():
    result = CliRunner().invoke(app, ["papers", "list"])
    assert result.exit_code == 0
    assert re.findall(r"^(?:DX|XP|PO|ED|IN)\d+", result.stdout, re.MULTILINE) == IDS
    assert "not recorded" not in result.stdout


def test_an_unknown_row_is_a_mistake():
    result = CliRunner().invoke(app, ["papers", "run", "DX99"])
    assert result.exit_code == 2


@pytest.fixture(scope="module")
def written(tmp_path_factory, kept):
    """A page of closed forms, a row that cannot be tested and one that does not hold, on disk."""
    chosen = rows(["ED4", "ED9", "DX5", "DX10", "IN14"])
    results = {finding.row.id: (finding, samples) for finding, samples in survey(chosen, kept, quick=True)}
    reach, path = made_up_reach(), tmp_path_factory.mktemp("page") / "papers.html"
    sample = measure(reach, 1, True)
    path.write_text(
        page(PAPERS, results, "0000000", True, [(extent(reach, [sample["values"]]), [sample])]), "utf-8"
    )
    return path


def test_the_page_needs_nothing_but_itself(written):
    text = written.read_text()
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
        assert browser.run("return document.querySelector('#ED9 svg').getBoundingClientRect().width") > 200
        assert not browser.run("return document.querySelector('#DX10 details').open")
        browser.click('nav a[href="#dx"]')
        browser.click('#dx a[href="#DX10"]')
        browser.click("#DX10 summary")
        assert browser.run("return document.querySelector('#DX10 details').open")
        browser.click('nav a[href="#reach"]')
        assert "Stops at flows 1 and 4" in browser.run("return document.getElementById('MU-R').textContent")
        assert browser.run("return document.querySelector('#MU-R svg').getBoundingClientRect().width") > 200
        browser.click('nav a[href="#not"]')
        browser.click('#not-DX10 a[href="#DX10"]')
        assert browser.address.endswith("#DX10")
        browser.resize(400, 800)
        assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")

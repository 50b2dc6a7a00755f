"""Pages of results: their numbers are those of the command line, and a browser shows them anywhere."""

import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import shallows as sh
import webdriver
from shallows import cli
from shallows.html.chart import chart

SMALL = str(Path(__file__).with_name("small.toml"))


def shallows(*words):
    result = CliRunner().invoke(cli.app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.stdout


def numbers(text):
    return set(re.findall(r"\d+(?:\.\d+)?", text))


def text_of(page):
    """What a reader sees: no styles, scripts or figures."""
    without = re.sub(r"<(style|script|svg).*?</\1>", " ", page.read_text(), flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", " ", without))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run and its page, and what was printed."""
    folder = tmp_path_factory.mktemp("html")
    printed = shallows("run", SMALL, "--out", folder / "small", "--html", folder / "pages" / "small.html")
    return folder, folder / "pages" / "small.html", printed


def test_the_numbers_of_a_run_are_those_printed(made):
    folder, page, printed = made
    assert numbers(printed) <= numbers(text_of(page))
    assert numbers(shallows("why", folder / "small", "--slowest", 10)) <= numbers(text_of(page))


def test_a_saved_run_has_the_same_page_again(made):
    folder, page, printed = made
    again = folder / "again.html"
    assert shallows("report", folder / "small", "--html", again) == printed
    assert again.read_text() == page.read_text()


def test_a_comparison_has_a_page_saved_or_not(tmp_path):
    printed = shallows(
        "compare",
        SMALL,
        "--cc",
        "reno",
        "--cc",
        "dctcp",
        "--out",
        tmp_path / "two",
        "--html",
        tmp_path / "a.html",
    )
    assert shallows("report", tmp_path / "two", "--html", tmp_path / "b.html") == printed
    page = tmp_path / "a.html"
    assert page.read_text() == (tmp_path / "b.html").read_text()
    assert numbers(printed) <= numbers(text_of(page))
    for label in ("reno", "dctcp"):
        assert re.search(rf"<h3>{label}, flow \d", page.read_text())


def test_a_run_without_finished_flows_has_no_paths(tmp_path):
    page = sh.run("pingpong", overrides={"duration": "2ms", "warmup": "0s"}).html(tmp_path / "page.html")
    assert 'id="paths"' not in page.read_text()
    assert 'id="figures"' in page.read_text()


def test_a_figure_in_a_page_has_the_texts_that_were_drawn():
    """Paths are in hundredths of a point; texts stay, such as ticks 0.005 apart."""
    figure = Figure()
    ax = figure.add_subplot()
    ax.plot([0, 1], [0.0, 0.0123456], gid="line")
    ax.set_title("at 0.123456 of it")
    ax.set_yticks([0.0, 0.005, 0.01], ["0.000", "0.005", "0.010"])
    shown = chart(figure, "key", "title")
    assert {"0.005", "0.010", "at 0.123456 of it"} <= set(re.findall(r"<text[^>]*>([^<]*)<", shown))
    (data,) = json.loads(re.search(r"<script[^>]*>(.*)</script>", shown)[1])
    assert data["lines"][0]["y"] == [0, 0.0123456]


def test_a_page_needs_nothing_but_itself(made):
    text = made[1].read_text()
    assert not re.findall(r'(?:src|href)="(?!#)', text.replace("xlink:href", ""))
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r' href="#([^"]+)"', text)) <= set(ids)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("small/page.html", "outside the folder of the result"),
        ("small", "a file, not a folder"),
        ("summary.json", r"its name is not that of a page: expected a name such as \S*summary.html"),
    ],
)
def test_a_place_that_cannot_be_is_refused_before_anything_runs(made, file, message):
    folder = made[0]
    result = CliRunner().invoke(cli.app, ["report", str(folder / "small"), "--html", str(folder / file)])
    assert result.exit_code == 2
    assert re.search(message, result.stderr)
    assert not (folder / "summary.json").exists()


@pytest.fixture(scope="module")
def browser():
    if webdriver.missing():
        pytest.skip(webdriver.missing())
    with webdriver.browser() as opened:
        yield opened


@pytest.fixture
def mouse(tmp_path):
    """The page of a flow that waits 55 us behind another one (tests/cases/why has the arithmetic)."""
    edges = [["a", "s", "10Gbps", "1us"], ["b", "s", "10Gbps", "1us"], ["s", "c", "1Gbps", "1us"]]
    topology = {"kind": "graph", "edges": edges, "hosts": ["a", "b", "c"]}
    traffic = [{"kind": "trace", "flows": [[0, "a", "c", 20 * 1460], [5e-6, "b", "c", 1460]]}]
    cc = {"name": "fixed", "window": "1000pkt"}
    run = sh.Scenario(duration="until-done", topology=topology, traffic=traffic, cc=cc)
    return sh.run(run).why([1]).html(tmp_path / "mouse.html")


@pytest.fixture
def task_page(tmp_path):
    """The page of a computation of 30 us at h0, and a frame of 4.4 us to h1 that waits for it."""
    tasks = [
        {"name": "load", "host": "h0", "compute": "30us"},
        {"from": "h0", "to": "h1", "size": "1460B", "after": ["load"]},
        {"name": "idle", "host": "h1", "compute": "4us"},
    ]
    topology = {"kind": "star", "hosts": 2, "rate": "10Gbps", "rtt": "4us"}
    traffic = [{"kind": "tasks", "name": "job", "tasks": tasks}]
    path = sh.run(sh.Scenario(duration="until-done", topology=topology, traffic=traffic, cc="dctcp")).why(
        task="job"
    )
    return path.html(tmp_path / "task.html", slack=path.slack())


def place(browser, chart, axes, x, y):
    """Where in the window a point of a chart is, from 0 to 1 of the sides of its axes."""
    return browser.run(f"""
        const chart = [...document.querySelectorAll(".chart")].filter(one => one.offsetWidth)[{chart}];
        chart.scrollIntoView({{block: "center"}});
        const [left, top, width, height] = JSON.parse(chart.querySelector("script").textContent)[{axes}].box;
        const at = new DOMPoint(left + {x} * width, top + (1 - {y}) * height);
        const there = at.matrixTransform(chart.querySelector("svg").getScreenCTM());
        return [there.x, there.y];""")


def tip(browser):
    return browser.run(
        "return [...document.querySelectorAll('.tip')].filter(one => !one.hidden).map(one => one.innerText)"
    )


def test_a_pointer_reads_what_the_table_says(browser, mouse):
    browser.go(mouse.as_uri())
    assert re.search(r"<td>queue</td><td class=\"number\">55\.00</td>", mouse.read_text())
    browser.point(*place(browser, 0, 0, 0.5, 0.25))
    assert tip(browser) == ["queue: 55.00 us at s->c\nbehind flow 0\nfrom 2.20 us on"]


def test_a_page_of_a_task_shows_its_path_under_the_pointer(browser, task_page):
    """The path lasts 34.4 us; a fifth of the way at h0, the upper of two rows, it computes."""
    browser.go(task_page.as_uri())
    text = task_page.read_text()
    assert re.search(r'<td>computation</td><td class="number">30\.00</td>', text)
    assert "slack: it could have ended later by" in text
    assert re.search(r'computation 1: h1, step 2</td><td class="number">30\.40</td>', text)
    browser.point(*place(browser, 0, 0, 0.2, 0.75))
    assert tip(browser) == ["computation: 30.00 us\ncomputation 0: h0, step 0\nfrom 0.00 us on"]
    assert browser.complaints() == []


@pytest.mark.parametrize("width", [1100, 390])
def test_a_page_of_a_task_fits_a_window_and_a_phone(browser, task_page, width):
    browser.devtools(
        "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500
    )
    browser.go(task_page.as_uri())
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.run("return performance.getEntriesByType('resource').length") == 0


def test_a_pointer_reads_a_line(browser, made):
    folder, page, _ = made
    browser.go(page.as_uri())
    slowest = np.nanmax(sh.Run.load(folder / "small").flows.fct_us) / 1e3
    number = [figure.split('"')[0] for figure in page.read_text().split('aria-label="')[1:]].index(
        "Share of the flows with an end that are known to have completed within this time."
    )
    browser.point(*place(browser, number, 0, 0.999, 0.5))
    assert tip(browser) == [f"fct (ms): {slowest:.6g}\ndctcp: 1"]


@pytest.mark.parametrize("width", [1100, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_a_window_and_a_phone(browser, made, width, scheme):
    browser.emulate(prefers_color_scheme=scheme)
    browser.devtools(
        "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500
    )
    browser.go(made[1].as_uri())
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.complaints() == []
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    shown = "[...document.querySelectorAll('.chart.{}')].every(one => one.offsetWidth > 300)"
    assert browser.run("return " + shown.format("narrow" if width < 500 else "broad"))
    back = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(255, 255, 255)") == (scheme == "light")


def test_paper_has_no_navigation(browser, made):
    browser.emulate(media="print", prefers_color_scheme="dark")
    browser.go(made[1].as_uri())
    assert browser.run("return getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    browser.emulate()

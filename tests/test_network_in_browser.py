"""The page of a network over time in a browser: what it shows at a moment is what the run recorded then."""

import re
import time

import matplotlib
import pytest

import shallows as sh
import webdriver
from shallows.pages import moments, topology
from shallows.why import page as report
from shallows.why.pauses import Pauses
from shallows.why.record import of_scenario
from slope import ODD, data, paused, recorded, scenario


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run, and its page in a file."""
    run = sh.run(scenario())
    return run, report.write(tmp_path_factory.mktemp("network") / "network.html", topology.network(run))


@pytest.fixture(scope="module")
def browser():
    if webdriver.missing():
        pytest.skip(webdriver.missing())
    with webdriver.browser() as opened:
        yield opened


def until(browser, script):
    """Wait until a script returns something true; return it."""
    for _ in range(200):
        if found := browser.run(script):
            return found
        time.sleep(0.05)
    raise AssertionError(f"never true: {script}")


@pytest.fixture
def opened(browser, made):
    browser.devtools("Emulation.clearDeviceMetricsOverride")
    browser.emulate(prefers_color_scheme="light")
    browser.go(made[1].as_uri())
    until(browser, "return document.querySelector('.network').dataset.ready")
    return browser


def move(browser, to):
    browser.run(f"""const slider = document.querySelector("input[type=range]");
        slider.value = {to}; slider.dispatchEvent(new Event("input", {{bubbles: true}}));""")


def looks(browser, link):
    """The colour of a half cable, the colour and radius of its dot, and whether it is drawn as failed."""
    return browser.run(f"""const half = document.querySelectorAll(".half")[{link}];
        const dot = document.querySelectorAll("circle.queue")[{link}];
        return [getComputedStyle(half).stroke, getComputedStyle(dot).fill, +dot.getAttribute("r"),
            half.classList.contains("down")];""")


def along(browser, link, share):
    """Where in the window a share of the way along a half cable is."""
    return browser.run(f"""const half = document.querySelectorAll(".half")[{link}];
        const on = half.getPointAtLength(half.getTotalLength() * {share});
        const at = on.matrixTransform(half.getScreenCTM());
        return [at.x, at.y];""")


def tips(browser):
    return browser.run(
        "return [...document.querySelectorAll('.tip')].filter(one => !one.hidden).map(one => one.innerText)"
    )


def rgb(colours, percent):
    red, green, blue = (round(255 * part) for part in matplotlib.colormaps[colours](percent / 100)[:3])
    return f"rgb({red}, {green}, {blue})"


def drawn(browser):
    """Every colour, width, dot, failure and row of the page."""
    return browser.run("""const all = (which, look) => [...document.querySelectorAll(which)].map(look);
        const width = one => (+one.style.strokeWidth).toFixed(2);
        return [all(".half", one => [one.style.stroke, width(one), one.getAttribute("class")]),
            all(".cross", one => one.getAttribute("class")), all("td", one => one.innerText),
            all("circle.queue", one => one.getAttribute("r")).map(Number),
            all("circle.queue", one => +one.getAttribute("r") && one.style.fill)];""")


def test_the_script_draws_the_busiest_moment_as_it_was_drawn_without_it(opened, made, tmp_path):
    by_script = drawn(opened)
    still = tmp_path / "still.html"
    still.write_text(re.sub(r"<script>.*?</script>", "", made[1].read_text(), flags=re.DOTALL))
    opened.go(still.as_uri())
    assert drawn(opened) == by_script


@pytest.mark.parametrize("at_us", [50.0, 105.0, 250.0, 335.0, 1000.0, 2995.0])
def test_the_slider_shows_what_was_recorded_at_its_time(opened, made, at_us):
    run, page = made
    found, net = data(page.read_text()), run.scenario.graph
    edges = found["edges"]
    moment = next(at for at in range(len(edges) - 1) if edges[at] <= at_us < edges[at + 1])
    move(opened, moment)
    most = int(run.queues.queue_bytes.max())
    for port in ("a->s", "s->b", "s->a", f"{ODD}->s"):
        percent, longest = recorded(run, port, edges[moment], edges[moment + 1])
        stroke, fill, radius, _ = looks(opened, net.port(port))
        assert stroke == rgb("viridis_r", percent), port
        share = longest / most if longest > 1500 else 0
        assert radius == pytest.approx(found["radius"] * share**0.5, abs=0.05)
        if share:
            # On a light page the colours of queues begin at 30 % of their scale.
            assert fill in {rgb("OrRd", 30 + 0.7 * (round(100 * share) + off)) for off in (-1, 0, 1)}
    assert opened.run("return document.querySelector('output').value") == found["times"][moment]
    label = opened.run("return document.querySelector('.map svg').getAttribute('aria-label')")
    assert label == f"slope: the network over time, at {found['times'][moment]}"
    assert opened.complaints() == []


def test_a_failed_link_is_drawn_as_failed_only_while_it_is_down(opened, made):
    run, page = made
    edges, link = data(page.read_text())["edges"], run.scenario.graph.port(f"{ODD}->s")
    for at_us, failed in ((450, False), (520, True), (880, True), (930, False)):
        move(opened, next(at for at in range(len(edges) - 1) if edges[at] <= at_us < edges[at + 1]))
        assert looks(opened, link)[3] == failed, at_us
        assert looks(opened, run.scenario.graph.port("s->b"))[3] is False
        shown = opened.run("return getComputedStyle(document.querySelector('.cables .cross')).visibility")
        assert shown == ("visible" if failed else "hidden"), at_us


def test_the_pointer_names_a_cable_and_what_it_carries(opened, made):
    run, page = made
    found = data(page.read_text())
    move(opened, 20)
    link = run.scenario.graph.port("s->b")
    x, y = along(opened, link, 0.7)
    opened.point(x, y)
    _, longest = recorded(run, "s->b", *found["edges"][20:22])
    expected = [
        "s->b",
        f"1 Gbit/s, utilization 100 %, queue {longest / 1500:.1f} frames",
        "b->s",
        f"1 Gbit/s, utilization {recorded(run, 'b->s', *found['edges'][20:22])[0]} %, queue 0.0 frames",
    ]
    assert tips(opened)[0].split("\n") == expected
    first = opened.run("return [...document.querySelector('tbody tr').cells].map(cell => cell.innerText)")
    assert first == ["s->b", "100 %", f"{longest / 1500:.1f}"]
    opened.point(2, 2)
    assert tips(opened) == []


def test_the_pointer_tells_of_a_fault_while_it_lasts(opened, made):
    run, page = made
    edges = data(page.read_text())["edges"]
    x, y = along(opened, run.scenario.graph.port(f"{ODD}->s"), 0.5)
    opened.point(x, y)
    for at_us, lines in ((450, 0), (700, 2)):
        move(opened, next(at for at in range(len(edges) - 1) if edges[at] <= at_us < edges[at + 1]))
        told = tips(opened)[0].split("\n")
        assert told[0] == f"{ODD}->s"
        assert told.count("down from 500 to 900 us") == lines


def test_a_paused_port_is_dashed_and_named(opened, tmp_path):
    """By samples a share is known to one of the 13 of a moment, by the events of the link exactly."""
    run = sh.run(paused())
    page = report.write(tmp_path / "paused.html", topology.network(run))
    opened.go(page.as_uri())
    until(opened, "return document.querySelector('.network').dataset.ready")
    link, edges = run.scenario.graph.port("s->t"), data(page.read_text())["edges"]
    spans = [pause for pause in Pauses(of_scenario(run.scenario, [])).all if pause.link == link]
    opened.point(*along(opened, link, 0.5))
    for at in (3, *range(120, 150, 3)):
        move(opened, at)
        begin, end = edges[at] * 1e6, edges[at + 1] * 1e6
        inside = (max(min(pause.until_ps, end) - max(pause.since_ps, begin), 0) for pause in spans)
        exact = 100 * sum(inside) / (end - begin)
        said = re.search(r"paused for (\d+) % of the time", tips(opened)[0])
        shown = int(said[1]) if said else 0
        assert shown == pytest.approx(exact, abs=100 / 13 + 1)
        look = f"return document.querySelectorAll('.half')[{link}].classList.contains('paused')"
        assert opened.run(look) == (shown >= 50)


def test_play_goes_on_and_stops(opened):
    value = "return +document.querySelector('input[type=range]').value"
    move(opened, 3)
    opened.click(".player button")
    until(opened, f"return (() => {{ {value} }})() >= 6")
    opened.click(".player button")
    stopped = opened.run(value)
    time.sleep(0.4)
    assert opened.run(value) == stopped
    last = opened.run("return +document.querySelector('input[type=range]').max")
    move(opened, last - 1)
    opened.click(".player button")
    until(opened, "return document.querySelector('.network').dataset.playing === 'false'")
    assert opened.run(value) == last


def test_keys_move_the_slider(opened, made):
    times = data(made[1].read_text())["times"]
    move(opened, 3)
    opened.run("document.querySelector('input[type=range]').focus()")
    for kind in ("rawKeyDown", "keyUp"):
        opened.devtools("Input.dispatchKeyEvent", type=kind, key="ArrowRight", windowsVirtualKeyCode=39)
    assert opened.run("return document.querySelector('output').value") == times[4]
    assert opened.run("return document.activeElement.getAttribute('aria-valuetext')") == times[4]


def test_without_javascript_the_busiest_moment_is_drawn(browser, made):
    run, page = made
    at = moments.of_run(run, run.scenario.graph).busiest
    text, found = page.read_text(), data(page.read_text())
    assert f"The busiest moment, {found['times'][at]}." in text
    halves = re.findall(r'<path class="half" d="[^"]+" style="stroke:var\(--u(\d+)\)', text)
    edges = found["edges"][at : at + 2]
    names = run.scenario.graph.port_names
    assert [int(percent) for percent in halves] == [recorded(run, port, *edges)[0] for port in names]
    browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.go(page.as_uri())
        shown = browser.run(
            "return [document.querySelector('.static').offsetHeight > 0,"
            "document.querySelector('.player').offsetHeight > 0]"
        )
    finally:
        browser.devtools("Emulation.setScriptExecutionDisabled", value=False)
    assert shown == [True, False]


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_a_window_and_a_phone(opened, width, scheme):
    opened.emulate(prefers_color_scheme=scheme)
    opened.devtools(
        "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500
    )
    assert opened.run("return document.documentElement.scrollWidth") <= width
    assert opened.run("return performance.getEntriesByType('resource').length") == 0
    back = opened.run("return getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(255, 255, 255)") == (scheme == "light")
    assert opened.complaints() == []

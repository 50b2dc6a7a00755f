"""The page of a network over time: what it shows at a moment is what the run recorded then."""

import json
import re
import time
from html import unescape

import matplotlib
import numpy as np
import pytest
from typer.testing import CliRunner

import shallows as sh
import webdriver
from shallows import cli
from shallows.errors import ScenarioError
from shallows.pages import frames, topology

ODD = "c<&\"'>"
EDGES = [["a", "s", "10Gbps", "1us"], ["s", "b", "1Gbps", "1us"], [ODD, "s", "10Gbps", "1us"]]
FLOW = [[100e-6, "a", "b", 200 * 1460]]
FAULT = {"link": f"{ODD}<->s", "kind": "down", "at": "500us", "until": "900us"}
SAMPLED = {"ports": "all", "queues": "1.007us"}


def scenario(**tables):
    """200 frames from 10 Gbit/s into 1 Gbit/s, from 100 us on: one leaves a in 1.2 us and s in 12 us."""
    given = {
        "name": "slope",
        "duration": "3ms",
        "topology": {"kind": "graph", "edges": EDGES, "hosts": ["a", "b", ODD]},
        "traffic": [{"kind": "trace", "flows": FLOW}],
        "cc": {"name": "fixed", "window": "1000pkt"},
        "network": {"buffer": "unlimited"},
        "faults": [FAULT],
        "record": SAMPLED,
    }
    return sh.Scenario(**{**given, **tables})


def shallows(*words):
    return CliRunner().invoke(cli.app, [str(word) for word in words])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run, loaded from its folder, and its page as `shallows draw` writes it."""
    folder = tmp_path_factory.mktemp("network")
    sh.run(scenario()).save(folder / "run")
    done = shallows("draw", folder / "run", "--out", folder / "network.html")
    assert done.exit_code == 0, done.output
    return sh.Run.load(folder / "run"), folder / "network.html"


def data(page):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', page)[1])


def recorded(run, port, begin_us, end_us):
    """(percent of samples with a queue, longest queue in bytes) of a port in a span, from the table."""
    queues = run.queues
    its = queues[(queues.port == port) & (queues.time_us >= begin_us - 1e-9)]
    its = its[its.time_us < end_us - 1e-9]
    return round(100 * float((its.queue_bytes > 0).mean())), int(its.queue_bytes.max())


def test_a_frame_has_the_share_of_sending_and_the_longest_queue(made):
    """From 102.2 us, when its first frame is in s, s gets a frame every 1.2 us and sends one every 12 us."""
    run, _ = made
    shown = frames.of_run(run, run.scenario.network)
    port = {run.scenario.network.port_names[link]: row for row, link in enumerate(shown.links)}
    assert len(shown.samples) <= frames.MOST_FRAMES
    assert shown.samples.sum() == 2980  # 3 ms / 1.007 us, and one at 0
    at = int(np.searchsorted(shown.edges_us, 200.0))  # a frame begins soon after 200 us
    a, s = port["a->s"], port["s->b"]
    assert shown.utilization[[a, s], at].tolist() == [1, 1]
    last_us = shown.edges_us[at + 1] - 1.007
    waiting = (last_us - 102.2) * (1 / 1.2 - 1 / 12)
    assert shown.queue_bytes[s, at] / 1500 == pytest.approx(waiting, abs=1.5)
    assert shown.utilization[:, : int(100 / 13.1)].max() == 0
    late = int(np.searchsorted(shown.edges_us, 400.0))  # a has sent all by 100 + 200 * 1.2 = 340 us
    assert shown.utilization[[a, s], late].tolist() == [0, 1]
    assert shown.busiest == int(np.searchsorted(shown.edges_us, 341.2)) - 1
    assert shown.error < 0.005


def test_a_link_fails_from_and_until(made):
    run, _ = made
    net = run.scenario.network
    shown = frames.of_run(run, net)
    both = [net.port(f"{ODD}->s"), net.port(f"s->{ODD}")]
    assert sorted(shown.down) == [(link, 500.0, 900.0) for link in both]
    failed = [at for at in range(len(shown.samples)) if shown.failed(at)]
    assert shown.edges_us[failed[0]] <= 500 < shown.edges_us[failed[0] + 1]
    assert shown.edges_us[failed[-1]] < 900 <= shown.edges_us[failed[-1] + 1]
    assert failed == list(range(failed[0], failed[-1] + 1))


def test_repeated_failures_are_times_of_their_own_and_end_with_the_run():
    flap = {"link": "s->b", "kind": "flap", "at": "1ms", "until": "2ms", "period": "500us", "duty": 0.2}
    lasting = {"link": f"{ODD}->s", "kind": "down", "at": "2.5ms"}
    run = sh.run(scenario(faults=[flap, lasting], hosts={"rto_initial": "1ms"}))
    net = run.scenario.network
    expected = [("s->b", 1000, 1100), ("s->b", 1500, 1600), (f"{ODD}->s", 2500, 3000)]
    assert frames.failures(run, net) == [(net.port(port), since, until) for port, since, until in expected]


def test_a_port_that_is_down_does_not_send():
    down = {"link": "s->b", "kind": "down", "at": "300us", "until": "2ms"}
    run = sh.run(scenario(faults=[down], hosts={"rto_initial": "1s"}))
    net = run.scenario.network
    shown = frames.of_run(run, net)
    row = shown.links.tolist().index(net.port("s->b"))
    inside = (shown.edges_us[:-1] > 300) & (shown.edges_us[1:] < 2000)
    assert inside.sum() > 100
    assert shown.utilization[row, inside].max() == 0


def test_a_page_of_a_saved_run_is_that_of_the_run(made):
    run, page = made
    assert topology.network(sh.run(run.scenario)) == page.read_text()


def test_a_run_of_one_sample_has_one_frame():
    page = topology.network(sh.run(scenario(record={"ports": "all", "queues": "5ms"})))
    found = data(page)
    assert (found["samples"], found["times"]) == ([1], ["0.000 us"])
    assert 'min="0" max="0"' in page
    assert "is a single sample" in page


def test_ports_that_were_not_recorded_have_no_colour():
    page = topology.network(sh.run(scenario(record={"queues": "1.007us", "ports": ["s->b"]})))
    assert len(re.findall(r'<path class="half" [^>]*style="stroke', page)) == 1
    assert "1 of 6 ports were recorded" in page
    assert "not recorded</span>" in page


@pytest.mark.parametrize(
    "table",
    [
        {
            "kind": "leaf-spine",
            "leaves": 2,
            "spines": 2,
            "hosts_per_leaf": 2,
            "planes": 2,
            "links_per_pair": 2,
        },
        {"kind": "rail-optimised", "servers": 2, "gpus": 3, "spines": 2},
        {"kind": "dragonfly+"},
    ],
    ids=lambda table: table["kind"],
)
def test_every_direction_of_every_cable_is_drawn_apart(table):
    traffic = [{"kind": "long-lived", "flows": 2, "from": ["h0", "h1"], "to": ["h2", "h3"]}]
    run = sh.run(sh.Scenario(topology=table, cc="dctcp", traffic=traffic, duration="100us", record=SAMPLED))
    page = topology.network(run)
    halves = re.findall(r'<path class="half" d="([^"]+)"', page)
    assert len(set(halves)) == len(halves) == len(run.scenario.network.port_names)


def test_a_large_fabric_is_a_small_page():
    """A fat tree of k = 8 has 384 cables and 128 hosts; with all of its hosts it has 768 ports."""
    traffic = [{"kind": "poisson", "load": 0.6, "sizes": "websearch"}]
    record = {"ports": "all", "queues": "503.5ns"}
    table = {"kind": "fat-tree", "k": 8}
    run = sh.run(sh.Scenario(topology=table, cc="dctcp", traffic=traffic, duration="2ms", record=record))
    page = topology.network(run)
    found = data(page)
    assert len(found["links"]) == 768
    assert len(found["samples"]) <= 240
    assert sum(found["samples"]) == 3973  # 2 ms / 503.5 ns, and one at 0
    assert len(page) < 1_000_000


def test_a_page_needs_nothing_but_itself_and_names_are_text(made):
    text = made[1].read_text()
    assert "http" not in text
    assert not re.findall(r'(?:src|href)="(?!#)', text)
    assert ODD not in text
    assert unescape(re.search(r"<title>(c[^<]*)</title>", text)[1]) == ODD


def test_round_intervals_are_warned_of(made):
    assert "Shorter intervals come closer" not in made[1].read_text()
    # One frame in flight: 15.2 us to b, and an acknowledgement of 64 B back in 2.5632 us. The sample of each
    # round meets the same phase of it, though a sends for 1.2 us of 17.7632 us.
    round_trip = {"ports": ["a->s"], "queues": "17.7632us"}
    run = sh.run(scenario(cc={"name": "fixed", "window": "1pkt"}, faults=[], record=round_trip))
    assert recorded(run, "a->s", 200, 3000)[0] in (0, 100)
    assert "Shorter intervals come closer" in topology.network(run)


def test_a_scenario_has_no_page_and_the_message_says_how_to_make_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slope.toml").write_text(scenario(record={}).to_toml())
    refused = shallows("draw", "slope.toml", "--out", "network.html")
    assert refused.exit_code == 2
    assert "nothing has happened in a scenario" in refused.stderr
    _obey(refused.stderr)
    assert (tmp_path / "network.html").is_file()


def test_a_result_without_samples_says_how_to_record_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sh.run(scenario(record={})).save("run")
    refused = shallows("draw", "run", "--out", "network.html")
    assert refused.exit_code == 2
    assert re.search(r"run: no samples of ports: expected .*record\.queues = \"1007ns\"", refused.stderr)
    assert not (tmp_path / "network.html").exists()
    _obey(refused.stderr)
    done = shallows("draw", "run-sampled", "--out", "network.html")
    assert done.exit_code == 0, done.output
    with pytest.raises(
        ScenarioError, match=r'overrides=\{"record\.ports": "all", "record\.queues": "1007ns"\}'
    ):
        topology.network(sh.run(scenario(record={})))


def _obey(message):
    """Type what a message says to write."""
    said = re.search(r"(shallows run .*)", message.replace("\n", " "))[1]
    for command in said.split(" && "):
        done = shallows(*command.split()[1:])
        assert done.exit_code == 0, f"{command}\n{done.output}"


def test_a_page_of_something_else_is_not_replaced(made, tmp_path):
    (tmp_path / "mine.html").write_text("<p>mine</p>")
    run = made[1].with_name("run")
    refused = shallows("draw", run, "--out", tmp_path / "mine.html")
    assert (refused.exit_code, (tmp_path / "mine.html").read_text()) == (2, "<p>mine</p>")
    assert shallows("draw", run, "--out", run / "network.html").exit_code == 2
    assert "not that of a figure" in shallows("draw", run, "--out", tmp_path / "network.gif").stderr


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


def rgb(colours, percent):
    red, green, blue = (round(255 * part) for part in matplotlib.colormaps[colours](percent / 100)[:3])
    return f"rgb({red}, {green}, {blue})"


@pytest.mark.parametrize("at_us", [50.0, 105.0, 250.0, 335.0, 1000.0, 2995.0])
def test_the_slider_shows_what_was_recorded_at_its_time(opened, made, at_us):
    run, page = made
    found, net = data(page.read_text()), run.scenario.network
    edges = found["edges"]
    frame = next(at for at in range(len(edges) - 1) if edges[at] <= at_us < edges[at + 1])
    move(opened, frame)
    most = int(run.queues.queue_bytes.max())
    for port in ("a->s", "s->b", "s->a", f"{ODD}->s"):
        percent, longest = recorded(run, port, edges[frame], edges[frame + 1])
        stroke, fill, radius, _ = looks(opened, net.port(port))
        assert stroke == rgb("viridis_r", percent), port
        share = longest / most if longest > 1500 else 0
        assert radius == pytest.approx(found["radius"] * share**0.5, abs=0.05)
        if share:
            assert fill in {rgb("OrRd", round(100 * share) + off) for off in (-1, 0, 1)}
    assert opened.run("return document.querySelector('output').value") == found["times"][frame]
    assert opened.complaints() == []


def test_a_failed_link_is_drawn_as_failed_only_while_it_is_down(opened, made):
    run, page = made
    edges, link = data(page.read_text())["edges"], run.scenario.network.port(f"{ODD}->s")
    for at_us, failed in ((450, False), (520, True), (880, True), (930, False)):
        move(opened, next(at for at in range(len(edges) - 1) if edges[at] <= at_us < edges[at + 1]))
        assert looks(opened, link)[3] == failed, at_us
        assert looks(opened, run.scenario.network.port("s->b"))[3] is False
        shown = opened.run("return getComputedStyle(document.querySelector('.cables .cross')).visibility")
        assert shown == ("visible" if failed else "hidden"), at_us


def test_the_pointer_names_a_cable_and_what_it_carries(opened, made):
    run, page = made
    found = data(page.read_text())
    move(opened, 20)
    link = run.scenario.network.port("s->b")
    x, y = opened.run(f"""const half = document.querySelectorAll(".half")[{link}];
        const at = half.getPointAtLength(half.getTotalLength() * .7).matrixTransform(half.getScreenCTM());
        return [at.x, at.y];""")
    opened.point(x, y)
    _, longest = recorded(run, "s->b", *found["edges"][20:22])
    expected = [
        "s->b",
        f"1 Gbit/s, utilization 100 %, queue {longest / 1500:.1f} frames",
        "b->s",
        f"1 Gbit/s, utilization {recorded(run, 'b->s', *found['edges'][20:22])[0]} %, queue 0.0 frames",
    ]
    text = (
        "return [...document.querySelectorAll('.tip')].filter(one => !one.hidden).map(one => one.innerText)"
    )
    assert opened.run(text)[0].split("\n") == expected
    first = opened.run("return [...document.querySelector('tbody tr').cells].map(cell => cell.innerText)")
    assert first == ["s->b", "100 %", f"{longest / 1500:.1f}"]
    opened.point(2, 2)
    assert opened.run(text) == []


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
    at = frames.of_run(run, run.scenario.network).busiest
    text, found = page.read_text(), data(page.read_text())
    assert f"The busiest moment, {found['times'][at]}." in text
    halves = re.findall(r'<path class="half" d="[^"]+" style="stroke:var\(--u(\d+)\)', text)
    edges = found["edges"][at : at + 2]
    names = run.scenario.network.port_names
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

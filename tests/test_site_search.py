"""The search of the site finds the page for a question, in a browser; readers begin there."""

import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import webdriver

pytestmark = pytest.mark.repository

ROOT = Path(__file__).parents[1]
ANSWERS = {
    "RED ramp on spines only": "scenario-ports.html#a-red-ramp-on-the-spines-only",
    "backlog_p99_us": "columns.html#ports.backlog_p99_us",
    "sweep threshold camera-ready PDF": "notebooks/sweep.html",
    "slowest flow": "gallery.html#the-waterfall-of-the-slowest-flow",
}
"""What a reader types, and what should be among the first page and its first section."""
SEARCH = """
document.querySelector("#__search").checked = true;
const input = document.querySelector("input.md-search__input");
input.focus();
input.value = %r;
input.dispatchEvent(new Event("keyup", {bubbles: true}));
"""
FIRST = """
const item = document.querySelector(".md-search-result__item");
return item ? [...item.querySelectorAll("a")].slice(0, 2).map(one => one.getAttribute("href")) : [];
"""
WITHIN_S = 60
"""A loaded machine needs seconds for the index."""


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and prints nothing."""

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the built site."""
    build = pytest.importorskip("mkdocs.commands.build", reason="mkdocs comes with make lint")
    pytest.importorskip("mkdocstrings", reason="mkdocstrings comes with make lint")
    from mkdocs.config import load_config

    folder = str(tmp_path_factory.mktemp("site"))
    build.build(load_config(str(ROOT / "mkdocs.yml"), site_dir=folder, strict=True))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.thorough
@pytest.mark.skipif(webdriver.missing() is not None, reason=str(webdriver.missing()))
def test_the_first_answer_of_the_search_is_the_page_for_the_question(site):
    with webdriver.browser() as browser:
        for question, answer in ANSWERS.items():
            browser.go(f"{site}/index.html")
            browser.run(SEARCH % question)
            deadline = time.monotonic() + WITHIN_S
            while not (found := browser.run(FIRST)) and time.monotonic() < deadline:
                time.sleep(0.2)
            places = [link.removeprefix(f"{site}/").partition("?") for link in found]
            shown = [page + "#" * ("#" in rest) + rest.partition("#")[2] for page, _, rest in places]
            assert answer in shown, (question, shown)

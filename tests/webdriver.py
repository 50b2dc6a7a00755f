"""A browser for tests: Chromium by its driver (W3C WebDriver), as much as a click needs."""

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from contextlib import contextmanager

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def missing():
    """Why there is no browser, or None."""
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return None


class Browser:
    """A session of a headless Chromium."""

    def __init__(self, address):
        self._address = address
        options = {
            "binary": shutil.which("chromium"),
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        }
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        asked = {"capabilities": {"alwaysMatch": wanted}}
        self._session = "/session/" + self._ask("POST", "/session", asked)["sessionId"]

    def _ask(self, method, path, body=None):
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(self._address + path, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"].partition("\n")[0]) from None

    def go(self, address):
        self._ask("POST", f"{self._session}/url", {"url": address})

    @property
    def address(self):
        return self._ask("GET", f"{self._session}/url")

    def run(self, script):
        """What a piece of JavaScript returns."""
        return self._ask("POST", f"{self._session}/execute/sync", {"script": script, "args": []})

    def click(self, selector):
        found = self._ask("POST", f"{self._session}/element", {"using": "css selector", "value": selector})
        self._ask("POST", f"{self._session}/element/{found[ELEMENT]}/click")

    def resize(self, width, height):
        self._ask("POST", f"{self._session}/window/rect", {"width": width, "height": height})

    def devtools(self, command, **parameters):
        """What Chromium's own protocol answers: pointers, media, pictures."""
        asked = {"cmd": command, "params": parameters}
        return self._ask("POST", f"{self._session}/goog/cdp/execute", asked)

    def point(self, x, y):
        """Move the mouse to a place in the window, and wait until the page, once per frame, has noticed."""
        self.devtools("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.devtools(
            "Runtime.evaluate",
            expression="new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))",
            awaitPromise=True,
        )

    def emulate(self, media="", **features):
        """Show the page as printed (`media` "print"), or as somebody prefers it."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.devtools("Emulation.setEmulatedMedia", media=media, features=named)

    def complaints(self):
        """What the console has said since it was last asked."""
        return [
            entry["message"] for entry in self._ask("POST", f"{self._session}/se/log", {"type": "browser"})
        ]

    def close(self):
        self._ask("DELETE", self._session)


@contextmanager
def browser():
    """A `Browser`, ended in the end."""
    said = {"stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(["chromedriver", "--port=0"], **said) as driver:
        try:
            opened = Browser(f"http://127.0.0.1:{_port(driver.stdout)}")
            try:
                yield opened
            finally:
                opened.close()
        finally:
            driver.terminate()


def _port(lines):
    """The port that it has found free, said once it listens there."""
    for line in lines:
        if found := re.search(r"started successfully on port (\d+)", line):
            return found[1]
    raise ConnectionError("chromedriver ended before it listened")

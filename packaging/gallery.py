"""Draws the gallery: runs the commands of gallery.toml, and writes their figures and docs/gallery.md.

    python packaging/gallery.py         draws all figures: `make gallery`
    python packaging/gallery.py --page  writes the page alone

A page is photographed by Chromium, where it is installed.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from shallows import plot

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_name("gallery.toml")
PAGE = ROOT / "docs" / "gallery.md"
FIGURES = ROOT / "docs" / "figures" / "gallery"
HEAD = """\
# Gallery

From this page you find the command that draws a figure or writes a page. The commands of a section run in
order in one folder. They need the extras `plot` and `fluid` ([install](tutorial.md#1-install)). In the
repository `make gallery` runs all of them and draws this page again.
"""
SCREEN = (1000, 800)
"""Width and height in pixels of the picture of a page."""


def sections():
    """The sections of the gallery: {title: its entries, each with title, name, commands and file}."""
    return tomllib.loads(LIST.read_text("utf-8"))["sections"]


PANELS = """\
## Panels of a figure

The panels that a figure chooses from. `run.plot.NAME(ax)` draws one of them on your own axes.

```python
import shallows as sh

slower = sh.Fault(link="s0->s1", kind="rate", value="5Gbps", at="120ms", until="160ms")
runs = [
    sh.run("dctcp-sawtooth", overrides={"duration": "200ms", "traffic.0.flows": 4}),
    sh.run("racks.toml", cc="dctcp"),
    sh.run("dctcp-sawtooth", overrides={"duration": "200ms", "faults": [slower]}),
]
for panel in sh.plot.PANELS:
    run = next(one for one in runs if panel in sh.plot.panels(one))
    sh.plot.single(panel, run).savefig(f"{panel.__name__}.png")
```
"""
"""The section of the panels, which the loop of its block draws. The scenario is that of the sweep."""


def page():
    """The page of the gallery, as Markdown."""
    lines = [HEAD]
    for section in sections():
        lines += [f"## {section['title']}", ""]
        if "scenario" in section:
            lines += ["```toml", section["scenario"].rstrip("\n"), "```", ""]
        for entry in section["figures"]:
            commands = "\n".join(entry["commands"])
            lines += [f"### {entry['title']}", "", "```sh", commands, "```", ""]
            lines += [f"![{entry['title']}](figures/gallery/{entry['name']}.png)", ""]
            lines += [entry["about"], ""]
    lines += [PANELS]
    for panel in plot.PANELS:
        title = " ".join((panel.__doc__ or "").split(". ")[0].split()).rstrip(".")
        lines += [
            f"`{panel.__name__}`: {title}.",
            "",
            f"![{title}](figures/gallery/{panel.__name__}.png)",
            "",
        ]
    return "\n".join(lines)


def run_panels(folder):
    """Run the block of the panels in a folder; return its figures."""
    (folder / "racks.toml").write_text(
        next(one["scenario"] for one in sections() if one["title"] == "A sweep")
    )
    block = PANELS.partition("```python\n")[2].partition("```")[0]
    subprocess.run([sys.executable, "-c", block], cwd=folder, check=True)
    return [folder / f"{panel.__name__}.png" for panel in plot.PANELS]


def run(section, folder):
    """Run the commands of a section in a folder; yield (name, file) of each figure or page."""
    if "scenario" in section:
        text = section["scenario"]
        (folder / text.splitlines()[0].removeprefix("# ")).write_text(text, "utf-8")
    for entry in section["figures"]:
        for command in entry["commands"]:
            words = shlex.split(command)
            subprocess.run([sys.executable, "-m", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        yield entry["name"], next(folder.glob(entry["file"]))


def draw(section, folder):
    """Run the commands of a section in a folder, and copy its figures."""
    for name, file in run(section, folder):
        target = FIGURES / f"{name}.png"
        if file.suffix == ".html":
            photograph(file, target)
        else:
            shutil.copy(file, target)


def photograph(file, target):
    """A picture of an HTML page, if Chromium is installed."""
    if shutil.which("chromium"):
        size = ",".join(map(str, SCREEN))
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--window-size={size}",
        ]
        command = ["chromium", *flags, f"--screenshot={target}", file.as_uri()]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def main():
    """Draw the figures, unless only the page is asked for, and write the page."""
    PAGE.write_text(page(), "utf-8")
    if "--page" in sys.argv:
        return
    os.environ["PYTHONPATH"] = str(ROOT / "python")
    FIGURES.mkdir(parents=True, exist_ok=True)
    for section in sections():
        with tempfile.TemporaryDirectory() as folder:
            draw(section, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        for figure in run_panels(Path(folder)):
            shutil.copy(figure, FIGURES)


if __name__ == "__main__":
    main()

"""Pages of results: a run, a comparison, or the critical paths of some flows or a task.

Texts are those of the command line; figures are those of `shallows.plot` and `shallows.why.figure`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from shallows import plot
from shallows.base import names
from shallows.html.chart import Box, chart, colour
from shallows.html.document import document, html, section
from shallows.printing.report import comparison_report, run_report
from shallows.results import files
from shallows.why import figure as why_figure
from shallows.why import report as why_report
from shallows.why.task import TaskPath

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shallows.results.compared import Compared
    from shallows.results.run import RunData
    from shallows.why.path import Path as FlowPath
    from shallows.why.paths import Paths

Parts = dict[str, tuple[str, str]]
"""Sections of a page: {id: (title, HTML)}."""
SLOWEST = 10
"""Slowest flows of each run in its page."""
ONE_BY_ONE = 3
"""How many of them have a section each; in a comparison only the slowest of each run."""
MOST_PATHS = 20
"""The most paths with a section each, of flows that were asked for."""


def of_run(run: "RunData", paths: "Paths | None" = None) -> str:
    """The page of a `Run`, with the paths of its slowest flows where `paths` (`Paths`) has some."""
    text, *rest = run_report(run.summary)
    title, _, lines = str(text).partition("\n")
    parts = {
        "summary": ("Summary", html([lines, *rest])),
        "figures": ("Figures", _figures([run], None)),
        **_paths({"": paths} if paths else {}, ONE_BY_ONE),
        **_source([run]),
    }
    return _page(title, parts)


def of_comparison(comparison: "Compared", paths: "Mapping[str, Paths] | None" = None) -> str:
    """The page of a `Comparison`; `paths` are `{label: Paths}` of the slowest flows of its runs."""
    runs, labels = list(comparison.runs.values()), list(comparison.runs)
    first = runs[0].summary
    title = f"{first['name']}: {', '.join(labels)}, seed {first['seed']}"
    parts = {
        "summary": ("Summary", html(comparison_report(comparison))),
        "figures": ("Figures", _figures(runs, labels)),
        **_paths(paths or {}, 1),
        **_source(runs),
    }
    return _page(title, parts)


def of_paths(
    found: "Paths | TaskPath", costs: "why_report.Costs" = (), slack: "Mapping[int, int] | None" = None
) -> str:
    """The page of some flows or a task: where their time went, and the cost of others.

    `costs` are counterfactuals of these paths, and `slack` is that of the messages of a task.
    """
    if isinstance(found, TaskPath):
        whose, parts, source = found.title, _articles([("", found)]), _source([found.run])
        if slack is not None:
            source = {"slack": ("Slack", html(why_report.of_slack(found, slack))), **source}
    else:
        whose = f"flow {next(iter(found))}" if len(found) == 1 else f"{len(found)} flows"
        parts, source = _paths({"": found}, MOST_PATHS), {}
    if costs:
        parts["costs"] = ("Cost of others", html(why_report.of_without(costs)))
    return _page(f"{found.record.scenario.name}: time of {whose}", parts | source)


def write(file: str | PathLike[str], page: str) -> Path:
    """Write a page to `file`, making folders on the way; return its path."""
    return files.write_text(file, page)


def _page(title: str, parts: Parts) -> str:
    links = {key: name for key, (name, _) in parts.items()}
    sections = [section(key, name, body) for key, (name, body) in parts.items()]
    return document(title, links, [f"<h1>{names.html(title)}</h1>", *sections])


def _figures(runs: "Sequence[RunData]", labels: Sequence[str] | None) -> str:
    """Every figure that these runs have data for, and what their lines mean."""
    drawn: list[str] = []
    for number, panel in enumerate(plot.panels(runs, labels)):
        meaning = (panel.__doc__ or "").split("\n")[0]
        shown = chart(plot.single(panel, runs, labels), f"figure-{number}", meaning)
        drawn.append(f'<figure>{shown}<figcaption class="soft">{names.html(meaning)}</figcaption></figure>')
    key = _key(labels) if labels else ""
    hint = '<p class="soft">Move the pointer over a figure to read its values.</p>'
    return f'{hint}{key}<div class="grid">{"".join(drawn)}</div>'


def _key(labels: Sequence[str]) -> str:
    """The colour and dash of each run."""
    shown: list[str] = []
    for i, label in enumerate(labels):
        look = plot.look(i)
        dash: tuple[float, ...] = () if isinstance(look["linestyle"], str) else look["linestyle"][1]
        dashes = f' stroke-dasharray="{" ".join(str(2 * length) for length in dash)}"' if dash else ""
        style = f"stroke: {colour(look['color'])}"
        line = f'<line x1="0" x2="32" y1="6" y2="6" stroke-width="2.5"{dashes} style="{style}"/>'
        shown.append(
            f'<span><svg viewBox="0 0 32 12" aria-hidden="true">{line}</svg>{names.html(label)}</span>'
        )
    return f'<div class="key">{"".join(shown)}</div>'


def _paths(by_label: "Mapping[str, Paths]", most: int) -> Parts:
    """Sections on critical paths: all together, then `most` of each run one by one."""
    by_label = {label: paths for label, paths in by_label.items() if len(paths)}
    if not by_label:
        return {}
    shown = [(label, one) for label, paths in by_label.items() for one in list(paths.values())[:most]]
    together = "".join(_together(by_label))
    if not together:
        return _articles(shown)
    return {"time": ("Where the time went", together)} | _articles(shown, "The slowest flows")


def _articles(paths: "Iterable[tuple[str, FlowPath]]", title: str = "Where the time went") -> Parts:
    """A section on paths one by one, each with the label of its run."""
    return {"paths": (title, "".join(_article(one, label) for label, one in paths))}


def _together(by_label: "Mapping[str, Paths]") -> Iterator[str]:
    for label, paths in by_label.items():
        if len(paths) > 1:
            heading = f"{label}: " if label else ""
            yield f"<article><h3>{names.html(heading)}the {len(paths)} flows together</h3>"
            yield html(why_report.of_paths(paths))
            if len(paths) >= why_figure.DECILES:
                yield _both(f"tail-{label}", "Causes", paths, why_figure.tail)
            yield "</article>"


def _article(one: "FlowPath", label: str) -> str:
    """One flow or task: where its time went, and its path from place to place."""
    heading, *rest = why_report.of_path(one)
    title = f"{label}, {heading}" if label else str(heading)
    boxes = {0: why_figure.boxes(one)}
    shown = _both(f"path-{label}-{one.title}", title, one, why_figure.waterfall, boxes)
    return f"<article><h3>{names.html(title)}</h3>{shown}{html(rest)}</article>"


def _both(
    key: str,
    title: str,
    what: object,
    draw: "Callable[..., Figure]",
    boxes: Mapping[int, Iterable[Box]] | None = None,
) -> str:
    """A figure twice: for wide windows and for phones."""
    sizes = {"broad": why_figure.BROAD, "narrow": why_figure.NARROW}
    return "".join(
        chart(draw(what, size=size), f"{key}-{kind}", title, boxes, kind) for kind, size in sizes.items()
    )


def _source(runs: "Sequence[RunData]") -> Parts:
    """The facts that are needed to reproduce the numbers."""
    shown: list[str] = []
    for run in runs:
        summary = run.summary
        world = f"{', '.join(summary['cc'])}, {summary['world']} world"
        line = f"{world}: shallows {summary['version']}, seed {summary['seed']}"
        line += f", fingerprint {summary['fingerprint']}" if summary["fingerprint"] else ""
        file = (
            f"<details><summary>scenario.toml</summary><pre>{names.html(run.scenario_toml)}</pre></details>"
        )
        shown.append(f'<p class="soft">{names.html(line)}</p>{file}')
    return {"source": ("Reproduction", "".join(shown))}

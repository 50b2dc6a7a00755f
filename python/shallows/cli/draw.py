"""`shallows draw`: a figure of a scenario's network, or the page of a result's network over time."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from shallows.cli.settings import Trust
from shallows.cli.status import DONE, with_status


@with_status
def draw(
    what: Annotated[str, typer.Argument(metavar="SCENARIO|RESULT", help="A scenario or a result's folder.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FILE", help="A .png, .pdf or .svg file; .html: the network of RESULT over time."
        ),
    ] = Path("network.png"),
    trust: Trust = False,
) -> int:
    """Draw the network of SCENARIO, or that of RESULT with the utilization of its links as colour."""
    import numpy as np

    from shallows.base import extras
    from shallows.results import files
    from shallows.runs import Run
    from shallows.scenario import Scenario

    extras.need("plot", "draw")
    if out.suffix.lower() in files.PAGE.ends:
        return _page(what, out)
    files.check(out, files.FIGURE)
    from shallows.plot import topology

    run = Run.load(what) if (Path(what) / "summary.json").exists() else None
    scenario = run.scenario if run else Scenario.load(what)
    used = np.asarray(run.columns("ports")["utilization"], float) if run else None
    if used is not None and len(used) != len(scenario.graph.port_names):
        used = None  # a fluid has one port
    drawing = topology.network(scenario.graph, scenario.name, used)
    files.draw(drawing, out, title=scenario.name)
    print(f"written {out}")
    return DONE


def _page(what: str, out: Path) -> int:
    """Write the page of a result's network over time."""
    from shallows.errors import ScenarioError
    from shallows.pages import moments, topology
    from shallows.results import files
    from shallows.runs import Run
    from shallows.scenario import Scenario
    from shallows.why import page as report

    files.check(out, files.PAGE)
    if not Path(what).is_dir():
        scenario = Scenario.load(what)
        folder = f"{scenario.name}-sampled"
        run = moments.how_to_run(scenario, Path(what), folder)
        then = shlex.join(["shallows", "draw", folder, "--out", str(out)])
        expected = f"a result, as nothing has happened in a scenario; run it: {run} && {then}"
        raise ScenarioError("--out", str(out), expected, file=what)
    print(f"written {report.write(out, topology.network(Run.load(what)))}")
    return DONE

"""`shallows request`: a scenario as a request file, for programs that drive its network."""

from pathlib import Path
from typing import Annotated

import typer

from shallows.cli.run import Overrides, ScenarioFile
from shallows.cli.settings import EXAMPLE, settings
from shallows.cli.status import DONE, with_status


@with_status
def request(
    scenario: ScenarioFile,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The file to write.")] = Path(
        "request.json"
    ),
    no_traffic: Annotated[
        bool, typer.Option("--no-traffic", help="Leave out the traffic: the program sends its own.")
    ] = False,
    set_: Overrides = None,
) -> int:
    """Write SCENARIO as a request file, which a program opens to drive its network (C interface)."""
    from shallows.export import request_file
    from shallows.results import files
    from shallows.scenario import Scenario

    files.check(out, files.REQUEST)
    loaded = Scenario.load(scenario, settings(set_, EXAMPLE))
    print(f"written {request_file.write(loaded, out, traffic=not no_traffic)}")
    print(*request_file.contents(loaded), sep="\n")
    return DONE

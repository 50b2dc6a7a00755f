"""Settings through which a run depends on its seed. Without any, runs of all seeds are one and the same."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from shallows.scenario import faults
from shallows.scenario.supported_keys import REAL_TIME

if TYPE_CHECKING:
    from shallows.core.contract import Random
    from shallows.scenario import Scenario


def settings(scenario: "Scenario", drawn: "Random | None", world: str = "packet") -> list[str] | None:
    """The keys from which random numbers were drawn: of traffic before the run, others in it (`drawn`).

    None in a world in real time. A draw may have changed nothing.
    """
    if world in REAL_TIME:
        return None
    traffic = [f"traffic.{number}" for number, used in enumerate(scenario.flows.drawn) if used]
    cables = ["network.delay_spread"] if scenario.network.delay_spread else []
    return [*traffic, *cables, *(_of_run(scenario, drawn) if drawn else ())]


def advice(traffic: Sequence[Mapping[str, object]]) -> str:
    """The setting that introduces randomness into a scenario with these `traffic` tables."""
    from shallows.traffic import KINDS

    for number, table in enumerate(traffic):
        if "jitter" in KINDS[str(table["kind"])].model_fields:
            return f"set traffic.{number}.jitter to a round trip or more"
    return 'write traffic whose starts are random, such as kind = "poisson"'


def _of_run(scenario: "Scenario", drawn: "Random") -> Iterable[str]:
    of_tables = [scenario.flows.ccs.index(used) in drawn["ccs"] for used in scenario.algorithms]
    tables = [number for number, draws in enumerate(of_tables) if draws]
    yield from dict.fromkeys(f"traffic.{n}.cc" if scenario.traffic[n].cc else "cc" for n in tables)
    yield from (f"hosts.{key}" for key in ("gap", "ack_jitter", "timestamps") if drawn[key])
    yield from (f"network.{key}" for key in ("balancing", "marking", "trimming") if drawn[key])
    yield from (["cc.switch_jitter"] if drawn["shaping"] else [])
    yield from (f"classes.{number}.marking" for number in drawn["classes"])
    lossy: list[int] = drawn["faults"].tolist()
    if lossy:
        changes, first = faults.changes(scenario), len(faults.initial(scenario, scenario.graph))
        yield from (f"faults.{n}" for n in sorted({changes[at - first].fault for at in lossy}))

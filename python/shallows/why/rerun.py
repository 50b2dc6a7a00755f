"""Repetition of a run for a closer look, with a proof that it was the same."""

from typing import TYPE_CHECKING

from shallows.base.version import version
from shallows.errors import ScenarioError
from shallows.results import inputs, mismatch

if TYPE_CHECKING:
    from shallows.core.contract import Request
    from shallows.results.run import RunData
    from shallows.scenario import Scenario


def scenario_of(run: "RunData") -> "Scenario":
    """The scenario of `run`; raises `ScenarioError` if a second run would differ, or if tables do not fit."""
    if run.summary["world"] != "packet":
        expected = 'a run of world "packet", the only one with repeatable runs'
        raise ScenarioError("world", run.summary["world"], expected)
    if run.interrupted:
        expected = "a complete run: an interrupted one cannot be repeated"
        raise ScenarioError("interrupted", True, expected)
    inputs.refuse_changed(run)
    mismatch.refuse(run)
    return run.scenario


def request(scenario: "Scenario", probe_interval_ps: int = 0) -> "Request":
    """The request of a second pass, which samples nothing over time except senders on demand."""
    from shallows.scenario.request import request

    whole = request(scenario)
    whole["record"]["queue_interval_ps"] = 0
    whole["record"]["probe_interval_ps"] = probe_interval_ps
    return whole


def check(run: "RunData", fingerprint: str | None) -> None:
    """Raise `ScenarioError` if `fingerprint` is not that of `run`."""
    if fingerprint == run.summary["fingerprint"]:
        return
    inputs.refuse_changed(run)
    expected = (
        f"{run.summary['fingerprint']}, as the run had, which version {run.summary['version']} made; "
        f"this is {version()}. Run the scenario again"
    )
    raise ScenarioError("fingerprint", fingerprint, expected)

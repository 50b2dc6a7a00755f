"""The summaries of runs have the keys and types that editors know."""

import json
import types
import typing

import pytest

import shallows as sh
from shallows.results import contents
from shallows.runner import in_world, prepare

TASK = {"kind": "tasks", "tasks": [{"name": "a", "from": 0, "to": 1, "size": "10MB"}]}
RUNS = {
    "flows": {"traffic": [{"kind": "long-lived"}, {"kind": "poisson", "load": 0.3, "sizes": "websearch"}]},
    "unfinished": {"duration": "20us", "traffic": [{"kind": "all-reduce", "size": "1GB"}, TASK]},
    "finished": {"duration": "until-done", "traffic": [{"kind": "all-reduce", "size": "1MB"}, TASK]},
    "slow start": {"duration": "100us", "traffic": [{"kind": "long-lived"}]},
    "fault": {
        "traffic": [{"kind": "long-lived"}, {"kind": "request-response", "exchanges": 2}],
        "faults": [{"link": "h1->s0", "kind": "down", "at": "300us", "until": "400us"}],
    },
}
"""Scenarios that differ in which numbers a run has."""


def of_world(world, **tables):
    star = {"kind": "star", "hosts": 4, "rate": "100Gbps", "rtt": "4us"}
    return sh.run(sh.Scenario(**{"cc": "dctcp", "topology": star, "duration": "1ms"} | tables), world=world)


@pytest.mark.parametrize("name", RUNS)
def test_a_summary_has_the_keys_and_types_that_editors_know(name):
    run = of_world("packet", **RUNS[name])
    assert list(mistyped(json.loads(run.summary_json()), contents.Summary, "summary")) == []


def test_so_has_one_of_a_run_that_was_ended_before_its_warm_up():
    def end(*_):
        raise KeyboardInterrupt

    star = {"kind": "star", "hosts": 4, "rate": "100Gbps", "rtt": "4us"}
    tables = {"duration": "2s", "warmup": "1s", "traffic": [{"kind": "long-lived"}]}
    run = in_world("packet")(prepare(sh.Scenario(cc="dctcp", topology=star, **tables)), end)
    assert run.summary["interrupted_at_s"] < 1
    assert list(mistyped(json.loads(run.summary_json()), contents.Summary, "summary")) == []


def test_so_has_one_of_the_fluid_world():
    run = of_world("fluid", topology={"kind": "dumbbell"}, traffic=[{"kind": "long-lived"}])
    assert list(mistyped(json.loads(run.summary_json()), contents.Summary, "summary")) == []


def test_a_number_is_read_by_its_name_and_one_that_is_missing_is_an_error():
    run = of_world("packet", **RUNS["flows"])
    assert run.number("queue_mean_pkt") == run.summary["bottleneck"]["queue_mean_pkt"]
    assert run.number("traffic.1.offered") == run.summary["traffic"][1]["offered"]
    assert run.number("size.more.completed") == run.summary["flows_by_size"][-1]["count"]
    with pytest.raises(sh.ScenarioError, match='did you mean "fct_p9'):
        run.number("fct_p98_us")
    lone = of_world("packet", **RUNS["slow start"])
    assert lone.summary["flows"]["fct_p99_us"] is None
    with pytest.raises(sh.ScenarioError, match='number = "fct_p99_us": expected one that this run has'):
        lone.number("fct_p99_us")


def test_a_missing_key_another_key_and_another_type_are_found():
    row = {"traffic": 1, "stated": 0.5, "realised": "x", "on": "links"}
    assert list(mistyped(row, contents.Load, "load")) == ["load: ['of', 'on']", "load.realised = 'x'"]
    assert list(mistyped(None, contents.Load, "load")) == ["load = None"]
    assert list(mistyped([True, 1.5, None], list[int], "a")) == ["a.0 = True", "a.1 = 1.5", "a.2 = None"]
    assert list(mistyped([1, None], list[float | None], "a")) == []


def mistyped(value, kind, where):
    """Places whose value has other keys or another type than `kind`."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        (known,) = (part for part in parts if part is not types.NoneType)
        yield from () if value is None else mistyped(value, known, where)
    elif not right(value, kind, origin, parts):
        yield f"{where} = {value!r}"
    elif typing.is_typeddict(kind):
        kinds = typing.get_type_hints(kind)
        if not kind.__required_keys__ <= value.keys() <= kinds.keys():
            yield f"{where}: {sorted(kinds.keys() ^ value.keys())}"
        for key in sorted(kinds.keys() & value.keys()):
            yield from mistyped(value[key], kinds[key], f"{where}.{key}")
    elif origin in (list, dict):
        for key, item in enumerate(value) if origin is list else value.items():
            yield from mistyped(item, parts[-1], f"{where}.{key}")


def right(value, kind, origin, parts):
    """True if a value is of a type, whatever its parts."""
    if kind is typing.Any:
        return True
    if origin is typing.Literal:
        return value in parts
    if kind in (int, float, bool):
        return type(value) in ((int, float) if kind is float else (kind,))
    return isinstance(value, dict if typing.is_typeddict(kind) else origin or kind)

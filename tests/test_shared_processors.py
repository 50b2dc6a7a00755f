"""The critical path of a task whose computations wait for those of another task on the same processor."""

import pytest

import shallows as sh
from shallows.why import json_form
from test_task_graphs import FABRIC, MESSAGE_PS, US, message, random_tasks, scenario

HOG = [
    {"name": "first", "host": "h0", "compute": "20us"},
    {"name": "second", "host": "h0", "compute": "10us", "delay": "1us"},
    message("elsewhere", "h2", "h3"),
]
"""Computations of another task, which keep the processor of h0 busy until 30 us."""


def shared(tasks, others=HOG, **more):
    made = scenario(tasks, **more)
    tables = made.tables
    tables["traffic"].append({"kind": "tasks", "name": "other", "tasks": others})
    return sh.run(sh.Scenario(**tables))


def test_the_path_names_the_computations_of_the_other_task():
    """The message arrives at 4.4 us; then 15.6 us behind "first", 10 us behind "second", and 5 us."""
    run = shared(
        [message("ask", "h1", "h0"), {"name": "use", "host": "h0", "compute": "5us", "after": ["ask"]}]
    )
    path = run.why(task="job")
    assert sum(piece.length_ps for piece in path.pieces) == path.fct_ps == 35 * US
    assert [one.until for one in path.messages] == ["received", "computed"]
    assert path.messages[0].length_ps == MESSAGE_PS
    pieces = [(one.cause, one.flow, one.begin_ps, one.end_ps) for one in path.messages[1].pieces]
    # Tasks are numbered with the messages 0 and 1, then "use" 2, "first" 3 and "second" 4.
    assert pieces == [
        ("processor", 3, MESSAGE_PS, 20 * US),
        ("processor", 4, 20 * US, 30 * US),
        ("computation", None, 30 * US, 35 * US),
    ]
    assert path.by_traffic() == {"other": 30 * US - MESSAGE_PS}
    assert path.slack() == {0: 0, 2: 0}
    assert len(path.table()) == len(path.pieces)
    assert path.figure() is not None
    (wait,) = json_form.of_found(path)["waits"]
    assert wait == {
        "cause": "processor",
        "port": None,
        "behind_task": "other",
        "behind_flows": [],
        "behind_computations": [1, 2],
        "ps": 30 * US - MESSAGE_PS,
    }
    cost = path.counterfactual("other")
    assert (cost.share_ps, cost.expected_ps, cost.ran_ps) == (30 * US - MESSAGE_PS, 9_400_000, 9_400_000)


def test_only_the_predecessors_that_are_enough_are_on_the_path():
    """ "late" arrives at 10 + 4.4 us, while "use" waits for the processor, and is not needed."""
    late = message("late", "h2", "h0", delay="10us")
    use = {"name": "use", "host": "h0", "compute": "5us", "after": ["late", "ask"], "needs": 1}
    path = shared([late, message("ask", "h1", "h0"), use]).why(task="job")
    assert [one.flow for one in path.messages] == [1, 3]
    assert sum(piece.length_ps for piece in path.pieces) == path.fct_ps == 35 * US
    assert path.by_cause()["processor"] == 30 * US - MESSAGE_PS


@pytest.mark.parametrize("cc", ["dctcp", "rcp", "dcqcn", "ndp", "rccc", "nscc", "mrc"])
@pytest.mark.parametrize(("how", "until"), [("after", "acknowledged"), ("behind", "sent")])
def test_a_computation_of_the_sender_waits_for_both(how, until, cc):
    """The message leaves h0 at once; its acknowledgement takes 2 us and twice less than 0.1 us back."""
    use = {"name": "use", "host": "h0", "compute": "5us", how: ["ask"], "delay": "2us"}
    path = shared([message("ask", "h0", "h1"), use], cc=cc).why(task="job")
    assert [one.until for one in path.messages] == [until, "computed"]
    assert path.by_cause()["delay"] == 2 * US
    assert sum(piece.length_ps for piece in path.pieces) == path.fct_ps == 35 * US
    waited = path.by_cause()["processor"]
    if until == "sent":
        assert waited == 28 * US
    else:
        assert 28 * US - MESSAGE_PS - 2_200_000 < waited < 28 * US - MESSAGE_PS - 2 * US


def test_a_first_computation_waits_within_its_task():
    """The task begins with its message at 2 us; "use" was ready at 1 us, and runs from 30 us."""
    use = {"name": "use", "host": "h0", "compute": "5us", "delay": "1us"}
    path = shared([message("ask", "h1", "h2", delay="2us"), use], [HOG[0], HOG[2]]).why(task="job")
    assert path.fct_ps == 23 * US
    assert path.by_cause() == {"processor": 18 * US, "computation": 5 * US}


@pytest.mark.parametrize("seed", range(4))
def test_paths_of_random_graphs_that_share_processors_add_up(seed):
    run = shared(random_tasks(seed, count=120), random_tasks(seed + 100, count=120), topology=FABRIC)
    for name, row in zip(("job", "other"), run.summary["tasks"], strict=True):
        path = run.why(task=name)
        assert sum(piece.length_ps for piece in path.pieces) == path.fct_ps
        assert path.fct_ps == round(row["completion_us"] * 1e6)
        ends = [piece.end_ps for piece in path.pieces]
        assert [piece.begin_ps for piece in path.pieces[1:]] == ends[:-1]
        slack = path.slack()
        assert all(slack[one.flow] == 0 for one in path.messages)

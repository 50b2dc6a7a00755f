"""The list of mutations of the papers' equations: complete, applicable, and counted by hand."""

import re
from dataclasses import replace

import pytest

import shallows as sh
from validation import mutations
from validation.documentation import ROOT
from validation.mutations import FOLDER, Outcome, choose, load, package
from validation.survey import claims

LIST = load()
LAWS = {
    "DX": ["dx-cut", "dx-increase"],
    "Patched TIMELY, Algorithm 2": ["patched-weight", "patched-error", "patched-increase", "patched-beta"],
    "ExpressPass, Algorithm 1": [
        "expresspass-aggressive",
        "expresspass-rise",
        "expresspass-fall",
        "expresspass-halve",
    ],
    "Inigo": ["inigo-threshold", "inigo-cut"],
    "DCQCN, eq. 1 to 3": ["dcqcn-cut", "dcqcn-alpha", "dcqcn-target", "dcqcn-decay", "red-slope"],
}
"""Mutations of an algorithm's own law, which two claims have to notice."""


def test_every_mutation_of_the_core_is_listed_once():
    sources = [path.read_text("utf-8") for path in (ROOT / "crates" / "cc" / "src").rglob("*.rs")]
    found = {name for text in sources for name in re.findall(r'mutated!\(\s*"([\w-]+)"', text)}
    assert found == {one.name for one in LIST if not (one.set or one.old)}


@pytest.mark.parametrize("one", LIST, ids=lambda one: one.name)
def test_a_mutation_can_be_applied(one):
    text = (ROOT / one.file).read_text("utf-8")
    assert one.old == "" or (text.count(one.old) == 1 and one.new != one.old)
    assert not (one.set and one.old)
    assert claims(one.claims)


@pytest.mark.parametrize("one", LIST, ids=lambda one: one.name)
def test_a_mutation_that_too_few_claims_notice_has_a_reason(one):
    assert (one.least == 0 or one.seen < one.least) == bool(one.unseen)
    assert one.least <= len(one.claims)


def test_two_claims_notice_a_change_of_an_algorithm_s_own_law():
    least = {one.name: one.least for one in LIST}
    assert {name: least[name] for names in LAWS.values() for name in names if least[name] < 2} == {}


def test_a_mutation_is_caught_by_as_many_claims_as_the_list_says():
    one = replace(LIST[0], claims=("A1", "A2", "A3"), least=2)
    caught, missed = Outcome(one, ("A1", "A3"), ("A2",)), Outcome(one, ("A3",), ("A1", "A2"))
    assert (caught.caught, missed.caught) == (True, False)
    assert "| A1, A3 | A2 | caught |" in caught.row
    assert "**missed**: 2 expected. |" in missed.row


def test_fewer_claims_than_notice_a_missed_mutation_are_an_error():
    one = replace(LIST[0], claims=("A1", "A2"), least=2, seen=1, unseen="It is small.")
    by_one, by_none = Outcome(one, ("A1",), ("A2",)), Outcome(one, (), ("A1", "A2"))
    assert "**missed**: 2 expected. It is small. |" in by_one.row
    assert (by_one.as_listed, by_none.as_listed) == (True, False)


def test_the_package_of_a_mutation_differs_in_its_line_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(mutations, "FOLDER", tmp_path)
    (one,) = choose(["fluid-red"])
    folder = package(one, mutations.own_core())
    changed = [
        path.relative_to(folder)
        for path in folder.rglob("*.py")
        if path.read_bytes() != (ROOT / "python" / path.relative_to(folder)).read_bytes()
    ]
    assert [str(path) for path in changed] == ["shallows/fluid/red.py"]
    assert one.new in (folder / changed[0]).read_text("utf-8")
    assert tmp_path != FOLDER


def test_an_unknown_mutation_is_a_mistake():
    with pytest.raises(sh.ScenarioError):
        choose(["dx-cub"])

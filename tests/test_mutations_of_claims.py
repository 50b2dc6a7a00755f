"""The list of mutations of the papers' equations: complete, applicable, and counted by hand."""

import re
from dataclasses import replace
from functools import partial

import pytest

import shallows as sh
from validation.documentation import ROOT
from validation.mutations import Outcome, choose, load, switched
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


@pytest.mark.parametrize("file", sorted({one.file for one in LIST}))
def test_each_printed_text_is_in_its_file_once_and_can_be_switched(file):
    text, here = (ROOT / file).read_text("utf-8"), [one for one in LIST if one.file == file]
    assert all(one.changed != text[slice(*one.span(text))] for one in here)
    assert all(claims(one.claims) for one in here if one.claims)
    body = switched(file, text, here)
    assert all(
        body.count(f"_ACTS_{one.number} " if file.endswith(".py") else f"acts({one.number})") >= 1
        for one in here
    )


def test_a_printed_text_that_is_gone_or_stands_twice_is_an_error():
    one = replace(LIST[0], file="a.rs", printed="w - «1.0»;", changed="0.0")
    assert one.span("let v = w - 1.0;") == (12, 15)
    for text in ("let v = w - 2.0;", "let v = w - 1.0; let u = w - 1.0;"):
        with pytest.raises(sh.ScenarioError, match="exactly once"):
            one.span(text)


def test_switches_by_hand():
    """A statement, an expression within it, and a block; what changes nothing is as printed."""
    make = partial(replace, LIST[0], file="a.rs")
    outer = make(number=1, printed="a = b + c;", changed="a = b;")
    inner = make(number=2, printed="b + c", changed="b - c")
    block = make(number=3, printed="fn f() «{}»", changed="{ g(); }")
    assert switched("a.rs", "a = b + c; fn f() {}", [inner, outer, block]) == (
        "if crate::mutation::acts(1) { a = b; } "
        "else { a = (if crate::mutation::acts(2) { b - c } else { b + c }); } "
        "fn f() { if crate::mutation::acts(3) { g(); } else {} }"
    )
    crossing = make(number=4, printed="c; fn", changed="")
    with pytest.raises(sh.ScenarioError):
        switched("a.rs", "a = b + c; fn f() {}", [inner, crossing])
    python = replace(LIST[0], number=5, printed="x * y", changed="x")
    lines = switched("a.py", '"""A."""\n\nfrom math import pi\n\nz = x * y\n', [python]).splitlines()
    assert lines[2:] == [
        "from os import environ as _environ",
        '_ACTS_5 = _environ.get("SHALLOWS_MUTATION") == "5"',
        "from math import pi",
        "",
        "z = ((x) if _ACTS_5 else (x * y))",
    ]


def test_no_source_has_code_for_mutations():
    sources = [
        *ROOT.glob("crates/*/src/**/*.rs"),
        *ROOT.glob("python/**/*.py"),
        *ROOT.glob("crates/*/Cargo.toml"),
    ]
    found = [
        path
        for path in sources
        if re.search(r"mutated!|SHALLOWS_MUTATION|mutation::", path.read_text("utf-8"))
    ]
    assert found == []


def test_a_draw_follows_from_its_seed():
    names = [one.name for one in choose(None, 20, 7)]
    assert len(set(names)) == 20
    assert names == [one.name for one in choose(None, 20, 7)] != [one.name for one in choose(None, 20, 8)]


@pytest.mark.parametrize("one", LIST, ids=lambda one: one.name)
def test_a_mutation_that_too_few_claims_notice_has_a_reason(one):
    assert (one.least == 0 or one.seen < one.least) == bool(one.unseen)
    assert one.least <= len(one.claims)


def test_two_claims_notice_a_change_of_an_algorithm_s_own_law():
    least = {one.name: one.least for one in LIST}
    assert {name: least[name] for names in LAWS.values() for name in names if least[name] < 2} == {}


def test_a_mutation_is_caught_by_as_many_claims_as_the_list_says():
    one = replace(LIST[0], claims=("A1", "A2", "A3"), least=2)
    caught, missed = Outcome(one, ("A1", "A3"), ("A2",), True), Outcome(one, ("A3",), ("A1", "A2"), None)
    assert (caught.caught, missed.caught) == (True, False)
    assert "| A1, A3 | A2 | notice | caught |" in caught.row
    assert "**missed**: 2 expected. |" in missed.row


def test_fewer_claims_than_notice_a_missed_mutation_are_an_error():
    one = replace(LIST[0], claims=("A1", "A2"), least=2, seen=1, unseen="It is small.")
    by_one, by_none = Outcome(one, ("A1",), ("A2",), True), Outcome(one, (), ("A1", "A2"), True)
    assert "**missed**: 2 expected. It is small. |" in by_one.row
    assert (by_one.as_listed, by_none.as_listed) == (True, False)
    assert not by_one._replace(tested=False).as_listed


def test_an_unknown_mutation_is_a_mistake():
    with pytest.raises(sh.ScenarioError):
        choose(["dx-cub"])

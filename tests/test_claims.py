"""Claims as data: each can fail, is judged by one function, and has a mutation that breaks it."""

import re
from math import inf

import numpy as np
import pytest

from validation import PAPERS, recorded, settings, statements, store
from validation.claim import Band, ClaimError, Figure, Mutation, Paper, below, near, within
from validation.documentation import ROOT
from validation.expresspass.paper import first
from validation.store import measured
from validation.survey import claims, figures, seeds
from validation.verdict import CANNOT, FAILS, HOLDS, SHAPE, flips, judge, passes, touches

CLAIMS = claims()
TESTED = [claim for claim in CLAIMS if not claim.cannot]
KEPT = store.Store(ROOT / "results" / "papers")
IDS = [
    f"{paper}{n}"
    for paper, last, gone in (
        ("DX", 38, (34,)),
        ("XP", 21, ()),
        ("PO", 5, ()),
        ("ED", 41, (35,)),
        ("IN", 30, (13, 14, 25)),
    )
    for n in range(1, last + 1)
    if n not in gone
]


def sample(figure: Figure, seed: int, change=None):
    """A measurement in quick mode, from the store where it has it."""
    job = store.Measurement.of(figure, seed, True, change)
    return KEPT.find(job) or KEPT.perform(job)


def test_the_first_of_none_is_beyond_the_last():
    assert [first([False, True, True]), first([True]), first([False, False])] == [2, 1, 3]


def test_no_claim_is_missing():
    assert [claim.id for claim in CLAIMS] == IDS


@pytest.mark.parametrize("claim", TESTED, ids=lambda claim: claim.id)
def test_a_claim_names_setting_port_and_source(claim):
    figure = claim.figure
    assert claim.text.endswith(".")
    assert figure.setting
    assert claim.source
    flows = {"dx-pings", "dx-timestamps", "dx-multi-bottleneck", "small-flows", "websearch-tree"}
    assert all(port or scenario in flows for scenario, port in figure.runs.items())


def test_figures_have_distinct_names():
    ids = [figure.id for paper in PAPERS for figure in paper.figures]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("low", "high", "domain"),
    [
        (1, inf, "amount"),
        (-inf, 1, "signed"),
        (0, 1, "share"),
        (0, 100, "percent"),
        (-2, 2, "correlation"),
        (2, 1, "amount"),
    ],
)
def test_a_band_that_cannot_fail_is_rejected(low, high, domain):
    with pytest.raises(ClaimError):
        Band("a", low, high, domain=domain)


def test_a_tolerance_is_needed():
    with pytest.raises(ClaimError, match="tolerance"):
        near("a", 1.0)


def test_a_metric_is_not_compared_with_itself():
    with pytest.raises(ClaimError, match="itself"):
        below("a", "a")


def made_up(*bands, limits="", undecided=None):
    """A claim on made-up metrics."""
    paper = Paper("made-up", "Made up", "A paper", "nobody")
    figure = paper.figure("Fig. 1", "A figure", setting="None.")(lambda lab: None)
    figure.claim(
        "MU1", "A claim.", tolerance="T3: none", bands=bands, limits=limits, undecided=undecided,
        mutation=Mutation({"input:x": 1}, bands[0].metric),
    )  # fmt: skip
    return figure.claims[0]


def test_a_claim_needs_a_mutation_of_its_own_metric():
    paper = Paper("made-up", "Made up", "A paper", "nobody")
    figure = paper.figure("Fig. 1", "A figure", setting="None.")(lambda lab: None)
    with pytest.raises(ClaimError, match="breaks"):
        figure.claim(
            "MU1", "A claim.", tolerance="T3: none", bands=[near("a", 1, by=1)], mutation=Mutation({}, "b")
        )


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (10, 20, HOLDS),
        (11, 20, HOLDS),
        (11.1, 20, SHAPE),
        (10, 9, FAILS),
        (8.9, 8.8, FAILS),
        (30, 31, SHAPE),
        (10, 10, FAILS),
    ],
)
def test_verdicts_by_hand(a, b, verdict):
    """10 within 10 %, and below b. Two equal numbers are in no order."""
    assert judge(made_up(near("a", 10, rel=0.1), below("a", "b")), [{"a": a, "b": b}]).verdict == verdict


def said(metric, low, high, **more):
    """A band with the paper's words."""
    return within(metric, low, high, reported="the same", **more)


def test_a_claim_without_an_order_holds_or_does_not():
    claim = made_up(said("a", 1, 2))
    assert [judge(claim, [{"a": a}]).verdict for a in (0.9, 1, 2, 2.1)] == [FAILS, HOLDS, HOLDS, FAILS]


def test_a_check_beside_a_band_of_the_paper_decides_nothing():
    claim = made_up(said("a", 1, 2), within("b", 1, 2))
    found = judge(claim, [{"a": 1.5, "b": 3}])
    assert (found.verdict, found.passed) == (HOLDS, (True, False))
    with pytest.raises(ClaimError, match="no band has"):
        made_up(within("b", 1, 2))


def test_a_test_that_is_not_the_papers_own_is_in_shape_at_best():
    assert judge(made_up(said("a", 1, 2), limits="An input."), [{"a": 1.5}]).verdict == SHAPE


def test_the_whole_interval_lies_in_the_band():
    """Of 9, 10 and 14: mean 11, deviation sqrt(7), t = 4.303: half of the interval is 6.573."""
    samples = [{"a": 9}, {"a": 10}, {"a": 14}]
    found = judge(made_up(said("a", 4.4, 17.6)), samples)
    assert found.estimates["a"].half == pytest.approx(6.573, abs=1e-3)
    assert found.passed == (True,)
    assert judge(made_up(said("a", 4.5, 17.6)), samples).verdict == FAILS
    assert judge(made_up(said("a", 4.4, 17.5)), samples).verdict == FAILS


@pytest.mark.parametrize(("low", "high"), [(4.4, 17.6), (2, 20), (-30, 52), (8, 14), (10, 90)])
def test_a_band_is_open_if_other_seeds_may_lie_on_its_other_side(low, high):
    """9, 10 and 14 have mean 11 and deviation sqrt(7): 200,000 such sets, judged one by one."""
    values = [9, 10, 14]
    sets = np.random.default_rng(1).normal(11, 7**0.5, (200_000, 3))
    mean, half = sets.mean(axis=1), 4.3027 * sets.std(axis=1, ddof=1) / 3**0.5
    share = np.mean((mean - half >= low) & (mean + half <= high))
    band, samples = said("a", low, high, domain="signed"), [{"a": value} for value in values]
    assert flips(band, samples) == pytest.approx(1 - share if passes(band, samples) else share, abs=0.005)
    assert flips(band, [{"a": 11}] * 3) == flips(band, [{"a": 11}]) == 0


def test_an_open_band_leaves_a_claim_in_shape_and_may_change_its_side():
    """The interval of 9, 10 and 14 is 4.43 to 17.57; that of 9, 10 and 15 is 3.35 to 19.3."""
    claim = made_up(said("a", 4.4, 17.6), said("b", 0, 2))
    found, other = (judge(claim, [{"a": a, "b": 1} for a in values]) for values in ((9, 10, 14), (9, 10, 15)))
    wide = judge(made_up(said("a", -90, 90, domain="signed")), [{"a": a} for a in (9, 10, 14)])
    assert (found.verdict, set(found.open), wide.verdict, wide.open) == (SHAPE, {"a"}, HOLDS, {})
    assert (found.passed, other.passed, other.verdict) == ((True, True), (False, True), FAILS)
    on_file = {"claims": {"MU1": recorded.of_claim(found) | {"mode": "quick", "commit": "abc"}}}
    assert recorded.changed(on_file, [found, other]) == []
    sure = {"claims": {"MU1": {**on_file["claims"]["MU1"], "open": {}, "verdict": HOLDS}}}
    assert [was for _, was in recorded.changed(sure, [other])] == [
        "holds, a inside its band, in quick mode at commit abc"
    ]


def test_an_interval_may_cross_an_end_of_the_domain():
    samples = [{"a": 0.95}, {"a": 1.0}, {"a": 1.0}]
    assert passes(within("a", 0.8, 1, domain="share"), samples)
    assert not passes(within("a", 0.8, 1), samples)


def test_an_order_is_judged_seed_by_seed():
    """a is below b in every seed, although their intervals overlap."""
    samples = [{"a": 1.0, "b": 1.1}, {"a": 2.0, "b": 2.1}, {"a": 3.0, "b": 3.12}]
    assert passes(below("a", "b"), samples)
    assert not passes(below("a", "b", 0.5), samples)


def test_a_band_that_seeds_leave_undecided_is_missed_only_if_nothing_of_the_interval_is_in_it():
    """The interval of 9, 10 and 14 is 4.43 to 17.57. The claim is in shape, unless another band is missed."""
    samples = [{"a": 9, "b": 1}, {"a": 10, "b": 1}, {"a": 14, "b": 1}]
    verdicts = {
        band: judge(made_up(said("a", *band), undecided={"a": "Two sets."}), samples).verdict
        for band in ((5, 17.6), (4, 18), (18, 20), (1, 4))
    }
    assert verdicts == {(5, 17.6): SHAPE, (4, 18): SHAPE, (18, 20): FAILS, (1, 4): FAILS}
    for high, verdict in ((2, SHAPE), (0.9, FAILS)):
        claim = made_up(said("a", 5, 17.6), said("b", 0, high), undecided={"a": "Two sets."})
        assert judge(claim, samples).verdict == verdict
    with pytest.raises(ClaimError, match="which no band has"):
        made_up(said("a", 1, 2), undecided={"b": "Two sets."})


def test_a_band_that_changes_side_is_reported_unless_seeds_leave_it_undecided():
    """The verdict is the same: the order holds, the number does not decide it."""
    claim = made_up(near("a", 10, rel=0.1), below("a", "b"), said("c", 0, 9), undecided={"c": "Two sets."})
    found = judge(claim, [{"a": 11.5, "b": 20, "c": 10}])
    entry = {"verdict": SHAPE, "passed": [True, True, True], "mode": "quick", "commit": "abc"}
    reports = [
        recorded.changed({"claims": {"MU1": entry | change}}, [found])
        for change in (
            {},
            {"passed": [False, True, True]},
            {"passed": [False, True, False], "verdict": HOLDS},
        )
    ]
    inside, same, verdict = [[was for _, was in report] for report in reports]
    assert inside == ["a inside its band, in quick mode at commit abc"]
    assert (same, verdict) == ([], ["holds, in quick mode at commit abc"])
    assert [was for _, was in recorded.changed({}, [found])] == ["nothing"]


CHECKS = {"XP10", "XP11", "XP12", "ED30", "ED32", "ED33", "ED38"}
"""Statements in no text that we have, or made of the papers' equations and not of packets."""


def test_checks_are_those_that_no_paper_states():
    assert {claim.id for claim in CLAIMS if claim.check} == CHECKS


def test_each_main_statement_has_claims_of_its_paper_or_a_reason():
    known = {claim.id: claim.figure.paper.key for claim in CLAIMS}
    listed = statements.load()
    assert {one.paper for one in listed} == {paper.key for paper in PAPERS}
    assert [one.quote for one in listed if bool(one.claims) == bool(one.why)] == []
    assert [id_ for one in listed for id_ in one.claims if id_ not in known] == []
    # Reno's full queue is judged in DX's figure alone.
    assert {id_ for one in listed for id_ in one.claims if known[id_] != one.paper} == {"DX35"}


def test_each_number_of_a_setting_has_the_paper_s_sentence_or_a_reason():
    known = settings.load()
    found = {figure: settings.explained(figure, known) for figure in figures(TESTED)}
    assert [
        (figure.id, number) for figure, rows in found.items() for number, row in rows.items() if row is None
    ] == []
    used = {row for rows in found.values() for row in rows.values()}
    assert [(row.paper, row.number, row.figures) for row in known if row not in used] == []
    assert [
        row.number
        for row in known
        if bool(row.quote) == bool(row.choice) or bool(row.quote) != bool(row.place)
    ] == []


def made_up_figure(setting):
    paper = Paper("made-up", "Made up", "A paper", "nobody")
    return paper.figure("Fig. 1", "A figure", setting=setting)(lambda lab: None)


def test_numbers_of_a_setting_by_hand():
    found = settings.numbers(
        made_up_figure(
            "Ten flows of dx@ns-2, K = 65, 4, 10 and 64 flows at 10 Gbps, 1.5 ms, 84 B, §3.2, Fig. 5; "
            "from 7 and 3 Gbps, 10 %, 100,000 flows, TCP's 2 rules."
        )
    )
    assert found == [
        *("ten flows", "K = 65", "4, 10 and 64 flows", "10 Gbps", "1.5 ms", "84 B"),
        *("7 and 3 Gbps", "10 %", "100,000 flows"),
    ]


def test_a_row_that_names_figures_comes_before_one_for_all():
    figure = made_up_figure("10 Gbps, 2 ms.")
    general, special, other = (
        settings.Number("made-up", "10 Gbps", names, choice="none")
        for names in ((), ("Fig. 1",), ("Fig. 2",))
    )
    assert settings.explained(figure, [other, general, special]) == {"10 Gbps": special, "2 ms": None}
    assert settings.explained(figure, [other, general])["10 Gbps"] is general


READ_AGAIN = (
    *("DX5", "DX9", "DX10", "DX15", "DX22", "DX25", "XP5", "XP9", "ED29"),
    *("IN1", "IN3", "IN4", "IN6", "IN15", "IN16", "IN17", "IN18"),
)
LAST = {"DX": 30, "XP": 14, "PO": 3, "ED": 32, "IN": 19}
"""The last claim of each paper that may lack a quotation."""


def test_a_claim_quotes_the_sentence_that_it_reads():
    newer = [claim.id for claim in CLAIMS if int(claim.id[2:]) > LAST[claim.id[:2]]]
    assert [claim.id for claim in claims([*READ_AGAIN, *newer]) if not claim.quote] == []


def test_a_claim_that_does_not_hold_says_why_and_how_to_see_it():
    command = re.compile("Reproduce: `(python -m validation run|shallows) ")
    on_file = recorded.load()["claims"]
    fails = [one for one in CLAIMS if on_file[one.id]["verdict"] == FAILS]
    shape = [one for one in CLAIMS if on_file[one.id]["verdict"] == SHAPE]
    assert [one.id for one in fails if not command.search(one.why)] == []
    assert [
        one.id
        for one in shape
        if not (one.limits or one.undecided or one.differs or one.why or on_file[one.id].get("open"))
    ] == []


def test_sets_of_seeds_follow_from_the_name_and_are_disjoint():
    ones = figures(TESTED)
    drawn = [seed for figure in ones for chosen in range(3) for seed in seeds(figure, False, chosen)]
    assert len(set(drawn)) == len(drawn)
    figure = measured("dx-fig-8")
    assert seeds(figure, True) == seeds(figure, False)[: figure.seeds]
    assert seeds(figure, True) != seeds(measured("dx-fig-9"), True)


def test_full_mode_has_twenty_seeds_unless_nothing_is_drawn():
    few = [figure for figure in figures(TESTED) if figure.count(False) < 20]
    assert few
    assert all(not figure.runs and figure.count(True) == 1 for figure in few)


CLOSED = [claim for claim in TESTED if not claim.figure.runs and claim.figure.seeds == 1]


@pytest.mark.parametrize("claim", CLOSED, ids=lambda claim: claim.id)
def test_closed_forms_are_as_on_file(claim):
    (seed,) = seeds(claim.figure, quick=True)
    found = judge(claim, [sample(claim.figure, seed)["values"]])
    assert found.verdict == recorded.load()["claims"][claim.id]["verdict"]


def broken(claim):
    """Whether the mutation changes the outcome of the band that it names, with the seeds of quick mode.

    A band that seeds leave undecided on file is changed by a mutation that decides it.
    """
    mutation = claim.mutation
    change = dict(mutation.change)
    numbers = seeds(claim.figure, quick=True)
    measured = [sample(claim.figure, seed, change) for seed in numbers]
    assert set(measured[0]["used"]) == set(change), "a change that no run uses"
    mutated = [one["values"] for one in measured]
    passed = recorded.load()["claims"][claim.id]["passed"]
    for band, before in zip(claim.bands, passed, strict=True):
        if band.metric != mutation.breaks:  # the metric may have several bands
            continue
        if passes(band, mutated) != before:
            return True
        if not before:
            plain = [sample(claim.figure, seed)["values"] for seed in numbers]
            if touches(band, plain) != touches(band, mutated):
                return True
    return False


@pytest.mark.nightly
@pytest.mark.parametrize("claim", TESTED, ids=lambda claim: claim.id)
def test_a_mutation_breaks_its_claim(claim):
    assert broken(claim)


def test_a_mutation_of_a_closed_form_breaks_its_claim():
    """One of the cases of `make nightly`, so that this kind of test is itself tried often."""
    (claim,) = claims(["XP1"])
    assert broken(claim)


def test_a_failure_says_why_and_a_limit_is_in_shape():
    on_file = recorded.load()["claims"]
    for claim in CLAIMS:
        verdict = on_file[claim.id]["verdict"]
        assert (verdict == CANNOT) == bool(claim.cannot), claim.id
        assert (verdict == FAILS) == bool(claim.why), claim.id
        assert not claim.limits or verdict == SHAPE, claim.id


def test_a_figure_is_found_by_its_name():
    assert all(measured(figure.id) is figure for figure in figures(CLAIMS))

"""Warnings of a run that follow from several numbers of it. tests/cases/warnings* have the others."""

import pytest

import shallows as sh
from shallows.warnings import measurement


def only(word, **tables):
    """The warnings with this word of a run."""
    return [text for text in sh.run(sh.Scenario(**tables)).summary["warnings"] if word in text]


@pytest.mark.parametrize(("most", "warned"), [(50, True), (52, False)])
def test_samples_that_stop_at_a_limit_of_rows_say_so(most, warned, monkeypatch):
    """A sample each millisecond from 0 to 50 ms: 51 rows of one queue."""
    monkeypatch.setattr(measurement, "MOST_ROWS", most)
    topology = {"kind": "dumbbell", "hosts": 1, "rate": "1Gbps"}
    recorded = {"duration": "50ms", "record": {"queues": "1ms"}, "topology": topology}
    said = only("record.queues stopped at", cc="reno", traffic=[{"kind": "long-lived"}], **recorded)
    assert len(said) == warned


LOSSY = {
    "duration": "until-done",
    "cc": "dcqcn",
    "topology": {"kind": "star", "hosts": 4, "rate": "100Gbps", "rtt": "4us"},
    "network": {"pfc": True},
    "traffic": [{"kind": "all-to-all", "size": "400KB", "name": "train"}],
    "faults": [{"link": "h1->s0", "kind": "loss", "value": 0.3}],
}
"""Messages of 8 us, and a link that loses a third of all frames: a lost last one waits for 10 ms."""


def test_timeouts_that_are_most_of_a_completion_time_are_named():
    """A timeout is 10 ms or more. A flow of less has none, though its sender may wait for the last answer."""
    run = sh.run(sh.Scenario(**LOSSY))
    (said,) = [text for text in run.summary["warnings"] if "timeouts of" in text]
    took_us = run.summary["collectives"][0]["completion_us"]
    share = run.flows.timeout_wait_us.max() / took_us
    slow = run.flows.fct_us > 10_000
    assert run.flows.timeouts[~slow].any()
    assert not run.flows.timeout_wait_us[~slow].any()
    assert (run.flows.timeout_wait_us[slow] >= 10_000).all()
    assert (run.flows.timeout_wait_us <= run.flows.fct_us).all()
    assert said.startswith(
        f"train: timeouts of hosts.rto_initial = 10ms or more are at least {share:.0%} of its time"
    )
    assert f"{run.flows.timeouts.sum()} in all" in said
    assert 0.5 < share <= 1
    assert not only("timeouts of", **{key: value for key, value in LOSSY.items() if key != "faults"})


def phase(near, far, seed=1, **network):
    """(ratio of goodputs, warnings of flows in step) of two DCTCP flows over one queue of 10 Gbps."""
    edges = [("a", "s", near), ("b", "s", far), ("s", "t", "1us"), ("t", "c", near), ("t", "d", far)]
    run = sh.run(
        sh.Scenario(
            duration="200ms",
            warmup="50ms",
            seed=seed,
            cc="dctcp",
            network=network,
            topology={
                "kind": "graph",
                "hosts": ["a", "b", "c", "d"],
                "edges": [[one, other, "10Gbps", delay] for one, other, delay in edges],
            },
            traffic=[{"kind": "long-lived", "flows": 2, "from": ["a", "b"], "to": ["c", "d"]}],
        )
    )
    first, second = run.flows.goodput_gbps
    return first / second, [text for text in run.summary["warnings"] if "in step" in text]


def test_delays_that_the_seed_draws_show_what_the_phase_does():
    """Shares of 100 and 400 us are 15 to 19, those of 99 and 401 us 6: drawn delays contain both kinds."""
    ratios, said = zip(
        *(phase("24.5us", "99.5us", seed, delay_spread=0.01) for seed in range(1, 6)), strict=True
    )
    assert min(ratios) < 7.3 < 11 < max(ratios)
    assert not any(said)


def test_flows_over_several_queues_are_not_in_step():
    """A DCTCP flow over three full queues is marked in each: it has less without any phase."""
    tables = {
        "duration": "60ms",
        "warmup": "20ms",
        "topology": {"kind": "parking-lot", "rate": "10Gbps", "rtt": "100us"},
        "cc": "dctcp",
        "traffic": [{"kind": "long-lived"}],
    }
    run = sh.run(sh.Scenario(**tables))
    rates, times = run.flows.goodput_gbps, run.flows.srtt_mean_us
    assert rates.max() / rates.min() > 1.5 * (times.max() / times.min()) ** 2
    assert not [text for text in run.summary["warnings"] if "in step" in text]


def test_the_whole_run_has_what_a_run_without_a_warm_up_counts():
    """A warm-up changes no packet: what is trimmed and lost in it is counted apart and adds up."""
    scenario = sh.Scenario(
        duration="2ms",
        cc="ndp",
        topology={"kind": "star", "hosts": 9, "rate": "100Gbps", "rtt": "4us"},
        traffic=[{"kind": "long-lived", "flows": 8, "from": list(range(8)), "to": 8}],
        faults=[{"link": "h0->s0", "kind": "loss", "value": 0.01}],
    )
    all_of, some = sh.run(scenario).answer, sh.run(scenario.replace({"warmup": "1ms"})).answer
    for of, counted in (("trimmed", "trimmed_in_warmup"), ("lost", "lost_in_warmup")):
        assert some.answer["ports"][counted].any()
        assert some.in_whole_run[of].tolist() == all_of.answer["ports"][of].tolist()

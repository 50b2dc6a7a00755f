"""Which settings of a scenario draw random numbers, and what is said where none does."""

import json

import pytest
from typer.testing import CliRunner

import shallows as sh
from shallows import cli
from shallows.algorithms.marking import markings
from shallows.scenario import Scenario, randomness

PAIR = {"kind": "dumbbell", "hosts": 2, "rate": "10Gbps"}
SLOW = PAIR | {"rate": "1Gbps"}
FABRIC = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2}
STAR = {"kind": "star", "hosts": 5}
EXCHANGE = {"kind": "all-to-all", "size": "1MB"}
LONG = {"kind": "long-lived", "flows": 2, "jitter": "0s"}
ROWS = {"kind": "trace", "flows": [[0, "h0", "h2", 300_000], [0, "h1", "h3", 300_000]]}


def scenario(**tables):
    plain = {"duration": "2ms", "topology": PAIR, "cc": "dctcp", "traffic": [LONG]}
    return Scenario(**plain | tables)


DRAWS = {
    "nothing": ([], {}),
    "jitter": (["traffic.0"], {"traffic": [LONG | {"jitter": "10us"}]}),
    "second table": (["traffic.1"], {"traffic": [LONG, LONG | {"jitter": "10us"}]}),
    "arrivals": (["traffic.0"], {
        "traffic": [{"kind": "poisson", "sizes": "20KB", "load": 0.3, "flows": 20}],
    }),
    "pairs": (["traffic.0"], {"topology": FABRIC, "network": {"balancing": "round-robin"}}),
    "skew": (["traffic.0"], {"topology": STAR, "traffic": [EXCHANGE | {"gini": 0.5}]}),
    "no skew": ([], {"topology": STAR, "traffic": [EXCHANGE]}),
    "gaps": (["hosts.gap"], {"cc": "reno"}),
    "no gaps": ([], {"cc": "reno", "hosts": {"gap": 0}}),
    "ECMP": (["network.balancing"], {"topology": FABRIC, "traffic": [ROWS]}),
    **{
        balancing: (["network.balancing"], {
            "topology": FABRIC, "traffic": [ROWS], "network": {"balancing": balancing},
            "hosts": {"loss_detection": "rack"},
        })
        for balancing in ("packet", "queue", "flowlet", "oblivious", "bitmap", "reps", "plb")
    },
    "in turn": ([], {"topology": FABRIC, "traffic": [ROWS], "network": {"balancing": "round-robin"}}),
    "entropy without a choice": (["network.balancing"], {"network": {"balancing": "reps"}}),
    "within a rack": ([], {
        "topology": FABRIC, "traffic": [{"kind": "trace", "flows": [[0, "h0", "h1", 300_000]]}],
    }),
    "losses": (["faults.1"], {"faults": [
        {"link": "s0->s1", "kind": "rate", "value": "5Gbps"},
        {"link": "s0->s1", "kind": "loss", "value": 0.01},
    ]}),
    "losses without packets": (["faults.1"], {
        "topology": STAR, "traffic": [{"kind": "trace", "flows": [[0, "h0", "h1", 300_000]]}], "faults": [
            {"node": "h4", "kind": "loss", "value": 0.5},
            {"node": "h0", "kind": "bit-errors", "value": 1e-5},
        ],
    }),
    "a loss of everything": ([], {"faults": [
        {"link": "s0->s1", "kind": "silent-drop", "at": "1ms", "until": "1500us"},
    ]}),
    "cdg": (["cc"], {"cc": "cdg", "hosts": {"gap": 0}, "duration": "20ms", "topology": SLOW}),
    "dx of one table": (["traffic.1.cc"], {"traffic": [LONG, LONG | {"cc": "dx"}]}),
    "credits": (["cc"], {"cc": "expresspass"}),
    "RED": (["network.marking"], {"cc": "dcqcn", "network": {"pfc": True}}),
    "RED above the queue": ([], {
        "cc": {"name": "fixed", "window": 2}, "network": {"marking": {"kind": "red"}},
    }),
    "PI": (["network.marking"], {"topology": SLOW, "network": {"marking": {"kind": "pi", "q_ref": "5KB"}}}),
    "RED of a class": (["classes.1.marking"], {
        "cc": "dcqcn",
        "classes": [{"name": "a"}, {"name": "b", "pfc": True, "marking": {"kind": "red"}}],
        "traffic": [LONG | {"class": "b"}],
    }),
    "trimming": (["network.trimming"], {"cc": "ndp", "network": {"trimming": True}}),
    "timestamps": (["cc", "hosts.timestamps"], {"cc": "dx", "hosts": {"timestamps": {"kind": "hardware"}}}),
}  # fmt: skip


@pytest.mark.parametrize(("keys", "tables"), DRAWS.values(), ids=DRAWS)
def test_a_run_depends_on_its_seed_if_and_only_if_a_key_draws(keys, tables):
    """Five seeds: of two, a coin that falls twice on the same side would not be seen."""
    runs = [sh.run(scenario(**tables), seed=seed) for seed in range(1, 6)]
    assert [run.summary["random"] for run in runs] == [keys] * 5
    assert (len({run.summary["fingerprint"] for run in runs}) > 1) == bool(keys)


@pytest.mark.parametrize("kind", [row["name"] for row in markings() if row["tells"] == "marks"])
def test_chance_decides_about_marks_of_red_and_pi_alone(kind):
    marking = {"kind": kind} | ({"q_ref": "5KB"} if kind == "pi" else {})
    one = scenario(network={"marking": marking}, topology=SLOW, duration="20ms")
    prints = {sh.run(one, seed=seed).summary["fingerprint"] for seed in range(1, 6)}
    assert (len(prints) > 1) == one.network.marking.draws


def test_the_fluid_world_draws_traffic_alone_and_the_kernel_world_has_no_seed():
    pytest.importorskip("numba")
    fluid = {"cc": "dcqcn", "network": {"marking": {"kind": "red"}}}
    assert sh.run(scenario(**fluid), world="fluid").summary["random"] == []
    assert randomness.settings(scenario(), None, "kernel") is None


def said(*words):
    done = CliRunner().invoke(cli.app, list(words))
    assert done.exit_code == 0, done.output
    return done.stdout


def test_run_and_compare_say_that_nothing_is_drawn(tmp_path):
    (tmp_path / "one.toml").write_text(scenario(traffic=[LONG]).to_toml())
    file, out = str(tmp_path / "one.toml"), ["--out", str(tmp_path / "out")]
    advice = "set traffic.0.jitter to a round trip or more"
    nothing = "random      nothing is drawn"
    assert f"{nothing}, so all seeds give the same run; {advice}" in said("run", file, *out)
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["random"] == []
    assert json.loads(said("run", file, *out, "--json"))["data"]["random"] == []
    both = ["compare", file, "--cc", "dctcp", "--cc", "dx", *out]
    assert f"{nothing} by dctcp, so all seeds give the same run; {advice}" in said(*both)
    runs = json.loads(said(*both, "--json"))["data"]
    assert {label: of["random"] for label, of in runs.items()} == {
        "dctcp": [], "dx": ["cc"],
    }  # fmt: skip


def test_what_draws_is_not_said_to_draw_nothing(tmp_path):
    (tmp_path / "one.toml").write_text(scenario(traffic=[LONG | {"jitter": "10us"}]).to_toml())
    assert "nothing is drawn" not in said("run", str(tmp_path / "one.toml"), "--out", str(tmp_path / "out"))

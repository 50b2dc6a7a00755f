"""Critical paths where routes change: every finished flow has one, whatever links its packets took."""

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import shallows as sh
from shallows.cli import app
from shallows.why import pauses, record, slack, task, walk

FAILURES = Path(__file__).parent.parent / "docs" / "failures.md"
FAULTS = {
    "down": {"node": "spine0", "kind": "down", "at": "10us", "until": "60us"},
    "down from the start": {"node": "spine0", "kind": "down"},
    "host": {"node": "h3", "kind": "down", "at": "20us", "until": "40us"},
    "drain": {"node": "spine0", "kind": "drain", "at": "5us", "until": "50us"},
    "flap": {"link": "leaf0<->spine0", "kind": "flap", "period": "20us", "duty": 0.5, "until": "200us"},
    "slow": {"link": "leaf0->spine0", "kind": "slow", "value": 0.25, "at": "10us"},
    "delay": {"link": "leaf0->spine0", "kind": "delay", "value": "30us", "at": "10us", "until": "60us"},
    "shorter": {"link": "leaf0->spine0", "kind": "delay", "value": "0s", "at": "40us"},
    "faster": {"link": "leaf0->spine0", "kind": "rate", "value": "40Gbps", "at": "10us"},
    "hold": {"link": "spine0->leaf0", "kind": "hold", "value": "10us"},
    "reorder": {
        "link": "leaf0->spine0",
        "kind": "reorder",
        "value": {"share": 0.2, "delay": "15us"},
        "until": "200us",
    },
    "loss": {"link": "leaf0->spine0", "kind": "loss", "value": 0.1},
    "bit-errors": {"link": "leaf0->spine0", "kind": "bit-errors", "value": 1e-6},
    "silent-drop": {"link": "leaf0->spine0", "kind": "silent-drop", "value": 0.1},
}
SELECTIONS = [
    "flow",
    "packet",
    "queue",
    "round-robin",
    "flowlet",
    "oblivious",
    "bitmap",
    "reps",
    "plb",
]
CASES = [(kind, "flow") for kind in FAULTS] + [("down", selection) for selection in SELECTIONS[1:]]


def faulty(fault, *, planes, **network):
    """A small leaf-spine fabric with a fault, 25 flows and a ring of 6 hosts."""
    place = {
        key: re.sub(r"(leaf|spine)", r"p0.\1", value) if planes > 1 and key in ("node", "link") else value
        for key, value in fault.items()
    }
    return sh.Scenario(
        duration="until-done",
        cc="dctcp",
        topology={"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 3, "planes": planes},
        network={"convergence": "30us", **network},
        hosts={"rto_min": "100us", "rto_initial": "200us"},
        faults=[place],
        traffic=[
            {"kind": "poisson", "sizes": "20KB", "load": 0.5, "flows": 25},
            {"kind": "all-reduce", "size": "30KB", "name": "ring"},
        ],
    )


def without_a_spine(flows, hosts_per_leaf):
    """A run on two spines of which one is down; switches have learned of it before the flows start."""
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": hosts_per_leaf}
    scenario = sh.Scenario(
        duration="until-done",
        topology=topology,
        cc="dctcp",
        network={"convergence": "100us"},
        faults=[{"kind": "down", "node": "spine0"}],
        traffic=[{"kind": "trace", "flows": flows}],
    )
    return sh.run(scenario)


def command(*words):
    """What a command prints, which must succeed."""
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def check_all(run):
    """Check that every finished flow of a run has a path whose pieces touch and sum exactly."""
    finished = np.flatnonzero(np.isfinite(run.flows.fct_us)).tolist()
    kept = record.of_run(run, finished)
    paths = walk.of_record(kept)
    assert list(paths) == finished
    for flow, path in paths.items():
        assert sum(piece.length_ps for piece in path.pieces) == round(run.flows.fct_us[flow] * 1e6)
        pauses.pausers(path)
    for flow in sorted(paths, key=lambda flow: -paths[flow].fct_ps)[:3]:
        alone = walk.of_record(record.of_run(run, [flow]))[flow]
        assert alone.pieces == paths[flow].pieces, "a path depends on what else is watched"
    return kept


@pytest.mark.parametrize("planes", [1, 2])
@pytest.mark.parametrize(("kind", "selection"), CASES)
def test_every_flow_and_task_has_a_path(kind, selection, planes):
    run = sh.run(faulty(FAULTS[kind], planes=planes, balancing=selection))
    assert check_all(run).flows == list(range(len(run.flows)))
    ring = task.of_run(run, "ring")
    assert ring.messages[0].begin_ps == ring.task.begin_ps
    assert min(slack.of_run(run, "ring").values()) == 0


def test_a_detour_is_on_the_path_of_the_flow():
    """A flow that starts after a spine failed crosses the other one, and no port of the first."""
    kept = check_all(
        without_a_spine([[3e-4, "h0", "h2", 20_000], [3e-4, "h1", "h3", 20_000]], hosts_per_leaf=2)
    )
    crossed = {
        kept.names[piece.port]
        for path in walk.of_record(kept).values()
        for piece in path.pieces
        if piece.port is not None
    }
    assert "leaf0->spine1" in crossed
    assert not any("spine0" in name for name in crossed)


def test_weights_that_change_move_waits_from_class_to_class():
    """Frames of 1.2 us meet at a port from 2.2 us on, one of each class in turn, then nine of gold to one.

    At 100 us it sends the 82nd, the 41st of lead. Of gold 159 are left; one of lead follows each ninth of
    them: 17. Lead waits for all 200 frames of gold, as without the change.
    """
    sources = ("h0", "gold"), ("h1", "lead")
    scenario = sh.Scenario(
        duration="until-done",
        topology={"kind": "star", "hosts": 3, "rate": "10Gbps", "rtt": "4us"},
        cc={"name": "fixed", "window": "1000pkt"},
        classes=[{"name": name, "weight": 1} for _, name in sources],
        traffic=[
            {"kind": "trace", "flows": [[0, src, "h2", 200 * 1460]], "class": name} for src, name in sources
        ],
        faults=[{"link": "*->*", "kind": "weights", "value": {"gold": 9}, "at": "100us"}],
    )
    for flow, path in sh.run(scenario).why([0, 1]).items():
        waits_ps = (41 + 17, 200)[flow] * 1_200_000
        assert path.by_flow() == {1 - flow: waits_ps}
        assert path.by_cause() == {
            "transmission": 201 * 1_200_000,
            "queue": waits_ps,
            "propagation": 2_000_000,
        }


def test_a_second_flow_on_the_detour_is_named():
    """Two flows that meet only at the spine that is left wait for each other there."""
    flows = [[3e-4, f"h{host}", f"h{host + 8}", 30_000] for host in range(8)]
    run = without_a_spine(flows, hosts_per_leaf=8)
    kept = record.of_run(run, list(range(8)))
    uplink = kept.names.index("leaf0->spine1")
    paths = walk.of_record(kept)
    # All 8 x 21 frames cross the only uplink that works: the last flow waits for most of the others' there.
    slowest = max(paths.values(), key=lambda path: path.fct_ps)
    others = sum(
        piece.length_ps
        for piece in slowest.pieces
        if piece.port == uplink and piece.cause in ("queue", "cut") and piece.flow is not None
    )
    assert others > slowest.fct_ps / 2


def test_a_run_without_detours_needs_one_pass(monkeypatch):
    from shallows import _core

    run, passes = sh.run(faulty(FAULTS["loss"], planes=1)), list[int]()
    watch = _core.watch
    monkeypatch.setattr(_core, "watch", lambda *given: passes.append(1) or watch(*given))
    record.of_run(run, [0, 1, 2])
    assert len(passes) == 1


@pytest.fixture(scope="module")
def spine_fails(tmp_path_factory):
    """The example of docs/failures.md, ten times shorter, as a result."""
    text = re.search(r"```toml\n(# spine-fails.toml\n.*?)```", FAILURES.read_text(), re.DOTALL)
    folder = tmp_path_factory.mktemp("failures")
    (folder / "spine-fails.toml").write_text(text[1])
    overrides = {
        "duration": "1ms",
        "network.convergence": "100us",
        "traffic.1.flows": 150,
        "faults.0.at": "200us",
        "faults.0.until": "700us",
    }
    out = folder / "R"
    settings = [word for key, value in overrides.items() for word in ("--set", f"{key}={value}")]
    command("run", folder / "spine-fails.toml", "--out", out, *settings)
    return out


def test_the_example_of_the_documentation_has_all_paths(spine_fails):
    check_all(sh.Run.load(spine_fails))


@pytest.mark.parametrize(
    "arguments",
    [["--slowest", "10"], ["--p99"], ["--slowest", "1", "--without", "culprits"], ["--html", "page.html"]],
    ids=lambda arguments: arguments[0][2:] if len(arguments) < 3 else "without",
)
def test_the_example_of_the_documentation_is_explained(spine_fails, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "--html" in arguments:
        arguments = ["--slowest", "1", *arguments]
    assert "sum" in command("why", spine_fails, *arguments)


def test_a_task_is_compared_with_a_run_without_the_fault(tmp_path):
    sh.run(faulty(FAULTS["drain"], planes=2)).save(tmp_path / "R")
    assert "ring" in command("why", tmp_path / "R", "--task", "ring", "--without", "faults[0]")

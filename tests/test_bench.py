"""The scripts of bench/: how they select, compare and report measurements."""

import importlib
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.repository

BENCH = Path(__file__).parents[1] / "bench"


@pytest.fixture(autouse=True)
def _scripts(monkeypatch):
    monkeypatch.syspath_prepend(BENCH)


def load(name):
    """A script of bench/ as a module."""
    return importlib.import_module(name)


# Nanoseconds per hop of two trees in four rounds. By hand: medians 10.5 and 8.5, minima 10 and 8; ratios of
# the rounds 12/8, 10/9, 11/8 and 10/20.
OTHER, THIS = [12.0, 10.0, 11.0, 10.0], [8.0, 9.0, 8.0, 20.0]


def test_a_comparison_has_the_ratios_of_medians_and_minima_and_the_spread_of_rounds():
    assert load("paired").compared(THIS, OTHER) == (10.5 / 8.5, 10 / 8, 10 / 20, 12 / 8)
    assert load("paired").compared(THIS, None) is None


@pytest.mark.parametrize("ours", ["a", "b"])
def test_rounds_alternate_and_different_results_are_reported(ours, monkeypatch, capsys):
    """Four rounds of canned times: each tree goes first in every other round."""
    paired, measure = load("paired"), load("measure")
    times, order = {"this": iter(THIS), "other": iter(OTHER)}, []

    def canned(core, tree, case, threads):
        order.append(tree)
        fingerprint = ours if tree == "this" else "a"
        return measure.Measurement(1000, 0.0, next(times[tree]) * 1e-6, 0.0, 50.0, fingerprint)

    monkeypatch.setattr(paired, "measure", canned)
    asked = paired.arguments().parse_args(["abc", "--rounds", "4"])
    ratio = paired.compare(("a-case", 1), {}, ("x.so", "this"), ("y.so", "other"), asked)
    assert ratio == pytest.approx(10.5 / 8.5, rel=1e-12)
    assert order == ["this", "other", "other", "this"] * 2
    line = capsys.readouterr().out
    assert " ".join(line.split()[:10]) == "a-case 1 8.5 8.0 117.6 50 10.5 1.235 1.250 0.500-1.500"
    assert ("RESULTS DIFFER" in line) == (ours == "b")


def test_one_thread_is_timed_by_the_processor_and_several_by_the_clock():
    run = load("measure").Measurement(10, wall_s=3e-6, cpu_s=2e-6, setup_s=0, memory_mb=0, fingerprint="")
    assert run.ns_per_hop(1) == pytest.approx(200, rel=1e-12)
    assert run.ns_per_hop(2) == pytest.approx(300, rel=1e-12)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["no-such-commit"],
            "'no-such-commit' is no commit of this repository; write a branch, a tag or a hash",
        ),
        (["HEAD", "--case", "k9"], r"scenarios.toml has no case k9; expected dctcp-40, "),
        (["HEAD", "--threads", "64"], r"no case is measured on \[64\] threads"),
    ],
)
def test_a_wrong_argument_is_an_error_that_says_what_to_write(words, message):
    with pytest.raises(load("measure").BenchError, match=message):
        load("paired").main(words)


def test_rounds_are_a_whole_number_from_one(capsys):
    with pytest.raises(SystemExit):
        load("paired").main(["--rounds", "0"])
    assert "expected a whole number from 1, not '0'" in capsys.readouterr().err


def test_a_short_run_is_timed_whole_and_a_long_one_from_its_first_report(monkeypatch):
    """The clock advances one second a report; set-up takes the first."""
    measure = load("measure")
    for reports, hops, seconds in (([90, 100], 100, 3), ([10, 100], 90, 2)):
        clock = iter(range(100))
        monkeypatch.setattr(measure.time, "perf_counter", lambda clock=clock: float(next(clock)))
        monkeypatch.setattr(measure.time, "process_time", lambda: 0.0)

        def simulate(request, on_progress, threads, reports=reports):
            for hop in reports:
                on_progress(0, hop, 0)
            measure.time.perf_counter()
            return {"packet_hops": reports[-1]}

        timer = measure.Timer(simulate)
        timer._once(None, 1)
        assert (timer.hops, timer.wall_s, timer.setup_s) == (hops, seconds, 1.0 if hops == 90 else 0.0)


@pytest.mark.nightly
def test_a_measurement_runs_the_scenario_of_its_tree(tmp_path):
    """The installed core over the sources of this checkout: the fingerprint is that of the same run here."""
    import shallows
    from shallows import _core

    measure = load("measure")
    case = {"scenario": "dctcp-40", "set": {"duration": "1ms", "warmup": "0s"}}
    measured = measure.measure(_core.__file__, BENCH.parent, case, 1)
    run = shallows.run(BENCH.parent / "scenarios" / "dctcp-40.toml", overrides=case["set"])
    assert measured.fingerprint == run.summary["fingerprint"]
    assert measured.hops % run.summary["packet_hops"] == 0
    assert measured.cpu_s >= measure.SHORTEST_S
    with pytest.raises(measure.BenchError, match=r"sources in .* the run failed with status"):
        measure.measure(_core.__file__, tmp_path, case, 1)


@pytest.mark.parametrize(
    ("counted", "passes", "said"),
    [
        (104.9, True, ""),
        (105.1, False, "TOO MANY"),
        (95.1, True, ""),
        (94.9, True, "better: write 95"),
    ],
)
def test_counts_five_percent_above_the_kept_figure_fail(counted, passes, said, capsys):
    assert load("instructions").report("a-case", counted, 100) == passes
    line = capsys.readouterr().out
    assert said in line
    assert ("write" in line) == bool(said)


def test_without_valgrind_nothing_is_counted_and_a_sentence_says_so(monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert load("instructions").main([]) == 0
    assert "apt-get install valgrind" in capsys.readouterr().out


def test_sources_without_observers_have_none_of_their_calls():
    """The rest of a source stays; a call that is not a line of its own is refused."""
    unobserved = load("unobserved")
    lines = ["        fabric.observer.began(now, flow);\n", "        self.open(flow);\n"]
    assert unobserved.unobserved("host.rs", "".join(lines)) == (lines[1].encode(), 1)
    with pytest.raises(load("measure").BenchError, match=r"host.rs: .* let heard = fabric.observer.began"):
        unobserved.unobserved("host.rs", "    let heard = fabric.observer.began(now, flow);\n")
    crates = BENCH.parent / "crates"
    sources = [source for source in crates.glob("*/src/**/*.rs") if "observe" not in source.parts]
    calls = [unobserved.unobserved(source.name, source.read_text())[1] for source in sources]
    told = {str(source.relative_to(crates)) for source, count in zip(sources, calls, strict=True) if count}
    assert told == {"py/src/lib.rs", *(f"sim/src/{name}.rs" for name in TELL)}


TELL = ("fabric/mod", "fabric/enqueue", "fabric/link_events", "host/hosts", "host/nics", "host/piggyback")
"""The modules of the packet simulator that call observers."""

RUSTC = """#!/bin/sh
if [ "$1" = -vV ]; then printf 'host: a-b-c\\nLLVM version: 22.1.2\\n'; else echo {sysroot}; fi
"""


@pytest.mark.parametrize(
    ("place", "version", "fits"),
    [
        ("sysroot/lib/rustlib/a-b-c/bin/llvm-profdata", "LLVM version 22.1.2-rust-1.95.0-stable", True),
        ("bin/llvm-profdata-22", "Debian LLVM version 22.1.8", True),
        ("bin/llvm-profdata", "LLVM version 22.1.0", True),
        ("bin/llvm-profdata", "Debian LLVM version 14.0.6", False),
        ("bin/llvm-profdata-14", "Debian LLVM version 14.0.6", False),
    ],
)
def test_profiles_are_merged_by_the_tool_of_rustcs_own_llvm(tmp_path, monkeypatch, place, version, fits):
    for name, text in {
        "bin/rustc": RUSTC.format(sysroot=tmp_path / "sysroot"),
        place: f"#!/bin/sh\necho '{version}'\n",
    }.items():
        script = tmp_path / name
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(text)
        script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    guided = load("guided")
    if fits:
        assert guided.llvm_profdata() == str(tmp_path / place)
    else:
        with pytest.raises(guided.FailedError, match=r"no llvm-profdata of LLVM 22 .*llvm-tools"):
            guided.llvm_profdata()


def test_without_a_profile_the_build_is_the_plain_one_and_a_sentence_says_so(monkeypatch, capsys):
    guided = load("guided")

    def missing():
        raise guided.FailedError("there is no llvm-profdata")

    commands = []
    monkeypatch.setattr(guided, "llvm_profdata", missing)
    monkeypatch.setattr(guided, "maturin", lambda *command, flag=None: commands.append((command, flag)))
    guided.main("develop", "--release")
    assert commands == [(("develop", "--release"), None)]
    assert capsys.readouterr().out == "plain build, without a profile: there is no llvm-profdata\n"

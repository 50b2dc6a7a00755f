"""The scripts of bench/: what they say of their measurements."""

import importlib.util
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"


def load(name):
    """A script of bench/ as a module."""
    spec = importlib.util.spec_from_file_location(f"bench_{name}", BENCH / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("counted", "passes", "said"),
    [
        (104.9, True, ""),
        (105.1, False, "TOO MANY"),
        (95.1, True, ""),
        (94.9, True, "better: put 95"),
    ],
)
def test_counts_five_percent_above_the_kept_figure_fail(counted, passes, said, capsys):
    assert load("instructions").report("a-case", counted, 100) == passes
    line = capsys.readouterr().out
    assert said in line
    assert ("put" in line or "commit" in line) == bool(said)


def test_without_valgrind_nothing_is_counted_and_a_sentence_says_so(monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert load("instructions").main([]) == 0
    assert "apt-get install valgrind" in capsys.readouterr().out


def test_sources_without_observers_have_none_of_their_calls(monkeypatch):
    """A source keeps all else; a call that is no line of its own is refused, not left in."""
    monkeypatch.syspath_prepend(BENCH)
    unobserved = load("unobserved")
    lines = ["        fabric.observer.began(now, flow);\n", "        self.open(flow);\n"]
    assert unobserved.unobserved("host.rs", "".join(lines)) == (lines[1].encode(), 1)
    with pytest.raises(SystemExit, match=r"host.rs: .* let heard = fabric.observer.began"):
        unobserved.unobserved("host.rs", "    let heard = fabric.observer.began(now, flow);\n")
    crates = BENCH.parent / "crates"
    sources = [source for source in crates.glob("*/src/**/*.rs") if "observe" not in source.parts]
    calls = [unobserved.unobserved(source.name, source.read_text())[1] for source in sources]
    told = {str(source.relative_to(crates)) for source, count in zip(sources, calls, strict=True) if count}
    assert told == {"py/src/lib.rs", *(f"sim/src/{name}.rs" for name in TELL)}


TELL = ("fabric/mod", "fabric/scheduled", "node/host", "node/nics")
"""The rooms of the packet world that tell observers."""

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

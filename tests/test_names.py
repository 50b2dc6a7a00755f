"""Names are data: no name that a user may choose breaks a terminal, a page, a figure or a reference."""

import csv
import math

import pytest

import commands
import shallows as sh
from shallows.base import names
from shallows.errors import ScenarioError
from shallows.printing.report import print_parts, run_report
from shallows.scenario import Scenario

HOSTILE = [
    "<!--<script>",
    "$\\frac$",
    *(
        pytest.param(name, marks=pytest.mark.nightly)
        for name in ("s[red]", "[/x]", "_hidden", "a&b", ":smile:")
    ),
]


def graph(hosts, switch="s", **more):
    edges = [[host, switch, "10Gbps", "1us"] for host in hosts]
    return {
        "duration": "100us",
        "cc": "dctcp",
        "topology": {"kind": "graph", "hosts": hosts, "edges": edges},
        "traffic": [{"kind": "incast", "senders": len(hosts) - 1, "size": "20KB", "to": hosts[0]}],
        **more,
    }


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_shown_letter_by_letter(tmp_path, name, capsys):
    run = sh.run(Scenario(**graph([f"{name}h", "b", "c"], name)), out=tmp_path / "run")
    print_parts(run_report(run.summary))
    assert f"{name}->{name}h" in capsys.readouterr().out
    # A page has no script but its own, and nothing after them is swallowed.
    page = run.html(tmp_path / "page.html").read_text()
    assert page.count("<script") == page.count("</script>")
    assert page.rstrip().endswith("</html>")
    from shallows import plot

    assert plot.save(run.figure(), tmp_path)
    for words in (["at", "run", "20us"], ["why", "run", "0", "--figure", "why.png"]):
        done = commands.run(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert name in done.stdout


def test_no_name_is_a_formula_in_a_spreadsheet(tmp_path):
    """A cell that begins with =, +, - or @ is evaluated; numbers below zero are no texts."""
    assert [names.cell(f"{sign}1") for sign in "=+-@\t\r1a"] == [
        "'=1", "'+1", "'-1", "'@1", "'\t1", "'\r1", "11", "a1"
    ]  # fmt: skip
    name = "=cmd|' /C calc'!A0"
    scenario = Scenario(**graph([name, "b", "c"], f"{name}s"))
    run = sh.run(scenario)
    run.taps().csv(tmp_path / "csv")
    sh.compare(scenario, ["reno"]).save(tmp_path / "compared", plot=False)
    sh.sweep(scenario, over={"name": [f"{name[0]}a", f"{name[0]}b"]}, workers=1, out=tmp_path / "swept")
    cells = [
        cell for file in tmp_path.rglob("*.csv") for row in csv.reader(file.open(newline="")) for cell in row
    ]
    assert any(name in cell for cell in cells)
    for cell in cells:
        assert not cell.startswith(("=", "+", "-", "@")) or math.isfinite(float(cell)), cell


def test_a_name_goes_before_a_number_and_an_ambiguous_reference_is_refused():
    def with_flow(hosts, src, dst):
        trace = {"kind": "trace", "flows": [[0, src, dst, 1000]]}
        flows = Scenario(**graph(hosts, traffic=[trace])).flows
        return int(flows.src[0]), int(flows.dst[0])

    # "1" is host 1 by its number and by its name; the others mean one host by name and another by number.
    assert with_flow(["a", "1", "b"], "a", "1") == (0, 1)
    with pytest.raises(ScenarioError, match="not the name of another"):
        with_flow(["3", "2", "1", "0"], "3", "1")
    with pytest.raises(ScenarioError, match="also the number of another host"):
        _ = Scenario(**graph(["2", "1", "0"])).flows


def test_text_for_each_output():
    assert names.terminal("a\x1b[31m\n") == "a\\x1b[31m\n"
    assert names.line("a\nb") == "a\\nb"
    assert names.html('<a b="c">&') == "&lt;a b=&quot;c&quot;&gt;&amp;"
    assert "<" not in names.script({"name": "<!--<script></script>"})
    assert len({names.file(name) for name in ("a/b", "a%2Fb", "a", ".a", "..", "a\\b")}) == 6
    assert all("/" not in names.file(name) for name in ("a/b", "../x"))
    assert names.file("..") != ".."


def test_two_hosts_and_one_cable_run():
    edges = [["a", "b", "10Gbps", "1us"]]
    flow = {"kind": "long-lived", "from": "a", "to": "b"}
    table = {"kind": "graph", "hosts": ["a", "b"], "edges": edges}
    scenario = {"duration": "1ms", "cc": "dctcp", "topology": table, "traffic": [flow]}
    run = sh.run(Scenario(**scenario))
    # 1460 B of payload in frames of 1538 B on the wire: 9.49 Gbps of 10; half a percent for the start.
    assert run.summary["flows"]["goodput_gbps"] == pytest.approx(9.49, rel=0.02)


@pytest.mark.parametrize("mark", ["\ufeff", ""])
def test_a_byte_order_mark_is_no_part_of_a_scenario(tmp_path, mark):
    file = tmp_path / "a.toml"
    text = 'duration = "1ms"\ncc = "dctcp"\n[topology]\nkind = "star"\nhosts = 2\n'
    text += '[[traffic]]\nkind = "long-lived"\nfrom = 0\nto = 1\n'
    file.write_text(mark + text, "utf-8")
    assert Scenario.load(file).name == "a"


@pytest.mark.parametrize("text", ["9" * 5000, "9_" * 4500 + "9", "[[1, " + "9" * 5000 + "]]"])
def test_a_number_of_5000_digits_is_a_sentence(tmp_path, text):
    """Python's own message speaks of its limit of 4300 digits and of a function that sets it."""
    file = tmp_path / "a.toml"
    file.write_text(f'duration = "1s"\nseed = {text}\n')
    wrong = r"a\.toml: expected TOML \(whole numbers of at most 18446744073709551615, .* on line 2\)$"
    with pytest.raises(ScenarioError, match=wrong):
        Scenario.load(file)

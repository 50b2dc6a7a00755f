"""Mistakes in a file: the line, the caret, and what to write instead."""

import re

import pytest

from shallows.errors import ScenarioError
from shallows.scenario import Scenario
from shallows.sweeps.running import sweep

HEAD = """duration = "1ms"

[topology]
kind = "star"
hosts = 4

[cc]
name = "dctcp"
"""
TRAFFIC = """
[[traffic]]
kind = "long-lived"
"""


def mistake(text, tmp_path, overrides=None, read=None):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ScenarioError) as error:
        (read or Scenario.load)(str(path), **({"overrides": overrides} if overrides else {}))
    return str(error.value).replace(str(path), "mine.toml")


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('duration = "1ms\n', '    1 | duration = "1ms', 16),
        (HEAD + 'buffer = "500pkt\n' + TRAFFIC, '    9 | buffer = "500pkt', 17),
        ('duration = "1ms"\nx = [1,\n', "    2 | x = [1,", 8),
        ("a = 1\na = 2\n", "    2 | a = 2", 6),
        ("[topology\n", "    1 | [topology", 10),
        ("\n\nfoo\n", "    3 | foo", 4),
    ],
)
@pytest.mark.parametrize("read", [None, lambda path: sweep(path)], ids=["run", "sweep"])
def test_an_error_of_syntax_shows_its_line(text, line, column, read, tmp_path):
    first, *shown = mistake(text, tmp_path, read=read).splitlines()
    assert first.startswith("mine.toml: expected TOML (")
    assert shown == [line, "      | " + " " * (column - 1) + "^"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (HEAD.replace("hosts", "host") + TRAFFIC, "host"),
        (HEAD + "gg = 4\n" + TRAFFIC, "gg"),
        (HEAD + TRAFFIC + '"flow s"   = 4\n', '"flow s"'),
        (HEAD + TRAFFIC + "flow = 4 # flows\n", "flow"),
    ],
)
def test_the_caret_of_an_unknown_key_is_under_the_key(text, key, tmp_path):
    *_, line, carets = mistake(text, tmp_path).splitlines()
    assert line.partition("| ")[2].startswith(key)
    assert carets == "      | " + "^" * len(key)


def test_the_caret_of_a_wrong_value_is_under_the_value(tmp_path):
    *_, line, carets = mistake(HEAD.replace("hosts = 4", "hosts = 1") + TRAFFIC, tmp_path).splitlines()
    assert (line, carets) == ("    5 | hosts = 1", "      |         ^")


def test_an_unknown_table_shows_its_header(tmp_path):
    *_, line, carets = mistake(HEAD + "[netwrk]\nmtu = 3\n" + TRAFFIC, tmp_path).splitlines()
    assert (line, carets) == ("    9 | [netwrk]", "      | ^^^^^^^^")


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("trafic.0.load", "trafic[0].load"),
        ("netwrk.mtu", "netwrk.mtu"),
        ("durations", "durations = 5"),
        ("topology.host", "topology.host = 5"),
    ],
)
def test_a_misspelt_key_of_an_option_is_blamed_on_the_option(key, named, tmp_path):
    said = mistake(HEAD + TRAFFIC, tmp_path, {key: 5})
    assert said.startswith(f"overrides: {named}: expected a known key (")
    assert "did you mean" in said
    assert "{" not in said, "no repr of Python"
    assert "mine.toml" not in said


def test_a_misspelt_key_of_the_file_is_blamed_on_the_file_beside_an_option(tmp_path):
    said = mistake(HEAD + "[trafic]\nload = 1\n" + TRAFFIC, tmp_path, {"trafic.load": 5})
    assert said.startswith("mine.toml: trafic = ")


@pytest.mark.parametrize(
    ("line", "home"),
    [
        ("faults = []", "`faults` is a key of the file: write it above the first [table]"),
        ("seed = 3", "`seed` is a key of the file: write it above the first [table]"),
        ('warmup = "1us"', "`warmup` is a key of the file: write it above the first [table]"),
        ('buffer = "3pkt"', "`buffer` is a key of [network]"),
        ("acks_every = 2", "`acks_every` is a key of [hosts]"),
    ],
)
def test_a_key_below_the_wrong_header_is_told_its_place(line, home, tmp_path):
    assert home in mistake(HEAD + TRAFFIC + line + "\n", tmp_path)


def test_a_key_that_only_a_list_of_tables_has_is_told_no_place(tmp_path):
    """`size` is a key of [[pools]] and of other traffic, neither of which is meant."""
    assert "is a key of" not in mistake(HEAD + TRAFFIC + 'size = "1KB"\n', tmp_path)


def test_the_load_of_a_star_says_where_its_flows_go(tmp_path):
    """All flows of a star of 9 hosts go to the last, over one link: an eighth of the senders' rate."""
    poisson = 'kind = "poisson"\nsizes = "20KB"\nload = 0.3\nflows = 200\n'
    text = HEAD.replace("hosts = 4", "hosts = 9") + "[[traffic]]\n" + poisson
    said = mistake(text, tmp_path)
    assert "expected at most 0.125" in said
    assert 'All flows of this topology go to h8; write from = "h*" and to = "h*"' in said
    pairs = Scenario.from_toml(text + 'from = "h*"\nto = "h*"\n')
    assert len(set(pairs.flows.dst.tolist())) > 1


def incast(**table):
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4}
    traffic = [{"kind": "incast", "size": "20KB", **table}]
    return Scenario(duration="1ms", topology=topology, cc="dctcp", traffic=traffic).flows


@pytest.mark.parametrize(
    ("table", "senders"),
    [
        ({"from": [4, 5], "to": 0}, [4, 5]),
        ({"from": "h[0-3]", "to": 0}, [1, 2, 3]),
        ({"from": ["h6", 2, "h1"], "senders": 2, "to": 7}, [6, 2]),
        ({"from": [3], "times": 3, "period": "100us", "to": 7}, [3, 3, 3]),
    ],
)
def test_the_senders_of_an_incast_may_be_chosen(table, senders):
    flows = incast(**table)
    assert flows.src.tolist() == senders
    assert set(flows.dst.tolist()) == {table["to"]}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"from": [0], "to": 0}, "a host other than the receiver"),
        ({"from": [1, 2], "senders": 3, "to": 0}, "at most 2"),
        ({"from": ["h9"], "to": 0}, r"traffic\[0\].from"),
    ],
)
def test_senders_that_an_incast_cannot_have_are_refused(table, message):
    with pytest.raises(ScenarioError, match=message):
        incast(**table)


@pytest.mark.parametrize(
    "value",
    [
        '["h1", "h5"]',
        '{ kind = "down", at = 3 }',
        "[{ load = 0.5, ecn = true }]",
        "true",
        "[[1, 2], [false]]",
    ],
)
def test_a_wrong_value_is_repeated_as_the_file_has_it(value, tmp_path):
    """Lists, tables and flags were shown as Python writes them."""
    assert f"traffic[0].flow = {value}: expected" in mistake(HEAD + TRAFFIC + f"flow = {value}\n", tmp_path)


def test_a_value_with_too_many_levels_is_no_traceback():
    value = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(ScenarioError, match="a value with too many levels"):
        raise ScenarioError("key", value, "less")


def test_a_list_of_senders_is_told_the_key_that_takes_it(tmp_path):
    table = '[[traffic]]\nkind = "incast"\nsenders = ["h1", "h2"]\nto = "h3"\n'
    assert "write from = [...] to choose the hosts that send" in mistake(HEAD + table, tmp_path)
    chosen = table.replace("senders", "from")
    assert Scenario.from_toml(HEAD + chosen).flows.src.tolist() == [1, 2]


QUEUES = {
    "an unknown class": ('[[traffic]]\nclass = «"rmda"»\n[[classes]]\nname = "rdma"', 'did you mean "rdma"'),
    "two classes of one name": ('[[classes]]\nname = "a"\n[[classes]]\nname = «"a"»', "a name of its own"),
    "an unknown pool": ('[[classes]]\nname = "a"\npool = «"p"»', r"no table \[\[pools\]\] of this name"),
    "a limit beside pauses": (
        '[[classes]]\nname = "a"\npfc = true\nbuffer = «"1MB"»',
        "no such key: its pfc is set",
    ),
    "trimming beside pauses": (
        '[[classes]]\nname = "a"\npfc = true\ntrimming = «true»',
        "false: its pfc is set",
    ),
    "a threshold beside a pool": (
        '[[pools]]\nname = "p"\n[[classes]]\nname = "a"\npool = "p"\npfc = { threshold = «"100KB"» }',
        "no such key: with a pool the threshold follows",
    ),
    "a restoration alone": (
        '[[classes]]\nname = "a"\npfc = { restoration = «"1ms"» }',
        "no such key without watchdog",
    ),
    "two limits of trimming": (
        '[network]\ntrimming = { queue = 8, threshold = «"12KB"» }',
        "no such key beside queue",
    ),
    "trimming before marking": (
        '[network]\ntrimming = { queue = «8» }\nmarking = { kind = "step", threshold = "35pkt" }',
        "more than the largest marking threshold, 35pkt",
    ),
    "trimming where nothing trims": (
        '[[ports]]\nnames = "*->h1"\ntrimming = «{ queue = 40 }»',
        "write trimming = true for their class first",
    ),
}
"""Wrong tables, with the wrong value in guillemets, and what the message says to write."""


@pytest.mark.parametrize(("tables", "instead"), QUEUES.values(), ids=QUEUES)
def test_a_mistake_of_queues_is_one_message_at_its_value(tables, instead, tmp_path):
    if "[[traffic]]" not in tables:
        tables = f"[[traffic]]\n{tables}"
    marked = HEAD + tables.replace("[[traffic]]", '[[traffic]]\nkind = "long-lived"') + "\n"
    before, value, _ = re.split("[«»]", marked)
    number, column = before.count("\n") + 1, len(before) - before.rindex("\n") - 1
    message, line, caret = mistake(re.sub("[«»]", "", marked), tmp_path).split("\n")
    assert re.search(f"expected .*{instead}", message)
    text = re.sub("[«»]", "", marked.splitlines()[number - 1])
    assert line == f"{number:5} | {text}"
    assert caret == "      | " + " " * column + "^" * len(value)

"""Each fact stands once: the keys of a queue in one model, the values of an enumeration in one language, the
text of a key or a column in one file.
"""

import ast
import difflib
import re
import tomllib
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest

import shallows as sh
from shallows.base.table import Key, Table
from shallows.core import contract
from shallows.errors import ScenarioError
from shallows.registry import explain, inserted, keys, results, rules
from shallows.results.tables import ALL_TABLES
from shallows.scenario import queues
from shallows.scenario.queues import PortTable, QueueKeys, QueueTable, TrafficClass
from shallows.scenario.tables import HostTable, NetworkTable
from shallows.units import OptionalCount

PACKAGE = Path(sh.__file__).parent
DOCS, CRATES = (Path(__file__).parents[1] / name for name in ("docs", "crates"))
CHOICES = {
    name: frozenset(get_args(value))
    for name, value in vars(contract).items()
    if get_origin(value) is Literal and name not in vars(queues)
}
"""The enumerations of the core's request."""
ALSO_COLUMNS = {"flow", "packet", "queue"}
"""Values of `balancing` that are names of columns too."""


def groups(path):
    """The sets of texts that a module writes in a `Literal`, a tuple, a list or a set, and their lines."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            texts = {str(one.value) for one in node.elts if isinstance(one, ast.Constant)}
            yield node.lineno, texts


def test_the_values_of_an_enumeration_of_the_core_stand_in_no_module():
    """Neither all of them nor several, listed by what they do."""
    assert CHOICES["LossDetection"] == {"duplicate-acks", "rack"}
    assert len(CHOICES) == 5
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {name}"
        for path in PACKAGE.rglob("*.py")
        if path.name != "contract.py"
        for line, texts in groups(path)
        for name, values in CHOICES.items()
        if texts >= values or len(texts & values - ALSO_COLUMNS) > 1
    ]
    # the fluid model of DCQCN names the choices of a parameter of its own
    assert [one for one in found if not one.startswith("fluid/")] == []


def test_no_type_is_any_in_disguise():
    """A union with `Any` is `Any` for a checker, under another name too."""
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if is_union_with_any(node)
    ]
    assert not found
    assert is_union_with_any(ast.parse("float | Any", mode="eval").body)
    assert is_union_with_any(ast.parse("'str | Any'", mode="eval").body)


def is_union_with_any(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.search(r"\| Any\b|\bAny \|", node.value) is not None
    sides = [node.left, node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) else []
    return any(isinstance(side, ast.Name) and side.id == "Any" for side in sides)


def test_a_scenario_takes_the_values_of_an_enumeration_from_the_core():
    for model, key in ((HostTable, "nic"), (HostTable, "loss_detection"), (HostTable, "retransmission")):
        assert frozenset(get_args(model.model_fields[key].annotation)) in CHOICES.values()
    assert frozenset(get_args(NetworkTable.model_fields["balancing"].annotation)) in CHOICES.values()


def declared(model):
    """The keys that a class of tables declares itself."""
    return set(model.__annotations__) & set(model.model_fields)


def test_each_key_of_a_queue_is_declared_once():
    """`trimming` of ports alone has another type: false would differ from no key nowhere."""
    assert issubclass(NetworkTable, QueueTable)
    assert issubclass(TrafficClass, QueueTable)
    assert issubclass(PortTable, QueueKeys)
    of_queues = declared(QueueKeys) | declared(QueueTable)
    assert of_queues >= {"marking", "trimming", "buffer", "pfc"}
    assert of_queues & (declared(NetworkTable) | declared(TrafficClass)) == set()
    assert of_queues & declared(PortTable) == {"trimming"}


def test_the_text_of_a_key_says_what_it_is_by_default_in_each_table():
    texts = [model.model_fields["buffer"].description for model in (NetworkTable, TrafficClass, PortTable)]
    what = "of the queue at a switch port; by default "
    assert [text.removeprefix(what) for text in texts] == [
        "375KB, or more for a longer path or a larger threshold",
        "as network.buffer",
        "as elsewhere",
    ]


class Turning(QueueTable, frozen=True):
    """A table with a key that the core's class has by the same name."""

    turn: OptionalCount = Key(None, description="as in the core")


def test_a_key_that_the_core_has_reaches_it_by_its_name(monkeypatch):
    """No code but the declaration of `turn` above names it; elsewhere a queue has no such key."""
    monkeypatch.setattr(queues, "_OF_PORTS", queues._OF_PORTS - {"turn"})
    assert Turning().to_class() == {}
    assert Turning(turn=3).to_class() == {"turn": 3}
    assert Turning().with_defaults_of(Turning(turn=4)).to_class() == {"turn": 4}
    assert Turning(turn=3).with_defaults_of(Turning(turn=4)).to_class() == {"turn": 3}


def test_a_key_reaches_the_core_with_its_unit():
    class Stated(Table, frozen=True):
        stack: OptionalCount = Key(None, description="a time")

    assert Stated(stack=2).to_core(dict_of("stack_ps", "noise_ps"), but={"noise_ps"}) == {"stack_ps": 2}


def dict_of(*keys):
    """A class with these annotations."""
    return type("Of", (), {"__annotations__": dict.fromkeys(keys, int)})


def words(text):
    """The words of a text, without the signs of Markdown."""
    return re.sub(r"[^\w.]+", " ", explain.plain(text).lower()).strip()


def test_each_table_of_keys_and_columns_stands_in_one_page():
    pages = [path.read_text() for path in DOCS.glob("*.md")]
    for registry in (keys, results):
        marks = [name for page in pages for name in registry.MARK.findall(page)]
        assert sorted(marks) == sorted(registry.tables())


def test_no_table_of_a_page_has_the_text_of_a_key_or_a_column():
    """Of texts of four words at least; docs/crossing.md has those of the core's request and answer."""
    of_results = [row for table in results.tables().values() for row in table.rows]
    texts = {words(row.meaning) for row in (*keys.rows(), *of_results)}
    texts |= {words(one.rule) for one in rules.rules()}
    found = [
        (path.name, cell)
        for path in DOCS.glob("*.md")
        if path.name != "crossing.md"
        for line in path.read_text().splitlines()
        if line.startswith("|")
        for cell in map(words, line.split("|"))
        if cell.count(" ") >= 3 and cell in texts
    ]
    assert not found


def test_no_comment_of_the_core_has_the_text_of_a_key_or_a_column():
    """The request and the answer name the key where their field is the same."""
    texts = {words(row.meaning) for row in keys.rows()}
    texts |= {words(keys.description(model, name)) for model, name in declared_keys()}
    texts |= {words(column.definition) for columns in ALL_TABLES.values() for column in columns.values()}
    found = [
        f"{path.name}: {comment}"
        for folder in ("sim/src/spec", "contract/src")
        for path in (CRATES / folder).glob("*.rs")
        for comment in comments(path.read_text())
        if comment.count(" ") >= 3 and comment in texts
    ]
    assert not found
    assert "a full frame" in comments("    /// A full\n    /// frame.\n    mtu: u64,\n")


def test_no_text_of_a_key_or_a_column_stands_in_two_files():
    """Of texts of nine words at least, anywhere in a source or a page: shorter ones are said by chance."""
    texts = {words(row.meaning) for row in keys.rows()}
    texts |= {words(keys.short_text(model, name)) for model, name in declared_keys()}
    texts |= {words(column.definition) for columns in ALL_TABLES.values() for column in columns.values()}
    sources = [*PACKAGE.rglob("*.py"), *PACKAGE.glob("data/*.toml"), *DOCS.glob("*.md")]
    sources += [*CRATES.glob("*/src/**/*.rs")]
    pages = {
        path: said(path.read_text("utf-8"))
        for path in sources
        if path.name not in ("contract.py", "crossing.md")  # both are generated
    }
    places = {text: [path.name for path, page in pages.items() if f" {text} " in page] for text in texts}
    assert {text: at for text, at in places.items() if text.count(" ") >= 8 and len(at) > 1} == {}
    assert said('"of the\n    /// queue " "at a port"') == " of the queue at a port "


def said(source):
    """The words of a source, also where they go on in the next line of a comment, or of a text."""
    whole = re.sub(r'(?m)^\s*(///|//!|//|#)|"\s+f?"', " ", source)
    return re.sub(r"[^\w.]+|\.(?!\w)", " ", f" {whole.lower()} ").replace("  ", " ")


def comments(source):
    """The documentation comments of Rust, as words."""
    blocks = re.findall(r"(?m)(?:^ *///.*\n)+", source)
    return [words(re.sub(r"(?m)^ *///", " ", block)).strip(" .") for block in blocks]


def declared_keys():
    """(model, key) of every key that has a short text."""
    return [(model, name) for model in keys.MODELS.values() if model for name in model.key_names()]


def test_no_text_of_a_key_or_a_column_is_that_of_its_declaration():
    """A row without a text has that of the model, so that the same words stand in one file."""
    told = [(path, row.meaning) for row in keys.rows() if len(row.paths) == 1 for path in row.paths]
    for path, meaning in told:
        prefix, _, name = path.rpartition(".")
        short = keys.description(keys.MODELS.get(prefix), name)
        assert meaning == short or words(meaning) != words(short), path
    assert not [text for text, short in written() if repeats(text, short)]
    for table in results.tables().values():
        for row in table.rows:
            if row.table != results.SUMMARY and len(row.names) == 1:
                short = ALL_TABLES[row.table][row.names[0]].definition
                assert row.meaning == short or words(row.meaning) != words(short), row


def written():
    """(text, short text) of each row of a key or a column whose text does not begin with the short one."""
    for name, table in tomllib.loads(keys.FILE.read_text("utf-8")).items():
        prefix = "" if name == keys.TOP else name.partition(" ")[0]
        for row in table["rows"]:
            if row["keys"] and "text" in row:
                yield row["text"], keys.short_text(keys.MODELS[prefix], row["keys"][0])
    for name, table in tomllib.loads(results.FILE.read_text("utf-8")).items():
        for row in table["rows"]:
            if name in ALL_TABLES and "text" in row:
                yield row["text"], ALL_TABLES[name][row["keys"][0]].definition


def repeats(text, short):
    """Whether a text has a short one of four words at least, or three quarters of it in order."""
    mine, its = words(text).split(), words(short).split()
    alike = difflib.SequenceMatcher(None, its, mine[: len(its) + 2], autojunk=False)
    return len(its) > 3 and (words(short) in words(text) or alike.ratio() >= 0.85)


def test_a_text_that_repeats_a_short_one_is_found():
    assert repeats("with `poll`, the most frames of a poll", "the most frames of a poll")
    assert repeats("the `names` of all hosts in this order, and more", "names of all hosts in this order")
    assert not repeats("senders and receivers; by default all hosts", "the hosts that send")


def test_rows_of_results_are_columns_and_every_column_has_one():
    for name, columns in ALL_TABLES.items():
        assert sorted(one for row in results.tables()[name].rows for one in row.names) == sorted(columns)


def test_a_name_is_found_by_its_path_and_by_the_end_of_it():
    (watchdog,) = explain.explain("pfc.watchdog")
    assert watchdog["name"] == "network.pfc.watchdog"
    assert watchdog["default"] == "never"
    assert watchdog["type"] == "time, ps to s"
    assert "action = drop (detection_time)" in watchdog["meaning"]
    assert explain.explain("network.pfc.watchdog") == [watchdog]
    assert [one["name"] for one in explain.explain("flows.fct_us")] == ["flows.fct_us"]
    assert explain.explain("busbw_gb_per_s")[0]["name"] == "summary.busbw_gb_per_s"
    assert "traffic.size (incast)" in [one["name"] for one in explain.explain("size")]


def test_the_name_of_a_table_has_its_keys_and_columns():
    names = [one["name"] for one in explain.explain("network")]
    assert {"network.mtu", "network.buffer", "summary.network"} <= set(names)
    assert "network.pfc.watchdog" not in names
    columns = {one["name"] for one in explain.explain("flows")}
    assert columns >= {f"flows.{key}" for key in ALL_TABLES["flows"]}
    assert "duration" in [one["name"] for one in explain.explain("scenario")]


def test_a_default_that_follows_the_network_has_its_rule():
    """The table of all rules is in a page, and those of a key are in its explanation."""
    following = [row.paths[0] for row in keys.rows() if "follows the network" in row.default]
    assert "hosts.rto_min" in following
    assert not [path for path in following if not rules.of_key(path)]
    (buffer,) = explain.explain("network.buffer")
    assert buffer["rule"].startswith("375 KB (250 packets of 1500 B), or C R of the slowest switch port")
    assert "with swift or swift-roce: the same, or what the largest target delay allows" in buffer["rule"]
    assert "rule" not in explain.explain("network.mtu")[0]
    page = inserted.expanded((DOCS / "scenario-defaults.md").read_text())
    assert "| `pfc.threshold` | 100 KB; above 40 Gbps" in page


def test_an_unknown_name_is_an_error_with_one_like_it():
    with pytest.raises(ScenarioError, match=r'NAME = "watchdg": expected a key .* did you mean "watchdog"'):
        explain.explain("watchdg")

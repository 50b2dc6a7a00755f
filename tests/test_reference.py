"""The reference, which is made with the site, has every public name, option, key and column."""

import inspect
import json
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import shallows as sh
from shallows import cli
from shallows.cli import status
from shallows.results.metrics import METRICS
from shallows.results.tables import TABLES
from shallows.runner import WORLDS
from shallows.scenario.builders import MODELS
from shallows.scenario.given import Given
from shallows.scenario.literal import Builder
from test_public import members

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "packaging"))

from reference import commands, keys, pages, python  # noqa: E402

WITH_PAGES_OF_THEIR_OWN = {
    "topology",
    "network",
    "hosts",
    "cc",
    "traffic",
    "faults",
    "classes",
    "pools",
    "ports",
    "record",
}
ROWS = [(page, *row) for page in keys.TABLES for row in keys.documented(page)]


def every_command():
    """(words, command) of the whole tree of commands, groups left out."""
    left = [("", typer.main.get_command(cli.app))]
    while left:
        words, command = left.pop()
        if hasattr(command, "list_commands"):
            left += [
                (f"{words} {name}".strip(), command.get_command(None, name))
                for name in command.list_commands(None)
            ]
        else:
            yield words, command


def test_every_option_of_every_command_is_on_the_page_of_commands():
    page = commands.page()
    sections = dict(re.findall(r"(?ms)^#+ shallows ([\w -]+?) \{.*?$(.*?)(?=^#|\Z)", page))
    seen = 0
    for words, command in every_command():
        for option in command.params:
            names = option.opts + option.secondary_opts
            shown = [option.metavar or names[0].upper()] if option.param_type_name == "argument" else names
            assert all(name in sections[words] for name in shown), (words, shown)
            seen += 1
    assert seen > 150  # 162 uses of options were counted in 33 commands


@pytest.mark.parametrize("page", keys.TABLES)
def test_each_key_of_a_page_has_default_unit_source_and_worlds(page):
    rows = [row for row in ROWS if row[0] == page]
    assert rows
    for _, paths, *facts in rows:
        assert all(facts), (paths, facts)
        assert facts[4].split(" ")[0].rstrip(",") in WORLDS, (paths, facts)


def test_every_key_of_every_model_has_an_entry():
    entries = {path for _, paths, *_ in ROWS for path in paths}
    prefixes = [
        (prefix, model) for tables in keys.TABLES.values() for prefix, model in tables.values() if model
    ]
    assert {model for _, model in prefixes} >= {*MODELS.values(), Given}
    for prefix, model in prefixes:
        if prefix in ("traffic", "traffic.collective"):
            continue  # parts of the kinds' own models
        inherited = {"name", "cc", "priority", "class", "route"} | {
            path.rpartition(".")[2] for path in entries if path.startswith("traffic.collective.")
        }
        for key in {field.alias or name for name, field in model.model_fields.items()} - {"kind"}:
            path = f"{prefix}.{key}".lstrip(".")
            elsewhere = prefix.startswith("traffic.") and prefix.count(".") == 1 and key in inherited
            assert path in entries or elsewhere or (not prefix and key in WITH_PAGES_OF_THEIR_OWN), path


def test_facts_of_keys_are_right():
    """Of a few keys, by hand."""
    facts = {
        path: (default, unit, source, worlds)
        for _, paths, default, _, unit, source, worlds in ROWS
        for path in paths
    }
    assert facts["network.mtu"][0] == '`"1500B"`'
    assert "size" in facts["network.mtu"][1]
    assert facts["network.mtu"][3] == "packet, fluid, kernel, wire"
    assert facts["hosts.costs"][3] == "packet, wire"
    assert facts["hosts.initial_window"][2] == "RFC 6928: 10 segments"
    assert facts["traffic.poisson.load"][2] == "required"
    assert facts["traffic.long-lived.off"][3] == "packet, wire"
    assert "scenario-defaults.md" in facts["network.pfc.threshold"][2]
    assert facts["topology.leaf-spine.spine_rate"][2] == "another key"
    assert facts["faults.kind"][3] == "packet"


def test_an_error_names_the_page_of_its_key():
    rows = [(path.partition(".")[0], page.removesuffix(".md")) for page, paths, *_ in ROWS for path in paths]
    assert {**dict(rows), "cc": "scenario-cc"} == {**status.PAGES}


@pytest.mark.parametrize(
    ("option", "page"),
    [
        ("network.mtuu=1500B", "scenario-network"),
        ("traffic.0.flows=-1", "scenario-traffic"),
        ("seed=none", "scenario"),
    ],
)
def test_a_message_ends_with_the_page(option, page):
    done = CliRunner().invoke(cli.app, ["run", "dctcp-40", "--set", option])
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1] == f"The keys are described on page {page} of the documentation."
    assert (ROOT / "docs" / f"{page}.md").exists()


def test_every_column_and_number_of_a_result_has_an_entry():
    page = pages()["columns.md"]
    for table, columns in TABLES.items():
        for name, column in columns.items():
            assert f"### `{name}` {{ #{table}.{name} }}" in page
            assert column.definition[1:] in page
    assert all(f"`{one.key}`" in page for one in METRICS)


def ids_of_names():
    """{name as a user writes it: its id on the site}, without names that `__all__` of a module leaves out."""
    found = {}
    for name in sh.__all__:
        owner = getattr(sh, name)
        if inspect.isclass(owner) and issubclass(owner, Builder):
            found[name] = f"shallows.{name}"
        elif not inspect.ismodule(owner):
            place = found[name] = f"{owner.__module__}.{name}"
            below = members(owner) if inspect.isclass(owner) else ()
            found |= {f"{name}.{key}": f"{place}.{key}" for key, _ in below}
    for name in python.MODULES:
        owner = import_module(f"shallows.{name}")
        listed = getattr(owner, "__all__", None) or [key for key, _ in members(owner)]
        of_code = [key for key in listed if not inspect.ismodule(getattr(owner, key))]
        found |= {f"{name}.{key}": f"shallows.{name}.{key}" for key in of_code}
    return found


def test_names_have_the_ids_that_mkdocstrings_gives_them():
    ids = ids_of_names()
    assert ids["run"] == "shallows.runner.run"
    assert ids["Run.figure"] == "shallows.runs.Run.figure"
    assert ids["Poisson"] == "shallows.Poisson"
    assert ids["plot.queue_cdf"] == "shallows.plot.queue_cdf"
    assert len(ids) > 150


def test_the_modules_of_the_reference_are_the_stable_ones():
    rows = re.findall(r"(?m)^\| `shallows\.(\w+)`", (ROOT / "docs/python.md").read_text())
    assert {*rows} == {*python.MODULES}
    assert {name for name in sh.__all__ if inspect.ismodule(getattr(sh, name))} <= {*rows}


def test_the_site_builds_without_a_broken_link_and_shows_every_name(tmp_path):
    build = pytest.importorskip("mkdocs.commands.build", reason="mkdocs comes with make lint")
    pytest.importorskip("mkdocstrings", reason="mkdocstrings comes with make lint")
    from mkdocs.config import load_config

    site = tmp_path / "site"
    build.build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(site), strict=True))
    text = "".join(page.read_text() for page in site.glob("*.html"))
    assert "RFC 8257 §4.2: 1/16" in (site / "catalog.html").read_text()
    assert "fonts.googleapis" not in text
    ids = set(re.findall(r'id="([^"]+)"', text))
    assert {name for name, place in ids_of_names().items() if place not in ids} == set()
    assert {path for _, paths, *_ in ROWS for path in paths} <= ids
    found = {one["location"] for one in json.loads((site / "search/search_index.json").read_text())["docs"]}
    assert {f"{page.removesuffix('.md')}.html#{paths[0]}" for page, paths, *_ in ROWS} <= found
    assert {f"columns.html#{table}.{name}" for table, names in TABLES.items() for name in names} <= found

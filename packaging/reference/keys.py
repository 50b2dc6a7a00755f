"""Keys of a scenario on the site: the tables of docs/scenario*.md with unit, source and worlds of each key.

The pages have marks in the place of their tables, whose rows are those of `shallows.registry.keys`.
"""

import re
from pathlib import Path

from shallows.registry import keys as registry
from shallows.registry import rules
from shallows.scenario.builders import MODELS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [
    "scenario.md",
    *(
        f"scenario-{part}.md"
        for part in ("network", "hosts", "topology", "traffic", "classes", "ports", "faults", "record")
    ),
]


def _models(page):
    """{name of a table: (prefix of its keys, model)} of a page."""
    found = {}
    for name in registry.MARK.findall((DOCS / page).read_text("utf-8")):
        prefix = "" if name == registry.TOP else name.partition(" ")[0]
        found[name] = (prefix, registry.MODELS[prefix])
    return found


TABLES = {page: _models(page) for page in PAGES}
"""{page: {name of a table: (prefix of its keys, model)}}."""


def augmented(text):
    """The Markdown of a page of the site: each row of its tables of keys is a heading with its facts."""
    return registry.MARK.sub(lambda found: "\n".join(_entries(found[1])), text)


def documented(page):
    """(paths, default, meaning, unit, source, worlds) of each key on a page of docs/."""
    for name in TABLES[page]:
        yield from _facts(name)


def _facts(name):
    """The keys of a table, as `documented` has them."""
    table = registry.tables()[name]
    title = table.head[1]
    for row in table.rows:
        if not row.paths:
            continue
        default = row.default
        if title != "default" and "·" in default:
            default = f"{default} ({title})"
        default = re.sub("^,", "none,", default) or "none"
        yield list(row.paths), default, row.meaning, row.unit, row.source or _source(row), row.worlds


def _entries(name):
    for paths, default, meaning, unit, source, worlds in _facts(name):
        shown = ", ".join(f"`{registry.as_written(path)}`" for path in paths)
        also = "".join(f'<a id="{path}"></a>' for path in paths[1:])
        yield from (
            "",
            f"#### {shown} {{ #{paths[0]} .key }}",
            "",
            f"{also}{meaning[:1].upper()}{meaning[1:]}",
            "",
        )
        facts = {"unit": unit, "default": default, "source": source, "worlds": worlds}
        yield from (" · ".join(f"**{name}** {value}" for name, value in facts.items()), "{ .facts }", "")


OFF = {"", "none", "never", '`"never"`', '`"off"`', '`"unlimited"`', '`"0s"`', "`0`", "`false`", "`[]`"}


def _source(row):
    """Where the default comes from, if no paper, standard or product says it."""
    path, default = row.paths[0], row.default
    if "*required*" in default or default == "required":
        return "required"
    if rules.of_key(path) or "follows the network" in default:
        return "[rule](scenario-defaults.md)"
    if default in OFF:
        return "no effect unless set"
    if default.startswith("as "):
        return "another setting"
    other = re.fullmatch(r"(?:twice )?`([a-z_.]+)`.*", default)
    if other and other[1] not in ("true", "false"):
        return "another key"
    return "a choice"


def index():
    """The list of all keys, as Markdown."""
    lines = [
        "# All keys",
        "",
        "From this page you find a key of a scenario by its name, which leads to its unit, default, source,",
        "worlds and meaning.",
        "",
        "| key | default | page |",
        "|---|---|---|",
    ]
    rows = []
    for page in TABLES:
        title = (DOCS / page).read_text("utf-8").splitlines()[0].lstrip("# ")
        for paths, default, *_ in documented(page):
            for path in paths:
                written = registry.as_written(path)
                kind = path.split(".")[1] if written != path else ""
                of = f", `{kind}`" if kind else ""
                plain = re.sub(r"\[([^\]]*)\]\(#([^)]*)\)", r"\1", default)
                rows.append((written, f"| [`{written}`]({page}#{paths[0]}){of} | {plain} | {title} |"))
    return "\n".join([*lines, *(row for _, row in sorted(rows))]) + "\n"


def models():
    """{builder: {key: pages that have it}}, for tests."""
    found = {}
    for page, tables in TABLES.items():
        rows = {path for paths, *_ in documented(page) for path in paths}
        for prefix, model in tables.values():
            if model is not None:
                found.setdefault(model, set()).update(
                    path[len(prefix) :].lstrip(".") for path in rows if path.rpartition(".")[0] == prefix
                )
    return found, MODELS

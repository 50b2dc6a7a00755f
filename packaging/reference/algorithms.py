"""The page of algorithms, markings and receivers, from the catalog of the core."""

from shallows.registry import catalog

TITLES = {"network.marking": "Markings", "cc.receiver": "Receivers"}


def page():
    """Every algorithm with its parts, parameters, presets and what is not modelled, as Markdown."""
    rows = catalog.algorithms()
    lines = [*_head(rows)]
    for row in rows:
        lines += ["", f"## {row['name']}", *_algorithm(row)]
    for key, others in catalog.other_catalogs().items():
        lines += ["", f"## {TITLES[key]}", "", f"Values of `{key}`."]
        for row in others:
            name = key.rpartition(".")[2]
            lines += ["", f"### {row['name']} {{ #{name}-{row['name']} }}", "", _sentence(row), ""]
            lines += [*_parameters(row), *_presets(row)]
    return "\n".join(lines)


def _head(rows):
    yield from ("# Algorithms", "")
    yield "From this page you look up the parameters, presets and limits of each algorithm."
    yield "`shallows cc NAME` prints the same."
    yield from ("", "| transport | algorithms |", "|---|---|")
    for transport in dict.fromkeys(row["transport"] for row in rows):
        names = (f"[{row['name']}](#{row['name']})" for row in rows if row["transport"] == transport)
        yield f"| `{transport}` | {', '.join(names)} |"
    yield from ("", "| algorithm | what it does | source |", "|---|---|---|")
    for row in rows:
        yield f"| [`{row['name']}`](#{row['name']}) | {row['summary']} | {row['source']} |"
    yield from ("", "The Rust documentation of their sources is [on its own pages](rust.md).")


def _algorithm(row):
    yield from ("", _sentence(row), "")
    keys = ", ".join(f"`{key}`" for key in row["honours"])
    yield f"Runs over `{row['transport']}`. Besides the keys that act on all flows it supports {keys}."
    yield ""
    yield from _parameters(row)
    yield from _presets(row)
    yield from _deviations(row)
    for sentence in row.get("not_modelled", ()):
        yield from ("", f"Not modelled: {sentence}")


def _sentence(row):
    return f"{row['summary']} *{row['source']}.*"


def _parameters(row):
    if row["parameters"]:
        yield "| parameter | symbol | default | from | to | meaning | source |"
        yield "|---|---|---|---|---|---|---|"
    for one in row["parameters"]:
        limits = [catalog.quantity(one[key], one["unit"]) for key in ("min", "max")]
        cells = (
            f"`{one['name']}`",
            one["symbol"],
            catalog.default(one),
            *limits,
            one["meaning"],
            one["source"],
        )
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _presets(row):
    units = {one["name"]: one["unit"] for one in row["parameters"]}
    for one in row.get("presets", ()):
        values = (
            f"`{name}` = {catalog.quantity(value, units[name])}" for name, value in one["values"].items()
        )
        yield from (
            "",
            f"`{row['name']}@{one['name']}`: {', '.join(values) or 'the defaults'}. {one['source']}.",
        )


def _deviations(row):
    if row.get("deviations"):
        yield from ("", "| the source | here | why |", "|---|---|---|")
    for one in row.get("deviations", ()):
        cells = (one[key].replace("|", "\\|") for key in ("line", "here", "why"))
        yield "| " + " | ".join(cells) + " |"

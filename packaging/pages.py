"""Hooks of the documentation site (mkdocs.yml): generated pages, and links to files of the repository."""

import re

from mkdocs.structure.files import File

from shallows.algorithms import catalog


def on_files(files, config):
    """Add the page of algorithms, generated from the catalog."""
    files.append(File.generated(config, "catalog.md", content=algorithms_page()))
    return files


def on_page_markdown(markdown, **_):
    """Replace a link to a file of the repository by its path, because the site has only the pages."""
    return re.sub(r"\[([^\]]*)\]\(\.\./([^)]*)\)", r"\1 (`\2` in the repository)", markdown)


def algorithms_page():
    """Every algorithm with its parts, parameters and presets, as Markdown."""
    rows = catalog.algorithms()
    return "\n".join(
        ["# Algorithms", *_transports(rows), *(line for row in rows for line in _algorithm(row))]
    )


def _transports(rows):
    """The table of transports with the algorithms that run over each."""
    yield from ("", "| transport | algorithms |", "|---|---|")
    for transport in dict.fromkeys(row["transport"] for row in rows):
        names = (f"[{row['name']}](#{row['name']})" for row in rows if row["transport"] == transport)
        yield f"| `{transport}` | {', '.join(names)} |"


def _algorithm(row):
    yield from ("", f"## {row['name']}", "", f"{row['summary']} *{row['source']}.*", "")
    keys = ", ".join(f"`{key}`" for key in row["honours"])
    yield f"Runs over `{row['transport']}`. Besides the keys that act on all flows it supports {keys}."
    yield ""
    if row["parameters"]:
        yield from (
            "| parameter | symbol | default | from | to | meaning | source |",
            "|---|---|---|---|---|---|---|",
        )
    for one in row["parameters"]:
        unit = "" if one["unit"] in ("1", "flag") else f" {one['unit']}"
        least, most = (f"{one[key]:g}{unit}" for key in ("min", "max"))
        default = "on" if one["unit"] == "flag" and one["default"] else f"{one['default']:g}{unit}"
        if one["unit"] == "flag":
            default, least, most = ("on" if one["default"] else "off"), "off", "on"
        cells = (f"`{one['name']}`", one["symbol"], default, least, most, one["meaning"], one["source"])
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    for one in row["presets"]:
        values = ", ".join(f"`{name}` = {value:g}" for name, value in one["values"].items()) or "the defaults"
        yield from ("", f"`{row['name']}@{one['name']}`: {values}. {one['source']}.")
    if row.get("deviations"):
        yield from ("", "| the source | here | why |", "|---|---|---|")
    for one in row.get("deviations", ()):
        cells = (one[key].replace("|", "\\|") for key in ("line", "here", "why"))
        yield "| " + " | ".join(cells) + " |"
    for sentence in row.get("not_modelled", ()):
        yield from ("", f"Not modelled: {sentence}")

"""Hooks of the documentation site (mkdocs.yml): pages made from code, and links that leave the pages."""

import re

from mkdocs.structure.files import File

from shallows import catalog


def on_files(files, config):
    """Adds the page of algorithms, made from the catalog."""
    files.append(File.generated(config, "catalog.md", content=algorithms_page()))
    return files


def on_page_markdown(markdown, **_):
    """A link to a file of the repository becomes its path: the site has the pages alone."""
    return re.sub(r"\[([^\]]*)\]\(\.\./([^)]*)\)", r"\1 (`\2` in the repository)", markdown)


def algorithms_page():
    """Every algorithm with its parts, parameters and presets, as Markdown."""
    return "\n".join(["# Algorithms", *(line for row in catalog.algorithms() for line in _algorithm(row))])


def _algorithm(row):
    yield from ("", f"## {row['name']}", "", f"{row['summary']} *{row['source']}.*", "")
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
    for sentence in row.get("not_modelled", ()):
        yield from ("", f"Not modelled: {sentence}")

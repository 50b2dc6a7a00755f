"""Hooks of the documentation site (mkdocs.yml): generated pages, and links to files of the repository."""

import re

from mkdocs.structure.files import File
from reference import keys, notebooks, pages

from shallows.registry import inserted, results


def on_files(files, config):
    """Add the generated pages and pictures."""
    for name, content in pages().items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown, page, **_):
    """Insert tables of keys, columns and others, and replace links to files of the repository by paths."""
    name = page.file.src_uri
    markdown = inserted.expanded(results.expanded(markdown))
    outside = r"\.\./" * (name.count("/") + 1)
    markdown = notebooks.linked(keys.augmented(markdown))
    return re.sub(rf"(?<!!)\[([^\]]*)\]\({outside}([^)]*)\)", r"\1 (`\2` in the repository)", markdown)

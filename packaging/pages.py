"""Hooks of the documentation site (mkdocs.yml): generated pages, and links to files of the repository."""

import re

from mkdocs.structure.files import File
from reference import keys, notebooks, pages


def on_files(files, config):
    """Add the generated pages and pictures."""
    for name, content in pages().items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown, page, **_):
    """Expand tables of keys, and replace links to files of the repository, which the site lacks, by paths."""
    name = page.file.src_uri
    outside = r"\.\./" * (name.count("/") + 1)
    markdown = notebooks.linked(keys.augmented(name, markdown))
    return re.sub(rf"(?<!!)\[([^\]]*)\]\({outside}([^)]*)\)", r"\1 (`\2` in the repository)", markdown)

"""Hooks of the documentation site (mkdocs.yml): generated pages, and links to files of the repository."""

import re

from mkdocs.structure.files import File
from reference import keys, pages


def on_files(files, config):
    """Add the generated pages."""
    for name, text in pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown, page, **_):
    """Expand tables of keys, and replace links to files of the repository, which the site lacks, by paths."""
    markdown = keys.augmented(page.file.src_uri, markdown)
    return re.sub(r"\[([^\]]*)\]\(\.\./([^)]*)\)", r"\1 (`\2` in the repository)", markdown)

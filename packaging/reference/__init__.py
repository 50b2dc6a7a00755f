"""Pages of the documentation site that are generated when it is built: `pages` has each with its text."""

from reference import algorithms, columns, commands, keys, notebooks, python

RUST = """\
# Rust

From this page you reach the documentation of the Rust crates.

All algorithms are in the crate `shallows-cc`, as state machines without clock, randomness or I/O.
<a href="rust/shallows_cc/index.html">Its documentation</a> has each sender, receiver and marker with its
symbols, its sources and its differences from the paper.
"""


def pages():
    """{name of a page: its Markdown}, and the pictures of notebooks as bytes."""
    return {
        "catalog.md": algorithms.page(),
        "keys.md": keys.index(),
        "columns.md": columns.page(),
        "commands.md": commands.page(),
        "rust.md": RUST,
        **python.pages(),
        **notebooks.pages(),
    }

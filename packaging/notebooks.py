"""Executes the notebooks of docs/notebooks and stores their outputs: `make notebooks`.

A cell of parameters has a shorter version in its metadata, which tests use. The output of an interactive cell
is that of the widget's first position, for readers without a kernel.
"""

import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"
TIMEOUT_S = 300
WIDGET = "application/vnd.jupyter.widget-view+json"


def names():
    """The names of all notebooks."""
    return sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def read(name, short=False):
    """A notebook; with `short` its parameters have the values of tests."""
    book = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    for cell in book.cells:
        if short and "short" in cell.metadata:
            cell.source = cell.metadata["short"]
    return book


def interactive(book):
    """(index of a cell, name of its function) of each interactive cell."""
    for index, cell in enumerate(book.cells):
        if "interactive" in cell.metadata.get("tags", ()):
            yield index, re.search(r"@interact.*\ndef (\w+)", cell.source)[1]


class _Client(NotebookClient):
    """A client without widgets: what a widget would show becomes the output of its cell."""

    def handle_comm_msg(self, outs, msg, cell_index):
        """Answer no message of a widget: with answers nbclient 0.11 sometimes loses the reply of a cell."""


def execute(book, folder):
    """Execute a notebook in a folder. An error of a cell is raised."""
    resources = {"metadata": {"path": str(folder)}}
    _Client(book, timeout=TIMEOUT_S, kernel_name="python3", resources=resources).execute()
    return book


def stored(name):
    """The notebook with its outputs, as docs/ has it."""
    book = read(name)
    with tempfile.TemporaryDirectory() as folder:
        execute(book, folder)
    book.metadata.pop("widgets", None)
    for cell in book.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [_plain(output) for output in cell.outputs if WIDGET not in output.get("data", ())]
    return book


def _plain(output):
    output.pop("execution_count", None)
    if output.output_type == "execute_result":
        return nbformat.v4.new_output("display_data", output.data)
    return output


if __name__ == "__main__":
    for name in sys.argv[1:] or names():
        nbformat.write(stored(name), FOLDER / f"{name}.ipynb")
        print(name)

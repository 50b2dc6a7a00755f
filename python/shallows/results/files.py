"""The writer of every file outside the folders of results: pages, figures, captures, traces, CSV.

A file is filled under a temporary name beside its place, synced, and renamed, so that a kill or a full disk
leaves the earlier file. An existing file is replaced only if it is empty or carries the mark of its kind,
which Shallows writes into every such file (docs/trust.md).
"""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shallows.errors import ScenarioError
from shallows.results import store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

READ = 1 << 16
"""Bytes at the beginning and at the end of a file that are searched for a mark."""


@dataclass(frozen=True)
class Kind:
    """A kind of file: its name in messages, its marks (ours carry one), the suffixes it may have."""

    name: str
    marks: tuple[bytes, ...]
    ends: tuple[str, ...] = ()


GENERATOR = '<meta name="generator" content="Shallows">'
CREATOR = "Shallows, a laboratory for congestion control"
PAGE = Kind("a page", (GENERATOR.encode(),), (".html", ".htm"))
FIGURE = Kind("a figure", (CREATOR.encode(),), (".png", ".pdf", ".svg"))
SAVED_BY_ADVISE = "# Saved by shallows advise."
SAVED_BY_IMPORT = "# Saved by shallows import."
SAVED_BY_FIT = "# Saved by shallows fit."
SAVED_BY_DRIVEN = "# Saved by an open network."
SAVED_BY_JUDGE = "# Saved by shallows judge."
_SAVED = (SAVED_BY_ADVISE, SAVED_BY_IMPORT, SAVED_BY_FIT, SAVED_BY_DRIVEN, SAVED_BY_JUDGE)
SCENARIO = Kind("a scenario", tuple(mark.encode() for mark in _SAVED), (".toml",))
REQUEST = Kind("a request", (b'{"kind": "request"',), (".json",))
MEASURED = Kind("what an end of a flow has seen", (b'"kind": "wire"',), (".json",))
CAPTURE = Kind("a capture", (b"\x04\x00\x08\x00shallows",))
TRACE = Kind("a trace", (b"\x05ports", b"ports of Shallows"))


def table(columns: "list[str]") -> Kind:
    """The kind of a CSV file with these columns: its first line is the mark."""
    return Kind("a table of these columns", (",".join(columns).encode() + b"\n",))


def check(file: store.Place, kind: Kind) -> None:
    """Raise `ScenarioError` if writing a file of this kind would replace anything that is not such a file.

    The name must also have a suffix of the kind, and lie outside the folders of results.
    """
    store.check_outside(file)
    path = Path(os.path.realpath(file))
    if kind.ends and path.suffix.lower() not in kind.ends:
        better = Path(file).with_suffix(kind.ends[0]) if Path(file).name else f"page{kind.ends[0]}"
        expected = f"a name such as {better}"
        raise ScenarioError(f"its name is not that of {kind.name}", file=file, expected=expected)
    if path.is_dir():
        raise ScenarioError("it is a folder", file=file, expected=f"a file for {kind.name}")
    if path.exists() and not is_ours(path, kind) and not _is_stream(file):
        expected = f"a new file, or {kind.name} that Shallows wrote: choose another name, or remove the file"
        raise ScenarioError("it is something else", file=file, expected=expected)


def is_ours(path: Path, kind: Kind) -> bool:
    """True if a file is empty, or carries a mark of the kind."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        content = stream.read(READ)
        if size > READ:
            stream.seek(max(READ, size - READ))
            content += stream.read(READ)
    if kind.name == "a table of these columns":
        return not size or content.replace(b"\r\n", b"\n").startswith(kind.marks)
    return not size or any(mark in content for mark in kind.marks)


def _is_stream(file: store.Place) -> bool:
    """True if `file` is a pipe or a device such as /dev/stdout, which holds nothing to lose."""
    try:
        mode = os.stat(file).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


@contextmanager
def writing(file: store.Place, kind: Kind) -> Generator[Path]:
    """A path to fill, which becomes `file` at once when the block ends. Makes folders on the way.

    If the block raises, `file` does not change. Raises `ScenarioError` like `check`.
    """
    check(file, kind)
    if _is_stream(file):
        yield Path(file)
        return
    path = Path(os.path.realpath(file))
    with store.naming(file):
        path.parent.mkdir(parents=True, exist_ok=True)
        with store.locked(path):
            check(file, kind)
            filling = store.beside(path, "partial")
            filling.unlink(missing_ok=True)
            try:
                yield filling
                store.sync_path(filling)
                os.replace(filling, path)
                store.note(file)
                store.sync_path(path.parent)
            finally:
                filling.unlink(missing_ok=True)


def write_text(file: store.Place, text: str, kind: Kind = PAGE) -> Path:
    """Write a text to `file`; return its path."""
    with writing(file, kind) as filling:
        filling.write_text(text, "utf-8")
    return Path(file)


def draw(figure: "Figure", file: store.Place, *, title: str | None = None, dpi: float | None = None) -> Path:
    """Write a figure to `file` in the format of its suffix; return its path."""
    with writing(file, FIGURE) as filling:
        save_figure(
            figure, filling, Path(file).suffix.lower().removeprefix("."), title, dpi=dpi or figure.dpi
        )
    return Path(file)


def save_figure(figure: "Figure", path: Path, kind: str, title: str | None = None, **how: object) -> None:
    """Save a figure as `kind` to `path`, with the mark of our figures in its metadata.

    A PDF has fonts of type 42: IEEE and ACM refuse those of type 3, matplotlib's default.
    """
    import matplotlib

    key = "Software" if kind == "png" else "Creator"
    metadata = {key: CREATOR} | ({"Title": title} if title else {})
    with matplotlib.rc_context({"pdf.fonttype": 42, "ps.fonttype": 42}):
        figure.savefig(path, format=kind, metadata=metadata, **how)

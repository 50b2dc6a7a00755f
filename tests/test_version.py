"""What a result says of the code that made it."""

import re
import subprocess
import zlib

import pytest

import shallows as sh
from shallows import _core
from shallows.base.version import of_checkout, rust_sources


def git(folder, *arguments):
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", folder, *who, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    """A small tree of the same shape, committed; its path, and the commit."""
    texts = {
        "python/shallows/run.py": "1",
        "crates/py/src/lib.rs": "2",
        "crates/live/src/lib.rs": "3",
        "docs/a.md": "4",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "a tree")
    return tmp_path, git(tmp_path, "rev-parse", "HEAD")[:10]


def test_release_and_commit():
    assert re.fullmatch(r"\d+\.\d+\.\d+\+(unknown|[0-9a-f]{10}(\.edited\.[0-9a-f]{8})?)", sh.__version__)


def test_a_commit_is_itself(checkout):
    root, commit = checkout
    assert of_checkout(root) == commit


def test_edits_of_code_show_and_two_edits_differ(checkout):
    root, commit = checkout
    seen = {commit}
    for name in ("python/shallows/run.py", "python/shallows/new.py", "crates/py/src/lib.rs"):
        (root / name).write_text("other")
        seen.add(of_checkout(root))
    assert len(seen) == 4
    assert all(re.fullmatch(rf"{commit}(\.edited\.[0-9a-f]{{8}})?", identity) for identity in seen)


def test_edits_of_other_files_do_not(checkout):
    root, commit = checkout
    (root / "docs/a.md").write_text("other")
    assert of_checkout(root) == commit


def test_a_core_that_was_not_rebuilt_is_no_commit(checkout):
    root, commit = checkout
    built = rust_sources(root / "crates")
    assert of_checkout(root, built) == commit
    (root / "crates/py/src/lib.rs").write_text("other")
    git(root, "commit", "-qam", "another core")
    assert ".edited." in of_checkout(root, built)
    assert ".edited." not in of_checkout(root, rust_sources(root / "crates"))


def test_the_core_names_its_sources_as_python_does(checkout):
    """CRC-32 of names and contents, the kernel program left out: by hand."""
    root, _ = checkout
    assert rust_sources(root / "crates") == f"{zlib.crc32(b'py/src/lib.rs2'):08x}"
    assert re.fullmatch("[0-9a-f]{8}", _core.sources())


def test_no_checkout_no_commit(tmp_path):
    assert of_checkout(tmp_path) is None

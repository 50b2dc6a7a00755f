"""The script that makes a release (packaging/release.py), on a small repository."""

import importlib.util
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.repository

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("release", ROOT / "packaging" / "release.py")
release = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(release)

FILES = {
    "Cargo.toml": '[workspace.package]\nversion = "1.2.0"\n',
    "Cargo.lock": '[[package]]\nname = "a"\nversion = "1.2.0"\n\n'
    '[[package]]\nname = "serde"\nversion = "9.0.0"\nsource = "registry"\n',
    "CITATION.cff": "cff-version: 1.2.0\nversion: 1.2.0\ndate-released: 2026-12-01\n",
    "CHANGELOG.md": "# Changelog\n\n## 1.2.0 - 2026-12-01\n\n### Added\n\n- New.\n\n"
    "## 1.1.0 - 2026-11-01\n\n### Fixed\n\n- Old.\n",
    "Makefile": "wheels:\n\tmkdir -p dist/release\n\ttouch dist/release/built.whl\n",
    ".gitignore": "dist/\n",
}


def git(root, *words):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", *identity, *words], cwd=root, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def root(tmp_path, monkeypatch):
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "a")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@example.org")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message=all")
    return tmp_path


def test_a_release_has_wheels_notes_and_a_tag(root):
    assert release.main([], root) == 0
    assert (root / "dist/release/built.whl").exists()
    message = "Shallows 1.2.0\n\n### Added\n\n- New."
    assert (root / "dist/release/notes.md").read_text().strip() == message
    assert git(root, "tag", "--list", "--format=%(refname:short) %(objecttype)").split() == ["v1.2.0", "tag"]
    assert git(root, "tag", "--list", "--format=%(contents)").strip() == message


def test_a_check_makes_nothing(root):
    assert release.main(["--check"], root) == 0
    assert git(root, "tag") == ""
    assert not (root / "dist").exists()


def test_the_date_makes_an_unreleased_checkout_ready(root):
    for name, old in {"CHANGELOG.md": "1.2.0 - 2026-12-01", "CITATION.cff": "\nversion: 1.2.0"}.items():
        new = {"CHANGELOG.md": "Unreleased", "CITATION.cff": "\nversion: 1.1.0"}[name]
        (root / name).write_text(FILES[name].replace(old, new))
    git(root, "commit", "--quiet", "--all", "--message=unreleased")
    assert release.main(["--check"], root) == 1
    release.write_date(root, "1.2.0", "2026-12-24")
    assert (root / "CHANGELOG.md").read_text() == FILES["CHANGELOG.md"].replace("2026-12-01", "2026-12-24")
    assert (root / "CITATION.cff").read_text() == FILES["CITATION.cff"].replace("2026-12-01", "2026-12-24")
    git(root, "commit", "--quiet", "--all", "--message=dated")
    assert release.main(["--check"], root) == 0
    with pytest.raises(ValueError, match=r"CHANGELOG\.md has 0 lines"):
        release.write_date(root, "1.2.0", "2026-12-24")


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("Cargo.lock", '"1.2.0"', '"1.1.0"', "Cargo.lock has another version"),
        ("CHANGELOG.md", "## 1.2.0 - 2026-12-01", "## Unreleased", "must be: ## 1.2.0 - YYYY-MM-DD"),
        ("CHANGELOG.md", "## 1.2.0", "## Unreleased\n\n- X.\n\n## 1.2.0", "must be: ## 1.2.0 - YYYY-MM-DD"),
        ("CHANGELOG.md", "1.2.0 - 2026-12-01", "1.2.0 - 2026-12-02", "must have: date-released: 2026-12-02"),
        ("CITATION.cff", "\nversion: 1.2.0", "\nversion: 1.1.0", "must have: version: 1.2.0"),
        ("Makefile", "wheels", "wheels", "the tag v1.2.0 exists"),
        ("Makefile", "touch", "true", "the work tree has changes"),
    ],
)
def test_a_checkout_that_is_not_ready_is_refused(name, old, new, problem, root, capsys):
    assert old in FILES[name]
    (root / name).write_text(FILES[name].replace(old, new, 1))
    if problem.startswith("the tag"):
        git(root, "tag", "v1.2.0")
    elif not problem.startswith("the work tree"):
        git(root, "commit", "--quiet", "--all", "--message=changed")
    assert release.main([], root) == 1
    assert problem in capsys.readouterr().err
    assert not (root / "dist").exists()


def test_the_version_of_this_repository_is_the_same_everywhere():
    version = release.release(ROOT)
    others = [problem for problem in release.unready(ROOT, version) if "Cargo.lock" in problem]
    assert others == []
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()

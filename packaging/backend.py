"""Build backend: maturin, with the commit and the example scenarios added to the package.

python packaging/backend.py COMMAND...    runs a command, such as maturin build, with both in place
"""

import importlib.util
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import maturin
from maturin import (
    build_editable,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)

# The hooks of a build backend (PEP 517, PEP 660).
__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_wheel",
]

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def _complete():
    """Put the commit and the scenarios into the package for a build; a source archive already has them.

    A clone without git has the scenarios alone: `shallows --version` then says that the commit is unknown.
    """
    if not (ROOT / "scenarios").is_dir():
        yield
        return
    spec = importlib.util.spec_from_file_location(
        "version", ROOT / "python" / "shallows" / "base" / "version.py"
    )
    version = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(version)
    identity = version.of_checkout(ROOT)
    scenarios = version.PACKAGE / "scenarios"
    try:
        if identity is not None:
            version.RECORD.write_text(identity + "\n", encoding="utf-8")
        shutil.copytree(ROOT / "scenarios", scenarios, dirs_exist_ok=True)
        yield
    finally:
        version.RECORD.unlink(missing_ok=True)
        shutil.rmtree(scenarios, ignore_errors=True)


def build_wheel(*arguments, **settings):
    with _complete():
        return maturin.build_wheel(*arguments, **settings)


def build_sdist(*arguments, **settings):
    with _complete():
        return maturin.build_sdist(*arguments, **settings)


if __name__ == "__main__":
    with _complete():
        sys.exit(subprocess.run(sys.argv[1:]).returncode)

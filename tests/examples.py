"""Runs the gallery and the notebooks with the installed package, in empty folders (tests/examples.sh).

python tests/examples.py [WORD]    runs the parts whose title has the word
"""

import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "packaging"))

import gallery  # noqa: E402
import notebooks  # noqa: E402

import shallows  # noqa: E402


def figures(section, folder):
    """Run a section of the gallery; its figures and pages must have content."""
    for name, file in gallery.run(section, folder):
        assert file.stat().st_size > 1000, name


def panels(folder):
    """Run the block that draws each panel."""
    assert all(file.stat().st_size > 1000 for file in gallery.run_panels(folder))


def main():
    """Run all, and print the time of each."""
    assert ROOT not in Path(shallows.__file__).resolve().parents, "this is the package of the checkout"
    parts = {f"gallery: {section['title']}": (figures, section) for section in gallery.sections()}
    parts["gallery: panels"] = (panels,)
    parts |= {f"notebook: {name}": (notebooks.execute, notebooks.read(name)) for name in notebooks.names()}
    word = "".join(sys.argv[1:])
    chosen = {title: part for title, part in parts.items() if word in title}
    assert chosen, f"no part has {word!r}: {', '.join(parts)}"
    for title, (function, *arguments) in chosen.items():
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            function(*arguments, Path(folder))
        print(f"{time.monotonic() - started:6.1f} s  {title}", flush=True)


if __name__ == "__main__":
    main()

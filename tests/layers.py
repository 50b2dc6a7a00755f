"""The order of the packages of Python and of the crates, and the imports between them."""

import ast
import re
from collections import defaultdict

LAYERS = (
    ("base", "errors", "units", "core"),
    ("memory",),
    ("topology",),
    ("algorithms",),
    ("traffic",),
    ("scenario",),
    ("results",),
    ("printing",),
    ("plot",),
    ("fluid",),
    ("html",),
    ("warnings",),
    ("worlds",),
    ("why",),
    ("pages",),
    ("importers",),
    ("export",),
    ("runs",),
    ("runner",),
    ("driven",),
    ("gym",),
    ("sweeps",),
    ("judging",),
    ("settings",),
    ("fit",),
    ("registry",),
    ("cli", "__init__", "__main__"),
)
"""Packages and single modules of `shallows`, from the bottom: each may import those above it in this list."""
CRATES = ("cc", "sim", "contract", "capi", "session", "wire", "live", "py")
"""The crates from the bottom."""


def python_arrows(package):
    """{(package, package): places} of all imports between packages, in functions and for types too."""
    known = {name for layer in LAYERS for name in layer}
    found = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        own = parts[0] if len(parts) > 1 else path.stem
        for node in ast.walk(ast.parse(path.read_text())):
            for target in imported(node):
                other = target if target in known else "__init__"
                if target != "_core" and other != own:
                    found[own, other].append(f"{'/'.join(parts)}:{node.lineno}")
    return dict(found)


def imported(node):
    """The packages of `shallows` that a statement imports."""
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        inner = [f"shallows.{alias.name}" for alias in node.names]
        modules = inner if node.module == "shallows" else [node.module]
    else:
        modules = []
    return [name.split(".")[1] for name in modules if name.startswith("shallows.")]


def upward(arrows, layers=LAYERS):
    """The arrows to a higher layer."""
    level = {name: at for at, layer in enumerate(layers) for name in layer}
    return {pair: places for pair, places in arrows.items() if level[pair[1]] > level[pair[0]]}


def crate_arrows(folder):
    """{(crate, crate): True} of the dependencies of each crate, those of tests left out."""
    found = {}
    for crate in CRATES:
        text = (folder / crate / "Cargo.toml").read_text()
        for section in re.split(r"(?m)^\[", text):
            if section.startswith(("dependencies", "target", "build-dependencies")):
                found |= {(crate, name): True for name in re.findall(r"(?m)^shallows-(\w+)", section)}
    return found

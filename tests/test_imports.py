"""Who imports whom: what a module needs to load never needs that module."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import shallows

PACKAGE = Path(shallows.__file__).parent


def modules():
    """{name: its file} of the package."""
    paths = {path.relative_to(PACKAGE.parent).with_suffix("").parts: path for path in PACKAGE.rglob("*.py")}
    return {".".join(parts[:-1] if parts[-1] == "__init__" else parts): path for parts, path in paths.items()}


def needed(tree, known):
    """The modules of the package that are imported when `tree` is loaded, not when a function of it runs."""
    found = set()
    for node in loading(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & known or {node.module}
    return found & known


def loading(node):
    """The statements that run when a module is loaded: none of functions, none for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from loading(child)


def graph():
    files = modules()
    return {name: needed(ast.parse(path.read_text()), set(files)) - {name} for name, path in files.items()}


def test_no_modules_import_each_other_in_a_circle():
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_a_circle_would_be_found():
    known = {"shallows.a", "shallows.b"}
    trees = {"shallows.a": "from shallows import b", "shallows.b": "class B:\n    import shallows.a"}
    circle = {name: needed(ast.parse(text), known) for name, text in trees.items()}
    with pytest.raises(CycleError):
        TopologicalSorter(circle).prepare()


def test_what_a_function_imports_does_not_count():
    text = "if TYPE_CHECKING:\n    import shallows.a\ndef f():\n    import shallows.a"
    assert needed(ast.parse(text), {"shallows.a"}) == set()

"""Pages of the Python interface: mkdocstrings fills them from annotations and docstrings.

The classes of tables are made when they are imported: their page comes from their stub, builders.pyi.
"""

import ast
import inspect
from pathlib import Path

import shallows as sh
from shallows.scenario import builders

MODULES = ("plot", "units", "why", "fluid", "settings", "importers", "export")
NAMES = tuple(
    name for name in sh.__all__ if name not in builders.__all__ and not inspect.ismodule(getattr(sh, name))
)
"""The names of `shallows` that are neither tables nor modules."""
STUB = Path(builders.__file__).with_suffix(".pyi")
HEAD = """\
# Functions and results

From this page you look up the functions and results of `import shallows as sh`.
"""
TABLES_HEAD = """\
# Tables of a scenario

From this page you look up the class of each table. Its arguments are the keys of the table, as in
[the scenario](scenario.md). `repr` of an object is the code that makes it; `table` is its table as in a file.
"""


def entries():
    """{page: paths of its names, each with the module that defines it}."""
    found = {"api.md": [f"{getattr(sh, name).__module__}.{name}" for name in NAMES]}
    for module in MODULES:
        owner = getattr(sh, module)
        found[f"api-{module}.md"] = [f"{owner.__name__}.{name}" for name in members(owner)]
    return found


def members(owner):
    """The public names of a module: its `__all__`, or the functions and classes that it defines."""
    listed = getattr(owner, "__all__", None)
    if listed is not None:
        return [name for name in listed if not inspect.ismodule(getattr(owner, name))]
    return [name for name, one in vars(owner).items() if _is_own(name, one, owner)]


def _is_own(name, one, owner):
    code = inspect.isfunction(one) or inspect.isclass(one)
    return code and not name.startswith("_") and f"{one.__module__}.".startswith(f"{owner.__name__}.")


def pages():
    """{name of a page: its Markdown}."""
    found = {"api-tables.md": "\n".join([TABLES_HEAD, *_tables()])}
    for page, paths in entries().items():
        module = page.removeprefix("api-").removesuffix(".md")
        head = HEAD if page == "api.md" else _head(getattr(sh, module))
        found[page] = "\n\n".join([head, *(f"::: {path}" for path in paths)]) + "\n"
    return found


def _head(owner):
    first = (inspect.getdoc(owner) or "").split("\n\n")[0]
    return f"# {owner.__name__}\n\n{' '.join(first.split())}"


def _tables():
    """The class of each table: its signature, what it is, and its keys."""
    stubs = {
        one.name: one for one in ast.parse(STUB.read_text("utf-8")).body if isinstance(one, ast.ClassDef)
    }
    for name in builders.__all__:
        yield from (f"## {name} {{ #shallows.{name} }}", "")
        about, _, keys = inspect.getdoc(getattr(sh, name)).partition("\n\n")
        if name in stubs:
            yield from ("```python", _signature(stubs[name]), "```", "")
        yield from (about, "")
        if name in builders.MODELS:
            yield from (
                f"- `{key}`: {text}" for key, _, text in (line.partition(": ") for line in keys.splitlines())
            )
        else:
            yield keys
        yield ""


def _signature(stub):
    init = next(one for one in stub.body if isinstance(one, ast.FunctionDef) and one.name == "__init__")
    lines = [f"{stub.name}("]
    for argument, default in zip(init.args.kwonlyargs, init.args.kw_defaults, strict=True):
        value = "" if default is None else f" = {ast.unparse(default)}"
        lines.append(f"    {argument.arg}: {ast.unparse(argument.annotation)}{value},")
    return "\n".join([*lines, ")"])

"""Import graphs of the Python package and of the packet simulator, and the cycles in them."""

import ast
import re

RUST_USE = re.compile(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+((?:crate|super|self)\b[^;]*);", re.M)
RUST_PATH = re.compile(r"\bcrate((?:::[a-z_][a-z_0-9]*)+)")
TEST_MODULE = re.compile(r"^#\[cfg\((?:all\()?test\b[^\n]*\n(?:#\[[^\n]*\n)*mod \w+ \{.*?^\}", re.M | re.S)


def cycles(graph):
    """The groups of modules that reach each other, each sorted, by Tarjan's algorithm."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for following in sorted(graph[node]):
            if following not in index:
                visit(following)
                low[node] = min(low[node], low[following])
            elif following in stack:
                low[node] = min(low[node], index[following])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found)


def python_graph(package, *, functions=False):
    """{module: the modules of the package that must be loaded before it}.

    With `functions`, also those that its functions import when they run.
    """
    paths = {path.relative_to(package.parent).with_suffix("").parts: path for path in package.rglob("*.py")}
    files = {
        ".".join(parts[:-1] if parts[-1] == "__init__" else parts): path for parts, path in paths.items()
    }
    known = set(files)
    return {name: python_imports(path.read_text(), known, functions) - {name} for name, path in files.items()}


def python_imports(text, known, functions=False):
    """The modules among `known` that are imported when a module is loaded; with `functions`, those that a
    function of it imports too.
    """
    found = set()
    for node in _loading(ast.parse(text), functions):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & known or {node.module}
    return found & known


def _loading(node, functions):
    """The statements that run when a module is loaded, not those for type checkers alone; with `functions`,
    those inside functions too.
    """
    for child in ast.iter_child_nodes(node):
        if not functions and isinstance(child, ast.FunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _loading(child, functions)


def rust_graph(source):
    """{module: the modules of the crate that it names} of the crate whose `src` folder is `source`.

    A name that a module only re-exports belongs to the module that defines it. Tests inside of a module do
    not count.
    """
    files = {_rust_module(path.relative_to(source)): path for path in source.rglob("*.rs")}
    texts = {
        name: TEST_MODULE.sub("", re.sub(r"//[^\n]*", "", path.read_text())) for name, path in files.items()
    }
    return rust_modules(texts)


def rust_modules(texts):
    """The graph of modules, of which `texts` holds the sources by path, such as ("port", "fifo")."""
    exports, private = {}, {}
    for name, text in texts.items():
        for public, tree in RUST_USE.findall(text):
            for path in _paths(tree):
                target = _absolute(path, name)
                if public:
                    exports[(*name, path[-1])] = target
                else:
                    private.setdefault(name, set()).add(target)
        # Re-exports of children are often written without `self::`.
        for child, names in re.findall(r"^pub(?:\([^)]*\))?\s+use\s+(\w+)::([^;]*);", text, re.M):
            if (*name, child) in texts:
                for path in _paths(f"{child}::{names}"):
                    exports[(*name, path[-1])] = (*name, *path)
        for child, names in re.findall(r"^use\s+(\w+)::([^;]*);", text, re.M):
            if (*name, child) in texts:
                private.setdefault(name, set()).update((*name, *p) for p in _paths(f"{child}::{names}"))
        for path in RUST_PATH.findall(
            re.sub(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s[^;]*;", "", text, flags=re.M)
        ):
            private.setdefault(name, set()).add(tuple(path.split("::")[1:]))
    graph = {}
    for name in texts:
        targets = {_owner(target, texts, exports) for target in private.get(name, ())}
        graph["::".join(name)] = {"::".join(target) for target in targets if target and target != name}
    return {name: targets for name, targets in graph.items() if name}


def _rust_module(path):
    parts = path.with_suffix("").parts
    return () if parts == ("lib",) else parts[:-1] if parts[-1] == "mod" else parts


def _paths(tree):
    """The paths of a `use` tree such as `crate::port::{self, Port as P}`."""
    tree = re.sub(r"\s+", " ", tree).strip()
    if "{" not in tree:
        words = [word.strip().split(" as ")[0] for word in tree.split("::")]
        return [tuple(words[:-1] if words[-1] in ("self", "*") else words)]
    head, _, rest = tree.partition("{")
    inside, depth, items, item = rest.rstrip()[:-1], 0, [], ""
    for letter in inside:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and not depth:
            items.append(item)
            item = ""
        else:
            item += letter
    return [path for one in [*items, item] if one.strip() for path in _paths(head + one.strip())]


def _absolute(path, module):
    """A path of a `use` inside of `module`, from the root of the crate on."""
    at, words = list(module), list(path)
    while words and words[0] in ("crate", "super", "self"):
        word = words.pop(0)
        at = [] if word == "crate" else at[:-1] if word == "super" else at
    return (*at, *words)


def _owner(target, texts, exports):
    """The module that defines what `target` names."""
    for _ in range(5):
        known = next((target[:end] for end in range(len(target), 0, -1) if target[:end] in exports), None)
        if known is None:
            break
        target = (*exports[known], *target[len(known) :])
    return next((target[:end] for end in range(len(target), -1, -1) if target[:end] in texts), ())

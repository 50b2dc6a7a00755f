"""Equations for JAX, from the very source that numba compiles: every branch becomes a selection.

JAX traces a function once for all points of a map, so no `if` may depend on a value. Here the statements
of an `@equations` function are walked one by one under a mask. An assignment or a return takes effect
where its mask holds, and a loop goes on while any point is still in it. What equations are written in
is understood: assignments, `if`, `return`, expressions, calls of other equations, and `for _ in range(…)`.
"""

import ast
import inspect
import textwrap
from functools import cache, partial, reduce

import jax
import jax.numpy as jnp
import numpy as np


def evaluate(function, *arguments):
    """What the `@equations` function returns for floats or complex numbers that JAX traces.

    Raises NotImplementedError, naming the function, for a statement that equations do not use.
    """
    names, body, namespace = _read(function)
    masked = _Masked(function.py_func.__name__, namespace, dict(zip(names, arguments, strict=True)))
    masked.run(body, True)
    return masked.result


@cache
def _read(function):
    """(names of the arguments, statements, what other names mean) of an `@equations` function."""
    plain = function.py_func
    tree = ast.parse(textwrap.dedent(inspect.getsource(plain))).body[0]
    body = [ast.fix_missing_locations(_Selections().visit(statement)) for statement in tree.body]
    namespace = {"_and": _and, "_or": _or, "_not": _not, "_where": jnp.where, "__builtins__": {"abs": abs}}
    for name in plain.__code__.co_names:
        value = plain.__globals__.get(name)
        if value is np:
            namespace[name] = jnp
        elif hasattr(value, "py_func"):
            namespace[name] = partial(evaluate, value)
        elif name in plain.__globals__:
            namespace[name] = value
    return tuple(inspect.signature(plain).parameters), body, namespace


class _Masked:
    """One call under way: the values of its names, where it has returned, and what."""

    def __init__(self, function, namespace, names, returned=False, result=None):
        self.function, self.namespace, self.names = function, namespace, names
        self.returned, self.result = returned, result

    def run(self, statements, mask):
        """Has the statements take effect where `mask` holds and the call has not returned."""
        for statement in statements:
            here = _and(mask, _not(self.returned))
            match statement:
                case ast.Expr(value=ast.Constant()):
                    pass
                case ast.Assign(targets=[target]):
                    self.assign(target, self.value(statement.value), here)
                case ast.Return():
                    self.finish(self.value(statement.value), here)
                case ast.If():
                    test = self.value(statement.test)
                    self.run(statement.body, _and(mask, test))
                    self.run(statement.orelse, _and(mask, _not(test)))
                case ast.For(iter=ast.Call(func=ast.Name("range"), args=[ast.Constant(times)]), orelse=[]):
                    self.loop(statement.body, times, mask)
                case _:
                    raise NotImplementedError(f"{self.function}: {ast.unparse(statement)}")

    def value(self, expression):
        code = compile(ast.Expression(expression), f"<{self.function}>", "eval")
        return eval(code, self.namespace, self.names)

    def assign(self, target, value, here):
        if isinstance(target, ast.Tuple):
            for part, one in zip(target.elts, value, strict=True):
                self.assign(part, one, here)
        else:
            before = self.names.get(target.id, value)
            self.names[target.id] = value if here is True else jnp.where(here, value, before)

    def finish(self, value, here):
        if self.result is not None and here is not True:
            value = jax.tree.map(partial(jnp.where, here), value, self.result)
        self.result, self.returned = value, _or(self.returned, here)

    def loop(self, body, times, mask):
        """The first turn by itself, so that every name has a value, and the others in JAX's loop."""
        self.run(body, mask)
        stores = (node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Name))
        changed = {node.id for node in stores if isinstance(node.ctx, ast.Store)}

        def goes_on(state):
            turn, returned, _, _ = state
            return _and(_and(turn < times, mask), _not(returned))

        def one_turn(state):
            turn, returned, result, values = state
            inner = _Masked(self.function, self.namespace, self.names | values, returned, result)
            inner.run(body, mask)
            return turn + 1, inner.returned, inner.result, {name: inner.names[name] for name in changed}

        state = (1, self.returned, self.result, {name: self.names[name] for name in changed})
        state = jax.lax.while_loop(goes_on, one_turn, jax.tree.map(jnp.asarray, state))
        _, self.returned, self.result, values = state
        self.names |= values


class _Selections(ast.NodeTransformer):
    """Rewrites what asks Python for a truth value: `and`, `or`, `not`, a < b < c, x if c else y."""

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        return _call("_and" if isinstance(node.op, ast.And) else "_or", *node.values)

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return _call("_not", node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node):
        self.generic_visit(node)
        sides = [node.left, *node.comparators]
        pairs = zip(sides[:-1], node.ops, sides[1:], strict=True)
        tests = [ast.Compare(left, [operator], [right]) for left, operator, right in pairs]
        return tests[0] if len(tests) == 1 else _call("_and", *tests)

    def visit_IfExp(self, node):
        self.generic_visit(node)
        return _call("_where", node.test, node.body, node.orelse)


def _call(name, *arguments):
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _and(*tests):
    """All of them; True and False themselves stay Python's, so that what is certain costs nothing."""
    uncertain = [test for test in tests if test is not True]
    return False if False in map(_certain, uncertain) else reduce(jnp.logical_and, uncertain, True)


def _or(*tests):
    return _not(_and(*map(_not, tests)))


def _not(test):
    return not test if isinstance(test, bool) else jnp.logical_not(test)


def _certain(test):
    return test if isinstance(test, bool) else None

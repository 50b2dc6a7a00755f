"""Equations on values that JAX traces, from the very functions that numba compiles.

JAX runs a function once for all points of a map, so no `if` may depend on a value. Here an `@equations`
function runs as the plain Python it is, once for each way through its branches: the first time with every
test taken for true, then with the last one for false, and so on. The results are selected by the tests. What
one equation calls comes back as one value, so ways add up and do not multiply.

A loop whose end depends on a value has ways without end: such equations, those of fixed points, stay numba's.
"""

from collections.abc import Callable, Iterable
from functools import cache
from types import FunctionType
from typing import Any, cast

import jax.numpy as jnp
import numpy as np

from shallows.fluid.compiled import python_of

MOST_TESTS = 20
"""On one way through a function. More of them are a loop."""


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """A float or complex number that JAX traces, for `+`, `<`, `np.exp` and the like.

    `way` holds the tests met so far, and which of them are to be true.
    """

    def __init__(self, value: Any, way: "_Way") -> None:
        self.value, self.way = value, way

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **_: Any) -> "Traced":
        values = [one.value if isinstance(one, Traced) else one for one in inputs]
        return Traced(getattr(jnp, function.__name__)(*values), self.way)

    def __bool__(self) -> bool:
        return self.way.taken(self.value)

    @property
    def real(self) -> "Traced":
        return Traced(jnp.real(self.value), self.way)

    @property
    def imag(self) -> "Traced":
        return Traced(jnp.imag(self.value), self.way)


class _Way:
    """One way through a function: the tests met, and for each whether it is taken for true."""

    def __init__(self, function: str, decided: tuple[bool, ...]) -> None:
        self.function, self.decided = function, list(decided)
        self.tests: list[Any] = []

    def taken(self, test: Any) -> bool:
        self.tests.append(test)
        if len(self.tests) > MOST_TESTS:
            ways = f"more than {MOST_TESTS} tests on one way; is it a loop?"
            raise NotImplementedError(f"{self.function}: {ways}")
        if len(self.tests) > len(self.decided):
            self.decided.append(True)
        return self.decided[len(self.tests) - 1]


def evaluate(function: Callable[..., Any], *arguments: Any) -> tuple[Any, ...]:
    """The results of an `@equations` function for floats or complex numbers that JAX traces.

    Raises NotImplementedError, naming the function, where its tests have no end.
    """
    return _through(function, arguments, ())


def _through(
    function: Callable[..., Any], arguments: tuple[Any, ...], decided: tuple[bool, ...]
) -> tuple[Any, ...]:
    """The results over all ways that begin with the tests `decided`."""
    plain = _plain(function)
    way = _Way(plain.__name__, decided)
    found = plain(*(Traced(one, way) for one in arguments))
    results = _values(cast(tuple[Any, ...], found) if isinstance(found, tuple) else (found,))
    # Each test after `decided` was taken for true: from the last to the first, the ways where it is false.
    for last in reversed(range(len(decided), len(way.tests))):
        others = _through(function, arguments, (*way.decided[:last], False))
        results = tuple(
            jnp.where(way.tests[last], one, other) for one, other in zip(results, others, strict=True)
        )
    return results


def _values(ones: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(one.value if isinstance(one, Traced) else one for one in ones)


@cache
def _plain(function: Callable[..., Any]) -> FunctionType:
    """The Python function under `function`, which sees other equations as functions of traced values."""
    plain = cast(FunctionType, python_of(function))
    seen = {
        name: _nested(value) if hasattr(value, "py_func") else value
        for name, value in plain.__globals__.items()
        if name in plain.__code__.co_names
    }
    return FunctionType(plain.__code__, seen | {"__builtins__": __builtins__}, plain.__name__)


def _nested(function: Callable[..., Any]) -> Callable[..., Any]:
    def called(*arguments: Any) -> Any:
        way = next((one.way for one in arguments if isinstance(one, Traced)), None)
        if way is None:
            return function(*arguments)
        results: tuple[Any, ...] = tuple(Traced(one, way) for one in evaluate(function, *_values(arguments)))
        return results[0] if len(results) == 1 else results

    return called

"""A congestion control as equations in its paper's symbols, compiled for the solvers.

A system has shared states (the queue), states of each flow (its rate, its estimates), and delayed
values: a state as it was one of the `lags` ago. `@equations` marks a function whose argument *names*
are symbols: states, delayed values, constants, and `total` for the summed rate of all flows. Every
equation works on floats, and on complex numbers so that it can be differentiated exactly by a step
along the imaginary axis: compare `.real`, never the symbol itself.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import complex128, float64, njit, types, void

from shallows.fluid.compiled import I64, OPTIONS, compiled

Equations = Callable[..., object]
"""Equations as numba compiles them; they are written for floats, and numba takes complex numbers too."""
equations = compiled()
"""Marks equations. They may call one another."""

_FLOATS, _COMPLEXES = float64[::1], complex128[::1]
_FLOAT_SIGNATURE = void(_FLOATS, _FLOATS, _FLOATS, _FLOATS, _FLOATS)
_COMPLEX_SIGNATURE = void(_COMPLEXES, _COMPLEXES, _COMPLEXES, _FLOATS, _COMPLEXES)

FLOAT = types.FunctionType(_FLOAT_SIGNATURE)
COMPLEX = types.FunctionType(_COMPLEX_SIGNATURE)
"""The types solvers declare: f(shared, flow, delayed, constants, out). One type for all systems, so
that a solver is compiled once and kept on disk."""


@dataclass(frozen=True)
class System:
    """The equations of one congestion control and the order of their symbols.

    shared, flow: the names of the states.
    delayed: symbol -> (state, lag): that state, `feedback`'s lag-th result ago.
    reaction: d(flow states)/dt. link: d(shared states)/dt, from `total` instead of flow states.
    sending: a flow's rate. feedback: the lags in seconds (only their value now is used, which makes
    delays that depend on the state possible). equilibrium: (status, shared states, flow states) of
    `flows` identical flows; the status is one of `model.Status`.
    own_rate: the flow state that is the sending rate, where it is one.
    """

    shared: tuple[str, ...]
    flow: tuple[str, ...]
    delayed: Mapping[str, tuple[str, int]]
    reaction: Equations
    link: Equations
    sending: Equations
    feedback: Equations
    equilibrium: Equations
    lags: int = 1
    own_rate: str | None = None

    @property
    def states(self) -> tuple[str, ...]:
        return self.shared + self.flow

    @cached_property
    def constants(self) -> tuple[str, ...]:
        """The symbols that are neither states nor delayed values, in the order of the constants' array."""
        functions = (self.reaction, self.link, self.sending, self.feedback, self.equilibrium)
        symbols = {name for function in functions for name in _arguments(function)}
        return tuple(sorted(symbols - {*self.states, *self.delayed, "total"}))

    @cached_property
    def tap_states(self) -> I64:
        """For each delayed value, the index of its state in `states`."""
        return np.array([self.states.index(state) for state, _ in self.delayed.values()], np.int64)

    @cached_property
    def tap_lags(self) -> I64:
        """For each delayed value, the index of its lag."""
        return np.array([lag for _, lag in self.delayed.values()], np.int64)

    @cached_property
    def reaction_float(self) -> Equations:
        return self._compile(self.reaction, len(self.flow), _FLOAT_SIGNATURE)

    @cached_property
    def reaction_complex(self) -> Equations:
        return self._compile(self.reaction, len(self.flow), _COMPLEX_SIGNATURE)

    @cached_property
    def link_float(self) -> Equations:
        return self._compile(self.link, len(self.shared), _FLOAT_SIGNATURE)

    @cached_property
    def link_complex(self) -> Equations:
        return self._compile(self.link, len(self.shared), _COMPLEX_SIGNATURE)

    @cached_property
    def sending_float(self) -> Equations:
        return self._compile(self.sending, 1, _FLOAT_SIGNATURE)

    @cached_property
    def sending_complex(self) -> Equations:
        return self._compile(self.sending, 1, _COMPLEX_SIGNATURE)

    @cached_property
    def feedback_float(self) -> Equations:
        return self._compile(self.feedback, self.lags, _FLOAT_SIGNATURE)

    @cached_property
    def equilibrium_float(self) -> Equations:
        return self._compile(self.equilibrium, 1 + len(self.states), _FLOAT_SIGNATURE)

    def _compile(self, function: Equations, results: int, signature: object) -> Equations:
        """`function` with its named arguments fetched from the arrays of `signature`."""
        places = {name: f"constants[{i}]" for i, name in enumerate(self.constants)}
        places |= {name: f"delayed[{i}]" for i, name in enumerate(self.delayed)}
        places |= {name: f"flow[{i}]" for i, name in enumerate(self.flow)}
        places |= {name: f"shared[{i}]" for i, name in enumerate(self.shared)}
        places["total"] = "flow[0]"
        arguments = ", ".join(places[name] for name in _arguments(function))
        targets = ", ".join(f"out[{i}]" for i in range(results))
        head = "def adapter(shared, flow, delayed, constants, out):"
        source = f"{head}\n    {targets} = function({arguments})\n"
        scope: dict[str, object] = {"function": function}
        exec(compile(source, f"<{function.__name__}>", "exec"), scope)
        return njit(signature, **OPTIONS)(scope["adapter"])


def _arguments(function: Equations) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters

"""A model linearised about its fixed point: loop gain, margins, characteristic roots.

N identical flows split into one common mode (all flows together, with the queue) and N-1 equal
differential modes (flows against each other, the queue at rest). Derivatives are taken by the complex
step, so they are exact to rounding. A delay that depends on the state is frozen at its value at the
fixed point, which is exact for the linearisation, as the past is constant there.

Source of the method: ECN or Delay (CoNEXT 2016) §3.2 (margins); Breda, Maset, Vermiglio (SIAM J. Sci.
Comput. 2005) for roots by collocation.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from shallows.core.contract import F64
from shallows.fluid.compiled import C128, I64
from shallows.fluid.loop_gain import Cut, Partials, loop_gain, margin, partial_derivatives
from shallows.fluid.model import Model
from shallows.fluid.roots import Delayed, characteristic_roots

Mode = Literal["common", "differential"]


@dataclass(frozen=True)
class Margins:
    """How far a loop is from instability.

    phase_margin_deg, crossover_rad_s: NaN where the gain never crosses 1.
    delay_margin_s: the longest feedback delay (the model's `delay`, not what is added to it) at which
    the loop is stable; below `delay` when it is not, below 0 when no delay would do.
    """

    phase_margin_deg: float
    crossover_rad_s: float
    delay_margin_s: float


@dataclass(frozen=True)
class Loop:
    """The open loop of a linearised model, cut `at` the "rate" or the "mark"."""

    linear: "Linear"
    at: str

    @property
    def _cut(self) -> Cut:
        one = self.linear
        return one.partials, one.flows, one.tap_states, one.tap_delays, one.own_rate, self.at == "mark"

    def gain(self, s: ArrayLike) -> C128:
        """L(s) for an array of complex s; 1 + L(s) = 0 is the characteristic equation."""
        size = len(self.linear.states)
        work = np.empty((size, size), complex), np.empty(size, complex)
        values = [loop_gain(complex(one), self._cut, 0.0, work) for one in np.ravel(s)]
        return np.array(values).reshape(np.shape(s))

    def response(self, omega_rad_s: ArrayLike) -> C128:
        """L(i omega) for an array of real frequencies."""
        return self.gain(1j * np.asarray(omega_rad_s))

    def margins(self) -> Margins:
        """The `Margins` of this loop."""
        phase, crossover = margin(self._cut)
        return Margins(float(np.degrees(phase)), crossover, self.linear.delay + phase / crossover)

    def to_control(self, omega_rad_s: ArrayLike | None = None) -> object:
        """The loop as python-control's FRD, for its `margin`, `bode_plot`, `nyquist_plot`.

        A frequency response holds the delay exactly; a Padé approximation would not.
        """
        import control

        omega = np.geomspace(10, 1e6, 2000) if omega_rad_s is None else np.asarray(omega_rad_s)
        return control.frd(self.response(omega), omega, smooth=True)


@dataclass(frozen=True)
class Linear:
    """Partial derivatives of a system at its fixed point.

    partials: as `partial_derivatives` returns them. tap_delays: [delayed], seconds.
    states: names in the order of the matrices. delay: the model's feedback delay without queueing.
    """

    partials: Partials
    flows: float
    tap_states: I64
    tap_delays: F64
    own_rate: int
    states: tuple[str, ...]
    delay: float
    loop_at: str = "rate"

    def loop(self, at: str | None = None) -> Loop:
        """The open loop cut "at" the "rate" (where a flow's rate meets the link) or the "mark"."""
        at = at or self.loop_at
        if at not in ("rate", "mark"):
            raise ValueError(f'cut at "rate" or "mark", not {at!r}')
        return Loop(self, at)

    @cached_property
    def common(self) -> tuple[F64, Delayed]:
        """(A0, [(delay in s, A), …]) of x' = A0 x + sum A x(t - delay), x being `states`."""
        link_shared, link_total, rate_shared, rate_flow, by_shared, by_flow, _ = self.partials
        gain = self.flows * link_total
        now = np.block([[link_shared + gain @ rate_shared, gain @ rate_flow], [by_shared, by_flow]])
        return now, self._delayed(len(link_shared))

    @cached_property
    def differential(self) -> tuple[F64, Delayed]:
        """The same for the difference of two flows, x being the flow's states."""
        _, _, _, _, _, by_flow, _ = self.partials
        S = len(self.states) - len(by_flow)
        return by_flow, [(delay, A[S:, S:]) for delay, A in self._delayed(S)]

    def _delayed(self, S: int) -> Delayed:
        size, by_delayed = len(self.states), self.partials[6]
        matrices: dict[float, F64] = {}
        for m, (state, delay) in enumerate(zip(self.tap_states, self.tap_delays, strict=True)):
            matrices.setdefault(delay, np.zeros((size, size)))[S:, state] += by_delayed[:, m]
        return sorted(matrices.items())

    def roots(self, mode: Mode = "common", nodes: int = 20) -> C128:
        """The characteristic roots nearest the right, as an array of complex numbers in 1/s."""
        return characteristic_roots(*(self.common if mode == "common" else self.differential), nodes=nodes)

    def rightmost_root(self, mode: Mode = "common") -> complex:
        """The root that decides: Re > 0 grows. Of a pair, the one with Im >= 0."""
        root = self.roots(mode)[0]
        return complex(root.real, abs(root.imag))

    @property
    def stable(self) -> bool:
        """Whether every disturbance dies out, or (between flows, as under host PI) at least does not grow."""
        return self.rightmost_root().real < 0 and self.rightmost_root("differential").real < NEUTRAL


NEUTRAL = 1e-6
"""In 1/s: a root of 0, up to rounding."""


def linearise(model: Model) -> Linear:
    """The `Linear` of `model` at its fixed point. Raises ValueError where there is none to linearise at."""
    fixed_point = model.fixed_point()
    if not fixed_point.exists:
        raise ValueError(fixed_point.explanation or "no fixed point")
    system, constants = model.system, model.constants_array()
    shared = np.array([fixed_point.state[name] for name in system.shared])
    flow = np.array([fixed_point.state[name] for name in system.flow])
    lags = np.empty(system.lags)
    system.feedback_float(shared, flow, np.empty(0), constants, lags)
    partials = partial_derivatives(
        system.reaction_complex, system.link_complex, system.sending_complex,
        shared, flow, system.tap_states, float(model.flows), constants,
    )  # fmt: skip
    own_rate = system.flow.index(system.own_rate) if system.own_rate else -1
    return Linear(
        partials, float(model.flows), system.tap_states, lags[system.tap_lags], own_rate, system.states,
        model.delay, model.loop_at,
    )  # fmt: skip

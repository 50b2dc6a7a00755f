"""The environment: an agent sets knobs of a network, step by step, and observes what flows did."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box
from numpy.typing import NDArray

from shallows import runner
from shallows.base import limits
from shallows.driven.network import check_driven
from shallows.errors import ScenarioError
from shallows.gym.knob import Hand, Knob, State, hands
from shallows.gym.measures import MEASURES, weights
from shallows.scenario import needs
from shallows.scenario.request import request
from shallows.units import TIME, TimeQuantity

if TYPE_CHECKING:
    from shallows import _core
    from shallows.core.contract import U32
    from shallows.runner import Given
    from shallows.scenario.literal import Algorithm

    Draws = Callable[[np.random.Generator], Given]

Numbers = NDArray[np.float32]


@dataclass(frozen=True)
class _Drawn:
    """A network before the first step of an episode, which is copied for each."""

    core: "_core.OpenRun"
    hands: list[Hand]
    state: State
    group: "U32"
    groups: int
    ends: bool
    """Whether all its flows have an end."""


class NetworkEnv(gymnasium.Env[Numbers, Numbers]):
    """An environment whose steps are spans of time in the network of a scenario.

    `scenario` is what `shallows.run` takes, or a function of a random generator that returns it, for other
    networks in other episodes. An episode has `steps` steps of the time `step` each, after the time `begin`
    without an agent; it is truncated after them and where the run ends, and terminated when all flows are
    done. `actions` are the knobs. The reward of a step is the sum of measures of all flows together, each
    times its weight in `reward`. An observation has a row for each traffic table, or with `per="flow"` for
    each flow, and the columns of `MEASURES`.

    `reset()` begins the same network again, from a copy; `reset(seed=n)` draws another one, with this seed as
    that of the scenario, and with `redraw` each reset does. `cc` and `overrides` are those of `shallows.run`.

    Raises `ScenarioError` for a wrong scenario, a knob that it does not have, and an algorithm in Python,
    which cannot be copied.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(
        self,
        scenario: "Given | Draws",
        *,
        step: str | TimeQuantity,
        steps: int,
        actions: Sequence[Knob],
        reward: Mapping[str, float],
        per: Literal["traffic", "flow"] = "traffic",
        begin: str | TimeQuantity = "0s",
        redraw: bool = False,
        cc: "Algorithm | None" = None,
        overrides: Mapping[str, object] | None = None,
    ) -> None:
        self._scenario, self._changes = scenario, (cc, overrides)
        self._step_ps, self._begin_ps = _span("step", step, least=1), _span("begin", begin)
        self._steps, self._knobs, self._weights = _count(steps), [*actions], weights(reward)
        if per not in ("traffic", "flow"):
            raise ScenarioError("per", per, '"traffic" or "flow"')
        self._per, self._redraw = per, redraw
        if self._begin_ps + self._steps * self._step_ps > limits.TIME.most:
            raise ScenarioError("steps", steps, f"an episode of {TIME.text(limits.TIME.most)} at most")
        self._drawn = self._draw(None)
        size = sum(hand.size for hand in self._drawn.hands)
        self.action_space = Box(-1.0, 1.0, (size,), np.float32)
        self.observation_space = Box(0.0, np.inf, (self._drawn.groups, len(MEASURES)), np.float32)
        self._episode: tuple[_core.OpenRun, State] | None = None
        self._done_steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Numbers, dict[str, Any]]:
        """Begin an episode; what it observes first is zero, and its information the clock in microseconds."""
        super().reset(seed=seed)
        if seed is not None or self._redraw:
            self._drawn = self._draw(int(self.np_random.integers(2**32)) if seed is None else seed)
        state = {key: [*values] for key, values in self._drawn.state.items()}
        self._episode, self._done_steps = (self._drawn.core.fork(), state), 0
        return np.zeros(self.observation_space.shape, np.float32), {"clock_us": self._begin_ps / 1e6}

    def step(self, action: Numbers) -> tuple[Numbers, float, bool, bool, dict[str, Any]]:
        """Set the knobs, advance by a step, and return what was observed, and whether the episode is over."""
        if self._episode is None:
            raise ResetNeeded("an episode is over, or none has begun: expected reset() before step()")
        core, state = self._episode
        drawn, at = self._drawn, 0
        numbers: list[float] = np.asarray(action).tolist()
        for hand in drawn.hands:
            hand.turn(core, numbers[at : at + hand.size], state)
            at += hand.size
        self._done_steps += 1
        to_ps = self._begin_ps + self._done_steps * self._step_ps
        seen, every, ended, unfinished = core.step(to_ps, drawn.group, drawn.groups)
        reward = sum(map(float.__mul__, self._weights, every))
        terminated = drawn.ends and not unfinished
        truncated = not terminated and (ended or self._done_steps == self._steps)
        if terminated or truncated:
            self._episode = None
        return seen, reward, terminated, truncated, {"clock_us": to_ps / 1e6}

    def values(self, action: Numbers) -> dict[str, list[float]]:
        """What an action sets, by the key of its knob, in bytes, bit/s, seconds, packets or plain numbers."""
        numbers: list[float] = np.asarray(action).tolist()
        found: dict[str, list[float]] = {}
        for knob, hand in zip(self._knobs, self._drawn.hands, strict=True):
            its, numbers = numbers[: hand.size], numbers[hand.size :]
            found[knob.key] = [hand.values.at(one) for one in its]
        return found

    def close(self) -> None:
        """End the episode and free its memory."""
        self._episode = None

    def _draw(self, seed: int | None) -> _Drawn:
        """A network with this seed, or with that of the scenario, at the begin of an episode."""
        from shallows import _core

        given, (cc, overrides) = self._scenario, self._changes
        if callable(given):
            given = given(np.random.default_rng(seed))
        changes = runner.changes(cc, overrides)
        scenario = runner.prepare(given, seed=seed, overrides=changes, driven=True)
        check_driven(scenario)
        needs.check_run(scenario)
        if any(used.user_class for used in scenario.flows.ccs):
            raise ScenarioError("cc.name", scenario.flows.ccs[0].label, "algorithms of the catalog")
        asked = request(scenario)
        turned, state = hands(self._knobs, scenario, asked)
        group = scenario.flows.group if self._per == "traffic" else np.arange(len(scenario.flows))
        groups = len(scenario.traffic) if self._per == "traffic" else len(scenario.flows)
        size = sum(hand.size for hand in turned)
        spaces = getattr(self, "action_space", None), getattr(self, "observation_space", None)
        if spaces[0] is not None and (size, groups) != (spaces[0].shape[0], spaces[1].shape[0]):
            raise ScenarioError("scenario", f"{groups} rows, {size} knobs", "the same in each draw")
        core = _core.OpenRun(asked)
        core.advance(self._begin_ps, False)
        core.observe()
        ends = bool((scenario.flows.bytes > 0).all()) and len(scenario.flows) > 0
        return _Drawn(core, turned, state, group.astype(np.uint32), groups, ends)


def _span(key: str, span: object, least: int = 0) -> int:
    """A span of time in picoseconds. Raises `ScenarioError`."""
    try:
        return TIME.parse(str(span) if isinstance(span, TimeQuantity) else span, least=least)
    except ValueError as error:
        raise ScenarioError(key, str(span), str(error)) from None


def _count(steps: object) -> int:
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise ScenarioError("steps", str(steps), "a whole number of 1 or more")
    return steps

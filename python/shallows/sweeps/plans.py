"""The runs of a sweep: every combination of algorithm, swept values and seed."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from shallows.algorithms import trust
from shallows.algorithms.user_algorithms import labels
from shallows.base import texts
from shallows.errors import ScenarioError
from shallows.results.address import address
from shallows.runner import prepare
from shallows.scenario import overrides as changes

if TYPE_CHECKING:
    from shallows.scenario import Scenario


MOST_RUNS = 1_000_000


@dataclass(frozen=True)
class Axis:
    """Keys of the scenario that change together: `rows` has a value for each key."""

    keys: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


@dataclass(frozen=True)
class Job:
    """One run: its address, its distinguishing columns, and a function that makes its scenario."""

    run: str
    settings: dict[str, object]
    world: str
    make: "Callable[[], Scenario]"


@dataclass(frozen=True)
class Plan:
    """`scenario` with each of `ccs` (its own if empty), at each point of `axes`, with each of `seeds`.

    shard: (number from 1, how many) of a part of these runs, which are dealt out in turn; None for all.
    """

    scenario: "Scenario"
    ccs: tuple[str, ...]
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]
    world: str = "packet"
    shard: tuple[int, int] | None = None

    @property
    def names(self) -> dict[str, str]:
        """The column of each swept key: its last word if that is unique, else the whole key."""
        keys = [key for axis in self.axes for key in axis.keys]
        last = [key.rpartition(".")[2] for key in keys]
        taken = {"run", "cc", "seed", "name", "fingerprint", "failure"}
        return {
            key: word if last.count(word) == 1 and word not in taken else key
            for key, word in zip(keys, last, strict=True)
        }

    @property
    def points(self) -> list[tuple[dict[str, object], dict[str, object]]]:
        """`[(columns, overrides)]` without seeds: algorithms vary slowest, the last axis fastest."""
        names = self.names
        points: list[tuple[dict[str, object], dict[str, object]]] = []
        for cc in self.ccs or (None,):
            for rows in itertools.product(*(axis.rows for axis in self.axes)):
                keys = [key for axis in self.axes for key in axis.keys]
                values = [value for row in rows for value in row]
                swept = dict(zip(keys, values, strict=True))
                columns = {
                    names[key]: str(value) if isinstance(value, trust.Named) else value
                    for key, value in swept.items()
                }
                points.append(
                    (
                        {"cc": cc and next(iter(labels([cc]))), **columns},
                        {**({"cc.name": cc} if cc else {}), **swept},
                    )
                )
        return points

    def jobs(self) -> list[Job]:
        """A `Job` for each run. The scenario of each point is checked with its first seed.

        Raises `ScenarioError` for a wrong point.
        """
        count = len(self.points) * len(self.seeds)
        if count > MOST_RUNS:
            raise ScenarioError("runs", count, f"at most {MOST_RUNS}")
        jobs: list[Job] = []
        for columns, overrides in self.points:
            first = prepare(self.scenario, seed=self.seeds[0], overrides=overrides, world=self.world)
            cc = columns["cc"] or _algorithms(first)
            for seed in self.seeds:
                jobs.append(
                    Job(
                        address(first, self.world, seed=seed),
                        {**columns, "cc": cc, "seed": seed},
                        self.world,
                        self.scenario.deferred({**overrides, "seed": seed}),
                    )
                )
        if len({job.run for job in jobs}) < len(jobs):
            raise ScenarioError("over", None, "points that differ: two of them are the same scenario")
        number, every = self.shard or (1, 1)
        return jobs[number - 1 :: every]

    def warnings(self) -> list[str]:
        """The warnings of each point that are known before it runs, with the values of its swept keys."""
        texts: list[str] = []
        for columns, overrides in self.points:
            made = prepare(self.scenario, seed=self.seeds[0], overrides=overrides, world=self.world)
            where = ", ".join(f"{key} = {value}" for key, value in columns.items() if value is not None)
            texts += [f"{where}: {text}" if where else text for text in made.warnings]
        return texts

    def text(self) -> str:
        """This sweep as a file: the scenario as given, and `[sweep]`."""
        import tomli_w

        over = {axis.keys[0]: [row[0] for row in axis.rows] for axis in self.axes if len(axis.keys) == 1}
        grouped = [
            {key: [row[place] for row in axis.rows] for place, key in enumerate(axis.keys)}
            for axis in self.axes
            if len(axis.keys) > 1
        ]
        table = {"cc": list(self.ccs), "seeds": list(self.seeds), "over": over, "together": grouped}
        return tomli_w.dumps(
            {**self.scenario.tables, "sweep": {key: value for key, value in table.items() if value}}
        )

    def with_seeds(self, seeds: Iterable[int]) -> "Plan":
        """The same plan with other seeds."""
        return replace(self, seeds=tuple(seeds))


def plan(
    scenario: "Scenario",
    cc: Any = (),
    over: Mapping[Any, Any] | None = None,
    seeds: object = 1,
    world: str = "packet",
) -> Plan:
    """The `Plan` of these arguments of `sweep`. Raises `ScenarioError`."""
    ccs: list[str] = []
    for one in labels([cc] if isinstance(cc, str | type) else cc or ()).values():
        if isinstance(one, type):
            expected = "a class in a file, from which other processes can load it"
            raise ScenarioError("cc", one.__name__, expected)
        ccs.append(one)
    axes = tuple(axis(keys, values) for keys, values in (over or {}).items())
    keys = [key for one in axes for key in one.keys]
    for key in keys:
        if keys.count(key) > 1 or key == "seed" or (ccs and key in ("cc", "cc.name")):
            instead = {"seed": "no seed among the swept keys: use the option for seeds"}.get(
                key, "each key once"
            )
            raise ScenarioError("over", key, instead)
    return Plan(scenario, tuple(ccs), axes, _seeds(seeds, scenario.seed), world)


def axis(keys: tuple[str, ...], values: Any) -> Axis:
    """The `Axis` of a key and its values, or of a tuple of keys and tuples of values; see `spread`."""
    keys = (keys,) if isinstance(keys, str) else tuple(keys)
    rows = spread(values, keys[0]) if isinstance(values, str) else list(values)
    rows = [(row,) for row in rows] if len(keys) == 1 else [tuple(row) for row in rows]
    if not rows or any(len(row) != len(keys) for row in rows):
        wanted = "one value or more" if len(keys) == 1 else f"rows of {len(keys)} values, one for each key"
        raise ScenarioError("over", ", ".join(keys), wanted)
    return Axis(keys, tuple(rows))


def by_user(over: Mapping[Any, Any]) -> dict[tuple[str, ...], list[Any]]:
    """The keys and values of an `over` of the user or of the calling program: its classes are trusted."""
    axes = [axis(keys, values) for keys, values in over.items()]
    found: dict[tuple[str, ...], list[Any]] = {}
    for one in axes:
        rows = [tuple(changes.by_user(dict(zip(one.keys, row, strict=True))).values()) for row in one.rows]
        found[one.keys] = rows if len(one.keys) > 1 else [value for (value,) in rows]
    return found


def together(columns: Mapping[str, Sequence[object]]) -> dict[tuple[str, ...], list[tuple[object, ...]]]:
    """The `{keys: rows}` of several keys that change together: `{key: values}` of equal lengths."""
    spread_out = {
        key: spread(values, key) if isinstance(values, str) else values for key, values in columns.items()
    }
    if len({len(values) for values in spread_out.values()}) != 1:
        counts = ", ".join(f"{len(values)} of {key}" for key, values in spread_out.items())
        raise ScenarioError("over", counts, "equally many values for keys that change together")
    return {tuple(spread_out): list(zip(*spread_out.values(), strict=True))}


def spread(text: str, key: str) -> list[Any]:
    """The values of a text: "100pkt,250pkt", or "0.2:0.8:0.1", which is from, to (inclusive) and step."""
    bounds = text.split(":")
    without_step = len(bounds) == 2 and all(map(_number, bounds))
    if (len(bounds) == 3 or without_step) and "," not in text:
        return _range(bounds, key)
    return [_value(part) for part in _split(text, ",")]


def pairs(text: str) -> list[tuple[str, str]]:
    """`(key, text)` pairs of an option "key=values key=values", whose keys change together."""
    pairs = [part.partition("=") for part in _split(text, " ") if part]
    for key, equals, values in pairs:
        if not (key and equals and values):
            raise ScenarioError("--over", text, "KEY=VALUE,VALUE or KEY=FROM:TO:STEP")
    return [(key, values) for key, _, values in pairs]


def _range(bounds: list[str], key: str) -> list[object]:
    numbers = [_number(part) for part in bounds]
    parts = [number for number in numbers if number]
    expected = "FROM:TO:STEP, such as 0.2:0.8:0.1 or 100pkt:500pkt:100pkt"
    mistake = ScenarioError("over", f"{key}={':'.join(bounds)}", expected)
    units = {unit for _, unit in parts if unit}
    if len(bounds) != 3 or len(parts) < len(numbers) or len(units) > 1:
        raise mistake
    (low, _), (high, _), (step, _) = parts
    if step == 0 or (high - low) / step < 0 or (high - low) / step >= MOST_RUNS:
        raise mistake
    unit = units.pop() if units else ""
    values = [low + step * i for i in range(int((high - low) / step) + 1)]
    return [f"{value.normalize():f}{unit}" if unit else _plain(value) for value in values]


def _number(text: str) -> tuple[Decimal, str] | None:
    """`(Decimal, unit)` of a text, or None."""
    digits = text.strip().rstrip("%abcdefghijklmnopqrstuvwxyzµABCDEFGHIJKLMNOPQRSTUVWXYZ")
    try:
        number = Decimal(digits)
    except InvalidOperation:
        return None
    return (number, text.strip()[len(digits) :]) if number.is_finite() else None


def _plain(number: Decimal) -> int | float:
    return int(number) if number == int(number) and "." not in str(number) else float(number)


def _value(text: str) -> object:
    try:
        return texts.toml(f"value = {text}")["value"]
    except ValueError:
        return text.strip()


def _split(text: str, separator: str) -> list[str]:
    """`text` split at each `separator` outside quotes and brackets."""
    parts, depth, quote = [""], 0, None
    for letter in text:
        if quote:
            quote = None if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        else:
            depth += (letter in "[{") - (letter in "]}")
        if letter == separator and not quote and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _seeds(seeds: Any, first: int) -> tuple[int, ...]:
    if (
        isinstance(seeds, bool)
        or (isinstance(seeds, int) and seeds < 1)
        or (not isinstance(seeds, int) and not seeds)
    ):
        raise ScenarioError("seeds", seeds, "how many, or a list of them")
    return tuple(range(first, first + seeds) if isinstance(seeds, int) else seeds)


def _algorithms(scenario: "Scenario") -> str:
    return "+".join(dict.fromkeys(scenario.flows.cc_names))

"""The description of one run: `Scenario`.

Its fields are exact integers (picoseconds, bytes, bits per second) or tables of them; their texts carry
units. Every mistake is a `ScenarioError` with file, key, value and what was expected.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import TYPE_CHECKING, Any, Unpack

import tomli_w
from pydantic import ValidationError

from shallows.algorithms import trust
from shallows.algorithms.algorithm import Algorithm, choose
from shallows.base import names, texts
from shallows.errors import ScenarioError
from shallows.scenario import checks, examples, places, raw, validation
from shallows.scenario.given import Given
from shallows.scenario.literal import literal
from shallows.scenario.origin import Origin
from shallows.scenario.overrides import by_user, copied, overridden
from shallows.scenario.resolve import resolve
from shallows.scenario.resolved import Resolved
from shallows.units import did_you_mean

if TYPE_CHECKING:
    from shallows.scenario.builders import Tables


class Scenario(Resolved):
    """One run: network, hosts, algorithms and traffic. Immutable; `set` returns a changed one.

    `Scenario(duration="1s", topology=Dumbbell(hosts=4), cc="dctcp", traffic=[LongLived()])`: the keywords are
    the tables of a scenario file, as builders (`shallows.Star`) or as dicts; `topology` may also be a
    networkx graph. Everything is checked at once, including the flows. Raises `ScenarioError`.

    Its attributes are the tables with every default (`Resolved`); `given` has them as written.

    What a program passes to `Scenario`, `from_tables`, `set` and `replace`, and as overrides, names its own
    classes, whose code runs. This package itself uses `made` and `changed`, which trust no name more than it
    was (`algorithms.trust`).
    """

    given: Given
    origin: Origin
    _tables: dict[str, Any]

    def __init__(self, /, *, file: str | None = None, **tables: "Unpack[Tables]") -> None:
        self._fill(tables, file, by_program=True)

    def _fill(self, tables: Mapping[str, Any], file: str | None, *, by_program: bool) -> None:
        """Read and check the tables, which the calling program has written or not."""
        try:
            folder = Path(file).parent if file else Path()
            read = raw.read(tables, folder)
            if by_program:
                read = trust.named(read, folder, key="")
            frame, wrong = raw.frame_or_default(read)

            def algorithm(table: object) -> Algorithm:
                return choose(table, frame, folder)

            context: dict[str, object] = {"frame": frame, "folder": folder, "algorithm": algorithm}
            try:
                given = Given.model_validate(read, context=context)
            except ValidationError as error:
                others = validation.all_errors(error, read, Given)
                raise ScenarioError.together([wrong, others] if wrong else [others]) from None
            if wrong:
                raise wrong
            vars(self).update(vars(resolve(given, frame)), given=given, origin=Origin(file), _tables=read)
            checks.check(self)
        except ScenarioError as error:
            raise error.in_file(file) from None

    @classmethod
    def key_names(cls) -> list[str]:
        """The names of its keys in a scenario file, in order."""
        return Given.key_names()

    @classmethod
    def load(cls, path: str | PathLike[str], overrides: Mapping[str, object] | None = None) -> "Scenario":
        """The scenario in a TOML file, with `overrides` ({dotted key: value}) applied before the checks.

        `path` may also be the name of an example, such as "dctcp-40".
        """
        path = examples.find(path)
        try:
            text = texts.read(path)
        except (OSError, ValueError) as error:  # missing, not text, or not a file name
            reason = texts.why(error)
            hint = did_you_mean(path.name, examples.names()) if path.name == str(path) else ""
            expected = f"a readable scenario file ({reason}) or the name of an example{hint}"
            raise ScenarioError(None, None, expected, file=str(path)) from None
        return cls.from_toml(text, file=str(path), overrides=overrides)

    @classmethod
    def from_toml(
        cls, text: str, file: str | None = None, overrides: Mapping[str, object] | None = None
    ) -> "Scenario":
        """The scenario of a TOML text. Errors and relative paths refer to `file`."""
        try:
            tables = texts.toml(text)
        except ValueError as error:
            place = places.of_error(text, str(error)) if isinstance(error, TOMLDecodeError) else None
            raise ScenarioError(None, None, f"TOML ({error})", file=file, place=place) from None
        if file:
            tables.setdefault("name", names.of_file(file))
        return cls.made(tables, Origin(file, text), by_user(overrides or {}))

    @classmethod
    def from_tables(
        cls, tables: Mapping[str, object], overrides: Mapping[str, object] | None = None
    ) -> "Scenario":
        """The scenario of a dict of tables, with `overrides` as in `load`."""
        written = {str(key): literal(table) for key, table in tables.items()}
        return cls.made(trust.named(written, key=""), Origin(), by_user(overrides or {}))

    @classmethod
    def made(
        cls,
        tables: dict[str, Any],
        origin: Origin | None = None,
        overrides: Mapping[str, object] | None = None,
    ) -> "Scenario":
        """The scenario of tables of a file, a peer or another scenario: names in them are not trusted."""
        origin = (origin or Origin()).overridden(overrides or {})
        try:
            tables = overridden(tables, overrides or {})
            if "file" in tables:  # a key `file` would be mistaken for the argument `file`
                known = f"a known key ({', '.join(cls.key_names())})"
                raise ScenarioError("file", tables["file"], known)
            scenario = cls.__new__(cls)
            scenario._fill(tables, origin.file, by_program=False)
        except ScenarioError as error:
            raise origin.locate(error) from None
        vars(scenario)["origin"] = origin
        return scenario

    def to_toml(self) -> str:
        """This scenario as TOML, with every default."""
        return tomli_w.dumps(self.resolved())

    def resolved(self) -> dict[str, Any]:
        """The tables of a scenario file, with every default."""
        context = {"frame": self.frame}
        settled = Given.model_construct(**{key: getattr(self, key) for key in Given.model_fields})
        tables = settled.model_dump(by_alias=True, exclude_none=True, context=context)
        if not any("hosts.rto_min" in used.supported_keys for used in self.algorithms):
            del tables["hosts"]["rto_min"]  # it acts on no flow, and follows from the network
        for table, key in (
            *((tables, key) for key in ("classes", "pools", "ports")),
            (tables["hosts"], "costs"),
        ):
            if not table[key]:
                del table[key]
        return {
            **tables,
            "topology": _kind_first(tables["topology"]),
            "traffic": [_kind_first(table) for table in tables["traffic"]],
        }

    def set(self, key: str, value: object) -> "Scenario":
        """A scenario with one key changed, such as `set("traffic.0.flows", "20")`.

        A text is read as TOML if it is TOML. Another algorithm in cc.name removes the parameters of the
        former one.
        """
        return self.replace({key: value})

    def replace(self, overrides: Mapping[str, object]) -> "Scenario":
        """A scenario with several keys changed at once: {dotted key: value}, as in `set`."""
        return self.changed(by_user(overrides))

    def changed(self, overrides: Mapping[str, object]) -> "Scenario":
        """Like `replace`, with overrides that the calling program has not written."""
        return self.made(self._tables, self.origin, overrides)

    def deferred(self, overrides: Mapping[str, object]) -> "Callable[[], Scenario]":
        """A picklable function without arguments that returns what `changed` would."""
        return partial(_rebuild, self._tables, self.origin, trust.ran(), overrides)

    def __reduce__(self) -> tuple[object, ...]:
        unchanged: dict[str, object] = {}
        return _rebuild, (self._tables, self.origin, trust.ran(), unchanged)

    def __repr__(self) -> str:
        """The Python expression for what was given."""
        from shallows.scenario.builders import to_source

        return to_source({"file": self.file, **self._tables})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.to_toml() == other.to_toml()

    def __hash__(self) -> int:
        return hash(self.to_toml())

    @property
    def file(self) -> str | None:
        """The file that it was read from, for errors; None if there is none."""
        return self.origin.file

    @property
    def tables(self) -> dict[str, Any]:
        """Its tables as given, without defaults."""
        return copied(self._tables)

    @property
    def warnings(self) -> list[str]:
        """Warnings of a scenario that is valid but hardly what its author meant."""
        from shallows.scenario.doubts import of_scenario

        return of_scenario(self)


def _rebuild(
    tables: dict[str, object],
    origin: Origin,
    ran: Sequence[trust.Entry],
    overrides: Mapping[str, object],
) -> Scenario:
    """The scenario of another process of the same user, which has run its classes."""
    trust.also_ran(ran)
    return Scenario.made(tables, origin, overrides)


def _kind_first(table: Any) -> dict[str, object]:
    return {"kind": table["kind"], **table}

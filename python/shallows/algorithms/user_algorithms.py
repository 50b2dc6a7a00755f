"""Algorithms in Python: how their classes are found, and their parameters.

A class is given by itself, by its location ("./mine.py:Aimd"), or by a name from `register`. A saved scenario
contains the location, so that it can run again; a class without a location, such as one in a notebook, exists
only in its session. Parameters are the keyword-only arguments of `__init__` with a default.
"""

import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType, TracebackType

from shallows.algorithms import trust
from shallows.errors import ScenarioError, UnknownKeyError
from shallows.units import RATE, TIME, did_you_mean

METHODS = ("on_ack", "on_loss", "decision")
CALLS = {
    "on_ack": ("now", "ack"),
    "on_loss": ("now", "loss"),
    "on_sent": ("now", "frame"),
    "on_packet_lost": ("now", "lost"),
    "on_spurious_loss": ("now",),
    "on_restart": ("now",),
    "on_notification": ("now",),
    "on_wake": ("now",),
    "decision": (),
    "probe": (),
}
"""The arguments of each method, including optional methods."""
MADE_WITH = ("initial_window", "line_rate")
"""The arguments of `__init__`."""
TRANSPORTS = ("tcp", "roce", "unordered")
"""The transports that a class may run over, all of which have a window."""
SESSION = "python:"
"""The prefix for a class without a location in a saved scenario."""

OURS = Path(__file__).parents[1]
"""The folder of this package."""
_CLASSES: dict[str, type] = {}
"""Classes of this process by their name or location in a scenario."""
_MODULES: dict[tuple[str, str], ModuleType] = {}
"""Loaded files by path and digest: a file is loaded again if it or a file that it loaded was edited."""


def register(name: str, algorithm: type) -> None:
    """Give a class a name that scenarios can use as `cc`; docs/algorithms.md has an example.

    Raises `TypeError` if the class lacks a method or a method takes other arguments, `ValueError` if the
    catalog has the name.
    """
    from shallows.algorithms.algorithm import NATIVE, catalog

    for method in METHODS:
        if not callable(getattr(algorithm, method, None)):
            raise TypeError(f"{name}: {algorithm!r} has no method {method}")
    wanted = _cannot_be_called(algorithm) or _runs_over_nothing(algorithm)
    if wanted:
        raise TypeError(f"{name}: expected {algorithm!r} with {wanted}")
    if name in NATIVE or any(row["name"] == name for row in catalog()):
        raise ValueError(f"{name}: an algorithm of the catalog is called that")
    _CLASSES[name] = algorithm


def is_location(name: str) -> bool:
    """True if `name` is a location: a file and its class, or a class of a session."""
    return ".py:" in name or name.startswith(SESSION)


def label(name: str) -> str:
    """The name in results: the class of a location; any other name unchanged."""
    return name.rpartition(":")[2] if is_location(name) else name


def transport(algorithm: type) -> str:
    """The transport of a class, by its attribute; "tcp" without one."""
    return str(getattr(algorithm, "transport", "tcp"))


def find(name: str | type, folder: Path) -> tuple[str, str, type] | None:
    """(name in a saved scenario, name in results, class); None if `name` is not a class.

    A relative location is searched in `folder`, then in the working folder; one that the user named is
    absolute. Raises `ScenarioError`.
    """
    if isinstance(name, type):
        return _checked(_saved(name, name.__name__), name.__name__, name)
    if name in _CLASSES:
        return _saved(_CLASSES[name], name), label(name), _CLASSES[name]
    if name.startswith(SESSION):
        word = name.removeprefix(SESSION)
        if word in _CLASSES:
            return name, word, _CLASSES[word]
        expected = 'the file of the class, such as "mine.py:Aimd": it was defined in another session'
        raise ScenarioError("name", name, expected)
    if not is_location(name):
        return None
    path, _, word = name.rpartition(":")
    file = next((at for at in (folder / path, Path(path)) if at.is_file()), None)
    if file is None:
        where = (folder / path).parent.resolve()
        raise ScenarioError("name", name, f"an existing file and a class in it; there is none in {where}")
    location = f"{file.resolve()}:{word}"
    return _checked(location, word, _CLASSES.get(location) or _loaded(file.resolve(), word, name))


def location_or_name(name: str | type) -> str | type:
    """The location of a class, or of a registered name, so that other processes and saved scenarios can find
    it; else the argument.
    """
    if isinstance(name, type):
        return location(name) or name
    return location(_CLASSES[name]) or name if name in _CLASSES else name


def labels(names: Sequence[str | type]) -> dict[str, str | type]:
    """`names` by their labels in results. Raises `ScenarioError` if two labels are equal."""
    texts = [location_or_name(name) for name in names]
    called = [name.__name__ if isinstance(name, type) else label(name) for name in names]
    for word in called:
        if called.count(word) > 1:
            raise ScenarioError("cc", ", ".join(called), "each algorithm once, with distinct names")
    return dict(zip(called, texts, strict=True))


def location(algorithm: type) -> trust.Named | None:
    """The file and the name of a class of this program, "/home/me/mine.py:Aimd"; None if it is in no file."""
    module = sys.modules.get(algorithm.__module__)
    file = getattr(module, "__file__", None)
    if not file or not Path(file).is_file():  # a notebook, or standard input
        return None
    if getattr(module, algorithm.__qualname__, None) is not algorithm:
        return None
    found = trust.Named(f"{Path(file).resolve()}:{algorithm.__qualname__}")
    _CLASSES[found] = algorithm
    trust.record(Path(file).resolve())
    return found


def parameters(algorithm: type) -> dict[str, bool | int | float | str]:
    """The parameters of a class with their defaults; that of a quantity, such as "20us", is a number.

    Raises `ScenarioError` for a parameter without a default.
    """
    found = inspect.signature(algorithm).parameters.values()
    named = [one for one in found if one.kind is inspect.Parameter.KEYWORD_ONLY]
    for one in named:
        if not isinstance(one.default, bool | int | float | str):
            expected = f"a number, a text or a flag as default of {one.name}, a parameter of the class"
            raise ScenarioError("name", algorithm.__name__, expected)
    return {one.name: _quantity(one.default) for one in named}


def _quantity(default: bool | int | float | str) -> bool | int | float | str:
    """The number of a text with a unit, as `_number` converts it; any other default unchanged."""
    try:
        return _number(default) if isinstance(default, str) else default
    except ValueError:
        return default


def frames(error: BaseException) -> TracebackType | None:
    """The part of an error's traceback that is in an algorithm of the user; None if there is none."""
    at, found = error.__traceback__, None
    while at:
        if Path(at.tb_frame.f_code.co_filename).is_relative_to(OURS):
            found = at.tb_next
        at = at.tb_next
    return found if found and found.tb_frame.f_code.co_name in ("__init__", *CALLS) else None


def read(algorithm: type, table: Mapping[str, object]) -> dict[str, bool | int | float | str]:
    """The value of every parameter, from `table` or its default; times in seconds, rates in bit/s.

    Raises `ScenarioError` with the key.
    """
    values = parameters(algorithm)
    for key, value in table.items():
        if key not in values:
            has = ", ".join(values) or "no parameters"
            expected = f"a parameter of {algorithm.__name__} ({has}){did_you_mean(key, values)}"
            raise UnknownKeyError(key, value, expected)
        try:
            values[key] = _like(values[key], value)
        except ValueError as error:
            raise ScenarioError(key, value, str(error)) from None
    return values


def _like(default: bool | int | float | str, value: object) -> bool | int | float | str:
    """`value` converted to the type of `default`."""
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ValueError("true or false")
        return value
    if isinstance(default, str):
        if not isinstance(value, str):
            raise ValueError("a text")
        return value
    if isinstance(value, str):
        value = _number(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a number")
    if isinstance(default, int) and value != int(value):
        raise ValueError(f"a whole number, as its default is: {default}")
    return int(value) if isinstance(default, int) else float(value)


def _number(text: str) -> float:
    """The number of a text with a unit, in seconds, bits per second or packets."""
    if text.endswith("pkt"):
        return float(text.removesuffix("pkt"))
    for dimension, scale in ((TIME, -12), (RATE, 0)):
        try:
            return float(dimension.amount(text).scaleb(scale))
        except ValueError:
            continue
    raise ValueError('a number, or a time, a rate or packets, such as "20us", "10Gbps" or "2pkt"')


def _saved(algorithm: type, word: str) -> str:
    """The name of a class in a saved scenario."""
    found = location(algorithm)
    if found is None:
        _CLASSES[word] = algorithm
    return found or f"{SESSION}{word}"


def _checked(name: str, word: str, algorithm: type) -> tuple[str, str, type]:
    missing = [method for method in METHODS if not callable(getattr(algorithm, method, None))]
    if missing:
        expected = f"a class with {', '.join(METHODS)}; {algorithm.__name__} has no {missing[0]}"
        raise ScenarioError("name", name, expected)
    wanted = _cannot_be_called(algorithm) or _runs_over_nothing(algorithm)
    if wanted:
        raise ScenarioError("name", name, f"{algorithm.__name__} with {wanted}")
    return name, word, algorithm


def _cannot_be_called(algorithm: type) -> str | None:
    """The expected signature of the first method with other arguments; None if all are right."""
    if not _takes(algorithm, MADE_WITH):
        return f"__init__(self, {', '.join(MADE_WITH)}), then only keyword arguments"
    for method, arguments in CALLS.items():
        found = inspect.getattr_static(algorithm, method, None)
        if inspect.isfunction(found) and not _takes(found, ("self", *arguments)):
            return f"{method}({', '.join(('self', *arguments))})"
    return None


def _runs_over_nothing(algorithm: type) -> str | None:
    """The expected class attributes, if the class has a transport that it cannot run over; else None."""
    if transport(algorithm) not in TRANSPORTS:
        return f"transport = one of {', '.join(TRANSPORTS)}, instead of {transport(algorithm)!r}"
    if transport(algorithm) == "unordered" and not getattr(algorithm, "ecn", False):
        return 'ecn = True, because answers of the transport "unordered" carry marks'
    return None


def _takes(call: Callable[..., object], arguments: Sequence[str]) -> bool:
    """True if `call` accepts these positional arguments."""
    try:
        signature = inspect.signature(call)
    except ValueError:
        return True  # unknown: it is not written in Python
    by_place = [
        one for one in signature.parameters.values() if one.kind is not inspect.Parameter.KEYWORD_ONLY
    ]
    try:
        signature.replace(parameters=by_place).bind(*arguments)
    except TypeError:
        return False
    return True


def _loaded(file: Path, word: str, given: str) -> type:
    """The class called `word` in a file, which is executed once."""
    trust.check(file, given)
    content = file.read_bytes()
    module = _MODULES.get((str(file), trust.digest(file)))
    if module is None:
        module = _run(file, content, given)
        # The digest covers what was loaded.
        _MODULES[str(file), trust.digest(file)] = module
    trust.record(file)
    classes = [name for name, value in vars(module).items() if inspect.isclass(value)]
    if word not in classes:
        has = ", ".join(name for name in classes if getattr(module, name).__module__ == module.__name__)
        expected = f"a class of {file.name} ({has or 'it has none'}){did_you_mean(word, classes)}"
        raise ScenarioError("name", given, expected)
    return getattr(module, word)


def _run(file: Path, content: bytes, given: str) -> ModuleType:
    """The module of a file. It can import modules beside it."""
    digest = hashlib.sha256(f"{file} {trust.digest(file)}".encode(errors="surrogateescape"))
    name = f"shallows_written_{digest.hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ScenarioError("name", given, "a file that Python can load")
    module = importlib.util.module_from_spec(spec)
    _forget(trust.sources(file)[1:])
    sys.modules[name] = module
    sys.path.insert(0, str(file.parent))
    keeps_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        # Not by its loader, which uses cached bytecode if a file is edited twice within a second.
        with trust.executing(file, given):
            exec(compile(content, file, "exec"), vars(module))
    except Exception as error:
        lines = [at.lineno for at in traceback.extract_tb(error.__traceback__) if at.filename == str(file)]
        line = f" in line {lines[-1]}" if lines else ""
        expected = f"a file that runs; {type(error).__name__}{line}: {error}"
        raise ScenarioError("name", given, expected) from error
    finally:
        sys.path.remove(str(file.parent))
        sys.dont_write_bytecode = keeps_bytecode
    return module


def _forget(files: Sequence[Path]) -> None:
    """Forget imported modules of these files, which may have been edited, and others with their names."""
    paths, names = {str(path) for path in files}, {path.stem for path in files}
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) in paths or name in names:
            del sys.modules[name]

"""The programs beside `shallows` that commands of a case may use: they show a part of what a run has.

A tool is a function of its words, of what it reads and of the folder of the case. It returns what it prints,
and raises `ValueError` with a sentence if its words mean nothing.
"""

import math
import re
import subprocess

import pyarrow.parquet

import shallows as sh
from shallows.runner import prepare

QUANTITY = re.compile(r"(?<![\w.\[])\d+(?:\.\d+)?(?:e-\d+)?(?: (?:[munp]?s|[KMG]?B|[KMGT]bps)\b|[A-Za-z]*%?)")
"""A number with its unit. An index, as that of traffic[0], is none."""
NANOSECOND_US = 0.001
"""What rounding to picoseconds may add up to."""
PROGRAMS = ("cat", "cp", "diff", "grep", "head", "ls", "mkdir", "sed", "sort")
"""Programs of the system."""


def table(words, _, folder):
    """`table FILE COLUMN ...`: columns of a table of a result, as comma-separated values."""
    path, *columns = words
    read = pyarrow.parquet.read_table(folder / path, columns=columns)
    rows = zip(*(read.column(name).to_pylist() for name in columns), strict=True)
    return "".join(f"{','.join(map(str, row))}\n" for row in (columns, *rows))


def warnings(words, _, folder):
    """`warnings SCENARIO [--before] [--set KEY=VALUE ...]`: those of a run, or those known before it.

    A number that the text of the case does not state is printed as N: nobody has worked it out.
    """
    if "--before" in words:
        return _lines(_prepared([word for word in words if word != "--before"], folder)[0].warnings)
    return _lines(_ran(words, folder)[0].summary["warnings"])


def numbers(words, _, folder):
    """`numbers SCENARIO [--set KEY=VALUE ...] NAME ...`: numbers of a run.

    NAME is one of the summary, such as flows.finished, a column of a table, such as flows:fct_us, or the
    number of its rows above or below a value, as in 'flows:fct_us>10'.
    """
    run, names = _ran(words, folder)
    return "".join(f"{name} {_number(run, name)}\n" for name in names)


def between(words, text, _):
    """`between LOW HIGH [PATTERN]`: what it reads, with `LOW to HIGH` for each number that is in between.

    PATTERN has a group for the numbers; without it, it is the last word of each line.
    """
    low, high, *given = words
    pattern = re.compile(given[0] if given else r"(\S+)$", re.MULTILINE)
    found = [match.span(1) for match in pattern.finditer(text)]
    if not found:
        raise ValueError(f"expected a match of {pattern.pattern!r}")
    for begin, end in reversed(found):
        number = float(text[begin:end].replace(",", ""))
        said = f"{low} to {high}"
        if not float(low) <= number <= float(high):
            said = f"{text[begin:end]} (expected {said})"
        text = text[:begin] + said + text[end:]
    return text


def causes(words, _, folder):
    """`causes SCENARIO [--set KEY=VALUE ...] FLOW WORD ...`: what the critical path of a flow consists of.

    FLOW is its number, or #K for the K-th flow of those with the least completion times. A WORD is
    CAUSE=MICROSECONDS, CAUSE for any length, flowN=MICROSECONDS behind flow N, or CAUSE@PORT,PORT. Numbers
    are sums of products, compared to a nanosecond. All causes are named, or the last word is `...`; all flows
    are named where one is.
    """
    run, (chosen, *given) = _ran(words, folder)
    path, names = _path(run, chosen)
    found = {cause: length / 1e6 for cause, length in path.by_cause().items()}
    behind = {f"flow{flow}": length / 1e6 for flow, length in path.by_flow().items()}
    asked = {word.partition("=")[0] for word in given}
    if any(word.startswith("flow") for word in asked):
        found |= behind
    lines = [_compared(word, found | behind, path, names) for word in given if word != "..."]
    if "..." not in given:
        lines += [f"{cause} {found[cause]:.6f} us (expected none)" for cause in found if cause not in asked]
    return "".join(f"{line}\n" for line in (f"flow {chosen}:", *lines))


def _path(run, chosen):
    """(critical path, names of links) of a flow."""
    if not chosen.startswith("#"):
        paths = run.why([int(chosen)])
        return paths[int(chosen)], paths.record.names
    paths = run.why(range(run.scenario.flow_count))
    return sorted(paths.values(), key=lambda one: one.fct_ps)[int(chosen[1:]) - 1], paths.record.names


def _compared(word, found, path, names):
    """A word if it is so, or what is there in its place."""
    cause, sign, expected = word.partition("@")
    if sign:
        pieces = (piece for piece in path.pieces if piece.cause == cause and piece.port is not None)
        ports = sorted({names[piece.port] for piece in pieces})
        return f"{cause} at {expected}" if ports == expected.split(",") else f"{cause} at {ports} ({word})"
    cause, sign, text = word.partition("=")
    terms = text.replace("-", "+-").split("+") if sign else []
    expected = sum(math.prod(map(float, term.split("*"))) for term in terms)
    if cause in found and (not sign or abs(found[cause] - expected) <= NANOSECOND_US):
        return f"{cause} {text} us" if sign else cause
    return f"{cause} {found.get(cause, 0):.6f} us (expected {text or 'some'})"


TOOLS = {tool.__name__: tool for tool in (table, warnings, numbers, between, causes)}


def run(words, text, folder):
    """(status, standard output, standard error) of a tool or a program."""
    if words[0] in PROGRAMS:
        done = subprocess.run(words, cwd=folder, input=text or "", capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr
    try:
        return 0, TOOLS[words[0]](words[1:], text, folder), ""
    except (ValueError, TypeError, sh.ScenarioError) as error:
        return 2, "", f"{words[0]}: {error}\n"


def _lines(said):
    return "".join(f"{line}\n" for line in said) or "no warning\n"


def shown(words, out):
    """What a command prints, without the numbers of a run that the text of the case does not state."""
    if words[0] != "warnings":
        return out
    return QUANTITY.sub(lambda found: found[0] if found[0].replace(" ", "") in _stated else "N", out)


def begin(text):
    """Begin a case with this text."""
    _stated.clear()
    _stated.update(quantity.replace(" ", "") for quantity in QUANTITY.findall(text))
    _last.clear()


_stated = set()


def _prepared(words, folder):
    """(scenario with what `--set` changes, the other words)."""
    name, *rest = words
    names, changes = [], {}
    while rest:
        word = rest.pop(0)
        if word == "--set":
            key, _, value = rest.pop(0).partition("=")
            changes[key] = value
        else:
            names.append(word)
    there = folder / name
    return prepare(there if there.exists() else name, overrides=changes), names


def _ran(words, folder):
    """(run, the other words); the last run of a case is kept, because several tools may look at it."""
    scenario, names = _prepared(words, folder)
    key = scenario.to_toml()
    if key not in _last:
        _last.clear()
        _last[key] = sh.run(scenario)
    return _last[key], names


_last = {}


def _number(run, name):
    part, _, column = name.partition(":")
    if not column:
        return f"{run.number(name):.10g}"
    compared = re.fullmatch("([a-z_0-9]+)([<>])(.+)", column)
    if compared is None:
        return " ".join(f"{value:.10g}" for value in getattr(run, part)[column])
    column, sign, value = compared.groups()
    values = getattr(run, part)[column]
    return (values < float(value) if sign == "<" else values > float(value)).sum()

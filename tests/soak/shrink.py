"""A small scenario that goes wrong as a large one does."""

import copy
import time
import tomllib

import tomli_w

PATIENCE_S = 60.0
"""Processor time after which a scenario is small enough."""


def shrunk(text, wrong, patience_s=PATIENCE_S):
    """The TOML `text` with as little as needed for `wrong(text)` to be the same kind of fault.

    The kind is what `wrong` returns up to the first colon.
    """
    kind, tables, end = _kind(wrong(text)), tomllib.loads(text), time.process_time() + patience_s
    smaller = True
    while smaller and time.process_time() < end:
        smaller = False
        for place in sorted(_places(tables), key=len):
            if time.process_time() > end:
                break
            for change in (_without, _less):
                candidate = change(tables, place)
                if candidate is not None and _kind(wrong(tomli_w.dumps(candidate))) == kind:
                    tables, smaller = candidate, True
                    break
    return tomli_w.dumps(tables)


def _kind(wrong):
    return wrong and wrong.partition(":")[0]


def _places(at, path=()):
    """The paths of all keys and items, the last items of a list first."""
    items = at.items() if isinstance(at, dict) else list(enumerate(at))[::-1] if isinstance(at, list) else ()
    for key, inside in items:
        yield (*path, key)
        yield from _places(inside, (*path, key))


def _parent(tables, place):
    """A copy of the tables, and the table or list in it that holds the place; None if it is gone."""
    tables = at = copy.deepcopy(tables)
    try:
        for step in place[:-1]:
            at = at[step]
        at[place[-1]]
    except (KeyError, IndexError, TypeError):
        return None
    return tables, at


def _without(tables, place):
    """The tables without what stands at a place."""
    found = _parent(tables, place)
    if found is None:
        return None
    whole, at = found
    del at[place[-1]]
    return whole


def _less(tables, place):
    """The tables with half of a whole number above 1."""
    found = _parent(tables, place)
    if found is None:
        return None
    whole, at = found
    value = at[place[-1]]
    if not isinstance(value, int) or isinstance(value, bool) or value < 2:
        return None
    at[place[-1]] = value // 2
    return whole

"""Modules that take long to import, and are imported where a test first uses them: `from lazy import polars`.

Each process of pytest collects all tests, and runs few of those that need such a module.
"""

import importlib


class Module:
    """A module that is not imported yet."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, key):
        if key.startswith(("_", "pytest")):  # pytest asks every object of a test module
            raise AttributeError(key)
        return getattr(importlib.import_module(self._name), key)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Module(name)

"""Files of other simulators as scenarios: topologies, flows, schedules and traces.

To add a format, write a module with a function that returns `Parts`, and enter it in `formats.py`.
"""

from shallows.importers.writing import Import, write

__all__ = ["Import", "write"]

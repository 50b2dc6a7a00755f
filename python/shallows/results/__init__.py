"""Results of a run: its summary and its tables, in memory (`run.RunData`) or in a folder.

A folder holds `scenario.toml` (with every default), `summary.json`, and a Parquet file for each of `TABLES`.
"""

from shallows.results.tables import TABLES

__all__ = ["TABLES"]

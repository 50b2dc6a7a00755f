"""Pages of results: a run, a comparison, or critical paths (`shallows.why.page`)."""

from shallows.why.page import of_comparison, of_paths, of_run, write

__all__ = ["of_comparison", "of_paths", "of_run", "of_task", "write"]

of_task = of_paths

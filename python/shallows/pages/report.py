"""Pages of results: a run, a comparison, or the critical paths of some flows (`shallows.why.page`)."""

from shallows.why.page import of_comparison, of_paths, of_run, of_task, write

__all__ = ["of_comparison", "of_paths", "of_run", "of_task", "write"]

"""Imports of a worker. The fork server loads them once for all workers."""

import shallows.sweeps.jobs  # pyright: ignore[reportUnusedImport]
import shallows.worlds.packet  # pyright: ignore[reportUnusedImport]  # noqa: F401

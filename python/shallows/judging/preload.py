"""Imports of a process that runs a row. The fork server loads them once for all."""

import shallows.judging.scenarios  # pyright: ignore[reportUnusedImport]
import shallows.judging.worker  # pyright: ignore[reportUnusedImport]
import shallows.worlds.packet  # pyright: ignore[reportUnusedImport]  # noqa: F401

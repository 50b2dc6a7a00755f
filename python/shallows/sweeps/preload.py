"""What a worker needs, loaded once for all of them: the server that they are forked from imports this."""

import shallows.sweeps.jobs  # pyright: ignore[reportUnusedImport]
import shallows.worlds.packet  # pyright: ignore[reportUnusedImport]  # noqa: F401

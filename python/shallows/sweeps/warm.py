"""What a worker needs, loaded once for all of them: the server that they are forked from imports this."""

import os

os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

import pyarrow
import pyarrow.parquet  # pyright: ignore[reportUnusedImport]

pyarrow.set_cpu_count(1)

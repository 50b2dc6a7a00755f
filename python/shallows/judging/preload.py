"""Imports of a process that runs a row. The fork server loads them once for all, and fills the caches.

A process whose models and tables of the catalog are made needs a tenth of the time for a small run.
"""

from contextlib import suppress

import shallows.judging.worker  # pyright: ignore[reportUnusedImport]
import shallows.results.answer  # pyright: ignore[reportUnusedImport]
import shallows.worlds.packet  # pyright: ignore[reportUnusedImport]  # noqa: F401
from shallows.judging.family import chosen
from shallows.judging.scenarios import prepared

with suppress(Exception):  # each run says itself what is wrong
    prepared(
        {
            "tables": {
                "duration": "1ms",
                "topology": {"kind": "dumbbell", "hosts": 1},
                "cc": chosen(None)[0].baselines[0],
                "traffic": [{"kind": "long-lived", "flows": 1}],
            },
            "set": {},
        },
        seed=1,
    )

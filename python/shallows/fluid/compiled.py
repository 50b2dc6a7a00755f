"""Compilation with numba, cached on disk until a file of this folder changes.

Numba itself watches only the file of the compiled function. Equations call equations of other files, so a
stale result would survive an edit there.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from numba import config, njit
from numpy.typing import NDArray

I64, C128 = NDArray[np.int64], NDArray[np.complex128]
F = TypeVar("F", bound=Callable[..., object])

FOLDER = Path(__file__).parent
OPTIONS = {"nogil": True, "error_model": "numpy"}


def _cache() -> str:
    """The cache directory of this version of the sources."""
    sources = b"".join(path.read_bytes() for path in sorted(FOLDER.glob("*.py")))
    version = hashlib.sha256(sources).hexdigest()[:12]
    if config.CACHE_DIR:
        parent = Path(config.CACHE_DIR)
    elif os.access(FOLDER, os.W_OK):
        parent = FOLDER / "__pycache__"
    else:
        parent = Path.home() / ".cache" / "shallows"
    return str(parent / f"numba-{version}")


CACHE = _cache()


def compiled(*signature: object, **options: object) -> Callable[[F], F]:
    """numba's `njit` with this folder's options and cache; without a signature it compiles when called."""
    options = OPTIONS | options

    def decorate(function: F) -> F:
        before, config.CACHE_DIR = config.CACHE_DIR, CACHE
        try:
            return njit(*signature, cache=True, **options)(function)
        except RuntimeError:  # no directory is writable
            return njit(*signature, **options)(function)
        finally:
            config.CACHE_DIR = before

    return decorate

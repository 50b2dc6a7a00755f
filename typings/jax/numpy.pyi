"""Of jax a strict check knows no more than that it is there."""

from typing import Any

def __getattr__(name: str) -> Any: ...
